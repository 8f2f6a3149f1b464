/** Which values a count counts; the bounds of `between` are among them. */
export type ValuePredicate =
  | { readonly op: '=' | '!=' | '<' | '<=' | '>' | '>='; readonly value: number }
  | { readonly op: 'between'; readonly lower: number; readonly upper: number }
  | { readonly op: 'in'; readonly values: readonly number[] }

/**
 * What is asked of the released values. Variance and standard deviation are the population's: squares are divided by the
 * size. Median and percentiles interpolate linearly between order statistics: of M values in ascending order, percentile p
 * stands at place 1 + (M - 1) p / 100.
 */
export type RiskQuery =
  | {
      readonly kind: 'mean' | 'sum' | 'median' | 'variance' | 'standardDeviation' | 'minimum' | 'maximum'
    }
  | { readonly kind: 'percentile' /** From 0 to 100. */; readonly p: number }
  | { readonly kind: 'count'; readonly satisfying: ValuePredicate }

/** `enumeration`: every world is looked at. `structure`: what the query does with ordered values tells the same. */
export type Way = 'enumeration' | 'structure'

/** What an adversary knows before a response: everything but who is in the released dataset. */
export interface RiskQuestion {
  /** One value per person, in any order; equal values are different people's. */
  readonly universe: readonly number[]
  /** How many people the released dataset holds. */
  readonly released: number
  readonly query: RiskQuery
  /** By how many people neighbouring datasets differ; 1 where it is left out. */
  readonly changed?: number
  /**
   * The adversary's belief in each world, in the lexicographic order of the positions (as of `itertools.combinations`).
   * Where it is left out, all worlds are equally likely.
   */
  readonly prior?: readonly number[] | undefined
  /** For tests: asks for one way. Where it is left out, what is cheap is enumerated. */
  readonly way?: Way
}
