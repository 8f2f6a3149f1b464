import {
  type Amount,
  addAmounts,
  coversAmount,
  isSameAmount,
  noAmount,
  subtractAmounts,
} from '../../privacy/accounting.ts'
import { defined } from '../../privacy/defined.ts'
import { must } from '../../privacy/must.ts'
import { chargeId, sha256 } from '../canonical.ts'
import type { Balances } from '../contract/budgets.ts'
import type { EventReference } from '../contract/chain.ts'
import type {
  Charge,
  Charged,
  ChargeOutcome,
  ChargeRequest,
  ChargesOutcome,
  Limit,
  PopulationDebit,
} from '../contract/charges.ts'
import { isOpenTo, type ReleaseFacts, type StoredRelease } from '../contract/releases.ts'
import type { Failure } from '../contract/suspension.ts'
import { eventAmount } from '../event.ts'
import {
  expectCount,
  expectDataset,
  expectPrice,
  expectStorable,
  expectText,
  expectTime,
  MAX_COUNT,
  MAX_LEASE_MS,
} from '../range.ts'
import { packAnswer, packedBytes } from '../stores/packed-answer.ts'
import {
  analystOf,
  answerOf,
  appendEvent,
  type Batch,
  type EventFacts,
  setAnalyst,
  setSharedRelease,
  sharedReleaseOf,
  trialOf,
} from './batch.ts'
import { populationBalances, populationOf, spend } from './populations.ts'
import { type Account, type AnalystAccount, expectRow, type StoredCharge, spendingOf } from './rows.ts'
import {
  ATTEMPT_BYTES,
  addStoredBytes,
  CHARGE_BYTES,
  DENIAL_BYTES,
  isStorageExceeded,
  MAX_DENIALS,
  withStoredBytes,
} from './storage.ts'
import { countFailure, errorClassField } from './suspension.ts'

/** Decides {@link Ledger.charge}. See decision 15. */
export function charge(batch: Batch, request: ChargeRequest): ChargeOutcome {
  expectChargeRequest(request)
  const id = chargeId(request.principal, request.idempotencyKey)
  const earlier = batch.charges.get(id)
  if (earlier === undefined) return firstAttempt(batch, id, request, undefined)
  if (earlier.principal !== request.principal || earlier.idempotencyKey !== request.idempotencyKey) {
    throw new Error('two idempotency keys have the same charge id')
  }
  if (!isSameQuestion(earlier, request)) return { kind: 'key-reused' }
  switch (earlier.state) {
    case 'denied':
      return request.keyChosen
        ? repeatedDenial(batch, earlier, request)
        : firstAttempt(batch, id, request, earlier)
    case 'answered':
      return { kind: 'answered', id, answer: expectRow(answerOf(batch, id)) }
    case 'charged':
      // An attempt under way may end during a suspension.
      return isLeased(batch, earlier)
        ? { kind: 'in-flight', retryAfterMs: earlier.leaseExpiresAtMs - batch.nowMs }
        : furtherAttempt(batch, earlier, request)
    case 'failed':
      return furtherAttempt(batch, earlier, request)
  }
}

/**
 * Decides {@link Ledger.chargeAll}. A trial decides the requests one after the other, and only if it refuses none are they debited.
 * See decision 67.
 */
export function chargeAll(batch: Batch, requests: readonly ChargeRequest[]): ChargesOutcome {
  requests.forEach(expectChargeRequest)
  const datasets = new Set(requests.map(({ dataset }) => dataset))
  const accountings = new Set(requests.map(({ price }) => price.accounting))
  if (datasets.size < requests.length || accountings.size !== 1)
    throw new RangeError('requests that are charged together are about different datasets, in one accounting')
  const trial = trialOf(batch)
  for (const [place, request] of requests.entries()) {
    const tried = charge(trial, request)
    if (isCharged(tried)) continue
    const unpaid = unpaidOf(batch, requests)
    const outcome = tried.kind === 'denied' ? denyAs(batch, request, tried) : tried
    return { kind: 'refused', place, outcome, unpaid }
  }
  const outcomes = requests.map((request) => {
    const made = charge(batch, request)
    if (!isCharged(made)) throw new Error('a charge differs from its trial')
    return made
  })
  return { kind: 'charged', outcomes }
}

