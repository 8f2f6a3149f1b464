import { type PersonUnit, plausibleRowsOf } from '../../../../privacy/neighbours.ts'

/** People with `lower` to `upper` rows. */
export interface Band {
  readonly lower: number
  /** Absent in the last band: how many rows its people have is unknown. */
  readonly upper?: number
}

/**
 * Returns the bands by which a profile tells the people of a dataset apart. They begin at the powers of two and half-way
 * between these, up to `plausibleRows`, and after `maxRows`, so that everyone in a band either keeps all rows or loses some.
 * Narrower bands cost nothing, because a person is in one band; but sums over people add up the noise of more counts.
 */
export function bandsOf(unit: PersonUnit): readonly Band[] {
  const last = plausibleRowsOf(unit) + 1
  const lowers = new Set([unit.maxRows + 1, last])
  for (let power = 1; power < last; power *= 2) lowers.add(power).add(Math.ceil(1.5 * power))
  const sorted = [...lowers].filter((lower) => lower <= last).sort((one, other) => one - other)
  return sorted.map((lower, place) => {
    const next = sorted[place + 1]
    return next === undefined ? { lower } : { lower, upper: next - 1 }
  })
}

/** Name of a band, as the cells of answers show it. */
export function nameOfBand({ lower, upper }: Band): string {
  if (upper === undefined) return `more than ${lower - 1}`
  return lower === upper ? String(lower) : `${lower} to ${upper}`
}
