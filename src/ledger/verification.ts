import {
  type Amount,
  addAmounts,
  amountBoughtBy,
  coversAmount,
  isSameAmount,
  noAmount,
  subtractAmounts,
} from '../privacy/accounting.ts'
import { addLoss, coversLoss, NO_LOSS, type PrivacyLoss } from '../privacy/loss.ts'
import { canonicalJson, sha256 } from './canonical.ts'
import {
  amountFromEvent,
  eventAmount,
  eventLoss,
  FIRST_PREVIOUS_HASH,
  type LedgerEvent,
  lossFromEvent,
} from './event.ts'
import type { AnalystSpending, Budget, ChargeRecord, Ledger, StoredEvent } from './ledger.ts'

/** The result of verifying a dataset's events from the first one on. */
export type Verification =
  | {
      readonly kind: 'sound'
      readonly events: number
      /** Hash of the last event; {@link FIRST_PREVIOUS_HASH} if there are none. */
      readonly headHash: string
      /** Computed from the events alone. */
      readonly budget: Budget
      /** Computed from the events alone, ordered by principal. */
      readonly spending: readonly AnalystSpending[]
    }
  /** Sequence of the first event that is not a valid successor of those before it. */
  | { readonly kind: 'broken'; readonly sequence: number; readonly reason: string }

/** Verifies events one at a time, oldest first. */
export interface Verifier {
  /** Verifies the next event. Events after a broken one are ignored. */
  add(event: StoredEvent): void
  result(): Verification
  /** Every charge that was debited or denied, by id. */
  readonly charges: ReadonlyMap<string, Readonly<KnownCharge>>
}

/** A charge, as far as the events so far describe it. */
interface KnownCharge {
  readonly principal: string
  readonly requestHash: string | undefined
  readonly price: Amount
  readonly sharedFrom: string | undefined
  /** 0 for a denied charge. */
  attempt: number
  state: ChargeRecord['state']
  answerHash: string | undefined
  readonly sessionAnswerHashes: string[]
  /** Sequence of the last event of this charge. */
  sequence: number
}

/**
 * Creates a verifier that recomputes a dataset's hash chain and its balances from its events. Every event must be
 * canonical, match its hash, name its own sequence and the hash before it, and be possible at that point. Missing
 * events at the end can only be detected with a head that was recorded elsewhere.
 */
