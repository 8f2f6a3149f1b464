import { addAmounts, isSameAmount, noAmount } from '../privacy/accounting.ts'
import { isSameLoss } from '../privacy/loss.ts'
import { sha256 } from './canonical.ts'
import type { AnalystSpending } from './contract/budgets.ts'
import type { Chain, ChargeCounts, ChargeRecord, LedgerHead, StoredEvent } from './contract/chain.ts'
import type { Sessions } from './contract/sessions.ts'
import { eventAmount, eventLoss } from './event.ts'
import type { ReplayedCharge } from './protocol/verifier/replay.ts'
import {
  type BrokenVerification,
  createVerifier,
  type SoundVerification,
  type Verification,
  type Verifier,
} from './protocol/verifier/verifier.ts'

/** Number of events read at a time. */
export const EVENTS_PAGE = 1_000

/** Yields a dataset's events, oldest first, in pages. */
export async function* eventPages(
  ledger: Pick<Chain, 'events'>,
  dataset: string,
): AsyncGenerator<readonly StoredEvent[]> {
  for (let afterSequence = 0; ; ) {
    const page = await ledger.events(dataset, { limit: EVENTS_PAGE, afterSequence })
    if (page.length === 0) return
    afterSequence += page.length
    yield page
  }
}

/** Number of records read at a time. Each may have a large answer, and the store is busy while it reads them. */
const RECORDS_PAGE = 64

/**
 * Counts all stored charges per dataset, for {@link verifyLedger}.
 * @throws LedgerFault if the store failed.
 */
export async function countCharges(
  ledger: Pick<Chain, 'chargeCounts'>,
  pace = FULL_SPEED,
): Promise<ReadonlyMap<string, number>> {
  const totals = new Map<string, number>()
  for (let after: string | undefined = ''; after !== undefined; ) {
    const { counts, next }: ChargeCounts = await ledger.chargeCounts(after)
    for (const [dataset, charges] of counts) totals.set(dataset, (totals.get(dataset) ?? 0) + charges)
    after = next
    await pace.pause()
  }
  return totals
}

/** The speed of a verification. */
export interface Pace {
  /** Number of events read at a time. */
  readonly eventsPage: number
  /** Called after each page of events or charges. The verification continues when it resolves. */
  readonly pause: () => Promise<void>
}

const FULL_SPEED: Pace = { eventsPage: EVENTS_PAGE, pause: async () => {} }

type Readable = Pick<Chain & Sessions, 'head' | 'events' | 'chargeRecords' | 'sessionAnswers'>

/**
 * Verifies all events of a dataset in a live ledger, and compares them with the stored balances, charges and answers.
 * Events that are appended during the call are left to the next one.
 * @param counts the result of {@link countCharges}, read before the call. Without it, charges that have no event are not
 *    detected, because counting charges delays a ledger in use.
 * @returns `undefined` if the dataset has no budget.
 */
export async function verifyLedger(
  ledger: Readable,
  dataset: string,
  counts?: ReadonlyMap<string, number>,
  pace = FULL_SPEED,
): Promise<Verification | undefined> {
  const head = await ledger.head(dataset)
  if (head === undefined) return undefined
  const verifier = createVerifier(dataset)
  const result = await verifyUpTo(ledger, dataset, head, { verifier, pace, after: 0 })
  if (result.kind === 'broken') return result
  const { events: sequence } = result
  // They were counted before the head was read, so each of them has an event up to it.
  const counted = counts?.get(dataset)
  if (counted !== undefined && counted > verifier.charges.size)
    return { kind: 'broken', sequence, reason: 'a stored charge has no event' }
  return (await firstBrokenCharge(ledger, dataset, verifier, sequence, pace)) ?? result
}

/**
 * Verifies the events of a dataset since an earlier verification, and compares them with the stored balances. Stored
 * charges and answers are not compared.
 * @returns `undefined` if the dataset has no budget.
 */
export async function verifyTail(
  ledger: Pick<Chain, 'head' | 'events'>,
  dataset: string,
  verified: SoundVerification,
  pace = FULL_SPEED,
): Promise<Verification | undefined> {
  const head = await ledger.head(dataset)
  if (head === undefined) return undefined
  const verifier = createVerifier(dataset, verified)
  return verifyUpTo(ledger, dataset, head, { verifier, pace, after: verified.events })
}

/** Follows the events up to a head, and compares the result with it and its balances. */
async function verifyUpTo(
  ledger: Pick<Chain, 'events'>,
  dataset: string,
  head: LedgerHead,
  { verifier, pace, after }: { readonly verifier: Verifier; readonly pace: Pace; readonly after: number },
): Promise<Verification> {
  await follow(ledger, dataset, verifier, { after, upTo: head.sequence, pace })
  const result = verifier.result()
  if (result.kind === 'broken') return result
  const { events: sequence } = result
  if (sequence !== head.sequence || result.headHash !== head.hash)
    return { kind: 'broken', sequence: sequence + 1, reason: 'the events do not end with the head' }
  const reason = reasonAgainstBalances(result, head) ?? reasonAgainstMembers(head)
  return reason === undefined ? result : { kind: 'broken', sequence, reason }
}

