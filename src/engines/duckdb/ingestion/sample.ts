import { rm } from 'node:fs/promises'
import { type DuckDBConnection, VARCHAR } from '@duckdb/node-api'
import { defined } from '../../../privacy/defined.ts'
import { must } from '../../../privacy/must.ts'
import { quoteIdentifier } from '../../dialect.ts'
import { isMemoryError, quoteLiteral, withSmallInstance } from '../instance.ts'
import { runControlled } from './progress.ts'

/** The first rows of a file, described. Everything here depends on data that is not protected by noise. */
export interface Sample {
  /** The form of a CSV file. */
  readonly csv?: SniffedCsv
  readonly rows: number
  readonly columns: readonly SampledColumn[]
}

/** The form of a CSV file as DuckDB's sniffer reports it. */
export interface SniffedCsv {
  readonly delimiter: string
  /** Absent if no field is quoted. */
  readonly quote?: string
  readonly header: boolean
  /** Lines above the table that do not belong to it. */
  readonly skippedLines: number
  /** DuckDB's formats of dates, and of dates with a time of day, where they differ from ISO 8601. */
  readonly dateFormat?: string
  readonly timestampFormat?: string
  /** Texts that seem to stand for missing values. They are missing in the facts about the columns. */
  readonly nullValues: readonly string[]
}

/** A column of the file. */
export interface SampledColumn {
  readonly name: string
  /** DuckDB's name of the type. */
  readonly type: string
  /** Facts about its values in the sample. Absent if its values were not read. */
  readonly facts?: SampledFacts
}

/** Facts about the values of a column in the sample. */
export interface SampledFacts {
  readonly nulls: number
  readonly distinct: number
  /** Number of characters of the longest value. */
  readonly longest: number
  /** True if all values are numbers with a decimal comma. */
  readonly decimalComma: boolean
  readonly least?: string
  readonly largest?: string
  /** All distinct values, if there are few. */
  readonly values?: readonly string[]
}

/** A file to describe. */
export interface SampledFile {
  /** An absolute path. CSV must be UTF-8. */
  readonly path: string
  /** The same text with single spaces between fields, for a file whose fields are separated by several. */
  readonly spacedPath?: string
  readonly format: 'csv' | 'parquet'
  /** Chooses the columns whose values are read, by their places. */
  readonly choose: (columns: readonly NamedColumn[]) => readonly number[]
  /** A folder that only this call uses. */
  readonly temporaryDirectory: string
  readonly signal: AbortSignal
}

/** The file is not in its format. */
export class UnreadableSample extends Error {}

/** The file has too many columns to describe. */
export class WideSample extends Error {}

/** Number of rows that are described. */
const SAMPLE_ROWS = 20_000

/** Number of distinct values up to which all are listed. */
const FEW_VALUES = 50

/**
 * Describes the first rows of a file in a locked instance that can reach no other file.
 * @throws UnreadableSample if the file cannot be read; WideSample if it needs too much memory; the signal's reason once
 * it has aborted.
 */
export async function describeSample(file: SampledFile): Promise<Sample> {
  const { temporaryDirectory, signal } = file
  const readable = [file.path, ...(file.spacedPath === undefined ? [] : [file.spacedPath])]
  try {
    return await withSmallInstance(temporaryDirectory, readable, (connection) =>
      runControlled(connection, { signal }, () => describe(connection, file)),
    )
  } catch (error) {
    signal.throwIfAborted()
    if (isMemoryError(error)) throw new WideSample('the file needs too much memory')
    // DuckDB's messages may quote data.
    throw error instanceof UnreadableSample ? error : new UnreadableSample('the file cannot be read')
  } finally {
    await rm(temporaryDirectory, { recursive: true, force: true })
  }
}

async function describe(connection: DuckDBConnection, file: SampledFile): Promise<Sample> {
  const { columns, chosen, csv } =
    file.format === 'csv' ? await readCsv(connection, file) : await readParquet(connection, file)
  const [counted] = await rowsOf(connection, 'SELECT count(*)::VARCHAR FROM sample')
  const described: SampledColumn[] = [...columns]
  for (const index of chosen) {
    const column = columns[index]
    if (column !== undefined)
      described[index] = { ...column, facts: await factsOf(connection, `field${index}`) }
  }
  return defined({ rows: Number(must(counted, 'the number of rows')[0]), columns: described, csv })
}

/** A column by its name and DuckDB's name of its type. */
export type NamedColumn = Pick<SampledColumn, 'name' | 'type'>

