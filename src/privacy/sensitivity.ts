/**
 * How far an aggregate, a vector of integers, moves between neighbouring datasets. Every figure is an exact bound in
 * units of the aggregate's own grid.
 */
export interface Sensitivity {
  /** Largest sum of absolute differences. */
  readonly l1: bigint
  /** Largest sum of squared differences: the square of the L2 sensitivity, which is an integer where L2 is not. */
  readonly l2Squared: bigint
  /** Largest difference of one entry. */
  readonly lInfinity: bigint
}
