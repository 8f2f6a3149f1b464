import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import { release } from '../../../../src/answers/release.ts'
import { systemEntropy } from '../../../../src/core/mechanisms/samplers/entropy.ts'
import { keySelectionAccuracy } from '../../../../src/core/mechanisms/selection/key-selection.ts'
import { noisyMaxHalfWidth } from '../../../../src/core/mechanisms/selection/noisy-max.ts'
import { extremeRank, quantileHalfWidth } from '../../../../src/core/mechanisms/selection/quantile.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import type { Plan, Released } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { accuracyReport, noiseReport, reporter } from '../../../../src/core/planner/report.ts'
import { epsilonNano } from '../../../../src/privacy/loss.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import { referenceEngine, type StoredRow } from '../../../engines/reference-engine.ts'
import { people } from '../neighbours/people.ts'
import { LIMITS, planFor, planOf, refusalOf } from '../planned.ts'

const regions = { kind: 'noisyMax', candidates: { column: 'Region' } }
const olderThan = (age: number) => ({
  name: `over ${age}`,
  where: { column: 'Age', op: '>', value: age },
})
const notes = { kind: 'keySelection', column: 'Note', delta: 1e-8 }

const shown = (planned: Plan, released: Released) => reporter(planned)(released).result

describe('the best of several', () => {
  const selectionOf = (wire: object, neighbours?: Neighbours) =>
    planFor('noisy-max', planOf(wire, neighbours))

  test('a column is counted in cells, and predicates separately', () => {
    const column = selectionOf({ ...regions, where: { column: 'Age', op: '>', value: 17 } })
    expect(column.candidates).toEqual(['N', 'E', 'S', null])
    expect(column.aggregate).toMatchObject({
      where: { kind: 'index-between', lower: 18n },
      groupBy: [{ kind: 'category', size: 3, nullCell: true }],
      statistics: [{ kind: 'count' }],
    })
    const predicates = selectionOf({ kind: 'noisyMax', candidates: { predicates: [9, 8].map(olderThan) } })
    expect(predicates.candidates).toEqual(['over 9', 'over 8'])
    expect(predicates.aggregate).toMatchObject({
      groupBy: [],
      statistics: [9n, 8n].map((age) => ({ kind: 'count', where: { lower: age + 1n } })),
    })
  })

  test('the default noise has the smallest error, or releases gaps if they are requested', () => {
    expect(noiseReport(planOf(regions))).toMatchObject({ mechanism: 'noisy-max', noise: 'exponential' })
    expect(noiseReport(planOf({ ...regions, gap: true }))).toMatchObject({ noise: 'laplace' })
    const errors = ['laplace', 'gumbel', 'exponential'].map(
      (noise) => accuracyReport(planOf({ ...regions, noise, epsilon: 0.01 })).halfWidth ?? Number.NaN,
    )
    expect(Math.min(...errors)).toBe(errors[2])
  })

  test('noise is described in rows, and only a gap has a granularity', () => {
    expect(noiseReport(planOf({ ...regions, epsilon: 0.1 }))).toEqual({
      mechanism: 'noisy-max',
      noise: 'exponential',
      neighbours: 'add-remove',
      monotonic: true,
      scale: 10,
      sensitivity: 1,
    })
    const [described] = [noiseReport(planOf({ ...regions, k: 2, gap: true, epsilon: 0.1 }, 'change-one'))]
    expect(described).toMatchObject({ noise: 'laplace', neighbours: 'change-one', monotonic: false })
    if (!('noise' in described)) throw new Error('a noisy max has noise')
    // Twice for two candidates, and twice for counts that move in both directions.
    expect(described.scale).toBeCloseTo(40, 9)
    expect(described.scale / (described.granularity ?? Number.NaN)).toBeGreaterThanOrEqual(2 ** 40)
  })

  test('too many candidates are refused', () => {
    const asked = querySchema.parse({ ...regions, epsilon: 1 })
    expect(() => plan(asked, people('add-remove'), { maxCells: 3 })).toThrow('candidates: has 4 candidates')
  })

  test('candidates are shown by name, best first, gaps in rows', () => {
    const planned = selectionOf({ ...regions, k: 2, gap: true })
    const unit = 1n << BigInt(planned.measurement.fractionBits)
    const selected = [
      { candidate: 3, gap: 7n * unit + unit / 2n },
      { candidate: 1, gap: 0n },
    ]
    expect(shown(planned, { kind: 'noisy-max', selected })).toEqual({
      selected: [
        { candidate: null, gap: 7.5 },
        { candidate: 'E', gap: 0 },
      ],
    })
    const without = shown(selectionOf(regions), { kind: 'noisy-max', selected: [{ candidate: 0 }] })
    expect(without).toEqual({ selected: [{ candidate: 'N' }] })
    const unknown: Released = { kind: 'noisy-max', selected: [{ candidate: 4 }] }
    expect(() => shown(planned, unknown)).toThrow(RangeError)
  })

  test('bins are shown by their edges', () => {
    const planned = planOf({
      kind: 'noisyMax',
      candidates: { column: { column: 'Age', edges: [0, 18, 65] } },
    })
    expect(shown(planned, { kind: 'noisy-max', selected: [{ candidate: 1 }] })).toEqual({
      selected: [{ candidate: { lower: 18, upper: 65, upperIncluded: true } }],
    })
  })

  test('its accuracy is in rows', () => {
    const planned = selectionOf({ ...regions, epsilon: 0.1 })
    expect(accuracyReport(planned)).toMatchObject({
      confidence: 0.95,
      halfWidth: noisyMaxHalfWidth(planned.measurement, 0.95),
      expectedAbsoluteError: null,
      unit: 'rows',
    })
  })
})

