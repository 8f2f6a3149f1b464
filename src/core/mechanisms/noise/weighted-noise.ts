/** Noise of one number, in the unit that people read. */
export type Noise =
  | {
      readonly kind: 'laplace'
      /** Distance between neighbouring values. */
      readonly unit: number
      /** The scale b of the discrete distribution, in units. */
      readonly scaleUnits: number
    }
  | { readonly kind: 'normal'; readonly unit: number; readonly sigma: number }

/** A noise and its factor in a linear combination. */
export interface WeightedNoise {
  readonly noise: Noise
  readonly weight: number
}

/** Independent noises that are alike, and their common factor in a linear combination. */
export interface CountedNoise extends WeightedNoise {
  readonly count: number
}
