import { randomUUID } from 'node:crypto'
import {
  type Amount,
  addAmounts,
  amountBoughtBy,
  coversAmount,
  isSameAmount,
  noAmount,
  subtractAmounts,
} from '../privacy/accounting.ts'
import { addLoss, type PrivacyLoss } from '../privacy/loss.ts'
import { sha256 } from './canonical.ts'
import { chargeId } from './charge-id.ts'
import { canonicalEvent, eventAmount, eventLoss, FIRST_PREVIOUS_HASH, type LedgerEvent } from './event.ts'
import type {
  AllotOutcome,
  AnalystSpending,
  Budget,
  Charge,
  ChargeOutcome,
  ChargeRecord,
  ChargeRequest,
  EventReference,
  NewAllotment,
  NewBudget,
  NewSession,
  OpenOutcome,
  SessionAnswer,
  SessionQuestion,
  SessionQuestionOutcome,
} from './ledger.ts'
import {
  expectCap,
  expectCount,
  expectPrice,
  expectStorable,
  expectText,
  MAX_COUNT,
  MAX_LEASE_MS,
  MAX_THRESHOLD_NOISE,
  MAX_TIME_MS,
} from './range.ts'

/*
 * The charge protocol: what each call does to a ledger's rows, decided from the rows alone. Stores read rows and write
 * changes; nothing is decided in them. Every call appends to the chain of the one dataset that it changes, so whoever
 * holds the row of a dataset's budget is alone with all of its rows.
 */

/** A dataset's budget and the end of its chain. */
export interface Account {
  readonly dataset: string
  readonly budget: Budget
  /** 0 before the first event. */
  readonly headSequence: number
  readonly headHash: string
}

/** What one analyst has spent of a dataset. */
export interface AnalystAccount extends AnalystSpending {
  readonly dataset: string
}

/** A charge as it is stored, apart from its request. */
export interface StoredCharge {
  readonly id: string
  readonly principal: string
  readonly idempotencyKey: string
  readonly dataset: string
  readonly datasetVersion: string
  readonly requestHash: string
  readonly price: Amount
  readonly state: 'charged' | 'answered' | 'failed' | 'denied'
  /** 0 where it was denied. */
  readonly attempt: number
  /** Milliseconds since 1970, as the others. */
  readonly createdAtMs: number
  readonly leasedAtMs: number
  readonly leaseExpiresAtMs: number
  /** Whether its release may answer others. */
  readonly sharing: boolean
  /** The charge whose release it is answered with. */
  readonly sharedFrom?: string
}

/** A sparse vector session with the charge that opened it, and what its answers amount to. */
export interface SessionRow extends NewSession {
  readonly id: string
  readonly dataset: string
  readonly datasetVersion: string
  readonly principal: string
  readonly answered: number
  readonly positivesFound: number
}

/** Whether and how a question of a session was answered. */
export interface SessionAnswerRow {
  readonly requestHash: string
  readonly answer: string
}

/** A store's rows, as they are before the changes. `undefined` is: there is none. */
export interface Rows {
  account(dataset: string): Account | undefined
  analyst(dataset: string, principal: string): AnalystAccount | undefined
  charge(id: string): StoredCharge | undefined
  /** The stored answer of a charge. */
  answer(id: string): string | undefined
  /** The charge whose release answers a question on a dataset whose analysts share. */
  sharedRelease(dataset: string, requestHash: string): string | undefined
  session(id: string): SessionRow | undefined
  sessionAnswer(session: string, idempotencyKey: string): SessionAnswerRow | undefined
}

/** One event to append, with its place. */
export interface NewEvent extends EventReference {
  readonly dataset: string
  readonly principal: string
  readonly canonical: string
}

/** What calls did to the rows, to be written all together or not at all. */
export interface Changes {
  /** In the order of their datasets. `before` is missing for a new one. */
  readonly accounts: readonly { readonly before?: Account; readonly after: Account }[]
  readonly analysts: readonly { readonly before?: AnalystAccount; readonly after: AnalystAccount }[]
  readonly newCharges: readonly (StoredCharge & { readonly request: string })[]
  readonly changedCharges: readonly { readonly before: StoredCharge; readonly after: StoredCharge }[]
  /** In the order of their sequences. */
  readonly events: readonly NewEvent[]
  readonly releases: readonly { readonly charge: string; readonly answer: string }[]
  readonly sharedReleases: readonly {
    readonly dataset: string
    readonly requestHash: string
    readonly charge: string
  }[]
  readonly sessions: readonly ({ readonly charge: string } & NewSession)[]
  readonly sessionAnswers: readonly SessionAnswer[]
}

