import type { z } from 'zod'
import type { dataset as declared } from '../../../schemas/datasets/dataset.ts'
import type { Accounting } from '../../privacy/accounting.ts'
import type { EpsilonNano } from '../../privacy/loss.ts'
import type { Neighbours, PrivacyUnit } from '../../privacy/neighbours.ts'
import { Refusal } from '../../privacy/refusal.ts'
import type { Formula } from '../planner/language/formula.ts'

/** A dataset as its custodian declares it. */
export type Declared = z.output<typeof declared>

/**
 * Rule for values that do not fit their column's declaration (the value does not parse, is an undeclared category, or
 * is NULL in a column that is not nullable): store NULL, store a declared value, leave out the row (identifiers only),
 * or refuse the whole file. Numbers and times outside the bounds are not invalid values; they are clamped.
 */
export type InvalidValueRule =
  | { readonly kind: 'null' }
  | { readonly kind: 'replace'; readonly value: bigint | number | boolean | string }
  | { readonly kind: 'drop-row' }
  | { readonly kind: 'refuse' }

interface ColumnFacts {
  readonly name: string
  /** True if all rows of a person have the same value, which ingestion enforces. */
  readonly constantPerPerson?: boolean
  /** True if NULL may occur in the ingested rows. */
  readonly nullable: boolean
  readonly invalidValue: InvalidValueRule
  /** Present for a derived column, whose values are computed from those of other columns and are never stored. */
  readonly formula?: Formula
  /** Normal form of the expression of a derived column that its custodian has named. */
  readonly expression?: string
}

/**
 * A value on a public grid: value = index * step, in the column's unit. A replacement value is a grid index (bigint).
 */
interface GridFacts extends ColumnFacts {
  /** Step of the grid in 1e-9 of the column's unit; a multiple of 1e9 unless the type is `number`. */
  readonly stepNano: bigint
  /** Bounds as grid indexes, within +-2^53. */
  readonly lowerIndex: bigint
  readonly upperIndex: bigint
  /** Declared limit for quantiles, which ingestion has checked. A small grid needs none. */
  readonly rankable?: Rankable
}

/** Limit on the values of a column on a grid. */
export interface Rankable {
  /** Largest number of distinct values. */
  readonly maxValues: number
}

/** A number. */
export interface NumericColumn extends GridFacts {
  readonly type: 'integer' | 'number'
}

/**
 * Spelling of dates in text sources. A time of day may follow the date in any of them. ISO 8601 has leading zeros; the
 * others may omit them, except for `YYYYMMDD`.
 */
export type DateFormat = Extract<Declared['columns'][number], { dateFormat: unknown }>['dateFormat']

interface TemporalFacts extends GridFacts {
  readonly dateFormat: DateFormat
}

/** A date of the Gregorian calendar. The unit is one day, counted from 1970-01-01. */
export interface DateColumn extends TemporalFacts {
  readonly type: 'date'
}

/** An instant. The unit is one second, counted from 1970-01-01T00:00:00Z. */
export interface TimestampColumn extends TemporalFacts {
  readonly type: 'timestamp'
  /** IANA name of the time zone of source values that state none. */
  readonly timeZone: string
}

export type TemporalColumn = DateColumn | TimestampColumn

/** A column whose values are ordered and lie on a public grid. */
export type GridColumn = NumericColumn | TemporalColumn

/** A replacement value is a boolean. */
export interface BooleanColumn extends ColumnFacts {
  readonly type: 'boolean'
}

/** A value from a declared list. A replacement value is an index into `categories` (number). */
export interface CategoryColumn extends ColumnFacts {
  readonly type: 'category'
  readonly categories: readonly string[]
}

/** Free text. It can be filtered on, but not grouped by. A replacement value is a string. */
export interface StringColumn extends ColumnFacts {
  readonly type: 'string'
  /** Present if queries may release its common values and count its distinct ones. Ingestion has checked the limits. */
  readonly selectable?: Selectable
}

/** Limits on the values of a free-text column. */
export interface Selectable extends Rankable {
  /** Largest number of characters (Unicode code points) of a value. */
  readonly maxLength: number
}

