import { Refusal } from '../privacy/refusal.ts'

/*
 * What a question may cost, looked at before any of it is worked out. A question at a limit takes a few seconds; what lies
 * beyond is refused with the limit and what was asked.
 */

/** People in a universe. */
export const LARGEST_UNIVERSE = 10_000

/** Worlds that are looked at one by one, of all columns of a question together. */
export const MOST_ENUMERATED_WORLDS = 100_000

/** Values read to compare every world with its neighbours one by one, of all columns together. */
export const MOST_ENUMERATED_VALUES = 50_000_000

/** The same, where the query's structure would tell without looking. */
export const MOST_ENUMERATED_VALUES_BY_CHOICE = 1_000_000

/** Worlds at all: their number, and the prior of one, are doubles. */
export const MOST_WORLDS = 10n ** 300n

/** Different answers, each with the number of its worlds, of all columns together. */
export const MOST_ANSWERS = 500_000

/**
 * Numbers in the table of how many ways lead to each sum of as many values or fewer. It is space, of one column at a time.
 */
export const LARGEST_SUM_TABLE = 10_000_000

/** Additions to fill such tables, of all columns together. */
export const MOST_SUM_ADDITIONS = 4_000_000_000

/** Steps of a curve: different answers, of all columns together, times its points. */
export const MOST_CURVE_STEPS = 200_000_000

/** Numbers that lists of worlds may hold, of all columns of a question together: positions, and each world's answer and beliefs. */
export const MOST_LISTED_NUMBERS = 100_000

/** Digits after the decimal point of a value, and before it: what is exact arithmetic should stay fast. */
export const MOST_DIGITS = 30

/** What one column may cost: its share of what all columns of a question may cost together. */
export interface ColumnLimits {
  /** How many columns have an equal share. */
  readonly columns: number
  readonly enumeratedWorlds: number
  readonly enumeratedValues: number
  readonly enumeratedValuesByChoice: number
  readonly answers: number
  readonly sumAdditions: number
}

/** The shares of so many columns. */
export function limitsOfColumn(columns: number): ColumnLimits {
  const share = (ofAll: number) => Math.floor(ofAll / columns)
  return {
    columns,
    enumeratedWorlds: share(MOST_ENUMERATED_WORLDS),
    enumeratedValues: share(MOST_ENUMERATED_VALUES),
    enumeratedValuesByChoice: share(MOST_ENUMERATED_VALUES_BY_CHOICE),
    answers: share(MOST_ANSWERS),
    sumAdditions: share(MOST_SUM_ADDITIONS),
  }
}

/** What is beyond a limit. */
export interface Excess {
  /** In the plural. */
  readonly counted: string
  readonly asked: bigint
  readonly limit: number | bigint
  /** How many columns share the limit; left out: none do. */
  readonly columns?: number
}

/** Refuses what is beyond a limit. */
export function tooManyWorlds(
  detail: string,
  { counted, columns = 1, ...excess }: Excess,
  facts: Readonly<Record<string, number>> = {},
): Refusal {
  const [asked, limit] = [written(excess.asked), written(BigInt(excess.limit))]
  const ofEach = columns === 1 ? '' : ` of each of ${columns} columns`
  const text = `${detail} (${counted}: ${asked}, and ${limit} is the limit${ofEach})`
  return new Refusal('too-many-worlds', text, [], { counted, asked, limit, ...facts })
}

/** A whole number; beyond 2^53 a text of its first digits. */
function written(count: bigint): number | string {
  if (count <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(count)
  const digits = count.toString()
  return `${digits[0]}.${digits.slice(1, 4)}e${digits.length - 1}`
}
