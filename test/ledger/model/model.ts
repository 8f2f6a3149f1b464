import { chargeId } from '../../../src/ledger/canonical.ts'
import type {
  AnalystSpending,
  Budget,
  NewAllotment,
  NewBudget,
} from '../../../src/ledger/contract/budgets.ts'
import type { LedgerEntry } from '../../../src/ledger/contract/chain.ts'
import type { ChargeRequest } from '../../../src/ledger/contract/charges.ts'
import type { NewSession, SessionAnswer } from '../../../src/ledger/contract/sessions.ts'
import type { Failure } from '../../../src/ledger/contract/suspension.ts'
import { type Accounting, type Amount, amountBoughtBy } from '../../../src/privacy/accounting.ts'
import { deltaAtto, epsilonNano, type PrivacyLoss, rhoPico } from '../../../src/privacy/loss.ts'

/*
 * A simple model of the ledger: maps, a clock and pairs of integers. It uses none of the ledger's code, except the
 * conversion of (epsilon, delta) into rho, which has tests of its own.
 */

/** Epsilon and delta, or rho and 0, in their smallest units. */
type Units = readonly [bigint, bigint]

export interface Model {
  nowMs: number
  readonly datasets: Map<string, ModelDataset>
  readonly charges: Map<string, ModelCharge>
  /** The shared release of each request, by dataset and request hash. */
  readonly shared: Map<string, string>
  readonly sessions: Map<string, ModelSession>
}

interface ModelDataset {
  readonly accounting: Accounting
  granted: Units
  cap: Units
  spent: Units
  failures: number
  suspended: boolean
  readonly analysts: Map<string, ModelAnalyst>
  readonly events: ModelEvent[]
}

/** An event, without hashes and times. */
export interface ModelEvent {
  readonly kind: LedgerEntry['kind']
  readonly principal: string
  readonly chargeId?: string
  readonly analyst?: string
  readonly granted?: PrivacyLoss
  readonly price?: Amount
}

interface ModelAnalyst {
  allotted?: { granted: Units; limit: Units } | undefined
  spent: Units
  spentOnShared: Units
}

interface ModelCharge {
  readonly principal: string
  readonly dataset: string
  readonly requestHash: string
  accounting: Accounting
  price: Units
  state: 'charged' | 'answered' | 'failed' | 'denied'
  attempt: number
  leasedAtMs: number
  readonly debitedAtMs: number
  leaseEndsMs: number
  sharing: boolean
  sharedFrom?: string
  answer?: string
}

interface ModelSession {
  readonly dataset: string
  readonly principal: string
  readonly positives: number
  readonly answers: Map<string, { requestHash: string; above: boolean; answer: string }>
}

/** A command, as data. */
export type ModelCall =
  | { readonly operation: 'openBudget'; readonly args: readonly [string, NewBudget, string] }
  | { readonly operation: 'grant'; readonly args: readonly [string, PrivacyLoss, string, string] }
  | { readonly operation: 'replaceCap'; readonly args: readonly [string, PrivacyLoss, string, string] }
  | { readonly operation: 'allot'; readonly args: readonly [NewAllotment] }
  | { readonly operation: 'charge'; readonly args: readonly [ChargeRequest] }
  | { readonly operation: 'recordAnswer'; readonly args: readonly [string, number, string] }
  | { readonly operation: 'recordFailure'; readonly args: readonly [string, number, Failure?] }
  | { readonly operation: 'openSession'; readonly args: readonly [string, number, string, NewSession] }
  | { readonly operation: 'recordQuestionFailure'; readonly args: readonly [string, Failure] }
  | { readonly operation: 'resume'; readonly args: readonly [string, string, string] }
  | { readonly operation: 'recordSessionAnswer'; readonly args: readonly [SessionAnswer] }

/** The expected result of a call, and the transition that it was in the model. */
export interface Expected {
  /** Without the hash of a receipt, which the model does not compute. */
  readonly result: unknown
  readonly transition: string
}

/** The expected result of a call that must throw a RangeError. */
export const OUT_OF_RANGE = 'out of range'

