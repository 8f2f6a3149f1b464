import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

const PROJECT = new URL('../../', import.meta.url)

/** The modules that the exact tests look at. */
export interface Samplers {
  readonly uniform: typeof import('../../src/mechanisms/uniform-integers.ts')
  /** The coins as they are. */
  readonly coins: typeof import('../../src/mechanisms/bernoulli.ts')
  /** These flip their coins through {@link EnumeratedTape.flip}: they need an enumerated tape as their source. */
  readonly laplace: typeof import('../../src/mechanisms/discrete-laplace.ts')
  readonly gaussian: typeof import('../../src/mechanisms/discrete-gaussian.ts')
  readonly unboundedCoin: typeof import('../../src/mechanisms/bernoulli-unbounded.ts')
  readonly exponential: typeof import('../../src/mechanisms/exponential.ts')
  readonly permuteAndFlip: typeof import('../../src/mechanisms/permute-and-flip.ts')
  readonly noisyMax: typeof import('../../src/mechanisms/noisy-max.ts')
  /** No coins. */
  readonly bounds: typeof import('../../src/mechanisms/exponential-bounds.ts')
}

/** One textual change to one source file; `find` must occur exactly once. */
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
 * Import a copy of the samplers' actual source files, with one mutation or none.
 * @throws Error where the mutation's text does not occur exactly once.
 */
export async function importSamplers(mutation?: Mutation): Promise<Samplers> {
  // Within the project, where dependencies resolve; git, the linter and the compiler look past this folder.
  const parent = new URL('coverage/', PROJECT)
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(fileURLToPath(new URL('samplers-', parent)))
  const copy = (path: string) => `${folder}/mechanisms/${path}`
  try {
    for (const room of ['mechanisms', 'privacy'])
      cpSync(new URL(`src/${room}/`, PROJECT), `${folder}/${room}`, { recursive: true })
    if (mutation !== undefined) {
      const [before, after, ...more] = readFileSync(copy(mutation.file), 'utf8').split(mutation.find)
      if (before === undefined || after === undefined || more.length > 0)
        throw new Error(`${mutation.file} must have exactly one "${mutation.find}"`)
      writeFileSync(copy(mutation.file), before + mutation.replace + after)
    }
    renameSync(copy('bernoulli.ts'), copy('bernoulli-as-it-is.ts'))
    writeFileSync(copy('bernoulli.ts'), FLIPPED_COINS)
    const load = (path: string) => import(/* @vite-ignore */ pathToFileURL(copy(path)).href)
    return {
      uniform: await load('uniform-integers.ts'),
      coins: await load('bernoulli-as-it-is.ts'),
      laplace: await load('discrete-laplace.ts'),
      gaussian: await load('discrete-gaussian.ts'),
      unboundedCoin: await load('bernoulli-unbounded.ts'),
      exponential: await load('exponential.ts'),
      permuteAndFlip: await load('permute-and-flip.ts'),
      noisyMax: await load('noisy-max.ts'),
      bounds: await load('exponential-bounds.ts'),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
