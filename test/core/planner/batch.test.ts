import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../schemas/answers/query.ts'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import { planBatch } from '../../../src/core/planner/batch.ts'
import { disjointness } from '../../../src/core/planner/identity/disjoint.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { type Plan, planKindOf } from '../../../src/core/planner/plans/plan-kinds.ts'
import { priceOf } from '../../../src/core/planner/price/price.ts'
import {
  type Accounting,
  type Amount,
  addAmounts,
  amountNumbers,
  coversAmount,
  noAmount,
} from '../../../src/privacy/accounting.ts'
import type { Neighbours } from '../../../src/privacy/neighbours.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { where } from './arbitraries.ts'
import { patients } from './neighbours/people.ts'
import { planOf } from './planned.ts'

const is = (column: string, value: unknown) => ({ column, op: '=', value })
const between = (lower: number, upper: number) => ({ column: 'Age', op: 'between', lower, upper })
const count = (epsilon: number, where?: object) => ({
  kind: 'count',
  mechanism: 'geometric',
  epsilon,
  ...(where === undefined ? {} : { where }),
})

/** A batch on a dataset of people with up to `maxRows` rows each. */
function batchOfPeople(wires: readonly object[], neighbours: Neighbours, maxRows: number) {
  const dataset = patients(neighbours, maxRows)
  const plans = wires.map((wire) => plan(querySchema.parse(wire), dataset, { maxCells: 10_000 }))
  const { groups, price } = planBatch(plans, 'basic')
  return { groups, price: amountNumbers(price) }
}

function batchOf(
  wires: readonly object[],
  neighbours: Neighbours = 'add-remove',
  accounting: Accounting = 'basic',
) {
  const { groups, price, sumOfPrices } = planBatch(
    wires.map((wire) => planOf(wire, neighbours)),
    accounting,
  )
  return { groups, price: amountNumbers(price), sumOfPrices: amountNumbers(sumOfPrices) }
}

