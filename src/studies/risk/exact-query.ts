import { decimalFromNumber } from '../../privacy/decimal.ts'
import { entry } from '../../privacy/must.ts'
import { greatestCommonDivisor, type Rational, rational } from '../../privacy/rational.ts'
import { refuseField } from '../../privacy/refusal.ts'
import { MOST_DIGITS } from './limits.ts'
import type { PersonValues, RiskQuery, ValuePredicate } from './question.ts'

/**
 * A query of a universe in integers. The answer of a dataset of M people is an integer over a denominator that
 * depends on M alone, times a unit. Answers are therefore compared exactly, and worlds that share an answer are
 * distinguished from worlds that nearly do.
 */
export type ExactQuery = {
  /** One value per person, in units of the values. */
  readonly values: readonly bigint[]
  /** Unit of an answer. A variance's is the square of its values'. */
  readonly unit: Rational
} & (
  | { readonly kind: 'sum' | 'mean' | 'variance' | 'standardDeviation' }
  /** Order statistic at `share` of the way from the least value to the largest. */
  | { readonly kind: 'orderStatistic'; readonly share: Rational }
)

/**
 * Converts a query to integers. A person with several rows has one value: their sum, the number of them that are
 * counted, or the least or the largest of them.
 * @throws Refusal `invalid-request` for a value or a percentile that is not a decimal of at most 30 digits before and
 * after the point, and for several rows of a person where the query has no such value.
 */
export function exactQuery(universe: readonly PersonValues[], query: RiskQuery): ExactQuery {
  const { kind } = query
  if (kind === 'count') {
    const counted = (own: PersonValues) => rowsOf(own).filter((value) => satisfies(value, query.satisfying))
    const values = universe.map((own) => BigInt(counted(own).length))
    return { kind: 'sum', values, unit: rational(1n, 1n) }
  }
  const decimals = universe.map((own, position) => valueOfPerson(own, kind, `universe.${position}`))
  const step = decimals.reduce(greatestCommonDivisor, 0n) || 1n
  const values = decimals.map((decimal) => decimal / step)
  const unit = rational(step, 10n ** BigInt(MOST_DIGITS))
  switch (kind) {
    case 'sum':
    case 'mean':
      return { kind, values, unit }
    case 'variance':
    case 'standardDeviation':
      return { kind, values, unit: rational(unit.numerator ** 2n, unit.denominator ** 2n) }
    default:
      return { kind: 'orderStatistic', values, unit, share: shareOf(query) }
  }
}

function rowsOf(own: PersonValues): readonly number[] {
  return typeof own === 'number' ? [own] : own
}

/** The value of one person, from all of that person's rows. */
function valueOfPerson(own: PersonValues, kind: Exclude<RiskQuery['kind'], 'count'>, field: string): bigint {
  if (typeof own === 'number') return exactDecimal(own, field)
  const decimals = own.map((value, row) => exactDecimal(value, `${field}.${row}`))
  const [first, others] = [entry(decimals, 0), decimals.slice(1)]
  if (others.length === 0) return first
  switch (kind) {
    case 'sum':
      return others.reduce((sum, decimal) => sum + decimal, first)
    case 'minimum':
      return others.reduce((least, decimal) => (decimal < least ? decimal : least), first)
    case 'maximum':
      return others.reduce((most, decimal) => (decimal > most ? decimal : most), first)
    case 'mean':
    case 'median':
    case 'percentile':
    case 'variance':
    case 'standardDeviation': {
      const rule =
        'must be one value: this statistic of several rows per person depends on the number of rows, which is not modelled'
      throw refuseField('invalid-request', field, rule)
    }
  }
}

function exactDecimal(value: number, field: string): bigint {
  const decimal = decimalFromNumber(value, MOST_DIGITS)
  if (decimal === undefined || Math.abs(value) > 10 ** MOST_DIGITS)
    throw refuseField(
      'invalid-request',
      field,
      `must have at most ${MOST_DIGITS} digits before and after the decimal point`,
    )
  return decimal
}

function shareOf(query: RiskQuery): Rational {
  switch (query.kind) {
    case 'minimum':
      return rational(0n, 1n)
    case 'maximum':
      return rational(1n, 1n)
    case 'percentile':
      return rational(exactDecimal(query.p, 'query.p'), 100n * 10n ** BigInt(MOST_DIGITS))
    default:
      return rational(1n, 2n)
  }
}

