import { populationId } from '../ledger/contract/budgets.ts'
import type {
  Charged,
  ChargeOutcome,
  ChargeRequest,
  ChargesOutcome,
  StorageExceeded,
} from '../ledger/contract/charges.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { MAX_LEASE_MS } from '../ledger/range.ts'
import type { HeadSigner } from '../ledger/signature.ts'
import {
  type Amount,
  addAmounts,
  amountNumbers,
  coversAmount,
  noAmount,
  subtractAmounts,
} from '../privacy/accounting.ts'
import { defined } from '../privacy/defined.ts'
import { entry, must } from '../privacy/must.ts'
import { Refusal, refusalWithin } from '../privacy/refusal.ts'
import { type Admission, NO_TURN, type Turn, type TurnRequest, turnRequestOf } from './admission.ts'
import { leftOf } from './documents/costs.ts'
import {
  type Identified,
  type Identity,
  identityAt,
  identityOfEarlierVersion,
  unansweredEarlier,
} from './identity.ts'
import { longestDelayMs } from './release-time.ts'

/** Dependencies of charging. */
export interface ChargeDependencies {
  readonly ledger: Ledger
  /** The queue in front of the engine. A request enters it before the debit. */
  readonly admission: Admission
  /**
   * Time after which a repeated request may take over the charge of an unfinished attempt. The delay of its release is
   * added.
   */
  readonly leaseMs: number
  /** Bytes that the ledger may store for a principal on a dataset, for principals without a quota. Default: no limit. */
  readonly maxStoredBytes?: number
  /** Signs receipts; without it they are unsigned. */
  readonly signer?: HeadSigner
}

/** Whether a request may be charged: its key can forbid it, or its session; otherwise it may cost its price. */
export type Spending = 'never' | 'replay-only' | 'allow'

/** A request to be charged. */
export interface Purchase extends TurnRequest, Identified {
  readonly price: Amount
  /**
   * True if, on a dataset that shares releases, this request may be answered with another analyst's release and its own
   * release may be shared.
   */
  readonly sharing: boolean
  /** The charges from whose releases the answer follows, if it does; the price is then 0. */
  readonly parents?: readonly string[] | undefined
  /** Bytes from which on the ledger stores nothing more for the principal on the dataset. Default: that of the service. */
  readonly maxStoredBytes?: number | undefined
  /** Default: `allow`. */
  readonly spending?: Spending | undefined
  /** Field of the request that it is a part of, if it is charged together with others. */
  readonly field?: string | undefined
}

/** An outcome, and the turn in which it is computed. The caller must leave the turn. */
export interface ChargedInTurn {
  readonly outcome: Charged
  /** Identity of the request that is charged. */
  readonly identity: Identity
  readonly turn: Turn
}

/**
 * Waits for the principal's turn, then debits the prices of the parts of a request durably, all or none, or finds the answers that
 * earlier debits paid for. A request that is already answered does not wait.
 * @param purchases one or more, each about another dataset. The turn is that of the first
 * @param identities their identities by the clock of this process; the clock of the ledger decides
 * @throws Refusal if a budget or an allotment is insufficient, the idempotency key belongs to another request, an
 * attempt at the same request is in progress, or the request cannot have a turn. Nothing is charged then.
 */
export async function charge(
  dependencies: Pick<ChargeDependencies, 'ledger' | 'leaseMs' | 'admission' | 'maxStoredBytes'>,
  purchases: readonly Purchase[],
  identities: readonly Identity[],
): Promise<readonly ChargedInTurn[]> {
  const { ledger, admission } = dependencies
  const turnRequests = purchases.map((each) => turnRequestOf(each, each.dataset))
  const first = entry(turnRequests, 0)
  const isAnswered = async ({ id }: Identity) => (await ledger.release(id)) !== undefined
  const areAnswered = async () => !(await Promise.all(identities.map(isAnswered))).includes(false)
  const turn = admission.mustWait(first) && (await areAnswered()) ? NO_TURN : await admission.enter(first)
  try {
    const debited = await debit(dependencies, purchases, identities)
    const turns = [turn, ...turnRequests.slice(1).map(admission.further)]
    return debited.map((each, place) => ({ ...each, turn: entry(turns, place) }))
  } catch (error) {
    turn.leave()
    throw error
  }
}