describe('the price of a batch', () => {
  const regions = [
    count(0.1, is('Region', 'N')),
    count(0.3, is('Region', 'E')),
    count(0.2, is('Region', 'S')),
  ]

  test('disjoint queries cost as much as the most expensive of them', () => {
    expect(batchOf(regions)).toEqual({
      groups: [[0, 1, 2]],
      price: { epsilon: 0.3, delta: 0 },
      sumOfPrices: { epsilon: 0.6, delta: 0 },
    })
  })

  test('under change-one they cost as much as the two most expensive', () => {
    expect(batchOf(regions, 'change-one').price).toEqual({ epsilon: 0.5, delta: 0 })
  })

  test('prices of overlapping queries add up', () => {
    const wires = [count(0.1, between(0, 30)), count(0.3, between(30, 60))]
    expect(batchOf(wires)).toEqual({
      groups: [[0], [1]],
      price: { epsilon: 0.4, delta: 0 },
      sumOfPrices: { epsilon: 0.4, delta: 0 },
    })
  })

  test('several tables, each row in one cell of each', () => {
    const ages = [between(0, 17), between(18, 64), between(65, 120)].map((band) => count(0.25, band))
    const wires = [...regions, count(0.5), ...ages]
    expect(batchOf(wires)).toEqual({
      groups: [[0, 1, 2], [3], [4, 5, 6]],
      price: { epsilon: 1.05, delta: 0 },
      sumOfPrices: { epsilon: 1.85, delta: 0 },
    })
    expect(batchOf(wires, 'change-one').price).toEqual({ epsilon: 1.5, delta: 0 })
  })

  test('of people with several rows: only constant columns separate people', () => {
    const ages = [between(0, 17), between(18, 64), between(65, 120)].map((band) => count(0.25, band))
    // A person with three rows can count in all of them.
    expect(batchOfPeople(ages, 'add-remove', 3).price).toEqual({ epsilon: 0.75, delta: 0 })
    expect(batchOfPeople(regions, 'add-remove', 3)).toEqual({
      groups: [[0, 1, 2]],
      price: { epsilon: 0.3, delta: 0 },
    })
    expect(batchOfPeople(regions, 'change-one', 3).price).toEqual({ epsilon: 0.5, delta: 0 })
  })

  test('of people with several rows: a person counts in as many queries as it has rows', () => {
    const bands = Array.from({ length: 6 }, (_, band) =>
      count((10 + band) / 100, between(20 * band, 20 * band + 19)),
    )
    expect(batchOfPeople(bands, 'add-remove', 2).price).toEqual({ epsilon: 0.29, delta: 0 })
    expect(batchOfPeople(bands, 'change-one', 2).price).toEqual({ epsilon: 0.54, delta: 0 })
    expect(batchOfPeople(bands, 'change-one', 3).price).toEqual({ epsilon: 0.75, delta: 0 })
    expect(batchOfPeople(bands, 'add-remove', 1).price).toEqual({ epsilon: 0.15, delta: 0 })
  })

  test('of people with several rows: regions and ages in one batch', () => {
    const bands = Array.from({ length: 6 }, (_, band) => count(0.1, between(20 * band, 20 * band + 19)))
    const batch = batchOfPeople([...regions, ...bands], 'add-remove', 2)
    expect(batch).toEqual({
      groups: [
        [0, 1, 2],
        [3, 4, 5, 6, 7, 8],
      ],
      price: { epsilon: 0.5, delta: 0 },
    })
    // A region and an age of the other region: no row counts in both, but a group of them would cost as much as each.
    const mixed = [
      count(0.3, is('Sex', 'M')),
      count(0.3, is('Sex', 'F')),
      count(0.3, { op: 'and', predicates: [is('Sex', 'M'), between(0, 17)] }),
    ]
    expect(batchOfPeople(mixed, 'add-remove', 2).price).toEqual({ epsilon: 0.6, delta: 0 })
  })

  test('of a live table: prices add up, because a row may change between two queries', () => {
    const source = { kind: 'table', connection: 'warehouse', table: 'clinic.visits', mode: 'live' } as const
    const plansOf = (dataset: Dataset) =>
      regions.map((wire) => plan(querySchema.parse(wire), dataset, { maxCells: 10_000 }))
    for (const dataset of [planOf(count(0.1), 'add-remove').dataset, patients('add-remove', 2)]) {
      const { groups, price, sumOfPrices } = planBatch(plansOf({ ...dataset, source }), 'basic')
      expect(groups).toEqual([[0], [1], [2]])
      expect(price).toEqual(sumOfPrices)
      const snapshot = { ...source, mode: 'snapshot' } as const
      expect(amountNumbers(planBatch(plansOf({ ...dataset, source: snapshot }), 'basic').price)).not.toEqual(
        amountNumbers(sumOfPrices),
      )
    }
  })

  test('the largest epsilon and the largest delta, even of different queries', () => {
    const wires = [
      { kind: 'count', mechanism: 'gaussian', epsilon: 0.2, delta: 1e-9, where: is('Sex', 'M') },
      { kind: 'keySelection', column: 'Note', epsilon: 0.1, delta: 1e-6, where: is('Sex', 'F') },
      { kind: 'median', column: 'Age', epsilon: 0.05, where: between(121, 200) },
    ]
    expect(batchOf(wires)).toMatchObject({ groups: [[0, 1, 2]], price: { epsilon: 0.2, delta: 1e-6 } })
    expect(batchOf(wires, 'change-one').price).toEqual({ epsilon: 0.3, delta: 1.001e-6 })
  })

  test('the same in rho', () => {
    const rhoOf = (epsilon: number) => epsilon * Math.tanh(epsilon / 2)
    const price = (neighbours: Neighbours) => Object.values(batchOf(regions, neighbours, 'zcdp').price)[0]
    expect(price('add-remove')).toBeCloseTo(rhoOf(0.3), 11)
    expect(price('change-one')).toBeCloseTo(rhoOf(0.3) + rhoOf(0.2), 11)
  })

  test('queries without a price in rho are refused', () => {
    const keys = { kind: 'keySelection', column: 'Note', delta: 1e-6 }
    expect(() => batchOf([keys], 'add-remove', 'zcdp')).toThrow(Refusal)
  })

  test('every kind of query is credited by its predicate', () => {
    const kinds = [
      { kind: 'sum', column: 'Age' },
      { kind: 'mean', column: 'Income' },
      { kind: 'proportion', of: is('Member', true) },
      { kind: 'countDistinct', column: 'Region' },
      { kind: 'histogram', column: 'Region' },
      { kind: 'groupBy', keys: ['Region'], statistics: [{ kind: 'count' }] },
      { kind: 'noisyMax', candidates: { column: 'Region' } },
      { kind: 'percentile', column: 'Age', p: [10, 90] },
      { kind: 'keySelection', column: 'Note', delta: 1e-6 },
    ]
    const bands = kinds.map((kind, place) => ({ ...kind, where: between(10 * place, 10 * place + 9) }))
    expect(batchOf(bands)).toMatchObject({ groups: [[0, 1, 2, 3, 4, 5, 6, 7, 8]], price: { epsilon: 1 } })
    // Without one, every row counts.
    expect(batchOf(kinds)).toMatchObject({ groups: kinds.map((_, place) => [place]), price: { epsilon: 9 } })
  })

  test('one query costs its own price, and no query costs nothing', () => {
    expect(batchOf([count(0.5)])).toMatchObject({ groups: [[0]], price: { epsilon: 0.5, delta: 0 } })
    expect(batchOf([])).toMatchObject({ groups: [], price: { epsilon: 0, delta: 0 } })
  })

  test('delta is at most 1', () => {
    const keys = { kind: 'keySelection', column: 'Note', delta: 0.6 }
    expect(batchOf([keys, keys]).price).toEqual({ epsilon: 2, delta: 1 })
    expect(
      batchOf(
        [is('Sex', 'M'), is('Sex', 'F')].map((where) => ({ ...keys, where })),
        'change-one',
      ).price,
    ).toEqual({
      epsilon: 2,
      delta: 1,
    })
  })

  test('plans of different datasets are refused', () => {
    const [one, other] = [planOf(count(1)), planOf(count(1))]
    for (const dataset of [
      { ...other.dataset, id: 'others' },
      { ...other.dataset, version: 'v2' },
    ])
      expect(() => planBatch([one, { ...other, dataset } as Plan], 'basic')).toThrow(RangeError)
  })
})

