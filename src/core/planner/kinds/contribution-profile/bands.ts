import { type PersonUnit, plausibleRowsOf } from '../../../../privacy/neighbours.ts'

/** People with `lower` to `upper` rows. */
export interface Band {
  readonly lower: number
  /** Absent in the last band: how many rows its people have is unknown. */
  readonly upper?: number
}

/**
 * Returns the bands by which a profile tells the people of a dataset apart: powers of two up to `plausibleRows`, divided
 * after `maxRows`, so that everyone in a band either keeps all rows or loses some.
 */
export function bandsOf(unit: PersonUnit): readonly Band[] {
  const last = plausibleRowsOf(unit) + 1
  const lowers = new Set([unit.maxRows + 1, last])
  for (let power = 1; power < last; power *= 2) lowers.add(power)
  const sorted = [...lowers].sort((one, other) => one - other)
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
