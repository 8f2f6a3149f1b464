import {
  addLoss,
  coversLoss,
  deltaAtto,
  epsilonNano,
  NO_LOSS,
  type PrivacyLoss,
  subtractLoss,
} from '../privacy/loss.ts'
import { sha256 } from './canonical.ts'
import { canonicalEvent, FIRST_PREVIOUS_HASH, type LedgerEvent } from './event.ts'
import type { Budget, Ledger, StoredEvent } from './ledger.ts'

/** What following a dataset's events from the first on has found. */
export type Verification =
  | {
      readonly kind: 'sound'
      readonly events: number
      /** The hash of the last event; without events the `previousHash` of a first one. */
      readonly headHash: string
      /** As the events alone tell. */
      readonly budget: Budget
    }
  /** The first event that does not fit those before it, by its place: 1 for the first. */
  | { readonly kind: 'broken'; readonly sequence: number; readonly reason: string }

/** Follows events one after the other; they may come in pages. */
export interface Verifier {
  /** Takes the next event. Once one is broken, nothing more is looked at. */
  add(event: StoredEvent): void
  result(): Verification
}

/** What is known of a charge from the events so far. */
interface KnownCharge {
  readonly principal: string
  attempt: number
  state: 'charged' | 'failed' | 'answered'
  questions: number
}

/**
 * Recomputes a dataset's hash chain and its balances from its events: every text is canonical and has its hash, names the
 * hash before it and its own place, and is an event that could happen then. Whether events are missing at the end only a
 * head that was noted elsewhere can tell.
 */
export function createVerifier(dataset: string): Verifier {
  const charges = new Map<string, KnownCharge>()
  let events = 0
  let headHash = FIRST_PREVIOUS_HASH
  let budget: Budget = { cap: NO_LOSS, spent: NO_LOSS }
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
      case 'opened':
      case 'granted':
        budget = { ...budget, cap: addLoss(budget.cap, lossOf(event)) }
        return undefined
      case 'denied':
        return charges.has(event.chargeId ?? '') ? 'what was paid is denied' : undefined
      case 'charged':
        return charge(event)
      case 'retried':
      case 'answered':
      case 'failed':
      case 'session-answered':
        return follow(event)
    }
  }

  function charge(event: LedgerEvent): string | undefined {
    const { chargeId, principal } = event
    if (chargeId === undefined || charges.has(chargeId)) return 'a charge is debited once'
    const loss = lossOf(event)
    if (!coversLoss(subtractLoss(budget.cap, budget.spent), loss)) return 'the cap is exceeded'
    budget = { ...budget, spent: addLoss(budget.spent, loss) }
    charges.set(chargeId, { principal, attempt: 1, state: 'charged', questions: 0 })
    return undefined
  }

  function follow({ kind, chargeId, principal, attempt, question }: LedgerEvent): string | undefined {
    const known = charges.get(chargeId ?? '')
    if (known === undefined) return 'it follows a charge that was not made'
    if (known.principal !== principal) return 'the charge is another principal’s'
    if (kind === 'session-answered') {
      if (known.state !== 'answered' || question !== known.questions + 1)
        return 'the questions of a session follow each other'
      known.questions += 1
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
    known.state = kind === 'answered' ? 'answered' : 'failed'
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
    result: () => broken ?? { kind: 'sound', events, headHash, budget },
  }
}

/** How many events are read at a time. */
export const EVENTS_PAGE = 1_000

/**
 * Follow all events of a dataset in a live ledger, and hold what they amount to against the balances that debits are
 * checked against. Charges that are made meanwhile are followed, too.
 * @returns `undefined` where the dataset has no budget.
 */
export async function verifyLedger(ledger: Ledger, dataset: string): Promise<Verification | undefined> {
  const verifier = createVerifier(dataset)
  let budget: Budget | undefined
  for (let afterSequence = 0; ; ) {
    const page = await ledger.events(dataset, { limit: EVENTS_PAGE, afterSequence })
    for (const event of page) verifier.add(event)
    afterSequence += page.length
    // The balances belong to the events only if no event came after they were read.
    if (page.length === 0 && budget !== undefined) break
    budget = await ledger.budget(dataset)
    if (budget === undefined) return undefined
  }
  const result = verifier.result()
  if (result.kind === 'broken' || isSameBudget(result.budget, budget)) return result
  return { kind: 'broken', sequence: result.events, reason: 'the balances are not what the events amount to' }
}

function isSameBudget(a: Budget, b: Budget): boolean {
  return [a.cap, a.spent].every((loss, place) => {
    const other = [b.cap, b.spent][place]
    return other !== undefined && coversLoss(loss, other) && coversLoss(other, loss)
  })
}

function parse(canonical: string): LedgerEvent | undefined {
  try {
    const event: LedgerEvent = JSON.parse(canonical)
    return canonicalEvent(event) === canonical && event.version === 1 ? event : undefined
  } catch {
    return undefined
  }
}

/** @throws RangeError for an event without an amount. */
function lossOf({ loss }: LedgerEvent): PrivacyLoss {
  if (loss === undefined) throw new RangeError('the event has no amount')
  return {
    epsilonNano: epsilonNano(BigInt(loss.epsilonNano)),
    deltaAtto: deltaAtto(BigInt(loss.deltaAtto)),
  }
}
