import { describe, expect, test } from 'vitest'
import { accuracyReport, reporter } from '../../../../src/core/planner/report.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import { someOf } from '../../../cases.ts'
import type { StoredRow } from '../../../engines/reference-engine.ts'
import { DATA, valuesOf } from '../neighbours/correlated-people.ts'
import { estimatesOf, refusalOf } from '../planned.ts'
import { releasesOf } from '../releases.ts'

/*
 * Covariances and correlations against their definitions, and how often their half-widths hold. Noise comes from a
 * seeded source, so that every run counts the same.
 */

const DRAWS = 1000
/** A probability of failure of 0.05 leads to more failures than this less than once in 1e8 runs. */
const MOST_FAILURES = 93

type Pair = readonly [string, string]

/** Population covariance of two columns by its definition. */
function covarianceOf(rows: readonly StoredRow[], columns: Pair): number {
  const pairs = valuesOf(rows, columns)
  const meanOf = (place: number) => pairs.reduce((sum, pair) => sum + (pair[place] ?? 0), 0) / pairs.length
  const [mean, otherMean] = [meanOf(0), meanOf(1)]
  return pairs.reduce((sum, [x = 0, y = 0]) => sum + (x - mean) * (y - otherMean), 0) / pairs.length
}

/** Pearson correlation of two columns by its definition. */
function correlationOf(rows: readonly StoredRow[], [one, other]: Pair): number {
  const present = rows.filter((row) => row[one] !== null && row[other] !== null)
  const [v, w] = [covarianceOf(present, [one, one]), covarianceOf(present, [other, other])]
  return covarianceOf(present, [one, other]) / Math.sqrt(v * w)
}

const TRUTHS = { covariance: covarianceOf, correlation: correlationOf }
const PAIRS = [
  ['Age', 'Balance'],
  ['Income', 'Age'],
  ['Member', 'Income'],
] as const satisfies readonly Pair[]
const MECHANISMS = [
  { mechanism: 'laplace', epsilon: 3 },
  { mechanism: 'gaussian', epsilon: 3, delta: 1e-6 },
]
const CASES = (['covariance', 'correlation'] as const).flatMap((kind) =>
  PAIRS.map((columns) => ({ kind, columns })),
)

describe.each(['add-remove', 'change-one'] as const)('under %s', (neighbours: Neighbours) => {
  test.each(CASES)('the $kind of $columns without noise is that of the definition', ({ kind, columns }) => {
    for (const rows of DATA) {
      // At this epsilon the noise is far below the error of a double.
      const wire = { kind, columns, mechanism: 'laplace', epsilon: 1000 }
      const [released] = releasesOf(estimatesOf(wire, neighbours, rows.length), rows, 1, 'exact')
      const value = released !== undefined && 'value' in released.result ? released.result.value : Number.NaN
      const truth = TRUTHS[kind](rows, columns)
      expect(Math.abs(Number(value) - truth)).toBeLessThan(1e-3 * (kind === 'covariance' ? 1000 : 1))
    }
  })

  describe.each(MECHANISMS)('with $mechanism noise', (mechanism) => {
    test.each(someOf(CASES))(
      'the $kind of $columns lies within its half-widths as often as stated',
      ({ kind, columns }) => {
        const shortened = { after: 0, before: 0 }
        for (const rows of DATA) {
          const planned = estimatesOf({ kind, columns, ...mechanism }, neighbours, rows.length)
          const truth = TRUTHS[kind](rows, columns)
          const counted = valuesOf(rows, columns).length
          const before = accuracyReport(planned, { rows: counted }).halfWidth
          expect(before === null).toBe(kind === 'correlation')
          const failures = { after: 0, before: 0 }
          for (const { result, accuracy } of releasesOf(planned, rows, DRAWS, 'noise')) {
            const error = Math.abs(Number('value' in result ? result.value : Number.NaN) - truth)
            const halfWidth = accuracy.halfWidth ?? Number.NaN
            if (!(error <= halfWidth)) failures.after += 1
            if (!(error <= (before ?? 2))) failures.before += 1
            if (error > 0.5 * halfWidth) shortened.after += 1
            if (error > 0.35 * (before ?? 0)) shortened.before += 1
          }
          expect(failures.after).toBeLessThanOrEqual(MOST_FAILURES)
          expect(failures.before).toBeLessThanOrEqual(MOST_FAILURES)
        }
      },
    )
  })
})

test.each([
  [
    ['Age', 'Sex'],
    undefined,
    'columns.1',
    'must be numeric, boolean or temporal, and Sex is of type category',
  ],
  [
    ['Note', 'Age'],
    undefined,
    'columns.0',
    'must be numeric, boolean or temporal, and Note is of type string',
  ],
  [['Age', 'Age'], undefined, 'columns.1', 'must not repeat an earlier column'],
  [['Age', 'Height'], undefined, 'columns.1', expect.stringContaining('Height')],
  [
    ['Age', 'Member'],
    { column: 'Member', op: '=', value: true },
    'columns.1',
    'must not be constant, and where allows a single value of Member',
  ],
  [
    ['Age', 'Member'],
    { op: 'and', predicates: [{ column: 'Age', op: 'in', values: [3] }] },
    'columns.0',
    'must not be constant, and where allows a single value of Age',
  ],
])('the covariance of %j where %j is refused', (columns, where, field, rule) => {
  for (const kind of ['covariance', 'correlation'])
    expect(refusalOf({ kind, columns, ...(where === undefined ? {} : { where }) }).errors).toEqual([
      { field, rule },
    ])
})

test('an accuracy is refused for a correlation, and values below 0 are not cut off', () => {
  const columns = ['Age', 'Balance']
  expect(refusalOf({ kind: 'correlation', columns, accuracy: { halfWidth: 0.1 } }).errors[0]?.field).toBe(
    'accuracy',
  )
  for (const kind of ['covariance', 'correlation'])
    expect(refusalOf({ kind, columns, postprocess: { nonNegative: true } }).errors[0]?.field).toBe(
      'postprocess.nonNegative',
    )
})

test('a correlation whose noisy variance is not positive is 0, give or take 1', () => {
  const planned = estimatesOf({ kind: 'correlation', columns: ['Age', 'Balance'] })
  const noisy = (squares: bigint) =>
    planned.aggregate.statistics.map(({ kind }) => [kind === 'affine-square-sum' ? squares : 2n ** 40n])
  const { result, accuracy } = reporter(planned)({ kind: 'additive', noisy: noisy(0n) })
  expect(result).toEqual({ value: 0 })
  expect(accuracy.halfWidth).toBe(1)
})
