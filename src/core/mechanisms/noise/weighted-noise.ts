import type { MechanismName } from '../measurement.ts'

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

/** The noise that an answer states. */
export function noiseStated(
  mechanism: MechanismName,
  { scale, granularity }: { readonly scale: number; readonly granularity: number },
): Noise {
  return mechanism === 'gaussian'
    ? { kind: 'normal', unit: granularity, sigma: scale }
    : { kind: 'laplace', unit: granularity, scaleUnits: scale / granularity }
}

/** A noise and its factor in a linear combination. */
export interface WeightedNoise {
  readonly noise: Noise
  readonly weight: number
}

/** Independent noises that are alike, and their common factor in a linear combination. */
export interface CountedNoise extends WeightedNoise {
  readonly count: number
}
