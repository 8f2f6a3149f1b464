import type { Measurement } from '../../src/core/mechanisms/measurement.ts'
import { calibrateKeyPresence } from '../../src/core/mechanisms/selection/key-selection.ts'
import type { NoisyMaxMeasurement } from '../../src/core/mechanisms/selection/noisy-max.ts'
import type { Plan } from '../../src/core/planner/plans/plan-kinds.ts'
import { epsilonNano } from '../../src/privacy/loss.ts'
import { type Rational, rational } from '../../src/privacy/rational.ts'

/** A plan with a mistake, at the price of the correct plan. */
export interface WrongPlan {
  readonly mistake: string
  readonly plan: Plan
}

function rankTooSmall<M extends { readonly sensitivity: bigint; readonly exponent: Rational }>(
  measurement: M,
): M {
  const { sensitivity, exponent } = measurement
  const factor = sensitivity === 1n ? rational(2n, 1n) : rational(sensitivity, sensitivity - 1n)
  return { ...measurement, exponent: product(exponent, factor) }
}

/** Each measurement in turn with a sensitivity that is one unit too small, or half of 1. */
export function withSensitivitiesTooSmall(plan: Plan): readonly WrongPlan[] {
  switch (plan.kind) {
    case 'additive':
    case 'cumulative':
      return withOneChanged(plan.measurements, 'one unit too small', oneUnitTooSmall).map(
        ({ mistake, changed }) => ({ mistake, plan: { ...plan, measurements: changed } }),
      )
    case 'marginals':
      return withOneChanged(plan.measurements, 'one unit too small', oneUnitTooSmall).map(
        ({ mistake, changed }) => ({ mistake, plan: { ...plan, measurements: changed } }),
      )
    case 'noisy-max':
      return [
        {
          mistake: 'half the sensitivity',
          plan: { ...plan, measurement: scaled(plan.measurement, rational(1n, 2n)) },
        },
      ]
    case 'quantile':
      return withOneChanged(plan.measurements, 'one unit too small', rankTooSmall).map(
        ({ mistake, changed }) => ({ mistake, plan: { ...plan, measurements: changed } }),
      )
    case 'groups': {
      const { sums, quantiles } = plan
      const wrongSums = sums === undefined ? [] : withSensitivitiesTooSmall(sums)
      return [
        ...wrongSums.flatMap(({ mistake, plan: wrong }) =>
          wrong.kind === 'additive' ? [{ mistake, plan: { ...plan, sums: wrong } }] : [],
        ),
        ...withOneChanged(quantiles, 'one unit too small', ({ measurement, ...facts }) => ({
          ...facts,
          measurement: rankTooSmall(measurement),
        })).map(({ mistake, changed }) => ({ mistake, plan: { ...plan, quantiles: changed } })),
      ]
    }
    case 'key-selection': {
      const { measurement, loss } = plan
      const twice = epsilonNano(2n * loss.epsilonNano)
      if (measurement.mechanism === 'near-truncated-geometric') {
        // Two changed keys treated as one.
        const { sensitivity } = measurement
        const oneKey = { l0: 1n, l1: 1n, l2Squared: 1n, lInfinity: 1n, rising: 1n }
        const epsilon = sensitivity.l0 === 1n ? twice : loss.epsilonNano
        const wrong = calibrateKeyPresence(oneKey, epsilon, loss.deltaAtto)
        return [{ mistake: 'half the sensitivity', plan: { ...plan, measurement: wrong } }]
      }
      const half = product(measurement.scale, rational(1n, 2n))
      const { threshold } = measurement
      return [
        { mistake: 'half the sensitivity', plan: { ...plan, measurement: { ...measurement, scale: half } } },
        {
          mistake: 'a threshold one row too low',
          plan: { ...plan, measurement: { ...measurement, threshold: threshold - 1n } },
        },
      ]
    }
  }
}

/**
 * Each measurement of sums and counts in turn with so small a sensitivity that a pair that moves it alone spends more
 * than the price of all.
 */
export function withSensitivitiesFarTooSmall(plan: Plan): readonly WrongPlan[] {
  if (plan.kind !== 'additive') return []
  const divisor = BigInt(Math.max(4, 2 * plan.measurements.length))
  return withOneChanged(plan.measurements, `1 / ${divisor} of the sensitivity`, (measurement) =>
    withNoiseTimes(measurement, 1n, divisor),
  ).map(({ mistake, changed }) => ({ mistake, plan: { ...plan, measurements: changed } }))
}

/** Treats the number of rows of a mean as public: counts are released without noise. */
export function withCountsPublic(plan: Plan): Plan {
  if (plan.kind !== 'additive') throw new Error('only sums and counts have a number of rows')
  const measurements = plan.measurements.map((measurement, statistic): Measurement => {
    if (plan.aggregate.statistics[statistic]?.kind !== 'count') return measurement
    return { ...measurement, noise: { kind: 'discrete-laplace', scale: { numerator: 0n, denominator: 1n } } }
  })
  return { ...plan, measurements }
}

/** Treats counts as monotonic under these neighbours too. */
export function withMonotonicScores(plan: Plan): Plan {
  if (plan.kind !== 'noisy-max' || plan.measurement.monotonic)
    throw new Error('only for a choice among scores that are not monotonic')
  return { ...plan, measurement: scaled(plan.measurement, rational(1n, 2n)) }
}

function withOneChanged<M>(
  measurements: readonly M[],
  mistake: string,
  change: (measurement: M) => M,
): { readonly mistake: string; readonly changed: readonly M[] }[] {
  return measurements.map((_, index) => ({
    mistake: `measurement ${index}: ${mistake}`,
    changed: measurements.map((measurement, place) => (place === index ? change(measurement) : measurement)),
  }))
}

function oneUnitTooSmall(measurement: Measurement): Measurement {
  const { l1, l2Squared } = measurement.sensitivity
  if (l1 === 1n) return withNoiseTimes(measurement, 1n, 2n)
  if (measurement.noise.kind === 'discrete-laplace') return withNoiseTimes(measurement, l1 - 1n, l1)
  // One unit of the square of L2.
  const sigma = Math.floor(Number(measurement.noise.sigma) * Math.sqrt(1 - 1 / Number(l2Squared)))
  return { ...measurement, noise: { ...measurement.noise, sigma: BigInt(sigma) } }
}

/** A measurement with this part of its noise. */
export function withNoiseTimes(
  measurement: Measurement,
  numerator: bigint,
  denominator: bigint,
): Measurement {
  const { noise } = measurement
  return {
    ...measurement,
    noise:
      noise.kind === 'discrete-laplace'
        ? { ...noise, scale: product(noise.scale, rational(numerator, denominator)) }
        : { ...noise, sigma: (noise.sigma * numerator) / denominator },
  }
}

function scaled(measurement: NoisyMaxMeasurement, factor: Rational): NoisyMaxMeasurement {
  return { ...measurement, scale: product(measurement.scale, factor) }
}

function product(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.numerator, a.denominator * b.denominator)
}