const NONE: Units = [0n, 0n]
const plus = (a: Units, b: Units): Units => [a[0] + b[0], a[1] + b[1]]
const within = (a: Units, b: Units): boolean => a[0] <= b[0] && a[1] <= b[1]
const same = (a: Units, b: Units): boolean => a[0] === b[0] && a[1] === b[1]
const unitsOfLoss = (loss: PrivacyLoss): Units => [loss.epsilonNano, loss.deltaAtto]
const unitsOf = (amount: Amount): Units =>
  amount.accounting === 'zcdp' ? [amount.rhoPico, 0n] : unitsOfLoss(amount)
const toLoss = ([epsilon, delta]: Units): PrivacyLoss => ({
  epsilonNano: epsilonNano(epsilon),
  deltaAtto: deltaAtto(delta),
})
const toAmount = (accounting: Accounting, units: Units): Amount =>
  accounting === 'zcdp' ? { accounting, rhoPico: rhoPico(units[0]) } : { accounting, ...toLoss(units) }
const bought = (accounting: Accounting, granted: Units): Units =>
  unitsOf(amountBoughtBy(accounting, toLoss(granted)))

export function newModel(nowMs: number): Model {
  return { nowMs, datasets: new Map(), charges: new Map(), shared: new Map(), sessions: new Map() }
}

/** A dataset's budget in the model. */
export function budgetOf({ accounting, granted, cap, spent }: ModelDataset): Budget {
  return {
    granted: toLoss(granted),
    cap: toAmount(accounting, cap),
    spent: toAmount(accounting, spent),
  }
}

/** An analyst's spending in the model. */
export function spendingOf(dataset: ModelDataset, principal: string): AnalystSpending {
  const { allotted, spent, spentOnShared } = analystOf(dataset, principal)
  const { accounting } = dataset
  return {
    principal,
    spent: toAmount(accounting, spent),
    spentOnShared: toAmount(accounting, spentOnShared),
    ...(allotted !== undefined && {
      allotment: { granted: toLoss(allotted.granted), limit: toAmount(accounting, allotted.limit) },
    }),
  }
}

function analystOf(dataset: ModelDataset, principal: string): ModelAnalyst {
  return dataset.analysts.get(principal) ?? { spent: NONE, spentOnShared: NONE }
}

/** Carries out a call in the model. */
export function stepModel(model: Model, call: ModelCall): Expected {
  switch (call.operation) {
    case 'openBudget':
      return open(model, ...call.args)
    case 'grant':
      return grant(model, call.args[0], call.args[1], call.args[2])
    case 'replaceCap':
      return replaceCap(model, call.args[0], call.args[1], call.args[2])
    case 'allot':
      return allot(model, ...call.args)
    case 'charge':
      return charge(model, ...call.args)
    case 'recordAnswer':
    case 'openSession':
      return answer(model, call)
    case 'recordFailure':
      return fail(model, ...call.args)
    case 'recordQuestionFailure':
      return failQuestion(model, ...call.args)
    case 'resume':
      return resume(model, call.args[0], call.args[1])
    case 'recordSessionAnswer':
      return answerSession(model, ...call.args)
  }
}

function open(model: Model, name: string, { accounting, granted }: NewBudget, principal: string): Expected {
  const existing = model.datasets.get(name)
  if (existing !== undefined)
    return { result: { kind: 'exists', budget: budgetOf(existing) }, transition: 'opened -> exists' }
  const units = unitsOfLoss(granted)
  model.datasets.set(name, {
    accounting,
    granted: units,
    cap: bought(accounting, units),
    spent: NONE,
    failures: 0,
    suspended: false,
    analysts: new Map(),
    events: [{ kind: 'opened', principal, granted }],
  })
  return { result: { kind: 'opened' }, transition: `absent -> opened in ${accounting}` }
}

function grant(model: Model, name: string, granted: PrivacyLoss, principal: string): Expected {
  const dataset = model.datasets.get(name)
  if (dataset === undefined) return { result: undefined, transition: 'absent -> not granted' }
  dataset.granted = plus(dataset.granted, unitsOfLoss(granted))
  dataset.cap = bought(dataset.accounting, dataset.granted)
  dataset.events.push({ kind: 'granted', principal, granted })
  return { result: budgetOf(dataset), transition: `opened -> granted in ${dataset.accounting}` }
}

