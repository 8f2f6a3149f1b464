import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../schemas/answers/query.ts'
import { readAggregate, releaseAggregate } from '../../../src/answers/release.ts'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import { planOfMeasured } from '../../../src/core/inference/measured-together.ts'
import { systemEntropy } from '../../../src/core/mechanisms/samplers/entropy.ts'
import { planQueries } from '../../../src/core/planner/batch.ts'
import { noiseOfMarginals } from '../../../src/core/planner/plans/marginals.ts'
import { measuredAccuracy, measuredReporter } from '../../../src/core/planner/report.ts'
import {
  accuracyTogether,
  type BatchTerms,
  isCheaper,
  normalTogether,
  planTogether,
  priceTogether,
  reportTogether,
  requireTermsFit,
  summedIn,
  tablesOfBatch,
} from '../../../src/core/planner/together.ts'
import { columnsIn, contains } from '../../../src/core/workloads/column-sets.ts'
import { addedUp, estimates } from '../../../src/core/workloads/reconstruction.ts'
import { amountNumbers, lossOfAmount } from '../../../src/privacy/accounting.ts'
import { entry, must } from '../../../src/privacy/must.ts'
import { numberFromRational } from '../../../src/privacy/rational.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { cases, describeOnce } from '../../cases.ts'
import { column } from '../../engines/fixture.ts'
import { referenceEngine, type StoredRow } from '../../engines/reference-engine.ts'
import { PERSON, RANK } from '../../engines/reference-people.ts'
import { rowOf } from './arbitraries.ts'
import { patients, people } from './neighbours/people.ts'

const LIMITS = { maxCells: 1_000 }
const rows = people('add-remove')
const inRho: Dataset = { ...rows, accounting: 'zcdp' }

async function planned(wires: readonly object[], dataset: Dataset = rows, terms: BatchTerms = {}) {
  const queries = wires.map((wire) =>
    querySchema.parse({ ...('accuracy' in wire ? {} : { epsilon: 0.1 }), ...wire }),
  )
  requireTermsFit({ plan: 'together', ...terms }, queries.length)
  const separate = await planQueries(queries, dataset, LIMITS)
  const wanted = tablesOfBatch(separate.plans, terms)
  const workloads = planTogether(wanted, separate.price, dataset, LIMITS)
  return { separate, together: { ...wanted, workloads } }
}

const refusalOf = (...of: Parameters<typeof planned>) =>
  planned(...of).then(
    () => 'none',
    (error) => {
      if (error instanceof Refusal) return error.message
      throw error
    },
  )

const count = { kind: 'count' }
const bySex = { kind: 'histogram', column: 'Sex' }
const byRegion = { kind: 'histogram', column: 'Region' }
const byBoth = { kind: 'contingency', columns: ['Region', 'Sex'] }
const grouped = { kind: 'groupBy', keys: ['Sex', 'Member'], statistics: [{ kind: 'count' }] }
const age = { kind: 'sum', column: 'Age' }
const income = { kind: 'sum', column: 'Income' }
const lowIncome = { ...income, clamp: { lower: 10, upper: 90.5 } }
const sums = (keys: readonly string[], ...columns: readonly object[]) => ({
  kind: 'groupBy',
  keys,
  statistics: columns,
})
const incomeBySex = sums(['Sex'], income)
const allBySex = sums(['Sex'], { kind: 'count' }, income, { kind: 'sum', column: 'Balance' })
const adults = { column: 'Age', op: '>=', value: 18 }

const price = fc.oneof(
  fc.constantFrom({ epsilon: 0.02 }, { epsilon: 0.5 }, { epsilon: 0.1, delta: 1e-6 }),
  fc.integer({ min: 3, max: 200 }).map((halfWidth) => ({ accuracy: { halfWidth } })),
)
const questions = fc.oneof(
  fc.tuple(fc.constantFrom(count, bySex, byRegion, byBoth, grouped), price),
  fc.tuple(
    fc.constantFrom(age, income, lowIncome, incomeBySex, sums(['Region', 'Sex'], income)),
    price.map((each) =>
      'accuracy' in each ? { accuracy: { halfWidth: 900 * each.accuracy.halfWidth } } : each,
    ),
  ),
  fc.tuple(fc.constant(allBySex), fc.constantFrom({ epsilon: 0.5 }, { epsilon: 0.3, delta: 1e-6 })),
)
const batch = fc.array(questions, {
  minLength: 2,
  maxLength: 6,
})

