import type { Select } from '../../answers/sql/parsing/statement.ts'
import type { Refusal } from '../../privacy/refusal.ts'
import type { ParameterUse } from './parameters.ts'

/** A statement of a client. */
export type Command =
  /** A question about the rows of a dataset. */
  | { readonly kind: 'question'; readonly tables: readonly string[]; readonly statement: Select }
  /** A question about the catalogue and the session, in the dialect of its evaluator. */
  | { readonly kind: 'catalogue'; readonly sql: string }
  /** `values` is absent for the default. `local` settings end with their transaction. */
  | {
      readonly kind: 'set'
      readonly name: string
      readonly values?: readonly string[]
      readonly local: boolean
      /** True for a function that also returns the value. */
      readonly returns?: true
    }
  | { readonly kind: 'show'; readonly name: string }
  | { readonly kind: 'reset-all' }
  | {
      readonly kind: 'transaction'
      readonly act: TransactionAct
      readonly tag: string
      /** Empty without one. */
      readonly savepoint: string
    }
  | { readonly kind: 'discard'; readonly tag: string; readonly all: boolean }
  /** `name` is absent for all prepared statements. */
  | { readonly kind: 'deallocate'; readonly name?: string }
  | { readonly kind: 'refused'; readonly refused: RefusalParts }

/** What a statement does to the transaction of a session. */
export type TransactionAct = 'begin' | 'commit' | 'rollback' | 'savepoint' | 'rollback-to' | 'release'

/** The parts of a refusal, which loses its class between threads. */
export type RefusalParts = Required<ConstructorParameters<typeof Refusal>>

/** A command, with what it tells about its parameters. Those that were given values are none of them. */
export interface ReadCommand {
  readonly command: Command
  readonly parameters: readonly ParameterUse[]
  /** Names of its tables, without their schemas. */
  readonly tables: readonly string[]
}
