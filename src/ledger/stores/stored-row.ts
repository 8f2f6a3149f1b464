import type { Accounting, Amount } from '../../privacy/accounting.ts'
import { deltaAtto, epsilonNano, type PrivacyLoss, type RhoPico, rhoPico } from '../../privacy/loss.ts'
import type { ChainHead, ChargeCounts } from '../contract/chain.ts'
import type { ListedRelease } from '../contract/releases.ts'
import type { Account, AnalystAccount, SessionRow, SourceRow, StoredCharge } from '../protocol/rows.ts'
import { COUNTED_PAGE } from '../range.ts'
import { unpackAnswer } from './packed-answer.ts'

/*
 * Converts table rows to the rows of the protocol. Depending on the driver, integers are bigint or decimal texts, and
 * counts up to 2^53 - 1 may be numbers.
 */

/** A table row, keyed by column name. */
export type Row = Readonly<Record<string, unknown>>

/** Reads a budget, its suspension and the head of its chain. */
export function accountFromRow(row: Row): Account {
  const accounting = accountingFromRow(row)
  const granted = lossFromRow(row, 'cap_epsilon_nano', 'cap_delta_atto')
  return {
    dataset: text(row, 'dataset'),
    budget: {
      granted,
      cap: amountOf(accounting, granted, rhoFromRow(row, 'cap_rho_pico')),
      spent: amountFromRow(row, accounting, 'spent'),
      ...(row.population !== null && { population: text(row, 'population') }),
    },
    headSequence: count(row, 'head_sequence'),
    headHash: text(row, 'head_hash'),
    failures: count(row, 'failures'),
    suspended: flag(row, 'suspended'),
  }
}

/** Reads the head of a chain. */
export function headFromRow(row: Row): ChainHead {
  return {
    dataset: text(row, 'dataset'),
    sequence: count(row, 'head_sequence'),
    hash: text(row, 'head_hash'),
  }
}

/**
 * Reads a page of counted charges.
 * @param rows one for each dataset, with the `last` charge that was counted
 */
export function chargeCountsFromRows(rows: readonly Row[]): ChargeCounts {
  const counts = new Map(rows.map((row) => [text(row, 'dataset'), count(row, 'charges')]))
  const total = [...counts.values()].reduce((sum, each) => sum + each, 0)
  const last = rows.map((row) => text(row, 'last')).reduce((a, b) => (a > b ? a : b), '')
  return { counts, ...(total >= COUNTED_PAGE && { next: last }) }
}

/** Reads an analyst's account. Its amounts have the units of the dataset's accounting. */
export function analystFromRow(row: Row, accounting: Accounting): AnalystAccount {
  const facts = {
    dataset: text(row, 'dataset'),
    principal: text(row, 'principal'),
    spent: amountFromRow(row, accounting, 'spent'),
    spentOnShared: amountFromRow(row, accounting, 'shared'),
    storedBytes: count(row, 'stored_bytes'),
    denials: count(row, 'denials'),
  }
  if (row.granted_epsilon_nano === null) return facts
  const granted = lossFromRow(row, 'granted_epsilon_nano', 'granted_delta_atto')
  const limit = amountOf(accounting, granted, rhoFromRow(row, 'limit_rho_pico'))
  return { ...facts, allotment: { granted, limit } }
}

/** Reads a charge from a row that also has the accounting of the dataset. */
export function chargeFromRow(row: Row): StoredCharge {
  return {
    id: text(row, 'id'),
    dataset: text(row, 'dataset'),
    datasetVersion: text(row, 'dataset_version'),
    principal: text(row, 'principal'),
    idempotencyKey: text(row, 'idempotency_key'),
    requestHash: text(row, 'request_hash'),
    price: amountFromRow(row, accountingFromRow(row), 'loss'),
    state: stateFromRow(row),
    attempt: count(row, 'attempt'),
    createdAtMs: count(row, 'created_at_ms'),
    leasedAtMs: count(row, 'leased_at_ms'),
    leaseExpiresAtMs: count(row, 'lease_expires_at_ms'),
    sharing: flag(row, 'sharing'),
    ...(row.shared_from !== null && { sharedFrom: text(row, 'shared_from') }),
  }
}

/**
 * Reads a release with the facts about its charge.
 * @param row also has the accounting of the dataset
 */