/**
 * Identifies people, or rows. Its values are compared when the source is ingested; no query can use it, and they are
 * never stored, released or logged.
 */
export interface IdentifierColumn extends Omit<ColumnFacts, 'constantPerPerson' | 'formula' | 'expression'> {
  readonly type: 'identifier'
}

/** Column that queries can use. */
export type QueryableColumn = GridColumn | BooleanColumn | CategoryColumn | StringColumn

export type Column = QueryableColumn | IdentifierColumn

/** Source of a dataset's rows. */
export type Source = Declared['source']

/** Several tables as one source. */
export type JoinedSource = Extract<Source, { kind: 'joined' }>

/** Format of a source that is a file, with the declared part of its dialect, which is absent for Parquet. */
export type FileLayout = Pick<Extract<Source, { kind: 'file' }>, 'format' | 'csv'>

/** Format of a file that can be ingested. */
export type FileFormat = FileLayout['format']

/** Declared part of a dialect. */
export type CsvDeclaration = NonNullable<FileLayout['csv']>

/** Dialect of a CSV file: RFC 4180 with declared differences. */
export type CsvDialect = { readonly [Field in keyof CsvDeclaration]-?: NonNullable<CsvDeclaration[Field]> }

/**
 * Returns the dialect of a CSV file: what is declared, and RFC 4180 in UTF-8 for the rest.
 * @param name name of the file, if it is known: `.tsv` files have tabs as delimiters unless declared otherwise
 */
export function csvDialect(declared: CsvDeclaration = {}, name = ''): CsvDialect {
  return {
    delimiter: declared.delimiter ?? (/\.tsv(\.gz)?$/.test(name) ? 'tab' : ','),
    quote: declared.quote ?? '"',
    decimal: declared.decimal ?? '.',
    header: declared.header ?? true,
    encoding: declared.encoding ?? 'utf-8',
    nullValues: declared.nullValues ?? [],
  }
}

/**
 * A table or view of a database that the operator has named. In `live` mode every query reads the table itself; in
 * `snapshot` mode its rows were copied once.
 */
export type TableSource = Extract<Source, { kind: 'table' }>

/** A column of a table in a database, as the database describes it. That of a joined table is named `table.column`. */
export interface TableColumn {
  readonly name: string
  /** The database's complete name of the type, such as `numeric(10,2)`. */
  readonly type: string
  /** True if the database guarantees that the column is never NULL. */
  readonly notNull: boolean
  /** Present if the database guarantees that no value occurs twice. Recorded for keys of joined tables only. */
  readonly unique?: true
}

/** Returns true for a dataset whose queries read tables of a database. It has no ingested rows. */
export function isLive(dataset: Dataset): boolean {
  return isLiveSource(dataset.source)
}

/** Returns the name of the connection whose database computes queries; undefined if the service has ingested the rows. */
export function connectionOf(dataset: Dataset): string | undefined {
  return isLive(dataset) ? databaseOf(dataset.source)?.connection : undefined
}

/** Returns true for tables that queries read in place. */
export function isLiveSource(source: Source): boolean {
  return databaseOf(source)?.mode === 'live'
}

/** Returns the connection and the mode of a table, or of joined tables, which have the same; undefined for other sources. */
export function databaseOf(
  source: Source,
): Pick<TableSource, 'connection' | 'mode' | 'freshness'> | undefined {
  const [first] = source.kind === 'joined' ? Object.values(source.tables) : [source]
  return first?.kind === 'table' ? first : undefined
}

/** A source that the service generates. It describes no real people. */
export type GeneratedSource = Extract<Source, { kind: 'population' | 'visits' }>

/** True for a source that the service generates. Every other source can contain real people. */
export function isGenerated(source: Source): source is GeneratedSource {
  return source.kind === 'population' || source.kind === 'visits'
}

/**
 * Release instants of answers and failures about a dataset: as soon as they are ready (`off`), at the end of a slot, or at
 * a fixed deadline after the request arrived (later ones at a multiple of the deadline).
 */
export type Timing = Declared['timing']

