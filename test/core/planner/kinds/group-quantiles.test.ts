import seedrandom from 'seedrandom'
import { expect, test } from 'vitest'
import { readAggregate } from '../../../../src/answers/release.ts'
import { uniformFromWords } from '../../../../src/core/mechanisms/samplers/uniform-integers.ts'
import { noiseReport, reporter } from '../../../../src/core/planner/report.ts'
import { addLoss, epsilonNano, NO_LOSS } from '../../../../src/privacy/loss.ts'
import { evaluate } from '../../../../src/studies/evaluation/evaluation.ts'
import { referenceEngine } from '../../../engines/reference-engine.ts'
import { DATA, valuesOf } from '../neighbours/correlated-people.ts'
import { planFor, planOf, refusalOf } from '../planned.ts'

const GROUPS = {
  kind: 'groupBy',
  keys: ['Member'],
  statistics: [
    { kind: 'median', column: 'Age' },
    { kind: 'count' },
    { kind: 'percentile', column: 'Balance', p: 90 },
    { kind: 'mean', column: 'Age' },
  ],
  epsilon: 1,
  mechanism: 'laplace',
}

test('the epsilon is divided among sums, counts and quantiles', () => {
  const planned = planFor('groups', planOf(GROUPS))
  // A sum, a count and two quantiles.
  const each = { ...NO_LOSS, epsilonNano: epsilonNano(250_000_000n) }
  expect(planned.quantiles.map(({ measurement }) => measurement.loss)).toEqual([each, each])
  expect(planned.sums?.measurements.map(({ loss }) => loss)).toEqual([each, each])
  expect(planned.loss).toEqual([each, each, each, each].reduce(addLoss))
  const noise = noiseReport(planned)
  expect(noise.mechanism === 'several' && noise.parts.map(({ mechanism }) => mechanism)).toEqual([
    'laplace',
    'exponential',
  ])
})

test('each group has its statistics by name, in the order of the query, and quantiles have half-widths in rows', () => {
  const planned = planFor('groups', planOf(GROUPS))
  const bits = planned.sums?.measurements.map(({ fractionBits }) => BigInt(fractionBits)) ?? []
  // Ten rows per cell, and a sum about the middle of 60 of 100 half years.
  const noisy = [10n, 100n].map((value, place) => [0, 1, 2].map(() => value << (bits[place] ?? 0n)))
  const indexes = [
    [18n, 65n, 120n],
    [-1000n, 3n, 600n],
  ]
  const { result, accuracy } = reporter(planned)({
    kind: 'groups',
    sums: { kind: 'additive', noisy },
    indexes,
  })
  if (!('groups' in result)) throw new Error('groups are asked for')
  expect(result.groups.map(({ key }) => key.Member)).toEqual([false, true, null])
  const [first, second] = result.groups.map(({ values }) => values)
  expect(Object.keys(first ?? {})).toEqual(['median_Age', 'count', 'percentile_90_Balance', 'mean_Age'])
  expect(first?.median_Age).toMatchObject({ value: 18, unit: 'rows' })
  expect(second?.percentile_90_Balance).toMatchObject({ value: 0.15, unit: 'rows' })
  expect(first?.count).toMatchObject({ value: 10 })
  expect(first?.mean_Age).toMatchObject({ value: 65 })
  expect(accuracy.estimates?.median_Age).toMatchObject({
    halfWidth: first?.median_Age?.halfWidth,
    unit: 'rows',
  })
  expect(accuracy.halfWidth).toBeNull()
})

test.each(['add-remove', 'change-one'] as const)(
  'under %s the ranks are within their half-widths as often as stated',
  async (neighbours) => {
    const [, rows = []] = DATA
    const planned = planFor('groups', planOf(GROUPS, neighbours, rows.length))
    const random = seedrandom('group quantiles')
    const noiseSource = uniformFromWords({ next: () => random.int32() >>> 0 })
    const exact = await readAggregate(
      planned,
      referenceEngine(() => rows),
    )
    const runs = 300
    const evaluation = await evaluate({ plan: planned, exact }, { runs, shown: 0, noiseSource })
    if (!('values' in evaluation)) throw new Error('numbers are evaluated')
    expect(evaluation.values).toHaveLength(12)
    for (const { key, statistic, truth, withinHalfWidth, rankErrorRows } of evaluation.values) {
      const group = rows.filter(({ Member }) => Member === (key?.Member ?? null))
      const sorted = (column: string) =>
        valuesOf(group, [column])
          .map(([value = 0]) => value)
          .sort((a, b) => a - b)
      const quantile = (column: string, share: number) =>
        sorted(column)[Math.ceil(share * group.length) - 1] ?? Number.NaN
      const ages = sorted('Age')
      const expected = {
        median_Age: quantile('Age', 0.5),
        count: group.length,
        percentile_90_Balance: quantile('Balance', 0.9),
        mean_Age: ages.reduce((sum, age) => sum + age, 0) / ages.length,
      }[statistic ?? '']
      expect(Number(truth)).toBeCloseTo(expected ?? Number.NaN, 6)
      // A probability of 0.95 leads to fewer than 255 of 300 less than once in 1e8 runs.
      expect((withinHalfWidth ?? 0) * runs).toBeGreaterThan(255)
      expect(rankErrorRows === undefined).toBe(statistic === 'count' || statistic === 'mean_Age')
    }
  },
)

