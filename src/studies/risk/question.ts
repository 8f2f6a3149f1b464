import type { z } from 'zod'
import type { riskRequest } from '../../../schemas/studies/risk.ts'

type Asked = z.input<typeof riskRequest>

/**
 * Query of the released values. Variance and standard deviation are the population's: squares are divided by the
 * size. Median and percentiles interpolate linearly between order statistics: of M values in ascending order,
 * percentile p is at position 1 + (M - 1) p / 100.
 */
export type RiskQuery = Asked['query']

/** Values that a count includes; the bounds of `between` are included. */
export type ValuePredicate = Extract<RiskQuery, { kind: 'count' }>['satisfying']

/**
 * Values of one person: those of the person's rows, at least one, or a single number. Several rows are supported for
 * queries whose answer is made from one number for each person: `sum`, `count`, `minimum` and `maximum`.
 */
export type PersonValues = Asked['universe'][string][number]

/**
 * `enumeration` visits every world. `structure` uses properties of the query on ordered values and gives the same
 * result.
 */
export type Way = 'enumeration' | 'structure'

/**
 * Everything that an adversary knows before a response. `released` is a number of people, `changed` that by which
 * neighbouring datasets differ (default 1). `prior` is the belief in each world, in the lexicographic order of the
 * positions (as in `itertools.combinations`); by default all worlds are equally likely.
 */
export interface RiskQuestion extends Pick<Asked, 'released' | 'query' | 'changed' | 'prior'> {
  /** The values of each person, in any order; equal values belong to different people. */
  readonly universe: readonly PersonValues[]
  /** Selects a method, for tests. Default: enumeration if it is cheap. */
  readonly way?: Way
}