/** The calls that change a ledger. */
export interface Protocol {
  openBudget(dataset: string, budget: NewBudget, principal: string): OpenOutcome
  grant(dataset: string, amount: PrivacyLoss, principal: string, reason: string): Budget | undefined
  allot(allotment: NewAllotment): AllotOutcome
  charge(request: ChargeRequest): ChargeOutcome
  recordAnswer(id: string, attempt: number, answer: string): boolean
  recordFailure(id: string, attempt: number): void
  openSession(id: string, attempt: number, answer: string, session: NewSession): boolean
  sessionQuestion(question: SessionQuestion): SessionQuestionOutcome
  recordSessionAnswer(answer: SessionAnswer): boolean
}

/** Calls that follow each other at one moment, and what they change together. */
export interface Work extends Protocol {
  changes(): Changes
}

/** What an event says beyond its place in the chain. */
type EventFacts = Omit<LedgerEvent, 'version' | 'dataset' | 'sequence' | 'previousHash' | 'at' | 'salt'>

/** The chain of a budget that is about to be opened. */
export const BEFORE_FIRST_EVENT = { headSequence: 0, headHash: FIRST_PREVIOUS_HASH }

/**
 * Begin work on a store's rows. A call that throws has changed nothing; the work may go on.
 * @param nowMs milliseconds since 1970, by the clock that all leases of the store go by
 * @param drawSalt gives a text that nobody can guess
 */
