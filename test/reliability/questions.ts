import type { NewBudget } from '../../src/ledger/contract/budgets.ts'
import type { ChargeRequest } from '../../src/ledger/contract/charges.ts'
import { deltaAtto, epsilonNano } from '../../src/privacy/loss.ts'
import type { SourceChange } from '../mutants/changed-source.ts'

/** Options of a charging process. */
export interface ChargingOptions {
  readonly dataset: string
  /** Prefix of the names of its questions. */
  readonly run: string
  /** Number of questions. */
  readonly questions: number
  /** Number of questions that the budget covers. */
  readonly capacity: number
  /** True if the dataset belongs to a population with the same budget. */
  readonly population: boolean
  /** Number of concurrent questions. */
  readonly lanes: number
  readonly leaseMs: number
  /** True if it repeats questions that failed with a fault, instead of ending. */
  readonly persistent: boolean
  /** Length in hexadecimal digits; an even number. */
  readonly answerLength: number
  /** Changes to the source of the ledger. */
  readonly changes: readonly SourceChange[]
}

/** Both epsilon and delta, so that a mistake in either is detected. */
const PRICE = { epsilonNano: 3n, deltaAtto: 7n }

/** Cost of this number of questions. */
export function costOf(questions: number) {
  return {
    accounting: 'basic',
    epsilonNano: epsilonNano(PRICE.epsilonNano * BigInt(questions)),
    deltaAtto: deltaAtto(PRICE.deltaAtto * BigInt(questions)),
  } as const
}

/** A budget that covers this number of questions. */
export function budgetFor(questions: number): NewBudget {
  const { accounting, ...granted } = costOf(questions)
  return { accounting, neighbours: 'add-remove', granted }
}

export function keyOf(run: string, number: number): string {
  return `${run}-${number}`
}

/** The question that a key stands for. */
export function questionOf(dataset: string, key: string, leaseMs: number): ChargeRequest {
  return {
    dataset,
    datasetVersion: '1',
    principal: 'ada',
    idempotencyKey: key,
    keyChosen: true,
    requestHash: `hash of ${key}`,
    request: `{"key":"${key}"}`,
    price: costOf(1),
    sharing: false,
    leaseMs,
  }
}
