import type { Column, KeyedPrivacyUnit } from '../../../core/dataset/dataset.ts'
import {
  type Facts,
  type Join,
  type JoinTree,
  parseJoinedColumn,
  tablesBelow,
} from '../../../core/dataset/joins.ts'
import { entry, must } from '../../../privacy/must.ts'
import { type Refusal, refuseField } from '../../../privacy/refusal.ts'
import { quoteIdentifier } from '../../dialect.ts'
import { type FactRows, printFactCounts, printFacts } from '../../joins.ts'
import { type DigestedValue, printRowOrder, requireKey } from '../../person-rows.ts'
import { printEncoded } from '../encodings/encode.ts'
import type { Statement } from '../encodings/source.ts'
import { canIdentify, encodeIdentifier } from '../encodings/text.ts'
import { fieldOfColumn } from './bounds.ts'
import type { FileRelation } from './formats/format.ts'
import { duckDbDigest, type RelationColumn } from './statements.ts'

/*
 * Tables of one source, joined once. Each is staged with its declared columns and its keys, and the relation that the
 * ingestion reads joins the staged tables. Proofs of the rules: docs/joins.md.
 */

/** A column that is staged: a declared one, or an end of a join. */
export interface StagedSourceColumn extends RelationColumn {
  /** The name in the staged table. */
  readonly staged: string
  /** The field of the request that names the column. */
  readonly field: string
  /** Position among the declared columns; absent for an end of a join. */
  readonly position?: number
}

/** A table of a joined source, with what is staged of it. */
export interface JoinedTable {
  readonly name: string
  readonly relation: FileRelation
  readonly columns: readonly StagedSourceColumn[]
}

/**
 * Finds the declared columns and the ends of joins in the tables.
 * @throws Refusal `source-does-not-fit` naming a column that no table has, or a key that is neither text nor a whole number
 */
export function locateJoined(
  columns: readonly Column[],
  { joins }: JoinTree,
  relations: ReadonlyMap<string, FileRelation>,
): readonly JoinedTable[] {
  const ends = joins.flatMap(({ position, from, to }) => [
    { ...from, staged: `from${position}`, field: `source.joins.${position}.from` },
    { ...to, staged: `to${position}`, field: `source.joins.${position}.to` },
  ])
  const declared = columns.map(({ name }, position) => ({
    ...must(parseJoinedColumn(name), 'the table of a column'),
    staged: `value${position}`,
    field: fieldOfColumn(position),
    position,
    mustIdentify: columns[position]?.type === 'identifier',
  }))
  const wanted = [...declared, ...ends.map((end) => ({ ...end, mustIdentify: true }))]
  return [...relations].map(([name, relation]) => ({
    name,
    relation,
    columns: wanted
      .filter(({ table }) => table === name)
      .map(({ table: _, column, mustIdentify, ...facts }) => ({
        ...facts,
        ...locate(relation, column, facts.field, mustIdentify, name),
      })),
  }))
}

/**
 * Finds a column of a file by its name.
 * @param field the field of the request that names it
 * @param source what refusals call the file
 * @throws Refusal `source-does-not-fit` for a name of no column or of two, or a type that cannot identify
 */
export function locate(
  { fileNames, columns }: FileRelation,
  name: string,
  field: string,
  mustIdentify: boolean,
  source = 'the source',
): RelationColumn {
  const misfit = (rule: string) => refuseField('source-does-not-fit', field, rule)
  const position = fileNames.indexOf(name)
  if (fileNames.lastIndexOf(name) !== position) throw misfit(`matches two columns of ${source}`)
  const found = columns[position]
  if (found === undefined) throw misfit(`${source} has no column of this name`)
  if (mustIdentify && !canIdentify(found.type)) throw misfit(`must be text or whole numbers in ${source}`)
  return found
}

