import { type Column, isGrid, type KeyedPrivacyUnit } from '../../../core/dataset/dataset.ts'
import { gridPoints } from '../../../core/dataset/value-limits.ts'
import { must } from '../../../privacy/must.ts'
import { plausibleRowsOf } from '../../../privacy/neighbours.ts'
import { quoteIdentifier } from '../../dialect.ts'
import { widenedByOneStep } from '../../grid.ts'
import { MISFIT_KINDS, type MisfitKind } from '../../misfits.ts'
import {
  DIGESTED_TYPES,
  type DigestDialect,
  isConstantPerPerson,
  PERSON_COLUMN,
  printPersonOrder,
  printRowOrder,
  RANK_COLUMN,
  requireKey,
} from '../../person-rows.ts'
import type { DeclaredLimit } from '../../source-rules.ts'
import { encodeValue, printEncoded, storedType } from '../encodings/encode.ts'
import { type Encoding, type Parameter, type Statement, within } from '../encodings/source.ts'
import { ROWS_BEYOND_TABLE } from '../instance.ts'

/** Codes of the ways in which a value can be a misfit, in staged rows. 0: it fits. 3: it is clamped. */
const MISFIT_CODES: Readonly<Record<MisfitKind | 'clamped', number>> = { missing: 1, unfit: 2, clamped: 3 }

/** Number of places of misfits that the custodian is told, for each rule of a column. */
const PLACES_TOLD = 5

/** The statements that turn a source's values into stored values. No value of a source makes one of them fail. */
export interface IngestStatements {
  /** Create what the other statements use. */
  readonly prepare: readonly Statement[]
  /**
   * Creates a table with the rows in the order of the source: for each declared column the value to keep, and the codes of
   * the rules that the source's values break. It is the table that queries read if the declaration leaves out no row and
   * no column, and the temporary table `staged` otherwise.
   */
  readonly stage: Statement
  /** Selects one row of texts: the number of staged rows, and that of rows with a misfit. */
  readonly rows: string
  /**
   * Selects one row of texts: the number of rows to leave out, for each column and each kind of misfit its number, and for each
   * column the number of clamped values. They are those of the other rows unless the column causes rows to be left out.
   */
  readonly inspect: string
  /** Selects the numbers of the rows with the first misfits of a kind in a column, as texts, counted from 1. */
  readonly places: (position: number, kind: MisfitKind) => string
  /**
   * Selects the same for joined rows, from a relation of the source's columns that has the rows of one of the tables, counted
   * from 0, as `sotto_row`. NULL is no row.
   */
  readonly joinedPlaces: (position: number, kind: MisfitKind, relation: string) => string
  /** Selects a row if an identifier that must not repeat does. */
  readonly repetitions: readonly { readonly position: number; readonly statement: string }[]
  /** Creates the temporary table `people`: each identifier with the number of its person. Absent if rows are people. */
  readonly people: string | undefined
  /** Create the table that queries read, or complete it. */
  readonly store: readonly string[]
  /** Select a row if the stored values of a column exceed a declared limit. */
  readonly limits: readonly StoredLimit[]
}

/** A declared limit on the stored values of a column. */
export interface StoredLimit extends DeclaredLimit {
  readonly statement: string
}

/** A column of a relation. */
export interface RelationColumn {
  readonly name: string
  /** DuckDB's name of its type. */
  readonly type: string
  /** Decimal separator of numbers in texts; a dot if absent. */
  readonly decimal?: '.' | ','
}

/** DuckDB's functions for the order of a person's rows. */
export const duckDbDigest: DigestDialect = { md5Order: (text) => [`md5(${text})`] }

/** A declared column of the staged rows. */
interface StagedColumn {
  readonly column: Column
  /** Name of the value to keep. */
  readonly kept: string
  /** The code of the broken rule. */
  readonly misfit: string
}

/** A declared column with the SQL of its values. */
interface EncodedColumn extends StagedColumn {
  readonly encoding: Encoding
}

/**
 * Prints the statements that ingest columns.
 *
 * @param source a relation to select from, such as `read_csv(...)`
 * @param sourceColumns the relation's column for each declared column
 * @param table the table that queries read
 */
