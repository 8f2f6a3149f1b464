import { defined } from '../../../privacy/defined.ts'
import type { LedgerEvent } from '../../event.ts'
import type { BrokenVerification, Verification } from './verifier.ts'

/*
 * The requests that events refer to by their hash. An event does not contain its request, so that its size is bounded.
 * For a denied request only the hash is stored.
 */

/** True if an event has the hash of a request that is stored. The request of a population's event is beside that of its dataset. */
export function refersToRequest({ kind, member }: Pick<LedgerEvent, 'kind' | 'member'>): boolean {
  if (member !== undefined) return false
  return kind === 'charged' || kind === 'shared' || kind === 'inferred' || kind === 'session-answered'
}

/** The number of events that refer to a request, and of those whose request was compared with its hash. */
export interface RequestCounts {
  readonly referredTo: number
  /** 0 for an export from which the requests were removed. */
  readonly verified: number
}

/** Follows events with their requests. */
export interface RequestFollower {
  /**
   * Compares the request of the next event of the chain.
   * @param digest SHA-256 of the request's UTF-8, hexadecimal; `undefined` if none is beside the event
   */
  add(event: LedgerEvent, digest: string | undefined): void
  result(): {
    readonly requests: RequestCounts
    /** The first event with a request that does not match its hash. */
    readonly broken?: BrokenVerification
  }
}

/**
 * Creates a follower that compares requests with the hashes in their events.
 * @param required true if every request that an event refers to must be there; otherwise all or none must be
 */
export function followRequests({ required }: { readonly required: boolean }): RequestFollower {
  let sequence = 0
  let referredTo = 0
  let verified = 0
  let missing: BrokenVerification | undefined
  let broken: BrokenVerification | undefined
  return {
    add(event, digest) {
      // The number that the event states may be wrong.
      sequence += 1
      const refers = refersToRequest(event)
      if (refers) referredTo += 1
      if (digest === undefined) {
        if (refers) missing ??= { kind: 'broken', sequence, reason: 'the request is missing' }
        return
      }
      if (refers && digest === event.requestHash) {
        verified += 1
        return
      }
      const reason = refers ? 'the request does not match its hash' : 'the event refers to no request'
      broken ??= { kind: 'broken', sequence, reason }
    },
    result() {
      const first = earlierOf(broken, required || verified > 0 ? missing : undefined)
      return defined({ requests: { referredTo, verified }, broken: first })
    },
  }
}

/** The first of two faults. */
export function earlierOf(
  one: BrokenVerification | undefined,
  other: BrokenVerification | undefined,
): BrokenVerification | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one.sequence < other.sequence ? one : other
}

/** Returns the result for the events, unless the first fault is another one, such as that of a request. */
export function withFault(verification: Verification, broken: BrokenVerification | undefined): Verification {
  if (broken === undefined) return verification
  return verification.kind === 'broken' && verification.sequence <= broken.sequence ? verification : broken
}
