import type { Select } from '../../answers/sql/parsing/statement.ts'
import type { Refusal } from '../../privacy/refusal.ts'
import type { ParameterUse } from './parameters.ts'

/** A statement of a client. */
export type Command =
  /** A question about the rows of a dataset. */
  | { readonly kind: 'question'; readonly tables: readonly string[]; readonly statement: Select }
  /** A question about the catalogue and the session, in the dialect of its evaluator. */
  | { readonly kind: 'catalogue'; readonly sql: string; readonly values?: DeclaredValues }
  /**
   * A statement that has no rows whatever the data: the question with the same columns, and the same statement in the dialect of
   * the catalogue's evaluator, which describes what is no question.
   */
  | {
      readonly kind: 'without-rows'
      readonly tables: readonly string[]
      readonly question: SimpleCommand
      readonly sql?: string
    }
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
  /** `place` is that of PREPARE in its text. */
  | {
      readonly kind: 'prepare'
      readonly name: string
      readonly types: readonly string[]
      readonly place: number
      readonly prepared: ReadCommand
    }
  /** Values as texts; NULL is null. */
  | { readonly kind: 'execute'; readonly name: string; readonly values: readonly (string | null)[] }
  /** `name` is absent for all prepared statements. */
  | { readonly kind: 'deallocate'; readonly name?: string }
  | {
      readonly kind: 'declare'
      readonly name: string
      readonly query: SimpleCommand
      /** True if it outlives its transaction. */
      readonly holds: boolean
      /** True if it can go back. */
      readonly scrolls: boolean
    }
  | FetchCommand
  /** `name` is absent for all cursors. */
  | { readonly kind: 'close'; readonly name?: string }
  | { readonly kind: 'refused'; readonly refused: RefusalParts }

/** The column whose values a statement lists, and what the statement is unless they are declared. */
export interface DeclaredValues {
  readonly tables: readonly string[]
  readonly column: string
  readonly otherwise: SimpleCommand
}

/** A command that is not about other statements of the session. */
export type SimpleCommand = Exclude<Command, { readonly kind: 'prepare' | 'execute' | 'declare' | 'fetch' }>

/** FETCH, or MOVE, which returns no rows. Backward numbers are negative. */
export interface FetchCommand {
  readonly kind: 'fetch'
  readonly name: string
  /** Several rows from here on, or the one at a place: from here, or from the beginning (from the end, if it is negative). */
  readonly which: 'several' | 'relative' | 'absolute'
  readonly count: number
  readonly moves: boolean
}

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