export function createVerifier(dataset: string): Verifier {
  const charges = new Map<string, KnownCharge>()
  const analysts = new Map<string, AnalystSpending>()
  const nothing = noAmount('basic')
  let events = 0
  let headHash = FIRST_PREVIOUS_HASH
  let budget: Budget = { granted: NO_LOSS, cap: nothing, spent: nothing }
  let broken: Extract<Verification, { kind: 'broken' }> | undefined

  function reasonAgainst({ canonical, hash }: StoredEvent): string | undefined {
    const event = parse(canonical)
    if (event === undefined) return 'the text is not a canonical event'
    if (sha256(canonical) !== hash) return 'the hash does not match the event'
    if (event.dataset !== dataset) return 'the event belongs to another dataset'
    if (event.sequence !== events + 1) return `the event has sequence ${event.sequence}`
    if (event.previousHash !== headHash) return 'the previous hash does not match the event before it'
    try {
      return reasonAgainstHappening(event)
    } catch {
      return 'the event has no valid amount'
    }
  }

  function reasonAgainstHappening(event: LedgerEvent): string | undefined {
    const opens = event.kind === 'opened'
    if (opens !== (events === 0)) return opens ? 'the budget is already open' : 'the budget is not open'
    switch (event.kind) {
      case 'opened': {
        const accounting = event.accounting ?? 'basic'
        if (accounting !== 'basic' && accounting !== 'zcdp') return 'the accounting is unknown'
        if (![undefined, 'add-remove', 'change-one'].includes(event.neighbours))
          return 'the neighbours are unknown'
        budget = { granted: NO_LOSS, cap: noAmount(accounting), spent: noAmount(accounting) }
        return raise(event)
      }
      case 'granted':
        return raise(event)
      case 'allotted':
        return allot(event)
      case 'denied':
        return deny(event)
      case 'charged':
      case 'shared':
        return charge(event)
      case 'retried':
      case 'answered':
      case 'failed':
      case 'session-answered':
        return follow(event)
      default:
        return `the event has the unknown kind ${JSON.stringify(event.kind satisfies never)}`
    }
  }

  function raise(event: LedgerEvent): string | undefined {
    const granted = addLoss(budget.granted, lossFromEvent(event.loss))
    const cap = limitOf(event, granted)
    if (!coversAmount(cap, budget.cap)) return 'the event lowers the cap'
    // A cap stays if an earlier release converted to more.
    const bought = isSameAmount(cap, budget.cap) || coversAmount(amountBoughtBy(cap.accounting, granted), cap)
    if (!bought) return 'the cap is more than the grants buy'
    budget = { ...budget, granted, cap }
    return undefined
  }

  function allot(event: LedgerEvent): string | undefined {
    const { analyst, loss } = event
    if (analyst === undefined) return 'the allotment names no analyst'
    const { allotment: _, ...before } = spendingOf(analyst)
    if (loss === undefined) {
      analysts.set(analyst, before)
      return undefined
    }
    const granted = lossFromEvent(loss)
    const limit = limitOf(event, granted)
    // An allotment of 0 limits the analyst to what they have spent.
    const stops = granted.epsilonNano === 0n && granted.deltaAtto === 0n && isSameAmount(limit, before.spent)
    if (!stops && !coversAmount(amountBoughtBy(limit.accounting, granted), limit))
      return 'the limit is more than the grant buys'
    if (!coversAmount(limit, before.spent)) return 'the allotment is below what the analyst has spent'
    analysts.set(analyst, { ...before, allotment: { granted, limit } })
    return undefined
  }

  /** The amount that an event's loss buys in this budget. */
  function limitOf(event: LedgerEvent, granted: PrivacyLoss): Amount {
    const { accounting } = budget.cap
    if (accounting === 'basic') return amountBoughtBy(accounting, granted)
    const limit = amountFromEvent(event.limit)
    if (limit.accounting !== accounting)
      throw new RangeError('the event has no limit in the units of the accounting')
    return limit
  }

  function deny(event: LedgerEvent): string | undefined {
    if (event.chargeId === undefined) return 'the denial names no charge'
    const known = charges.get(event.chargeId)
    if (known !== undefined) return known.state === 'denied' ? undefined : 'a paid charge is denied'
    know(event.chargeId, event, 'denied')
    return undefined
  }

  function know(id: string, event: LedgerEvent, state: 'charged' | 'denied'): void {
    const { principal, requestHash, sharedFrom, loss } = event
    charges.set(id, {
      principal,
      requestHash,
      price: amountFromEvent(loss),
      sharedFrom,
      attempt: state === 'denied' ? 0 : 1,
      state,
      answerHash: undefined,
      sessionAnswerHashes: [],
      sequence: events + 1,
    })
  }

  function charge(event: LedgerEvent): string | undefined {
    const { kind, chargeId, principal, requestHash, sharedFrom } = event
    if (chargeId === undefined || (charges.get(chargeId)?.state ?? 'denied') !== 'denied')
      return 'the charge is already debited'
    const price = amountFromEvent(event.loss)
    const analyst = spendingOf(principal)
    const spent = addAmounts(analyst.spent, price)
    if (!coversAmount(analyst.allotment?.limit ?? budget.cap, spent)) return 'the allotment is exceeded'
    if (kind === 'shared') {
      const source = charges.get(sharedFrom ?? '')
      if (source?.state !== 'answered' || source.requestHash !== requestHash)
        return 'the shared release does not exist'
      analysts.set(principal, { ...analyst, spent, spentOnShared: addAmounts(analyst.spentOnShared, price) })
    } else {
      if (!coversAmount(subtractAmounts(budget.cap, budget.spent), price)) return 'the cap is exceeded'
      budget = { ...budget, spent: addAmounts(budget.spent, price) }
      analysts.set(principal, { ...analyst, spent })
    }
    know(chargeId, event, 'charged')
    return undefined
  }

  function spendingOf(principal: string): AnalystSpending {
    const none = noAmount(budget.cap.accounting)
    return analysts.get(principal) ?? { principal, spent: none, spentOnShared: none }
  }

  function follow(event: LedgerEvent): string | undefined {
    const { kind, chargeId, principal, attempt, question, answerHash } = event
    const known = charges.get(chargeId ?? '')
    if (known === undefined || known.state === 'denied')
      return 'the event refers to a charge that does not exist'
    if (known.principal !== principal) return 'the charge belongs to another principal'
    known.sequence = events + 1
    if (kind === 'session-answered') {
      if (known.state !== 'answered' || question !== known.sessionAnswerHashes.length + 1)
        return 'the question is not the next of its session'
      if (answerHash === undefined) return 'the answer has no hash'
      known.sessionAnswerHashes.push(answerHash)
      return undefined
    }
    if (known.state === 'answered') return 'the charge is already answered'
    if (kind === 'retried') {
      if (attempt !== known.attempt + 1) return 'the attempt is not the next of its charge'
      known.attempt = attempt
      known.state = 'charged'
      return undefined
    }
    if (attempt !== known.attempt || known.state !== 'charged')
      return 'the event does not end the latest attempt'
    if (kind === 'answered' && answerHash === undefined) return 'the answer has no hash'
    known.state = kind === 'answered' ? 'answered' : 'failed'
    known.answerHash = answerHash
    return undefined
  }

  return {
    add(event) {
      if (broken !== undefined) return
      const reason = reasonAgainst(event)
      if (reason !== undefined) {
        broken = { kind: 'broken', sequence: events + 1, reason }
        return
      }
      events += 1
      headHash = event.hash
    },
    charges,
    result: () => broken ?? { kind: 'sound', events, headHash, budget, spending: inOrder(analysts.values()) },
  }
}

