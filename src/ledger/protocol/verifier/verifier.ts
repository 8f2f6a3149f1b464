import { amountNumbers } from '../../../privacy/accounting.ts'
import { entry } from '../../../privacy/must.ts'
import { reasonAgainstAct } from '../../act.ts'
import { ADMINISTRATION } from '../../contract/acts.ts'
import type { AnalystSpending, Budget } from '../../contract/budgets.ts'
import type { StoredEvent } from '../../contract/chain.ts'
import type { SuspensionState } from '../../contract/suspension.ts'
import { canonicalEvent, type LedgerEvent } from '../../event.ts'
import { applyEvent, beforeFirstEvent, type ReplayedCharge, type ReplayState } from './replay.ts'

/*
 * The verification of a chain. The console runs it too, so this folder and everything that it imports is free of
 * packages and of modules of Node, and the caller computes the hashes. See decision 59.
 */

/** The result of verifying a dataset's events. */
export type Verification = SoundVerification | BrokenVerification

/** The result for events that are sound, from which a later verification can continue. */
export interface SoundVerification extends SuspensionState {
  readonly kind: 'sound'
  readonly events: number
  /** Hash of the last event; {@link FIRST_PREVIOUS_HASH} if there are none. */
  readonly headHash: string
  /** Computed from the events alone. */
  readonly budget: Budget
  /** Computed from the events alone, ordered by principal. */
  readonly spending: readonly AnalystSpending[]
}

/** Converts the balances of a sound chain to numbers, as the service states them. */
export function statedBalances({ budget, spending }: Pick<SoundVerification, 'budget' | 'spending'>) {
  return {
    cap: amountNumbers(budget.cap),
    spent: amountNumbers(budget.spent),
    analysts: spending.map(({ principal, spent }) => ({ analyst: principal, spent: amountNumbers(spent) })),
  }
}

/** A chain that is not sound. */
export interface BrokenVerification {
  readonly kind: 'broken'
  /** Sequence of the first event that is not a valid successor of those before it. */
  readonly sequence: number
  readonly reason: string
}

/** Verifies events one at a time, oldest first. */
export interface Verifier {
  /**
   * Verifies the next event. Events after a broken one are ignored.
   * @param digest SHA-256 of the UTF-8 of the event's text, hexadecimal, as the caller computed it
   */
  add(event: StoredEvent, digest: string): void
  result(): Verification
  /** Every charge that was debited or denied, by id. */
  readonly charges: ReadonlyMap<string, Readonly<ReplayedCharge>>
}

/**
 * Creates a verifier that recomputes a dataset's hash chain and its balances from its events; for `ADMINISTRATION`, the
 * chain of administrative acts, which has no balances. Every event must be
 * canonical, match its hash, name its own sequence and the hash before it, and be possible at that point. Missing
 * events at the end can only be detected with a head that was recorded elsewhere.
 * @param verified the result for the events that were verified earlier. Charges of these events are unknown, so that
 *    events which refer to an unknown charge are accepted.
 */
export function createVerifier(dataset: string, verified?: SoundVerification): Verifier {
  const state = verified === undefined ? beforeFirstEvent(dataset) : stateAfter(dataset, verified)
  let broken: BrokenVerification | undefined
  return {
    add(event, digest) {
      if (broken !== undefined) return
      const reason = reasonAgainst(state, dataset, event, digest)
      if (reason !== undefined) {
        broken = { kind: 'broken', sequence: state.events + 1, reason }
        return
      }
      state.events += 1
      state.headHash = event.hash
    },
    charges: state.charges,
    result() {
      const { events, headHash, budget, analysts, failures, suspended } = state
      const spending = inOrder(analysts.values())
      return broken ?? { kind: 'sound', events, headHash, budget, spending, failures, suspended }
    },
  }
}

function stateAfter(dataset: string, verified: SoundVerification): ReplayState {
  const { events, headHash, budget, failures, suspended } = verified
  const analysts = new Map(verified.spending.map((each) => [each.principal, each]))
  const charges = new Map<string, ReplayedCharge>()
  const known = { events, headHash, budget, analysts, failures, suspended }
  const { members } = beforeFirstEvent(dataset)
  return { ...known, members, lastFailure: undefined, charges, verifiedEvents: events }
}

/** The reason why an event is not a valid successor of those before it. */
function reasonAgainst(
  state: ReplayState,
  dataset: string,
  { canonical, hash }: StoredEvent,
  digest: string,
): string | undefined {
  const event = parse(canonical)
  if (event === undefined) return 'the text is not a canonical event'
  if (digest !== hash) return 'the hash does not match the event'
  if (event.dataset !== dataset) return 'the event belongs to another dataset'
  if (event.sequence !== state.events + 1) return `the event has sequence ${event.sequence}`
  if (event.previousHash !== state.headHash) return 'the previous hash does not match the event before it'
  if (typeof event.salt !== 'string') return 'the event has no salt'
  if (dataset === ADMINISTRATION) return reasonAgainstAct(event)
  try {
    return applyEvent(state, event)
  } catch {
    return 'the event has no valid amount'
  }
}

/** The escape of a lone surrogate, which canonical JSON does not allow. JSON.stringify escapes no other code unit from D800 on. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/

function parse(canonical: string): LedgerEvent | undefined {
  try {
    const event: LedgerEvent = JSON.parse(canonical)
    const isCanonical = canonicalEvent(event) === canonical && !LONE_SURROGATE.test(canonical)
    return isCanonical && event.version === 1 ? event : undefined
  } catch {
    return undefined
  }
}

const encoder = new TextEncoder()

/** Sorts by the UTF-8 of the names, as stores do. The order of JavaScript strings differs beyond U+FFFF. */
function inOrder(spending: Iterable<AnalystSpending>): AnalystSpending[] {
  return [...spending]
    .map((each) => ({ each, bytes: encoder.encode(each.principal) }))
    .sort((a, b) => compareBytes(a.bytes, b.bytes))
    .map(({ each }) => each)
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const place = a.findIndex((byte, index) => byte !== b[index])
  return place === -1 || place === b.length ? a.length - b.length : entry(a, place) - entry(b, place)
}