describe('queries that are planned together', () => {
  test('no half-width is larger than under a separate plan, in each accounting and objective', async () => {
    const datasets = fc.constantFrom(rows, inRho, people('change-one'), patients('add-remove'))
    const terms = fc.constantFrom<BatchTerms>({}, { objective: 'total' }, { objective: 'largest' })
    await fc.assert(
      fc.asyncProperty(batch, datasets, terms, async (asked, dataset, chosen) => {
        const wires = asked.map(([wire, offered]) => ({ ...wire, ...offered }))
        const { separate, together } = await planned(wires, dataset, chosen)
        for (const [place, query] of separate.plans.entries()) {
          const { halfWidth, estimates = {} } = accuracyTogether(together, place)
          const alone = measuredAccuracy(query)
          for (const [name, { halfWidth: each }] of Object.entries({ ...estimates, only: { halfWidth } })) {
            const most = name === 'only' ? alone.halfWidth : alone.estimates?.[name]?.halfWidth
            if (each === null) expect(most).toBeNull()
            else expect(each).toBeLessThanOrEqual(most ?? 0)
          }
        }
        // The price is the sum over what is measured.
        for (const { shape, measurements, loss, rho } of together.workloads)
          if (dataset.accounting === 'basic' && shape === 'laplace')
            expect(measurements.reduce((sum, each) => sum + each.loss.epsilonNano, 0n)).toBe(loss.epsilonNano)
          else expect(rho).toBeDefined()
        const { price } = separate
        if (price.accounting === 'basic')
          expect(
            lossOfAmount(priceTogether(together, 'basic'), price.deltaAtto).deltaAtto,
          ).toBeLessThanOrEqual(price.deltaAtto)
      }),
      { numRuns: cases(40) },
    )
  })

  test('tables that say something about each other cost less than one by one', async () => {
    const wires = [count, bySex, byRegion, byBoth, grouped]
    for (const [dataset, most] of [
      [rows, 0.35],
      [inRho, 0.006],
    ] as const) {
      const { separate, together } = await planned(wires, dataset)
      expect(isCheaper(together, separate.price)).toBe(true)
      expect(Object.values(amountNumbers(priceTogether(together, dataset.accounting)))[0]).toBeLessThan(most)
    }
    // One and the same table is measured once.
    const { together } = await planned([count, { ...count, epsilon: 0.05 }])
    expect(entry(together.workloads, 0).loss.epsilonNano).toBeLessThan(103_000_000n)
  })

  test('sums cost what their tables cost as a part of their own, and counts what they cost without sums', async () => {
    for (const dataset of [rows, inRho]) {
      const counts = await planned([count, bySex, byBoth], dataset)
      const { separate, together } = await planned(
        [income, count, incomeBySex, bySex, byBoth, sums(['Region', 'Sex'], income), lowIncome, allBySex],
        dataset,
      )
      expect(isCheaper(together, separate.price)).toBe(true)
      expect(together.workloads.map(summedIn)).toEqual([
        { column: 'Income' },
        undefined,
        { column: 'Income', clamp: { lower: 10, upper: 90.5 } },
        { column: 'Balance' },
      ])
      const again = await planned([count, bySex, income, byBoth], dataset)
      expect(again.together.workloads[0]).toEqual(counts.together.workloads[0])
    }
  })

  test.each([
    { price: { epsilon: 0.03 }, dataset: rows },
    { price: { epsilon: 0.7 }, dataset: inRho },
    { price: { accuracy: { halfWidth: 4_000, confidence: 0.9 } }, dataset: people('change-one') },
    { price: { epsilon: 0.7 }, dataset: { ...patients('add-remove'), accounting: 'zcdp' as const } },
  ])(
    'a stored table has the noise that it was measured with: $price',
    async ({ price: offered, dataset }) => {
      const asked = [
        income,
        incomeBySex,
        { ...age, clamp: { lower: 1, upper: 90 } },
        sums(['Region', 'Sex'], income),
      ]
      const grouped = 'epsilon' in offered ? [{ ...allBySex, ...offered }] : []
      const { together } = await planned(
        [...grouped, ...asked.map((wire) => ({ ...wire, ...offered }))],
        dataset,
      )
      const queries = normalTogether(together).queries.map((each) => querySchema.parse(each))
      for (const workload of together.workloads) {
        const { tables, distribution } = noiseOfMarginals(workload)
        for (const [place, table] of tables.entries()) {
          const stated = { ...table, distribution, sum: summedIn(workload) }
          const stored = planOfMeasured(queries, JSON.parse(JSON.stringify(stated)), dataset, LIMITS)
          const { noise, fractionBits } = entry(must(stored, 'a plan').measurements, 0)
          const own = entry(workload.measurements, place)
          expect(fractionBits).toBe(own.fractionBits)
          if (noise.kind === 'discrete-gaussian') expect(noise).toEqual(own.noise)
          else if (own.noise.kind === 'discrete-laplace')
            expect(numberFromRational(noise.scale) / numberFromRational(own.noise.scale)).toBeCloseTo(1, 8)
          expect(stored?.aggregate.statistics).toEqual([workload.added.statistic])
        }
      }
    },
  )

  test('noise of half the sensitivity counts as such: a total under change-one', async () => {
    const { separate, together } = await planned([count, byRegion], people('change-one'))
    expect(isCheaper(together, separate.price)).toBe(true)
  })

  test('stated weights move the errors, and cost more than the least', async () => {
    const wires = [bySex, byRegion, byBoth]
    const quotients = async (weights: readonly number[]) => {
      const { together } = await planned(wires, inRho, { weights })
      const { tables, rho = 0n } = entry(together.workloads, 0)
      return { quotient: entry(tables, 0).deviation / entry(tables, 1).deviation, rho }
    }
    const [first, second] = [await quotients([100, 1, 1]), await quotients([1, 100, 1])]
    expect(first.quotient).toBeLessThan(second.quotient / 2)
    const { together } = await planned(wires, inRho)
    expect(entry(together.workloads, 0).rho).toBeLessThan(first.rho)
  })

  test.each([
    { of: 'rows', dataset: rows, fields: { where: adults } },
    { of: 'people', dataset: patients('add-remove'), fields: { contribution: { rows: 2 }, where: adults } },
  ])(
    'answers about $of agree to the last digit, and are exact without noise',
    async ({ dataset, fields }) => {
      const wires = [
        byBoth,
        bySex,
        count,
        grouped,
        { ...byBoth, columns: ['Sex', 'Region'] },
        allBySex,
        sums(['Region', 'Sex'], income, { kind: 'sum', column: 'Balance' }),
        income,
        lowIncome,
        sums(['Member'], lowIncome),
      ]
      const asked = wires.map((wire) => ({ ...wire, ...fields }))
      const { separate, together } = await planned(asked, dataset)
      const stored = fc.array(fc.tuple(rowOf(dataset), fc.integer({ min: 0, max: 3 })), { maxLength: 40 })
      await fc.assert(
        fc.asyncProperty(stored, async (found) => {
          const table = found.map(
            ([row, person], rank): StoredRow => ({ ...row, [PERSON]: person, [RANK]: rank }),
          )
          const engine = referenceEngine(() => table)
          const shown: Parameters<typeof reportTogether>[2][number][] = []
          for (const [part, workload] of together.workloads.entries()) {
            const { sizes, measured } = workload.reconstruction
            const exact = await readAggregate(workload, engine)
            const { noisy } = await releaseAggregate(workload, exact, systemEntropy())
            const bits = workload.measurements.map(({ fractionBits }) => fractionBits)
            expect(new Set(bits).size).toBeLessThanOrEqual(measured.length)
            const finest = Math.max(...bits)
            const estimate = estimates(
              workload.reconstruction,
              noisy.map((each, place) => each.map((value) => value << BigInt(finest - entry(bits, place)))),
            )
            const { tables } = entry(together.parts, part)
            for (const whole of tables)
              for (const part of tables) {
                if (!contains(whole, part)) continue
                const [large, small] = [estimate(whole), estimate(part)]
                const cells = columnsIn(whole & ~part).reduce(
                  (product, column) => product * entry(sizes, column),
                  1,
                )
                expect(addedUp(large.numerators, whole, part, sizes)).toEqual(
                  small.numerators.map((value) => value * BigInt(cells)),
                )
              }
            const withoutNoise = exact.integers.map((each, place) =>
              each.map((value) => value << BigInt(entry(bits, place))),
            )
            const { result } = measuredReporter(workload)({ kind: 'marginals', noisy: withoutNoise })
            if (!('tables' in result)) throw new Error('tables were asked for')
            shown.push(result)
          }
          for (const [place, query] of separate.plans.entries()) {
            if (query.kind !== 'additive') throw new Error('counts and sums were asked for')
            const { integers } = await readAggregate(query, engine)
            const inUnits = integers.map((cells, statistic) =>
              cells.map((value) => value << BigInt(entry(query.measurements, statistic).fractionBits)),
            )
            const truth = measuredReporter(query)({ kind: 'additive', noisy: inUnits })
            const found = JSON.stringify(reportTogether(together, place, shown).result)
            expect(numbersIn(found)).toEqual(numbersIn(JSON.stringify(truth.result)))
          }
        }),
        { numRuns: cases(40) },
      )
    },
  )
})

