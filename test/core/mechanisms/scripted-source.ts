import type { UniformSource } from '../../../src/core/mechanisms/samplers/uniform-source.ts'

/** A source that returns the given draws in order, and no more. A bound of 1 consumes no draw. */
export function scriptedSource(draws: readonly number[]): UniformSource {
  const left = [...draws]
  const below = (bound: number): number => {
    if (bound === 1) return 0
    const draw = left.shift()
    if (draw === undefined) throw new Error('the script has ended')
    if (draw >= bound) throw new RangeError(`${draw} is not below ${bound}`)
    return draw
  }
  return { below, belowBig: (bound) => BigInt(below(Number(bound))) }
}
