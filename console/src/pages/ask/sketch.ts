/** Points of a sketch. */
const POINTS = 81
/** Half-widths that a sketch reaches to either side. */
const REACH = 2

export interface SketchPoint {
  readonly x: number
  readonly y: number
}

/**
 * Returns the shape of the distribution of an answer's error, scaled so that its mode is 1: Laplace for geometric and Laplace
 * noise, normal otherwise. It is exact for one sum or count, and a sketch for statistics made from several.
 * @param halfWidth bound that the error stays within with the probability `confidence`
 */
export function errorDensity(
  mechanism: string,
  halfWidth: number,
  confidence: number,
): readonly SketchPoint[] {
  const laplaceRate = Math.log(1 / (1 - confidence))
  const normalBound = boundOfNormal(confidence)
  return Array.from({ length: POINTS }, (_, place) => {
    const scaled = REACH * ((2 * place) / (POINTS - 1) - 1)
    const y =
      mechanism === 'geometric' || mechanism === 'laplace'
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