const KINDS_OF_NEIGHBOURS = ['add-remove', 'change-one'] as const
const ACCOUNTINGS = ['basic', 'zcdp'] as const

const epsilon = fc.constantFrom(0.1, 0.25, 0.5, 1)
const banded = fc
  .tuple(fc.nat(12), fc.nat(4))
  .map(([start, length]) => between(10 * start, 10 * (start + length) + 9))
const query = fc.oneof(
  fc.tuple(epsilon, fc.option(where, { nil: undefined })).map(([spent, rows]) => count(spent, rows)),
  fc.tuple(epsilon, banded).map(([spent, rows]) => count(spent, rows)),
  fc.tuple(epsilon, banded, fc.constantFrom(1e-9, 1e-7, 1e-6)).map(([spent, rows, delta]) => ({
    kind: 'histogram',
    column: 'Sex',
    mechanism: 'gaussian',
    epsilon: spent,
    delta,
    where: rows,
  })),
)

const total = (amounts: readonly Amount[], accounting: Accounting) =>
  amounts.reduce((sum, amount) => addAmounts(sum, amount), noAmount(accounting))

const whereOf = (plan: Plan) => planKindOf(plan).rowsThatCount(plan)

/**
 * The largest sum over a pair of neighbours that differ as the groups allow, by trying every choice from each group.
 */
