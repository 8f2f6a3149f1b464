import type { Ledger } from './ledger.ts'

/** What a store can be asked, apart from closing. */
export type OperationName = Exclude<keyof Ledger, 'close'>

type OperationArguments = { readonly [Name in OperationName]: Parameters<Ledger[Name]> }
export type OperationResults = { readonly [Name in OperationName]: Awaited<ReturnType<Ledger[Name]>> }

/** The ledger's operations without their promises, as a store that works synchronously offers them. */
export type Operations = {
  readonly [Name in OperationName]: (...args: OperationArguments[Name]) => OperationResults[Name]
}

/** One operation with its arguments, as it crosses threads. */
export type Call<Name extends OperationName = OperationName> = {
  readonly [Each in Name]: { readonly operation: Each; readonly args: OperationArguments[Each] }
}[Name]

/** What became of one call of a batch that was committed. */
export type Settled =
  | { readonly kind: 'done'; readonly result: OperationResults[OperationName] }
  | { readonly kind: 'failed'; readonly error: Error }

/** Carry out one call. */
export function perform<Name extends OperationName>(
  operations: Operations,
  call: Call<Name>,
): OperationResults[Name] {
  return operations[call.operation](...call.args)
}
