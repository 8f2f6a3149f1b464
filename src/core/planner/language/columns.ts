import { type Dataset, isQueryable, type QueryableColumn } from '../../dataset/dataset.ts'
import { isJoined, parseJoinedColumn } from '../../dataset/joins.ts'
import type { Find } from './expressions/branches.ts'
import { derivedColumn } from './expressions/derive.ts'
import { ExpressionError } from './expressions/parse.ts'
import { type Formula, inputsOf } from './formula.ts'

/*
 * The columns of a dataset by their names: the declared ones, and those that expressions stand for. A derived column is named by
 * the normal form of its expression, so that equal expressions are one column; or as its custodian has declared it.
 */

/** A column, or the rule that a text breaks which names none. */
type Named = { readonly column: QueryableColumn } | { readonly rule: string | undefined }

interface Names {
  /** The declared columns by their names, and by the names without a table that mean one of them. */
  readonly declared: ReadonlyMap<string, QueryableColumn>
  /** Expressions that were used before, by their texts. */
  readonly derived: Map<string, Named>
}

/** Largest number of expressions that are kept for a dataset. */
const MOST_KEPT = 1_000

const known = new WeakMap<Dataset, Names>()

/** Returns the column that a name or an expression stands for, if queries can use it. */
export function columnNamed(dataset: Dataset, text: string): QueryableColumn | undefined {
  const named = findColumn(dataset, text)
  return 'column' in named ? named.column : undefined
}

/** Returns the column that a name or an expression stands for, or the rule that the text breaks; without one, the name is unknown. */
export function findColumn(dataset: Dataset, text: string): Named {
  const names = namesOf(dataset)
  const declared = names.declared.get(text)
  if (declared !== undefined) return { column: declared }
  const kept = names.derived.get(text)
  if (kept !== undefined) return kept
  const named = derive(dataset, names, text)
  if (names.derived.size >= MOST_KEPT) names.derived.clear()
  names.derived.set(text, named)
  return named
}

function derive(dataset: Dataset, { declared }: Names, text: string): Named {
  let isName = false
  const find: Find = (name, computed) => {
    if (computed !== undefined) return declaredAs(dataset.derived ?? [], computed) ?? computed
    isName ||= name === text
    const found: Named = name === text ? { rule: undefined } : findColumn(dataset, name)
    if ('column' in found) return found.column
    throw new ExpressionError(found.rule ?? `names no column "${name}"`)
  }
  try {
    const column = derivedColumn(text, find)
    if (column.formula === undefined) return { column: declared.get(column.name) ?? column }
    requireOneMeaning(column.name, column.formula, declared)
    return { column: declaredAs(dataset.derived ?? [], column) ?? column }
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    return { rule: isName ? undefined : error.rule }
  }
}

/** Largest length of a name, as questions may state it. */
const LONGEST_NAME = 2_000

/**
 * Formulas name their columns. A declared column whose name reads as an expression would stand for that expression, with other
 * values than its bounds say.
 * @throws ExpressionError for such a name
 */
function requireOneMeaning(name: string, formula: Formula, declared: Names['declared']): void {
  if (name.length > LONGEST_NAME)
    throw new ExpressionError(`must have at most ${LONGEST_NAME} characters when it is written out`)
  const double = [name, ...inputsOf(formula)].find(
    (each) => declared.has(each) && isExpression(each, declared),
  )
  if (double !== undefined)
    throw new ExpressionError(`must not use ${double}, which is both an expression and the name of a column`)
}

/** True for a name that reads as an expression of other columns. */
function isExpression(name: string, declared: Names['declared']): boolean {
  try {
    return (
      derivedColumn(name, (part, computed) => computed ?? columnOf(part, name, declared)).formula !==
      undefined
    )
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    return false
  }
}

function columnOf(part: string, whole: string, declared: Names['declared']): QueryableColumn {
  if (part === whole) throw new ExpressionError('is a name')
  const found = declared.get(part)
  if (found !== undefined) return found
  return derivedColumn(part, (inner, computed) => computed ?? columnOf(inner, part, declared))
}

/** A declared column with the values of an expression. */
function declaredAs(
  derived: readonly QueryableColumn[],
  { name }: QueryableColumn,
): QueryableColumn | undefined {
  return derived.find(({ expression }) => expression === name)
}

function namesOf(dataset: Dataset): Names {
  const before = known.get(dataset)
  if (before !== undefined) return before
  const names: Names = { declared: declaredNames(dataset), derived: new Map() }
  known.set(dataset, names)
  return names
}

function declaredNames({ columns, derived = [], source }: Dataset): ReadonlyMap<string, QueryableColumn> {
  const usable = [...columns.filter(isQueryable), ...derived]
  const declared = new Map(usable.map((column) => [column.name, column]))
  if (!isJoined(source)) return declared
  const short = Map.groupBy(columns, ({ name }) => parseJoinedColumn(name)?.column)
  const meant = [...short].flatMap(([name, [column, ...others]]) =>
    name === undefined || column === undefined || others.length > 0 || !isQueryable(column)
      ? []
      : [[name, column] as const],
  )
  return new Map([...meant, ...declared])
}
