import type { UniformSource } from '../../../../src/core/mechanisms/samplers/uniform-source.ts'

/** Result of an exhaustive walk over an experiment's randomness. */
export interface Enumeration<T> {
  /** For each outcome, the probability of the explored tapes that lead to it: a lower bound of its probability. */
  readonly masses: ReadonlyMap<T, number>
  /** The probability of the tapes that were not explored to their end: no mass is too low by more than this. */
  readonly unexplored: number
}

/** An {@link Enumeration} in integers: in units of 2^-{@link UNIT_BITS}, every rounding of a mass counts as unexplored. */
export interface ExactEnumeration<T> {
  readonly masses: ReadonlyMap<T, bigint>
  readonly unexplored: bigint
}

/** A source in which every draw is a branch. */
export interface EnumeratedTape extends UniformSource {
  /**
   * Replaces an experiment with two outcomes, whose draws nothing else depends on, by one branch with its enumerated
   * probabilities (computed once for each name). This keeps the number of tapes small.
   */
  flip(name: string, coin: (source: EnumeratedTape) => boolean): boolean
  /** Draws below `bound` and compares the result with `value`: one branch with two sides, however large the bound. */
  compare(bound: number | bigint, comparison: Comparison, value: number | bigint): boolean
}

/** The comparisons of a draw with a number. */
export type Comparison = '<' | '<=' | '===' | '>=' | '>'

/** Bits of the unit of exact masses. */
export const UNIT_BITS = 192n
/** Certainty, in units of 2^-192. */
export const CERTAIN = 1n << UNIT_BITS

/** One branch on the current tape. */
interface Branch {
  choice: number
  readonly choices: number
  /** The tape's probability up to and including each choice, or a little less. */
  readonly weightAt: (choice: number) => bigint
}

const TOO_UNLIKELY = Symbol('too unlikely')

/** A coin is enumerated only once, so a deep enumeration is affordable. */
const SMALLEST_COIN_WEIGHT = unitsOf(1e-11)

/**
 * Runs an experiment once for every tape of uniform draws that it can request, depth first, so that the probability of
 * each outcome is known instead of estimated. A tape whose probability falls below `smallestWeight` is abandoned and
 * counted as unexplored.
 */
export function enumerateTapes<T>(
  experiment: (tape: EnumeratedTape) => T,
  smallestWeight: number,
): Enumeration<T> {
  const { masses, unexplored } = walk(experiment, unitsOf(smallestWeight), SMALLEST_COIN_WEIGHT)
  return {
    masses: new Map([...masses].map(([outcome, mass]) => [outcome, probabilityOf(mass)])),
    unexplored: probabilityOf(unexplored),
  }
}

/** {@link enumerateTapes} in integers, for the tapes and the coins' tapes whose probability is at least 2^-`bits`. */
export function enumerateExactly<T>(
  experiment: (tape: EnumeratedTape) => T,
  bits: number,
): ExactEnumeration<T> {
  const smallest = CERTAIN >> BigInt(bits)
  return walk(experiment, smallest, smallest)
}

function walk<T>(
  experiment: (tape: EnumeratedTape) => T,
  smallestWeight: bigint,
  smallestCoinWeight: bigint,
): ExactEnumeration<T> {
  const masses = new Map<T, bigint>()
  const coins = new Map<string, ExactEnumeration<boolean>>()
  const branches: Branch[] = []
  let explored = 0n
  let position = 0
  let weight = CERTAIN

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
    if (position < branches.length) return follow(bound, noNewBranch)
    const share = weight / BigInt(bound)
    if (share < smallestWeight) throw TOO_UNLIKELY
    return follow(bound, () => () => share)
  }

  function compare(bound: number | bigint, comparison: Comparison, value: number | bigint): boolean {
    const [all, holding] = [BigInt(bound), numberOfDraws(BigInt(bound), comparison, BigInt(value))]
    const before = weight
    return follow(2, () => (side) => (before * (side === 1 ? holding : all - holding)) / all) === 1
  }

  function flip(name: string, coin: (source: EnumeratedTape) => boolean): boolean {
    const known = coins.get(name) ?? walk(coin, smallestCoinWeight, smallestCoinWeight)
    coins.set(name, known)
    const before = weight
    return follow(2, () => (side) => (before * (known.masses.get(side === 1) ?? 0n)) >> UNIT_BITS) === 1
  }

  const tape: EnumeratedTape = { below, belowBig: (bound) => BigInt(below(Number(bound))), flip, compare }

  for (;;) {
    position = 0
    weight = CERTAIN
    try {
      const outcome = experiment(tape)
      masses.set(outcome, (masses.get(outcome) ?? 0n) + weight)
      explored += weight
    } catch (reason) {
      if (reason !== TOO_UNLIKELY) throw reason
    }
    for (;;) {
      const last = branches.at(-1)
      if (last === undefined) return { masses, unexplored: CERTAIN - explored }
      last.choice += 1
      if (last.choice < last.choices) break
      branches.pop()
    }
  }
}

function noNewBranch(): never {
  throw new Error('the branch is known')
}

/** The number of draws below the bound for which the comparison holds. */
function numberOfDraws(bound: bigint, comparison: Comparison, value: bigint): bigint {
  const under = (limit: bigint) => (limit < 0n ? 0n : limit > bound ? bound : limit)
  switch (comparison) {
    case '<':
      return under(value)
    case '<=':
      return under(value + 1n)
    case '===':
      return under(value + 1n) - under(value)
    case '>=':
      return bound - under(value)
    case '>':
      return bound - under(value + 1n)
  }
}

function unitsOf(probability: number): bigint {
  return BigInt(Math.round(probability * 2 ** 100)) << (UNIT_BITS - 100n)
}

function probabilityOf(units: bigint): number {
  return Number(units) / Number(CERTAIN)
}
