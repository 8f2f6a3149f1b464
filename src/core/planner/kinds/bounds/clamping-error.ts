/*
 * What clamping cuts off, estimated from the noisy histogram of a `bounds` question. Post-processing: it reads released
 * numbers and public facts only. It imports nothing, because the console computes with it as well.
 */

/** A band and its noisy number of rows. It holds lower <= value < upper, in the unit of the column, on a grid of steps. */
export interface CountedBand {
  readonly lower: number
  readonly upper: number
  /** The middle of the grid points of the band. */
  readonly middle: number
  /** The noisy number of rows; 0 for a band that does not stand out from the noise. */
  readonly rows: number
}

/** What a clamp cuts off. */
export interface Cut {
  /** The amounts that are cut off at both ends, added up, as if all rows of a band lay in its middle. */
  readonly amount: number
  /** Share of the rows beyond the clamp. */
  readonly shareBeyond: number
  /** The number of rows in bands that stand out. */
  readonly rows: number
}

/** Estimates what a clamp cuts off. The ends of the clamp are edges of bands. */
export function cutBy(bands: readonly CountedBand[], lower: number, upper: number): Cut {
  let [amount, beyond, rows] = [0, 0, 0]
  for (const band of bands) {
    rows += band.rows
    const isBelow = band.upper <= lower
    if (!isBelow && band.lower < upper) continue
    const distance = isBelow ? lower - band.middle : band.middle - upper
    amount += band.rows * Math.max(0, distance)
    // A value at the upper end is not cut.
    if (distance > 0) beyond += band.rows
  }
  return { amount, shareBeyond: rows === 0 ? 0 : beyond / rows, rows }
}