/** Reads the first rows of a Parquet file into the table `sample`, as texts with generated names. */
async function readParquet(connection: DuckDBConnection, { path, choose }: SampledFile) {
  const relation = 'read_parquet($path, hive_partitioning = false, union_by_name = false)'
  const described = await rowsOf(connection, `DESCRIBE SELECT * FROM ${relation}`, { path })
  const columns: NamedColumn[] = described.map(([name, type]) => ({ name: String(name), type: String(type) }))
  const chosen = choose(columns)
  const texts = chosen.map((index) => {
    const name = quoteIdentifier(must(columns[index], 'a chosen column').name)
    return `left(CAST(${name} AS VARCHAR), ${LONGEST_READ}) AS field${index}`
  })
  const sql = `CREATE TABLE sample AS SELECT ${listOrTrue(texts)} FROM ${relation} LIMIT ${SAMPLE_ROWS}`
  await rowsOf(connection, sql, { path })
  return { columns, chosen, csv: undefined }
}

/** A list to select. A table needs a column, even if none was chosen. */
function listOrTrue(expressions: readonly string[]): string {
  return expressions.length === 0 ? 'true' : expressions.join(', ')
}

/** Number of characters that are read of each value. */
const LONGEST_READ = 1_000

/**
 * Reads the first rows of a CSV file into the table `sample`, as texts with generated names. If there are texts that seem
 * to stand for missing values, the form of the file and its rows are read once more without them.
 */
async function readCsv(connection: DuckDBConnection, file: SampledFile) {
  const found = await sniff(connection, file)
  const chosen = await sampleCsv(connection, file, found)
  const nullValues = await nullValuesIn(connection, chosen)
  if (nullValues.length === 0) return { ...found, chosen }
  const { path, csv } = found
  const again = await sniffWith(connection, path, { delimiter: csv.delimiter, nullValues })
  await connection.run('DROP TABLE sample')
  return { ...again, chosen: await sampleCsv(connection, file, again) }
}

/** Reads the first rows of the chosen columns. Returns their places. */
async function sampleCsv(
  connection: DuckDBConnection,
  file: SampledFile,
  { columns, csv, path }: SniffedFile,
): Promise<readonly number[]> {
  const chosen = file.choose(columns)
  const options = [
    'auto_detect = false',
    `columns = {${columns.map((_, index) => `'field${index}': 'VARCHAR'`).join(', ')}}`,
    `header = ${csv.header}`,
    `skip = ${csv.skippedLines}`,
    'delim = $delimiter',
    'quote = $quote',
    'escape = $quote',
    "comment = ''",
    'ignore_errors = true',
    ...nullOptions(csv.nullValues),
  ]
  const fields = chosen.map((index) => `field${index}`)
  const sql = `CREATE TABLE sample AS SELECT ${listOrTrue(fields)} FROM read_csv($path, ${options.join(', ')}) LIMIT ${SAMPLE_ROWS}`
  await rowsOf(connection, sql, { path, delimiter: csv.delimiter, quote: csv.quote ?? '' })
  return chosen
}

/** As ingestion does, reads declared null values without quotes as NULL. */
function nullOptions(nullValues: readonly string[]): readonly string[] {
  if (nullValues.length === 0) return []
  return [`nullstr = [${['', ...nullValues].map(quoteLiteral).join(', ')}]`, 'allow_quoted_nulls = false']
}

/** Texts that hardly stand for anything but a missing value. */
const NULL_VALUES: readonly string[] = ['NA', 'N/A', 'n/a', '#N/A', 'NULL', 'null', '\\N', '(null)']
/** Texts that stand for a missing value where all others of a column are numbers, or dates. */
const NULL_VALUES_AMONG_MEASURED: readonly string[] = [
  ...['-', '--', '.', '?', 'na', 'nil', 'none', 'None', 'missing', 'unknown'],
]

const NUMBER = '[+-]?\\d*[.,]?\\d+([eE][+-]?\\d+)?'
const DATE = '\\d{1,4}[-./]\\d{1,2}[-./]\\d{1,4}([ T].*)?'

/** Returns the texts in the table `sample` that seem to stand for missing values. */
async function nullValuesIn(
  connection: DuckDBConnection,
  chosen: readonly number[],
): Promise<readonly string[]> {
  const listed = (texts: readonly string[]) => `(${texts.map(quoteLiteral).join(', ')})`
  const known = [...NULL_VALUES, ...NULL_VALUES_AMONG_MEASURED]
  const found = new Set<unknown>()
  for (const index of chosen) {
    const field = `field${index}`
    const isOther = `${field} NOT IN ${listed(known)}`
    const isMeasured = `regexp_full_match(trim(${field}), '${NUMBER}|${DATE}')`
    const sql = `WITH others AS (SELECT coalesce(bool_and(${isMeasured}), false) AS measured FROM sample WHERE ${isOther})
      SELECT DISTINCT ${field} FROM sample, others WHERE ${field} IN ${listed(NULL_VALUES)}
        OR (measured AND ${field} IN ${listed(NULL_VALUES_AMONG_MEASURED)})`
    for (const [value] of await rowsOf(connection, sql)) found.add(value)
  }
  return known.filter((text) => found.has(text))
}

