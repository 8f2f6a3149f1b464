import type { EventReference } from './chain.ts'
import type { StorageExceeded } from './charges.ts'
import type { ReleaseFacts } from './releases.ts'
import type { Failure } from './suspension.ts'

/** The immutable state of a sparse vector session. */
export interface NewSession {
  /** Number of answers "above" after which the session is used up. */
  readonly positives: number
  /** The public parameters of the session, in the format of the caller. */
  readonly terms: string
  /** Noise of the threshold. Secret: only the computation of answers may use it. */
  readonly thresholdNoise: bigint
}

/** The part of a session that its owner may see. */
export interface StoredSession {
  /** Id of the charge that opened the session. */
  readonly id: string
  readonly dataset: string
  readonly datasetVersion: string
  readonly principal: string
  /** Answer of that charge. */
  readonly opening: string
  /** Number of answered questions. */
  readonly answered: number
  readonly positivesLeft: number
}

/** The identity of a question of a session. */
export interface SessionQuestion {
  readonly session: string
  /** Unique per session. */
  readonly idempotencyKey: string
  /** SHA-256 of the canonical request, hexadecimal. A key that is reused with another hash is refused. */
  readonly requestHash: string
  /** As in a {@link ChargeRequest}. */
  readonly maxStoredBytes?: number
}

/** The outcome of {@link Sessions.sessionQuestion}. */
export type SessionQuestionOutcome =
  /** It may be answered as the question with this number. */
  | ({
      readonly kind: 'open'
      readonly question: number
      readonly positivesFound: number
      /** The last event of the dataset. The event of the answer comes after it. */
      readonly head: EventReference
    } & NewSession)
  /** It is already answered. `answer` is the stored answer, byte for byte. */
  | { readonly kind: 'answered'; readonly answer: string }
  /** The key was used for another question. */
  | { readonly kind: 'key-reused' }
  | { readonly kind: 'used-up' }
  /** The dataset is suspended. */
  | { readonly kind: 'suspended' }
  | StorageExceeded
  | { readonly kind: 'no-session' }

/** An answer of a session, to be stored. */
export interface SessionAnswer extends SessionQuestion {
  /** The number that {@link Sessions.sessionQuestion} returned. */
  readonly question: number
  /** The canonical request, kept for audits. */
  readonly request: string
  readonly above: boolean
  readonly answer: string
}

/** A stored answer of a session. */
export type StoredSessionAnswer = Pick<SessionAnswer, 'question' | 'request' | 'answer'>

/** The sparse vector sessions. The effect of every method is durable when its promise resolves. */
export interface Sessions {
  /**
   * Records the answer of a charge and opens the session that it pays for. Both are durable, or neither is.
   * @returns false if both must be discarded, as for {@link Charges.recordAnswer}
   */
  openSession(
    id: string,
    attempt: number,
    answer: string,
    session: NewSession,
    facts?: ReleaseFacts,
  ): Promise<boolean>
  /** Reads a session by the id of its charge. */
  session(id: string): Promise<StoredSession | undefined>
  /** Finds out how a question of a session may be answered. Changes nothing. */
  sessionQuestion(question: SessionQuestion): Promise<SessionQuestionOutcome>
  /**
   * Records the next answer of a session that has positives left, under a new key.
   * @returns false if it is no longer the next answer; it must then be discarded
   */
  recordSessionAnswer(answer: SessionAnswer): Promise<boolean>
  /** Lists the answers of a session, newest first: at most `limit`, before `beforeQuestion` if given. */
  sessionAnswers(
    id: string,
    page: { readonly limit: number; readonly beforeQuestion?: number },
  ): Promise<readonly StoredSessionAnswer[]>
  /**
   * Counts the failure of a question of a session, which can suspend the dataset. Does nothing for a failure that does
   * not count, or if there is no such session.
   */
  recordQuestionFailure(session: string, failure: Failure): Promise<void>
}
