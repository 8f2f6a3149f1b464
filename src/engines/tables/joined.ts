import type { Column, TableColumn } from '../../core/dataset/dataset.ts'
import {
  type Facts,
  type Join,
  type JoinTree,
  parseJoinedColumn,
  tablesBelow,
} from '../../core/dataset/joins.ts'
import { entry, must } from '../../privacy/must.ts'
import { type Bind, quoteIdentifier } from '../dialect.ts'
import { FACT_COUNTS, type FactRows, printFactCounts, printFacts, readFactCounts } from '../joins.ts'
import { printRowOrder, requireKey } from '../person-rows.ts'
import { type PrintedStatement, printBound } from '../printing/printer.ts'
import type { EncodedValue, TableDialect } from './table-dialect.ts'
import type { JoinedCounts, JoinedTables, TableDataset, TableName } from './table-engine.ts'

/* Tables of a database that are joined where they are. Proofs of the rules: docs/joins.md. */

/** Name of the rows of a table, or of joined tables, in statements. */
export const SOURCE = 'sotto_source'

/** An end of a join, as values that are compared: exact texts, and NULL where the reference or the key is missing. */
export const KEY: Column = {
  type: 'identifier',
  name: 'key',
  nullable: true,
  invalidValue: { kind: 'drop-row' },
}

/** A dataset whose rows are those of joined tables. */
type JoinedDataset = TableDataset & { readonly table: JoinedTables }

/** True for a dataset whose rows are those of joined tables. */
export function joinsTables(table: TableDataset): table is JoinedDataset {
  return 'tables' in table.table
}

