import { formatDecimal } from '../../../../privacy/decimal.ts'
import { entry } from '../../../../privacy/must.ts'
import { divideRoundingDown, greatestCommonDivisor } from '../../../../privacy/rational.ts'
import {
  type GridColumn,
  isTemporal,
  type NumericColumn,
  type QueryableColumn,
} from '../../../dataset/dataset.ts'
import { ONE_NANO } from '../../../dataset/grid-value.ts'
import type { Formula } from '../formula.ts'
import { ExpressionError, writtenName } from './parse.ts'

/*
 * Linear forms of columns with exact rational coefficients, and the columns that have their values.
 *
 * A form is c + sum of b_i x_i, where x_i = s_i j_i is the value of a column with step s_i and index j_i. Its step g is the
 * greatest common divisor of c and all b_i s_i, so that its index is the integer c/g + sum of (b_i s_i / g) j_i. Each j_i lies
 * within the bounds of its column, and the form has its least value where each term has: the bounds of the column are the
 * sums of those of its terms, and contain every value. All partial sums are within the sum of the magnitudes, which 64 bits
 * hold.
 */

/** Exact fraction; the denominator is at least 1. */
export interface Fraction {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** The sum of a constant and multiples of columns, in their units. */
export interface Linear {
  readonly kind: 'linear'
  readonly terms: readonly { readonly column: GridColumn; readonly by: Fraction }[]
  readonly constant: Fraction
}

const ZERO: Fraction = { numerator: 0n, denominator: 1n }
const ONE: Fraction = { numerator: 1n, denominator: 1n }
/** Largest index of a column, as declarations have it. */
const LARGEST_INDEX = 2n ** 53n
/** Largest magnitude of what is computed in 64 bits. */
const LARGEST_IN_64_BITS = 2n ** 62n

/** Reduces a fraction. The denominator must not be 0. */
export function fraction(numerator: bigint, denominator: bigint): Fraction {
  const divisor = greatestCommonDivisor(numerator, denominator) * (denominator < 0n ? -1n : 1n)
  return { numerator: numerator / divisor, denominator: denominator / divisor }
}

export function times(one: Fraction, other: Fraction): Fraction {
  return fraction(one.numerator * other.numerator, one.denominator * other.denominator)
}

export function plus(one: Fraction, other: Fraction): Fraction {
  return fraction(
    one.numerator * other.denominator + other.numerator * one.denominator,
    one.denominator * other.denominator,
  )
}

export function constantOf(constant: Fraction): Linear {
  return { kind: 'linear', terms: [], constant }
}

/** The values of a column on a grid. One that is itself a form without rounding is written out. */
export function linearOf(column: GridColumn, find: (name: string) => GridColumn): Linear {
  const { formula } = column
  if (formula?.kind !== 'sum' || formula.divisor !== 1n || formula.cycle !== undefined)
    return { kind: 'linear', terms: [{ column, by: ONE }], constant: ZERO }
  return {
    kind: 'linear',
    terms: formula.terms.map((term) => {
      const input = find(term.column)
      return { column: input, by: fraction(term.factor * column.stepNano, input.stepNano) }
    }),
    constant: fraction(formula.offset * column.stepNano, ONE_NANO),
  }
}

export function sumOf(one: Linear, other: Linear): Linear {
  const terms = [...one.terms]
  for (const term of other.terms) {
    const known = terms.findIndex(({ column }) => column.name === term.column.name)
    const before = terms[known]
    if (before === undefined) terms.push(term)
    else terms[known] = { column: term.column, by: plus(before.by, term.by) }
  }
  return { kind: 'linear', terms, constant: plus(one.constant, other.constant) }
}

export function scaled(linear: Linear, by: Fraction): Linear {
  return {
    kind: 'linear',
    terms: linear.terms.map((term) => ({ ...term, by: times(term.by, by) })),
    constant: times(linear.constant, by),
  }
}

/** Terms whose factor is 0 are kept where their column can be NULL, because the sum is NULL there. */
function normalTerms({ terms }: Linear): Linear['terms'] {
  return terms
    .filter(({ column, by }) => by.numerator !== 0n || column.nullable)
    .toSorted((a, b) => {
      const negative = Number(a.by.numerator < 0n) - Number(b.by.numerator < 0n)
      return negative === 0 ? (a.column.name < b.column.name ? -1 : 1) : negative
    })
}

/**
 * Returns the column with the values of a form: one of the columns of its terms, or a new one.
 * @param rounding the step to which values are rounded, halves upwards; if it is absent, they are exact
 * @throws ExpressionError for a form that is no column
 */
export function columnOfLinear(linear: Linear, rounding?: bigint): GridColumn {
  const terms = normalTerms(linear)
  const { constant } = linear
  const [first] = terms
  if (first === undefined) throw new ExpressionError('must use a column')
  if (terms.length === 1 && isOne(first.by) && constant.numerator === 0n && rounding === undefined)
    return first.column
  requireDifferences(terms)
  const steps = terms.map(({ column, by }) => times(by, fraction(column.stepNano, ONE_NANO)))
  const step = [...steps, constant].reduce(commonStep)
  if (step.numerator === 0n) throw new ExpressionError(SAME)
  const inSteps = (part: Fraction) => times(part, fraction(step.denominator, step.numerator)).numerator
  const exact = {
    terms: terms.map(({ column }, place) => ({ column: column.name, factor: inSteps(entry(steps, place)) })),
    offset: inSteps(constant),
  }
  const text = writtenLinear(terms, constant)
  const grid =
    rounding === undefined
      ? { stepNano: stepNanoOf(step), factor: 1n, half: 0n, divisor: 1n }
      : roundedGrid(step, rounding)
  return finished(
    terms,
    exact,
    grid,
    rounding === undefined ? text : `round(${text}, ${written(fraction(rounding, ONE_NANO))})`,
  )
}

/** What the integers of a form are multiplied by, and what is added to them, before the division. */
interface ToGrid {
  readonly stepNano: bigint
  readonly factor: bigint
  readonly half: bigint
  readonly divisor: bigint
}

/** @throws ExpressionError for a step of 0, or one that is not a multiple of 1e-9 */
export function stepNanoOf(step: Fraction): bigint {
  if (step.numerator === 0n) throw new ExpressionError(SAME)
  const stepNano = step.numerator * ONE_NANO
  if (stepNano % step.denominator === 0n) return stepNano / step.denominator
  throw new ExpressionError(
    `has a step of ${written(step)}, which is not a multiple of 1e-9: write round(expression, step)`,
  )
}

const SAME = 'must not be the same for all rows'

/**
 * Returns the bounds of indexes.
 * @throws ExpressionError for equal ones, and for those beyond what columns may have
 */
export function requireIndexes(indexes: readonly bigint[]): Pick<GridColumn, 'lowerIndex' | 'upperIndex'> {
  const lowerIndex = indexes.reduce((least, index) => (index < least ? index : least))
  const upperIndex = indexes.reduce((most, index) => (index > most ? index : most))
  if (lowerIndex === upperIndex) throw new ExpressionError(SAME)
  if (lowerIndex < -LARGEST_INDEX || upperIndex > LARGEST_INDEX)
    throw new ExpressionError('has values further than 2^53 steps from 0')
  return { lowerIndex, upperIndex }
}

/** The integer n stands for n step. In units of `rounding` that is n p / q, and floor(n p / q + 1/2) = floor((2 n p + q) / 2 q). */
function roundedGrid(step: Fraction, rounding: bigint): ToGrid {
  const { numerator: p, denominator: q } = times(step, fraction(ONE_NANO, rounding))
  return { stepNano: rounding, factor: 2n * p, half: q, divisor: 2n * q }
}

/** Returns the column with a formula, and its bounds. */
function finished(
  terms: Linear['terms'],
  exact: Pick<Extract<Formula, { kind: 'sum' }>, 'terms' | 'offset'>,
  { stepNano, factor, half, divisor }: ToGrid,
  name: string,
): NumericColumn {
  const products = exact.terms.map((term) => ({ ...term, factor: term.factor * factor }))
  const offset = exact.offset * factor + half
  let [lower, upper, largest] = [offset, offset, offset < 0n ? -offset : offset]
  for (const [place, { factor: by }] of products.entries()) {
    const { column } = entry(terms, place)
    const ends = [by * column.lowerIndex, by * column.upperIndex] as const
    const [least, most] = ends[0] < ends[1] ? ends : [ends[1], ends[0]]
    lower += least
    upper += most
    largest += -least > most ? -least : most
  }
  const bounds = requireIndexes([lower, upper].map((end) => divideRoundingDown(end, divisor)))
  if (2n * largest + 2n * divisor > LARGEST_IN_64_BITS)
    throw new ExpressionError('needs integers of more than 64 bits: use fewer digits')
  const columns = terms.map(({ column }) => column)
  const nullable = columns.some((column) => column.nullable)
  return {
    name,
    type: stepNano % ONE_NANO === 0n ? 'integer' : 'number',
    nullable,
    invalidValue: nullable ? { kind: 'null' } : { kind: 'refuse' },
    ...(columns.every(({ constantPerPerson }) => constantPerPerson) ? { constantPerPerson: true } : {}),
    stepNano,
    ...bounds,
    formula: { kind: 'sum', terms: products, offset, divisor, lowest: bounds.lowerIndex },
  }
}

/** Dates and timestamps have differences only: a number of days and of seconds. */
function requireDifferences(terms: Linear['terms']): void {
  for (const type of ['date', 'timestamp'] as const) {
    const sum = terms
      .filter(({ column }) => isTemporal(column) && column.type === type)
      .reduce((total, { by }) => plus(total, by), ZERO)
    if (sum.numerator !== 0n)
      throw new ExpressionError(`must use each ${type} in a difference with another ${type}`)
  }
}

/** The greatest common divisor of two fractions, which is never negative. */
export function commonStep(one: Fraction, other: Fraction): Fraction {
  return fraction(
    greatestCommonDivisor(one.numerator * other.denominator, other.numerator * one.denominator),
    one.denominator * other.denominator,
  )
}

function isOne({ numerator, denominator }: Fraction): boolean {
  return numerator === 1n && denominator === 1n
}

/** Writes a fraction that is not negative: as a decimal, or as a quotient. */
export function written({ numerator, denominator }: Fraction): string {
  const nano = numerator * ONE_NANO
  return nano % denominator === 0n ? formatDecimal(nano / denominator, 9) : `${numerator} / ${denominator}`
}

/** Writes a form so that it reads as itself. */
function writtenLinear(terms: Linear['terms'], constant: Fraction): string {
  const parts = terms.map(({ column, by }) => ({
    text: writtenProduct(by, columnText(column)),
    isNegative: by.numerator < 0n,
  }))
  if (constant.numerator !== 0n)
    parts.push({ text: written(magnitude(constant)), isNegative: constant.numerator < 0n })
  return parts
    .map(({ text, isNegative }, place) =>
      place === 0 ? `${isNegative ? '-' : ''}${text}` : ` ${isNegative ? '-' : '+'} ${text}`,
    )
    .join('')
}

function writtenProduct(by: Fraction, name: string): string {
  const { numerator, denominator } = magnitude(by)
  if (isOne({ numerator, denominator })) return name
  if ((numerator * ONE_NANO) % denominator === 0n) return `${written({ numerator, denominator })} * ${name}`
  return numerator === 1n ? `${name} / ${denominator}` : `${numerator} * ${name} / ${denominator}`
}

function magnitude({ numerator, denominator }: Fraction): Fraction {
  return { numerator: numerator < 0n ? -numerator : numerator, denominator }
}

/** Writes a column in an expression. The name of an undeclared column is an expression. */
export function columnText({ name, formula, expression }: QueryableColumn): string {
  return formula === undefined || expression !== undefined ? writtenName(name) : name
}
