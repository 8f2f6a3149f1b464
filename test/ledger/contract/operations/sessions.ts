import { expect } from 'vitest'
import { chargeId, sha256 } from '../../../../src/ledger/canonical.ts'
import type { NewSession, SessionAnswer, SessionQuestion } from '../../../../src/ledger/contract/sessions.ts'
import type { Ledger } from '../../../../src/ledger/ledger.ts'
import { MAX_THRESHOLD_NOISE } from '../../../../src/ledger/range.ts'
import type { Fixture } from '../../fixture.ts'
import { basic, question, summed } from '../../support.ts'
import { type ContractTest, contractTest, spentOf } from '../contract-test.ts'

export const SESSION: NewSession = {
  positives: 2,
  terms: '{"threshold":"7"}',
  thresholdNoise: -987_654_321_012_345n,
}
/** Id of the charge that opens the session. */
export const SESSION_ID = chargeId('ada', 'opening')

export const asked = (key: string, hash = `hash of ${key}`): SessionQuestion => ({
  session: SESSION_ID,
  idempotencyKey: key,
  requestHash: hash,
})
export const answered = (key: string, number: number, above: boolean): SessionAnswer => ({
  ...asked(key),
  question: number,
  request: `{"where":"${key}"}`,
  above,
  answer: `{"answer to":"${key}"}`,
})

/** Charges `ada` for a session that is not open yet. */
async function withCharge({ ledger }: Fixture): Promise<Ledger> {
  await ledger.openBudget('census', summed('1'), 'carol')
  await ledger.charge(question('opening', { datasetVersion: '3' }))
  return ledger
}

/** Opens a session with two positives. */
export async function withSession(fixture: Fixture, session: Partial<NewSession> = {}): Promise<Ledger> {
  const ledger = await withCharge(fixture)
  const opened = await ledger.openSession(SESSION_ID, 1, '{"id":"opened"}', { ...SESSION, ...session })
  expect(opened).toBe(true)
  return ledger
}

