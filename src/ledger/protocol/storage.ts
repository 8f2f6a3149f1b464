import { analystOf, type Batch, setAnalyst } from './batch.ts'
import { type AnalystAccount, expectRow } from './rows.ts'

/*
 * Bytes that the ledger stores for an analyst of a dataset. Besides requests and answers, every row and event counts
 * with a fixed size, including its entries in indexes. The sum is therefore close to the growth of the store.
 */

/** Size of a charge besides its request and answer: a row, the events of the debit and the answer. */
export const CHARGE_BYTES = 2_048
/** Size of a further attempt: its event and that of its failure. */
export const ATTEMPT_BYTES = 1_024
/** Size of a denial, whose request is not stored. */
export const DENIAL_BYTES = 1_024
/** Size of an answer of a session besides its request and text: a row and an event. */
export const SESSION_ANSWER_BYTES = 1_024

/**
 * Largest number of denials that are recorded per analyst and dataset. A denial costs nothing, so without a limit an
 * analyst could fill the disk with them.
 */
export const MAX_DENIALS = 250

/** Adds to the stored bytes of an analyst. */
export function addStoredBytes(batch: Batch, dataset: string, principal: string, bytes: number): void {
  const analyst = analystOf(batch, expectRow(batch.accounts.get(dataset)), principal)
  setAnalyst(batch, withStoredBytes(analyst, bytes))
}

export function withStoredBytes(analyst: AnalystAccount, bytes: number): AnalystAccount {
  return { ...analyst, storedBytes: analyst.storedBytes + bytes }
}

/** True if nothing more may be stored for an analyst with this limit. */
export function isStorageExceeded(storedBytes: number, maxStoredBytes: number | undefined): boolean {
  return maxStoredBytes !== undefined && storedBytes >= maxStoredBytes
}
