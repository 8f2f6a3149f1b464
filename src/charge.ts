import type { Dataset } from './catalog/dataset.ts'
import { canonicalJson, sha256 } from './ledger/canonical.ts'
import type { Budget, Charge, Ledger } from './ledger/ledger.ts'
import { deltaNumber, epsilonNumber, lossNumbers, type PrivacyLoss, subtractLoss } from './privacy/loss.ts'
import { Refusal } from './privacy/refusal.ts'

/** What shall be paid for. */
export interface Purchase {
  readonly principal: string
  readonly dataset: Dataset
  /** What is asked of the dataset, as JSON: its key says which kind of request it is. */
  readonly request: Readonly<Record<string, unknown>>
  readonly loss: PrivacyLoss
  /** Left out: the request itself is its key, so that a repeat finds what was paid for. */
  readonly idempotencyKey?: string
}

/** A debit that was made durable, or the stored answer of one that was made before. */
export type Charged =
  | { readonly kind: 'charged'; readonly charge: Charge }
  | { readonly kind: 'answered'; readonly answer: string }

/**
 * Debit the price of a request, durably, or find the answer that was paid for before.
 * @throws Refusal where the budget does not suffice, the key belongs to another request, or an attempt is under way.
 */
export async function charge(
  { ledger, leaseMs }: { readonly ledger: Ledger; readonly leaseMs: number },
  { principal, dataset, request, loss, idempotencyKey }: Purchase,
): Promise<Charged> {
  const canonical = canonicalJson({ dataset: dataset.id, version: dataset.version, ...request })
  const requestHash = sha256(canonical)
  const outcome = await ledger.charge({
    dataset: dataset.id,
    datasetVersion: dataset.version,
    principal,
    idempotencyKey: idempotencyKey ?? keyOfRequest(requestHash),
    requestHash,
    request: canonical,
    loss,
    leaseMs,
  })
  switch (outcome.kind) {
    case 'charged':
    case 'answered':
      return outcome
    case 'denied':
      throw denied(outcome.budget, loss)
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

function denied({ cap, spent }: Budget, asked: PrivacyLoss): Refusal {
  const remaining = subtractLoss(cap, spent)
  const short = asked.epsilonNano > remaining.epsilonNano ? 'epsilon' : 'delta'
  const [wanted, left] =
    short === 'epsilon'
      ? [epsilonNumber(asked.epsilonNano), epsilonNumber(remaining.epsilonNano)]
      : [deltaNumber(asked.deltaAtto), deltaNumber(remaining.deltaAtto)]
  return new Refusal(
    'budget-insufficient',
    `The request asks for ${short} ${wanted} and ${left} is left. Nothing was charged.`,
    [{ field: short, rule: `must be at most ${left}, what is left of the budget` }],
    {
      cap: lossNumbers(cap),
      spent: lossNumbers(spent),
      remaining: lossNumbers(remaining),
      asked: lossNumbers(asked),
    },
  )
}