function isCharged(outcome: ChargeOutcome): outcome is Charged {
  return outcome.kind === 'charged' || outcome.kind === 'shared' || outcome.kind === 'answered'
}

function unpaidOf(batch: Batch, requests: readonly ChargeRequest[]): Amount {
  const isUnpaid = ({ principal, idempotencyKey }: ChargeRequest) =>
    (batch.charges.get(chargeId(principal, idempotencyKey))?.state ?? 'denied') === 'denied'
  const nothing = noAmount(must(requests[0], 'a request').price.accounting)
  return requests.filter(isUnpaid).reduce((sum, { price }) => addAmounts(sum, price), nothing)
}

/** Records the denial of a request by a trial, and states the balances before the trial. */
function denyAs(
  batch: Batch,
  request: ChargeRequest,
  denied: Extract<ChargeOutcome, { readonly kind: 'denied' }>,
): typeof denied {
  const { dataset, principal, idempotencyKey } = request
  const account = expectRow(batch.accounts.get(dataset))
  const id = chargeId(principal, idempotencyKey)
  if (batch.charges.get(id) === undefined) {
    const row = newCharge(batch, id, request, { sharedFrom: undefined, isDenied: true })
    recordDenial(batch, row, analystOf(batch, account, principal))
  }
  return { ...denied, ...defined({ population: populationBalances(batch, account, principal) }) }
}

/** Decides {@link Ledger.recordAnswer}. */
export function recordAnswer(
  batch: Batch,
  id: string,
  attempt: number,
  answer: string,
  { kind = '', answeredAtMs = batch.nowMs }: ReleaseFacts = {},
): boolean {
  expectText({ id })
  expectStorable('answer', answer)
  expectStorable('kind', kind)
  expectTime('answeredAtMs', answeredAtMs)
  const row = currentAttempt(batch, id, attempt)
  if (row === undefined) return false
  const { dataset, principal, requestHash, sharing, sharedFrom } = row
  // Before any change, so that a call that fails has no effect.
  const packed = packAnswer(answer)
  batch.charges.set(id, { ...row, state: 'answered' })
  batch.releases.set(id, { charge: id, dataset, principal, kind, answeredAtMs, answer: packed })
  addStoredBytes(batch, dataset, principal, packedBytes(packed))
  // Only the first release is ever shared. Sharing later ones would give fresh noise that the dataset is not charged
  // for.
  if (sharing && sharedFrom === undefined && sharedReleaseOf(batch, dataset, requestHash) === undefined)
    setSharedRelease(batch, dataset, requestHash, id)
  appendEvent(batch, dataset, {
    kind: 'answered',
    principal,
    chargeId: id,
    attempt,
    answerHash: sha256(answer),
  })
  return true
}

/** Decides {@link Ledger.recordFailure}. */
export function recordFailure(
  batch: Batch,
  id: string,
  attempt: number,
  failure: Failure = { counts: false, limit: 1 },
): void {
  expectText({ id })
  expectCount('limit', failure.limit, MAX_COUNT)
  const row = currentAttempt(batch, id, attempt)
  if (row === undefined) return
  const { dataset, principal } = row
  batch.charges.set(id, { ...row, state: 'failed' })
  appendEvent(batch, dataset, {
    kind: 'failed',
    principal,
    chargeId: id,
    attempt,
    ...(failure.counts && { counted: true }),
    ...errorClassField(failure),
  })
  if (failure.counts) countFailure(batch, dataset, { principal, chargeId: id, limit: failure.limit })
}

/** Finds a charge whose latest attempt is `attempt` and still under way. */
function currentAttempt(batch: Batch, id: string, attempt: number): StoredCharge | undefined {
  expectCount('attempt', attempt, MAX_COUNT)
  const row = batch.charges.get(id)
  return row?.state === 'charged' && row.attempt === attempt ? row : undefined
}

/**
 * Debits a request that has no paid charge yet, or denies it.
 * @param denied the charge of an earlier denial of the same request
 */