async function follow(
  ledger: Pick<Chain, 'events'>,
  dataset: string,
  verifier: Verifier,
  { after, upTo, pace }: { readonly after: number; readonly upTo: number; readonly pace: Pace },
): Promise<void> {
  for (let afterSequence = after; afterSequence < upTo; ) {
    const limit = Math.min(pace.eventsPage, upTo - afterSequence)
    const page = await ledger.events(dataset, { limit, afterSequence })
    if (page.length === 0) break
    for (const event of page) verifier.add(event, sha256(event.canonical))
    afterSequence += page.length
    await pace.pause()
  }
}

/** Finds the charge with the earliest last event among those whose records differ from the events. */
async function firstBrokenCharge(
  ledger: Readable,
  dataset: string,
  verifier: Verifier,
  sequence: number,
  pace: Pace,
): Promise<BrokenVerification | undefined> {
  const ids = [...verifier.charges.keys()]
  const broken: BrokenVerification[] = []
  const unlike: { id: string; before: Readonly<ReplayedCharge>; record: ChargeRecord | undefined }[] = []
  for (let start = 0; start < ids.length; start += RECORDS_PAGE) {
    const page = ids.slice(start, start + RECORDS_PAGE)
    const records = await readRecords(ledger, page)
    await pace.pause()
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
    await follow(ledger, dataset, verifier, { after: sequence, upTo, pace })
    const later = verifier.result()
    if (later.kind === 'broken') broken.push(later)
  }
  for (const { id, before, record } of unlike) {
    const reason = reasonAgainstRecord(dataset, before, verifier.charges.get(id) ?? before, record)
    if (reason !== undefined) broken.push({ kind: 'broken', sequence: before.sequence, reason })
  }
  return broken.reduce<BrokenVerification | undefined>(
    (first, each) => (first === undefined || each.sequence < first.sequence ? each : first),
    undefined,
  )
}

/** Reads records by id. A record that the store cannot parse does not hide the others. */
async function readRecords(
  ledger: Pick<Chain, 'chargeRecords'>,
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
  ledger: Pick<Sessions, 'sessionAnswers'>,
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
  before: Readonly<ReplayedCharge>,
  now: Readonly<ReplayedCharge>,
  record: ChargeRecord | undefined,
): string | undefined {
  if (record === undefined) return 'the charge is not stored'
  const same =
    record.dataset === (now.member ?? dataset) &&
    record.principal === now.principal &&
    record.requestHash === now.requestHash &&
    record.sharedFrom === now.sharedFrom &&
    isSameAmount(record.price, now.price)
  if (!same) return 'the stored charge differs from its events'
  // The chain of a population has no attempts and no answers.
  if (now.member !== undefined)
    return record.state === 'denied' ? 'the state of the stored charge differs from its events' : undefined
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

/**
 * The reason why a population has not spent exactly what its datasets and their analysts have, at the same moment. Each of them
 * is compared with its own events, so that a charge of a dataset that did not debit the population shows here.
 */
function reasonAgainstMembers({ budget, spending, members }: LedgerHead): string | undefined {
  if (members === undefined) return undefined
  const nothing = noAmount(budget.cap.accounting)
  const total = members.reduce((sum, { spent }) => addAmounts(sum, spent), nothing)
  if (!isSameAmount(total, budget.spent)) return 'the population has not spent what its datasets have'
  const ofAnalysts = new Map<string, Pick<AnalystSpending, 'spent' | 'spentOnShared'>>()
  for (const { principal, spent, spentOnShared } of members.flatMap((each) => each.spending)) {
    const before = ofAnalysts.get(principal) ?? { spent: nothing, spentOnShared: nothing }
    ofAnalysts.set(principal, {
      spent: addAmounts(before.spent, spent),
      spentOnShared: addAmounts(before.spentOnShared, spentOnShared),
    })
  }
  const known = new Map(spending.map((each) => [each.principal, each]))
  const same = [...new Set([...ofAnalysts.keys(), ...known.keys()])].every((principal) => {
    const [one, other] = [known, ofAnalysts].map((found) => found.get(principal))
    return (
      isSameAmount(one?.spent ?? nothing, other?.spent ?? nothing) &&
      isSameAmount(one?.spentOnShared ?? nothing, other?.spentOnShared ?? nothing)
    )
  })
  return same ? undefined : 'an analyst has not spent on the population what they have on its datasets'
}

type Balances = Pick<LedgerHead, 'budget' | 'spending' | 'failures' | 'suspended'>

function reasonAgainstBalances(events: Balances, store: Balances): string | undefined {
  const { granted, cap, spent } = events.budget
  const same =
    isSameLoss(granted, store.budget.granted) &&
    isSameAmount(cap, store.budget.cap) &&
    events.budget.population === store.budget.population &&
    isSameAmount(spent, store.budget.spent)
  if (!same) return 'the stored balances differ from the events'
  if (events.failures !== store.failures || events.suspended !== store.suspended)
    return 'the stored suspension differs from the events'
  return JSON.stringify(store.spending.map(spelled)) === JSON.stringify(events.spending.map(spelled))
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