describe('quantile', () => {
  const quantilesOf = (wire: object, neighbours?: Neighbours) => planFor('quantile', planOf(wire, neighbours))
  const several = { kind: 'percentile', column: 'Balance', p: [90, 10, 50] }

  test('one is a value, in the units of the column', () => {
    const median = planOf({ kind: 'median', column: 'Balance' })
    expect(shown(median, { kind: 'quantile', indexes: [-457n] })).toEqual({ value: -22.85 })
    const one = planOf({ kind: 'percentile', column: 'Balance', p: 25 })
    expect(shown(one, { kind: 'quantile', indexes: [3n] })).toEqual({ value: 0.15 })
  })

  test('several are sorted, and shown in the requested order', () => {
    // Drawn in the requested order: the value for 90% is lowest, and that for 10% is in the middle.
    expect(shown(planOf(several), { kind: 'quantile', indexes: [-20n, 0n, 40n] })).toEqual({
      percentiles: [
        { p: 90, value: 2 },
        { p: 10, value: -1 },
        { p: 50, value: 0 },
      ],
    })
    const alone = planOf({ ...several, p: [75] })
    expect(shown(alone, { kind: 'quantile', indexes: [20n] })).toEqual({
      percentiles: [{ p: 75, value: 1 }],
    })
    const twice = planOf({ ...several, p: [50, 50] })
    expect(shown(twice, { kind: 'quantile', indexes: [20n, 0n] })).toEqual({
      percentiles: [
        { p: 50, value: 0 },
        { p: 50, value: 1 },
      ],
    })
    expect(() => shown(planOf(several), { kind: 'quantile', indexes: [1n, 2n] })).toThrow(RangeError)
  })

  test('the epsilon is divided among them, to the last unit', () => {
    const planned = quantilesOf({ ...several, epsilon: 5e-9 })
    expect(planned.measurements.map(({ loss }) => loss.epsilonNano)).toEqual([2n, 2n, 1n])
    expect(planned.loss).toEqual({ epsilonNano: 5n, deltaAtto: 0n })
    expect(noiseReport(planned)).toMatchObject({
      mechanism: 'exponential',
      quantiles: [
        { p: 90, epsilon: 2e-9 },
        { p: 10, epsilon: 2e-9 },
        { p: 50, epsilon: 1e-9 },
      ],
    })
  })

  test('the half-width holds for several quantiles together, because one large error can move another', () => {
    const planned = quantilesOf({ ...several, epsilon: 0.3 })
    const each = planned.measurements.map((one) => quantileHalfWidth(one, 1 - 0.05 / 3))
    expect(accuracyReport(planned).halfWidth).toBe(Math.max(...each))
    const [alone] = quantilesOf({ kind: 'median', column: 'Balance' }).measurements
    if (alone === undefined) throw new Error('a median is measured')
    expect(accuracyReport(planOf({ kind: 'median', column: 'Balance' }))).toEqual({
      confidence: 0.95,
      halfWidth: quantileHalfWidth(alone, 0.95),
      expectedAbsoluteError: null,
      unit: 'rows',
    })
  })

  test.each(['minimum', 'maximum'])('a %s states its target rank, counted from its end', (kind) => {
    const rankOf = (epsilon: number) => {
      const noise = noiseReport(planOf({ kind, column: 'Age', epsilon }))
      return 'quantiles' in noise ? noise.quantiles[0]?.rank : undefined
    }
    const expected = (nano: bigint) => Number(extremeRank(121n, 1n, epsilonNano(nano), 0.95))
    expect(rankOf(0.1)).toBe(expected(100_000_000n))
    expect(rankOf(1)).toBe(expected(1_000_000_000n))
    expect(rankOf(1000)).toBe(1)
  })

  test('a percentile of exact hundredths is an exact share', () => {
    const [score] = quantilesOf({ kind: 'percentile', column: 'Age', p: 33.33 }).measurements
    // 3333 / 10000: a row below weighs 6667, one above -3333.
    expect(score?.score).toEqual({ below: 6667n, above: -3333n, target: 0n })
    expect(score?.sensitivity).toBe(6667n)
  })
})