function firstAttempt(
  batch: Batch,
  id: string,
  request: ChargeRequest,
  denied: StoredCharge | undefined,
): ChargeOutcome {
  const { dataset, principal, price } = request
  const account = batch.accounts.get(dataset)
  if (account === undefined) return { kind: 'no-budget' }
  if (price.accounting !== account.budget.cap.accounting)
    throw new RangeError("the price is not in the units of the dataset's accounting")
  if (account.suspended) return { kind: 'suspended' }
  requireParents(batch, request)
  if (!isWithin(batch, request)) return { kind: 'other-time', nowMs: batch.nowMs }
  const analyst = analystOf(batch, account, principal)
  const { storedBytes } = analyst
  if (isStorageExceeded(storedBytes, request.maxStoredBytes))
    return { kind: 'storage-exceeded', by: 'bytes', storedBytes }
  const sharedFrom = request.sharing && !request.keyChosen ? releaseOfAnother(batch, request) : undefined
  const population = populationBalances(batch, account, principal)
  const balances = { budget: account.budget, analyst, population }
  const exceeded = exceededLimit(balances, price, sharedFrom !== undefined)
  const row = newCharge(batch, id, request, { sharedFrom, isDenied: exceeded !== undefined })
  if (exceeded !== undefined) {
    const recorded = denied !== undefined || recordDenial(batch, row, analyst)
    if (!recorded && request.keyChosen) return { kind: 'storage-exceeded', by: 'denials', storedBytes }
    return {
      kind: 'denied',
      by: exceeded,
      sticks: false,
      budget: account.budget,
      analyst: spendingOf(analyst),
      ...defined({ population }),
    }
  }
  // Before any change, so that a call that fails has no effect.
  const shared = sharedReleaseFor(batch, row)
  batch.charges.set(id, row)
  batch.requests.set(id, request.request)
  const bytes = CHARGE_BYTES + Buffer.byteLength(request.request)
  debit(batch, account, withStoredBytes(analyst, bytes), row)
  const start = startOf(request, sharedFrom)
  const event = appendEvent(batch, dataset, { ...eventFacts(row), attempt: 1, ...start })
  const ofPopulation = start.kind === 'inferred' ? undefined : debitPopulation(batch, row, { event, start })
  return chargedOutcome(batch, row, event, { shared, ofPopulation })
}

/**
 * Debits the population of a dataset for a charge, as the dataset was debited, in the same batch. An inferred answer debits
 * nothing.
 * @param made the event in the dataset's chain, and its kind
 * @returns the event in the population's chain; `undefined` for a dataset without population
 */
function debitPopulation(
  batch: Batch,
  row: StoredCharge,
  { event, start }: { readonly event: EventReference; readonly start: ReturnType<typeof startOf> },
): EventReference | undefined {
  const { dataset, principal } = row
  const found = populationOf(batch, expectRow(batch.accounts.get(dataset)), principal)
  if (found === undefined) return undefined
  debit(batch, found.account, found.analyst, row)
  const { datasetVersion: _, ...facts } = eventFacts(row)
  return appendEvent(batch, found.account.dataset, { ...facts, ...start, member: { dataset, ...event } })
}

/** The kind of the event that starts a charge, and the charges that it refers to. */
function startOf(
  { parents }: ChargeRequest,
  sharedFrom: string | undefined,
): Pick<EventFacts, 'kind' | 'parents' | 'sharedFrom'> {
  if (parents !== undefined) return { kind: 'inferred', parents }
  return sharedFrom === undefined ? { kind: 'charged' } : { kind: 'shared', sharedFrom }
}

/** @throws RangeError for an inferred answer with a price, or with a parent that is not open to the principal. */
function requireParents(batch: Batch, { parents, price, dataset, principal, sharing }: ChargeRequest): void {
  if (parents === undefined) return
  if (parents.length === 0 || sharing || !isSameAmount(price, noAmount(price.accounting)))
    throw new RangeError('an inferred answer has parents and no price, and is not shared')
  for (const id of parents) {
    const parent = batch.charges.get(id)
    if (parent?.state !== 'answered' || parent.dataset !== dataset || !isOpenTo(principal, parent))
      throw new RangeError(
        'an inferred answer follows from releases that are open to its analyst, on the same dataset',
      )
  }
}

