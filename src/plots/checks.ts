import { numberText } from './text.ts'

/** @throws RangeError for fewer or more things than can be drawn. */
export function requireNumberOf(
  things: string,
  count: number,
  fewest: number,
  most = Number.POSITIVE_INFINITY,
): void {
  if (count < fewest) throw new RangeError(`a plot needs at least ${fewest} ${things}`)
  if (count > most)
    throw new RangeError(`a plot shows at most ${numberText(most)} ${things}, not ${numberText(count)}`)
}

/** @throws RangeError for NaN or an infinity, which have no position on an axis. */
export function requireFinite(values: readonly number[]): void {
  if (!values.every(Number.isFinite)) throw new RangeError('a plot shows finite numbers only')
}

/** @throws RangeError unless the number is a probability. */
export function requireProbabilities(values: readonly number[]): void {
  if (!values.every((value) => value >= 0 && value <= 1))
    throw new RangeError('a probability must be from 0 to 1')
}