export function beginWork(rows: Rows, nowMs: number, drawSalt: () => string = randomUUID): Work {
  if (!Number.isSafeInteger(nowMs) || nowMs < 0 || nowMs + MAX_LEASE_MS > MAX_TIME_MS)
    throw new RangeError('the clock tells no time')
  const at = new Date(nowMs).toISOString()
  const accounts = overlay(rows.account)
  const analysts = overlay((key) => rows.analyst(...splitKey(key)))
  const charges = overlay(rows.charge)
  const sessions = overlay(rows.session)
  const requests = new Map<string, string>()
  const events: NewEvent[] = []
  const releases = new Map<string, string>()
  const sharedReleases = new Map<string, string>()
  const newSessions: Changes['sessions'][number][] = []
  const sessionAnswers = new Map<string, SessionAnswer>()

  function append(dataset: string, facts: EventFacts): EventReference {
    const account = expectThere(accounts.get(dataset))
    const sequence = account.headSequence + 1
    const { headHash: previousHash } = account
    const event = { ...facts, version: 1, dataset, sequence, previousHash, salt: drawSalt(), at } as const
    const canonical = canonicalEvent(event)
    const hash = sha256(canonical)
    events.push({ dataset, sequence, hash, principal: facts.principal, canonical })
    accounts.set(dataset, { ...account, headSequence: sequence, headHash: hash })
    return { sequence, hash }
  }

  function analystOf(account: Account, principal: string): AnalystAccount {
    return analysts.get(joinKey(account.dataset, principal)) ?? newAnalyst(account, principal)
  }

  function openBudget(
    dataset: string,
    { accounting, granted, neighbours }: NewBudget,
    principal: string,
  ): OpenOutcome {
    expectText({ dataset, principal })
    expectCap(granted)
    const existing = accounts.get(dataset)
    if (existing !== undefined) return { kind: 'exists', budget: existing.budget }
    const cap = amountBoughtBy(accounting, granted)
    accounts.set(dataset, {
      dataset,
      budget: { granted, cap, spent: noAmount(accounting) },
      ...BEFORE_FIRST_EVENT,
    })
    append(dataset, {
      kind: 'opened',
      principal,
      ...(accounting === 'zcdp' && { accounting }),
      loss: eventLoss(granted),
      neighbours,
      ...converted(cap),
    })
    return { kind: 'opened' }
  }

  function grant(
    dataset: string,
    amount: PrivacyLoss,
    principal: string,
    reason: string,
  ): Budget | undefined {
    expectText({ dataset, principal, reason })
    expectCap(amount)
    const before = accounts.get(dataset)
    if (before === undefined) return undefined
    const granted = addLoss(before.budget.granted, amount)
    expectCap(granted)
    const bought = amountBoughtBy(before.budget.cap.accounting, granted)
    // A conversion that is sharper or blunter than that of an earlier release must not take back what was granted.
    const cap = coversAmount(bought, before.budget.cap) ? bought : before.budget.cap
    const budget = { ...before.budget, granted, cap }
    accounts.set(dataset, { ...before, budget })
    append(dataset, { kind: 'granted', principal, loss: eventLoss(amount), ...converted(cap), reason })
    return budget
  }

  function allot({ dataset, analyst, granted, principal, reason }: NewAllotment): AllotOutcome {
    expectText({ dataset, analyst, principal, reason })
    if (granted !== undefined) expectCap(granted)
    const account = accounts.get(dataset)
    if (account === undefined) return { kind: 'no-budget' }
    const { allotment: _, ...before } = analystOf(account, analyst)
    if (granted === undefined) {
      analysts.set(joinKey(dataset, analyst), before)
      append(dataset, { kind: 'allotted', principal, analyst, reason })
      return { kind: 'allotted', analyst: spendingOf(before) }
    }
    const limit = isNothing(granted) ? before.spent : amountBoughtBy(account.budget.cap.accounting, granted)
    if (!coversAmount(limit, before.spent)) {
      return { kind: 'below-spent', analyst: spendingOf(analystOf(account, analyst)) }
    }
    // What is spent of epsilon and delta says itself what was granted.
    const recorded = limit.accounting === 'basic' ? lossOf(limit) : granted
    const after = { ...before, allotment: { granted: recorded, limit } }
    analysts.set(joinKey(dataset, analyst), after)
    append(dataset, {
      kind: 'allotted',
      principal,
      analyst,
      loss: eventLoss(recorded),
      ...converted(limit),
      reason,
    })
    return { kind: 'allotted', analyst: spendingOf(after) }
  }

  function charge(request: ChargeRequest): ChargeOutcome {
    expectChargeRequest(request)
    const id = chargeId(request.principal, request.idempotencyKey)
    const earlier = charges.get(id)
    if (earlier === undefined) return debit(id, request, undefined)
    if (earlier.principal !== request.principal || earlier.idempotencyKey !== request.idempotencyKey) {
      throw new Error('two idempotency keys have the same charge id')
    }
    if (!isSameQuestion(earlier, request)) return { kind: 'key-reused' }
    switch (earlier.state) {
      case 'denied':
        return request.keyChosen ? denial(earlier, request) : debit(id, request, earlier)
      case 'answered':
        return { kind: 'answered', id, answer: expectThere(answerOf(id)) }
      case 'charged':
        // A lease that begins in the future was given before the clock was set back; how much of it is left nobody
        // knows.
        return nowMs >= earlier.leasedAtMs && nowMs < earlier.leaseExpiresAtMs
          ? { kind: 'in-flight', retryAfterMs: earlier.leaseExpiresAtMs - nowMs }
          : retry(earlier, request)
      case 'failed':
        return retry(earlier, request)
    }
  }

  function debit(id: string, request: ChargeRequest, denied: StoredCharge | undefined): ChargeOutcome {
    const { dataset, principal, requestHash, datasetVersion, price } = request
    const account = accounts.get(dataset)
    if (account === undefined) return { kind: 'no-budget' }
    const { budget } = account
    if (price.accounting !== budget.cap.accounting)
      throw new RangeError('a price is counted as its dataset is')
    const sharedFrom = request.sharing && !request.keyChosen ? releaseOfAnother(request) : undefined
    const analyst = analystOf(account, principal)
    const short = shortOf(budget, analyst, price, sharedFrom !== undefined)
    const row: StoredCharge = {
      id,
      principal,
      idempotencyKey: request.idempotencyKey,
      dataset,
      datasetVersion,
      requestHash,
      price,
      state: short === undefined ? 'charged' : 'denied',
      attempt: short === undefined ? 1 : 0,
      createdAtMs: denied?.createdAtMs ?? nowMs,
      leasedAtMs: nowMs,
      leaseExpiresAtMs: short === undefined ? nowMs + request.leaseMs : nowMs,
      sharing: request.sharing,
      ...(short === undefined && sharedFrom !== undefined && { sharedFrom }),
    }
    const facts = { principal, chargeId: id, requestHash, datasetVersion, loss: eventAmount(price) }
    if (denied === undefined) requests.set(id, request.request)
    if (short !== undefined) {
      // What was denied before is on record, and stays what it was.
      if (denied === undefined) {
        charges.set(id, row)
        append(dataset, { kind: 'denied', ...facts })
      }
      return { kind: 'denied', by: short, sticks: false, budget, analyst: spendingOf(analyst) }
    }
    charges.set(id, row)
    analysts.set(joinKey(dataset, principal), {
      ...analyst,
      spent: addAmounts(analyst.spent, price),
      ...(sharedFrom !== undefined && { spentOnShared: addAmounts(analyst.spentOnShared, price) }),
    })
    if (sharedFrom === undefined) {
      accounts.set(dataset, { ...account, budget: { ...budget, spent: addAmounts(budget.spent, price) } })
    }
    const event =
      sharedFrom === undefined
        ? append(dataset, { ...facts, kind: 'charged', attempt: 1 })
        : append(dataset, { ...facts, kind: 'shared', attempt: 1, sharedFrom })
    return attemptOf(row, event)
  }

  /** The sticking denial of a key, with the budgets as they are now. */
  function denial({ dataset }: StoredCharge, { price, principal }: ChargeRequest): ChargeOutcome {
    const account = expectThere(accounts.get(dataset))
    const analyst = analystOf(account, principal)
    const by =
      price.accounting === account.budget.cap.accounting
        ? shortOf(account.budget, analyst, price, false)
        : undefined
    const left = { budget: account.budget, analyst: spendingOf(analyst) }
    return { kind: 'denied', by: by ?? 'dataset', sticks: true, ...left }
  }

  function retry(earlier: StoredCharge, request: ChargeRequest): ChargeOutcome {
    const { datasetVersion, principal } = request
    const attempt = earlier.attempt + 1
    const row: StoredCharge = {
      ...earlier,
      state: 'charged',
      attempt,
      datasetVersion,
      leasedAtMs: nowMs,
      leaseExpiresAtMs: nowMs + request.leaseMs,
    }
    charges.set(earlier.id, row)
    const event = append(earlier.dataset, {
      kind: 'retried',
      principal,
      chargeId: earlier.id,
      attempt,
      datasetVersion,
    })
    return attemptOf(row, event)
  }

  function attemptOf({ id, attempt, dataset, principal, sharedFrom }: StoredCharge, event: EventReference) {
    const account = expectThere(accounts.get(dataset))
    const analyst = spendingOf(analystOf(account, principal))
    const charge: Charge = { id, attempt, budget: account.budget, analyst, event }
    if (sharedFrom === undefined) return { kind: 'charged', charge } as const
    return { kind: 'shared', charge, shared: expectThere(releaseWith(sharedFrom)) } as const
  }

  function answerOf(id: string): string | undefined {
    return releases.get(id) ?? rows.answer(id)
  }

  function sharedReleaseOf(dataset: string, requestHash: string): string | undefined {
    return sharedReleases.get(joinKey(dataset, requestHash)) ?? rows.sharedRelease(dataset, requestHash)
  }

  function releaseOfAnother({ dataset, requestHash, principal }: ChargeRequest): string | undefined {
    const id = sharedReleaseOf(dataset, requestHash)
    if (id === undefined) return undefined
    const source = expectThere(charges.get(id))
    if (source.dataset !== dataset || source.requestHash !== requestHash)
      throw new Error('the release to share answers another question')
    return source.principal === principal ? undefined : id
  }

  function releaseWith(id: string) {
    const { dataset, principal } = expectThere(charges.get(id))
    return { id, dataset, principal, answer: expectThere(answerOf(id)) }
  }

  function recordAnswer(id: string, attempt: number, answer: string): boolean {
    return endWithAnswer(id, attempt, answer)
  }

  function endWithAnswer(id: string, attempt: number, answer: string): boolean {
    expectText({ id })
    expectStorable('answer', answer)
    const row = underWay(id, attempt)
    if (row === undefined) return false
    const { dataset, principal, requestHash, sharing, sharedFrom } = row
    charges.set(id, { ...row, state: 'answered' })
    releases.set(id, answer)
    // Who shares a release is answered with the first there was: later draws would let an average grow cheap.
    if (sharing && sharedFrom === undefined && sharedReleaseOf(dataset, requestHash) === undefined)
      sharedReleases.set(joinKey(dataset, requestHash), id)
    append(dataset, { kind: 'answered', principal, chargeId: id, attempt, answerHash: sha256(answer) })
    return true
  }

  function recordFailure(id: string, attempt: number): void {
    expectText({ id })
    const row = underWay(id, attempt)
    if (row === undefined) return
    charges.set(id, { ...row, state: 'failed' })
    append(row.dataset, { kind: 'failed', principal: row.principal, chargeId: id, attempt })
  }

  /** The charge, where the attempt is its latest and has not ended. */
  function underWay(id: string, attempt: number): StoredCharge | undefined {
    expectCount('attempt', attempt, MAX_COUNT)
    const row = charges.get(id)
    return row?.state === 'charged' && row.attempt === attempt ? row : undefined
  }

  function openSession(id: string, attempt: number, answer: string, session: NewSession): boolean {
    const { positives, terms, thresholdNoise } = session
    expectText({ terms })
    expectCount('positives', positives, MAX_COUNT)
    if (thresholdNoise < -MAX_THRESHOLD_NOISE || thresholdNoise > MAX_THRESHOLD_NOISE) {
      throw new RangeError("a threshold's noise is out of range")
    }
    if (!endWithAnswer(id, attempt, answer)) return false
    const { dataset, datasetVersion, principal } = expectThere(charges.get(id))
    newSessions.push({ charge: id, positives, terms, thresholdNoise })
    sessions.set(id, {
      id,
      dataset,
      datasetVersion,
      principal,
      positives,
      terms,
      thresholdNoise,
      answered: 0,
      positivesFound: 0,
    })
    return true
  }

  function sessionQuestion(question: SessionQuestion): SessionQuestionOutcome {
    const { session, idempotencyKey, requestHash } = question
    expectText({ session, idempotencyKey, requestHash })
    const found = sessions.get(session)
    if (found === undefined) return { kind: 'no-session' }
    const stored =
      sessionAnswers.get(joinKey(session, idempotencyKey)) ?? rows.sessionAnswer(session, idempotencyKey)
    if (stored !== undefined) {
      return stored.requestHash === requestHash
        ? { kind: 'answered', answer: stored.answer }
        : { kind: 'key-reused' }
    }
    const { dataset, answered, positives, positivesFound, terms, thresholdNoise } = found
    if (positivesFound >= positives) return { kind: 'used-up' }
    const { headSequence, headHash } = expectThere(accounts.get(dataset))
    const head = { sequence: headSequence, hash: headHash }
    return { kind: 'open', question: answered + 1, positivesFound, head, positives, terms, thresholdNoise }
  }

  function recordSessionAnswer(recorded: SessionAnswer): boolean {
    const { session, question, idempotencyKey, requestHash, request, above, answer } = recorded
    expectText({ request })
    expectStorable('answer', answer)
    expectCount('question', question, MAX_COUNT)
    const outcome = sessionQuestion(recorded)
    if (outcome.kind !== 'open' || outcome.question !== question) return false
    const found = expectThere(sessions.get(session))
    sessions.set(session, {
      ...found,
      answered: question,
      positivesFound: found.positivesFound + (above ? 1 : 0),
    })
    sessionAnswers.set(joinKey(session, idempotencyKey), recorded)
    append(found.dataset, {
      kind: 'session-answered',
      principal: found.principal,
      chargeId: session,
      question,
      requestHash,
      answerHash: sha256(answer),
    })
    return true
  }

  function changes(): Changes {
    const chargeChanges = charges.changes()
    return {
      accounts: accounts.changes().sort((a, b) => (a.after.dataset < b.after.dataset ? -1 : 1)),
      analysts: analysts.changes(),
      newCharges: chargeChanges.flatMap(({ before, after }) =>
        before === undefined ? [{ ...after, request: expectThere(requests.get(after.id)) }] : [],
      ),
      changedCharges: chargeChanges.flatMap(({ before, after }) =>
        before === undefined ? [] : [{ before, after }],
      ),
      events,
      releases: [...releases].map(([id, answer]) => ({ charge: id, answer })),
      sharedReleases: [...sharedReleases].map(([key, id]) => {
        const [dataset, requestHash] = splitKey(key)
        return { dataset, requestHash, charge: id }
      }),
      sessions: newSessions,
      sessionAnswers: [...sessionAnswers.values()],
    }
  }

  return {
    openBudget,
    grant,
    allot,
    charge,
    recordAnswer,
    recordFailure,
    openSession,
    sessionQuestion,
    recordSessionAnswer,
    changes,
  }
}

