import { expect } from 'vitest'
import { chargeId, sha256 } from '../../src/ledger/canonical.ts'
import type { Ledger, NewSession, SessionAnswer, SessionQuestion } from '../../src/ledger/ledger.ts'
import { MAX_THRESHOLD_NOISE } from '../../src/ledger/range.ts'
import type { Law } from './laws.ts'
import type { Place } from './places.ts'
import { basic, question, summed } from './support.ts'

export const SESSION: NewSession = {
  positives: 2,
  terms: '{"threshold":"7"}',
  thresholdNoise: -987_654_321_012_345n,
}
/** The charge that `ada` opens the session with. */
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

/** A ledger whose charge for a session has no answer yet. */
async function withCharge({ ledger }: Place): Promise<Ledger> {
  await ledger.openBudget('census', summed('1'), 'carol')
  await ledger.charge(question('opening', { datasetVersion: '3' }))
  return ledger
}

/** A ledger with a session that has two positives. */
export async function withSession(place: Place, session: Partial<NewSession> = {}): Promise<Ledger> {
  const ledger = await withCharge(place)
  const opened = await ledger.openSession(SESSION_ID, 1, '{"id":"opened"}', { ...SESSION, ...session })
  expect(opened).toBe(true)
  return ledger
}

const spentOf = async (ledger: Ledger) => (await ledger.budget('census'))?.spent