function worstOf(
  groups: readonly (readonly number[])[],
  prices: readonly Amount[],
  changed: number,
): bigint[] {
  const unit = (amount: Amount | undefined, place: number): bigint => {
    if (amount === undefined) throw new Error('every query has a price')
    if (amount.accounting === 'zcdp') return amount.rhoPico
    return place === 0 ? amount.epsilonNano : amount.deltaAtto
  }
  return [0, 1].map((place) =>
    groups.reduce((sum, group) => {
      const choices = group.flatMap((one, index) =>
        changed === 1 ? [[one]] : [[one], ...group.slice(index + 1).map((other) => [one, other])],
      )
      const costs = choices.map((choice) =>
        choice.reduce((cost, each) => cost + unit(prices[each], place), 0n),
      )
      return sum + costs.reduce((most, cost) => (cost > most ? cost : most), 0n)
    }, 0n),
  )
}

describe.each(KINDS_OF_NEIGHBOURS)('any batch under %s', (neighbours) => {
  test.each(ACCOUNTINGS)('%s: groups are disjoint, and the price is theirs', (accounting) => {
    fc.assert(
      fc.property(fc.array(query, { maxLength: 12 }), (wires) => {
        const plans = wires.map((wire) => planOf(wire, neighbours))
        const { groups, price, sumOfPrices } = planBatch(plans, accounting)
        const prices = plans.map((plan) => priceOf(plan, accounting))
        expect(groups.flat().sort((a, b) => a - b)).toEqual([...plans.keys()])
        for (const group of groups)
          for (const [index, one] of group.entries())
            for (const other of group.slice(index + 1)) {
              const [a, b] = [plans[one], plans[other]]
              if (a === undefined || b === undefined) throw new Error('a place is that of a plan')
              expect(disjointness([a, b].map(whereOf), a.dataset)(0, 1)).toBe(true)
            }
        const [first, second] = worstOf(groups, prices, neighbours === 'add-remove' ? 1 : 2)
        expect('rhoPico' in price ? [price.rhoPico] : [price.epsilonNano, price.deltaAtto]).toEqual(
          accounting === 'zcdp' ? [first] : [first, second],
        )
        expect(sumOfPrices).toEqual(total(prices, accounting))
        expect(coversAmount(sumOfPrices, price)).toBe(true)
        for (const each of prices) expect(coversAmount(price, each)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test('the grouping rarely costs more than the best one, and then little more', () => {
    const batches = fc.sample(fc.array(fc.tuple(epsilon, banded), { minLength: 4, maxLength: 7 }), {
      numRuns: 300,
      seed: 4,
    })
    let [best, excess] = [0, 0]
    for (const batch of batches) {
      const plans = batch.map(([spent, rows]) => planOf(count(spent, rows), neighbours))
      const prices = plans.map((plan) => priceOf(plan, 'basic'))
      const disjoint = plans.map((one) =>
        plans.map((other) => disjointness([one, other].map(whereOf), one.dataset)(0, 1)),
      )
      const changed = neighbours === 'add-remove' ? 1 : 2
      const least = partitions(plans.length)
        .filter((groups) =>
          groups.every((group) =>
            group.every((one, index) => group.slice(index + 1).every((other) => disjoint[one]?.[other])),
          ),
        )
        .map((groups) => Number(worstOf(groups, prices, changed)[0]))
        .reduce((a, b) => Math.min(a, b))
      const { price } = planBatch(plans, 'basic')
      const found = 'epsilonNano' in price ? Number(price.epsilonNano) : Number.NaN
      expect(found).toBeGreaterThanOrEqual(least)
      if (found === least) best += 1
      excess = Math.max(excess, found / least)
    }
    expect(best / batches.length).toBeGreaterThan(0.9)
    expect(excess).toBeLessThan(1.5)
  })
})

/** All partitions of this number of places into groups. */
function partitions(places: number): readonly (readonly (readonly number[])[])[] {
  if (places === 0) return [[]]
  const last = places - 1
  return partitions(last).flatMap((groups) => [
    [...groups, [last]],
    ...groups.map((_, into) => groups.map((group, index) => (index === into ? [...group, last] : group))),
  ])
}

test('a hundred queries always have the same price', () => {
  const wires = fc.sample(query, { numRuns: 100, seed: 100 })
  const plans = wires.map((wire) => planOf(wire))
  const batch = planBatch(plans, 'basic')
  expect(planBatch(plans, 'basic')).toEqual(batch)
  expect(batch.groups.length).toBeLessThan(60)
})