/** Rows as they are with the changes so far. */
function overlay<Row>(read: (key: string) => Row | undefined) {
  const entries = new Map<string, { readonly before: Row | undefined; after: Row | undefined }>()
  function entryOf(key: string) {
    const known = entries.get(key)
    if (known !== undefined) return known
    const entry = { before: read(key), after: undefined }
    entries.set(key, entry)
    return entry
  }
  return {
    get(key: string): Row | undefined {
      const { before, after } = entryOf(key)
      return after ?? before
    },
    set(key: string, row: Row): void {
      entryOf(key).after = row
    },
    changes: (): { readonly before?: Row; readonly after: Row }[] =>
      [...entries.values()].flatMap(({ before, after }) => {
        if (after === undefined) return []
        return before === undefined ? [{ after }] : [{ before, after }]
      }),
  }
}

/** Two texts as one key; the first has no NUL, as {@link expectStorable} sees to. */
function joinKey(first: string, second: string): string {
  return `${first}\0${second}`
}

function splitKey(key: string): [string, string] {
  const end = key.indexOf('\0')
  return [key.slice(0, end), key.slice(end + 1)]
}

/** What does not suffice for a price. Without an allotment an analyst's limit is the dataset's cap. */
function shortOf(
  { cap, spent }: Budget,
  analyst: AnalystSpending,
  price: Amount,
  shared: boolean,
): 'dataset' | 'allotment' | undefined {
  if (!shared && !coversAmount(subtractAmounts(cap, spent), price)) return 'dataset'
  const limit = analyst.allotment?.limit ?? cap
  return coversAmount(limit, addAmounts(analyst.spent, price)) ? undefined : 'allotment'
}

