/** Values that a count counts; the bounds of `between` are included. */
export type ValuePredicate =
  | { readonly op: '=' | '!=' | '<' | '<=' | '>' | '>='; readonly value: number }
  | { readonly op: 'between'; readonly lower: number; readonly upper: number }
  | { readonly op: 'in'; readonly values: readonly number[] }

/**
 * Query of the released values. Variance and standard deviation are the population's: squares are divided by the
 * size. Median and percentiles interpolate linearly between order statistics: of M values in ascending order,
 * percentile p is at position 1 + (M - 1) p / 100.
 */
export type RiskQuery =
  | {
      readonly kind: 'mean' | 'sum' | 'median' | 'variance' | 'standardDeviation' | 'minimum' | 'maximum'
    }
  | { readonly kind: 'percentile' /** From 0 to 100. */; readonly p: number }
  | { readonly kind: 'count'; readonly satisfying: ValuePredicate }

/**
 * `enumeration` visits every world. `structure` uses properties of the query on ordered values and gives the same
 * result.
 */
export type Way = 'enumeration' | 'structure'

/**
 * Values of one person: those of the person's rows, at least one, or a single number. Several rows are supported for
 * queries whose answer is made from one number for each person: `sum`, `count`, `minimum` and `maximum`.
 */
export type PersonValues = number | readonly number[]

/** Everything that an adversary knows before a response. */
export interface RiskQuestion {
  /** The values of each person, in any order; equal values belong to different people. */
  readonly universe: readonly PersonValues[]
  /** Number of people in the released dataset. */
  readonly released: number
  readonly query: RiskQuery
  /** Number of people by which neighbouring datasets differ; default 1. */
  readonly changed?: number
  /**
   * Adversary's belief in each world, in the lexicographic order of the positions (as in `itertools.combinations`).
   * Default: all worlds are equally likely.
   */
  readonly prior?: readonly number[] | undefined
  /** Selects a method, for tests. Default: enumeration if it is cheap. */
  readonly way?: Way
}