async function debit(
  dependencies: Pick<ChargeDependencies, 'ledger' | 'leaseMs' | 'maxStoredBytes'>,
  purchases: readonly Purchase[],
  guessed: readonly Identity[],
): Promise<readonly Omit<ChargedInTurn, 'turn'>[]> {
  const { ledger } = dependencies
  const openOrAt = async (purchase: Purchase, atTime: Identity) =>
    (await unansweredEarlier(ledger, purchase, atTime)) ?? atTime
  let identities = await Promise.all(purchases.map((each, place) => openOrAt(each, entry(guessed, place))))
  const ofEarlierVersion = new Set<number>()
  for (;;) {
    await requireMaySpend(ledger, purchases, identities)
    const requests = purchases.map((each, place) =>
      chargeRequest(dependencies, each, entry(identities, place)),
    )
    const decided = await decide(ledger, requests)
    if (decided.kind === 'charged')
      return decided.outcomes.map((outcome, place) => ({ outcome, identity: entry(identities, place) }))
    const { place, outcome } = decided
    const purchase = entry(purchases, place)
    let other: Identity | undefined
    if (outcome.kind === 'other-time') other = await openOrAt(purchase, identityAt(purchase, outcome.nowMs))
    if (outcome.kind === 'key-reused' && !ofEarlierVersion.has(place)) {
      ofEarlierVersion.add(place)
      other = await identityOfEarlierVersion(ledger, purchase, entry(identities, place))
    }
    if (other === undefined) throw refusalOf(decided, purchase)
    identities = identities.with(place, other)
  }
}

/** Has the ledger decide one request, or several together. */
async function decide(
  ledger: Pick<Ledger, 'charge' | 'chargeAll'>,
  requests: readonly ChargeRequest[],
): Promise<ChargesOutcome> {
  if (requests.length > 1) return ledger.chargeAll(requests)
  const request = entry(requests, 0)
  const outcome = await ledger.charge(request)
  switch (outcome.kind) {
    case 'charged':
    case 'shared':
    case 'answered':
      return { kind: 'charged', outcomes: [outcome] }
    default:
      return { kind: 'refused', place: 0, outcome, unpaid: request.price }
  }
}

/**
 * Requires that a request that must cost nothing is paid already, under the very identities that are charged next: a charge is
 * for ever, so the next one cannot be a debit. A release that another analyst paid for would be one, from the allotment.
 * @throws Refusal `forbidden` with the price
 */
async function requireMaySpend(
  ledger: Pick<Ledger, 'requests'>,
  purchases: readonly Purchase[],
  identities: readonly Identity[],
): Promise<void> {
  const { spending = 'allow', price: first } = entry(purchases, 0)
  if (spending === 'allow') return
  const paid = await ledger.requests(identities.map(({ id }) => id))
  const nothing = noAmount(first.accounting)
  const price = purchases
    .filter((_, place) => !paid.has(entry(identities, place).id))
    .reduce((sum, each) => addAmounts(sum, each.price), nothing)
  if (coversAmount(nothing, price)) return
  const amounts = amountNumbers(price)
  const named = Object.entries(amounts).flatMap(([unit, amount]) => (amount > 0 ? [`${unit} ${amount}`] : []))
  const rule = spending === 'never' ? 'the key allows' : 'the session allows'
  throw new Refusal(
    'forbidden',
    `The question is not paid for. It would cost ${named.join(' and ')}, and ${rule} only answers that cost nothing. ` +
      'Nothing was charged.',
    [],
    { price: amounts },
  )
}

function chargeRequest(
  { leaseMs, maxStoredBytes: defaultMaxStoredBytes }: Pick<ChargeDependencies, 'leaseMs' | 'maxStoredBytes'>,
  purchase: Purchase,
  { canonical, requestHash, key, period }: Identity,
): ChargeRequest {
  const { principal, dataset, price, sharing, idempotencyKey, parents } = purchase
  const { maxStoredBytes = defaultMaxStoredBytes } = purchase
  return defined({
    dataset: dataset.id,
    datasetVersion: dataset.version,
    principal,
    idempotencyKey: key,
    keyChosen: idempotencyKey !== undefined,
    requestHash,
    request: canonical,
    price,
    parents,
    sharing: sharing && dataset.sharing,
    leaseMs: Math.min(leaseMs + longestDelayMs(dataset.timing), MAX_LEASE_MS),
    within: period,
    maxStoredBytes,
  })
}

type Refused = Extract<ChargesOutcome, { readonly kind: 'refused' }>

/** The refusal of a purchase, or of those that it is charged with. */
function refusalOf(refused: Refused, purchase: Purchase): Error {
  const { outcome } = refused
  const { dataset, price, idempotencyKey, field } = purchase
  switch (outcome.kind) {
    case 'denied': {
      const ofAll = levelOf(outcome) === 'population'
      const refusal = denied(outcome, ofAll ? refused.unpaid : price, idempotencyKey !== undefined)
      return ofAll || field === undefined ? refusal : refusalWithin(field, refusal)
    }
    case 'in-flight':
      return inFlight(outcome.retryAfterMs)
    case 'key-reused':
      return keyReused()
    case 'other-time':
      return new Error('a charge at another time is repeated')
    case 'suspended':
      return suspended(dataset.id)
    case 'storage-exceeded':
      return storageExceeded(outcome)
    case 'no-budget':
      return new Refusal('unknown-dataset', `The dataset ${dataset.id} has no budget.`)
  }
}

/**
 * Runs the flow of a request.
 * @throws Refusal `query-in-flight` if this process is running it already. Such a repeat needs neither a turn nor the
 * ledger.
 */