test('an accuracy in rows is reached by one quantile', () => {
  const statistics = [{ kind: 'median', column: 'Age' }]
  const wire = {
    ...GROUPS,
    mechanism: undefined,
    statistics,
    epsilon: undefined,
    accuracy: { halfWidth: 25 },
  }
  const { accuracy } = reporter(planOf(wire))({ kind: 'groups', indexes: [[1n, 2n, 3n]] })
  expect(accuracy.halfWidth).toBeLessThanOrEqual(25)
  expect(accuracy).toMatchObject({ unit: 'rows', expectedAbsoluteError: null })
})

test('without keys all rows are one group', async () => {
  const [, rows = []] = DATA
  const planned = planFor('groups', planOf({ ...GROUPS, keys: [] }))
  const exact = await readAggregate(
    planned,
    referenceEngine(() => rows),
  )
  expect(exact.values.map((cells) => cells.length)).toEqual([1, 1])
  const indexes = exact.values.map(([cell]) => [BigInt(cell?.indexes[0] ?? 0)])
  const sums = { kind: 'additive', noisy: exact.integers ?? [] } as const
  const { result } = reporter(planned)({ kind: 'groups', sums, indexes })
  if (!('groups' in result)) throw new Error('groups are asked for')
  expect(result.groups.map(({ key }) => key)).toEqual([{}])
  expect(Object.keys(result.groups[0]?.values ?? {})).toHaveLength(4)
})

test('without keys and conditions a mean uses the public number of rows', () => {
  const wire = { kind: 'groupBy', keys: [], statistics: [{ kind: 'mean', column: 'Age' }] }
  const measurementsOf = (query: object, neighbours: 'add-remove' | 'change-one') =>
    planFor('additive', planOf(query, neighbours)).measurements.length
  expect(measurementsOf(wire, 'change-one')).toBe(1)
  expect(measurementsOf(wire, 'add-remove')).toBe(2)
  const some = { ...wire, where: { column: 'Sex', op: '=', value: 'F' } }
  expect(measurementsOf(some, 'change-one')).toBe(2)
  const { result } = reporter(planOf(wire, 'change-one'))({ kind: 'additive', noisy: [[0n]] })
  expect(result).toMatchObject({ groups: [{ key: {}, values: { mean_Age: {} } }] })
})

const MEDIAN = { kind: 'median', column: 'Age' }

test.each([
  [
    { statistics: [MEDIAN, { kind: 'count' }, MEDIAN] },
    'statistics.2',
    'must not repeat an earlier statistic',
  ],
  [{ statistics: [MEDIAN, { kind: 'median', column: 'Sex' }] }, 'statistics.1.column', expect.any(String)],
  [{ statistics: [MEDIAN, { kind: 'mean', column: 'Sex' }] }, 'statistics.1.column', expect.any(String)],
  [
    { statistics: [MEDIAN, { kind: 'percentile', column: 'Age', p: 100 }] },
    'statistics.1.p',
    expect.stringContaining('between 0 and 100'),
  ],
  [{ statistics: [MEDIAN] }, 'mechanism', expect.stringContaining('sums and counts')],
  [
    { epsilon: undefined, accuracy: { halfWidth: 5 } },
    'statistics',
    expect.stringContaining('must be one statistic'),
  ],
  [{ epsilon: 3e-9 }, 'epsilon', expect.stringContaining('4 parts')],
  [{ keys: ['Note'] }, 'keys.0', expect.any(String)],
  [{ contribution: { rows: 1 } }, 'contribution', expect.any(String)],
])('%j is refused', (wrong, field, rule) => {
  const refusal = refusalOf({ ...GROUPS, ...wrong })
  expect(refusal.errors).toEqual([{ field, rule }])
})
