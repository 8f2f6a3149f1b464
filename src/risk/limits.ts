import { Refusal } from '../privacy/refusal.ts'

/*
 * What a question may cost, looked at before any of it is worked out. A question at a limit takes a few seconds; what lies
 * beyond is refused with the limit and what was asked.
 */

/** People in a universe. */
export const LARGEST_UNIVERSE = 10_000

/** Worlds that are looked at one by one. */
export const MOST_ENUMERATED_WORLDS = 100_000

/** Values read to compare every world with its neighbours one by one. */
export const MOST_ENUMERATED_VALUES = 50_000_000

/** The same, where the query's structure would tell without looking. */
export const MOST_ENUMERATED_VALUES_BY_CHOICE = 1_000_000

/** Worlds at all: their number, and the prior of one, are doubles. */
export const MOST_WORLDS = 10n ** 300n

/** Different answers, each with the number of its worlds. */
export const MOST_ANSWERS = 500_000

/** Numbers in the table of how many ways lead to each sum of as many values or fewer. */
export const LARGEST_SUM_TABLE = 10_000_000

/** Additions to fill that table. */
export const MOST_SUM_ADDITIONS = 4_000_000_000

/** Numbers that lists of worlds may hold, of all columns of a question together: positions, and each world's answer and beliefs. */
export const MOST_LISTED_NUMBERS = 100_000

/** Digits after the decimal point of a value, and before it: what is exact arithmetic should stay fast. */
export const MOST_DIGITS = 30

/** Refuses what is beyond a limit; `what` is counted, in the plural. */
export function tooManyWorlds(
  detail: string,
  what: string,
  asked: bigint,
  limit: number | bigint,
  facts: Readonly<Record<string, number>> = {},
): Refusal {
  const text = `${detail} (${what}: ${written(asked)}, and ${written(BigInt(limit))} is the limit)`
  return new Refusal('too-many-worlds', text, [], {
    counted: what,
    asked: written(asked),
    limit: written(BigInt(limit)),
    ...facts,
  })
}

/** A whole number; beyond 2^53 a text of its first digits. */
function written(count: bigint): number | string {
  if (count <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(count)
  const digits = count.toString()
  return `${digits[0]}.${digits.slice(1, 4)}e${digits.length - 1}`
}
