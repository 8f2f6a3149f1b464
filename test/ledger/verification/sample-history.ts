import { sha256 } from '../../../src/ledger/canonical.ts'
import type { StoredEvent } from '../../../src/ledger/contract/chain.ts'
import type { LedgerEvent } from '../../../src/ledger/event.ts'
import { canonicalEvent, eventAmount, eventLoss, FIRST_PREVIOUS_HASH } from '../../../src/ledger/event.ts'
import { type Accounting, amountBoughtBy, noAmount } from '../../../src/privacy/accounting.ts'
import { EVENT_KINDS } from '../../../src/privacy/event-kinds.ts'
import { loss } from '../support.ts'

/** The fields of an event, except those that its position in the chain determines. */
export type EventFacts = Omit<
  LedgerEvent,
  'version' | 'dataset' | 'sequence' | 'previousHash' | 'at' | 'salt'
> &
  Partial<Pick<LedgerEvent, 'salt'>>

/** Every kind of event. A new kind must be added to the history, too, or to that of a population. */
export const KINDS_OF_EVENTS = Object.keys(EVENT_KINDS)

/** The population that the dataset joins at the end of its history. */
export const POPULATION = '@population:people'

/** The recorded answers of charge `a` and of the first question of the session. */
export const ANSWER = '{"id":"a","dataset":"census","result":{"value":2531}}'
export const SESSION_ANSWER = '{"session":"session","question":1,"above":true}'

/** Builds a chain of events independently of the protocol. */
export function chain(dataset: string, history: readonly EventFacts[]): readonly StoredEvent[] {
  let previousHash = FIRST_PREVIOUS_HASH
  return history.map((facts, place) => {
    const at = new Date(Date.UTC(2026, 0, 1, 0, 0, place)).toISOString()
    const canonical = canonicalEvent({
      version: 1,
      dataset,
      sequence: place + 1,
      previousHash,
      at,
      salt: `00000000-0000-4000-8000-${String(place).padStart(12, '0')}`,
      ...facts,
    })
    previousHash = sha256(canonical)
    return { canonical, hash: previousHash }
  })
}

/**
 * Builds a history with every kind of event.
 * @param options the answers of charge `a` and of the first question of the session
 */
export function sampleHistory(
  accounting: Accounting,
  { answer = ANSWER, sessionAnswer = SESSION_ANSWER } = {},
): readonly EventFacts[] {
  const price = eventAmount(amountBoughtBy(accounting, loss('0.1', '0.00001')))
  const limit = (epsilon: string, delta: string) => {
    const bought = amountBoughtBy(accounting, loss(epsilon, delta))
    return {
      loss: eventLoss(loss(epsilon, delta)),
      ...(accounting === 'zcdp' && { limit: eventAmount(bought) }),
    }
  }
  const paid = (chargeId: string, principal: string) => ({
    principal,
    chargeId,
    attempt: 1,
    requestHash: sha256(chargeId[0] ?? ''),
    datasetVersion: '1',
    loss: price,
  })
  const answered = (chargeId: string, principal: string, answer: string, attempt = 1): EventFacts => ({
    kind: 'answered',
    principal,
    chargeId,
    attempt,
    answerHash: sha256(answer),
  })
  const { attempt: _, ...denied } = paid('dear', 'ben')
  const asked = (question: number, answer: string): EventFacts => ({
    kind: 'session-answered',
    principal: 'ben',
    chargeId: 'session',
    question,
    requestHash: sha256(`question ${question}`),
    answerHash: sha256(answer),
  })
  return [
    {
      kind: 'opened',
      principal: 'carol',
      ...(accounting === 'zcdp' && { accounting }),
      ...limit('4', '0.001'),
      neighbours: 'add-remove',
      synthetic: false,
    },
    { kind: 'cap-replaced', principal: 'carol', ...limit('4', '0.001'), reason: 'a typing error' },
    { kind: 'charged', ...paid('a', 'ada') },
    answered('a', 'ada', answer),
    // Some readers treat U+2028 as a line break; U+FFFD is the replacement character for invalid UTF-8.
    { kind: 'granted', principal: 'carol', ...limit('5', '0.002'), reason: 'année\u2028 \ufffd "more"' },
    { kind: 'allotted', principal: 'carol', analyst: 'ben', ...limit('3', '0.001'), reason: 'a share' },
    { kind: 'denied', ...denied },
    { kind: 'charged', ...paid('b', 'ada') },
    { kind: 'failed', principal: 'ada', chargeId: 'b', attempt: 1, counted: true, errorClass: 'Timeout' },
    { kind: 'retried', principal: 'ada', chargeId: 'b', attempt: 2, datasetVersion: '1' },
    answered('b', 'ada', 'second', 2),
    { kind: 'shared', ...paid('a of ben', 'ben'), sharedFrom: 'a' },
    answered('a of ben', 'ben', 'shared'),
    {
      kind: 'inferred',
      ...paid('from both', 'ada'),
      loss: eventAmount(noAmount(accounting)),
      parents: ['a', 'b'],
    },
    answered('from both', 'ada', 'inferred'),
    { kind: 'charged', ...paid('session', 'ben') },
    answered('session', 'ben', 'opened'),
    asked(1, sessionAnswer),
    asked(2, 'below'),
    { kind: 'session-failed', principal: 'ben', chargeId: 'session' },
    { kind: 'suspended', principal: 'ben', chargeId: 'session', failures: 2 },
    { kind: 'resumed', principal: 'carol', reason: 'the memory limit was raised' },
    { kind: 'session-failed', principal: 'ben', chargeId: 'session', errorClass: 'Timeout' },
    { kind: 'allotted', principal: 'carol', analyst: 'ben', reason: 'the limit was removed' },
    { kind: 'source-reused', principal: 'carol', otherDatasets: ['census-2020'], reason: 'another project' },
    { kind: 'joined', principal: 'carol', population: POPULATION },
    { kind: 'charged', ...paid('last', 'ada') },
  ]
}