export function printIngest(
  columns: readonly Column[],
  unit: KeyedPrivacyUnit,
  source: Statement,
  sourceColumns: readonly RelationColumn[],
  table: string,
): IngestStatements {
  const keepsAll = keepsAllValues(columns, unit)
  const encoded = columns.map((column, position): EncodedColumn => {
    const { name: _, ...facts } = at(sourceColumns, position)
    const source = { position, name: `source${position}`, ...facts }
    const encoding = encodeValue(widenedByOneStep(column), source)
    const kept = keepsAll ? quoteIdentifier(column.name) : `kept${position}`
    return { column, encoding, kept, misfit: misfitIn(position) }
  })
  const staged = keepsAll ? quoteIdentifier(table) : 'staged'
  const definition = `${keepsAll ? '' : 'TEMPORARY '}TABLE ${staged}`
  return {
    prepare: encoded.flatMap(({ encoding: { preparation } }) => preparation ?? []),
    stage: printStage(encoded, source, sourceColumns, definition),
    rows: printRowCounts(encoded, staged),
    inspect: printInspect(encoded, staged),
    places: (position, kind) => printPlaces(encoded, at(encoded, position), kind, staged),
    joinedPlaces: (position, kind, relation) =>
      printJoinedPlaces(
        encoded,
        position,
        kind,
        printChecked(encoded, relation, sourceColumns, ['sotto_row']),
      ),
    ...printStore(encoded, unit, table),
    ...(keepsAll ? { store: printDropMisfits(encoded, staged) } : {}),
  }
}

/**
 * Returns true if the stored rows are those of the source, with the same columns, so that they need no second table.
 * Identifiers and rows that are left out must not be written to the file that queries read.
 */
function keepsAllValues(columns: readonly Column[], unit: KeyedPrivacyUnit): boolean {
  return (
    unit.kind === 'row' &&
    columns.length > 0 &&
    columns.every(({ type, invalidValue }) => type !== 'identifier' && invalidValue.kind !== 'drop-row')
  )
}

/**
 * Prints the statements that store rows whose values are in stored form already, and of which none is left out.
 * @param table the table that queries read
 */
export function printIngestStored(
  columns: readonly Column[],
  unit: KeyedPrivacyUnit,
  table: string,
): { readonly stage: string } & StoreStatements {
  const staged = columns.map((column, position): StagedColumn => {
    const invalidValue = column.type === 'identifier' ? { kind: 'refuse' as const } : column.invalidValue
    return { column: { ...column, invalidValue }, kept: `kept${position}`, misfit: '0' }
  })
  const definitions = staged.map(({ column, kept }) => `${kept} ${storedType(column)}`)
  return {
    stage: `CREATE TEMPORARY TABLE staged (${list(definitions)})`,
    ...printStore(staged, unit, table),
  }
}

/** The statements after the rows have been staged. */
export type StoreStatements = Pick<IngestStatements, 'repetitions' | 'people' | 'store' | 'limits'>

function printStore(staged: readonly StagedColumn[], unit: KeyedPrivacyUnit, table: string): StoreStatements {
  return {
    repetitions: unit.kind === 'row' ? printRepetitions(staged) : [],
    people: unit.kind === 'row' ? undefined : printPeople(staged, unit),
    store: unit.kind === 'row' ? [printRows(staged, table)] : printRowsOfPeople(staged, unit, table),
    limits: staged.flatMap(({ column }, position) => printLimits(column, position, table)),
  }
}

/** The longest text is found first, so that texts of any length are not counted. */
function printLimits(column: Column, position: number, table: string): readonly StoredLimit[] {
  const name = quoteIdentifier(column.name)
  const beyond = (field: StoredLimit['field'], measured: string, most: number): StoredLimit => {
    const statement = `SELECT true FROM (SELECT ${measured} AS measured FROM ${quoteIdentifier(table)}) AS measures WHERE measured > ${most}`
    return { position, field, statement }
  }
  const distinct = `count(DISTINCT ${name})`
  switch (column.type) {
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp': {
      const { rankable } = column
      return rankable === undefined || gridPoints(column) <= BigInt(rankable.maxValues)
        ? []
        : [beyond('rankable.maxValues', distinct, rankable.maxValues)]
    }
    case 'string': {
      const { selectable } = column
      if (selectable === undefined) return []
      return [
        beyond('selectable.maxLength', `max(length(${name}))`, selectable.maxLength),
        beyond('selectable.maxValues', distinct, selectable.maxValues),
      ]
    }
    case 'boolean':
    case 'category':
    case 'identifier':
      return []
  }
}