/** What every ledger must do about sparse vector sessions. */
export const SESSION_LAWS: readonly Law[] = [
  {
    name: 'a session is stored with the answer of its charge, and what never changes of it',
    async holds(place) {
      const ledger = await withSession(place)
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
    },
  },
  {
    name: 'a session is fenced by the attempt: neither answer nor session of one that was overtaken',
    async holds(place) {
      const ledger = await withCharge(place)
      await ledger.recordFailure(SESSION_ID, 1)
      await ledger.charge(question('opening'))
      expect(await ledger.openSession(SESSION_ID, 1, 'late', SESSION)).toBe(false)
      expect(await ledger.session(SESSION_ID)).toBeUndefined()
      expect(await ledger.sessionQuestion(asked('a'))).toEqual({ kind: 'no-session' })
      const own = { ...SESSION, thresholdNoise: 5n }
      expect(await ledger.openSession(SESSION_ID, 2, 'in time', own)).toBe(true)
      expect(await ledger.openSession(SESSION_ID, 2, 'again', SESSION)).toBe(false)
      expect(await ledger.sessionQuestion(asked('a'))).toMatchObject({ thresholdNoise: 5n })
    },
  },
  {
    name: 'a charge that paid for an answer is no session',
    async holds(place) {
      const ledger = await withCharge(place)
      await ledger.recordAnswer(SESSION_ID, 1, 'an answer')
      expect(await ledger.openSession(SESSION_ID, 1, 'x', SESSION)).toBe(false)
      expect(await ledger.session(SESSION_ID)).toBeUndefined()
      expect(await ledger.recordSessionAnswer(answered('a', 1, false))).toBe(false)
      expect(await ledger.sessionAnswers(SESSION_ID, { limit: 10 })).toEqual([])
    },
  },
  ...[MAX_THRESHOLD_NOISE, -MAX_THRESHOLD_NOISE, 0n].map(
    (thresholdNoise): Law => ({
      name: `a noise of ${thresholdNoise} is kept exactly`,
      async holds(place) {
        await withSession(place, { thresholdNoise })
        await place.reopen()
        expect(await place.ledger.sessionQuestion(asked('a'))).toMatchObject({ thresholdNoise })
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
    ([what, changes]): Law => ({
      name: `a session with ${what} is refused and leaves the charge open`,
      async holds(place) {
        const ledger = await withCharge(place)
        await expect(ledger.openSession(SESSION_ID, 1, 'x', { ...SESSION, ...changes })).rejects.toThrow(
          RangeError,
        )
        expect(await ledger.release(SESSION_ID)).toBeUndefined()
        expect(await ledger.openSession(SESSION_ID, 1, 'x', SESSION)).toBe(true)
      },
    }),
  ),
  {
    name: 'answers follow each other, are replayed, and end with the last positive',
    async holds(place) {
      const ledger = await withSession(place)
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
    },
  },
  {
    name: 'charges are told as they are stored, with the hash of what answers them',
    async holds(place) {
      const ledger = await withSession(place)
      await ledger.charge(question('paid', { sharing: true }))
      await ledger.recordAnswer(chargeId('ada', 'paid'), 1, 'an answer ü')
      const shares = question('paid', { principal: 'bob', keyChosen: false, sharing: true })
      expect((await ledger.charge(shares)).kind).toBe('shared')
      await ledger.charge(question('failed'))
      await ledger.recordFailure(chargeId('ada', 'failed'), 1)
      await ledger.charge(question('denied', { price: basic('5'), keyChosen: true }))
      const told = (principal: string, key: string) => ({
        ...{ id: chargeId(principal, key), dataset: 'census', principal, price: basic('0.1'), attempt: 1 },
        requestHash: question(key).requestHash,
      })
      const expected = [
        { ...told('ada', 'opening'), state: 'answered', answerHash: sha256('{"id":"opened"}') },
        { ...told('ada', 'paid'), state: 'answered', answerHash: sha256('an answer ü') },
        { ...told('bob', 'paid'), state: 'charged', sharedFrom: chargeId('ada', 'paid') },
        { ...told('ada', 'failed'), state: 'failed' },
        { ...told('ada', 'denied'), state: 'denied', attempt: 0, price: basic('5') },
      ]
      const inOrder = (records: readonly { readonly id: string }[]) =>
        [...records].sort((a, b) => (a.id < b.id ? -1 : 1))
      const found = await ledger.chargeRecords(['never', 'nor\0this', ...expected.map(({ id }) => id)])
      expect(inOrder(found)).toStrictEqual(inOrder(expected))
      expect(await ledger.chargeRecords([])).toEqual([])
      const many = Array.from({ length: 1_001 }, (_, number) => `charge ${number}`)
      expect(await ledger.chargeRecords(many.slice(1))).toEqual([])
      await expect(ledger.chargeRecords(many)).rejects.toThrow(RangeError)
      await ledger.openBudget('survey', summed('1'), 'carol')
      await ledger.openBudget('unused', summed('1'), 'carol')
      await ledger.charge(question('elsewhere', { dataset: 'survey' }))
      expect(await ledger.chargeCounts()).toEqual(
        new Map([
          ['census', 5],
          ['survey', 1],
        ]),
      )
    },
  },
  {
    name: 'answers are fenced: not one under a number that was taken, left out, or under a key that was used',
    async holds(place) {
      const ledger = await withSession(place)
      expect(await ledger.recordSessionAnswer(answered('a', 2, true))).toBe(false)
      expect(await ledger.recordSessionAnswer(answered('a', 1, true))).toBe(true)
      expect(await ledger.recordSessionAnswer(answered('b', 1, true))).toBe(false)
      expect(await ledger.recordSessionAnswer(answered('a', 2, true))).toBe(false)
      expect(await ledger.recordSessionAnswer({ ...answered('a', 2, true), requestHash: 'x' })).toBe(false)
      expect(await ledger.session(SESSION_ID)).toMatchObject({ answered: 1, positivesLeft: 1 })
    },
  },
  {
    name: 'sessions beside each other count their own questions and positives, under whatever keys',
    async holds(place) {
      const ledger = await withSession(place)
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
    },
  },
  {
    name: 'answers race for the last positive, and one wins',
    async holds(place) {
      const ledger = await withSession(place, { positives: 1 })
      const recorded = await Promise.all(
        ['a', 'b', 'c'].map((key) => ledger.recordSessionAnswer(answered(key, 1, true))),
      )
      expect(recorded.filter((each) => each)).toHaveLength(1)
      expect(await ledger.session(SESSION_ID)).toMatchObject({ answered: 1, positivesLeft: 0 })
    },
  },
  {
    name: 'answers are events of the dataset, without what was answered',
    async holds(place) {
      const ledger = await withSession(place)
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
    },
  },
  {
    name: 'answers are shown newest first, page by page, with what was asked',
    async holds(place) {
      const ledger = await withSession(place)
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
    },
  },
  ...(
    [
      ['an empty key', { idempotencyKey: '' }],
      ['an empty request', { request: '' }],
      ['a lone surrogate', { answer: '\ud800' }],
      ['no number', { question: 0 }],
    ] as const
  ).map(
    ([what, changes]): Law => ({
      name: `answers with ${what} are refused`,
      async holds(place) {
        const ledger = await withSession(place)
        const wrong = { ...answered('a', 1, true), ...changes }
        await expect(ledger.recordSessionAnswer(wrong)).rejects.toThrow(RangeError)
        expect(await ledger.session(SESSION_ID)).toMatchObject({ answered: 0 })
      },
    }),
  ),
  {
    name: 'nothing that the ledger shows tells the noise of a threshold, but to whoever answers',
    async holds(place) {
      const ledger = await withSession(place)
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
      await place.reopen()
      expect(await place.ledger.sessionQuestion(asked('b'))).toMatchObject({
        thresholdNoise: SESSION.thresholdNoise,
        question: 2,
      })
      expect(await place.ledger.recordSessionAnswer(answered('b', 2, true))).toBe(true)
      expect(await place.ledger.sessionQuestion(asked('c'))).toEqual({ kind: 'used-up' })
    },
  },
]
