import { Matrix, solve } from 'ml-matrix'
import seedrandom from 'seedrandom'
import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import { readAggregate } from '../../../../src/answers/release.ts'
import { uniformFromWords } from '../../../../src/core/mechanisms/samplers/uniform-integers.ts'
import { reporter } from '../../../../src/core/planner/report.ts'
import type { Report } from '../../../../src/core/planner/report-kinds.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import { evaluate } from '../../../../src/studies/evaluation/evaluation.ts'
import { someOf } from '../../../cases.ts'
import { referenceEngine, type StoredRow } from '../../../engines/reference-engine.ts'
import { DATA, valuesOf } from '../neighbours/correlated-people.ts'
import { estimatesOf, refusalOf } from '../planned.ts'
import { releasesOf } from '../releases.ts'

/*
 * Regressions against least squares over the rows themselves, and how often their half-widths hold together. Noise
 * comes from a seeded source, so that every run counts the same.
 */

const DRAWS = 400
/** A probability of failure of 0.05 leads to more failures than this less than once in 1e8 runs. */
const MOST_FAILURES = 48

/** Intercept and coefficients by a singular value decomposition of the rows. */
function leastSquares(rows: readonly StoredRow[], outcome: string, predictors: readonly string[]): number[] {
  const values = valuesOf(rows, [outcome, ...predictors])
  const design = new Matrix(values.map(([, ...row]) => [1, ...row]))
  return solve(design, Matrix.columnVector(values.map(([y = 0]) => y)), true).to1DArray()
}

function numbersOf({ result }: Report) {
  if (!('coefficients' in result)) throw new Error('a regression is asked for')
  return [result.intercept, ...result.coefficients]
}

const REGRESSIONS = [
  { outcome: 'Balance', predictors: ['Age'] },
  { outcome: 'Income', predictors: ['Age', 'Member'] },
  { outcome: 'Member', predictors: ['Income', 'Balance', 'Age'] },
]
const MECHANISMS = [
  { mechanism: 'laplace', epsilon: 20 },
  { mechanism: 'gaussian', epsilon: 3, delta: 1e-6 },
  { mechanism: 'gaussian', epsilon: 3, delta: 1e-6, ridge: 40 },
]

describe.each(['add-remove', 'change-one'] as const)('under %s', (neighbours: Neighbours) => {
  test.each(REGRESSIONS)('$outcome by $predictors without noise is least squares', (asked) => {
    for (const rows of DATA) {
      // At this epsilon the noise is far below the error of a double.
      const wire = {
        kind: 'linearRegression',
        ...asked,
        mechanism: 'gaussian',
        epsilon: 1000,
        delta: 0.1,
        ridge: 0,
      }
      const [released] = releasesOf(estimatesOf(wire, neighbours, rows.length), rows, 1, 'exact')
      const truth = leastSquares(rows, asked.outcome, asked.predictors)
      const numbers = released === undefined ? [] : numbersOf(released)
      expect(numbers).toHaveLength(truth.length)
      for (const [place, { value, halfWidth }] of numbers.entries()) {
        expect(halfWidth).not.toBeNull()
        expect(Math.abs(value - (truth[place] ?? Number.NaN))).toBeLessThan(2 * (halfWidth ?? Number.NaN))
      }
    }
  })

  describe.each(MECHANISMS)('with noise %j', (mechanism) => {
    test.each(someOf(REGRESSIONS))(
      '$outcome by $predictors lies within all half-widths as often as stated',
      (asked) => {
        for (const rows of DATA) {
          const planned = estimatesOf(
            { kind: 'linearRegression', ...asked, ...mechanism },
            neighbours,
            rows.length,
          )
          const truth = leastSquares(rows, asked.outcome, asked.predictors)
          const failures = { stated: 0, shortened: 0, unknown: 0 }
          for (const released of releasesOf(planned, rows, DRAWS, 'noise')) {
            const misses = (share: number) =>
              numbersOf(released).some(
                ({ value, halfWidth }, place) =>
                  halfWidth !== null && Math.abs(value - (truth[place] ?? Number.NaN)) > share * halfWidth,
              )
            if (misses(1)) failures.stated += 1
            if (misses(0.3)) failures.shortened += 1
            if (numbersOf(released).some(({ halfWidth }) => halfWidth === null)) failures.unknown += 1
          }
          expect(failures.stated).toBeLessThanOrEqual(MOST_FAILURES)
          if (failures.unknown === 0) expect(failures.shortened).toBeGreaterThan(MOST_FAILURES)
          // Three predictors that are nearly the same are too much for this noise.
          expect(failures.unknown > 0).toBe(asked.predictors.length === 3 && rows === DATA[2])
        }
      },
    )
  })
})

const AGE = { kind: 'linearRegression', outcome: 'Balance', predictors: ['Age'] }

