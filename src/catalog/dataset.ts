import type { Accounting } from '../privacy/accounting.ts'
import type { Neighbours, PrivacyUnit } from '../privacy/neighbours.ts'
import { Refusal } from '../privacy/refusal.ts'

/**
 * What ingestion does with a value that does not fit its column's declaration (it does not parse, is an undeclared
 * category, or is NULL where NULL may not occur): store NULL, store a declared value, or refuse the whole file.
 * Numbers outside the bounds are not invalid values: they are clamped.
 */
export type InvalidValueRule =
  | { readonly kind: 'null' }
  | { readonly kind: 'replace'; readonly value: bigint | number | boolean | string }
  | { readonly kind: 'refuse' }

interface ColumnFacts {
  readonly name: string
  /** Whether NULL may occur once the file is ingested. */
  readonly nullable: boolean
  readonly invalidValue: InvalidValueRule
}

/** A number on a public grid: value = index * step. A replacement value is a grid index (bigint). */
export interface NumericColumn extends ColumnFacts {
  readonly type: 'integer' | 'number'
  /** The grid's step in units of 1e-9; a multiple of 1e9 for `integer`. */
  readonly stepNano: bigint
  /** Bounds as grid indexes, within +-2^53. */
  readonly lowerIndex: bigint
  readonly upperIndex: bigint
}

/** A replacement value is a boolean. */
export interface BooleanColumn extends ColumnFacts {
  readonly type: 'boolean'
}

/** One of a declared list. A replacement value is an index into `categories` (number). */
export interface CategoryColumn extends ColumnFacts {
  readonly type: 'category'
  readonly categories: readonly string[]
}

/** Free text: it can be filtered on, never grouped by. A replacement value is a string. */
export interface StringColumn extends ColumnFacts {
  readonly type: 'string'
}

export type Column = NumericColumn | BooleanColumn | CategoryColumn | StringColumn

/** The format of a file that can be ingested. */
export type FileFormat = 'csv' | 'parquet'

/** Where a dataset's rows come from. */
export type Source =
  /** A file; the path is relative to the data folder. */
  | { readonly kind: 'file'; readonly path: string; readonly format: FileFormat }
  /** Made-up people, the same for the same size and seed. */
  | { readonly kind: 'population'; readonly rows: number; readonly seed: string }

/** The public facts of a registered dataset. Nothing here depends on data that its neighbours relation protects. */
export interface Dataset {
  readonly id: string
  readonly title: string
  /** Counts the registrations of the id, so that a question about another file is another question. */
  readonly version: string
  readonly source: Source
  readonly columns: readonly Column[]
  readonly privacyUnit: PrivacyUnit
  readonly neighbours: Neighbours
  /** The public number of rows under `change-one`; under `add-remove` it is private, and absent. */
  readonly rows?: number
  readonly synthetic: boolean
  /** How its budget is counted. */
  readonly accounting: Accounting
  /** Whether a question that one analyst has paid for is answered to others with the stored release. */
  readonly sharing: boolean
}

/** The dataset's column of exactly that name, where it has one. */
export function columnNamed(dataset: Dataset, name: string): Column | undefined {
  return dataset.columns.find((column) => column.name === name)
}

/**
 * @throws Refusal `not-synthetic` for any dataset whose people are not made up, whoever asks: its truths and unpaid
 * releases are nobody's to see.
 */
export function requireSynthetic({ id, synthetic }: Dataset): void {
  if (synthetic) return
  const detail = `The dataset ${id} is not synthetic: answers about it leave only as releases that are paid for.`
  throw new Refusal('not-synthetic', detail)
}
