import { riskOfPrice, stepsOf } from '../risk/one-of-many.ts'

/** Budget of a registration, and what its risk depends on. */
export interface BudgetTerms {
  readonly epsilon: number
  readonly delta: number
  readonly neighbours: 'add-remove' | 'change-one'
  /** Number of people whom the adversary considers equally likely, at least 2. */
  readonly candidates: number
}

/**
 * Upper bound on the probability that an adversary who knows everyone but one person guesses that person correctly
 * once the budget is spent. The service computes it exactly in the dry run.
 */
export function budgetRisk({ epsilon, neighbours, ...adversary }: BudgetTerms): number {
  return riskOfPrice(epsilon, stepsOf(neighbours), adversary)
}

/** Epsilons between which {@link epsilonForRisk} searches. */
export const BUDGET_RANGE = { lower: 0.01, upper: 20 } as const

/**
 * Largest epsilon, with two significant digits rounded down, whose risk is at most `risk`.
 * @returns undefined if even the least epsilon exceeds the risk
 */
export function epsilonForRisk(risk: number, terms: Omit<BudgetTerms, 'epsilon'>): number | undefined {
  const isAccepted = (epsilon: number) => budgetRisk({ ...terms, epsilon }) <= risk
  let { lower, upper } = BUDGET_RANGE as { lower: number; upper: number }
  if (!isAccepted(lower)) return undefined
  if (isAccepted(upper)) return upper
  for (let round = 0; round < 60; round++) {
    const middle = (lower + upper) / 2
    if (isAccepted(middle)) lower = middle
    else upper = middle
  }
  const unit = 10 ** (Math.floor(Math.log10(lower)) - 1)
  const rounded = Number((Math.floor(lower / unit + 1e-9) * unit).toPrecision(12))
  return isAccepted(rounded) ? rounded : Number((rounded - unit).toPrecision(12))
}

/** Points of the risk against epsilon, from 0. */
export function riskCurve(
  terms: Omit<BudgetTerms, 'epsilon'>,
  largestEpsilon: number,
): readonly { readonly x: number; readonly y: number }[] {
  const POINTS = 120
  return Array.from({ length: POINTS + 1 }, (_, index) => {
    const epsilon = (largestEpsilon * index) / POINTS
    return { x: epsilon, y: budgetRisk({ ...terms, epsilon }) }
  })
}
