import { must } from '../../../../privacy/must.ts'
import {
  type CategoryColumn,
  type GridColumn,
  isGrid,
  isTemporal,
  type QueryableColumn,
} from '../../../dataset/dataset.ts'
import { ONE_NANO, parseGridValue } from '../../../dataset/grid-value.ts'
import type { Predicate } from '../aggregate.ts'
import { type Branch, type Formula, inputsOf } from '../formula.ts'
import {
  columnOfLinear,
  columnText,
  commonStep,
  type Fraction,
  fraction,
  type Linear,
  requireIndexes,
  stepNanoOf,
  written,
} from './linear.ts'
import { ExpressionError } from './parse.ts'
import { writtenLiteral, writtenPredicate } from './written.ts'

/**
 * Finds a column by its name, or by another expression.
 * @param computed the column that the name, a normal form, stands for unless a declared column does
 * @throws ExpressionError
 */
export type Find = (name: string, computed?: QueryableColumn) => QueryableColumn

/** What an expression stands for, before it is a column. */
export type Value =
  | Linear
  | { readonly kind: 'column'; readonly column: Exclude<QueryableColumn, GridColumn> }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'truth'; readonly value: boolean }

/** A branch: a column, or a constant with the text that an expression has for it. */
type Part = QueryableColumn | { readonly constant: Fraction } | { readonly text: string }

/** Facts of a column that is computed by a formula. It is constant per person only if all its inputs are. */
export function factsOf(name: string, formula: Formula, nullable: boolean, find: Find) {
  const isConstant = inputsOf(formula).every((input) => find(input).constantPerPerson)
  return {
    name,
    nullable,
    invalidValue: nullable ? ({ kind: 'null' } as const) : ({ kind: 'refuse' } as const),
    ...(isConstant ? { constantPerPerson: true } : {}),
  }
}

/**
 * Returns a column with the value of the first branch whose predicate holds.
 * @param otherwise the value where none holds; if it is absent, NULL
 * @throws ExpressionError for branches of different types, or the same in all rows
 */
export function branching(
  branches: readonly { readonly when: Predicate; readonly result: Value }[],
  otherwise: Value | undefined,
  find: Find,
): CategoryColumn | GridColumn {
  const parts = [
    ...branches.map(({ result }) => result),
    ...(otherwise === undefined ? [] : [otherwise]),
  ].map(partOf)
  const { domain, indexOf } = domainOf(parts)
  const indexes = parts.map(indexOf)
  const formula: Formula = {
    kind: 'case',
    cases: branches.map(({ when }, place) => ({ when, branch: must(indexes[place], 'a branch') })),
    ...(otherwise === undefined ? {} : { otherwise: must(indexes.at(-1), 'the last branch') }),
  }
  const when = branches.map(
    (branch, place) =>
      `when ${writtenPredicate(branch.when, find)} then ${writtenPart(must(parts[place], 'a branch'))}`,
  )
  const last = otherwise === undefined ? '' : ` else ${writtenPart(must(parts.at(-1), 'the last branch'))}`
  const nullable = otherwise === undefined || parts.some((part) => 'name' in part && part.nullable)
  return { ...factsOf(`case ${when.join(' ')}${last} end`, formula, nullable, find), ...domain, formula }
}

function partOf(value: Value): Part {
  switch (value.kind) {
    case 'linear':
      return value.terms.length === 0 ? value : columnOfLinear(value)
    case 'column':
      return value.column
    case 'text':
      return value
    case 'truth':
      throw different()
  }
}

function writtenPart(part: Part): string {
  if ('name' in part) return columnText(part)
  if ('text' in part) return writtenLiteral(part.text)
  const { numerator, denominator } = part.constant
  return numerator < 0n ? `-${written({ numerator: -numerator, denominator })}` : written(part.constant)
}

function different(): ExpressionError {
  return new ExpressionError(
    'must have branches of one type: numbers, texts and at most one column of categories, or dates or timestamps',
  )
}

/** The type of a column and its values, and the integers of its branches. */
interface Domain {
  readonly domain:
    | Pick<CategoryColumn, 'type' | 'categories'>
    | (Pick<GridColumn, 'stepNano' | 'lowerIndex' | 'upperIndex'> &
        (
          | { readonly type: 'integer' | 'number' }
          | Pick<Extract<GridColumn, { type: 'date' }>, 'type' | 'dateFormat'>
          | Pick<Extract<GridColumn, { type: 'timestamp' }>, 'type' | 'dateFormat' | 'timeZone'>
        ))
  readonly indexOf: (part: Part) => Branch
}

function domainOf(parts: readonly Part[]): Domain {
  const columns = parts.filter((part) => 'name' in part)
  const [column] = columns
  if (column === undefined ? parts.some((part) => 'text' in part) : column.type === 'category')
    return categories(parts, column)
  const grids = columns.filter(isGrid)
  const temporal = grids.find(isTemporal)
  if (
    grids.length < columns.length ||
    grids.some((grid) => temporal !== undefined && grid.type !== temporal.type)
  )
    throw different()
  const constantOf = (part: Exclude<Part, QueryableColumn>): Fraction => {
    if ('constant' in part && temporal === undefined) return part.constant
    if (!('text' in part) || temporal === undefined) throw different()
    const parsed = parseGridValue(temporal.type, part.text)
    if ('rule' in parsed) throw new ExpressionError(`has the text '${part.text}', which ${parsed.rule}`)
    return fraction(parsed.nano, ONE_NANO)
  }
  const sizeOf = (part: Part) =>
    'name' in part ? fraction(isGrid(part) ? part.stepNano : 0n, ONE_NANO) : constantOf(part)
  const stepNano = stepNanoOf(parts.map(sizeOf).reduce(commonStep))
  const indexOf = (part: Part): Branch => {
    const { numerator, denominator } = sizeOf(part)
    const index = (numerator * ONE_NANO) / (denominator * stepNano)
    return 'name' in part ? { column: part.name, factor: index } : index
  }
  const ends = parts.flatMap((part) => {
    const index = indexOf(part)
    if (typeof index === 'bigint') return [index]
    const { lowerIndex, upperIndex } = must(
      grids.find(({ name }) => name === index.column),
      'the column of a branch',
    )
    return [index.factor * lowerIndex, index.factor * upperIndex]
  })
  return { domain: { ...typeOf(temporal, stepNano), stepNano, ...requireIndexes(ends) }, indexOf }
}

function typeOf(temporal: Extract<GridColumn, { dateFormat: unknown }> | undefined, stepNano: bigint) {
  if (temporal === undefined)
    return { type: stepNano % ONE_NANO === 0n ? ('integer' as const) : ('number' as const) }
  const { dateFormat } = temporal
  if (temporal.type === 'date') return { type: temporal.type, dateFormat }
  return { type: temporal.type, dateFormat, timeZone: temporal.timeZone }
}

/** Texts, and those of a column of categories. */
function categories(parts: readonly Part[], column: QueryableColumn | undefined): Domain {
  const declared = column?.type === 'category' ? column.categories : []
  const texts = parts.map((part) => {
    if ('text' in part && part.text !== '') return [part.text]
    if ('name' in part && part === column) return []
    throw different()
  })
  const all = [...new Set([...declared, ...texts.flat()])]
  return {
    domain: { type: 'category', categories: all },
    indexOf: (part) => {
      if ('text' in part) return BigInt(all.indexOf(part.text))
      return { column: must(column, 'the column of a branch').name, factor: 1n }
    },
  }
}
