import type { OperationArguments, OperationResults } from '../ledger.ts'
import { recordAct } from './acts.ts'
import type { Batch } from './batch.ts'
import { allot, grant, openBudget, registerSource, replaceCap } from './budgets.ts'
import { charge, chargeAll, recordAnswer, recordFailure } from './charges.ts'
import { joinPopulation } from './populations.ts'
import { openSession, recordSessionAnswer } from './sessions.ts'
import { recordQuestionFailure, resume } from './suspension.ts'

/*
 * The charge protocol: the methods of a ledger that change rows, each a pure function over the state of a batch. Stores
 * read rows and write changes, and decide nothing. A command appends events to the chains of the datasets that it names, to that of
 * their population, and to the chain of administrative acts. A store that locks the rows of their budgets therefore has exclusive access to all
 * rows that the command may change.
 */

const commands = {
  openBudget,
  joinPopulation,
  registerSource,
  grant,
  replaceCap,
  allot,
  charge,
  chargeAll,
  recordAnswer,
  recordFailure,
  openSession,
  recordSessionAnswer,
  recordQuestionFailure,
  resume,
  recordAct,
}

/** A method of the ledger that changes rows. */
export type CommandName = keyof typeof commands

/** All commands. One that throws has changed nothing, and the batch may continue. */
export const COMMANDS: {
  readonly [Name in CommandName]: (batch: Batch, ...args: OperationArguments[Name]) => OperationResults[Name]
} = commands
