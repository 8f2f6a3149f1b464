import { randomUUID } from 'node:crypto'
import { defined } from '../../privacy/defined.ts'
import { sha256 } from '../canonical.ts'
import type { EventReference } from '../contract/chain.ts'
import type { SessionAnswer } from '../contract/sessions.ts'
import { canonicalEvent, FIRST_PREVIOUS_HASH, isCountedFailure, type LedgerEvent } from '../event.ts'
import { MAX_LEASE_MS, MAX_TIME_MS } from '../range.ts'
import { unpackAnswer } from '../stores/packed-answer.ts'
import {
  type Account,
  type AnalystAccount,
  type Changes,
  expectRow,
  type NewEvent,
  type NewRelease,
  newAnalyst,
  type Rows,
  type SessionAnswerRow,
  type SessionRow,
  type SourceRow,
  type StoredCharge,
} from './rows.ts'

/**
 * The state of a batch: the rows before it, and the changes of the commands so far. Commands read and write rows
 * through the functions of this file, so that each command sees the changes of those before it.
 * See decision 13.
 */
export interface Batch {
  /** Milliseconds since 1970, the same for all commands of the batch. */
  readonly nowMs: number
  readonly rows: Rows
  readonly drawSalt: () => string
  readonly accounts: Overlay<Account>
  /** Keyed by dataset and principal. */
  readonly analysts: Overlay<AnalystAccount>
  readonly charges: Overlay<StoredCharge>
  readonly sessions: Overlay<SessionRow>
  /** Canonical requests of new charges, and of denied charges that are paid now, by charge id. */
  readonly requests: Map<string, string>
  readonly events: NewEvent[]
  /** New answers, by charge id. */
  readonly releases: Map<string, NewRelease>
  /** Charge ids, keyed by dataset and request hash. */
  readonly sharedReleases: Map<string, string>
  readonly newSessions: Changes['sessions'][number][]
  /** Keyed by session and idempotency key. */
  readonly sessionAnswers: Map<string, SessionAnswer>
  readonly newSources: SourceRow[]
}

/** The state of a dataset before its first event, except its budget. */
export const BEFORE_FIRST_EVENT = {
  headSequence: 0,
  headHash: FIRST_PREVIOUS_HASH,
  failures: 0,
  suspended: false,
}

/**
 * Begins a batch over the rows of a store.
 * @param nowMs milliseconds since 1970, by the clock that all leases of the store use
 * @param drawSalt returns an unpredictable text
 * @throws RangeError if the clock's time is out of range.
 */
export function beginBatch(rows: Rows, nowMs: number, drawSalt: () => string = randomUUID): Batch {
  if (!Number.isSafeInteger(nowMs) || nowMs < 0 || nowMs + MAX_LEASE_MS > MAX_TIME_MS)
    throw new RangeError('the time of the clock is out of range')
  return {
    nowMs,
    rows,
    drawSalt,
    accounts: overlay(rows.account),
    analysts: overlay((key) => rows.analyst(...splitKey(key))),
    charges: overlay(rows.charge),
    sessions: overlay(rows.session),
    requests: new Map(),
    events: [],
    releases: new Map(),
    sharedReleases: new Map(),
    newSessions: [],
    sessionAnswers: new Map(),
    newSources: [],
  }
}

/** Begins a batch over the state of another one. What is changed there does not change the other. */
export function trialOf(batch: Batch): Batch {
  const { accounts, analysts, charges, sessions, rows, nowMs, drawSalt } = batch
  const present: Rows = {
    account: accounts.get,
    analyst: (dataset, principal) => analysts.get(joinKey(dataset, principal)),
    analysts: (dataset) => analystsOf(batch, dataset),
    charge: charges.get,
    answer: (id) => answerOf(batch, id),
    sharedRelease: (dataset, requestHash) => sharedReleaseOf(batch, dataset, requestHash),
    session: sessions.get,
    sessionAnswer: (session, key) => sessionAnswerOf(batch, session, key),
    sources: rows.sources,
  }
  return beginBatch(present, nowMs, drawSalt)
}

/** Collects the changes of all commands of a batch, for the store to write. */
export function changesOf(batch: Batch): Changes {
  const chargeChanges = batch.charges.changes()
  return {
    accounts: batch.accounts.changes().sort((a, b) => (a.after.dataset < b.after.dataset ? -1 : 1)),
    analysts: batch.analysts.changes(),
    newCharges: chargeChanges.flatMap(({ before, after }) =>
      before === undefined ? [{ ...after, request: expectRow(batch.requests.get(after.id)) }] : [],
    ),
    changedCharges: chargeChanges.flatMap(({ before, after }) =>
      before === undefined ? [] : [defined({ before, after, request: batch.requests.get(after.id) })],
    ),
    events: batch.events,
    releases: [...batch.releases.values()],
    sharedReleases: [...batch.sharedReleases].map(([key, id]) => {
      const [dataset, requestHash] = splitKey(key)
      return { dataset, requestHash, charge: id }
    }),
    sessions: batch.newSessions,
    sessionAnswers: [...batch.sessionAnswers.values()],
    sources: batch.newSources,
  }
}

