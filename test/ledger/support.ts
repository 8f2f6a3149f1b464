import { expect } from 'vitest'
import { sha256 } from '../../src/ledger/canonical.ts'
import { ADMINISTRATION } from '../../src/ledger/contract/acts.ts'
import type { AnalystSpending, NewBudget } from '../../src/ledger/contract/budgets.ts'
import type { LedgerEntry } from '../../src/ledger/contract/chain.ts'
import type { Charge, ChargeOutcome, ChargeRequest } from '../../src/ledger/contract/charges.ts'
import type { Ledger, OperationName, OperationResults } from '../../src/ledger/ledger.ts'
import type { SqliteStore } from '../../src/ledger/sqlite/store.ts'
import type { Call } from '../../src/ledger/stores/operation.ts'
import { countCharges, verifyLedger } from '../../src/ledger/verification.ts'
import {
  type Accounting,
  type Amount,
  addAmounts,
  noAmount,
  subtractAmounts,
} from '../../src/privacy/accounting.ts'
import { parseDecimal } from '../../src/privacy/decimal.ts'
import {
  DELTA_FRACTION_DIGITS,
  deltaAtto,
  EPSILON_FRACTION_DIGITS,
  epsilonNano,
  type PrivacyLoss,
  RHO_FRACTION_DIGITS,
  rhoPico,
} from '../../src/privacy/loss.ts'

/** Parses a loss from decimals. */
export function loss(epsilon: string, delta = '0'): PrivacyLoss {
  return {
    epsilonNano: epsilonNano(parseDecimal(epsilon, EPSILON_FRACTION_DIGITS) ?? -1n),
    deltaAtto: deltaAtto(parseDecimal(delta, DELTA_FRACTION_DIGITS) ?? -1n),
  }
}

/** Parses an amount under basic composition from decimals. */
export function basic(epsilon: string, delta = '0'): Amount {
  return { accounting: 'basic', ...loss(epsilon, delta) }
}

/** Parses an amount of rho from a decimal. */
export function rho(decimal: string): Amount {
  return { accounting: 'zcdp', rhoPico: rhoPico(parseDecimal(decimal, RHO_FRACTION_DIGITS) ?? -1n) }
}

/** A budget under basic composition, to be opened. */
export function summed(epsilon: string, delta = '0'): NewBudget {
  return { accounting: 'basic', neighbours: 'add-remove', granted: loss(epsilon, delta) }
}

/** A charge request of `ada` on `census` at a price of 0.1, without a chosen key and without sharing. */
export function question(idempotencyKey: string, changes: Partial<ChargeRequest> = {}): ChargeRequest {
  return {
    dataset: 'census',
    datasetVersion: '1',
    principal: 'ada',
    idempotencyKey,
    keyChosen: false,
    requestHash: sha256(changes.request ?? requestOf(idempotencyKey)),
    request: requestOf(idempotencyKey),
    price: basic('0.1'),
    sharing: false,
    leaseMs: 1_000,
    ...changes,
  }
}

/** The request that {@link question} makes. */
export const requestOf = (idempotencyKey: string) => `{"kind":"${idempotencyKey}"}`

/** Expects the outcome `charged` and returns its charge. */
export function chargeOf(outcome: ChargeOutcome): Charge {
  if (outcome.kind !== 'charged') throw new Error(`expected a charge, not ${outcome.kind}`)
  return outcome.charge
}

/** Carries out one call in a transaction of its own. Throws the error of the call. */
export function run<Name extends OperationName>(
  store: SqliteStore,
  operation: Name,
  ...args: Call<Name>['args']
): OperationResults[Name] {
  const [settled] = store.batch([{ operation, args } as Call])
  if (settled === undefined) throw new Error('the batch has no result')
  if (settled.kind === 'failed') throw settled.error
  return settled.result as OperationResults[Name]
}

/** Reads the history of a dataset, oldest first. */
export async function historyOf(ledger: Ledger, dataset = 'census'): Promise<LedgerEntry[]> {
  return [...(await ledger.entries(dataset, { limit: 1_000 }))].reverse()
}

/** Computes the debit of a dataset from the spending of its analysts, without shared releases. */
function debitedFor(spending: readonly AnalystSpending[], accounting: Accounting): Amount {
  return spending.reduce(
    (sum, { spent, spentOnShared }) => addAmounts(sum, subtractAmounts(spent, spentOnShared)),
    noAmount(accounting),
  )
}

/**
 * Expects every dataset and population to pass verification, and its debits to equal the spending of its analysts without
 * shared releases.
 */
export async function expectConsistentLedger(ledger: Ledger): Promise<void> {
  for (const { dataset } of await ledger.heads()) {
    if (dataset === ADMINISTRATION) continue
    const head = await ledger.head(dataset)
    const found = await verifyLedger(ledger, dataset, await countCharges(ledger))
    expect(found, dataset).toEqual({
      kind: 'sound',
      events: head?.sequence,
      headHash: head?.hash,
      budget: head?.budget,
      spending: head?.spending,
      failures: head?.failures,
      suspended: head?.suspended,
    })
    if (head === undefined) throw new Error('a dataset with a budget has a head')
    const { cap, spent } = head.budget
    expect(debitedFor(head.spending, cap.accounting)).toEqual(spent)
  }
}
