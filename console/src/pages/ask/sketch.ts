import type { Schemas } from '../../api/schemas.ts'
import type { LinePoint } from '../../components/charts/scale.ts'

const POINTS = 81
/** Half-widths that a sketch reaches to either side. */
const REACH = 2

/**
 * Returns the shape of the distribution of an answer's error, scaled so that its mode is 1: Laplace for geometric and Laplace
 * noise, normal otherwise. It is exact for one sum or count, and a sketch for statistics made from several.
 * @param halfWidth bound that the error stays within with the probability `confidence`
 */
export function errorDensity(mechanism: string, halfWidth: number, confidence: number): readonly LinePoint[] {
  const laplaceRate = Math.log(1 / (1 - confidence))
  const normalBound = boundOfNormal(confidence)
  return Array.from({ length: POINTS }, (_, place) => {
    const scaled = REACH * ((2 * place) / (POINTS - 1) - 1)
    const y =
      mechanism.includes('geometric') || mechanism === 'laplace'
        ? Math.exp(-laplaceRate * Math.abs(scaled))
        : Math.exp(-0.5 * (normalBound * scaled) ** 2)
    return { x: scaled * halfWidth, y }
  })
}

/** Returns z with P(|Z| <= z) = confidence for a standard normal Z, by bisection. */
export function boundOfNormal(confidence: number): number {
  let [lower, upper] = [0, 8]
  for (let step = 0; step < 50; step += 1) {
    const middle = (lower + upper) / 2
    if (probabilityWithin(middle) < confidence) lower = middle
    else upper = middle
  }
  return (lower + upper) / 2
}

/** Returns P(|Z| <= z) for a standard normal Z, by Simpson's rule. */
function probabilityWithin(z: number): number {
  const intervals = 200
  const width = z / intervals
  let sum = 0
  for (let place = 0; place <= intervals; place += 1) {
    const weight = place === 0 || place === intervals ? 1 : place % 2 === 1 ? 4 : 2
    sum += weight * Math.exp(-0.5 * (place * width) ** 2)
  }
  return ((2 * width) / 3) * (sum / Math.sqrt(2 * Math.PI))
}

/** Error of an answer that can be sketched, or what the half-width means if it is no distance. */
export type Sketch =
  | {
      readonly kind: 'density'
      /** Name of the statistic, if the answer has several. */
      readonly statistic: string | undefined
      readonly mechanism: string
      readonly halfWidth: number
      readonly unit: string | undefined
    }
  | { readonly kind: 'rank'; readonly halfWidth: number; readonly unit: string }

/** Returns what can be sketched of the error of an answer: of several statistics, the first whose error is known. */
export function sketchOf({
  accuracy,
  noise,
}: Pick<Schemas['Preview'], 'accuracy' | 'noise'>): Sketch | undefined {
  const { halfWidth, unit, estimates = {} } = accuracy
  const mechanism = 'parts' in noise ? (noise.parts[0]?.mechanism ?? noise.mechanism) : noise.mechanism
  if (halfWidth === 0) return undefined
  if (halfWidth !== null && (unit === 'rows' || unit === 'people')) return { kind: 'rank', halfWidth, unit }
  if (halfWidth !== null) return { kind: 'density', statistic: undefined, mechanism, halfWidth, unit }
  for (const [statistic, estimate] of Object.entries(estimates))
    if (estimate.halfWidth !== null && estimate.halfWidth > 0 && estimate.unit !== 'rows')
      return { kind: 'density', statistic, mechanism, halfWidth: estimate.halfWidth, unit: estimate.unit }
  return undefined
}