/** Public limits on one query, or one session, of a dataset. An absent limit permits everything. */
export interface QueryLimits {
  readonly minEpsilonNano?: EpsilonNano
  readonly maxEpsilonNano?: EpsilonNano
  /** Least half-width of the noise in a query's numbers, in rows or people, at the default confidence. */
  readonly minHalfWidth?: number
}

/** Public facts of a registered dataset. None depends on data that the neighbours relation protects. */
export interface Dataset {
  readonly id: string
  readonly title: string
  /** Number of this version of the id's rows. It distinguishes equal questions about different rows. */
  readonly version: string
  /**
   * Number of the first version of this registration, if it is another one. All versions from there to the present one had
   * the same privacy unit, neighbours and budget.
   */
  readonly firstVersion?: string
  readonly source: Source
  readonly columns: readonly Column[]
  /** Columns that the custodian derives from them. */
  readonly derived?: readonly QueryableColumn[]
  readonly privacyUnit: PrivacyUnit
  readonly neighbours: Neighbours
  /** Public number of rows under `change-one`, where each row is a privacy unit; otherwise it is private. */
  readonly rows?: number
  /** Public number of people under `change-one`, where people are the privacy units; otherwise it is private. */
  readonly people?: number
  readonly synthetic: boolean
  /** Accounting of its budget. */
  readonly accounting: Accounting
  /** True if a question that one analyst has paid for is answered to others with the stored release. */
  readonly sharing: boolean
  /** Release instants of answers and failures. */
  readonly timing: Timing
  /** Number of failures after a charge at which the dataset is suspended for analysts. */
  readonly failureLimit: number
  readonly queryLimits: QueryLimits
  /** Epsilon that measures what `maxRows` leaves out; 0 if that is not measured. Absent where rows are the privacy units. */
  readonly leftOutNano?: EpsilonNano
  /** What was measured about this version. */
  readonly coverage?: Coverage
}

/** What `maxRows` leaves out of a version, as its custodian has published it. */
export type Coverage = NonNullable<Declared['coverage']>

/** An estimate and the ends of its interval. */
export type Interval = Coverage['people']

/** The parts of a dataset that identify one version of its rows. */
export type DatasetVersion = Pick<Dataset, 'id' | 'version'>

/** Returns a text that identifies one version of a dataset, as the key of a map. */
export function versionKey({ id, version }: DatasetVersion): string {
  return JSON.stringify([id, version])
}

/** Returns the numbers of the earlier versions of a dataset's present registration, the latest first. */
export function earlierVersions({ version, firstVersion = version }: Dataset): readonly string[] {
  const count = Number(version) - Number(firstVersion)
  return Array.from({ length: count }, (_, index) => String(Number(version) - 1 - index))
}

/** True for every column but identifiers. */
export function isQueryable(column: Column): column is QueryableColumn {
  return column.type !== 'identifier'
}

/** Returns true for a column on a grid: numbers, dates and timestamps. */
export function isGrid(column: Column): column is GridColumn {
  return isNumeric(column) || isTemporal(column)
}

/** Returns true for a column of numbers. */
export function isNumeric(column: Column): column is NumericColumn {
  return column.type === 'integer' || column.type === 'number'
}

/** Returns true for a column of dates or timestamps. */
export function isTemporal(column: Column): column is TemporalColumn {
  return column.type === 'date' || column.type === 'timestamp'
}

/**
 * Requires a dataset of made-up people.
 * @throws Refusal `not-synthetic` for any other dataset and every role: its true values and unpaid releases must not
 * be shown.
 */
export function requireSynthetic({ id, synthetic }: Dataset): void {
  if (synthetic) return
  const detail = `The dataset ${id} is not synthetic. Answers about it are only available as paid releases.`
  throw new Refusal('not-synthetic', detail)
}

/** The privacy unit, for people with the secret key that chooses and orders each person's rows. */
export type KeyedPrivacyUnit =
  | Extract<PrivacyUnit, { kind: 'row' }>
  | (Extract<PrivacyUnit, { kind: 'person' }> & { readonly key: string })