describe('undeclared keys', () => {
  const withCounts = { ...notes, counts: true }
  const keysOf = (wire: object, limits = LIMITS) =>
    planFor('key-selection', plan(querySchema.parse({ epsilon: 1, ...wire }), people('add-remove'), limits))
  const counted = (entries: readonly (readonly [string, bigint])[]): Released => ({
    kind: 'key-selection',
    keys: entries.map(([key, noisyCount]) => ({ key, noisyCount })),
  })
  const bare = (keys: readonly string[]): Released => ({
    kind: 'key-selection',
    keys: keys.map((key) => ({ key })),
  })

  test('are shown by noisy count, then by name, for any input order', () => {
    const entries = [
      ['b', 30n],
      ['a', 30n],
      ['', 100n],
      ['é', 31n],
    ] as const
    const keys = [
      { key: '', count: 100 },
      { key: 'é', count: 31 },
      { key: 'a', count: 30 },
      { key: 'b', count: 30 },
    ]
    for (const order of [entries, entries.toReversed()])
      expect(shown(keysOf(withCounts), counted(order))).toEqual({ keys, truncated: false })
  })

  test('without counts, by name', () => {
    for (const order of [
      ['b', '', 'a'],
      ['a', 'b', ''],
    ])
      expect(shown(keysOf(notes), bare(order))).toEqual({
        keys: [{ key: '' }, { key: 'a' }, { key: 'b' }],
        truncated: false,
      })
  })

  test('are cut off at the largest number of cells of a table', () => {
    const planned = keysOf(withCounts, { maxCells: 2 })
    const three = counted([
      ['c', 50n],
      ['a', 40n],
      ['b', 60n],
    ])
    expect(shown(planned, three)).toEqual({
      keys: [
        { key: 'b', count: 60 },
        { key: 'c', count: 50 },
      ],
      truncated: true,
    })
    expect(
      shown(
        planned,
        counted([
          ['c', 50n],
          ['a', 40n],
        ]),
      ),
    ).toMatchObject({ truncated: false })
  })

  test('are cut off if they are too long for one answer', () => {
    const long = ['a', 'b', 'c', 'd', 'e'].map((letter) => letter.repeat(1_000_000))
    const result = shown(keysOf(notes), bare(long))
    if (!('keys' in result)) throw new Error('keys are shown')
    expect(result.truncated).toBe(true)
    expect(result.keys).toHaveLength(3)
    expect(JSON.stringify(result).length).toBeLessThan(4_000_100)
  })

  test('state how many rows a key needs, and the accuracy of counts if there are counts', () => {
    const planned = keysOf(withCounts)
    const stated = keySelectionAccuracy(planned.measurement, 0.95)
    expect(accuracyReport(planned)).toMatchObject({
      confidence: 0.95,
      halfWidth: stated.count?.halfWidth,
      expectedAbsoluteError: stated.count?.expectedAbsoluteError,
      unit: 'rows',
      rowsToAppear: stated.countForConfidence,
    })
    expect(accuracyReport(keysOf(notes))).toMatchObject({
      confidence: 0.95,
      halfWidth: null,
      reason: 'no counts are released; set counts',
      expectedAbsoluteError: null,
      unit: 'rows',
      rowsToAppear: keySelectionAccuracy(keysOf(notes).measurement, 0.95).countForConfidence,
    })
  })

  test('warn where no key can have as many rows or people as it needs', () => {
    const statementOf = (wire: object, size: number) =>
      accuracyReport(planOf({ ...notes, ...wire }, 'change-one', size)).statement
    expect(statementOf({ epsilon: 1 }, 1_000)).toMatch(
      /^A key needs about \d+ rows to appear, and the dataset has at most 1000\.$/,
    )
    expect(statementOf({ epsilon: 0.01 }, 1_000)).toMatch(
      /^A key needs about \d{4} rows to appear, and the dataset has at most 1000: no key can be expected\./,
    )
  })

  test('noise is described by its threshold, or by its name alone', () => {
    const { measurement } = keysOf(withCounts)
    if (measurement.mechanism !== 'thresholded-geometric') throw new Error('counts are thresholded')
    expect(noiseReport(keysOf(withCounts))).toEqual({
      mechanism: 'thresholded-geometric',
      neighbours: 'add-remove',
      scale: 1,
      p: expect.closeTo(1 - Math.exp(-1), 15),
      threshold: Number(measurement.threshold),
    })
    expect(noiseReport(keysOf(notes))).toEqual({
      mechanism: 'near-truncated-geometric',
      neighbours: 'add-remove',
    })
  })

  test('cost epsilon and delta', () => {
    for (const wire of [notes, withCounts])
      expect(keysOf({ ...wire, epsilon: 0.3 }).loss).toEqual({
        epsilonNano: 300_000_000n,
        deltaAtto: 10n ** 10n,
      })
  })
})