test.each(
  (['add-remove', 'change-one'] as const).flatMap((neighbours) => [
    { neighbours, unit: 'row', dataset: people(neighbours) },
    { neighbours, unit: 'person', dataset: patients(neighbours) },
  ]),
)(
  'each measured table moves by its sensitivity at most: $unit, $neighbours',
  async ({ neighbours, unit, dataset }) => {
    const { together } = await planned(
      [
        count,
        bySex,
        age,
        sums(['Region', 'Sex'], age, { kind: 'sum', column: 'Balance' }),
        incomeBySex,
        lowIncome,
      ],
      dataset,
    )
    const unitOf = fc.array(rowOf(dataset), { minLength: 1, maxLength: unit === 'row' ? 1 : 5 })
    const stored = (...units: readonly (readonly StoredRow[])[]) =>
      units
        .flatMap((own, person) => own.map((row) => ({ ...row, [PERSON]: person })))
        .map((row, rank) => ({ ...row, [RANK]: rank }))
    await fc.assert(
      fc.asyncProperty(fc.array(unitOf, { maxLength: 3 }), unitOf, unitOf, async (others, one, other) => {
        const second = neighbours === 'add-remove' ? [] : other
        const [before, after] = [stored(one, ...others), stored(second, ...others)].map((found) =>
          referenceEngine(() => found),
        )
        for (const workload of together.workloads) {
          const [first, next] = await Promise.all(
            [before, after].map((engine) => readAggregate(workload, must(engine, 'an engine'))),
          )
          for (const [place, { sensitivity }] of workload.measurements.entries()) {
            const moved = entry(must(first, 'a reading').integers, place).map(
              (value, cell) => value - entry(entry(must(next, 'a reading').integers, place), cell),
            )
            expect(moved.reduce((sum, each) => sum + (each < 0n ? -each : each), 0n)).toBeLessThanOrEqual(
              sensitivity.l1,
            )
            expect(moved.reduce((sum, each) => sum + each * each, 0n)).toBeLessThanOrEqual(
              sensitivity.l2Squared,
            )
          }
        }
      }),
      { numRuns: cases(300) },
    )
  },
)