test.each([
  [
    { predictors: ['Sex'] },
    'predictors.0',
    'must be numeric, boolean or temporal, and Sex is of type category',
  ],
  [{ outcome: 'Region' }, 'outcome', 'must be numeric, boolean or temporal, and Region is of type category'],
  [{ predictors: ['Age', 'Balance'] }, 'predictors.1', 'must not repeat an earlier column'],
  [{ predictors: ['Age', 'Income', 'Age'] }, 'predictors.2', 'must not repeat an earlier column'],
  [
    { predictors: ['Income', 'Age'], where: { column: 'Age', op: '=', value: 30 } },
    'predictors.1',
    'must not be constant, and where allows a single value of Age',
  ],
  [{ ridge: -1 }, 'ridge', 'must be at least 0 and at most 1000000000000'],
  [{ postprocess: { nonNegative: true } }, 'postprocess.nonNegative', expect.any(String)],
  [{ epsilon: undefined, accuracy: { halfWidth: 1 } }, 'accuracy', expect.any(String)],
  [{ epsilon: 1e-9 }, 'epsilon', expect.stringContaining('5 parts')],
])('a regression with %j is refused', (wrong, field, rule) => {
  expect(refusalOf({ ...AGE, ...wrong }).errors).toEqual([{ field, rule }])
})

test('more than eight predictors, or none, are refused', () => {
  for (const predictors of [[], Array.from({ length: 9 }, (_, place) => `x${place}`)])
    expect(querySchema.safeParse({ ...AGE, predictors, epsilon: 1 }).success).toBe(false)
})

test('where the noise leaves no solution the slopes are 0 and no half-width is stated', () => {
  const planned = estimatesOf(AGE)
  const noisy = planned.aggregate.statistics.map(({ kind }) => [
    kind === 'affine-square-sum' ? -(2n ** 50n) : 100n,
  ])
  const { result, accuracy } = reporter(planned)({ kind: 'additive', noisy })
  if (!('coefficients' in result)) throw new Error('a regression is asked for')
  expect(result.coefficients).toEqual([{ column: 'Age', value: 0, halfWidth: null }])
  expect(result.intercept.halfWidth).toBeNull()
  expect(accuracy.estimates?.coefficient_Age).toMatchObject({ halfWidth: null, reason: expect.any(String) })
})

test('the default ridge is the expected noise of the sums of squares, and public', () => {
  const planned = estimatesOf({ ...AGE, mechanism: 'laplace' })
  const ridges = [...releasesOf(planned, DATA[1] ?? [], 2, 'ridge')].map(({ result }) =>
    'ridge' in result ? result.ridge : undefined,
  )
  // Five statistics share the epsilon of 1: a scale of 5 for a sum whose terms are at most 1.
  expect(ridges).toEqual([expect.closeTo(5, 3), ridges[0]])
})

test('the coefficient of a date is a trend per day', () => {
  const [first] = estimatesOf({ ...AGE, predictors: ['Visited'] }).estimates
  const column = first?.kind === 'coefficient' ? first.columns[1] : undefined
  const { lowerIndex = 0n, upperIndex = 0n } = column ?? {}
  const rows = [0n, 1n, 2n, 3n].flatMap((quarter) => {
    const day = lowerIndex + (quarter * (upperIndex - lowerIndex)) / 3n
    return Array.from({ length: 50 }, () => ({ Age: 20n + 30n * quarter, Visited: day }))
  })
  const wire = {
    ...AGE,
    outcome: 'Age',
    predictors: ['Visited'],
    mechanism: 'gaussian',
    epsilon: 1000,
    delta: 0.1,
    ridge: 0,
  }
  const [released] = releasesOf(estimatesOf(wire), rows, 1, 'trend')
  const [, slope] = released === undefined ? [] : numbersOf(released)
  const days = Number(upperIndex - lowerIndex)
  // Days are rounded down, so that the points are not quite on a line.
  expect(slope?.value).toBeCloseTo(90 / days, 3)
})

test('an evaluation compares with least squares without the ridge, and knows none where predictors determine each other', async () => {
  const wire = { ...AGE, mechanism: 'gaussian', epsilon: 3, delta: 1e-6, ridge: 40 }
  const evaluatedOver = async (rows: readonly StoredRow[]) => {
    const planned = estimatesOf(wire)
    const exact = await readAggregate(
      planned,
      referenceEngine(() => rows),
    )
    const random = seedrandom('regression')
    const noiseSource = uniformFromWords({ next: () => random.int32() >>> 0 })
    const evaluation = await evaluate({ plan: planned, exact }, { runs: 50, shown: 1, noiseSource })
    if (!('values' in evaluation)) throw new Error('numbers are evaluated')
    return evaluation.values
  }
  const [, rows = []] = DATA
  const values = await evaluatedOver(rows)
  const truth = leastSquares(rows, 'Balance', ['Age'])
  expect(values.map(({ statistic }) => statistic)).toEqual(['intercept', 'coefficient_Age'])
  for (const [place, value] of values.entries()) {
    expect(Number(value.truth)).toBeCloseTo(truth[place] ?? Number.NaN, 6)
    expect(value.withinHalfWidth).toBeGreaterThan(0.8)
  }
  const constant = await evaluatedOver(rows.map((row) => ({ ...row, Age: 40n })))
  expect(constant.map(({ truth: none }) => none)).toEqual([null, null])
})
