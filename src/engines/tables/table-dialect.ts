import type { Column, TableColumn } from '../../core/dataset/dataset.ts'
import type { Dialect } from '../dialect.ts'
import type { DigestDialect } from '../person-rows.ts'
import type { Comparisons, Source } from './comparisons.ts'

/** The SQL of a database whose tables are read in place. */
export interface TableDialect extends Omit<Dialect, 'relation' | 'selectRows'>, DigestDialect {
  /**
   * Prints how a value of a table's column becomes a stored value, in total functions; `undefined` if the types do not
   * fit.
   */
  encode(column: Column, source: TypedSource): EncodedValue | undefined
  /** Returns the exact comparisons with the values of a table's column. */
  comparisons(source: TypedSource): Comparisons
  /**
   * Prints a condition that is TRUE if another one is, and otherwise makes the statement fail. Present if joined tables may
   * have keys of which the database does not guarantee that they are unique.
   */
  failUnless?(condition: string): string
  /** A text as a literal of the type of texts. */
  literal(text: string): string
}

/** A value of a table's column, with the name of its type. */
export type TypedSource = Source & Pick<TableColumn, 'type'>

/** A value in stored form. */
export interface EncodedValue {
  /** NULL for NULL and for a value that does not fit the declaration. */
  readonly stored: string
  /** True if every value of the type fits. */
  readonly isTotal?: true
  /** Cheaper expressions for rows that are read only if the value fits. */
  readonly fitting?: {
    /** A condition that is TRUE for values that fit, and FALSE or NULL for NULL and every other value. */
    readonly condition: string
    /** The stored value of a value that fits; any other value may make it fail. */
    readonly stored: string
  }
}
