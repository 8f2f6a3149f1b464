import type { Ledger } from './ledger.ts'
import type { Protocol } from './protocol.ts'

/** What a store can be asked, apart from what concerns the whole of it. */
export type OperationName = Exclude<keyof Ledger, 'close' | 'exclusively'>

type OperationArguments = { readonly [Name in OperationName]: Parameters<Ledger[Name]> }
export type OperationResults = { readonly [Name in OperationName]: Awaited<ReturnType<Ledger[Name]>> }

/** The ledger's operations without their promises, as a store that works synchronously offers them. */
export type Operations = {
  readonly [Name in OperationName]: (...args: OperationArguments[Name]) => OperationResults[Name]
}

/** Operations that change rows; the protocol decides them, and the others only read. */
export type CommandName = Exclude<keyof Protocol, 'sessionQuestion'>
export type ReadName = Exclude<OperationName, CommandName>

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
  operations: Pick<Operations, Name>,
  call: Call<Name>,
): OperationResults[Name] {
  const { operation, args } = call
  return operations[operation](...args)
}

const COMMANDS: { readonly [Name in CommandName]: true } = {
  openBudget: true,
  grant: true,
  allot: true,
  charge: true,
  recordAnswer: true,
  recordFailure: true,
  openSession: true,
  recordSessionAnswer: true,
}

/** Whether a call changes rows. */
export function isCommand(call: Call): call is Call<CommandName> {
  return Object.hasOwn(COMMANDS, call.operation)
}
