import type { Amount } from 'sotto-client'

/** Exact amount of an event: whole numbers of `epsilonNano` and `deltaAtto`, or of `rhoPico`. */
export type Units = Readonly<Record<string, bigint>>

/** Digits after the point of each unit. */
const DECIMALS: Readonly<Record<string, number>> = { epsilonNano: 9, deltaAtto: 18, rhoPico: 12 }

/**
 * Reads the amount of an event.
 * @throws RangeError if it is missing or not in the units of amounts
 */
export function unitsOf(amount: unknown): Units {
  if (typeof amount !== 'object' || amount === null) throw new RangeError('the event has no amount')
  const units = Object.entries(amount).map(([unit, digits]) => {
    if (!(unit in DECIMALS) || typeof digits !== 'string' || !/^(0|[1-9]\d{0,24})$/.test(digits))
      throw new RangeError('an amount is a whole number in decimal digits')
    return [unit, BigInt(digits)] as const
  })
  return Object.fromEntries(units)
}

export function addUnits(one: Units, other: Units): Units {
  const units = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries([...units].map((unit) => [unit, (one[unit] ?? 0n) + (other[unit] ?? 0n)]))
}

/** True if a cap is at least an amount, in every unit of the amount. */
export function covers(cap: Units, amount: Units): boolean {
  return Object.entries(amount).every(([unit, value]) => value <= (cap[unit] ?? 0n))
}

/** Converts an exact amount to the numbers that the service states. */
export function amountOf(units: Units): Amount {
  const numberOf = (unit: string) => Number(`${units[unit] ?? 0n}e-${DECIMALS[unit]}`)
  return 'rhoPico' in units
    ? { rho: numberOf('rhoPico') }
    : { epsilon: numberOf('epsilonNano'), delta: numberOf('deltaAtto') }
}
