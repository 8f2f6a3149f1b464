import { sha256 } from '../canonical.ts'
import type { ReleaseFacts } from '../contract/releases.ts'
import type {
  NewSession,
  SessionAnswer,
  SessionQuestion,
  SessionQuestionOutcome,
} from '../contract/sessions.ts'
import { expectCount, expectStorable, expectText, MAX_COUNT, MAX_THRESHOLD_NOISE } from '../range.ts'
import { analystOf, appendEvent, type Batch, sessionAnswerOf, setSessionAnswer } from './batch.ts'
import { recordAnswer } from './charges.ts'
import { expectRow } from './rows.ts'
import { addStoredBytes, isStorageExceeded, SESSION_ANSWER_BYTES } from './storage.ts'

/** Decides {@link Ledger.openSession}. */
export function openSession(
  batch: Batch,
  id: string,
  attempt: number,
  answer: string,
  session: NewSession,
  facts?: ReleaseFacts,
): boolean {
  const { positives, terms, thresholdNoise } = session
  expectText({ terms })
  expectCount('positives', positives, MAX_COUNT)
  if (thresholdNoise < -MAX_THRESHOLD_NOISE || thresholdNoise > MAX_THRESHOLD_NOISE)
    throw new RangeError('thresholdNoise is out of range')
  if (!recordAnswer(batch, id, attempt, answer, facts)) return false
  const { dataset, datasetVersion, principal } = expectRow(batch.charges.get(id))
  const opened = { positives, terms, thresholdNoise }
  batch.newSessions.push({ charge: id, ...opened })
  batch.sessions.set(id, {
    ...{ id, dataset, datasetVersion, principal, ...opened },
    answered: 0,
    positivesFound: 0,
    storedBytes: analystOf(batch, expectRow(batch.accounts.get(dataset)), principal).storedBytes,
  })
  return true
}

/** Decides {@link Ledger.sessionQuestion}, which changes nothing. */
export function sessionQuestion(batch: Batch, question: SessionQuestion): SessionQuestionOutcome {
  const { session, idempotencyKey, requestHash } = question
  expectText({ session, idempotencyKey, requestHash })
  const found = batch.sessions.get(session)
  if (found === undefined) return { kind: 'no-session' }
  const stored = sessionAnswerOf(batch, session, idempotencyKey)
  if (stored !== undefined) {
    return stored.requestHash === requestHash
      ? { kind: 'answered', answer: stored.answer }
      : { kind: 'key-reused' }
  }
  const { dataset, answered, positives, positivesFound, terms, thresholdNoise } = found
  if (positivesFound >= positives) return { kind: 'used-up' }
  const { headSequence, headHash, suspended } = expectRow(batch.accounts.get(dataset))
  if (suspended) return { kind: 'suspended' }
  const { storedBytes } = found
  if (isStorageExceeded(storedBytes, question.maxStoredBytes))
    return { kind: 'storage-exceeded', by: 'bytes', storedBytes }
  const head = { sequence: headSequence, hash: headHash }
  return { kind: 'open', question: answered + 1, positivesFound, head, positives, terms, thresholdNoise }
}

/** Decides {@link Ledger.recordSessionAnswer}. */
export function recordSessionAnswer(batch: Batch, recorded: SessionAnswer): boolean {
  const { session, question, requestHash, request, above, answer } = recorded
  expectText({ request })
  expectStorable('answer', answer)
  expectCount('question', question, MAX_COUNT)
  const { kind } = sessionQuestion(batch, recorded)
  // A question under way may still be answered when the dataset is suspended or the storage is used up meanwhile, as an
  // attempt of a charge may.
  if (kind !== 'open' && kind !== 'suspended' && kind !== 'storage-exceeded') return false
  const found = expectRow(batch.sessions.get(session))
  if (question !== found.answered + 1) return false
  batch.sessions.set(session, {
    ...found,
    answered: question,
    positivesFound: found.positivesFound + (above ? 1 : 0),
  })
  setSessionAnswer(batch, recorded)
  const bytes = SESSION_ANSWER_BYTES + Buffer.byteLength(request) + Buffer.byteLength(answer)
  addStoredBytes(batch, found.dataset, found.principal, bytes)
  appendEvent(batch, found.dataset, {
    kind: 'session-answered',
    principal: found.principal,
    chargeId: session,
    question,
    requestHash,
    answerHash: sha256(answer),
  })
  return true
}
