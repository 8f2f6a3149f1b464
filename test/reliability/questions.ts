import type { ChargeRequest, NewBudget } from '../../src/ledger/ledger.ts'
import { deltaAtto, epsilonNano } from '../../src/privacy/loss.ts'
import type { SourceChange } from '../changed-source.ts'

/** What a charging process does. */
export interface ChargingOptions {
  readonly dataset: string
  /** Begins the name of each of its questions. */
  readonly run: string
  /** How many it asks. */
  readonly questions: number
  /** For how many questions the dataset's budget suffices. */
  readonly capacity: number
  /** How many it asks at the same time. */
  readonly lanes: number
  readonly leaseMs: number
  /** Whether it asks again what met a fault, rather than end. */
  readonly persistent: boolean
  /** In hexadecimal digits, an even number. */
  readonly answerLength: number
  /** Changes to the source of the ledger. */
  readonly changes: readonly SourceChange[]
}

/** Two units of loss, so that a mistake in either shows. */
const PRICE = { epsilonNano: 3n, deltaAtto: 7n }

/** What so many questions cost. */
export function costOf(questions: number) {
  return {
    accounting: 'basic',
    epsilonNano: epsilonNano(PRICE.epsilonNano * BigInt(questions)),
    deltaAtto: deltaAtto(PRICE.deltaAtto * BigInt(questions)),
  } as const
}

/** A budget that suffices for so many questions. */
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
