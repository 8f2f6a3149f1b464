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

/** What following a dataset's events from the first on has found. */
export type Verification =
  | {
      readonly kind: 'sound'
      readonly events: number
      /** The hash of the last event; without events the `previousHash` of a first one. */
      readonly headHash: string
      /** As the events alone tell. */
      readonly budget: Budget
      /** Who spent what, as the events alone tell, in the order of their names. */
      readonly spending: readonly AnalystSpending[]
    }
  /** The first event that does not fit those before it, by its place: 1 for the first. */
  | { readonly kind: 'broken'; readonly sequence: number; readonly reason: string }

/** Follows events one after the other; they may come in pages. */
export interface Verifier {
  /** Takes the next event. Once one is broken, nothing more is looked at. */
  add(event: StoredEvent): void
  result(): Verification
  /** Every charge that was paid or denied, by its id. */
  readonly charges: ReadonlyMap<string, Readonly<KnownCharge>>
}

/** What is known of a charge from the events so far. */
interface KnownCharge {
  readonly principal: string
  readonly requestHash: string | undefined
  readonly price: Amount
  readonly sharedFrom: string | undefined
  /** 0 where it was denied. */
  attempt: number
  state: ChargeRecord['state']
  answerHash: string | undefined
  readonly sessionAnswerHashes: string[]
  /** Of the last event that told of it. */
  sequence: number
}

