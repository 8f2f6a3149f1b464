import {
  type Amount,
  addAmounts,
  amountBoughtBy,
  coversAmount,
  isSameAmount,
  noAmount,
  subtractAmounts,
} from '../../../privacy/accounting.ts'
import type { EventKind } from '../../../privacy/event-kinds.ts'
import { addLoss, NO_LOSS, type PrivacyLoss } from '../../../privacy/loss.ts'
import { type AnalystSpending, type Budget, isPopulationAccount } from '../../contract/budgets.ts'
import type { ChargeRecord } from '../../contract/chain.ts'
import { isOpenTo } from '../../contract/releases.ts'
import { amountFromEvent, FIRST_PREVIOUS_HASH, type LedgerEvent, lossFromEvent } from '../../event.ts'

/*
 * The state of a budget, recomputed from its events. This code is independent of the protocol that writes the events,
 * so that verification does not repeat a mistake of the protocol.
 */

/** The state of a dataset's budget after its events so far. */
export interface ReplayState {
  /** Number of events. */
  events: number
  /** Hash of the last event; {@link FIRST_PREVIOUS_HASH} if there are none. */
  headHash: string
  budget: Budget
  readonly analysts: Map<string, AnalystSpending>
  /** Only of a population: the last event of each dataset that its chain refers to, by sequence. */
  readonly members: Map<string, number> | undefined
  /** Number of counted failures since the last resumption. */
  failures: number
  suspended: boolean
  /** The last event, if it is a failure that was counted. */
  lastFailure: Pick<LedgerEvent, 'principal' | 'chargeId'> | undefined
  /** Every charge that was debited or denied since `verifiedEvents`, by id. */
  readonly charges: Map<string, ReplayedCharge>
  /** Number of events that were verified earlier. Their charges are unknown, and events may refer to them. */
  readonly verifiedEvents: number
}

/** A charge, as far as the events so far describe it. */
export interface ReplayedCharge {
  readonly principal: string
  readonly requestHash: string | undefined
  readonly price: Amount
  readonly sharedFrom: string | undefined
  /** The dataset of the charge, in the chain of a population. */
  readonly member: string | undefined
  /** 0 for a denied charge. */
  attempt: number
  state: ChargeRecord['state']
  answerHash: string | undefined
  readonly sessionAnswerHashes: string[]
  /** Sequence of the last event of this charge. */
  sequence: number
}

/** The state of a dataset or a population before its first event. */
export function beforeFirstEvent(account: string): ReplayState {
  const nothing = noAmount('basic')
  return {
    events: 0,
    headHash: FIRST_PREVIOUS_HASH,
    budget: { granted: NO_LOSS, cap: nothing, spent: nothing },
    analysts: new Map(),
    members: isPopulationAccount(account) ? new Map() : undefined,
    failures: 0,
    suspended: false,
    lastFailure: undefined,
    charges: new Map(),
    verifiedEvents: 0,
  }
}

/**
 * Applies an event to the state after the events before it.
 * @returns the reason why the event is not possible then, in which case the state may have changed in part
 * @throws RangeError if the event has no valid amount.
 */
export function applyEvent(state: ReplayState, event: LedgerEvent): string | undefined {
  const opens = event.kind === 'opened'
  if (opens !== (state.events === 0)) return opens ? 'the budget is already open' : 'the budget is not open'
  const { lastFailure } = state
  state.lastFailure = undefined
  const misplaced = reasonAgainstPlace(state, event)
  if (misplaced !== undefined) return misplaced
  const apply = APPLIES.get(event.kind)
  if (apply === undefined) return `the event has the unknown kind ${JSON.stringify(event.kind)}`
  return apply(state, event, lastFailure)
}

/** Applies an event of one kind, as {@link applyEvent} does. `lastFailure` is that of the state before it. */
type Apply = (
  state: ReplayState,
  event: LedgerEvent,
  lastFailure: ReplayState['lastFailure'],
) => string | undefined

/** A map, because whatever else than a text an event has as its kind is none of these. */
const APPLIES: ReadonlyMap<string, Apply> = new Map(
  Object.entries({
    opened: open,
    granted: raise,
    'cap-replaced': replaceCap,
    allotted: allot,
    joined: join,
    carried: carry,
    'source-reused': (_, { reason }) => (reason === undefined ? 'the event gives no reason' : undefined),
    denied: unlessSuspended(deny),
    charged: unlessSuspended(charge),
    shared: unlessSuspended(charge),
    inferred: unlessSuspended(charge),
    retried: unlessSuspended(follow),
    answered: follow,
    'session-answered': follow,
    failed: fail,
    'session-failed': fail,
    suspended: suspend,
    resumed: resume,
  } satisfies Readonly<Record<EventKind, Apply>>),
)

