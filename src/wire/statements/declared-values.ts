import type { Node } from 'libpg-query'
import { parseText } from '../../answers/sql/parsing/parser.ts'
import { eachPart, fieldsOf, lastName } from '../../answers/sql/parsing/tree.ts'
import { must } from '../../privacy/must.ts'
import { DECLARED_VALUES } from '../catalogue/names.ts'
import { catalogueSql } from './catalogue-statement.ts'

/** Clauses of a statement for the values of a column. */
const CLAUSES: readonly string[] = [
  ...['distinctClause', 'targetList', 'fromClause', 'whereClause', 'groupClause', 'sortClause'],
  ...['limitCount', 'limitOffset', 'limitOption', 'op'],
]

/** What such a statement may consist of: no functions, as an aggregate would be one of the values and not of rows. */
const PARTS: readonly string[] = [
  ...['ResTarget', 'ColumnRef', 'RangeVar', 'A_Const', 'A_Expr', 'BoolExpr', 'NullTest', 'SortBy', 'List'],
  ...['String', 'Integer', 'TypeCast', 'SelectStmt'],
]

/** A statement for the values of one column, in the dialect of the catalogue's evaluator. */
export interface ValuesOfColumn {
  readonly column: string
  readonly sql: string
}

/**
 * Reads the statement by which tools list the values to filter by: `SELECT DISTINCT column`, or `SELECT column` with `GROUP BY`.
 * Conditions and the order are about the same column. The values of a category are declared, so that they are no question
 * about rows.
 * @returns undefined for another statement
 * @throws Refusal as {@link catalogueSql} does
 */
export function readValuesOfColumn(tree: Node): ValuesOfColumn | undefined {
  const select = fieldsOf(structuredClone(tree), 'SelectStmt')
  if (select === undefined || Object.keys(select).some((clause) => !CLAUSES.includes(clause)))
    return undefined
  const { sortClause, ...others } = select
  const { targetList = [], fromClause = [], distinctClause, groupClause } = select
  const [table, second] = fromClause.map((node) => fieldsOf(node, 'RangeVar'))
  const targets = targetList.flatMap((node) => fieldsOf(node, 'ResTarget') ?? [])
  const names = targets.map(({ val }) => lastName(fieldsOf(val, 'ColumnRef')?.fields))
  const [column] = names
  const isDistinct = distinctClause?.every((each) => Object.keys(each).length === 0)
  if (!(isDistinct ?? groupClause !== undefined) || table === undefined || second !== undefined)
    return undefined
  const { schemaname = 'public', relname = '' } = table
  if (schemaname !== 'public' || column === undefined || names.some((name) => name !== column))
    return undefined
  const aliases = targets.flatMap(({ name }) => name ?? [])
  // Only ORDER BY sees the aliases.
  if (!isOnly(others, [column]) || !isOnly({ sortClause }, [column, ...aliases])) return undefined
  // Each value is one row already, in the order of the declaration.
  delete select.distinctClause
  delete select.groupClause
  select.fromClause = [
    { RangeSubselect: { subquery: declared(relname, column), alias: { aliasname: 'declared' } } },
  ]
  return { column, sql: catalogueSql({ SelectStmt: select }) }
}

/** True if a statement has plain parts only, and names no other columns. It takes the tables off the names. */
function isOnly(select: object, names: readonly string[]): boolean {
  let only = true
  eachPart(select, (part) => {
    for (const kind of Object.keys(part)) if (/^[A-Z]/.test(kind) && !PARTS.includes(kind)) only = false
    const column = fieldsOf(part as Node, 'ColumnRef')
    if (column === undefined) return
    const name = lastName(column.fields)
    if (name === undefined || !names.includes(name)) only = false
    else part.ColumnRef = { fields: [{ String: { sval: name } }] }
  })
  return only
}

function declared(table: string, column: string): Node {
  const [name, attribute] = [table, column].map((text) => `'${text.replaceAll("'", "''")}'`)
  const written = `SELECT value AS "${column.replaceAll('"', '""')}" FROM pg_catalog.${DECLARED_VALUES}
    WHERE relation = ${name} AND ${attribute} IN (attribute, lower(attribute))`
  return must(parseText(written)[0], 'a statement')
}
