import { CholeskyDecomposition, Matrix } from 'ml-matrix'
import { entry } from '../../../../privacy/must.ts'
import type { AdditivePlan, Moment, Regression } from '../shape.ts'
import { columnRange, type Estimator, type NumberAt, type Released, within } from './estimator.ts'
import { momentReleased, momentsExpectedError, momentsHalfWidth, type WeightedMoment } from './moments.ts'

/*
 * Least squares from noisy sums of products (src/core/planner/additive/estimates/accuracy.md, "Linear regression"). Every column is centred and
 * scaled to lie between -1 and 1. With z = (1, predictors), A the sum of z z^T over the rows and b the sum of z times
 * the outcome, the coefficients x satisfy A x = b. From the noisy A' = A + E and b' = b + e and the ridge R, a diagonal
 * matrix, the released ones are x' = V b' with V the inverse of A' + R, and exactly
 *
 *   x' - x = V (e - E x - R x)
 *
 * Only V is random beside E and e, and it is known after the release: bounds on the entries of e - E x - R x, all at
 * once, bound every linear function of the coefficients.
 */

/** Share of alpha that is set aside for a first bound of the coefficients. */
const FIRST_BOUND_SHARE = 1 / 16

/** A bound on rounding, relative to a coefficient. */
const ROUNDING = 1e-9

/** The ridge of a plan: the declared one, or else the expected absolute noise of the noisiest sum of squares. */
export function ridgeOf(plan: AdditivePlan, { gram, ridge }: Regression): number {
  if (ridge !== undefined) return ridge
  const expected = gram.flatMap((row, place) =>
    row.slice(place, place + 1).map((moment) => momentsExpectedError(plan, [{ moment, weight: 1 }])),
  )
  return Math.max(...expected)
}

/** Released coefficients in the unit of the scaled columns. */
interface Solution {
  readonly coefficients: readonly number[]
  /** The inverse of the noisy matrix with the ridge. */
  readonly inverse: readonly (readonly number[])[]
}

/**
 * Solves for the coefficients; `undefined` if the noisy matrix with the ridge is not positive definite, so that the
 * numbers determine no coefficients.
 */
export function solveRegression(
  { gram, products }: Regression,
  ridge: number,
  numberAt: NumberAt,
): Solution | undefined {
  const matrix = gram.map((row, i) =>
    row.map((moment, j) => momentReleased(moment, numberAt) + (i === j && i > 0 ? ridge : 0)),
  )
  const right = products.map((moment) => momentReleased(moment, numberAt))
  if (matrix.some((row, i) => !(entry(row, i) > 0))) return undefined
  const decomposition = new CholeskyDecomposition(new Matrix(matrix))
  if (!decomposition.isPositiveDefinite()) return undefined
  const solved = decomposition.solve(Matrix.columnVector(right)).to1DArray()
  const inverse = decomposition.solve(Matrix.eye(matrix.length)).to2DArray()
  const overflows = [...solved, ...inverse.flat()].some((entry) => !Number.isFinite(entry))
  return overflows ? undefined : { coefficients: solved, inverse }
}

/** Estimates the intercept and the coefficients, in this order. They share one solution of each answer. */
export function regressionEstimators(plan: AdditivePlan, regression: Regression): readonly Estimator[] {
  const ridge = ridgeOf(plan, regression)
  const bound = residualBound(plan, regression, ridge)
  let solvedFor: NumberAt | undefined
  let solved: (Solution & { readonly bounds: Bounds }) | undefined
  const solutionOf = (numberAt: NumberAt) => {
    if (numberAt !== solvedFor) {
      const solution = solveRegression(regression, ridge, numberAt)
      solved = solution && { ...solution, bounds: bound(solution) }
      solvedFor = numberAt
    }
    return solved
  }
  return functionalsOf(regression).map(({ constant, weights }, place) => ({
    foreseen: () => undefined,
    released(numberAt): Released {
      const solution = solutionOf(numberAt)
      if (solution === undefined) return undetermined(regression, place, numberAt)
      const { coefficients, inverse, bounds } = solution
      const value = coefficients.reduce(
        (sum, coefficient, k) => sum + entry(weights, k) * coefficient,
        constant,
      )
      // The error is the product of this row and the residual e - E x - R x.
      const row = inverse.map((entries) =>
        Math.abs(entries.reduce((sum, term, k) => sum + term * entry(weights, k), 0)),
      )
      const total = (residual: readonly number[]) =>
        residual.reduce((sum, term, k) => sum + entry(row, k) * term, 0)
      return {
        value,
        halfWidth: total(bounds.residual) + ROUNDING * (Math.abs(value) + Math.abs(constant)),
        expectedAbsoluteError: total(bounds.expected),
      }
    },
  }))
}

/**
 * Coefficients that the numbers do not determine: the slopes are 0, and the intercept is the noisy mean of the outcome.
 */
function undetermined({ outcome, products, gram }: Regression, place: number, numberAt: NumberAt): Released {
  const unknown = { halfWidth: Number.POSITIVE_INFINITY, expectedAbsoluteError: Number.POSITIVE_INFINITY }
  const [sum, rows] = [products[0], gram[0]?.[0]]
  if (place > 0 || sum === undefined || rows === undefined) return { value: 0, ...unknown }
  const { middle, halfRange } = columnRange(outcome)
  const mean = momentReleased(sum, numberAt) / Math.max(1, momentReleased(rows, numberAt))
  return { value: middle + halfRange * within(mean, -1, 1), ...unknown }
}