/**
 * Recomputes a dataset's hash chain and its balances from its events: every text is canonical and has its hash, names the
 * hash before it and its own place, and is an event that could happen then. Whether events are missing at the end only a
 * head that was noted elsewhere can tell.
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
    if (event === undefined) return 'the text is no canonical event'
    if (sha256(canonical) !== hash) return 'the hash is not that of the event'
    if (event.dataset !== dataset) return 'the event is of another dataset'
    if (event.sequence !== events + 1) return `the event says that it is number ${event.sequence}`
    if (event.previousHash !== headHash) return 'the event follows another than the one before it'
    try {
      return reasonAgainstHappening(event)
    } catch {
      return 'the event has no amount, or one that cannot be'
    }
  }

  function reasonAgainstHappening(event: LedgerEvent): string | undefined {
    const opens = event.kind === 'opened'
    if (opens !== (events === 0)) return opens ? 'a budget is opened once' : 'the budget was not opened'
    switch (event.kind) {
      case 'opened': {
        const accounting = event.accounting ?? 'basic'
        if (accounting !== 'basic' && accounting !== 'zcdp') return 'the accounting is none'
        if (![undefined, 'add-remove', 'change-one'].includes(event.neighbours))
          return 'the neighbours are none'
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
        return `there is no event of the kind ${JSON.stringify(event.kind satisfies never)}`
    }
  }

  function raise(event: LedgerEvent): string | undefined {
    const granted = addLoss(budget.granted, lossFromEvent(event.loss))
    const cap = limitOf(event, granted)
    if (!coversAmount(cap, budget.cap)) return 'a cap is never lowered'
    // A cap that an earlier, sharper conversion gave stays.
    const bought = isSameAmount(cap, budget.cap) || coversAmount(amountBoughtBy(cap.accounting, granted), cap)
    if (!bought) return 'the grants do not buy the cap'
    budget = { ...budget, granted, cap }
    return undefined
  }

  function allot(event: LedgerEvent): string | undefined {
    const { analyst, loss } = event
    if (analyst === undefined) return 'an allotment is an analyst’s'
    const { allotment: _, ...before } = spendingOf(analyst)
    if (loss === undefined) {
      analysts.set(analyst, before)
      return undefined
    }
    const granted = lossFromEvent(loss)
    const limit = limitOf(event, granted)
    // An allotment of nothing is one of what was spent before, and no more.
    const stops = granted.epsilonNano === 0n && granted.deltaAtto === 0n && isSameAmount(limit, before.spent)
    if (!stops && !coversAmount(amountBoughtBy(limit.accounting, granted), limit))
      return 'the grant does not buy the limit'
    if (!coversAmount(limit, before.spent)) return 'more than the allotment was spent before'
    analysts.set(analyst, { ...before, allotment: { granted, limit } })
    return undefined
  }

  /** What an event says that a loss buys in this budget. */
  function limitOf(event: LedgerEvent, granted: PrivacyLoss): Amount {
    const { accounting } = budget.cap
    if (accounting === 'basic') return amountBoughtBy(accounting, granted)
    const limit = amountFromEvent(event.limit)
    if (limit.accounting !== accounting) throw new RangeError('the event says nothing about what it buys')
    return limit
  }

  function deny(event: LedgerEvent): string | undefined {
    if (event.chargeId === undefined) return 'what is denied is a charge'
    const known = charges.get(event.chargeId)
    if (known !== undefined) return known.state === 'denied' ? undefined : 'what was paid is denied'
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
      return 'a charge is debited once'
    const price = amountFromEvent(event.loss)
    const analyst = spendingOf(principal)
    const spent = addAmounts(analyst.spent, price)
    if (!coversAmount(analyst.allotment?.limit ?? budget.cap, spent)) return 'the allotment is exceeded'
    if (kind === 'shared') {
      const source = charges.get(sharedFrom ?? '')
      if (source?.state !== 'answered' || source.requestHash !== requestHash)
        return 'there is no such release to share'
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
    if (known === undefined || known.state === 'denied') return 'it follows a charge that was not made'
    if (known.principal !== principal) return 'the charge is another principal’s'
    known.sequence = events + 1
    if (kind === 'session-answered') {
      if (known.state !== 'answered' || question !== known.sessionAnswerHashes.length + 1)
        return 'the questions of a session follow each other'
      if (answerHash === undefined) return 'an answer has its hash'
      known.sessionAnswerHashes.push(answerHash)
      return undefined
    }
    if (known.state === 'answered') return 'the charge was answered already'
    if (kind === 'retried') {
      if (attempt !== known.attempt + 1) return 'the attempts of a charge follow each other'
      known.attempt = attempt
      known.state = 'charged'
      return undefined
    }
    if (attempt !== known.attempt || known.state !== 'charged') return 'it ends another attempt than the last'
    if (kind === 'answered' && answerHash === undefined) return 'an answer has its hash'
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

/** How many events are read at a time. */
export const EVENTS_PAGE = 1_000

/** Fewer at a time than events: each of their answers may be large, and the store does nothing else meanwhile. */
const RECORDS_PAGE = 64

type Broken = Extract<Verification, { kind: 'broken' }>
type Readable = Pick<Ledger, 'head' | 'events' | 'chargeRecords' | 'sessionAnswers'>

/**
 * Follow all events of a dataset in a live ledger, and hold what they amount to against the balances that debits are
 * checked against, and what they tell of charges against those that are stored with their answers. What happens meanwhile
 * is left to the next time.
 * @param counts {@link Ledger.chargeCounts} of before the call. Left out, charges of which no event tells are not looked for:
 *   to count them holds up a ledger that is at work.
 * @returns `undefined` where the dataset has no budget.
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
  // Counted before the head was read: of each of them an event up to there tells.
  if ((counts?.get(dataset) ?? 0) > verifier.charges.size)
    return { kind: 'broken', sequence, reason: 'a charge is stored of which no event tells' }
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

/** Of all charges whose records are not as the events say, the one that they told of first. */
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
        broken.push({ kind: 'broken', sequence: charge.sequence, reason: 'a stored answer is another' })
    }
  }
  if (unlike.length > 0) {
    // What has happened to a charge since its events were read, later ones tell of.
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

/** By their ids; a record that the store cannot make sense of does not hide the others. */
async function readRecords(
  ledger: Pick<Ledger, 'chargeRecords'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ChargeRecord | 'unreadable'>> {
  try {
    return new Map((await ledger.chargeRecords(ids)).map((record) => [record.id, record]))
  } catch (error) {
    // What a value that cannot be throws; a store that cannot answer says nothing about its rows.
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
 * @param before what the events told before the record was read
 * @param now what they tell since: the record is of a moment in between
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
  if (!same) return 'the stored charge is not the one that was made'
  const follows =
    record.attempt === before.attempt
      ? before.state === 'charged' || record.state === before.state
      : record.attempt > before.attempt && before.state !== 'answered'
  const precedes =
    record.attempt === now.attempt
      ? record.state === 'charged' || record.state === now.state
      : record.attempt < now.attempt && record.state !== 'answered'
  if (!follows || !precedes) return 'the stored charge is not where the events leave it'
  return record.answerHash === (record.state === 'answered' ? now.answerHash : undefined)
    ? undefined
    : 'a stored answer is another'
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
  if (!same) return 'the balances are not what the events amount to'
  return canonicalJson(store.spending.map(spelled)) === canonicalJson(events.spending.map(spelled))
    ? undefined
    : 'what the analysts have spent is not what the events amount to'
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

/** In the order of the names' UTF-8, as stores have them: that of JavaScript's strings is another beyond U+FFFF. */
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
