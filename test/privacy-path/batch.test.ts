import { describe, expect, test } from 'vitest'
import { discreteLaplaceMass } from '../../src/mechanisms/samplers/discrete-laplace.ts'
import * as asItIs from '../../src/planner/batch.ts'
import type { Plan } from '../../src/planner/plan-kinds.ts'
import type { Accounting, Amount } from '../../src/privacy/accounting.ts'
import { epsilonNumber, rhoNumber } from '../../src/privacy/loss.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { numberFromRational, type Rational } from '../../src/privacy/rational.ts'
import { type SourceChange, withChangedSource } from '../changed-source.ts'
import { planner } from './examination.ts'
import { lawOf, observe, spentOn } from './laws.ts'
import { RIVALS, SOME_ROWS, titleOf, WIRES, type Wire } from './queries.ts'
import { widePairs } from './tiny-datasets.ts'

/*
 * What a batch lets out as one: the joint law of all its answers on every pair of tiny neighbouring datasets, and
 * whether the one price that is charged covers what the two laws make visible.
 */

const KINDS_OF_NEIGHBOURS = ['add-remove', 'change-one'] as const

const is = (column: string, value: unknown) => ({ column, op: '=', value })
const not = (predicate: object) => ({ op: 'not', predicate })
const MEN = is('Sex', 'M')
const WOMEN = is('Sex', 'F')
const ELDERS = { column: 'Age', op: '>=', value: 2 }
const count = (epsilon: number, where?: object): Wire => ({
  kind: 'count',
  mechanism: 'geometric',
  epsilon,
  ...(where === undefined ? {} : { where }),
})

/** Batches of counts, and by which part of the sum of their prices each is charged. */
const COUNTS: readonly {
  readonly what: string
  readonly wires: readonly Wire[]
  readonly share: Readonly<Record<Neighbours, number>>
}[] = [
  {
    what: 'two disjoint ones',
    wires: [count(1, MEN), count(0.5, WOMEN)],
    share: { 'add-remove': 2 / 3, 'change-one': 1 },
  },
  {
    what: 'three disjoint ones, the dearest last',
    wires: [count(0.25, is('Region', 'N')), count(0.5, is('Region', 'E')), count(1, is('Region', 'S'))],
    share: { 'add-remove': 4 / 7, 'change-one': 6 / 7 },
  },
  {
    what: 'a nullable predicate, its negation, and what both leave out',
    wires: [count(1, is('Member', true)), count(1, not(is('Member', true)))],
    share: { 'add-remove': 1 / 2, 'change-one': 1 },
  },
  {
    what: 'two that overlap',
    wires: [count(1, MEN), count(0.5, ELDERS)],
    share: { 'add-remove': 1, 'change-one': 1 },
  },
  {
    what: 'two disjoint ones and one that overlaps',
    wires: [count(1, MEN), count(0.5, WOMEN), count(0.25, ELDERS)],
    share: { 'add-remove': 5 / 7, 'change-one': 1 },
  },
  {
    what: 'one that is disjoint from two that overlap',
    wires: [count(1, not(ELDERS)), count(1, ELDERS), count(1, { column: 'Age', op: '>', value: 2 })],
    share: { 'add-remove': 2 / 3, 'change-one': 1 },
  },
  {
    what: 'the same twice',
    wires: [count(1, MEN), count(1, MEN)],
    share: { 'add-remove': 1, 'change-one': 1 },
  },
]

interface Examined {
  /** The largest part of the price that is spent on a pair of neighbours. */
  readonly share: number
  readonly price: number
  readonly sumOfPrices: number
}

/** How far doubles may be off. */
const ROUNDING = 1e-9

function examine(
  wires: readonly Wire[],
  neighbours: Neighbours,
  accounting: Accounting,
  lost: (
    plans: readonly Plan[],
    one: readonly (readonly bigint[])[],
    other: readonly (readonly bigint[])[],
  ) => number,
  planBatch: typeof asItIs.planBatch = asItIs.planBatch,
): Examined {
  const planners = wires.map((wire) => planner(wire, neighbours))
  let [share, price, sumOfPrices] = [0, 0, 0]
  const known = new Map<string, number>()
  for (const { rows, pairs } of widePairs[neighbours]) {
    const batch = planBatch(
      planners.map((planFor) => planFor(rows)),
      accounting,
    )
    price = numberOf(batch.price)
    sumOfPrices = numberOf(batch.sumOfPrices)
    for (const pair of pairs) {
      const [one, other] = [pair.one, pair.other].map((dataset) =>
        batch.plans.map((plan) => {
          const observed = observe(plan, dataset)
          if (observed.kind !== 'integers') throw new Error('a batch of counts')
          return observed.integers.flat()
        }),
      )
      if (one === undefined || other === undefined) throw new Error('a pair has two datasets')
      const name = `${one.join(';')}|${other.join(';')}`
      const loss = known.get(name) ?? lost(batch.plans, one, other)
      known.set(name, loss)
      share = Math.max(share, loss === 0 ? 0 : loss / price)
    }
  }
  return { share, price, sumOfPrices }
}

