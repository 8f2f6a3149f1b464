import { setTimeout as sleep } from 'node:timers/promises'
import type { Ledger, OperationArguments, OperationName, OperationResults } from '../ledger.ts'
import type { Batch } from '../protocol/batch.ts'
import { COMMANDS, type CommandName } from '../protocol/commands.ts'

/** A method of the ledger that only reads. */
export type ReadName = Exclude<OperationName, CommandName>

/** The reading methods of the ledger, for a store that works synchronously. */
export type Reads = {
  readonly [Name in ReadName]: (...args: OperationArguments[Name]) => OperationResults[Name]
}

/** A call of the ledger: the method and its arguments. */
export type Call<Name extends OperationName = OperationName> = {
  readonly [Each in Name]: { readonly operation: Each; readonly args: OperationArguments[Each] }
}[Name]

/** The outcome of one call of a committed batch. */
export type Settled =
  | { readonly kind: 'done'; readonly result: OperationResults[OperationName] }
  | { readonly kind: 'failed'; readonly error: Error }

/** The outcome of a call that failed with an error. */
export function failedWith(error: unknown): Settled {
  return { kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) }
}

/** True if a call may change rows. */
export function isCommand(call: Call): call is Call<CommandName> {
  return Object.hasOwn(COMMANDS, call.operation)
}

/** Applies a command to a batch. */
export function applyCommand<Name extends CommandName>(
  batch: Batch,
  call: Call<Name>,
): OperationResults[Name] {
  const { operation, args } = call
  return COMMANDS[operation](batch, ...args)
}

/** Carries out a call that only reads. */
export function applyRead<Name extends ReadName>(reads: Reads, call: Call<Name>): OperationResults[Name] {
  const { operation, args } = call
  return reads[operation](...args)
}

type Submit<Names extends OperationName> = <Name extends Names>(
  operation: Name,
  args: OperationArguments[Name],
) => Promise<OperationResults[Name]>

/** The methods of a ledger that change rows, each passed to `submit` with its arguments. */
export function commandMethods(submit: Submit<CommandName>): Pick<Ledger, CommandName> {
  const method =
    (name: CommandName) =>
    (...args: never) =>
      submit(name, args)
  const methods = Object.keys(COMMANDS).map((name) => [name, method(name as CommandName)])
  return Object.fromEntries(methods)
}

/** The methods of a ledger, each passed to `submit` with its arguments. */
export function ledgerMethods(submit: Submit<OperationName>): Pick<Ledger, OperationName> {
  return {
    ...commandMethods(submit),
    budget: (...args) => submit('budget', args),
    analystSpending: (...args) => submit('analystSpending', args),
    head: (...args) => submit('head', args),
    heads: (...args) => submit('heads', args),
    datasets: (...args) => submit('datasets', args),
    suspension: (...args) => submit('suspension', args),
    session: (...args) => submit('session', args),
    sessionQuestion: (...args) => submit('sessionQuestion', args),
    sessionAnswers: (...args) => submit('sessionAnswers', args),
    acts: (...args) => submit('acts', args),
    entries: (...args) => submit('entries', args),
    events: (...args) => submit('events', args),
    releases: (...args) => submit('releases', args),
    release: (...args) => submit('release', args),
    requests: (...args) => submit('requests', args),
    unansweredRequests: (...args) => submit('unansweredRequests', args),
    chargeRecords: (...args) => submit('chargeRecords', args),
    chargeCounts: (...args) => submit('chargeCounts', args),
    lastDatasetVersion: (...args) => submit('lastDatasetVersion', args),
    healthy: (...args) => submit('healthy', args),
  }
}

/** Time limit for a store to answer a health check. */
const HEALTH_TIMEOUT_MS = 2_000

/** Runs a health check. Returns false if it rejects or takes longer than two seconds. */
export function answersInTime(check: () => Promise<boolean>): Promise<boolean> {
  return Promise.race([check(), sleep(HEALTH_TIMEOUT_MS, false, { ref: false })]).catch(() => false)
}