/**
 * Records a denial without the text of its request, and once: a repeated one adds no event.
 * @returns false if no more denials of the analyst are recorded
 */
function recordDenial(batch: Batch, row: StoredCharge, analyst: AnalystAccount): boolean {
  const { id, dataset } = row
  if (analyst.denials >= MAX_DENIALS) return false
  batch.charges.set(id, row)
  batch.requests.set(id, '')
  setAnalyst(batch, { ...withStoredBytes(analyst, DENIAL_BYTES), denials: analyst.denials + 1 })
  appendEvent(batch, dataset, { kind: 'denied', ...eventFacts(row) })
  return true
}

function newCharge(
  batch: Batch,
  id: string,
  request: ChargeRequest,
  { sharedFrom, isDenied }: { readonly sharedFrom: string | undefined; readonly isDenied: boolean },
): StoredCharge {
  const { principal, idempotencyKey, dataset, datasetVersion, requestHash, price, sharing } = request
  return {
    ...{ id, principal, idempotencyKey, dataset, datasetVersion, requestHash, price, sharing },
    state: isDenied ? 'denied' : 'charged',
    attempt: isDenied ? 0 : 1,
    createdAtMs: batch.nowMs,
    leasedAtMs: batch.nowMs,
    leaseExpiresAtMs: isDenied ? batch.nowMs : batch.nowMs + request.leaseMs,
    ...(!isDenied && sharedFrom !== undefined && { sharedFrom }),
  }
}

/** Debits the analyst, and the account unless the charge shares the release of another. */
function debit(
  batch: Batch,
  account: Account,
  analyst: AnalystAccount,
  { price, sharedFrom }: StoredCharge,
): void {
  const spentOnShared = sharedFrom === undefined ? noAmount(price.accounting) : price
  spend(batch, account, analyst, { spent: price, spentOnShared })
}

/** The fields that the events of a charge share. */
function eventFacts({ id, principal, requestHash, datasetVersion, price }: StoredCharge) {
  return { principal, chargeId: id, requestHash, datasetVersion, loss: eventAmount(price) }
}

/** Repeats the denial of a chosen key, with the current balances. */
function repeatedDenial(
  batch: Batch,
  { dataset }: StoredCharge,
  { price, principal }: ChargeRequest,
): ChargeOutcome {
  const account = expectRow(batch.accounts.get(dataset))
  const { budget } = account
  const analyst = spendingOf(analystOf(batch, account, principal))
  const balances = {
    budget,
    analyst,
    ...defined({ population: populationBalances(batch, account, principal) }),
  }
  const by = price.accounting === budget.cap.accounting ? exceededLimit(balances, price, false) : undefined
  return { kind: 'denied', by: by ?? 'dataset', sticks: true, ...balances }
}

/** Starts another attempt of a charge that is paid and has no answer. */
function furtherAttempt(batch: Batch, earlier: StoredCharge, request: ChargeRequest): ChargeOutcome {
  const { datasetVersion, principal } = request
  if (expectRow(batch.accounts.get(earlier.dataset)).suspended) return { kind: 'suspended' }
  const attempt = earlier.attempt + 1
  const row: StoredCharge = {
    ...earlier,
    state: 'charged',
    attempt,
    datasetVersion,
    leasedAtMs: batch.nowMs,
    leaseExpiresAtMs: batch.nowMs + request.leaseMs,
  }
  const shared = sharedReleaseFor(batch, row)
  batch.charges.set(earlier.id, row)
  addStoredBytes(batch, earlier.dataset, principal, ATTEMPT_BYTES)
  const event = appendEvent(batch, earlier.dataset, {
    kind: 'retried',
    principal,
    chargeId: earlier.id,
    attempt,
    datasetVersion,
  })
  return chargedOutcome(batch, row, event, { shared })
}