function replaceCap(model: Model, name: string, granted: PrivacyLoss, principal: string): Expected {
  const dataset = model.datasets.get(name)
  if (dataset === undefined) return { result: { kind: 'no-budget' }, transition: 'absent -> not replaced' }
  const units = unitsOfLoss(granted)
  if (same(dataset.granted, units))
    return { result: { kind: 'replaced', budget: budgetOf(dataset) }, transition: 'same cap again' }
  if (!same(dataset.spent, NONE))
    return { result: { kind: 'spent', budget: budgetOf(dataset) }, transition: 'spent -> not replaced' }
  dataset.granted = units
  dataset.cap = bought(dataset.accounting, units)
  dataset.events.push({ kind: 'cap-replaced', principal, granted })
  return {
    result: { kind: 'replaced', budget: budgetOf(dataset) },
    transition: `opened -> cap replaced in ${dataset.accounting}`,
  }
}

function allot(model: Model, { dataset: name, analyst, granted, principal }: NewAllotment): Expected {
  const dataset = model.datasets.get(name)
  if (dataset === undefined) return { result: { kind: 'no-budget' }, transition: 'absent -> not allotted' }
  const before = analystOf(dataset, analyst)
  const { accounting } = dataset
  const units = granted === undefined ? undefined : unitsOfLoss(granted)
  const stops = units !== undefined && same(units, NONE)
  const limit = stops ? before.spent : bought(accounting, units ?? NONE)
  // Under basic composition, the event records the spending as an (epsilon, delta).
  const allotted = units && { granted: stops && accounting === 'basic' ? limit : units, limit }
  if (allotted !== undefined && !within(before.spent, allotted.limit))
    return {
      result: { kind: 'below-spent', analyst: spendingOf(dataset, analyst) },
      transition: 'allotment below spent',
    }
  const from = before.allotted === undefined ? 'unlimited' : 'allotted'
  const to = allotted === undefined ? 'lifted' : stops ? `stopped in ${accounting}` : 'allotted'
  const change = `${from} -> ${to}`
  dataset.analysts.set(analyst, { ...before, allotted })
  const recorded = allotted && toLoss(allotted.granted)
  dataset.events.push({ kind: 'allotted', principal, analyst, ...(recorded && { granted: recorded }) })
  return { result: { kind: 'allotted', analyst: spendingOf(dataset, analyst) }, transition: change }
}

