import { divideRoundingUp } from '../../../../privacy/rational.ts'
import { type GridColumn, isTemporal } from '../../../dataset/dataset.ts'
import { ONE_NANO } from '../../../dataset/grid-value.ts'

/*
 * Bands of a column: between powers of two of its unit on both sides of 0, and 0 by itself. For dates and timestamps,
 * whose 0 means nothing, between powers of two of steps from the lower bound. The bands follow from the declaration alone.
 */

/** Returns the edges of the bands as grid indexes, increasing: band i holds edges[i] <= index < edges[i + 1]. */
export function bandEdges(column: GridColumn): readonly bigint[] {
  const { lowerIndex, upperIndex } = column
  const end = upperIndex + 1n
  const farthest = end > -lowerIndex ? end : -lowerIndex
  const powers = isTemporal(column)
    ? powersOfTwo(end - lowerIndex, ONE_NANO)
    : powersOfTwo(farthest + 1n, column.stepNano)
  const inner = isTemporal(column)
    ? powers.map((steps) => lowerIndex + steps)
    : [...powers.map((edge) => -edge), 0n, ...powers]
  const within = inner.filter((edge) => edge > lowerIndex && edge < end)
  return [...new Set([lowerIndex, ...within, end])].sort((one, other) => (one < other ? -1 : 1))
}

/** The first grid index at or above each power of two, from one step on, below an end. */
function powersOfTwo(end: bigint, stepNano: bigint): readonly bigint[] {
  const indexes = new Set([1n])
  // The least power of two above a step of 1e-9 is 2^-29.
  for (let power = -30; ; power += 1) {
    const [numerator, denominator] =
      power < 0 ? [ONE_NANO, stepNano << BigInt(-power)] : [ONE_NANO << BigInt(power), stepNano]
    const index = divideRoundingUp(numerator, denominator)
    if (index >= end) return [...indexes].filter((each) => each < end)
    indexes.add(index)
  }
}