function numberOf(amount: Amount): number {
  return amount.accounting === 'basic' ? epsilonNumber(amount.epsilonNano) : rhoNumber(amount.rhoPico)
}

function scaleOf(plan: Plan): Rational {
  const noise = plan.kind === 'additive' ? plan.measurements[0]?.noise : undefined
  if (noise?.kind !== 'discrete-laplace') throw new Error('a count with geometric noise')
  return noise.scale
}

/** The largest log-ratio, either way, of the probabilities of all joint answers; they are beyond all counts too. */
function largestLogRatio(
  plans: readonly Plan[],
  one: readonly (readonly bigint[])[],
  other: readonly (readonly bigint[])[],
): number {
  const scales = plans.map(scaleOf)
  const joint = (counts: readonly (readonly bigint[])[], answers: readonly bigint[]): number =>
    answers.reduce((mass, answer, place) => {
      const [scale, value] = [scales[place], counts[place]?.[0]]
      if (scale === undefined || value === undefined) throw new Error('each query counts once')
      return mass * discreteLaplaceMass(answer - value, scale)
    }, 1)
  let answers: readonly (readonly bigint[])[] = [[]]
  for (const _ of plans)
    answers = answers.flatMap((so) => [-1n, 0n, 1n, 2n, 3n, 4n].map((answer) => [...so, answer]))
  return Math.max(...answers.map((each) => Math.abs(Math.log(joint(one, each) / joint(other, each)))))
}

/** The largest Rényi divergence over its order, either way, of the joint law at some orders. */
function largestRho(
  plans: readonly Plan[],
  one: readonly (readonly bigint[])[],
  other: readonly (readonly bigint[])[],
): number {
  const rhoAt = (order: number, from: typeof one, to: typeof one): number =>
    plans
      .map((plan, place) => {
        const scale = scaleOf(plan)
        const [here, there] = [from[place]?.[0] ?? 0n, to[place]?.[0] ?? 0n]
        // Up to a factor that is the same for both, and that the sum of the first law's masses tells.
        const magnitude = (value: bigint) => Math.abs(Number(value)) / numberFromRational(scale)
        let [sum, whole] = [0, 0]
        for (let answer = -200n; answer <= 200n; answer += 1n) {
          const [near, far] = [magnitude(answer - here), magnitude(answer - there)]
          sum += Math.exp((order - 1) * far - order * near)
          whole += Math.exp(-near)
        }
        return Math.log(sum / whole) / (order - 1)
      })
      // Of independent answers the divergences add up.
      .reduce((total, divergence) => total + divergence, 0) / order
  return Math.max(
    ...[1.001, 1.5, 2, 4, 16].flatMap((order) => [rhoAt(order, one, other), rhoAt(order, other, one)]),
  )
}

describe.each(KINDS_OF_NEIGHBOURS)('counts under %s', (neighbours) => {
  test.each(COUNTS)('$what: exactly the price is spent', ({ wires, share: expected }) => {
    const { share, price, sumOfPrices } = examine(wires, neighbours, 'basic', largestLogRatio)
    expect(share).toBeLessThan(1 + ROUNDING)
    expect(share).toBeGreaterThan(1 - ROUNDING)
    expect(price / sumOfPrices).toBeCloseTo(expected[neighbours], 9)
  })

  test.each(COUNTS)('$what: exactly the price in rho is spent', ({ wires }) => {
    const { share, price, sumOfPrices } = examine(wires, neighbours, 'zcdp', largestRho)
    expect(share).toBeLessThan(1 + ROUNDING)
    // At the least order looked at all but a thousandth is visible.
    expect(share).toBeGreaterThan(1 - 2e-3)
    expect(price).toBeLessThanOrEqual(sumOfPrices)
  })
})

const MISTAKES: readonly {
  readonly mistake: string
  readonly change: SourceChange
  readonly neighbours: readonly Neighbours[]
}[] = [
  {
    mistake: 'a replaced row that is in one query only',
    change: {
      file: 'planner/stability.ts',
      find: "return neighbours === 'add-remove' ? 1 : 2\n",
      replace: 'return 1\n',
    },
    neighbours: ['change-one'],
  },
  {
    mistake: 'a row that is in no query',
    change: {
      file: 'planner/stability.ts',
      find: "return neighbours === 'add-remove' ? 1 : 2\n",
      replace: "return neighbours === 'add-remove' ? 0 : 2\n",
    },
    neighbours: ['add-remove'],
  },
  {
    mistake: 'queries credited that overlap',
    change: {
      file: 'planner/batch.ts',
      find: 'group.every((other) => disjoint(place, other))',
      replace: 'true',
    },
    neighbours: ['add-remove', 'change-one'],
  },
  {
    mistake: 'queries credited that are disjoint from some of a group',
    change: { file: 'planner/batch.ts', find: 'group.every((other)', replace: 'group.some((other)' },
    neighbours: ['add-remove'],
  },
  {
    mistake: 'the first of a group',
    change: {
      file: 'planner/batch.ts',
      find: '.sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))',
      replace: '',
    },
    neighbours: ['add-remove', 'change-one'],
  },
  {
    mistake: 'predicates forgotten, and no row thought to count without one',
    change: {
      file: 'planner/disjoint.ts',
      find: 'predicate === undefined ? EVERYWHERE',
      replace: 'predicate !== undefined ? []',
    },
    neighbours: ['add-remove', 'change-one'],
  },
]