function chargedOutcome(
  batch: Batch,
  { id, attempt, dataset, principal, createdAtMs: debitedAtMs }: StoredCharge,
  event: EventReference,
  {
    shared,
    ofPopulation,
  }: { readonly shared: StoredRelease | undefined; readonly ofPopulation?: EventReference | undefined },
): ChargeOutcome {
  const account = expectRow(batch.accounts.get(dataset))
  const analyst = spendingOf(analystOf(batch, account, principal))
  const balances = populationBalances(batch, account, principal)
  const population = balances && { ...balances, ...defined({ event: ofPopulation }) }
  const made = { id, attempt, budget: account.budget, analyst, debitedAtMs, event }
  const charge: Charge = { ...made, ...defined({ population }) }
  return shared === undefined ? { kind: 'charged', charge } : { kind: 'shared', charge, shared }
}

/**
 * Reads the release that answers a charge; `undefined` if the charge has an answer of its own.
 * @throws Error if the stored release is missing or damaged.
 */
function sharedReleaseFor(batch: Batch, { sharedFrom: id }: StoredCharge): StoredRelease | undefined {
  if (id === undefined) return undefined
  const { dataset, principal } = expectRow(batch.charges.get(id))
  return { id, dataset, principal, answer: expectRow(answerOf(batch, id)) }
}

/** Finds the charge of another analyst whose release is shared for this request. */
function releaseOfAnother(
  batch: Batch,
  { dataset, requestHash, principal }: ChargeRequest,
): string | undefined {
  const id = sharedReleaseOf(batch, dataset, requestHash)
  if (id === undefined) return undefined
  const source = expectRow(batch.charges.get(id))
  if (source.dataset !== dataset || source.requestHash !== requestHash)
    throw new Error('the shared release answers another request')
  return source.principal === principal ? undefined : id
}

/** True while the attempt of a charge may still be computing its answer. */
function isLeased({ nowMs }: Batch, { leasedAtMs, leaseExpiresAtMs }: StoredCharge): boolean {
  // A lease that begins in the future was given before the clock was set back. Its remaining time is unknown, so it is
  // void.
  return nowMs >= leasedAtMs && nowMs < leaseExpiresAtMs
}

function isWithin({ nowMs }: Batch, { within }: ChargeRequest): boolean {
  return within === undefined || (nowMs >= within.fromMs && nowMs < within.untilMs)
}

/** The first limit that a price would exceed, of the dataset and then of its population. */
function exceededLimit(
  { population, ...balances }: Balances & { readonly population?: PopulationDebit | undefined },
  price: Amount,
  shared: boolean,
): Limit | undefined {
  const ofDataset = exceededOf(balances, price, shared)
  if (ofDataset !== undefined) return ofDataset === 'cap' ? 'dataset' : 'allotment'
  const ofPopulation = population && exceededOf(population, price, shared)
  if (ofPopulation === undefined) return undefined
  return ofPopulation === 'cap' ? 'population' : 'population-allotment'
}

/** The limit of one account that a price would exceed. An analyst without an allotment is limited by the cap. */
function exceededOf(
  { budget: { cap, spent }, analyst }: Balances,
  price: Amount,
  shared: boolean,
): 'cap' | 'allotment' | undefined {
  if (!shared && !coversAmount(subtractAmounts(cap, spent), price)) return 'cap'
  const limit = analyst.allotment?.limit ?? cap
  return coversAmount(limit, addAmounts(analyst.spent, price)) ? undefined : 'allotment'
}

/**
 * True if a request repeats the one that its key was first used for. Until the charge is answered, the price must match
 * too: an answer with another privacy loss must not be computed under this debit.
 */
function isSameQuestion(earlier: StoredCharge, request: ChargeRequest): boolean {
  if (earlier.requestHash !== request.requestHash || earlier.dataset !== request.dataset) return false
  if (earlier.state === 'answered' || earlier.state === 'denied') return true
  return isSameAmount(earlier.price, request.price)
}

function expectChargeRequest(request: ChargeRequest): void {
  const { dataset, datasetVersion, principal, idempotencyKey, requestHash, price } = request
  expectDataset(dataset)
  expectText({ datasetVersion, principal, idempotencyKey, requestHash, request: request.request })
  expectPrice(price)
  expectCount('leaseMs', request.leaseMs, MAX_LEASE_MS)
}
