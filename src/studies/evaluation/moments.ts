import { entry } from '../../privacy/must.ts'

/**
 * Running means, standard errors and standard deviations of several series, by Welford's recurrence: one pass, without
 * differences of large sums.
 */
export function moments(series: number) {
  const means = new Float64Array(series)
  /** Sums of the squared distances from the means. */
  const squares = new Float64Array(series)
  const variance = (at: number, count: number) => (count < 2 ? Number.NaN : entry(squares, at) / (count - 1))
  return {
    /** @param count the number of values including this one */
    add(at: number, value: number, count: number): void {
      const before = entry(means, at)
      const mean = before + (value - before) / count
      means[at] = mean
      squares[at] = entry(squares, at) + (value - before) * (value - mean)
    },
    figure: (at: number, count: number) => ({
      value: count === 0 ? null : finiteOrNull(entry(means, at)),
      standardError: finiteOrNull(Math.sqrt(variance(at, count) / count)),
    }),
    deviation: (at: number, count: number): number | null => finiteOrNull(Math.sqrt(variance(at, count))),
  }
}

/** Replaces NaN and infinities, which JSON cannot represent, by null. */
export function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null
}