/** The name of a table as SQL. */
export function printTableName({ schema, name }: TableName): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`
}

/**
 * Prints the rows of a dataset before any rule. The text can follow `FROM`.
 * @param bind adds the secret key that chooses among rows of people
 */
export function printSource(dialect: TableDialect, table: TableDataset, bind: Bind): string {
  if (!joinsTables(table)) return `${printTableName(table.table as TableName)} AS ${SOURCE}`
  const { joins } = table.table
  const { facts } = joins
  if (facts === undefined)
    return `(SELECT ${valuesOf(table, joins).map(asNamed).join(', ')} FROM ${printRows(dialect, table, joins, bind)}) AS ${SOURCE}`
  const names = table.dataset.columns.map((_, i) => sourceName(i))
  return `(SELECT ${names.join(', ')} FROM ${printFacts(facts, factRows(dialect, table, facts, bind))}) AS ${SOURCE}`
}

/** The declared columns of joined tables. */
function valuesOf({ dataset, columns }: JoinedDataset, { root, joins }: Pick<JoinTree, 'root' | 'joins'>) {
  const tables = tablesBelow(root, joins)
  return dataset.columns.flatMap((_, i) => {
    const column = entry(columns, i)
    return tables.has(tableOf(column)) ? [{ sql: printColumn(column), name: sourceName(i) }] : []
  })
}

function asNamed({ sql, name }: ReturnType<typeof valuesOf>[number]): string {
  return `${sql} AS ${name}`
}

function printRows(
  dialect: TableDialect,
  table: JoinedDataset,
  tree: Pick<JoinTree, 'root' | 'joins'>,
  bind: Bind,
): string {
  return printTables(dialect, table, (join) => (join.dangling === 'null' ? 'LEFT JOIN' : 'JOIN'), tree, bind)
}

/** The two facts of a joined source, as relations. Their order is that of the other digests of rows, under the same key. */
function factRows(
  dialect: TableDialect,
  table: JoinedDataset,
  { join, sides }: Facts,
  bind: Bind,
): readonly [FactRows, FactRows] {
  const ends = endsOf(table, join)
  const [one, other] = sides.map((side, i): FactRows => {
    const [person, values] = [encodeKey(dialect, entry(ends, i)).stored, valuesOf(table, side)]
    const columns = values.map(({ sql }) => sql)
    const order = () => printOrder(dialect, table, person, columns, bind)
    return { rows: printRows(dialect, table, side, bind), person, columns: values.map(asNamed), order }
  })
  return [must(one, 'a fact'), must(other, 'a fact')]
}

/** The value of a declared column in the rows of {@link printSource}. */
export function printSourceValue(table: TableDataset, { name }: TableColumn, i: number): string {
  return `${SOURCE}.${joinsTables(table) ? sourceName(i) : quoteIdentifier(name)}`
}

// By its position: the name of a table and of a column together could be too long for a database.
function sourceName(i: number): string {
  return `sotto_value${i}`
}

/** Returns a column as it is in the rows of {@link printSource}: that of a table that may have no row is NULL without one. */
export function inSource(table: TableDataset, column: TableColumn): TableColumn {
  if (!joinsTables(table)) return column
  const { joins } = table.table.joins
  const absent = new Set<string>()
  for (const { from, to, dangling } of joins)
    if (dangling === 'null' || absent.has(from.table)) absent.add(to.table)
  return absent.has(tableOf(column)) ? { ...column, notNull: false } : column
}

function tableOf({ name }: TableColumn): string {
  return must(parseJoinedColumn(name), 'the table of a column').table
}

function printColumn({ name }: TableColumn): string {
  const { table, column } = must(parseJoinedColumn(name), 'the table of a column')
  return `${quoteIdentifier(table)}.${quoteIdentifier(column)}`
}

function printTables(
  dialect: TableDialect,
  table: JoinedDataset,
  operatorOf: (join: Join) => 'JOIN' | 'LEFT JOIN',
  { root, joins }: Pick<JoinTree, 'root' | 'joins'>,
  bind: Bind,
): string {
  const printed = joins.map((join) => {
    const { relation, isOne } = printReferred(dialect, table, join, bind)
    const conditions = [printCondition(dialect, table, join), ...isOne]
    return `${operatorOf(join)} ${relation} ON ${conditions.join(' AND ')}`
  })
  return [printNamed(table, root), ...printed].join(' ')
}

function printNamed({ table: { tables } }: JoinedDataset, name: string): string {
  return `${printTableName(must(tables[name], 'a joined table'))} AS ${quoteIdentifier(name)}`
}

/**
 * Prints the table to which a join leads, with the conditions on its rows that make it lead to one row at most. Where the
 * database does not guarantee that, a row of people stands for all of the same person: that of the lowest digest, which
 * depends on their own rows and the secret key only. Another row can be somebody else's, and the statement fails.
 */
function printReferred(
  dialect: TableDialect,
  table: JoinedDataset,
  join: Join,
  bind: Bind,
): { readonly relation: string; readonly isOne: readonly string[] } {
  const named = printNamed(table, join.to.table)
  const [, to] = endsOf(table, join)
  const isOfPeople = join === lastOf(table)
  const { failUnless } = dialect
  if (to.unique || (!isOfPeople && failUnless === undefined)) return { relation: named, isOne: [] }
  const columns = table.columns.filter((column) => tableOf(column) === join.to.table).map(printColumn)
  const key = encodeKey(dialect, to).stored
  const place = isOfPeople
    ? `row_number() OVER (PARTITION BY ${key} ORDER BY ${printOrder(dialect, table, key, columns, bind).join(', ')})`
    : `count(*) OVER (PARTITION BY ${key})`
  const select = [...new Set(columns), `${place} AS sotto_place`].join(', ')
  const name = quoteIdentifier(join.to.table)
  const isFirst = `${name}.sotto_place = 1`
  return {
    relation: `(SELECT ${select} FROM ${named} WHERE ${key} IS NOT NULL) AS ${name}`,
    isOne: [isOfPeople || failUnless === undefined ? isFirst : failUnless(isFirst)],
  }
}

/**
 * Number of characters of a text that the order depends on: more than those of a text that fits, and of any number. Longer texts
 * that begin alike all do not fit, so that it makes no difference which of them comes first.
 */
const LONGEST_ORDERED_TEXT = 150_000

/** The order has the secret key, without which rows with one digest can be constructed, and the database chooses among those. */
function printOrder(
  dialect: TableDialect,
  { unit }: JoinedDataset,
  person: string,
  columns: readonly string[],
  bind: Bind,
): readonly string[] {
  if (unit.kind === 'row') throw new RangeError('rows of people need people')
  const start = (text: string) => `substr(${text}, 1, ${LONGEST_ORDERED_TEXT})`
  const values = [...new Set(columns)].map((sql) => ({
    type: 'text' as const,
    sql: start(`CAST(${sql} AS VARCHAR)`),
  }))
  const key = dialect.value(requireKey(unit.key), 'text', bind)
  return printRowOrder(dialect, key, start(person), values)
}

/**
 * Prints the condition that a reference is a key. Columns of one type of which every value is a key are compared as they are,
 * so that an index can be used. Others are compared as texts, beside the condition that they are keys: the database knows
 * their frequencies, which it would not of an expression.
 */
function printCondition(dialect: TableDialect, table: JoinedDataset, join: Join): string {
  const [from, to] = endsOf(table, join)
  const [one, other] = [encodeKey(dialect, from), encodeKey(dialect, to)]
  const isOneType = from.type === to.type
  if (isOneType && one.isTotal && other.isTotal) return `${printColumn(from)} = ${printColumn(to)}`
  const text = ({ stored, fitting }: EncodedValue) => fitting?.stored ?? stored
  // Equal values of one type are both keys, or neither is.
  const conditions = (isOneType ? [other] : [one, other]).flatMap(({ fitting }) =>
    fitting === undefined ? [] : [`(${fitting.condition})`],
  )
  return [`${text(one)} = ${text(other)}`, ...conditions].join(' AND ')
}

function endsOf(
  { dataset, columns }: JoinedDataset,
  { position }: Join,
): readonly [from: TableColumn, to: TableColumn] {
  const first = dataset.columns.length + 2 * position
  return [entry(columns, first), entry(columns, first + 1)]
}

function encodeKey(dialect: TableDialect, column: TableColumn) {
  const encoded = dialect.encode(KEY, { ...column, notNull: false, sql: printColumn(column) })
  if (encoded === undefined) throw new RangeError('an end of a join does not fit')
  return encoded
}

/**
 * Prints a statement for the numbers of joined tables, which {@link readJoinedCounts} reads; `undefined` for one table. Each
 * table is read once more for its keys, unless the database guarantees that they are unique or they are those of people.
 */
export function printJoinedCounts(dialect: TableDialect, table: TableDataset): PrintedStatement | undefined {
  return joinsTables(table) ? printBound((bind) => printCounts(dialect, table, bind)) : undefined
}

function printCounts(dialect: TableDialect, table: JoinedDataset, bind: Bind): string {
  const { facts, ...tree } = table.table.joins
  const [own, other] = (facts?.sides ?? [tree]).map((side) => ({
    side,
    counts: countsOf(dialect, table, side),
  }))
  const people = lastOf(table)
  const ofPeople =
    people === undefined
      ? '0'
      : `(SELECT count(DISTINCT ${encodeKey(dialect, endsOf(table, people)[1]).stored}) FROM ${printNamed(table, people.to.table)})`
  const printed = [own, other].flatMap((each) => {
    if (each === undefined || (each === other && each.counts.length === 0)) return []
    const texts = [...(each === own ? ['count(*)', ofPeople] : []), ...each.counts]
    return [
      `SELECT ${texts.map((count) => `CAST(${count} AS VARCHAR)`).join(', ')} FROM ${printTables(dialect, table, () => 'LEFT JOIN', each.side, bind)}`,
    ]
  })
  if (facts === undefined) return printed.join('')
  const all = [...printed, printFactCounts(facts, factRows(dialect, table, facts, bind))]
  return `SELECT * FROM ${all.map((sql, i) => `(${sql}) AS sotto_counts${i}`).join(' CROSS JOIN ')}`
}

/** For each join the repeated keys, the missing references and those that lead nowhere. */
function countsOf(
  dialect: TableDialect,
  table: JoinedDataset,
  { joins }: Pick<JoinTree, 'root' | 'joins'>,
): readonly string[] {
  return joins.flatMap((join) => {
    const [from, to] = endsOf(table, join).map((end) => encodeKey(dialect, end).stored)
    const before = joins.find((other) => other.to.table === join.from.table)
    // Among the rows for which the table that refers has a row.
    const isThere =
      before === undefined ? 'TRUE' : `${encodeKey(dialect, endsOf(table, before)[1]).stored} IS NOT NULL`
    return [
      printRepeated(dialect, table, join),
      dialect.countIf(`${isThere} AND ${from} IS NULL`),
      dialect.countIf(`${from} IS NOT NULL AND ${to} IS NULL`),
    ]
  })
}

/** The join that leads to the people, where they are not the rows of the first table. */
function lastOf({ table: { joins }, unit }: JoinedDataset): Join | undefined {
  if (unit.kind === 'row' || joins.people === joins.root) return undefined
  return joins.joins.find(({ to }) => to.table === joins.people)
}

function printRepeated(dialect: TableDialect, table: JoinedDataset, join: Join): string {
  const [, to] = endsOf(table, join)
  if (to.unique || join === lastOf(table)) return '0'
  const key = encodeKey(dialect, to).stored
  const keys = `SELECT 1 AS sotto_key FROM ${printNamed(table, join.to.table)} WHERE ${key} IS NOT NULL GROUP BY ${key} HAVING count(*) > 1`
  return `(SELECT count(*) FROM (${keys}) AS sotto_keys)`
}

/**
 * Reads the row of {@link printJoinedCounts}.
 * @param counts the integers of the row
 */
export function readJoinedCounts(table: TableDataset, counts: readonly number[]): JoinedCounts | undefined {
  if (!joinsTables(table)) return undefined
  const { facts, joins } = table.table.joins
  const counted = facts?.sides.flatMap((side) => side.joins) ?? joins
  const ends = 2 + 3 * counted.length
  if (counts.length !== ends + (facts === undefined ? 0 : FACT_COUNTS))
    throw new RangeError('the result has another number of columns')
  const [rowsRead, people] = [entry(counts, 0), entry(counts, 1)]
  const ofFacts = facts && readFactCounts(facts, counts.slice(ends))
  return {
    rowsRead,
    ...(lastOf(table) === undefined ? {} : { people }),
    joins: joins.map((join) => {
      const place = counted.indexOf(join)
      if (place === -1) return { repeated: 0, ...must(ofFacts, 'the numbers of facts') }
      const [repeated, missing, dangling] = [2, 3, 4].map((first) => entry(counts, 3 * place + first))
      return {
        repeated: must(repeated, 'a count'),
        missing: must(missing, 'a count'),
        dangling: must(dangling, 'a count'),
      }
    }),
  }
}