/** Prints the statement that stages a table. References and keys are staged as texts, and NULL where they are missing. */
export function printStagedTable({ name, relation, columns }: JoinedTable, source: Statement): Statement {
  const isEnd = ({ position }: StagedSourceColumn) => position === undefined
  const encodings = columns.map((column, position) =>
    isEnd(column)
      ? encodeIdentifier({ position, name: `source${position}`, type: column.type })
      : { layers: [], stored: `source${position}` },
  )
  const sources = columns.map((column, i) => `${quoteIdentifier(column.name)} AS source${i}`)
  const encoded = printEncoded(encodings, `(SELECT ${sources.join(', ')} FROM ${relation.sql})`)
  const staged = columns.map((column, i) => `stored${i} AS ${column.staged}`)
  return {
    sql: `CREATE TEMPORARY TABLE ${stagedName(name)} AS SELECT ${staged.join(', ')} FROM (${encoded})`,
    parameters: source.parameters,
  }
}

/** Prints a statement that selects a row if a key of a staged table is that of several rows. */
export function printRepeatedKey({ position, to }: Join): string {
  const key = `to${position}`
  return `SELECT true FROM ${stagedName(to.table)} WHERE ${key} IS NOT NULL GROUP BY ${key} HAVING count(*) > 1 LIMIT 1`
}

/**
 * Prints the statement that leaves one row of each person in the staged table of people to be found: the one whose digest is
 * lowest, which depends on the person's own rows and the secret key only. The others lose their key, and keep their places.
 */
export function printOneRowPerPerson(
  { position, to }: Join,
  { columns }: JoinedTable,
  { key }: Extract<KeyedPrivacyUnit, { kind: 'person' }>,
): string {
  const [table, id] = [stagedName(to.table), `to${position}`]
  const values = columns.map(({ staged }) => asText(staged))
  const order = printRowOrder(duckDbDigest, `'${requireKey(key)}'`, id, values)
  const ranked = `SELECT rowid AS place, row_number() OVER (PARTITION BY ${id} ORDER BY ${order.join(', ')}) AS rank FROM ${table} WHERE ${id} IS NOT NULL`
  return `UPDATE ${table} SET ${id} = NULL FROM (SELECT place FROM (${ranked}) WHERE rank > 1) AS others WHERE ${table}.rowid = others.place`
}

/**
 * Prints the relation of the joined rows: `value<i>` for the declared column at position i.
 * @param unit that of the ingestion, which chooses the rows of facts
 * @param placesIn a table whose rows, counted from 0, are selected as `sotto_row`
 */
export function printJoined(
  tree: JoinTree,
  columns: readonly Column[],
  unit: KeyedPrivacyUnit,
  placesIn?: string,
): string {
  const { facts } = tree
  const selected = (side: Pick<JoinTree, 'root' | 'joins'>) => selectedOf(side, columns, placesIn)
  if (facts === undefined) return `(SELECT ${named(selected(tree)).join(', ')} FROM ${printTables(tree)})`
  const rows = factRows(facts, columns, unit, placesIn)
  const names = facts.sides.flatMap((side) => selected(side).map(({ name }) => name))
  return `(SELECT ${names.join(', ')} FROM ${printFacts(facts, rows)})`
}

/** The two facts of a joined source, as relations. */
function factRows(
  { join: { position, from, to }, sides }: Facts,
  columns: readonly Column[],
  unit: KeyedPrivacyUnit,
  placesIn?: string,
): readonly [FactRows, FactRows] {
  if (unit.kind === 'row') throw new RangeError('facts of people need people')
  const persons = [`${stagedName(from.table)}.from${position}`, `${stagedName(to.table)}.to${position}`]
  const [one, other] = sides.map((side, i): FactRows => {
    const [person, selected] = [entry(persons, i), selectedOf(side, columns, placesIn)]
    const digested = selected.filter(({ name }) => name !== PLACE).map(({ sql }) => asText(sql))
    const order = () => printRowOrder(duckDbDigest, `'${requireKey(unit.key)}'`, person, digested)
    return { rows: printTables(side), person, columns: named(selected), order }
  })
  return [must(one, 'a fact'), must(other, 'a fact')]
}

