import type { Column } from '../../catalog/dataset.ts'
import { quoteIdentifier } from '../dialect.ts'
import { encodeBoolean } from './encodings/boolean.ts'
import { encodeCategory } from './encodings/category.ts'
import type { Encoding, Parameter, SourceColumn, Statement } from './encodings/encoding.ts'
import { encodeNumber } from './encodings/numeric.ts'
import { encodeDate, encodeTimestamp } from './encodings/temporal.ts'
import { encodeText } from './encodings/text.ts'

/** The statements that turn a source's values into stored values. No value of a source makes one of them fail. */
export interface IngestStatements {
  /** Create what the other statements use. */
  readonly prepare: readonly Statement[]
  /** Creates the temporary table `staged`: the values to store, and for each value whether it is invalid. */
  readonly stage: Statement
  /** Selects one row: the number of rows, then for each column whether it has a value for which the source is refused. */
  readonly inspect: Statement
  /** Creates the table that queries read. */
  readonly store: Statement
}

/** A column of a relation. */
export interface RelationColumn {
  readonly name: string
  /** DuckDB's name of its type. */
  readonly type: string
}

/**
 * Prints the statements that ingest columns.
 *
 * @param source a relation to select from, such as `read_csv(...)`
 * @param sourceColumns the relation's column for each declared column
 */
export function printIngest(
  columns: readonly Column[],
  source: Statement,
  sourceColumns: readonly RelationColumn[],
  table: string,
): IngestStatements {
  const sources = sourceColumns.map(({ type }, position) => ({ position, name: `source${position}`, type }))
  const encodings = columns.map((column, i) => encode(column, at(sources, i)))

  const rawValues = sources.map(({ name }, i) => `${quoteIdentifier(at(sourceColumns, i).name)} AS ${name}`)
  const invalid = columns.map(
    ({ nullable }, i) =>
      `source${i} IS ${nullable ? 'NOT NULL AND' : 'NULL OR'} stored${i} IS NULL AS invalid${i}`,
  )
  const stage = `CREATE TEMPORARY TABLE staged AS
  WITH encoded AS (${printEncoded(encodings, `(SELECT ${list(rawValues)} FROM ${source.sql})`)})
  SELECT ${list([...columns.map((_, i) => `stored${i}`), ...invalid])}
  FROM encoded`

  const refused = columns.map(({ invalidValue }, i) =>
    invalidValue.kind === 'refuse' ? `coalesce(bool_or(invalid${i}), false)` : 'false',
  )
  const kept = columns.map((column, i) => {
    const value = column.invalidValue.kind === 'replace' ? printReplaced(i, at(encodings, i)) : `stored${i}`
    return `${value} AS ${quoteIdentifier(column.name)}`
  })
  return {
    prepare: encodings.flatMap(({ preparation }) => (preparation === undefined ? [] : [preparation])),
    stage: {
      sql: stage,
      parameters: source.parameters,
    },
    inspect: { sql: `SELECT ${list(['count(*)::VARCHAR', ...refused])} FROM staged`, parameters: {} },
    store: {
      sql: `CREATE TABLE ${quoteIdentifier(table)} AS SELECT ${list(kept)} FROM staged`,
      parameters: replacements(columns, encodings),
    },
  }
}

/**
 * Prints a query for the stored values of columns: `stored<i>` for the encoding at position i, beside all other names.
 * @param source a relation with the names of the sources of these encodings
 */
export function printEncoded(encodings: readonly Encoding[], source: string): string {
  const depth = Math.max(0, ...encodings.map(({ layers }) => layers.length))
  const layers = Array.from({ length: depth }, (_, level) =>
    encodings.flatMap((encoding) =>
      Object.entries(encoding.layers[level] ?? {}).map(([name, sql]) => `${sql} AS ${name}`),
    ),
  )
  const layer = (level: number) => (level === 0 ? source : `layer${level}`)
  const named = layers.map(
    (expressions, level) =>
      `layer${level + 1} AS (SELECT ${list(['*', ...expressions])} FROM ${layer(level)})`,
  )
  const stored = encodings.map((encoding, i) => `${encoding.stored} AS stored${i}`)
  const ctes = named.length === 0 ? '' : `WITH ${named.join(',\n  ')} `
  return `${ctes}SELECT ${list(['*', ...stored])} FROM ${layer(depth)}`
}

/** Prints how a source's values are stored in a column. */
function encode(column: Column, source: SourceColumn): Encoding {
  switch (column.type) {
    case 'integer':
    case 'number':
      return encodeNumber(column, source)
    case 'date':
      return encodeDate(column, source)
    case 'timestamp':
      return encodeTimestamp(column, source)
    case 'boolean':
      return encodeBoolean(source)
    case 'category':
      return encodeCategory(column, source)
    case 'string':
    case 'identifier':
      return encodeText(source)
  }
}

/** An invalid value that is not replaced stays NULL; a source with a refused one is not stored. */
function printReplaced(i: number, { storedType }: Encoding): string {
  return `CASE WHEN invalid${i} THEN CAST($replacement${i} AS ${storedType}) ELSE stored${i} END`
}

function replacements(
  columns: readonly Column[],
  encodings: readonly Encoding[],
): Readonly<Record<string, Parameter>> {
  return Object.fromEntries(
    columns.flatMap(({ invalidValue }, i) =>
      invalidValue.kind === 'replace'
        ? [[`replacement${i}`, { value: invalidValue.value, type: at(encodings, i).storedType }]]
        : [],
    ),
  )
}

function list(expressions: readonly string[]): string {
  return expressions.join(',\n    ')
}

function at<Item>(items: readonly Item[], position: number): Item {
  const item = items[position]
  if (item === undefined) throw new RangeError('a column has no counterpart in the source')
  return item
}
