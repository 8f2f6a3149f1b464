import type { UniformSource } from '../../../../src/core/mechanisms/samplers/uniform-source.ts'

/** Result of an exhaustive walk over an experiment's randomness. */
export interface Enumeration<T> {
  /** For each outcome, the probability of the explored tapes that lead to it: a lower bound of its probability. */
  readonly masses: ReadonlyMap<T, number>
  /** The probability of the tapes that were not explored to their end: no mass is too low by more than this. */
  readonly unexplored: number
}

/** A source in which every draw is a branch. */
export interface EnumeratedTape extends UniformSource {
  /**
   * Replaces an experiment with two outcomes, whose draws nothing else depends on, by one branch with its enumerated
   * probabilities (computed once for each name). This keeps the number of tapes small.
   */
  flip(name: string, coin: (source: UniformSource) => boolean): boolean
}

/** One branch on the current tape. */
interface Branch {
  choice: number
  readonly choices: number
  /** The tape's probability up to and including each choice. */
  readonly weightAt: (choice: number) => number
}

const TOO_UNLIKELY = Symbol('too unlikely')

/** A coin is enumerated only once, so a deep enumeration is affordable. */
const SMALLEST_COIN_WEIGHT = 1e-11

/**
 * Runs an experiment once for every tape of uniform draws that it can request, depth first, so that the probability of
 * each outcome is known instead of estimated. A tape whose probability falls below `smallestWeight` is abandoned and
 * counted as unexplored.
 */
export function enumerateTapes<T>(
  experiment: (tape: EnumeratedTape) => T,
  smallestWeight: number,
): Enumeration<T> {
  const masses = new Map<T, number>()
  const coins = new Map<string, Enumeration<boolean>>()
  const branches: Branch[] = []
  let unexplored = 0
  let position = 0
  let weight = 1

  function follow(choices: number, newBranch: () => Branch['weightAt']): number {
    if (position === branches.length) branches.push({ choice: 0, choices, weightAt: newBranch() })
    const branch = branches[position]
    if (branch === undefined || branch.choices !== choices)
      throw new Error('the experiment depends on more than its tape')
    position += 1
    weight = branch.weightAt(branch.choice)
    if (weight < smallestWeight) throw TOO_UNLIKELY
    return branch.choice
  }

  function below(bound: number): number {
    if (!Number.isInteger(bound) || bound < 1 || bound > 2 ** 53) throw new RangeError(`a bound of ${bound}`)
    if (bound === 1) return 0
    const share = weight / bound
    if (position === branches.length && share < smallestWeight) throw TOO_UNLIKELY
    return follow(bound, () => () => share)
  }

  function flip(name: string, coin: (source: UniformSource) => boolean): boolean {
    const known = coins.get(name) ?? enumerateTapes(coin, SMALLEST_COIN_WEIGHT)
    coins.set(name, known)
    const before = weight
    const choice = follow(2, () => {
      unexplored += before * known.unexplored
      return (side) => before * (known.masses.get(side === 1) ?? 0)
    })
    return choice === 1
  }

  const tape: EnumeratedTape = { below, belowBig: (bound) => BigInt(below(Number(bound))), flip }

  for (;;) {
    position = 0
    weight = 1
    try {
      const outcome = experiment(tape)
      masses.set(outcome, (masses.get(outcome) ?? 0) + weight)
    } catch (reason) {
      if (reason !== TOO_UNLIKELY) throw reason
      unexplored += weight
    }
    for (;;) {
      const last = branches.at(-1)
      if (last === undefined) return { masses, unexplored }
      last.choice += 1
      if (last.choice < last.choices) break
      branches.pop()
    }
  }
}