/** Prints a statement for the numbers of two facts: one row of texts, which `readFactCounts` reads. */
export function printStagedFactCounts(
  facts: Facts,
  columns: readonly Column[],
  unit: KeyedPrivacyUnit,
): string {
  return printFactCounts(facts, factRows(facts, columns, unit))
}

const PLACE = 'sotto_row'

interface Selected {
  readonly name: string
  readonly sql: string
}

/** The declared columns of joined tables. */
function selectedOf(
  { root, joins }: Pick<JoinTree, 'root' | 'joins'>,
  columns: readonly Column[],
  placesIn?: string,
): readonly Selected[] {
  const tables = tablesBelow(root, joins)
  const values = columns.flatMap(({ name }, i) => {
    const { table } = must(parseJoinedColumn(name), 'the table of a column')
    return tables.has(table) ? [{ name: `value${i}`, sql: `${stagedName(table)}.value${i}` }] : []
  })
  // DuckDB numbers the rows of a table from 0 in the order in which they were inserted.
  const isHere = placesIn !== undefined && tables.has(placesIn)
  return isHere ? [...values, { name: PLACE, sql: `${stagedName(placesIn)}.rowid` }] : values
}

function named(selected: readonly Selected[]): readonly string[] {
  return selected.map(({ name, sql }) => `${sql} AS ${name}`)
}

function printTables({ root, joins }: Pick<JoinTree, 'root' | 'joins'>): string {
  const printed = joins.map((join) => printJoin(join, join.dangling === 'null' ? 'LEFT JOIN' : 'JOIN'))
  return [stagedName(root), ...printed].join(' ')
}

function asText(sql: string): DigestedValue {
  return { type: 'text', sql: `CAST(${sql} AS VARCHAR)` }
}

/**
 * Prints a statement for the counts of joined rows, one row of texts: for each join the rows without a reference, and those
 * whose reference leads nowhere, among the rows for which the table that refers has a row.
 */
export function printDanglingCounts({ root, joins }: Pick<JoinTree, 'root' | 'joins'>): string {
  const counts = joins.flatMap((join) => {
    const from = `${stagedName(join.from.table)}.from${join.position}`
    const found = `${stagedName(join.to.table)}.to${join.position} IS NOT NULL`
    const before = joins.find(({ to }) => to.table === join.from.table)
    const isThere =
      before === undefined ? 'true' : `${stagedName(before.to.table)}.to${before.position} IS NOT NULL`
    return [`${isThere} AND ${from} IS NULL`, `${from} IS NOT NULL AND NOT (${found})`]
  })
  const printed = joins.map((join) => printJoin(join, 'LEFT JOIN'))
  const filtered = counts.map((condition) => `(count(*) FILTER (WHERE ${condition}))::VARCHAR`)
  return `SELECT ${filtered.join(', ')} FROM ${[stagedName(root), ...printed].join(' ')}`
}

function printJoin({ position, from, to }: Join, operator: 'JOIN' | 'LEFT JOIN'): string {
  const [one, other] = [stagedName(from.table), stagedName(to.table)]
  return `${operator} ${other} ON ${one}.from${position} = ${other}.to${position}`
}

/** The name of a staged table, as SQL. */
export function stagedName(table: string): string {
  return quoteIdentifier(`staged.${table}`)
}

/** Refusal of a key that is that of several rows. */
export function repeatedKey({ position, to }: Join): Refusal {
  return refuseField(
    'source-does-not-fit',
    `source.joins.${position}.to`,
    `several rows of ${to.table} have the same ${to.column}: a join must lead to one row`,
  )
}

/** Refusal of references that lead nowhere, where the declaration refuses them. */
export function danglingReferences({ position, to }: Join, missing: number, dangling: number): Refusal {
  return refuseField(
    'source-does-not-fit',
    `source.joins.${position}.from`,
    `${missing} rows have no value, and ${dangling} have one that is no ${to.column} of ${to.table}; declare dangling ` +
      'differently to accept them',
  )
}