/** Number of events read at a time. */
export const EVENTS_PAGE = 1_000

/** Number of records read at a time. Each may have a large answer, and the store is busy while it reads them. */
const RECORDS_PAGE = 64

type Broken = Extract<Verification, { kind: 'broken' }>
type Readable = Pick<Ledger, 'head' | 'events' | 'chargeRecords' | 'sessionAnswers'>

/**
 * Verifies all events of a dataset in a live ledger, and compares them with the stored balances, charges and answers.
 * Events that are appended during the call are left to the next one.
 * @param counts {@link Ledger.chargeCounts}, read before the call. Without it, charges that have no event are not
 *    detected, because counting charges delays a ledger in use.
 * @returns `undefined` if the dataset has no budget.
 */
export async function verifyLedger(
  ledger: Readable,
  dataset: string,
  counts?: ReadonlyMap<string, number>,
): Promise<Verification | undefined> {
  const head = await ledger.head(dataset)
  if (head === undefined) return undefined
  const verifier = createVerifier(dataset)
  await follow(ledger, dataset, verifier, { after: 0, upTo: head.sequence })
  const result = verifier.result()
  if (result.kind === 'broken') return result
  const { events: sequence } = result
  if (sequence !== head.sequence || result.headHash !== head.hash)
    return { kind: 'broken', sequence: sequence + 1, reason: 'the events do not end with the head' }
  const reason = reasonAgainstBalances(result, head)
  if (reason !== undefined) return { kind: 'broken', sequence, reason }
  // They were counted before the head was read, so each of them has an event up to it.
  if ((counts?.get(dataset) ?? 0) > verifier.charges.size)
    return { kind: 'broken', sequence, reason: 'a stored charge has no event' }
  return (await firstBrokenCharge(ledger, dataset, verifier, sequence)) ?? result
}