function charge(model: Model, request: ChargeRequest): Expected {
  const { principal, keyChosen, requestHash, sharing, leaseMs } = request
  const id = chargeId(principal, request.idempotencyKey)
  const earlier = model.charges.get(id)
  const dataset = model.datasets.get(request.dataset)
  const price = unitsOf(request.price)
  const { accounting } = request.price
  if (earlier !== undefined && dataset !== undefined) {
    const samePrice = earlier.accounting === accounting && same(earlier.price, price)
    const unanswered = earlier.state === 'charged' || earlier.state === 'failed'
    const otherRequest = earlier.requestHash !== requestHash
    if (otherRequest || earlier.dataset !== request.dataset || (unanswered && !samePrice)) {
      const why = otherRequest ? 'request' : samePrice ? 'dataset' : 'price or dataset'
      return {
        result: { kind: 'key-reused' },
        transition: `${earlier.state} -> key reused for another ${why}`,
      }
    }
    if (earlier.state === 'answered')
      return {
        result: { kind: 'answered', id, answer: earlier.answer },
        transition: 'answered -> replayed',
      }
    if (earlier.state === 'denied' && keyChosen) {
      const by = (accounting === dataset.accounting && short(dataset, principal, price, false)) || 'dataset'
      return { result: denied(dataset, principal, by, true), transition: 'denied -> denial sticks' }
    }
    if (unanswered) {
      const { leasedAtMs, leaseEndsMs } = earlier
      if (earlier.state === 'charged' && leasedAtMs <= model.nowMs && model.nowMs < leaseEndsMs)
        return {
          result: { kind: 'in-flight', retryAfterMs: leaseEndsMs - model.nowMs },
          transition: 'charged -> in flight',
        }
      if (dataset.suspended) return suspended(earlier.state)
      const was = earlier.state === 'failed' ? 'failed' : model.nowMs < leasedAtMs ? 'clock back' : 'lapsed'
      earlier.state = 'charged'
      earlier.attempt += 1
      earlier.leasedAtMs = model.nowMs
      earlier.leaseEndsMs = model.nowMs + leaseMs
      dataset.events.push({ kind: 'retried', principal, chargeId: id })
      const how = earlier.sharedFrom === undefined ? 'retried' : 'shared again'
      return { result: charged(model, dataset, id), transition: `${was} -> ${how}` }
    }
  }
  if (dataset === undefined) {
    // A key of a request on another dataset is refused, even if this dataset has no budget.
    if (earlier !== undefined)
      return { result: { kind: 'key-reused' }, transition: `${earlier.state} -> key reused without a budget` }
    return { result: { kind: 'no-budget' }, transition: 'absent -> no budget' }
  }
  if (accounting !== dataset.accounting)
    return { result: OUT_OF_RANGE, transition: 'price counted otherwise' }
  if (dataset.suspended) return suspended(earlier?.state ?? 'absent')
  const release = sharing && !keyChosen ? model.shared.get(`${request.dataset} ${requestHash}`) : undefined
  const isOwn = release !== undefined && chargeOf(model, release).principal === principal
  const sharedFrom = isOwn ? undefined : release
  const by = short(dataset, principal, price, sharedFrom !== undefined)
  const from = earlier === undefined ? 'absent' : 'denied'
  if (by !== undefined) {
    if (earlier === undefined) {
      model.charges.set(id, newCharge(model, request, 'denied'))
      // The denial is counted in the account of the analyst.
      dataset.analysts.set(principal, analystOf(dataset, principal))
      dataset.events.push({ kind: 'denied', principal, chargeId: id, price: request.price })
    }
    return { result: denied(dataset, principal, by, false), transition: `${from} -> denied by ${by}` }
  }
  model.charges.set(id, {
    ...newCharge(model, request, 'charged'),
    ...(sharedFrom !== undefined && { sharedFrom }),
  })
  const before = analystOf(dataset, principal)
  dataset.analysts.set(principal, {
    ...before,
    spent: plus(before.spent, price),
    spentOnShared: sharedFrom === undefined ? before.spentOnShared : plus(before.spentOnShared, price),
  })
  if (sharedFrom === undefined) dataset.spent = plus(dataset.spent, price)
  const kind = sharedFrom === undefined ? 'charged' : 'shared'
  dataset.events.push({ kind, principal, chargeId: id, price: request.price })
  const how = isOwn ? "charged beside one's own release" : `${kind} in ${accounting}`
  return { result: charged(model, dataset, id), transition: `${from} -> ${how}` }
}

const suspended = (from: string): Expected => ({
  result: { kind: 'suspended' },
  transition: `${from} -> suspended`,
})

function newCharge(model: Model, request: ChargeRequest, state: 'charged' | 'denied'): ModelCharge {
  return {
    principal: request.principal,
    dataset: request.dataset,
    requestHash: request.requestHash,
    accounting: request.price.accounting,
    price: unitsOf(request.price),
    state,
    attempt: state === 'charged' ? 1 : 0,
    leasedAtMs: model.nowMs,
    debitedAtMs: model.nowMs,
    leaseEndsMs: model.nowMs + request.leaseMs,
    sharing: request.sharing,
  }
}

function short(
  dataset: ModelDataset,
  principal: string,
  price: Units,
  isShare: boolean,
): 'dataset' | 'allotment' | undefined {
  if (!isShare && !within(plus(dataset.spent, price), dataset.cap)) return 'dataset'
  const { allotted, spent } = analystOf(dataset, principal)
  return within(plus(spent, price), allotted?.limit ?? dataset.cap) ? undefined : 'allotment'
}

function denied(dataset: ModelDataset, principal: string, by: string, sticks: boolean) {
  return { kind: 'denied', by, sticks, budget: budgetOf(dataset), analyst: spendingOf(dataset, principal) }
}

function charged(model: Model, dataset: ModelDataset, id: string) {
  const { attempt, principal, debitedAtMs, sharedFrom } = chargeOf(model, id)
  const made = {
    id,
    attempt,
    budget: budgetOf(dataset),
    analyst: spendingOf(dataset, principal),
    debitedAtMs,
    event: { sequence: dataset.events.length },
  }
  if (sharedFrom === undefined) return { kind: 'charged', charge: made }
  const source = chargeOf(model, sharedFrom)
  const shared = {
    id: sharedFrom,
    dataset: source.dataset,
    principal: source.principal,
    answer: source.answer,
  }
  return { kind: 'shared', charge: made, shared }
}

