import { formatExact, formatShare } from '../../format/number.ts'
import { type OneOfMany, riskOfPrice, roundedDown } from './one-of-many/one-of-many.ts'

/** Digits with which epsilons are shown, always rounded down. */
export const SHOWN_DIGITS = 4

/** Formats an epsilon that must not be larger than the exact one. */
export function formatEpsilon(epsilon: number): string {
  return formatExact(roundedDown(epsilon, SHOWN_DIGITS))
}

interface OneOfManyChoice extends OneOfMany {
  /** Accepted risk. */
  readonly risk: number
  readonly epsilon: number
}

/** Returns the sentences that record a choice of epsilon against one candidate of many. */
export function oneOfManyStatement(choice: OneOfManyChoice): readonly string[] {
  const { candidates, neighbours, delta, risk, epsilon } = choice
  const reached = riskOfPrice(epsilon, choice)
  return [
    `The adversary knows everyone but one person and considers ${formatExact(candidates)} people equally likely to be that person. A blind guess is right ${formatShare(1 / candidates)} of the time.`,
    `Neighbouring datasets differ by one person ${neighbours === 'add-remove' ? 'added or removed' : 'replaced'}; delta is ${delta}.`,
    `At epsilon ${formatExact(epsilon)} in total, the adversary guesses right at most ${formatShare(reached)} of the time. The accepted risk is ${formatShare(risk)}.`,
    reached <= risk * (1 + 1e-9)
      ? 'The epsilon keeps the accepted risk.'
      : 'The epsilon exceeds the accepted risk.',
  ]
}

interface UniverseChoice {
  readonly people: number
  readonly released: number
  readonly changed: number
  readonly statistic: string
  readonly risk: number
  readonly epsilon: number
  readonly columns: readonly {
    readonly name: string
    /** Largest epsilon by the tight bound; infinite if every epsilon keeps the risk. */
    readonly largest: number
  }[]
}

/** Returns the sentences that record a choice of epsilon for a known group of people. */
export function universeStatement(choice: UniverseChoice): readonly string[] {
  const { people, released, changed, statistic, risk, epsilon, columns } = choice
  const largest = Math.min(...columns.map((column) => column.largest))
  return [
    `The adversary knows the values of ${formatExact(people)} people, of whom ${formatExact(released)} are in the data, but not which. All sets of people are equally likely. Neighbouring datasets differ by ${formatExact(changed)} ${changed === 1 ? 'person' : 'people'}.`,
    `One ${statistic} of each column is released with Laplace noise. The accepted risk is ${formatShare(risk)}.`,
    ...columns.map(({ name, largest: kept }) =>
      kept === Number.POSITIVE_INFINITY
        ? `Every epsilon keeps this risk for ${name}.`
        : `The largest epsilon for ${name} is ${formatEpsilon(kept)} by the tight bound of Lee and Clifton (2011).`,
    ),
    epsilon <= largest
      ? `Epsilon ${formatExact(epsilon)} keeps the accepted risk for all columns.`
      : `Epsilon ${formatExact(epsilon)} exceeds the accepted risk.`,
  ]
}