function satisfies(value: number, predicate: ValuePredicate): boolean {
  switch (predicate.op) {
    case '=':
      return value === predicate.value
    case '!=':
      return value !== predicate.value
    case '<':
      return value < predicate.value
    case '<=':
      return value <= predicate.value
    case '>':
      return value > predicate.value
    case '>=':
      return value >= predicate.value
    case 'between':
      return value >= predicate.lower && value <= predicate.upper
    case 'in':
      return predicate.values.includes(value)
  }
}

/** Tests if the order of the values determines the answer's structure; for squares it does not. */
export function hasStructure({ kind }: ExactQuery): boolean {
  return kind !== 'variance' && kind !== 'standardDeviation'
}

/** Denominator of an answer of a dataset of this size, in units. */
export function denominatorAt(query: ExactQuery, size: number): bigint {
  switch (query.kind) {
    case 'sum':
      return 1n
    case 'mean':
      return BigInt(size)
    case 'variance':
    case 'standardDeviation':
      return BigInt(size) ** 2n
    case 'orderStatistic':
      return query.share.denominator
  }
}

/**
 * Position of an order statistic of a dataset of this size: `above` / denominator of the way from `rank` to the next.
 */
export function placeAt(share: Rational, size: number): { readonly rank: number; readonly above: bigint } {
  const place = BigInt(size - 1) * share.numerator
  return { rank: Number(place / share.denominator), above: place % share.denominator }
}

/** A dataset that people join and leave, and its exact answer. */
export interface ExactDataset {
  readonly add: (position: number) => void
  readonly remove: (position: number) => void
  readonly answer: () => bigint
}

/** Creates an empty dataset of people of the universe. */
export function emptyDataset(query: ExactQuery): ExactDataset {
  return query.kind === 'orderStatistic' ? ranked(query) : summed(query)
}

function summed({ kind, values }: ExactQuery): ExactDataset {
  let [size, sum, squares] = [0n, 0n, 0n]
  return {
    add: (position) => {
      const value = entry(values, position)
      size += 1n
      sum += value
      squares += value * value
    },
    remove: (position) => {
      const value = entry(values, position)
      size -= 1n
      sum -= value
      squares -= value * value
    },
    answer: () => (kind === 'sum' || kind === 'mean' ? sum : size * squares - sum * sum),
  }
}

function ranked({ values, share }: ExactQuery & { readonly kind: 'orderStatistic' }): ExactDataset {
  const order = ascendingPositions(values)
  const rankOf = new Int32Array(values.length)
  for (const [rank, position] of order.entries()) rankOf[position] = rank
  const present = new Uint8Array(values.length)
  let size = 0
  const next = (from: number) => {
    let rank = from
    while (present[rank] === 0) rank += 1
    return rank
  }
  const valueAt = (rank: number) => entry(values, entry(order, rank))
  return {
    add: (position) => {
      present[entry(rankOf, position)] = 1
      size += 1
    },
    remove: (position) => {
      present[entry(rankOf, position)] = 0
      size -= 1
    },
    answer: () => {
      const { rank, above } = placeAt(share, size)
      let found = next(0)
      for (let passed = 0; passed < rank; passed += 1) found = next(found + 1)
      const lower = valueAt(found)
      if (above === 0n) return lower * share.denominator
      return lower * (share.denominator - above) + valueAt(next(found + 1)) * above
    },
  }
}

/** Positions in ascending order of their values. */
export function ascendingPositions(values: readonly bigint[]): readonly number[] {
  return values.map((_, position) => position).sort((a, b) => compare(entry(values, a), entry(values, b)))
}

/** Ascending order of integers. */
export function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Converts an answer to a number, to within two roundings. */
export function answerNumber(query: ExactQuery, answer: bigint, size: number): number {
  const number = scaled(query, answer, denominatorAt(query, size))
  return query.kind === 'standardDeviation' ? Math.sqrt(number) : number
}

/**
 * Difference of two answers in the given order, to within a few roundings of the difference itself; 0 exactly if they
 * are equal.
 */
export function answerDifference(
  query: ExactQuery,
  [answer, size]: readonly [bigint, number],
  [other, otherSize]: readonly [bigint, number],
): number {
  const [denominator, otherDenominator] = [denominatorAt(query, size), denominatorAt(query, otherSize)]
  const crossed = answer * otherDenominator - other * denominator
  if (crossed === 0n) return 0
  const difference = scaled(query, crossed, denominator * otherDenominator)
  if (query.kind !== 'standardDeviation') return difference
  // The difference of roots, without cancellation.
  return difference / (answerNumber(query, answer, size) + answerNumber(query, other, otherSize))
}

function scaled({ unit }: ExactQuery, numerator: bigint, denominator: bigint): number {
  return Number(numerator * unit.numerator) / Number(denominator * unit.denominator)
}
