import { withChangedSource } from '../changed-source.ts'

/** The modules that the exact tests examine. */
export interface Samplers {
  readonly uniform: typeof import('../../src/mechanisms/samplers/uniform-integers.ts')
  /** The unchanged coins. */
  readonly coins: typeof import('../../src/mechanisms/samplers/bernoulli.ts')
  /** These flip their coins through {@link EnumeratedTape.flip}: they need an enumerated tape as their source. */
  readonly laplace: typeof import('../../src/mechanisms/samplers/discrete-laplace.ts')
  readonly gaussian: typeof import('../../src/mechanisms/samplers/discrete-gaussian.ts')
  readonly unboundedCoin: typeof import('../../src/mechanisms/samplers/bernoulli-unbounded.ts')
  readonly exponential: typeof import('../../src/mechanisms/exponential.ts')
  readonly permuteAndFlip: typeof import('../../src/mechanisms/permute-and-flip.ts')
  readonly noisyMax: typeof import('../../src/mechanisms/noisy-max.ts')
  /** No coins. */
  readonly bounds: typeof import('../../src/mechanisms/samplers/exponential-bounds.ts')
}

/** One textual change to one of the folder's files; `find` must occur exactly once. */
export interface Mutation {
  readonly file: string
  readonly find: string
  readonly replace: string
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
export async function importSamplers(mutation?: Mutation): Promise<Samplers> {
  const changes = mutation === undefined ? [] : [{ ...mutation, file: `mechanisms/${mutation.file}` }]
  return withChangedSource(changes, { 'mechanisms/samplers/bernoulli.ts': FLIPPED_COINS }, async (load) => ({
    uniform: await load('mechanisms/samplers/uniform-integers.ts'),
    coins: await load('mechanisms/samplers/bernoulli-as-it-is.ts'),
    laplace: await load('mechanisms/samplers/discrete-laplace.ts'),
    gaussian: await load('mechanisms/samplers/discrete-gaussian.ts'),
    unboundedCoin: await load('mechanisms/samplers/bernoulli-unbounded.ts'),
    exponential: await load('mechanisms/exponential.ts'),
    permuteAndFlip: await load('mechanisms/permute-and-flip.ts'),
    noisyMax: await load('mechanisms/noisy-max.ts'),
    bounds: await load('mechanisms/samplers/exponential-bounds.ts'),
  }))
}
