import { noiseSampler } from '../src/core/mechanisms/measurement.ts'
import { systemEntropy } from '../src/core/mechanisms/samplers/entropy.ts'
import { median } from './median.ts'

const ROUNDS = 15
const SAMPLES_PER_ROUND = 50_000

export interface NoiseFigure {
  readonly name: string
  readonly nanosecondsPerSample: number
  /** Multiple of the time of the naive floating-point sampler, which is unsafe for releases. */
  readonly ratioToUnsafeLaplace: number
}

/** Draws a batch and returns a value computed from it, so that no draw can be optimised away. */
type Batch = (samples: number) => number

/**
 * Measures the time of a sample of noise: exact integers with the operating system's randomness, compared with the
 * textbook Laplace sample in floating point with `Math.random`. The samplers take turns, so that a slow moment
 * affects all of them.
 */
export function noiseBenchmark(): NoiseFigure[] {
  const source = systemEntropy()
  const unsafe = unsafeLaplace(10)
  const exact = [1n, 10n, 1n << 40n, 1_100_000_000_000n, (1n << 41n) - 1n].flatMap((scale) => [
    {
      name: `discrete Laplace, scale ${scale}`,
      batch: batchOf(
        noiseSampler({ kind: 'discrete-laplace', scale: { numerator: scale, denominator: 1n } }, source),
      ),
    },
    {
      name: `discrete Gaussian, sigma ${scale}`,
      batch: batchOf(noiseSampler({ kind: 'discrete-gaussian', sigma: scale }, source)),
    },
  ])
  const contenders = [{ name: 'unsafe Laplace in floating point', batch: unsafe }, ...exact]
  const times = contenders.map((): number[] => [])
  let sink = 0
  for (let round = -2; round < ROUNDS; round += 1) {
    contenders.forEach(({ batch }, index) => {
      const start = process.hrtime.bigint()
      sink += batch(SAMPLES_PER_ROUND)
      const nanoseconds = Number(process.hrtime.bigint() - start) / SAMPLES_PER_ROUND
      // The first rounds let V8 compile the code.
      if (round >= 0) times[index]?.push(nanoseconds)
    })
  }
  if (!Number.isFinite(sink)) throw new Error('the draws were lost')
  const medians = times.map(median)
  const [unsafeNanoseconds = Number.NaN] = medians
  return contenders.map(({ name }, index) => {
    const nanosecondsPerSample = medians[index] ?? Number.NaN
    return { name, nanosecondsPerSample, ratioToUnsafeLaplace: nanosecondsPerSample / unsafeNanoseconds }
  })
}

function unsafeLaplace(scale: number): Batch {
  return (samples) => {
    let positive = 0
    for (let draw = 0; draw < samples; draw += 1) {
      const uniform = Math.random() - 0.5
      const sample = -scale * Math.sign(uniform) * Math.log(1 - 2 * Math.abs(uniform))
      if (sample > 0) positive += 1
    }
    return positive
  }
}

function batchOf(sample: () => bigint): Batch {
  return (samples) => {
    let positive = 0
    for (let draw = 0; draw < samples; draw += 1) if (sample() > 0n) positive += 1
    return positive
  }
}