/** A linear function of the scaled coefficients: a number of the answer in the unit that people read. */
interface Functional {
  readonly constant: number
  readonly weights: readonly number[]
}

/**
 * With y = c + h Y for the outcome and x_j = c_j + h_j X_j for the predictors, Y = a_0 + sum of a_j X_j means
 * y = (c + h a_0 - sum of h a_j c_j / h_j) + sum of (h a_j / h_j) x_j.
 */
function functionalsOf({ outcome, predictors }: Regression): readonly Functional[] {
  const { middle, halfRange } = columnRange(outcome)
  const ranges = predictors.map(columnRange)
  const intercept = [halfRange, ...ranges.map((range) => (-halfRange * range.middle) / range.halfRange)]
  const slopes = ranges.map((range, place) => ({
    constant: 0,
    weights: [0, ...ranges.map((_, other) => (other === place ? halfRange / range.halfRange : 0))],
  }))
  return [{ constant: middle, weights: intercept }, ...slopes]
}

/** Bounds on the magnitudes of the entries of e - E x - R x, which hold together, and on their expected values. */
interface Bounds {
  readonly residual: readonly number[]
  readonly expected: readonly number[]
}

/**
 * Returns a function that bounds the residual of a solution, with confidence 1 - alpha. The weights of the noise are
 * the true coefficients, of which a first bound follows from bounds on every single noise; then the bound is improved
 * with the weights that the last one allows. It is infinite if the noise is too large for a first bound.
 */
function residualBound(plan: AdditivePlan, regression: Regression, ridge: number) {
  const { gram, products } = regression
  const alpha = 1 - plan.confidence
  const firstBound = firstBoundOf(plan, regression, ridge, alpha * FIRST_BOUND_SHARE)
  const halfWidthOf = momentsHalfWidth(plan, (alpha * (1 - FIRST_BOUND_SHARE)) / gram.length)
  /** The noise of each entry of the residual, for coefficients whose magnitudes are at most these. */
  const noises = (largest: readonly number[]): readonly (readonly WeightedMoment[])[] =>
    gram.map((row, i) => [
      ...products.slice(i, i + 1).map((moment) => ({ moment, weight: 1 })),
      ...row.map((moment, j) => ({ moment, weight: entry(largest, j) })),
    ])
  const ridged = (term: number, place: number, coefficients: readonly number[]) =>
    term + (place === 0 ? 0 : ridge * Math.abs(entry(coefficients, place)))
  return (solution: Solution): Bounds => {
    const { coefficients, inverse } = solution
    const expected = noises(coefficients).map((noise, place) =>
      ridged(momentsExpectedError(plan, noise), place, coefficients),
    )
    const first = firstBound(solution)
    if (first === undefined) return { residual: gram.map(() => Number.POSITIVE_INFINITY), expected }
    let errors = first
    let residual: readonly number[] = []
    for (let pass = 0; pass < 3; pass += 1) {
      const largest = coefficients.map((coefficient, k) => Math.abs(coefficient) + entry(errors, k))
      residual = noises(largest).map((noise, place) => ridged(halfWidthOf(noise), place, largest))
      const next = inverse.map((row) =>
        row.reduce((sum, term, k) => sum + Math.abs(term) * entry(residual, k), 0),
      )
      errors = errors.map((error, k) => Math.min(error, entry(next, k)))
    }
    return { residual, expected }
  }
}

/** Largest number of steps in the search for a first bound; a bound that needs more would be too wide to be useful. */
const MOST_STEPS = 200

/**
 * Returns a function that bounds the errors d of the coefficients x' from bounds on every single noise, which hold
 * together with confidence 1 - alpha: d <= |V| (h + (H + R) (|x'| + d)), entry by entry. If the right side
 * at d = u is below u for some positive vector u, then d is below u. `undefined` if no such u is found.
 */
function firstBoundOf(plan: AdditivePlan, regression: Regression, ridge: number, alpha: number) {
  const { gram, products } = regression
  const noisy = [...gram.flat(), ...products].filter((moment) => moment.kind === 'noisy')
  const statistics = new Set(noisy.map(({ statistic }) => statistic))
  const halfWidthOf = momentsHalfWidth(plan, alpha / statistics.size)
  const single = (moment: Moment) => halfWidthOf([{ moment, weight: 1 }])
  const ofProducts = products.map(single)
  const ofGram = gram.map((row, i) => row.map((moment, j) => single(moment) + (i === j && i > 0 ? ridge : 0)))
  return ({ coefficients, inverse }: Solution): readonly number[] | undefined => {
    const next = (errors: readonly number[]) => {
      const largest = coefficients.map((coefficient, k) => Math.abs(coefficient) + entry(errors, k))
      const residual = ofGram.map((row, k) =>
        row.reduce((sum, term, l) => sum + term * entry(largest, l), entry(ofProducts, k)),
      )
      return inverse.map((row) => row.reduce((sum, term, k) => sum + Math.abs(term) * entry(residual, k), 0))
    }
    let errors: readonly number[] = coefficients.map(() => 0)
    for (let step = 0; step < MOST_STEPS; step += 1) {
      const larger = next(errors).map((error) => error * (1 + 1 / 64))
      if (next(larger).every((error, k) => error <= entry(larger, k))) return larger
      errors = larger
    }
    return undefined
  }
}