export async function onceAtATime<Result>(
  { admission, leaseMs }: Pick<ChargeDependencies, 'leaseMs' | 'admission'>,
  purchase: Purchase,
  flow: (identity: Identity) => Promise<Result>,
): Promise<Result> {
  const identity = identityAt(purchase, Date.now())
  const request = `${identity.id} ${identity.requestHash}`
  if (!admission.begin(request)) throw inFlight(leaseMs)
  try {
    return await flow(identity)
  } finally {
    admission.end(request)
  }
}

/** Refusal of an idempotency key that was used for another request. */
export function keyReused(): Refusal {
  return new Refusal(
    'idempotency-key-reused',
    'This Idempotency-Key was used for a different request. Use a new key.',
  )
}

/** Refusal of a request whose principal may store no more on the dataset. */
export function storageExceeded({ by, storedBytes }: StorageExceeded): Refusal {
  const detail =
    by === 'bytes'
      ? `The ledger stores ${storedBytes} bytes for you on this dataset, which reaches your quota. Stored answers are ` +
        'still replayed.'
      : 'A budget or an allotment of yours is too small, and no more denials of yours are recorded on this dataset. This ' +
        'Idempotency-Key remains unused.'
  return new Refusal('quota-exceeded', `${detail} Nothing was charged.`, [], {
    retryAfterSeconds: STORAGE_RETRY_SECONDS,
  })
}

/** Long, because stored bytes never shrink: only a larger quota helps. */
const STORAGE_RETRY_SECONDS = 3_600

/** Refusal of a request to a suspended dataset. */
export function suspended(dataset: string): Refusal {
  return new Refusal(
    'dataset-suspended',
    `The dataset ${dataset} is suspended after failures, until its custodian resumes it. Nothing was ` +
      'charged. Stored answers are still replayed.',
  )
}

const LONGEST_RETRY_SECONDS = 2

/** Refusal of a request while an earlier attempt at it is in progress. */
export function inFlight(retryAfterMs: number): Refusal {
  // The lease is an upper bound; most attempts finish much earlier.
  const retryAfterSeconds = Math.min(LONGEST_RETRY_SECONDS, Math.max(1, Math.ceil(retryAfterMs / 1000)))
  return new Refusal(
    'query-in-flight',
    'The same request is being processed. Retry later; the retry costs nothing more.',
    [],
    { retryAfterSeconds },
  )
}

type Denied = Extract<ChargeOutcome, { readonly kind: 'denied' }>

function levelOf({ by }: Denied): 'population' | 'dataset' {
  return by === 'population' || by === 'population-allotment' ? 'population' : 'dataset'
}

function denied(outcome: Denied, price: Amount, keyChosen: boolean): Refusal {
  const { by, sticks, population, ...ofDataset } = outcome
  const level = levelOf(outcome)
  const { budget, analyst } =
    level === 'dataset' ? ofDataset : must(population, 'the balances of the population')
  const limited = by === 'allotment' || by === 'population-allotment'
  const limit = limited ? (analyst.allotment?.limit ?? budget.cap) : budget.cap
  const spent = limited ? analyst.spent : budget.spent
  const remaining = limited ? leftOf(limit, analyst) : subtractAmounts(budget.cap, budget.spent)
  const [unit, wanted, left] = shortUnit(price, remaining)
  const whose = limitName(limited, level === 'dataset' ? undefined : population?.account)
  // Idempotency: a chosen key keeps its outcome, even after a grant.
  const advice = keyChosen ? ' This Idempotency-Key stays denied; use a new key to try again.' : ''
  const detail = sticks
    ? `This request was denied earlier. Nothing was charged.${advice}`
    : `The request costs ${unit} ${wanted}, but ${whose} has ${left} left. Nothing was charged.${advice}`
  return new Refusal(
    limited ? 'allotment-insufficient' : 'budget-insufficient',
    detail,
    [
      {
        field: unit === 'delta' ? 'delta' : 'epsilon',
        rule: `must cost at most ${unit} ${left}, the amount left in ${whose}`,
      },
    ],
    {
      level,
      cap: amountNumbers(limit),
      spent: amountNumbers(spent),
      remaining: amountNumbers(remaining),
      price: amountNumbers(price),
    },
  )
}

function limitName(isAllotment: boolean, population: string | undefined): string {
  const name = isAllotment ? 'your allotment' : 'the budget'
  if (population === undefined) return name
  return `${name} ${isAllotment ? 'on' : 'of'} the population ${populationId(population)}`
}

/** The unit that falls short, the amount requested, and the amount left. */
function shortUnit(asked: Amount, remaining: Amount): readonly [string, number, number] {
  const left: Readonly<Record<string, number>> = amountNumbers(remaining)
  const units = Object.entries(amountNumbers(asked)).map(
    ([unit, amount]) => [unit, amount, must(left[unit], 'an amount in the same unit')] as const,
  )
  return units.find(([, amount, rest]) => amount > rest) ?? entry(units, 0)
}
