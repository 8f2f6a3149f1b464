import type { Dataset } from '../catalog/dataset.ts'
import { canonicalJson, sha256 } from '../ledger/canonical.ts'
import type {
  AnalystSpending,
  Budget,
  Charge,
  ChargeOutcome,
  EventReference,
  Ledger,
} from '../ledger/ledger.ts'
import { MAX_LEASE_MS } from '../ledger/range.ts'
import type { HeadSigner } from '../ledger/signature.ts'
import { type Amount, amountNumbers, coversAmount, noAmount, subtractAmounts } from '../privacy/accounting.ts'
import { Refusal } from '../privacy/refusal.ts'

/** What charging needs. */
export interface ChargeDependencies {
  readonly ledger: Ledger
  /** How long an attempt may take before a repeat of the question takes its charge over. */
  readonly leaseMs: number
  /** Left out: receipts are not signed. */
  readonly signer?: HeadSigner
}

/** What shall be paid for. */
export interface Purchase {
  readonly principal: string
  readonly dataset: Dataset
  /** What is asked of the dataset, as JSON: its key says which kind of request it is. */
  readonly request: Readonly<Record<string, unknown>>
  readonly price: Amount
  /** Whether the release may answer others on a dataset that shares, and be that of another. */
  readonly sharing: boolean
  /** Left out: the request itself is its key, so that a repeat finds what was paid for. */
  readonly idempotencyKey?: string
}

/** A debit that was made durable, or the stored answer of one that was made before. */
export type Charged = Extract<ChargeOutcome, { readonly kind: 'charged' | 'shared' | 'answered' }>

/**
 * Debit the price of a request, durably, or find the answer that was paid for before.
 * @throws Refusal where budget or allotment does not suffice, the key belongs to another request, or an attempt is under
 * way.
 */
export async function charge(
  { ledger, leaseMs }: Pick<ChargeDependencies, 'ledger' | 'leaseMs'>,
  { principal, dataset, request, price, sharing, idempotencyKey }: Purchase,
): Promise<Charged> {
  const canonical = canonicalJson({ dataset: dataset.id, version: dataset.version, ...request })
  const requestHash = sha256(canonical)
  const outcome = await ledger.charge({
    dataset: dataset.id,
    datasetVersion: dataset.version,
    principal,
    idempotencyKey: idempotencyKey ?? keyOfRequest(requestHash),
    keyChosen: idempotencyKey !== undefined,
    requestHash,
    request: canonical,
    price,
    sharing: sharing && dataset.sharing,
    leaseMs: Math.min(leaseMs, MAX_LEASE_MS),
  })
  switch (outcome.kind) {
    case 'charged':
    case 'shared':
    case 'answered':
      return outcome
    case 'denied':
      throw denied(outcome, price, idempotencyKey !== undefined)
    case 'in-flight':
      throw inFlight(outcome.retryAfterMs)
    case 'key-reused':
      throw keyReused()
    case 'no-budget':
      throw new Refusal('unknown-dataset', `The dataset ${dataset.id} has no budget.`)
  }
}

/** The key of a request that was sent without one: a repeat has the same. */
export function keyOfRequest(requestHash: string): string {
  return `sha256:${requestHash}`
}

/** The refusal of a key that stands for another request. */
export function keyReused(): Refusal {
  return new Refusal(
    'idempotency-key-reused',
    'This Idempotency-Key was used for another request. Use a new key for a new question.',
  )
}

const LONGEST_RETRY_SECONDS = 2

/** The refusal of a request whose repeat is being answered. */
export function inFlight(retryAfterMs: number): Refusal {
  // The lease is the longest it can take; mostly it is over in a moment.
  const retryAfterSeconds = Math.min(LONGEST_RETRY_SECONDS, Math.max(1, Math.ceil(retryAfterMs / 1000)))
  return new Refusal(
    'query-in-flight',
    'The same question is being answered. Ask again later, at no further cost.',
    [],
    { retryAfterSeconds },
  )
}