function answer(
  model: Model,
  call: Extract<ModelCall, { operation: 'recordAnswer' | 'openSession' }>,
): Expected {
  const [id, attempt, text] = call.args
  const target = model.charges.get(id)
  if (target?.state !== 'charged' || target.attempt !== attempt)
    return { result: false, transition: `stale ${call.operation}` }
  const { principal, dataset, requestHash, sharing, sharedFrom } = target
  target.state = 'answered'
  target.answer = text
  const question = `${dataset} ${requestHash}`
  if (sharing && sharedFrom === undefined && !model.shared.has(question)) model.shared.set(question, id)
  model.datasets.get(dataset)?.events.push({ kind: 'answered', principal, chargeId: id })
  if (call.operation === 'recordAnswer')
    return {
      result: true,
      transition: sharedFrom === undefined ? 'charged -> answered' : 'shared -> answered',
    }
  model.sessions.set(id, { dataset, principal, positives: call.args[3].positives, answers: new Map() })
  return { result: true, transition: 'charged -> session' }
}

function fail(model: Model, id: string, attempt: number, failure?: Failure): Expected {
  const target = model.charges.get(id)
  if (target?.state !== 'charged' || target.attempt !== attempt)
    return { result: undefined, transition: 'stale failure' }
  target.state = 'failed'
  const { dataset, principal } = target
  model.datasets.get(dataset)?.events.push({ kind: 'failed', principal, chargeId: id })
  const outcome = failure?.counts ? count(model, dataset, principal, id, failure.limit) : 'failed'
  return { result: undefined, transition: `charged -> ${outcome}` }
}

function failQuestion(model: Model, id: string, { counts, limit }: Failure): Expected {
  const session = model.sessions.get(id)
  if (session === undefined || !counts) return { result: undefined, transition: 'question not counted' }
  const { dataset, principal } = session
  model.datasets.get(dataset)?.events.push({ kind: 'session-failed', principal, chargeId: id })
  const outcome = count(model, dataset, principal, id, limit)
  return { result: undefined, transition: `question -> ${outcome}` }
}

/** Counts a failure. */
function count(model: Model, name: string, principal: string, id: string, limit: number): string {
  const dataset = model.datasets.get(name)
  if (dataset === undefined) throw new Error('the model misses a dataset')
  dataset.failures += 1
  if (dataset.suspended) return 'counted during a suspension'
  if (dataset.failures < limit) return 'counted'
  dataset.suspended = true
  dataset.events.push({ kind: 'suspended', principal, chargeId: id })
  return 'suspended'
}

function resume(model: Model, name: string, principal: string): Expected {
  const dataset = model.datasets.get(name)
  if (dataset === undefined) return { result: { kind: 'no-budget' }, transition: 'absent -> not resumed' }
  if (!dataset.suspended) return { result: { kind: 'not-suspended' }, transition: 'not suspended' }
  dataset.suspended = false
  dataset.failures = 0
  dataset.events.push({ kind: 'resumed', principal })
  return { result: { kind: 'resumed' }, transition: 'suspended -> resumed' }
}

function answerSession(model: Model, recorded: SessionAnswer): Expected {
  const session = model.sessions.get(recorded.session)
  if (session === undefined) return { result: false, transition: 'no session' }
  const { answers, positives, dataset, principal } = session
  if (answers.has(recorded.idempotencyKey)) return { result: false, transition: 'question answered before' }
  if (positivesOf(session) >= positives) return { result: false, transition: 'session used up' }
  if (recorded.question !== answers.size + 1) return { result: false, transition: 'question out of turn' }
  const { idempotencyKey, requestHash, above, answer: text } = recorded
  answers.set(idempotencyKey, { requestHash, above, answer: text })
  model.datasets
    .get(dataset)
    ?.events.push({ kind: 'session-answered', principal, chargeId: recorded.session })
  return { result: true, transition: above ? 'session -> above' : 'session -> below' }
}

/** Counts the positives of a session. */
export function positivesOf({ answers }: ModelSession): number {
  return [...answers.values()].filter(({ above }) => above).length
}

function chargeOf(model: Model, id: string): ModelCharge {
  const found = model.charges.get(id)
  if (found === undefined) throw new Error('the model misses a charge')
  return found
}