test.each(MISTAKES)('$mistake: seen by the joint law', async ({ change, neighbours }) => {
  await withChangedSource([change], {}, async (load) => {
    const { planBatch } = await load<typeof asItIs>('planner/batch.ts')
    for (const kind of neighbours) {
      const shares = COUNTS.map(
        ({ wires }) => examine(wires, kind, 'basic', largestLogRatio, planBatch).share,
      )
      expect(Math.max(...shares), kind).toBeGreaterThan(1 + ROUNDING)
      const rhos = COUNTS.map(({ wires }) => examine(wires, kind, 'zcdp', largestRho, planBatch).share)
      expect(Math.max(...rhos), kind).toBeGreaterThan(1 + ROUNDING)
    }
  })
})

/*
 * Every other kind of query. Answers are independent, so that the largest log-ratio of all is the sum of those of each.
 */

const MIXED: readonly (readonly Wire[])[] = [
  [
    { kind: 'sum', column: 'Balance', where: MEN, epsilon: 1 },
    { kind: 'histogram', column: 'Region', where: WOMEN, epsilon: 0.7 },
    { kind: 'mean', column: 'Income', where: WOMEN, epsilon: 0.5 },
  ],
  [
    { kind: 'noisyMax', candidates: RIVALS, where: MEN, epsilon: 60 },
    { kind: 'countDistinct', column: 'Region', where: WOMEN, epsilon: 30 },
    { kind: 'median', column: 'Age', epsilon: 2 },
  ],
  [
    { kind: 'proportion', of: SOME_ROWS, where: MEN, epsilon: 1 },
    { kind: 'percentile', column: 'Age', p: [20, 50], where: not(MEN), epsilon: 1 },
    { kind: 'variance', column: 'Balance', where: is('Region', 'N'), epsilon: 1 },
    {
      kind: 'groupBy',
      keys: ['Sex'],
      statistics: [{ kind: 'count' }],
      where: not(is('Region', 'N')),
      epsilon: 1,
    },
  ],
]

describe.each(KINDS_OF_NEIGHBOURS)('other kinds under %s', (neighbours) => {
  test.each(MIXED.map((wires) => [wires.map(titleOf).join(' '), wires] as const))('%s', (_, wires) => {
    const planners = wires.map((wire) => planner(wire, neighbours))
    let [share, credit] = [0, 1]
    for (const { rows, pairs } of widePairs[neighbours]) {
      const plans = planners.map((planFor) => planFor(rows))
      const batch = asItIs.planBatch(plans, 'basic')
      const price = numberOf(batch.price)
      credit = price / numberOf(batch.sumOfPrices)
      for (const { one, other } of pairs) {
        const lost = plans.reduce((sum, plan) => {
          const [here, there] = [lawOf(plan, observe(plan, one)), lawOf(plan, observe(plan, other))]
          return sum + spentOn(plan, here, there).share * epsilonNumber(plan.loss.epsilonNano)
        }, 0)
        share = Math.max(share, lost / price)
      }
    }
    expect(share).toBeLessThan(1 + ROUNDING)
    expect(share).toBeGreaterThan(0.5)
    if (neighbours === 'add-remove') expect(credit).toBeLessThan(1)
  })
})

/*
 * What the credit rests on: rows that do not satisfy a query's predicate have no part in its answer.
 */
test.each(WIRES.map((wire) => [titleOf(wire), wire] as const))(
  'only the rows of its predicate: %s',
  (_, wire) => {
    const where = 'where' in wire ? { op: 'and', predicates: [MEN, wire.where] } : MEN
    for (const neighbours of KINDS_OF_NEIGHBOURS) {
      const planFor = planner({ ...wire, where }, neighbours)
      for (const { rows, pairs } of widePairs[neighbours]) {
        const plan = planFor(rows)
        for (const dataset of new Set(pairs.flatMap(({ one, other }) => [one, other])))
          expect(observe(plan, dataset)).toEqual(
            observe(
              plan,
              dataset.filter(({ Sex }) => Sex === 0),
            ),
          )
      }
    }
  },
)
