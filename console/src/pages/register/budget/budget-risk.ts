import { largestEpsilon, type OneOfMany } from '../../risk/one-of-many/one-of-many.ts'

/** Epsilons that can be chosen by a risk. */
export const BUDGET_RANGE = { lower: 0.01, upper: 20 } as const

/**
 * Largest epsilon, with two significant digits rounded down, whose risk is at most `risk`.
 * @returns undefined if even the least epsilon exceeds the risk
 */
export function epsilonForRisk(risk: number, terms: OneOfMany): number | undefined {
  const largest = largestEpsilon(risk, terms)
  if (largest === undefined || largest < BUDGET_RANGE.lower) return undefined
  const most = Math.min(BUDGET_RANGE.upper, largest)
  const unit = 10 ** (Math.floor(Math.log10(most)) - 1)
  const rounded = Number((Math.floor(most / unit + 1e-9) * unit).toPrecision(12))
  return rounded <= most ? rounded : Number((rounded - unit).toPrecision(12))
}
