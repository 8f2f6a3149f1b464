import type { Node, RangeVar } from 'libpg-query'
import { deparseSync } from 'pgsql-deparser'
import { parseText } from '../../answers/sql/parsing/parser.ts'
import { allOf, eachPart, lastName, nameOf } from '../../answers/sql/parsing/tree.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { SCHEMAS } from '../catalogue/names.ts'
import { isOfEvaluator, rewriteNodes, showNames } from './catalogue-rewrites.ts'
import { groupByColumns, nameColumns } from './column-names.ts'

/** True for a statement that names no table, or only those of the catalogue. */
export function isAboutCatalogue(tree: Node): boolean {
  const own = ownTables(tree)
  return allOf(tree, 'RangeVar').every(
    ({ schemaname, relname = '' }) =>
      schemaname === 'pg_catalog' ||
      schemaname === 'information_schema' ||
      (schemaname === undefined && (own.has(relname) || relname.startsWith('pg_'))),
  )
}

/** The evaluator's schema of a table. */
function schemaOf({ schemaname, relname = '' }: RangeVar): string {
  const named = schemaname ?? (relname.startsWith('pg_') ? 'pg_catalog' : 'public')
  const known = Object.entries(SCHEMAS).find(([name]) => name === named)
  return known?.[1] ?? named
}

/** Names of the common table expressions of a statement. */
function ownTables(tree: Node): ReadonlySet<string> {
  return new Set(allOf(tree, 'CommonTableExpr').map(({ ctename = '' }) => ctename))
}

/**
 * Writes a statement about the catalogue in the dialect of its evaluator. It names relations and functions of the catalogue
 * only.
 * @throws Refusal `sql-not-supported`
 */
export function catalogueSql(tree: Node): string {
  requireSupported(tree)
  nameColumns(tree)
  groupByColumns(tree)
  showNames(tree)
  const own = ownTables(tree)
  for (const table of allOf(tree, 'RangeVar')) {
    if (table.schemaname === undefined && own.has(table.relname ?? '')) continue
    table.schemaname = schemaOf(table)
    // All databases have the same catalogue.
    delete table.catalogname
  }
  rewriteNodes(tree)
  requirePlainNames(tree)
  const printed = printedSql(tree)
  requireAllowed(printed)
  return printed
}

/** @throws Refusal for the syntax that the printer does not know */
function printedSql(tree: Node): string {
  try {
    return deparseSync(tree)
  } catch {
    throw new Refusal('sql-not-supported', NOT_SUPPORTED)
  }
}

const NOT_SUPPORTED = 'This syntax is not supported about the catalogue.'

/** Parts of PostgreSQL's syntax that a statement about the catalogue can do without. */
const REFUSED: readonly string[] = [
  ...['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt'],
  ...['intoClause', 'lockingClause', 'XmlExpr', 'JsonFuncExpr'],
]

function requireSupported(tree: Node): void {
  eachPart(tree, (part) => {
    if (REFUSED.some((kind) => part[kind] !== undefined))
      throw new Refusal('sql-not-supported', NOT_SUPPORTED)
  })
}

/** Requires plain names where the printer does not quote them. */
function requirePlainNames(tree: Node): void {
  const windows = [...allOf(tree, 'WindowDef'), ...allOf(tree, 'FuncCall').flatMap(({ over }) => over ?? [])]
  const aliases = allOf(tree, 'JoinExpr').flatMap(({ alias }) => alias ?? [])
  const names = [
    ...ownTables(tree),
    ...allOf(tree, 'NamedArgExpr').map(({ name }) => name),
    ...windows.flatMap(({ name, refname }) => [name, refname]),
    ...aliases.flatMap(({ aliasname, colnames = [] }) => [aliasname, ...colnames.map(nameOf)]),
  ]
  for (const each of names)
    if (each !== undefined && (!/^[a-z_][a-z0-9_]*$/i.test(each) || /^(duckdb|sqlite)_/i.test(each)))
      throw new Refusal('sql-not-supported', `The name "${each}" is not supported about the catalogue.`)
}

/** Requires that a printed statement, as it will be read, names relations and functions of the evaluator's catalogue only. */
function requireAllowed(printed: string): void {
  const [tree, second] = parseText(printed)
  const refuse = () => new Refusal('sql-not-supported', NOT_SUPPORTED)
  if (tree === undefined || second !== undefined || !('SelectStmt' in tree)) throw refuse()
  const own = ownTables(tree)
  const schemas: readonly string[] = Object.values(SCHEMAS)
  for (const { schemaname, relname = '' } of allOf(tree, 'RangeVar'))
    if (schemaname === undefined ? !own.has(relname) : !schemas.includes(schemaname)) throw refuse()
  for (const { funcname } of allOf(tree, 'FuncCall'))
    if (!isOfEvaluator(lastName(funcname) ?? '')) throw refuse()
}