/** The values of a result with their keys, without what is about noise. */
function numbersIn(text: string): unknown {
  return JSON.parse(text, (name, value) => (name === 'halfWidth' || name === 'interval' ? undefined : value))
}

describeOnce('queries that cannot be planned together', () => {
  const together = 'where "plan" is "together"'

  test.each([
    ['queries: must be at least 2', [count]],
    ['queries.1.kind: must be count, sum', [count, { kind: 'median', column: 'Age' }]],
    ['queries.1.kind: must be count, sum', [count, { kind: 'topGroups', keys: ['Sex'] }]],
    ['queries.1.kind: must be count, sum', [count, { kind: 'noisyMax', candidates: { column: 'Sex' } }]],
    ['queries.0.kind: must be count', [{ kind: 'keySelection', column: 'Note', delta: 1e-6 }, count]],
    ['queries.0.kind: must be count', [{ kind: 'bounds', column: 'Age' }, count]],
    ['queries.0.kind: must be count', [{ kind: 'mean', column: 'Age' }, count]],
    [
      'queries.1.statistics: must be counts of rows and sums',
      [count, { ...grouped, statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Age' }] }],
    ],
    ['queries.1.where: must be the same', [count, { ...bySex, where: adults }]],
    [
      'queries.1.accuracy.confidence: must be the same',
      [count, { ...bySex, accuracy: { halfWidth: 9, confidence: 0.9 } }],
    ],
    ['queries.1.mechanism: must be left', [count, { ...bySex, mechanism: 'laplace' }]],
    [
      'queries.1: must divide Age into the same cells',
      [
        { kind: 'histogram', column: { column: 'Age', edges: [0, 18, 120] } },
        { kind: 'histogram', column: { column: 'Age', edges: [0, 19, 120] } },
      ],
    ],
    [
      'queries.1: must cover all values of Age',
      [count, { kind: 'histogram', column: { column: 'Age', edges: [18, 30, 120] } }],
    ],
    [
      'plan: cannot be "together": queries: must have half-widths above 0',
      [
        { ...count, epsilon: 999 },
        { ...bySex, epsilon: 999 },
      ],
    ],
  ])('%s', async (rule, wires) => {
    const message = await refusalOf(wires)
    expect(message).toContain(rule)
    if (!message.startsWith('plan')) expect(message).toContain(together)
  })

  test('cells with the same names by another clock are others', async () => {
    const seen = column.timestamp('Seen', '2024-01-01T00:00:00Z', '2024-12-31T00:00:00Z', { step: 3600n })
    const dataset = { ...rows, columns: [...rows.columns, seen] }
    const byMonth = { kind: 'histogram', column: { column: 'Seen', by: 'month' } }
    const inTokyo = { kind: 'histogram', column: { column: 'Seen', by: 'month', timeZone: 'Asia/Tokyo' } }
    expect(await refusalOf([byMonth, inTokyo], dataset)).toContain('must divide Seen into the same cells')
  })

  test('people are bounded in one way', async () => {
    const dataset = patients('add-remove')
    const bounded = (first: object, second: object) =>
      refusalOf(
        [
          { ...count, ...first },
          { ...bySex, ...second },
        ],
        dataset,
      )
    const two = { contribution: { rows: 2 } }
    expect(await bounded(two, two)).toBe('none')
    expect(await bounded({}, two)).toContain('queries.1.contribution: must be the same in all queries')
    expect(await bounded({}, { contribution: { groups: 1 } })).toContain(
      'queries.1.contribution: must bound the rows',
    )
    const total = { ...income, contribution: { rows: 4, perPerson: { lower: 0, upper: 100 } } }
    expect(await refusalOf([count, total], dataset)).toContain(
      'queries.1.contribution.perPerson: must not be given',
    )
    expect(await bounded({ of: 'people' }, {})).toContain('queries.0.of: must be "rows"')
  })

  test('a column that leaves rows out is in all queries', async () => {
    const age = { column: 'Age', edges: [18, 30, 120] }
    const { together: plan } = await planned([
      { kind: 'histogram', column: age },
      { kind: 'contingency', columns: [age, 'Sex'] },
    ])
    expect(plan.parts.map(({ tables }) => tables)).toEqual([[1, 3]])
  })

  test('a live table is read once or not at all, and limits of the dataset hold', async () => {
    const source = { kind: 'table', mode: 'live', connection: 'warehouse', table: 'people' } as const
    const edges = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, edge) => from + edge)
    const large = [
      { kind: 'histogram', column: { column: 'Age', edges: edges(0, 120) } },
      { kind: 'histogram', column: { column: 'Income', edges: edges(10, 500) } },
    ]
    expect(await refusalOf([count, bySex, byBoth], { ...rows, source })).toBe('none')
    expect(await refusalOf(large, { ...rows, source })).toContain('plan: cannot be "together"')
    expect(await refusalOf(large)).toBe('none')
    const limited = { ...rows, queryLimits: { minHalfWidth: 29.5 } }
    expect(await refusalOf([count, bySex, byBoth], limited)).toContain('must leave a half-width of at least')
  })

  test.each([
    ['objective', { plan: 'separate', objective: 'total' }],
    ['weights', { plan: undefined, weights: [1, 1] }],
    ['weights', { objective: 'total', weights: [1, 1] }],
    ['weights.1', { weights: [1, -1] }],
    ['weights', { weights: [0, 0] }],
    ['weights', { weights: [1, 1, 1] }],
  ] as const)('%s of %j', async (field, terms) => {
    expect(await refusalOf([count, bySex], rows, terms as BatchTerms)).toContain(`${field}: must`)
  })
})
