import type { ComparedMechanism } from '../compare.ts'

/** Names of the mechanisms, in the order of a legend. */
export const MECHANISM_NAMES = {
  laplace: 'Laplace',
  geometric: 'geometric',
  'analytic-gaussian': 'analytic Gaussian',
  'classic-gaussian': 'classic Gaussian',
} as const satisfies Record<ComparedMechanism, string>

export const MECHANISMS = Object.keys(MECHANISM_NAMES) as readonly ComparedMechanism[]