describe.each(['add-remove', 'change-one'] as const)('read and released under %s', (neighbours) => {
  const person = (age: bigint, region: number | null, note: string | null): StoredRow => ({
    Age: age,
    Balance: 0n,
    Income: null,
    Sex: 0,
    Region: region,
    Member: null,
    Note: note,
  })
  const rows = [
    ...Array.from({ length: 60 }, (_, index) => person(BigInt(index >> 1), 2, 'flu')),
    ...Array.from({ length: 40 }, () => person(100n, 0, 'cold')),
    person(120n, 1, 'rare'),
    person(120n, null, null),
    person(120n, null, null),
  ]
  const answered = async (wire: object, epsilon: number) => {
    const planned = planOf({ ...wire, epsilon }, neighbours, rows.length)
    return reporter(planned)(
      await release(
        planned,
        referenceEngine(() => rows),
        systemEntropy(),
      ),
    ).result
  }

  // At an epsilon this large, noise is negligible: the answer shows the true values, each at its own place.
  test.each([
    [{ ...regions, k: 3 }, { selected: [{ candidate: 'S' }, { candidate: 'N' }, { candidate: null }] }],
    [
      { kind: 'noisyMax', candidates: { predicates: [99, 20, 110].map(olderThan) }, noise: 'gumbel' },
      { selected: [{ candidate: 'over 20' }] },
    ],
    [{ kind: 'median', column: 'Age' }, { value: 25 }],
    [{ kind: 'median', column: 'Age', where: { column: 'Region', op: '=', value: 'N' } }, { value: 100 }],
    [
      { kind: 'percentile', column: 'Age', p: [99, 50, 10] },
      {
        percentiles: [
          { p: 99, value: 120 },
          { p: 50, value: 25 },
          { p: 10, value: 5 },
        ],
      },
    ],
    [{ kind: 'minimum', column: 'Age' }, { value: 0 }],
    [{ kind: 'maximum', column: 'Age' }, { value: 120 }],
    [
      { ...notes, counts: true },
      {
        keys: [
          { key: 'flu', count: 60 },
          { key: 'cold', count: 40 },
        ],
        truncated: false,
      },
    ],
    [notes, { keys: [{ key: 'cold' }, { key: 'flu' }], truncated: false }],
  ])('%j', async (wire, result) => {
    expect(await answered(wire, 1000)).toEqual(result)
  })

  test('gaps are the distances between the best', async () => {
    const result = await answered({ ...regions, k: 2, gap: true }, 1000)
    if (!('selected' in result)) throw new Error('candidates are selected')
    const gaps = result.selected.map(({ gap }) => gap ?? Number.NaN)
    expect(Math.abs((gaps[0] ?? 0) - 20)).toBeLessThan(1)
    expect(Math.abs((gaps[1] ?? 0) - 38)).toBeLessThan(1)
  })
})

test('a column whose grid cannot be counted exactly has no quantiles', () => {
  const { query, dataset } = planOf({ kind: 'median', column: 'Age' })
  const wide = dataset.columns.map((column) =>
    column.name === 'Age' ? { ...column, lowerIndex: -(2n ** 53n), upperIndex: 2n ** 53n } : column,
  )
  expect(() => plan(query, { ...dataset, columns: wide }, LIMITS)).toThrow('column: has 18014398509481985')
  expect(refusalOf({ kind: 'maximum', column: 'Note' }).errors[0]?.field).toBe('column')
})