function unlessSuspended(apply: Apply): Apply {
  return (state, ...event) => (state.suspended ? 'the dataset is suspended' : apply(state, ...event))
}

function open(state: ReplayState, event: LedgerEvent): string | undefined {
  const accounting = event.accounting ?? 'basic'
  if (accounting !== 'basic' && accounting !== 'zcdp') return 'the accounting is unknown'
  if (event.neighbours !== 'add-remove' && event.neighbours !== 'change-one')
    return 'the neighbours are unknown'
  if (![undefined, 'person'].includes(event.privacyUnit?.kind)) return 'the privacy unit is unknown'
  if (typeof event.synthetic !== 'boolean') return 'the kind of data is unknown'
  state.budget = { granted: NO_LOSS, cap: noAmount(accounting), spent: noAmount(accounting) }
  return raise(state, event)
}

/** Applies the failure of an attempt or of a question. */
function fail(state: ReplayState, event: LedgerEvent): string | undefined {
  return follow(state, event) ?? count(state, event)
}

function suspend(
  state: ReplayState,
  event: LedgerEvent,
  lastFailure: ReplayState['lastFailure'],
): string | undefined {
  if (state.suspended || state.failures === 0 || event.failures !== state.failures)
    return 'the failures do not suspend the dataset'
  if (!isCausedBy(lastFailure, event, state))
    return 'the suspension does not follow the failure that it names'
  state.suspended = true
  return undefined
}

function resume(state: ReplayState): string | undefined {
  if (!state.suspended) return 'the dataset is not suspended'
  state.suspended = false
  state.failures = 0
  return undefined
}

/** Kinds of events in the chain of a population, and those of them that are about one of its datasets. */
const OF_POPULATION: readonly string[] = ['opened', 'granted', 'cap-replaced', 'allotted']
const OF_MEMBER: readonly string[] = ['joined', 'carried', 'charged', 'shared']

/** The reason why an event cannot be in the chain of this kind of account. Datasets are known only since `verifiedEvents`. */
function reasonAgainstPlace(
  { members, verifiedEvents }: ReplayState,
  { kind, member, neighbours }: LedgerEvent,
): string | undefined {
  if (members === undefined) {
    const isDataset = member === undefined && kind !== 'carried'
    return isDataset ? undefined : 'the event belongs to a population'
  }
  if (kind === 'opened' && neighbours !== 'add-remove')
    return 'the neighbours of the population are not add-remove'
  if (OF_POPULATION.includes(kind)) return member === undefined ? undefined : 'the event is about no dataset'
  if (!OF_MEMBER.includes(kind)) return 'the event belongs to a dataset'
  if (member === undefined) return 'the event names no dataset'
  const last = members.get(member.dataset)
  if (kind === 'joined' && last !== undefined) return 'the dataset is already in the population'
  if (kind !== 'joined' && last === undefined && verifiedEvents === 0)
    return 'the dataset is not in the population'
  const follows =
    kind === 'carried' ? member.sequence === (last ?? member.sequence) : member.sequence > (last ?? 0)
  if (!follows) return 'the events of the dataset are not in order'
  members.set(member.dataset, member.sequence)
  return undefined
}

/** Applies `joined`. What the dataset has spent follows, in the chain of the population. */
function join(state: ReplayState, { population }: LedgerEvent): string | undefined {
  const { budget, members } = state
  if (members !== undefined) return population === undefined ? undefined : 'a population joins none'
  if (typeof population !== 'string' || !isPopulationAccount(population))
    return 'the event names no population'
  if (budget.population !== undefined) return 'the dataset is already in a population'
  state.budget = { ...budget, population }
  return undefined
}

/** Applies `carried`. */
function carry(
  state: ReplayState,
  { analyst: principal, loss, spentOnShared }: LedgerEvent,
): string | undefined {
  const { budget, analysts } = state
  if (principal === undefined) return 'the event names no analyst'
  const spent = amountFromEvent(loss)
  const shared = spentOnShared === undefined ? noAmount(spent.accounting) : amountFromEvent(spentOnShared)
  if (!coversAmount(spent, shared)) return 'more is shared than spent'
  const paid = subtractAmounts(spent, shared)
  if (!coversAmount(subtractAmounts(budget.cap, budget.spent), paid)) return 'the cap is exceeded'
  const before = spendingOf(state, principal)
  const after = addAmounts(before.spent, spent)
  if (!coversAmount(before.allotment?.limit ?? budget.cap, after)) return 'the allotment is exceeded'
  state.budget = { ...budget, spent: addAmounts(budget.spent, paid) }
  const spentOnSharedAfter = addAmounts(before.spentOnShared, shared)
  analysts.set(principal, { ...before, spent: after, spentOnShared: spentOnSharedAfter })
  return undefined
}