function printStage(
  encoded: readonly EncodedColumn[],
  source: Statement,
  sourceColumns: readonly RelationColumn[],
  definition: string,
): Statement {
  // Names are qualified, because a declared name may be any of them.
  const kept = encoded.map(({ column, kept }, i) =>
    column.invalidValue.kind === 'replace'
      ? `CASE WHEN checked.misfit${i} IN (1, 2) THEN CAST($replacement${i} AS ${storedType(column)}) ELSE ${printClamped(column, i)} END AS ${kept}`
      : `${printClamped(column, i)} AS ${kept}`,
  )
  const misfits = misfitColumns(encoded).map((name, place) => `${printMisfits(encoded, place)} AS ${name}`)
  return {
    sql: `CREATE ${definition} AS
  ${printChecked(encoded, source.sql, sourceColumns)}
  SELECT ${list([...kept, ...misfits])} FROM checked`,
    parameters: { ...source.parameters, ...replacements(encoded) },
  }
}

/** The rows of a relation beside `source<i>`, `stored<i>` and `misfit<i>` of each column, as the table `checked`. */
function printChecked(
  encoded: readonly EncodedColumn[],
  relation: string,
  sourceColumns: readonly RelationColumn[],
  beside: readonly string[] = [],
): string {
  const sourceValues = sourceColumns.map(({ name }, i) => `${quoteIdentifier(name)} AS source${i}`)
  const codes = encoded.map(({ column }, i) => `${printMisfit(column, i)} AS misfit${i}`)
  const values = printEncoded(
    encoded.map(({ encoding }) => encoding),
    `(SELECT ${list([...sourceValues, ...beside])} FROM ${relation})`,
  )
  return `WITH encoded AS (${values}),
  checked AS (SELECT ${list(['*', ...codes])} FROM encoded)`
}

/** The stored value within the bounds of its column. */
function printClamped(column: Column, i: number): string {
  const stored = `checked.stored${i}`
  if (column.type === 'identifier' || !isGrid(column)) return stored
  return within(stored, column.lowerIndex, column.upperIndex)
}

/** An invalid value that is not replaced is kept as NULL. */
function printMisfit(column: Column, i: number): string {
  const { type, nullable } = column
  const { missing, unfit } = MISFIT_CODES
  // An identifier without a character other than white space is missing.
  if (type === 'identifier') return `CAST(CASE WHEN stored${i} IS NULL THEN ${missing} ELSE 0 END AS BIGINT)`
  const clamped = isGrid(column)
    ? ` WHEN stored${i} < ${column.lowerIndex} OR stored${i} > ${column.upperIndex} THEN ${MISFIT_CODES.clamped}`
    : ''
  return `CAST(CASE WHEN source${i} IS NULL THEN ${nullable ? 0 : missing} WHEN stored${i} IS NULL THEN ${unfit}${clamped} ELSE 0 END AS BIGINT)`
}

/**
 * Number of columns whose codes share a 64-bit integer, two bits each. Few columns are written and dropped that way, and
 * where one is 0 in all rows, as is usual, DuckDB stores and compares a single value for each row group.
 */
const CODES_PER_INTEGER = 31
const BITS_PER_CODE = 2

/** Names of the columns that hold the codes of misfits. Declared names do not begin with `sotto_`. */
function misfitColumns(encoded: readonly EncodedColumn[]): readonly string[] {
  return Array.from({ length: Math.ceil(encoded.length / CODES_PER_INTEGER) }, (_, i) => `sotto_misfits${i}`)
}

/** The codes of the columns that share an integer, from the table `checked`. */
function printMisfits(encoded: readonly EncodedColumn[], place: number): string {
  const first = place * CODES_PER_INTEGER
  return encoded
    .slice(first, first + CODES_PER_INTEGER)
    .map((_, i) => `checked.misfit${first + i} * ${2n ** BigInt(BITS_PER_CODE * i)}`)
    .join(' + ')
}

/** The code of the column at a position, from the integer that it shares. */
function misfitIn(position: number): string {
  const shift = BITS_PER_CODE * (position % CODES_PER_INTEGER)
  const mask = 2 ** BITS_PER_CODE - 1
  return `((sotto_misfits${Math.floor(position / CODES_PER_INTEGER)} >> ${shift}) & ${mask})`
}

function printDropMisfits(encoded: readonly EncodedColumn[], staged: string): readonly string[] {
  return misfitColumns(encoded).map((name) => `ALTER TABLE ${staged} DROP COLUMN ${name}`)
}

