import { Refusal } from '../../privacy/refusal.ts'

/*
 * Limits on the work of a question, checked before any of it is computed. A question at a limit takes a few seconds.
 * A question beyond a limit is refused with the limit and the size of the question.
 */

/** People in a universe. */
export const LARGEST_UNIVERSE = 10_000

/** Enumerated worlds, of all columns of a question together. */
export const MOST_ENUMERATED_WORLDS = 100_000

/** Values read to compare every world with its neighbours, of all columns together. */
export const MOST_ENUMERATED_VALUES = 50_000_000

/** The same, for queries whose structure would also give the result. */
export const MOST_ENUMERATED_VALUES_BY_CHOICE = 1_000_000

/** Possible worlds: their number, and the prior of one, are doubles. */
export const MOST_WORLDS = 10n ** 300n

/** Distinct answers, each with its number of worlds, of all columns together. */
export const MOST_ANSWERS = 500_000

/**
 * Entries in the table of the number of ways to each sum, for every number of values. This limits space, for one
 * column at a time.
 */
export const LARGEST_SUM_TABLE = 10_000_000

/** Additions to fill such tables, of all columns together. */
export const MOST_SUM_ADDITIONS = 4_000_000_000

/** Steps of a curve: distinct answers, of all columns together, times its points. */
export const MOST_CURVE_STEPS = 200_000_000

/**
 * Numbers in lists of worlds, of all columns of a question together: positions, and each world's answer and beliefs.
 */
export const MOST_LISTED_NUMBERS = 100_000

/** Digits of a value after the decimal point, and before it, so that exact arithmetic stays fast. */
export const MOST_DIGITS = 30

/** Limits of one column: its share of the limits of all columns of a question. */
export interface ColumnLimits {
  /** Number of columns with an equal share. */
  readonly columns: number
  readonly enumeratedWorlds: number
  readonly enumeratedValues: number
  readonly enumeratedValuesByChoice: number
  readonly answers: number
  readonly sumAdditions: number
}

/** Shares of the given number of columns. */
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

/** An exceeded limit. */
export interface Excess {
  /** Plural noun. */
  readonly counted: string
  readonly asked: bigint
  readonly limit: number | bigint
  /** Number of columns that share the limit; default: 1. */
  readonly columns?: number
}

/** Creates the refusal of a question that exceeds a limit. */
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

/** An integer; beyond 2^53 a text of its first digits. */
function written(count: bigint): number | string {
  if (count <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(count)
  const digits = count.toString()
  return `${digits[0]}.${digits.slice(1, 4)}e${digits.length - 1}`
}