/** True if the delta of a cap would change that a population and its datasets have in common. */
function changesDelta(
  { budget, members }: ReplayState,
  { kind }: LedgerEvent,
  granted: PrivacyLoss,
): boolean {
  const isFixed = (members !== undefined && kind !== 'opened') || budget.population !== undefined
  return isFixed && granted.deltaAtto !== budget.granted.deltaAtto
}

/**
 * True if a suspension follows the failure that it names. The protocol appends both in one transaction.
 * @param lastFailure the event before the suspension, if it is a failure that was counted; unknown for the first event
 *    after an earlier verification
 */
function isCausedBy(
  lastFailure: ReplayState['lastFailure'],
  { principal, chargeId }: LedgerEvent,
  { events, verifiedEvents }: ReplayState,
): boolean {
  if (verifiedEvents > 0 && events === verifiedEvents) return true
  return lastFailure?.chargeId === chargeId && lastFailure?.principal === principal
}

/** Counts a failure. Every `session-failed` counts. */
function count(state: ReplayState, { kind, counted, principal, chargeId }: LedgerEvent): string | undefined {
  if (![undefined, true].includes(counted)) return 'the failure is neither counted nor not counted'
  if (!counted && kind !== 'session-failed') return undefined
  state.failures += 1
  state.lastFailure = { principal, ...(chargeId !== undefined && { chargeId }) }
  return undefined
}

/** Applies `opened` and `granted`: raises the cap. */
function raise(state: ReplayState, event: LedgerEvent): string | undefined {
  const { budget } = state
  const granted = addLoss(budget.granted, lossFromEvent(event.loss))
  if (changesDelta(state, event, granted)) return 'the delta of a population is fixed'
  const cap = limitOf(state, event, granted)
  if (!coversAmount(cap, budget.cap)) return 'the event lowers the cap'
  // A cap stays if the software that granted it converted to more.
  const bought = isSameAmount(cap, budget.cap) || coversAmount(amountBoughtBy(cap.accounting, granted), cap)
  if (!bought) return 'the cap is more than the grants buy'
  state.budget = { ...budget, granted, cap }
  return undefined
}

/** Applies `cap-replaced`: another cap takes the place of the present one, from which nothing was spent. */
function replaceCap(state: ReplayState, event: LedgerEvent): string | undefined {
  const { budget } = state
  if (event.reason === undefined) return 'the event gives no reason'
  if (!isSameAmount(budget.spent, noAmount(budget.cap.accounting)))
    return 'the cap is replaced after something was spent'
  const granted = lossFromEvent(event.loss)
  if (changesDelta(state, event, granted)) return 'the delta of a population is fixed'
  const cap = limitOf(state, event, granted)
  if (!coversAmount(amountBoughtBy(cap.accounting, granted), cap))
    return 'the cap is more than the grant buys'
  state.budget = { ...budget, granted, cap }
  return undefined
}

/** Applies `allotted`. */
function allot(state: ReplayState, event: LedgerEvent): string | undefined {
  const { analysts } = state
  const { analyst, loss } = event
  if (analyst === undefined) return 'the allotment names no analyst'
  const { allotment: _, ...before } = spendingOf(state, analyst)
  if (loss === undefined) {
    analysts.set(analyst, before)
    return undefined
  }
  const granted = lossFromEvent(loss)
  const limit = limitOf(state, event, granted)
  // An allotment of 0 limits the analyst to what they have spent.
  const stops = granted.epsilonNano === 0n && granted.deltaAtto === 0n && isSameAmount(limit, before.spent)
  if (!stops && !coversAmount(amountBoughtBy(limit.accounting, granted), limit))
    return 'the limit is more than the grant buys'
  if (!coversAmount(limit, before.spent)) return 'the allotment is below what the analyst has spent'
  analysts.set(analyst, { ...before, allotment: { granted, limit } })
  return undefined
}

/** The amount that an event's loss buys in this budget. */
function limitOf(state: ReplayState, event: LedgerEvent, granted: PrivacyLoss): Amount {
  const { accounting } = state.budget.cap
  if (accounting === 'basic') return amountBoughtBy(accounting, granted)
  const limit = amountFromEvent(event.limit)
  if (limit.accounting !== accounting)
    throw new RangeError('the event has no limit in the units of the accounting')
  return limit
}