/**
 * A key stands for one question about one dataset. Before it is answered it also stands for one price: an answer that
 * would cost more, or less, than what was debited must not be computed under that debit.
 */
function isSameQuestion(earlier: StoredCharge, request: ChargeRequest): boolean {
  if (earlier.requestHash !== request.requestHash || earlier.dataset !== request.dataset) return false
  if (earlier.state === 'answered' || earlier.state === 'denied') return true
  return isSameAmount(earlier.price, request.price)
}

function isNothing({ epsilonNano, deltaAtto }: PrivacyLoss): boolean {
  return epsilonNano === 0n && deltaAtto === 0n
}

function lossOf({ epsilonNano, deltaAtto }: PrivacyLoss): PrivacyLoss {
  return { epsilonNano, deltaAtto }
}

/** What a grant buys, where that is not the grant itself. */
function converted(amount: Amount): Pick<LedgerEvent, 'limit'> {
  return amount.accounting === 'basic' ? {} : { limit: eventAmount(amount) }
}

/** Who has neither spent anything nor an allotment. */
export function newAnalyst({ dataset, budget }: Account, principal: string): AnalystAccount {
  const nothing = noAmount(budget.cap.accounting)
  return { dataset, principal, spent: nothing, spentOnShared: nothing }
}

/** An analyst's account as the ledger's callers see it. */
export function spendingOf(analyst: AnalystAccount): AnalystSpending {
  const { principal, allotment, spent, spentOnShared } = analyst
  return { principal, spent, spentOnShared, ...(allotment !== undefined && { allotment }) }
}

/** A charge as it is held against the events. */
export function recordOf(charge: StoredCharge, answerHash: string | undefined): ChargeRecord {
  const { id, dataset, principal, requestHash, price, state, attempt, sharedFrom } = charge
  return {
    ...{ id, dataset, principal, requestHash, price, state, attempt },
    ...(sharedFrom !== undefined && { sharedFrom }),
    ...(answerHash !== undefined && { answerHash }),
  }
}

function expectChargeRequest(request: ChargeRequest): void {
  const { dataset, datasetVersion, principal, idempotencyKey, requestHash, price } = request
  expectText({ dataset, datasetVersion, principal, idempotencyKey, requestHash, request: request.request })
  expectPrice(price)
  expectCount('leaseMs', request.leaseMs, MAX_LEASE_MS)
}

function expectThere<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the ledger misses a row that must be there')
  return value
}