/** The fields of an event, except those that its position in the chain determines. */
export type EventFacts = Omit<
  LedgerEvent,
  'version' | 'dataset' | 'sequence' | 'previousHash' | 'at' | 'salt'
>

/** Appends an event to the chain of a dataset that has an account. */
export function appendEvent(batch: Batch, dataset: string, facts: EventFacts): EventReference {
  const account = expectRow(batch.accounts.get(dataset))
  const sequence = account.headSequence + 1
  const { headHash: previousHash } = account
  const at = new Date(batch.nowMs).toISOString()
  const event = { ...facts, version: 1, dataset, sequence, previousHash, salt: batch.drawSalt(), at } as const
  const canonical = canonicalEvent(event)
  const hash = sha256(canonical)
  const { principal } = facts
  batch.events.push({ dataset, sequence, hash, principal, canonical, counted: isCountedFailure(facts) })
  batch.accounts.set(dataset, { ...account, headSequence: sequence, headHash: hash })
  return { sequence, hash }
}

/** Reads an analyst's account; an empty one if the analyst has none yet. */
export function analystOf(batch: Batch, account: Account, principal: string): AnalystAccount {
  return batch.analysts.get(joinKey(account.dataset, principal)) ?? newAnalyst(account, principal)
}

/** Reads the accounts of all analysts of a dataset. */
export function analystsOf(batch: Batch, dataset: string): readonly AnalystAccount[] {
  const stored = batch.rows.analysts(dataset).map(({ principal }) => principal)
  const changed = batch.analysts.changes().map(({ after }) => after)
  const added = changed.filter((each) => each.dataset === dataset).map(({ principal }) => principal)
  return [...new Set([...stored, ...added])].flatMap(
    (principal) => batch.analysts.get(joinKey(dataset, principal)) ?? [],
  )
}

export function setAnalyst(batch: Batch, analyst: AnalystAccount): void {
  batch.analysts.set(joinKey(analyst.dataset, analyst.principal), analyst)
}

/** Reads the answer of a charge. */
export function answerOf(batch: Batch, id: string): string | undefined {
  const release = batch.releases.get(id)
  return release === undefined ? batch.rows.answer(id) : unpackAnswer(release.answer)
}

/** Reads the id of the charge whose release is shared for a request. */
export function sharedReleaseOf(batch: Batch, dataset: string, requestHash: string): string | undefined {
  return (
    batch.sharedReleases.get(joinKey(dataset, requestHash)) ?? batch.rows.sharedRelease(dataset, requestHash)
  )
}

export function setSharedRelease(batch: Batch, dataset: string, requestHash: string, id: string): void {
  batch.sharedReleases.set(joinKey(dataset, requestHash), id)
}

/** Reads the stored answer of a session's question. */
export function sessionAnswerOf(batch: Batch, session: string, key: string): SessionAnswerRow | undefined {
  return batch.sessionAnswers.get(joinKey(session, key)) ?? batch.rows.sessionAnswer(session, key)
}

export function setSessionAnswer(batch: Batch, answer: SessionAnswer): void {
  batch.sessionAnswers.set(joinKey(answer.session, answer.idempotencyKey), answer)
}

/** Rows of one table, with the changes of the batch on top. */
interface Overlay<Row> {
  get(key: string): Row | undefined
  set(key: string, row: Row): void
  changes(): { readonly before?: Row; readonly after: Row }[]
}

function overlay<Row>(read: (key: string) => Row | undefined): Overlay<Row> {
  const entries = new Map<string, { readonly before: Row | undefined; after: Row | undefined }>()
  function entryOf(key: string) {
    const known = entries.get(key)
    if (known !== undefined) return known
    const entry = { before: read(key), after: undefined }
    entries.set(key, entry)
    return entry
  }
  return {
    get(key) {
      const { before, after } = entryOf(key)
      return after ?? before
    },
    set(key, row) {
      entryOf(key).after = row
    },
    changes: () =>
      [...entries.values()].flatMap(({ before, after }) =>
        after === undefined ? [] : [{ ...(before !== undefined && { before }), after }],
      ),
  }
}

/** Joins two texts to one key. The first must not contain NUL; `expectStorable` ensures that. */
function joinKey(first: string, second: string): string {
  return `${first}\0${second}`
}

function splitKey(key: string): [string, string] {
  const end = key.indexOf('\0')
  return [key.slice(0, end), key.slice(end + 1)]
}