/** DuckDB answers each count from the statistics of the row groups without a misfit. */
function printRowCounts(encoded: readonly EncodedColumn[], staged: string): string {
  const misfits = misfitColumns(encoded).map((name) => `(SELECT count(*) FROM ${staged} WHERE ${name} <> 0)`)
  return `SELECT (SELECT count(*) FROM ${staged})::VARCHAR, (${['0', ...misfits].join(' + ')})::VARCHAR`
}

function replacements(encoded: readonly EncodedColumn[]): Readonly<Record<string, Parameter>> {
  return Object.fromEntries(
    encoded.flatMap(({ column }, i) =>
      column.invalidValue.kind === 'replace'
        ? [[`replacement${i}`, { value: column.invalidValue.value, type: storedType(column) }]]
        : [],
    ),
  )
}

function printInspect(encoded: readonly EncodedColumn[], staged: string): string {
  const misfits = encoded.flatMap((column) =>
    MISFIT_KINDS.map((kind) => printHasMisfit(encoded, column, kind)),
  )
  const clamped = encoded.map((column) => printHasMisfit(encoded, column, 'clamped'))
  const counts = [`NOT (${printStays(encoded)})`, ...misfits, ...clamped].map(
    (condition) => `count(*) FILTER (WHERE ${condition})`,
  )
  return `SELECT ${list(counts.map((count) => `${count}::VARCHAR`))} FROM ${staged}`
}

/** A condition for the rows with a misfit that matters. Other values of a row that is left out do not. */
function printHasMisfit(
  encoded: readonly EncodedColumn[],
  { column, misfit }: EncodedColumn,
  kind: keyof typeof MISFIT_CODES,
): string {
  const isOfKind = `${misfit} = ${MISFIT_CODES[kind]}`
  return column.invalidValue.kind === 'drop-row' ? isOfKind : `${isOfKind} AND ${printStays(encoded)}`
}

/** DuckDB numbers the rows of a table from 0 in the order in which they were inserted. */
function printPlaces(
  encoded: readonly EncodedColumn[],
  column: EncodedColumn,
  kind: MisfitKind,
  staged: string,
): string {
  const condition = printHasMisfit(encoded, column, kind)
  return `SELECT (rowid + 1)::VARCHAR FROM ${staged} WHERE ${condition} ORDER BY rowid LIMIT ${PLACES_TOLD}`
}

/** The codes are computed again, only for sources with misfits: carrying the rows of all tables would cost every source. */
function printJoinedPlaces(
  encoded: readonly EncodedColumn[],
  position: number,
  kind: MisfitKind,
  checked: string,
): string {
  const codes = encoded.map((column, i) => ({ ...column, misfit: `misfit${i}` }))
  const condition = printHasMisfit(codes, at(codes, position), kind)
  return `${checked}
  SELECT (sotto_row + 1)::VARCHAR FROM checked WHERE ${condition} AND sotto_row IS NOT NULL
  GROUP BY sotto_row ORDER BY sotto_row LIMIT ${PLACES_TOLD}`
}

/** A condition for the rows that no rule leaves out. */
function printStays(encoded: readonly StagedColumn[]): string {
  const conditions = encoded.flatMap(({ column, misfit }) =>
    column.invalidValue.kind === 'drop-row' ? [`${misfit} = 0`] : [],
  )
  return conditions.length === 0 ? 'true' : conditions.join(' AND ')
}

function printRepetitions(encoded: readonly StagedColumn[]): IngestStatements['repetitions'] {
  const stays = printStays(encoded)
  return encoded.flatMap(({ column, kept }, position) => {
    if (column.type !== 'identifier') return []
    const statement = `SELECT true FROM staged WHERE ${stays} GROUP BY ${kept} HAVING count(*) > 1 LIMIT 1`
    return [{ position, statement }]
  })
}

/** Columns that queries can use; identifiers are not stored. */
function storedColumns(encoded: readonly StagedColumn[]): readonly StagedColumn[] {
  return encoded.filter(({ column }) => column.type !== 'identifier')
}

function printRows(encoded: readonly StagedColumn[], table: string): string {
  const values = storedColumns(encoded).map(
    ({ column, kept }) => `staged.${kept} AS ${quoteIdentifier(column.name)}`,
  )
  // A table needs a column, even if all that is declared are identifiers.
  const stored = values.length === 0 ? 'true AS sotto_row' : list(values)
  return `CREATE TABLE ${quoteIdentifier(table)} AS SELECT ${stored} FROM staged WHERE ${printStays(encoded)}`
}

