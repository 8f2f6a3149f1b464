import type { DateFormat } from '../../../core/dataset/dataset.ts'

/** A remark on a field of a declaration, such as `columns.2.lower`. */
export interface Remark {
  readonly field: string
  readonly text: string
}

/** Largest number of columns of a declaration. */
export const MOST_COLUMNS = 200

/** A source, described for a draft. */
export interface DescribedSource {
  /** The source as a registration declares it. */
  readonly source: Readonly<Record<string, unknown>>
  /** Name of the file or table, from which the id and the title are derived. */
  readonly name: string
  readonly columns: readonly DescribedColumn[]
  /** Remarks on the form of the source. */
  readonly notes: readonly Remark[]
  /** What the form of the source leaves open. */
  readonly questions?: readonly Remark[]
}

/** A column of a source. */
export interface DescribedColumn {
  /** Name of its table in a joined source. */
  readonly table?: string
  readonly name: string
  readonly type: DescribedType
  /** True if the database excludes NULL. */
  readonly notNull?: boolean
  /**
   * Facts about the first rows. Absent for tables, of which no row is read, and for columns beyond the number that a
   * declaration can have.
   */
  readonly sampled?: SampledValues
}

/** Kind of a column's values, by the same name for all sources. */
export type DescribedType =
  | { readonly kind: 'integer' | 'number' | 'boolean' | 'text' | 'uuid' }
  | { readonly kind: 'date' | 'timestamp'; readonly dateFormat?: DateFormat }
  /** Values that no column type can hold. */
  | { readonly kind: 'other'; readonly name: string }

/** Facts about the first values of a column. They are not protected by noise. */
export interface SampledValues {
  readonly rows: number
  readonly nulls: number
  readonly distinct: number
  readonly longest: number
  readonly least?: string
  readonly largest?: string
  /** All distinct values, if there are few. */
  readonly values?: readonly string[]
}