/** Requirements on sparse vector sessions. */
export const SESSIONS: readonly ContractTest[] = [
  contractTest('a session is stored with the answer of its charge', async (fixture) => {
    const ledger = await withSession(fixture)
    expect(await ledger.session(SESSION_ID)).toEqual({
      id: SESSION_ID,
      dataset: 'census',
      datasetVersion: '3',
      principal: 'ada',
      opening: '{"id":"opened"}',
      answered: 0,
      positivesLeft: 2,
    })
    expect((await ledger.release(SESSION_ID))?.answer).toBe('{"id":"opened"}')
    expect(await ledger.charge(question('opening'))).toMatchObject({ kind: 'answered' })
    const head = await ledger.head('census')
    expect(await ledger.sessionQuestion(asked('a'))).toEqual({
      kind: 'open',
      question: 1,
      positivesFound: 0,
      head: { sequence: 3, hash: head?.hash },
      ...SESSION,
    })
  }),
  contractTest('an overtaken attempt stores neither answer nor session', async (fixture) => {
    const ledger = await withCharge(fixture)
    await ledger.recordFailure(SESSION_ID, 1)
    await ledger.charge(question('opening'))
    expect(await ledger.openSession(SESSION_ID, 1, 'late', SESSION)).toBe(false)
    expect(await ledger.session(SESSION_ID)).toBeUndefined()
    expect(await ledger.sessionQuestion(asked('a'))).toEqual({ kind: 'no-session' })
    const own = { ...SESSION, thresholdNoise: 5n }
    expect(await ledger.openSession(SESSION_ID, 2, 'in time', own)).toBe(true)
    expect(await ledger.openSession(SESSION_ID, 2, 'again', SESSION)).toBe(false)
    expect(await ledger.sessionQuestion(asked('a'))).toMatchObject({ thresholdNoise: 5n })
  }),
  contractTest('a charge with an answer is not a session', async (fixture) => {
    const ledger = await withCharge(fixture)
    await ledger.recordAnswer(SESSION_ID, 1, 'an answer')
    expect(await ledger.openSession(SESSION_ID, 1, 'x', SESSION)).toBe(false)
    expect(await ledger.session(SESSION_ID)).toBeUndefined()
    expect(await ledger.recordSessionAnswer(answered('a', 1, false))).toBe(false)
    expect(await ledger.sessionAnswers(SESSION_ID, { limit: 10 })).toEqual([])
  }),
  ...[MAX_THRESHOLD_NOISE, -MAX_THRESHOLD_NOISE, 0n].map(
    (thresholdNoise): ContractTest => ({
      name: `a threshold noise of ${thresholdNoise} is stored exactly`,
      async run(fixture) {
        await withSession(fixture, { thresholdNoise })
        await fixture.reopen()
        expect(await fixture.ledger.sessionQuestion(asked('a'))).toMatchObject({ thresholdNoise })
      },
    }),
  ),
  ...(
    [
      ['no positives', { positives: 0 }],
      ['half a positive', { positives: 1.5 }],
      ['no terms', { terms: '' }],
      ['a noise beyond 64 bits', { thresholdNoise: 1n << 64n }],
      ['a noise beyond the largest', { thresholdNoise: MAX_THRESHOLD_NOISE + 1n }],
      ['a noise beyond the largest below 0', { thresholdNoise: -MAX_THRESHOLD_NOISE - 1n }],
    ] as const
  ).map(
    ([what, changes]): ContractTest => ({
      name: `a session with ${what} is refused and leaves the charge open`,
      async run(fixture) {
        const ledger = await withCharge(fixture)
        await expect(ledger.openSession(SESSION_ID, 1, 'x', { ...SESSION, ...changes })).rejects.toThrow(
          RangeError,
        )
        expect(await ledger.release(SESSION_ID)).toBeUndefined()
        expect(await ledger.openSession(SESSION_ID, 1, 'x', SESSION)).toBe(true)
      },
    }),
  ),
  contractTest('answers are numbered, are replayed, and end with the last positive', async (fixture) => {
    const ledger = await withSession(fixture)
    expect(await ledger.recordSessionAnswer(answered('a', 1, true))).toBe(true)
    expect(await ledger.recordSessionAnswer(answered('b', 2, false))).toBe(true)
    expect(await ledger.sessionQuestion(asked('c'))).toMatchObject({
      kind: 'open',
      question: 3,
      positivesFound: 1,
    })
    expect(await ledger.recordSessionAnswer(answered('c', 3, true))).toBe(true)
    expect(await ledger.sessionQuestion(asked('d'))).toEqual({ kind: 'used-up' })
    for (const above of [true, false])
      expect(await ledger.recordSessionAnswer(answered('d', 4, above))).toBe(false)
    for (const key of ['a', 'b', 'c']) {
      expect(await ledger.sessionQuestion(asked(key))).toEqual({
        kind: 'answered',
        answer: `{"answer to":"${key}"}`,
      })
    }
    expect(await ledger.sessionQuestion(asked('a', 'another'))).toEqual({ kind: 'key-reused' })
    expect(await ledger.session(SESSION_ID)).toMatchObject({ answered: 3, positivesLeft: 0 })
    expect(await spentOf(ledger)).toEqual(basic('0.1'))
  }),
  contractTest(
    'an answer is refused if its number is taken or not the next, or if its key was used',
    async (fixture) => {
      const ledger = await withSession(fixture)
      expect(await ledger.recordSessionAnswer(answered('a', 2, true))).toBe(false)
      expect(await ledger.recordSessionAnswer(answered('a', 1, true))).toBe(true)
      expect(await ledger.recordSessionAnswer(answered('b', 1, true))).toBe(false)
      expect(await ledger.recordSessionAnswer(answered('a', 2, true))).toBe(false)
      expect(await ledger.recordSessionAnswer({ ...answered('a', 2, true), requestHash: 'x' })).toBe(false)
      expect(await ledger.session(SESSION_ID)).toMatchObject({ answered: 1, positivesLeft: 1 })
    },
  ),
  contractTest('each session counts its own questions and positives, for any keys', async (fixture) => {
    const ledger = await withSession(fixture)
    const session = chargeId('ada', 'another opening')
    await ledger.charge(question('another opening'))
    const terms = { positives: 1, terms: '{"threshold":"8"}', thresholdNoise: 5n }
    expect(await ledger.openSession(session, 1, 'opened', terms)).toBe(true)
    expect(await ledger.recordSessionAnswer(answered('a', 1, true))).toBe(true)
    expect(await ledger.recordSessionAnswer(answered('b', 2, false))).toBe(true)
    const inAnother = { ...asked('a'), session }
    expect(await ledger.sessionQuestion(inAnother)).toMatchObject({
      ...{ kind: 'open', question: 1, positivesFound: 0 },
      ...terms,
    })
    const answer = 'another answer'
    expect(await ledger.recordSessionAnswer({ ...answered('a', 1, true), session, answer })).toBe(true)
    expect(await ledger.sessionQuestion(inAnother)).toEqual({ kind: 'answered', answer })
    expect(await ledger.sessionQuestion({ ...asked('c'), session })).toEqual({ kind: 'used-up' })
    expect(await ledger.session(session)).toMatchObject({ answered: 1, positivesLeft: 0 })
    expect(await ledger.sessionAnswers(session, { limit: 10 })).toMatchObject([{ question: 1, answer }])
    expect(await ledger.session(SESSION_ID)).toMatchObject({ answered: 2, positivesLeft: 1 })
    expect(await ledger.sessionQuestion(asked('c'))).toMatchObject({ question: 3, positivesFound: 1 })
  }),
  contractTest('of concurrent answers for the last positive, one is stored', async (fixture) => {
    const ledger = await withSession(fixture, { positives: 1 })
    const recorded = await Promise.all(
      ['a', 'b', 'c'].map((key) => ledger.recordSessionAnswer(answered(key, 1, true))),
    )
    expect(recorded.filter((each) => each)).toHaveLength(1)
    expect(await ledger.session(SESSION_ID)).toMatchObject({ answered: 1, positivesLeft: 0 })
  }),
  contractTest('answers are events of the dataset that do not contain the answer', async (fixture) => {
    const ledger = await withSession(fixture)
    await ledger.recordSessionAnswer(answered('a', 1, true))
    const [entry] = await ledger.entries('census', { limit: 1 })
    expect(entry).toMatchObject({
      kind: 'session-answered',
      principal: 'ada',
      chargeId: SESSION_ID,
      sequence: 4,
    })
    expect(entry).not.toHaveProperty('price')
    const [stored] = await ledger.events('census', { limit: 1, afterSequence: 3 })
    expect(JSON.parse(stored?.canonical ?? '')).toEqual({
      version: 1,
      dataset: 'census',
      sequence: 4,
      previousHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      kind: 'session-answered',
      at: '2026-01-01T00:00:00.000Z',
      principal: 'ada',
      salt: expect.any(String),
      chargeId: SESSION_ID,
      question: 1,
      requestHash: 'hash of a',
      answerHash: sha256('{"answer to":"a"}'),
    })
  }),
  contractTest('answers are listed newest first, in pages, with their requests', async (fixture) => {
    const ledger = await withSession(fixture)
    for (const [index, key] of ['a', 'b', 'c', 'd'].entries())
      await ledger.recordSessionAnswer(answered(key, index + 1, false))
    const pageOf = (page: { limit: number; beforeQuestion?: number }) =>
      ledger.sessionAnswers(SESSION_ID, page)
    expect((await pageOf({ limit: 3 })).map((each) => each.question)).toEqual([4, 3, 2])
    expect(await pageOf({ limit: 3, beforeQuestion: 2 })).toEqual([
      { question: 1, request: '{"where":"a"}', answer: '{"answer to":"a"}' },
    ])
    expect(await ledger.sessionAnswers('nobody', { limit: 3 })).toEqual([])
    await expect(pageOf({ limit: 0 })).rejects.toThrow(RangeError)
  }),
  ...(
    [
      ['an empty key', { idempotencyKey: '' }],
      ['an empty request', { request: '' }],
      ['a lone surrogate', { answer: '\ud800' }],
      ['no number', { question: 0 }],
    ] as const
  ).map(
    ([what, changes]): ContractTest => ({
      name: `answers with ${what} are refused`,
      async run(fixture) {
        const ledger = await withSession(fixture)
        const wrong = { ...answered('a', 1, true), ...changes }
        await expect(ledger.recordSessionAnswer(wrong)).rejects.toThrow(RangeError)
        expect(await ledger.session(SESSION_ID)).toMatchObject({ answered: 0 })
      },
    }),
  ),
  contractTest(
    'the threshold noise is returned to the caller that computes answers, and nowhere else',
    async (fixture) => {
      const ledger = await withSession(fixture)
      await ledger.recordSessionAnswer(answered('a', 1, true))
      const shown = [
        await ledger.session(SESSION_ID),
        await ledger.sessionAnswers(SESSION_ID, { limit: 10 }),
        await ledger.entries('census', { limit: 10 }),
        await ledger.events('census', { limit: 10, afterSequence: 0 }),
        await ledger.head('census'),
        await ledger.release(SESSION_ID),
        await ledger.sessionQuestion(asked('a')),
        await ledger.charge(question('opening')),
      ]
      const text = JSON.stringify(shown, (_, value) => (typeof value === 'bigint' ? String(value) : value))
      expect(text).toContain('opened')
      expect(text).not.toContain(String(SESSION.thresholdNoise).slice(1))
      await fixture.reopen()
      expect(await fixture.ledger.sessionQuestion(asked('b'))).toMatchObject({
        thresholdNoise: SESSION.thresholdNoise,
        question: 2,
      })
      expect(await fixture.ledger.recordSessionAnswer(answered('b', 2, true))).toBe(true)
      expect(await fixture.ledger.sessionQuestion(asked('c'))).toEqual({ kind: 'used-up' })
    },
  ),
]
