/**
 * Bounds on how far an aggregate, a vector of integers, moves between neighbouring datasets. All figures are exact, in
 * units of the aggregate's own grid.
 */
export interface Sensitivity {
  /** Largest number of entries that differ. */
  readonly l0: bigint
  /** Largest sum of absolute differences. */
  readonly l1: bigint
  /** Largest sum of squared differences: the square of the L2 sensitivity, which is an integer where L2 is not. */
  readonly l2Squared: bigint
  /** Largest difference of one entry. */
  readonly lInfinity: bigint
}

/** Sensitivity of the counts of keys, one entry for each key that occurs in either of two neighbouring datasets. */
export interface KeySensitivity extends Sensitivity {
  /** Largest number of entries that rise. As neighbours are symmetric, no more entries fall. */
  readonly rising: bigint
}

/** Bounds on how far scores move between neighbouring datasets, for mechanisms that compare scores with each other. */
export interface ScoreSensitivity {
  /** Largest difference of one score (L-infinity), in score units. */
  readonly sensitivity: bigint
  /** True where all scores move in the same direction between any two neighbours. */
  readonly monotonic: boolean
}