/** Applies `denied`. */
function deny(state: ReplayState, event: LedgerEvent): string | undefined {
  if (event.chargeId === undefined) return 'the denial names no charge'
  const known = state.charges.get(event.chargeId)
  if (known !== undefined) return known.state === 'denied' ? undefined : 'a paid charge is denied'
  addCharge(state, event.chargeId, event, 'denied')
  // An account exists for every analyst with a recorded denial.
  state.analysts.set(event.principal, spendingOf(state, event.principal))
  return undefined
}

function addCharge(replay: ReplayState, id: string, event: LedgerEvent, state: 'charged' | 'denied'): void {
  const { principal, requestHash, sharedFrom, loss, member } = event
  replay.charges.set(id, {
    principal,
    requestHash,
    price: amountFromEvent(loss),
    sharedFrom,
    member: member?.dataset,
    attempt: state === 'denied' ? 0 : 1,
    state,
    answerHash: undefined,
    sessionAnswerHashes: [],
    sequence: replay.events + 1,
  })
}

/** Applies `charged`, `shared` and `inferred`. */
function charge(state: ReplayState, event: LedgerEvent): string | undefined {
  const { budget, charges, analysts } = state
  const { kind, chargeId, principal, requestHash, sharedFrom } = event
  if (chargeId === undefined || (charges.get(chargeId)?.state ?? 'denied') !== 'denied')
    return 'the charge is already debited'
  const price = amountFromEvent(event.loss)
  const reason = kind === 'inferred' ? reasonAgainstParents(state, event) : undefined
  if (reason !== undefined) return reason
  const analyst = spendingOf(state, principal)
  const spent = addAmounts(analyst.spent, price)
  if (!coversAmount(analyst.allotment?.limit ?? budget.cap, spent)) return 'the allotment is exceeded'
  if (kind === 'shared') {
    const source = sharedFrom === undefined ? undefined : charges.get(sharedFrom)
    // The dataset may have been charged for the source before it joined the population.
    const isElsewhere = state.members !== undefined && sharedFrom !== undefined
    const isEarlier = isElsewhere || (source === undefined && state.verifiedEvents > 0)
    if (!isEarlier && (source?.state !== 'answered' || source.requestHash !== requestHash))
      return 'the shared release does not exist'
    analysts.set(principal, { ...analyst, spent, spentOnShared: addAmounts(analyst.spentOnShared, price) })
  } else {
    if (!coversAmount(subtractAmounts(budget.cap, budget.spent), price)) return 'the cap is exceeded'
    state.budget = { ...budget, spent: addAmounts(budget.spent, price) }
    analysts.set(principal, { ...analyst, spent })
  }
  addCharge(state, chargeId, event, 'charged')
  return undefined
}

/** The reason why an answer cannot follow from the releases that its event names. */
function reasonAgainstParents(
  { charges, verifiedEvents }: ReplayState,
  { principal, parents = [], loss }: LedgerEvent,
): string | undefined {
  const price = amountFromEvent(loss)
  if (!isSameAmount(price, noAmount(price.accounting))) return 'an inferred answer is charged'
  if (parents.length === 0) return 'the inferred answer has no parents'
  const missing = parents.some((id) => {
    const parent = charges.get(id)
    if (parent === undefined && verifiedEvents > 0) return false
    return parent?.state !== 'answered' || !isOpenTo(principal, parent)
  })
  return missing ? 'the inferred answer follows from a release that its analyst does not have' : undefined
}

function spendingOf({ analysts, budget }: ReplayState, principal: string): AnalystSpending {
  const none = noAmount(budget.cap.accounting)
  return analysts.get(principal) ?? { principal, spent: none, spentOnShared: none }
}

/** Applies an event that refers to an earlier charge. */
function follow(state: ReplayState, event: LedgerEvent): string | undefined {
  const { kind, chargeId, principal, attempt, question, answerHash } = event
  const known = chargeId === undefined ? undefined : state.charges.get(chargeId)
  if (known === undefined && state.verifiedEvents > 0) return undefined
  if (known === undefined || known.state === 'denied')
    return 'the event refers to a charge that does not exist'
  if (known.principal !== principal) return 'the charge belongs to another principal'
  known.sequence = state.events + 1
  if (kind === 'session-failed') return known.state === 'answered' ? undefined : 'the session is not open'
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
