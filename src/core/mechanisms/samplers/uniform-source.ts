/**
 * Source of a sampler's randomness. Production draws from the operating system (`entropy.ts`); tests pass a source that
 * enumerates every outcome with its probability (src/core/mechanisms/samplers/samplers.md).
 */
export interface UniformSource {
  /** Draws a uniform integer in [0, bound). `bound` is an integer from 1 to 2^53. */
  below(bound: number): number
  /** Draws a uniform integer in [0, bound). `bound` is at least 1. */
  belowBig(bound: bigint): bigint
}

/** Repeats an attempt from the start until it is not rejected. The result has the distribution of an accepted attempt. */
export function untilAccepted<Result>(attempt: () => Result | undefined): () => Result {
  return () => {
    for (;;) {
      const result = attempt()
      if (result !== undefined) return result
    }
  }
}
