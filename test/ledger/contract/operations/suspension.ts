import { expect } from 'vitest'
import type { Failure } from '../../../../src/ledger/contract/suspension.ts'
import type { Ledger } from '../../../../src/ledger/ledger.ts'
import { basic, chargeOf, historyOf, question } from '../../support.ts'
import {
  answeredForAda,
  type ContractTest,
  contractTest,
  kindsOf,
  shared,
  spentOf,
  withCensus,
} from '../contract-test.ts'

const COUNTED: Failure = { counts: true, limit: 2, errorClass: 'QueryTimeout' }

/** Charges a question and records a failure of its first attempt. */
async function fail(ledger: Ledger, key: string, failure: Failure = COUNTED): Promise<string> {
  const { id } = chargeOf(await ledger.charge(question(key)))
  await ledger.recordFailure(id, 1, failure)
  return id
}

/** Opens a session of `ada`. */
async function opened(ledger: Ledger): Promise<string> {
  const { id } = chargeOf(await ledger.charge(question('session')))
  await ledger.openSession(id, 1, '{"id":"opened"}', { positives: 2, terms: '{}', thresholdNoise: 7n })
  return id
}

const asked = (session: string, key: string) => ({ session, idempotencyKey: key, requestHash: key })

/** Requirements on failures and suspensions. */
export const SUSPENSION: readonly ContractTest[] = [
  contractTest('counted failures suspend a dataset at their limit, until it is resumed', async (fixture) => {
    const ledger = await withCensus(fixture)
    const first = await fail(ledger, 'a')
    expect(await ledger.suspension('census')).toMatchObject({ failures: 1, suspended: false })
    await ledger.charge(question('a'))
    await ledger.recordFailure(first, 2, COUNTED)
    const failed = { principal: 'ada', chargeId: first, errorClass: 'QueryTimeout' }
    expect(await ledger.suspension('census')).toMatchObject({
      failures: 2,
      suspended: true,
      counted: [
        { sequence: 3, ...failed },
        { sequence: 5, ...failed },
      ],
    })
    expect(await kindsOf(ledger)).toEqual(['opened', 'charged', 'failed', 'retried', 'failed', 'suspended'])
    const before = await spentOf(ledger)
    for (const request of [question('a'), question('b'), question('b', { principal: 'bob' })])
      expect(await ledger.charge(request)).toEqual({ kind: 'suspended' })
    expect(await spentOf(ledger)).toEqual(before)
    await fixture.reopen()
    expect(await fixture.ledger.charge(question('b'))).toEqual({ kind: 'suspended' })
    expect(await fixture.ledger.resume('census', 'carol', 'the limit was raised')).toEqual({
      kind: 'resumed',
    })
    expect(await fixture.ledger.suspension('census')).toEqual({
      failures: 0,
      suspended: false,
      counted: [],
    })
    expect(chargeOf(await fixture.ledger.charge(question('a'))).attempt).toBe(3)
    expect((await fixture.ledger.charge(question('b'))).kind).toBe('charged')
    const history = await historyOf(fixture.ledger)
    expect(history.map(({ kind }) => kind).slice(5)).toEqual(['suspended', 'resumed', 'retried', 'charged'])
    expect(history[6]).toMatchObject({ principal: 'carol', reason: 'the limit was raised' })
  }),
  contractTest(
    'failures that do not count, and failures of stale attempts, do not suspend',
    async (fixture) => {
      const ledger = await withCensus(fixture)
      const id = await fail(ledger, 'a', { counts: false, limit: 1, errorClass: 'ConnectionLost' })
      await ledger.recordFailure(id, 1, { counts: true, limit: 1 })
      await ledger.recordFailure('never', 1, { counts: true, limit: 1 })
      await ledger.recordQuestionFailure('never', { counts: true, limit: 1 })
      expect(await ledger.suspension('census')).toEqual({ failures: 0, suspended: false, counted: [] })
      expect(await kindsOf(ledger)).toEqual(['opened', 'charged', 'failed'])
      expect(await ledger.resume('census', 'carol', 'no reason')).toEqual({ kind: 'not-suspended' })
      expect(await ledger.resume('never', 'carol', 'no reason')).toEqual({ kind: 'no-budget' })
      expect(await ledger.suspension('never')).toBeUndefined()
      await expect(ledger.recordFailure(id, 1, { counts: true, limit: 0 })).rejects.toThrow(RangeError)
      await expect(ledger.resume('census', 'carol', '')).rejects.toThrow(RangeError)
    },
  ),
  contractTest('a suspended dataset replays stored answers and shares none', async (fixture) => {
    const { ledger } = await answeredForAda(fixture)
    const denied = question('denied', { keyChosen: true, price: basic('5') })
    expect((await ledger.charge(denied)).kind).toBe('denied')
    await fail(ledger, 'a', { ...COUNTED, limit: 1 })
    expect(await ledger.charge(shared('ada'))).toMatchObject({ kind: 'answered', answer: 'hers' })
    expect(await ledger.charge(denied)).toMatchObject({ kind: 'denied', sticks: true })
    expect(await ledger.charge(shared('bob'))).toEqual({ kind: 'suspended' })
    await ledger.resume('census', 'carol', 'looked into')
    expect((await ledger.charge(shared('bob'))).kind).toBe('shared')
  }),
  contractTest(
    'an attempt under way during a suspension may end, and its failure is counted',
    async (fixture) => {
      const { clock } = fixture
      const ledger = await withCensus(fixture)
      const ids: string[] = []
      for (const key of ['a', 'b', 'c', 'd']) ids.push(chargeOf(await ledger.charge(question(key))).id)
      const [a = '', b = '', c = ''] = ids
      await ledger.recordFailure(a, 1, { ...COUNTED, limit: 1 })
      expect((await ledger.charge(question('b'))).kind).toBe('in-flight')
      expect(await ledger.recordAnswer(b, 1, 'hers')).toBe(true)
      await ledger.recordFailure(c, 1, { ...COUNTED, limit: 1 })
      expect(await ledger.suspension('census')).toMatchObject({ failures: 2, suspended: true })
      expect((await kindsOf(ledger)).filter((kind) => kind === 'suspended')).toHaveLength(1)
      clock.ms += 5_000
      for (const key of ['a', 'c', 'd'])
        expect(await ledger.charge(question(key))).toEqual({ kind: 'suspended' })
      expect(await ledger.charge(question('b'))).toMatchObject({ kind: 'answered', answer: 'hers' })
    },
  ),
  contractTest(
    'failed questions of a session count, and a suspension closes the session for new questions',
    async (fixture) => {
      const ledger = await withCensus(fixture)
      const session = await opened(ledger)
      const answer = { request: '{}', above: false, answer: 'below' }
      await ledger.recordSessionAnswer({ ...asked(session, 'a'), question: 1, ...answer })
      await ledger.recordQuestionFailure(session, { ...COUNTED, counts: false })
      await ledger.recordQuestionFailure(session, COUNTED)
      expect((await ledger.sessionQuestion(asked(session, 'b'))).kind).toBe('open')
      await ledger.recordQuestionFailure(session, COUNTED)
      expect(await ledger.suspension('census')).toMatchObject({
        failures: 2,
        suspended: true,
        counted: [{ chargeId: session, errorClass: 'QueryTimeout' }, { chargeId: session }],
      })
      expect(await ledger.sessionQuestion(asked(session, 'b'))).toEqual({ kind: 'suspended' })
      expect(await ledger.sessionQuestion(asked(session, 'a'))).toEqual({ kind: 'answered', answer: 'below' })
      expect((await ledger.sessionQuestion({ ...asked(session, 'a'), requestHash: 'x' })).kind).toBe(
        'key-reused',
      )
      // The question was under way.
      const underWay = { ...asked(session, 'b'), ...answer }
      expect(await ledger.recordSessionAnswer({ ...underWay, question: 3 })).toBe(false)
      expect(await ledger.recordSessionAnswer({ ...underWay, question: 2 })).toBe(true)
      await ledger.resume('census', 'carol', 'looked into')
      expect(await ledger.sessionQuestion(asked(session, 'c'))).toMatchObject({ kind: 'open', question: 3 })
      expect(await kindsOf(ledger)).toEqual([
        ...['opened', 'charged', 'answered', 'session-answered', 'session-failed', 'session-failed'],
        ...['suspended', 'session-answered', 'resumed'],
      ])
    },
  ),
  contractTest('the event of a failure holds the class of the error and no other text', async (fixture) => {
    const ledger = await withCensus(fixture)
    const texts = ['patient 4711 is in the data', 'a'.repeat(65), '4711', 'Ünlü', '']
    for (const [place, errorClass] of texts.entries())
      await fail(ledger, `question ${place}`, { counts: true, limit: 100, errorClass })
    await fail(ledger, 'last', { counts: true, limit: 100, errorClass: 'EngineFailure' })
    const { counted = [] } = (await ledger.suspension('census')) ?? {}
    expect(counted.map(({ errorClass }) => errorClass)).toEqual([
      ...texts.map(() => undefined),
      'EngineFailure',
    ])
    const events = JSON.stringify(await ledger.events('census', { limit: 1_000, afterSequence: 0 }))
    for (const text of texts.slice(0, 2)) expect(events).not.toContain(text)
  }),
]