type PersonUnit = Extract<KeyedPrivacyUnit, { kind: 'person' }>

/** The kept value of the column that identifies people. */
function identifierOf(encoded: readonly StagedColumn[], { column: name }: PersonUnit): string {
  return must(
    encoded.find(({ column }) => column.type === 'identifier' && column.name === name),
    'the column that identifies people',
  ).kept
}

/** Numbers people in the order of a keyed digest, which says nothing about their order in the source. */
function printPeople(encoded: readonly StagedColumn[], unit: PersonUnit): string {
  const order = printPersonOrder(duckDbDigest, `'${requireKey(unit.key)}'`, 'identifier').join(', ')
  return `CREATE TEMPORARY TABLE people AS
  SELECT identifier, row_number() OVER (ORDER BY ${order}) - 1 AS person
  FROM (SELECT DISTINCT ${identifierOf(encoded, unit)} AS identifier FROM staged WHERE ${printStays(encoded)})`
}

/**
 * Stores at most `maxRows` rows of each person, those that come first in the order of the keyed digest, with their
 * ranks, and beside them the rows after these, up to one more than `plausibleRows`. Columns that are constant per person
 * get the value of the first row.
 */
function printRowsOfPeople(
  encoded: readonly StagedColumn[],
  unit: PersonUnit,
  table: string,
): readonly string[] {
  const { maxRows } = unit
  const person = identifierOf(encoded, unit)
  const kept = printRankedRows(encoded, unit, table, `${RANK_COLUMN} <= ${maxRows}`)
  const ofExceeding = `SELECT ${person} FROM staged WHERE ${printStays(encoded)} GROUP BY ${person} HAVING count(*) > ${maxRows}`
  const beyond = `${RANK_COLUMN} BETWEEN ${maxRows + 1} AND ${plausibleRowsOf(unit) + 1}`
  return [kept, printRankedRows(encoded, unit, ROWS_BEYOND_TABLE, beyond, `${person} IN (${ofExceeding})`)]
}

/**
 * Prints a table of rows with their people and ranks.
 * @param ranks a condition on the rank
 * @param people a condition on the staged rows that holds for all rows of a person or for none
 */
function printRankedRows(
  encoded: readonly StagedColumn[],
  unit: PersonUnit,
  table: string,
  ranks: string,
  people = 'true',
): string {
  const stored = storedColumns(encoded)
  const digested = stored.map(({ column, kept }) => ({ type: DIGESTED_TYPES[column.type], sql: kept }))
  const order = printRowOrder(duckDbDigest, `'${requireKey(unit.key)}'`, 'identifier', digested)
  const digests = order.map((sql, i) => ({ name: `digest${i}`, sql }))
  // Names are qualified, because a declared name may be any of them.
  const values = stored.map(({ column, kept }) => {
    const value = isConstantPerPerson(column) ? `first_value(digested.${kept}) OVER own` : `digested.${kept}`
    return `${value} AS ${quoteIdentifier(column.name)}`
  })
  return `CREATE TABLE ${quoteIdentifier(table)} AS
  WITH digested AS (
    SELECT ${list([...stored.map(({ kept }) => kept), 'person', ...digests.map(({ name, sql }) => `${sql} AS ${name}`)])}
    FROM staged JOIN people ON ${identifierOf(encoded, unit)} = identifier
    WHERE ${printStays(encoded)} AND ${people}
  ), ranked AS (
    SELECT ${list([
      ...values,
      `CAST(digested.person AS INTEGER) AS ${PERSON_COLUMN}`,
      `row_number() OVER own AS ${RANK_COLUMN}`,
    ])}
    FROM digested
    WINDOW own AS (PARTITION BY digested.person ORDER BY ${digests.map(({ name }) => `digested.${name}`).join(', ')})
  )
  SELECT * REPLACE (CAST(${RANK_COLUMN} AS INTEGER) AS ${RANK_COLUMN}) FROM ranked WHERE ${ranks}`
}

function list(expressions: readonly string[]): string {
  return expressions.join(',\n    ')
}

function at<Item>(items: readonly Item[], position: number): Item {
  return must(items[position], 'the counterpart of a column in the source')
}
