import { numberFromRational, type Rational } from '../../src/privacy/rational.ts'

/** coefficient * exp(rate * (v - corner)) for an integer v. */
interface Term {
  readonly coefficient: number
  readonly rate: number
}

/** A function of an integer v: a sum of terms below a corner, and another from there on. */
export interface Piecewise {
  readonly corner: bigint
  readonly below: readonly Term[]
  readonly from: readonly Term[]
}

/*
 * Discrete Laplace noise N on the integers, q = exp(-1 / scale): P(N = m) = tanh(1 / (2 scale)) q^|m|,
 * P(N <= m) = q^-m / (1 + q) for m < 0 and 1 - q^(m + 1) / (1 + q) for m >= 0.
 */

/** P(center + N = v). */
export function massAt(center: bigint, scale: Rational): Piecewise {
  const rate = 1 / numberFromRational(scale)
  const coefficient = Math.tanh(0.5 * rate)
  return { corner: center, below: [{ coefficient, rate }], from: [{ coefficient, rate: -rate }] }
}

/** P(center + N <= v). */
export function atMost(center: bigint, scale: Rational): Piecewise {
  const rate = 1 / numberFromRational(scale)
  const half = 1 / (1 + Math.exp(-rate))
  return {
    corner: center,
    below: [{ coefficient: half, rate }],
    from: [
      { coefficient: 1, rate: 0 },
      { coefficient: half - 1, rate: -rate },
    ],
  }
}

/** P(center + N >= v). */
export function atLeast(center: bigint, scale: Rational): Piecewise {
  const rate = 1 / numberFromRational(scale)
  const half = 1 / (1 + Math.exp(-rate))
  return {
    corner: center,
    below: [
      { coefficient: 1, rate: 0 },
      { coefficient: half - 1, rate },
    ],
    from: [{ coefficient: half, rate: -rate }],
  }
}

/**
 * The sum over all integers v of the product of the functions at v, in closed form: between two corners the product
 * is a sum of exponentials, and each sums up as a geometric series. Its relative error is that of the roundings of a
 * double: the terms of one function add up to at least a third of what their magnitudes do.
 */
export function sumOverIntegers(functions: readonly Piecewise[]): number {
  const corners = functions.map(({ corner }) => corner).sort((a, b) => (a < b ? -1 : 1))
  let sum = 0
  for (let region = 0; region <= corners.length; region += 1) {
    const [start, end] = [corners[region - 1], corners[region]]
    if (start === end) continue
    // A place of the region from which all exponents are measured.
    const anchor = start ?? (end ?? 0n) - 1n
    const distances = functions.map(({ corner }) => Number(anchor - corner))
    // Each product takes one term of every function.
    const add = (place: number, coefficient: number, rate: number, exponent: number): void => {
      const each = functions[place]
      if (each === undefined) {
        sum += coefficient * geometricSum(rate, exponent, start, end)
        return
      }
      const distance = distances[place] as number
      for (const term of distance >= 0 ? each.from : each.below)
        add(place + 1, coefficient * term.coefficient, rate + term.rate, exponent + term.rate * distance)
    }
    add(0, 1, 0, 0)
  }
  return sum
}

/**
 * The sum of exp(exponent + rate * (v - anchor)) over the v of a region, from its larger end, so that nothing
 * overflows.
 */
function geometricSum(
  rate: number,
  exponent: number,
  start: bigint | undefined,
  end: bigint | undefined,
): number {
  const fall = Math.abs(rate)
  if (start === undefined || end === undefined) {
    const decays = start === undefined ? rate > 0 : rate < 0
    if (!decays) throw new RangeError('the sum has no end')
    return Math.exp(exponent) / -Math.expm1(-fall)
  }
  const length = Number(end - start)
  const largest = Math.exp(rate > 0 ? exponent + rate * (length - 1) : exponent)
  return fall === 0 ? largest * length : (largest * Math.expm1(-fall * length)) / Math.expm1(-fall)
}