export function listedFromRow(row: Row): ListedRelease {
  return {
    id: text(row, 'id'),
    dataset: text(row, 'dataset'),
    datasetVersion: text(row, 'dataset_version'),
    principal: text(row, 'principal'),
    kind: text(row, 'kind'),
    answeredAtMs: count(row, 'answered_at_ms'),
    request: text(row, 'request'),
    price: amountFromRow(row, accountingFromRow(row), 'loss'),
    shared: row.shared_from !== null,
    answer: answerFromRow(row),
  }
}

/** Reads a session, with the number of its answers and positives. */
export function sessionFromRow(row: Row): SessionRow {
  return {
    id: text(row, 'id'),
    dataset: text(row, 'dataset'),
    datasetVersion: text(row, 'dataset_version'),
    principal: text(row, 'principal'),
    positives: count(row, 'positives'),
    terms: text(row, 'terms'),
    thresholdNoise: integer(row, 'threshold_noise'),
    answered: count(row, 'answered'),
    positivesFound: count(row, 'positives_found'),
    storedBytes: count(row, 'stored_bytes'),
  }
}

/** Reads a source. */
export function sourceFromRow(row: Row): SourceRow {
  return {
    digest: text(row, 'digest'),
    dataset: text(row, 'dataset'),
    synthetic: row.synthetic === true || row.synthetic === 1n,
    ...(row.population !== null && { population: text(row, 'population') }),
  }
}

/**
 * Reads an answer from the columns `answer` and `deflated`, one of which holds it.
 * @throws TypeError if it cannot be decompressed
 */
export function answerFromRow(row: Row): string {
  const { deflated } = row
  if (deflated === null) return text(row, 'answer')
  if (deflated instanceof Uint8Array) return unpackAnswer({ deflated })
  // JSON holds bytes as base64.
  return unpackAnswer({ deflated: Buffer.from(text(row, 'deflated'), 'base64') })
}

const STATES = ['charged', 'answered', 'failed', 'denied'] as const

function stateFromRow(row: Row): StoredCharge['state'] {
  const state = STATES.find((each) => each === row.state)
  if (state === undefined) throw new TypeError("the ledger's column state has an unknown value")
  return state
}

/** Reads the accounting of a row's amounts. */
export function accountingFromRow(row: Row): Accounting {
  const accounting = row.accounting
  if (accounting !== 'basic' && accounting !== 'zcdp')
    throw new TypeError("the ledger's column accounting has an unknown value")
  return accounting
}

function lossFromRow(row: Row, epsilonColumn: string, deltaColumn: string): PrivacyLoss {
  return {
    epsilonNano: epsilonNano(integer(row, epsilonColumn)),
    deltaAtto: deltaAtto(integer(row, deltaColumn)),
  }
}

function rhoFromRow(row: Row, column: string): RhoPico {
  return rhoPico(integer(row, column))
}

/** Reads an amount from its three columns. */
export function amountFromRow(row: Row, accounting: Accounting, name: string): Amount {
  const loss = lossFromRow(row, `${name}_epsilon_nano`, `${name}_delta_atto`)
  return amountOf(accounting, loss, rhoFromRow(row, `${name}_rho_pico`))
}

/** Returns an amount in the units of its accounting. The others are 0. */
function amountOf(accounting: Accounting, loss: PrivacyLoss, rho: RhoPico): Amount {
  switch (accounting) {
    case 'basic':
      return { accounting, ...loss }
    case 'zcdp':
      return { accounting, rhoPico: rho }
  }
}

function integer(row: Row, column: string): bigint {
  const value = row[column]
  if (typeof value === 'bigint') return value
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return BigInt(value)
  throw new TypeError(`the ledger's column ${column} is not an integer`)
}

/** Reads an integer up to 2^53 - 1. */
export function count(row: Row, column: string): number {
  const value = typeof row[column] === 'number' ? row[column] : Number(integer(row, column))
  if (!Number.isSafeInteger(value)) throw new TypeError(`the ledger's column ${column} is not a count`)
  return value
}

/** Reads a boolean, which SQLite stores as 0 or 1. */
function flag(row: Row, column: string): boolean {
  return row[column] === true || row[column] === 1n
}

/** Reads a text. */
export function text(row: Row, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw new TypeError(`the ledger's column ${column} is not a text`)
  return value
}