/** A budget as people read it. */
export function describeBudget({ cap, spent }: Pick<Budget, 'cap' | 'spent'>) {
  return {
    cap: amountNumbers(cap),
    spent: amountNumbers(spent),
    remaining: amountNumbers(subtractAmounts(cap, spent)),
  }
}

/** An analyst's allotment as people read it; nothing where there is none. */
export function describeAllotment({ allotment, spent }: AnalystSpending) {
  return allotment === undefined ? {} : { allotment: describeBudget({ cap: allotment.limit, spent }) }
}

/** What a debit cost, what it left, and the event that an auditor finds it by. */
export function describeDebit(
  { signer }: Pick<ChargeDependencies, 'signer'>,
  dataset: string,
  price: Amount,
  { budget, analyst, event }: Charge,
) {
  return {
    cost: amountNumbers(price),
    budget: describeBudget(budget),
    ...describeAllotment(analyst),
    receipt: describeReceipt(signer, dataset, event),
  }
}

/** An event of a dataset's chain, signed where the service has a key. */
export function describeReceipt(signer: HeadSigner | undefined, dataset: string, event: EventReference) {
  const { sequence, hash } = event
  return {
    sequence,
    hash,
    ...(signer === undefined ? {} : { signature: signer.sign({ dataset, sequence, hash }) }),
  }
}

/** What something would cost, and whether budget and allotment suffice for it now. */
export function describePrice(price: Amount, budget: Budget, analyst: AnalystSpending) {
  const limit = analyst.allotment?.limit ?? budget.cap
  return {
    cost: amountNumbers(price),
    budget: describeBudget(budget),
    ...describeAllotment(analyst),
    affordable:
      coversAmount(subtractAmounts(budget.cap, budget.spent), price) &&
      coversAmount(leftOf(limit, analyst), price),
  }
}

/** What an analyst may still spend of a limit, were the dataset's budget endless. */
function leftOf(limit: Amount, { spent }: AnalystSpending): Amount {
  return coversAmount(limit, spent) ? subtractAmounts(limit, spent) : noAmount(limit.accounting)
}

function denied(
  { by, sticks, budget, analyst }: Extract<ChargeOutcome, { readonly kind: 'denied' }>,
  asked: Amount,
  keyChosen: boolean,
): Refusal {
  const limited = by === 'allotment'
  const limit = limited ? (analyst.allotment?.limit ?? budget.cap) : budget.cap
  const spent = limited ? analyst.spent : budget.spent
  const remaining = limited ? leftOf(limit, analyst) : subtractAmounts(budget.cap, budget.spent)
  const [unit, wanted, left] = shortUnit(asked, remaining)
  const whose = limited ? 'your allotment' : 'the budget'
  // Idempotency: what a key was answered with, it is answered with again, also after a grant.
  const advice = keyChosen ? ' This Idempotency-Key stays denied; ask again with a new one.' : ''
  const detail = sticks
    ? `The request was denied before. Nothing was charged.${advice}`
    : `The request asks for ${unit} ${wanted} and ${left} is left of ${whose}. Nothing was charged.${advice}`
  return new Refusal(
    limited ? 'allotment-insufficient' : 'budget-insufficient',
    detail,
    [
      {
        field: unit === 'delta' ? 'delta' : 'epsilon',
        rule: `must cost at most ${unit} ${left}, what is left of ${whose}`,
      },
    ],
    {
      cap: amountNumbers(limit),
      spent: amountNumbers(spent),
      remaining: amountNumbers(remaining),
      asked: amountNumbers(asked),
    },
  )
}

/** The unit of which too much is asked, how much, and how much is left. */
function shortUnit(asked: Amount, remaining: Amount): [string, number, number] {
  const left: Readonly<Record<string, number>> = amountNumbers(remaining)
  const wanted = Object.entries(amountNumbers(asked))
  const [unit, amount] = wanted.find(([name, number]) => number > (left[name] ?? 0)) ??
    wanted[0] ?? ['epsilon', 0]
  return [unit, amount, left[unit] ?? 0]
}