async function follow(
  ledger: Pick<Ledger, 'events'>,
  dataset: string,
  verifier: Verifier,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Promise<void> {
  for (let afterSequence = after; afterSequence < upTo; ) {
    const limit = Math.min(EVENTS_PAGE, upTo - afterSequence)
    const page = await ledger.events(dataset, { limit, afterSequence })
    if (page.length === 0) break
    for (const event of page) verifier.add(event)
    afterSequence += page.length
  }
}

/** Finds the charge with the earliest last event among those whose records differ from the events. */
async function firstBrokenCharge(
  ledger: Readable,
  dataset: string,
  verifier: Verifier,
  sequence: number,
): Promise<Broken | undefined> {
  const ids = [...verifier.charges.keys()]
  const broken: Broken[] = []
  const unlike: { id: string; before: Readonly<KnownCharge>; record: ChargeRecord | undefined }[] = []
  for (let start = 0; start < ids.length; start += RECORDS_PAGE) {
    const page = ids.slice(start, start + RECORDS_PAGE)
    const records = await readRecords(ledger, page)
    for (const id of page) {
      const charge = verifier.charges.get(id)
      if (charge === undefined) continue
      const record = records.get(id)
      if (record === 'unreadable')
        broken.push({ kind: 'broken', sequence: charge.sequence, reason: 'the stored charge cannot be read' })
      else if (reasonAgainstRecord(dataset, charge, charge, record) !== undefined)
        unlike.push({ id, before: { ...charge }, record })
      if (!(await isSessionSound(ledger, id, charge.sessionAnswerHashes)))
        broken.push({
          kind: 'broken',
          sequence: charge.sequence,
          reason: 'a stored answer does not match its hash',
        })
    }
  }
  if (unlike.length > 0) {
    // A charge may have changed since its events were read. Later events show it.
    const upTo = (await ledger.head(dataset))?.sequence ?? sequence
    await follow(ledger, dataset, verifier, { after: sequence, upTo })
    const later = verifier.result()
    if (later.kind === 'broken') broken.push(later)
  }
  for (const { id, before, record } of unlike) {
    const reason = reasonAgainstRecord(dataset, before, verifier.charges.get(id) ?? before, record)
    if (reason !== undefined) broken.push({ kind: 'broken', sequence: before.sequence, reason })
  }
  return broken.reduce<Broken | undefined>(
    (first, each) => (first === undefined || each.sequence < first.sequence ? each : first),
    undefined,
  )
}

/** Reads records by id. A record that the store cannot parse does not hide the others. */
async function readRecords(
  ledger: Pick<Ledger, 'chargeRecords'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ChargeRecord | 'unreadable'>> {
  try {
    return new Map((await ledger.chargeRecords(ids)).map((record) => [record.id, record]))
  } catch (error) {
    // An invalid value throws one of these. Any other error is a failure of the store, not of a row.
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    if (ids.length === 1) return new Map(ids.map((id) => [id, 'unreadable']))
    const records = new Map<string, ChargeRecord | 'unreadable'>()
    for (const each of ids)
      for (const [id, record] of await readRecords(ledger, [each])) records.set(id, record)
    return records
  }
}

async function isSessionSound(
  ledger: Pick<Ledger, 'sessionAnswers'>,
  id: string,
  hashes: readonly string[],
): Promise<boolean> {
  for (let beforeQuestion = hashes.length + 1; beforeQuestion > 1; ) {
    const page = await ledger.sessionAnswers(id, { limit: EVENTS_PAGE, beforeQuestion })
    if (page.length === 0) return false
    for (const { question, answer } of page) {
      beforeQuestion -= 1
      if (question !== beforeQuestion || sha256(answer) !== hashes[question - 1]) return false
    }
  }
  return true
}

/**
 * Compares a record with its charge. The record was read after `before` and before `now`.
 * @param before the charge according to the events read before the record
 * @param now the charge according to the events read since
 */
function reasonAgainstRecord(
  dataset: string,
  before: Readonly<KnownCharge>,
  now: Readonly<KnownCharge>,
  record: ChargeRecord | undefined,
): string | undefined {
  if (record === undefined) return 'the charge is not stored'
  const same =
    record.dataset === dataset &&
    record.principal === now.principal &&
    record.requestHash === now.requestHash &&
    record.sharedFrom === now.sharedFrom &&
    isSameAmount(record.price, now.price)
  if (!same) return 'the stored charge differs from its events'
  const follows =
    record.attempt === before.attempt
      ? before.state === 'charged' || record.state === before.state
      : record.attempt > before.attempt && before.state !== 'answered'
  const precedes =
    record.attempt === now.attempt
      ? record.state === 'charged' || record.state === now.state
      : record.attempt < now.attempt && record.state !== 'answered'
  if (!follows || !precedes) return 'the state of the stored charge differs from its events'
  return record.answerHash === (record.state === 'answered' ? now.answerHash : undefined)
    ? undefined
    : 'a stored answer does not match its hash'
}

interface Balances {
  readonly budget: Budget
  readonly spending: readonly AnalystSpending[]
}

function reasonAgainstBalances(events: Balances, store: Balances): string | undefined {
  const { granted, cap, spent } = events.budget
  const same =
    coversLoss(granted, store.budget.granted) &&
    coversLoss(store.budget.granted, granted) &&
    isSameAmount(cap, store.budget.cap) &&
    isSameAmount(spent, store.budget.spent)
  if (!same) return 'the stored balances differ from the events'
  return canonicalJson(store.spending.map(spelled)) === canonicalJson(events.spending.map(spelled))
    ? undefined
    : 'the stored spending of the analysts differs from the events'
}

function spelled(spending: AnalystSpending) {
  const { principal, allotment, spent, spentOnShared } = spending
  return [
    principal,
    allotment === undefined ? null : [eventLoss(allotment.granted), eventAmount(allotment.limit)],
    eventAmount(spent),
    eventAmount(spentOnShared),
  ]
}

/** Sorts by the UTF-8 of the names, as stores do. The order of JavaScript strings differs beyond U+FFFF. */
function inOrder(spending: Iterable<AnalystSpending>): AnalystSpending[] {
  return [...spending].sort((a, b) => Buffer.compare(Buffer.from(a.principal), Buffer.from(b.principal)))
}

function parse(canonical: string): LedgerEvent | undefined {
  try {
    const event: LedgerEvent = JSON.parse(canonical)
    return canonicalJson(event) === canonical && event.version === 1 ? event : undefined
  } catch {
    return undefined
  }
}
