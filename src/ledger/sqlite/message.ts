import type { Accounting, Amount } from '../../privacy/accounting.ts'
import type { DeltaAtto, EpsilonNano, PrivacyLoss, RhoPico } from '../../privacy/loss.ts'
import type { LedgerFaultKind } from '../fault.ts'
import type { Allotment } from '../ledger.ts'
import type { Call, Settled } from '../operation.ts'
import { amountFromColumns, columnsOf } from '../stored-row.ts'

/*
 * What the ledger's thread is told, and what it tells. Copying objects from one thread to another costs more than
 * deciding what they ask for, and most calls are charges: those travel as lists of values, in a sixth of the time.
 */

/** What the ledger's thread is told. */
export type ToStore =
  /** Their numbers are `firstNumber` and those that follow. */
  | { readonly kind: 'calls'; readonly firstNumber: number; readonly calls: readonly PackedCall[] }
  | { readonly kind: 'close' }

/** What the ledger's thread tells. `stopped` is the last word. */
export type FromStore =
  | { readonly kind: 'opened' }
  /** Durable since a COMMIT, of which there have been so many. */
  | {
      readonly kind: 'committed'
      readonly numbers: readonly number[]
      readonly settled: readonly PackedSettled[]
      readonly commits: number
    }
  | { readonly kind: 'rejected'; readonly numbers: readonly number[]; readonly fault: PlainFault }
  | { readonly kind: 'stopped'; readonly fault: PlainFault }

/** A fault without its class, which does not survive the way between threads. */
export interface PlainFault {
  readonly kind: LedgerFaultKind
  readonly message: string
}

/** A call; a request for a charge as its values. */
export type PackedCall = Exclude<Call, { readonly operation: 'charge' }> | PackedRequest

/** What became of a call; a charge that was debited as its values. */
export type PackedSettled = Settled | PackedCharge

/** An amount in the units of its accounting; the others are 0. */
type PackedAmount = readonly [epsilonNano: EpsilonNano, deltaAtto: DeltaAtto, rhoPico: RhoPico]

type PackedRequest = readonly [
  dataset: string,
  datasetVersion: string,
  principal: string,
  idempotencyKey: string,
  keyChosen: boolean,
  requestHash: string,
  request: string,
  sharing: boolean,
  leaseMs: number,
  accounting: Accounting,
  ...price: PackedAmount,
]

/** What is an object here is one and the same for many charges of a batch, and is copied once. */
type PackedCharge = readonly [
  id: string,
  attempt: number,
  sequence: number,
  hash: string,
  granted: PrivacyLoss,
  cap: Amount,
  ...spent: PackedAmount,
  principal: string,
  allotment: Allotment | undefined,
  spentOnShared: Amount,
  ...spentByAnalyst: PackedAmount,
]

const ITEMS_PER_MESSAGE = 16

/**
 * Where the parts of a list begin and end that make a message each: while one thread works on one, the other makes the
 * next, and callers that are told first ask again while the others are told.
 */
export function messageRanges(length: number): readonly (readonly [start: number, end: number])[] {
  return Array.from({ length: Math.ceil(length / ITEMS_PER_MESSAGE) }, (_, part) => {
    const start = part * ITEMS_PER_MESSAGE
    return [start, Math.min(start + ITEMS_PER_MESSAGE, length)]
  })
}

/** A call as it travels. */
export function packCall(call: Call): PackedCall {
  if (call.operation !== 'charge') return call
  const [request] = call.args
  const price = columnsOf(request.price)
  return [
    request.dataset,
    request.datasetVersion,
    request.principal,
    request.idempotencyKey,
    request.keyChosen,
    request.requestHash,
    request.request,
    request.sharing,
    request.leaseMs,
    request.price.accounting,
    price.epsilonNano,
    price.deltaAtto,
    price.rhoPico,
  ]
}

/** The call that {@link packCall} packed. */
export function unpackCall(packed: PackedCall): Call {
  if ('operation' in packed) return packed
  const [dataset, datasetVersion, principal, idempotencyKey, keyChosen, requestHash, request, ...rest] =
    packed
  const [sharing, leaseMs, accounting, epsilonNano, deltaAtto, rhoPico] = rest
  const price = amountFromColumns(accounting, { epsilonNano, deltaAtto, rhoPico })
  const asked = { dataset, datasetVersion, principal, idempotencyKey, keyChosen, requestHash, request }
  return { operation: 'charge', args: [{ ...asked, price, sharing, leaseMs }] }
}

/** What became of a call, as it travels. */
export function packSettled(settled: Settled): PackedSettled {
  if (settled.kind === 'failed') return settled
  const { result } = settled
  if (typeof result !== 'object' || !('kind' in result) || result.kind !== 'charged') return settled
  const { id, attempt, budget, analyst, event } = result.charge
  const spent = columnsOf(budget.spent)
  const spentByAnalyst = columnsOf(analyst.spent)
  return [
    id,
    attempt,
    event.sequence,
    event.hash,
    budget.granted,
    budget.cap,
    spent.epsilonNano,
    spent.deltaAtto,
    spent.rhoPico,
    analyst.principal,
    analyst.allotment,
    analyst.spentOnShared,
    spentByAnalyst.epsilonNano,
    spentByAnalyst.deltaAtto,
    spentByAnalyst.rhoPico,
  ]
}

/** What {@link packSettled} packed. */
export function unpackSettled(packed: PackedSettled): Settled {
  if ('kind' in packed) return packed
  const [id, attempt, sequence, hash, granted, cap, epsilonNano, deltaAtto, rhoPico, ...ofAnalyst] = packed
  const [principal, allotment, spentOnShared, analystEpsilonNano, analystDeltaAtto, analystRhoPico] =
    ofAnalyst
  const { accounting } = cap
  const budget = { granted, cap, spent: amountFromColumns(accounting, { epsilonNano, deltaAtto, rhoPico }) }
  const spent = amountFromColumns(accounting, {
    epsilonNano: analystEpsilonNano,
    deltaAtto: analystDeltaAtto,
    rhoPico: analystRhoPico,
  })
  const analyst = { principal, ...(allotment !== undefined && { allotment }), spent, spentOnShared }
  const charge = { id, attempt, budget, analyst, event: { sequence, hash } }
  return { kind: 'done', result: { kind: 'charged', charge } }
}
