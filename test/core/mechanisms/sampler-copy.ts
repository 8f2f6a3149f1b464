import { type SourceChange, withChangedSource } from '../../mutants/changed-source.ts'

/** The modules that the exact tests examine. */
export interface Samplers {
  readonly uniform: typeof import('../../../src/core/mechanisms/samplers/uniform-integers.ts')
  /** The unchanged coins. */
  readonly coins: typeof import('../../../src/core/mechanisms/samplers/bernoulli.ts')
  /** These flip their coins through {@link EnumeratedTape.flip}: they need an enumerated tape as their source. */
  readonly laplace: typeof import('../../../src/core/mechanisms/samplers/discrete-laplace.ts')
  readonly gaussian: typeof import('../../../src/core/mechanisms/samplers/discrete-gaussian.ts')
  readonly unboundedCoin: typeof import('../../../src/core/mechanisms/samplers/bernoulli-unbounded.ts')
  readonly exponential: typeof import('../../../src/core/mechanisms/selection/exponential.ts')
  readonly permuteAndFlip: typeof import('../../../src/core/mechanisms/selection/permute-and-flip.ts')
  readonly noisyMax: typeof import('../../../src/core/mechanisms/selection/noisy-max.ts')
  /** No coins. */
  readonly bounds: typeof import('../../../src/core/mechanisms/samplers/exponential-bounds.ts')
}

/**
 * Stands in for `bernoulli.ts` in a copy: the same coins, each as one branch of the tape with the probabilities that
 * enumerating the real coin finds.
 */
const FLIPPED_COINS = `
import * as coins from './bernoulli-as-it-is.ts'
const flipped = (name) => (...args) => {
  const source = args.pop()
  return source.flip(name + ' ' + args.join('/'), (own) => coins[name](...args, own))
}
export const bernoulliExp = flipped('bernoulliExp')
export const bernoulliExpBig = flipped('bernoulliExpBig')
export const bernoulliExpOfOne = flipped('bernoulliExpOfOne')
export const bernoulliExpOfHalf = flipped('bernoulliExpOfHalf')
export const bernoulliExpOfHalfSquare = flipped('bernoulliExpOfHalfSquare')
`

/**
 * Imports a copy of the samplers' actual source files, with one mutation or none.
 * @throws Error unless the mutation's text occurs exactly once.
 */
export async function importSamplers(mutation?: SourceChange): Promise<Samplers> {
  return withChangedSource(
    mutation === undefined ? [] : [mutation],
    { 'core/mechanisms/samplers/bernoulli.ts': FLIPPED_COINS },
    async (load) => ({
      uniform: await load('core/mechanisms/samplers/uniform-integers.ts'),
      coins: await load('core/mechanisms/samplers/bernoulli-as-it-is.ts'),
      laplace: await load('core/mechanisms/samplers/discrete-laplace.ts'),
      gaussian: await load('core/mechanisms/samplers/discrete-gaussian.ts'),
      unboundedCoin: await load('core/mechanisms/samplers/bernoulli-unbounded.ts'),
      exponential: await load('core/mechanisms/selection/exponential.ts'),
      permuteAndFlip: await load('core/mechanisms/selection/permute-and-flip.ts'),
      noisyMax: await load('core/mechanisms/selection/noisy-max.ts'),
      bounds: await load('core/mechanisms/samplers/exponential-bounds.ts'),
    }),
  )
}
