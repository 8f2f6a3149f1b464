/** Fraction with a positive denominator. */
interface Fraction {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** Measured combinations of unknowns, and one that is asked for. */
export interface SmallSystem {
  /** Coefficients of the unknowns in each measured integer. */
  readonly rows: readonly (readonly number[])[]
  readonly variances: readonly number[]
  readonly target: readonly number[]
}

/**
 * The least variance of an unbiased linear estimate, in exact rationals over the dense matrix: with the normal matrix
 * G = sum of row row^T / variance, it is target^T x for any solution x of G x = target.
 * @returns `undefined` if there is no unbiased estimate
 */
export function leastVariance({ rows, variances, target }: SmallSystem): number | undefined {
  const size = target.length
  const matrix = Array.from({ length: size }, (_, i) => [
    ...Array.from({ length: size }, (_, j) =>
      rows.reduce(
        (sum, row, place) =>
          plus(sum, fraction(BigInt((row[i] ?? 0) * (row[j] ?? 0)), BigInt(variances[place] ?? 1))),
        ZERO,
      ),
    ),
    fraction(BigInt(target[i] ?? 0), 1n),
  ])
  const pivots: number[] = []
  for (let column = 0; column < size; column += 1) {
    const found = matrix.findIndex((row, place) => place >= pivots.length && !isZero(row[column]))
    if (found === -1) continue
    const rank = pivots.length
    const pivot = matrix[found] ?? []
    matrix[found] = matrix[rank] ?? []
    matrix[rank] = pivot.map((value) => dividedBy(value, pivot[column] ?? ZERO))
    for (const [place, row] of matrix.entries()) {
      const factor = row[column] ?? ZERO
      if (place === rank || isZero(factor)) continue
      matrix[place] = row.map((value, j) => minus(value, times(factor, matrix[rank]?.[j] ?? ZERO)))
    }
    pivots.push(column)
  }
  if (matrix.slice(pivots.length).some((row) => !isZero(row[size]))) return undefined
  const variance = pivots.reduce(
    (sum, column, place) =>
      plus(sum, times(fraction(BigInt(target[column] ?? 0), 1n), matrix[place]?.[size] ?? ZERO)),
    ZERO,
  )
  return Number(variance.numerator) / Number(variance.denominator)
}

const ZERO: Fraction = { numerator: 0n, denominator: 1n }

function fraction(numerator: bigint, denominator: bigint): Fraction {
  let [larger, smaller] = [numerator < 0n ? -numerator : numerator, denominator]
  while (smaller !== 0n) [larger, smaller] = [smaller, larger % smaller]
  const divisor = denominator < 0n === larger < 0n ? larger : -larger
  return { numerator: numerator / divisor, denominator: denominator / divisor }
}

function plus(a: Fraction, b: Fraction): Fraction {
  return fraction(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator)
}

function minus(a: Fraction, b: Fraction): Fraction {
  return plus(a, { ...b, numerator: -b.numerator })
}

function times(a: Fraction, b: Fraction): Fraction {
  return fraction(a.numerator * b.numerator, a.denominator * b.denominator)
}

function dividedBy(a: Fraction, b: Fraction): Fraction {
  return fraction(a.numerator * b.denominator, a.denominator * b.numerator)
}

function isZero(value: Fraction | undefined): boolean {
  return value === undefined || value.numerator === 0n
}
