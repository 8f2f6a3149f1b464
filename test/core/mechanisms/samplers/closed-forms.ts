import type { Rational } from '../../../../src/privacy/rational.ts'
import { CERTAIN, UNIT_BITS } from './enumerated-tape.ts'

/*
 * Proven bounds of closed forms, in rational arithmetic and independent of `exponential-bounds.ts`.
 */

/** Bounds of a real number, in units of 2^-{@link FORM_BITS}. */
export interface Interval {
  readonly lower: bigint
  readonly upper: bigint
}

/** Finer than the unit of a certificate, so that a closed form is almost a point in it. */
const FORM_BITS = 256n
const ONE = 1n << FORM_BITS

/** 1 / 60! is below 2^-272. */
const TERMS = 60n

/** Bounds of exp(-numerator / denominator). */
export function exponential({ numerator, denominator }: Rational): Interval {
  if (numerator === 0n) return fraction(1n, 1n)
  const whole = numerator / denominator
  const rest = alternatingSeries(numerator % denominator, denominator)
  const unit = alternatingSeries(1n, 1n)
  return {
    lower: (rest.lower * unit.lower ** whole) >> (FORM_BITS * whole),
    upper: ((rest.upper * unit.upper ** whole) >> (FORM_BITS * whole)) + 1n,
  }
}

/**
 * Bounds of exp(-n / d) for n / d from 0 to 1: the terms of the series fall, so that its sums are above and below the limit
 * in turn. They are computed as fractions, and rounded once.
 */
function alternatingSeries(n: bigint, d: bigint): Interval {
  let [numerator, denominator, power] = [1n, 1n, 1n]
  const step = (term: bigint) => {
    power *= -n
    denominator *= d * term
    numerator = numerator * d * term + power
  }
  for (let term = 1n; term < TERMS; term += 1n) step(term)
  const lower = (numerator * ONE) / denominator
  step(TERMS)
  return { lower, upper: (numerator * ONE) / denominator + 1n }
}

export function fraction(numerator: bigint, denominator: bigint): Interval {
  const lower = (numerator * ONE) / denominator
  return { lower, upper: lower * denominator === numerator * ONE ? lower : lower + 1n }
}

export function complement({ lower, upper }: Interval): Interval {
  return { lower: ONE - upper, upper: ONE - lower }
}

/** (1 - q) / (1 + q) * exp(-|value| / scale), q = exp(-1 / scale). */
export function laplaceMass(value: bigint, { numerator: t, denominator: s }: Rational): Interval {
  const q = exponential({ numerator: s, denominator: t })
  const power = exponential({ numerator: magnitude(value) * s, denominator: t })
  return {
    lower: (power.lower * (ONE - q.upper)) / (ONE + q.upper),
    upper: (power.upper * (ONE - q.lower)) / (ONE + q.lower) + 1n,
  }
}

/**
 * Creates the masses of the discrete Gaussian distribution. Beyond a multiple of sigma, the terms of their sum fall at
 * least as fast as a geometric series, because z^2 is at least reach^2 + 2 reach (z - reach).
 */
export function gaussianMasses({ numerator: n, denominator: d }: Rational): (value: bigint) => Interval {
  const weight = (value: bigint) => exponential({ numerator: value * value * d, denominator: 2n * n })
  let reach = 1n
  while (reach * reach * d < 400n * n) reach += 1n
  let [lower, upper] = [ONE, ONE]
  for (let value = 1n; value < reach; value += 1n) {
    const bounds = weight(value)
    lower += 2n * bounds.lower
    upper += 2n * bounds.upper
  }
  const ratio = exponential({ numerator: reach * d, denominator: n })
  upper += (2n * weight(reach).upper * ONE) / (ONE - ratio.upper) + 1n
  return (value) => {
    const bounds = weight(value)
    return { lower: (bounds.lower * ONE) / upper, upper: (bounds.upper * ONE) / lower + 1n }
  }
}

/** True if a probability with these bounds, in the unit of exact masses, may be any number within the closed form. */
export function contains(bounds: Interval, form: Interval): boolean {
  const shift = FORM_BITS - UNIT_BITS
  const largest = bounds.upper > CERTAIN ? CERTAIN : bounds.upper
  return bounds.lower << shift <= form.lower && form.upper <= largest << shift
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}