interface SniffedFile {
  readonly columns: readonly NamedColumn[]
  readonly csv: SniffedCsv
  /** The file in which this form was found. */
  readonly path: string
}

async function sniff(
  connection: DuckDBConnection,
  { path, spacedPath = path }: SampledFile,
): Promise<SniffedFile> {
  const found = await sniffWith(connection, path)
  if (found.columns.length > 1) return found
  // The sniffer does not try spaces on its own.
  const spaced = await sniffWith(connection, spacedPath, { delimiter: ' ' }).catch(() => undefined)
  return spaced !== undefined && spaced.columns.length > 1 ? spaced : found
}

async function sniffWith(
  connection: DuckDBConnection,
  path: string,
  { delimiter, nullValues = [] }: { delimiter?: string; nullValues?: readonly string[] } = {},
): Promise<SniffedFile> {
  const options = [...(delimiter === undefined ? [] : ['delim = $delimiter']), ...nullOptions(nullValues)]
  const sql = `SELECT Delimiter, Quote, HasHeader, SkipRows, DateFormat, TimestampFormat,
      [[unnested.name, unnested.type] FOR unnested IN Columns]::JSON::VARCHAR
    FROM sniff_csv($path, comment = '', sample_size = ${SAMPLE_ROWS}${options.map((option) => `, ${option}`).join('')})`
  const parameters = defined({ path, delimiter })
  const [row = []] = await rowsOf(connection, sql, parameters)
  const [found, quote, header, skipped, date, timestamp, described] = row.map((value) =>
    value === null || value === '(empty)' ? undefined : String(value),
  )
  if (found === undefined || described === undefined) throw new UnreadableSample('the file is not CSV')
  const csv: SniffedCsv = defined({
    delimiter: found,
    quote,
    header: header === 'true',
    skippedLines: Number(skipped),
    dateFormat: date,
    timestampFormat: timestamp,
    nullValues,
  })
  const named: readonly [string, string][] = JSON.parse(described)
  // Without a header, the names are those that ingestion gives.
  const columns = named.map(([name, type], index) => ({
    name: csv.header ? name : `column${index + 1}`,
    type,
  }))
  return { columns, csv, path }
}

/** Returns facts about a column of the table `sample`, which holds texts. */
async function factsOf(connection: DuckDBConnection, field: string): Promise<SampledFacts> {
  const number = `try_cast(${field} AS DOUBLE)`
  const isNumeric = `count(${number}) = count(${field})`
  const sql = `SELECT count(*) FILTER (${field} IS NULL), count(DISTINCT ${field}), max(length(${field})),
      coalesce(bool_and(regexp_matches(${field}, '^[+-]?\\d+(,\\d+)?$')) AND bool_or(contains(${field}, ',')), false),
      CASE WHEN ${isNumeric} THEN arg_min(${field}, ${number}) ELSE min(${field}) END,
      CASE WHEN ${isNumeric} THEN arg_max(${field}, ${number}) ELSE max(${field}) END
    FROM sample`
  const [row] = await rowsOf(connection, sql)
  const [nulls, distinct, longest, decimalComma, least, largest] = must(row, 'the facts of a column')
  const few = Number(distinct) <= FEW_VALUES
  const values = few
    ? await rowsOf(connection, `SELECT DISTINCT ${field} FROM sample WHERE ${field} IS NOT NULL ORDER BY 1`)
    : []
  const text = (value: unknown) => (value === null ? undefined : String(value))
  return defined({
    nulls: Number(nulls),
    distinct: Number(distinct),
    longest: Number(longest ?? 0),
    decimalComma: decimalComma === true,
    least: text(least),
    largest: text(largest),
    values: few ? values.map(([value]) => String(value)) : undefined,
  })
}

async function rowsOf(
  connection: DuckDBConnection,
  sql: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<readonly (readonly unknown[])[]> {
  const types = Object.fromEntries(Object.keys(parameters).map((name) => [name, VARCHAR]))
  return (await connection.runAndReadAll(sql, { ...parameters }, types)).getRows()
}
