import { expect } from 'vitest'
import { chargeId, sha256 } from '../../../../src/ledger/canonical.ts'
import { MAX_DENIALS } from '../../../../src/ledger/protocol/storage.ts'
import { basic, chargeOf, loss, question } from '../../support.ts'
import { type ContractTest, contractTest, kindsOf, shared, spentOf, withCensus } from '../contract-test.ts'

/** An answer that is large enough to be compressed, with texts of several bytes per character. */
const LARGE = JSON.stringify({
  cells: Array.from({ length: 2_000 }, (_, cell) => ({ region: `Köln 💧 ${cell}`, value: cell * 7_919 })),
})

/** Requirements on the size of what is stored. */
export const STORAGE: readonly ContractTest[] = [
  contractTest('a large answer is replayed, read, shared and verified byte for byte', async (fixture) => {
    const ledger = await withCensus(fixture)
    const { id } = chargeOf(await ledger.charge(shared('ada')))
    await ledger.recordAnswer(id, 1, LARGE)
    await fixture.reopen()
    const reopened = fixture.ledger
    expect(await reopened.charge(shared('ada'))).toEqual({ kind: 'answered', id, answer: LARGE })
    expect((await reopened.release(id))?.answer).toBe(LARGE)
    expect(await reopened.charge(shared('bob'))).toMatchObject({
      kind: 'shared',
      shared: { answer: LARGE },
    })
    expect(await reopened.chargeRecords([id])).toMatchObject([{ answerHash: sha256(LARGE) }])
    const session = chargeOf(await reopened.charge(question('session'))).id
    await reopened.openSession(session, 1, LARGE, { positives: 1, terms: '{}', thresholdNoise: 1n })
    expect((await reopened.session(session))?.opening).toBe(LARGE)
  }),
  contractTest(
    'a request is refused before the debit once the stored bytes reach its limit',
    async (fixture) => {
      const ledger = await withCensus(fixture)
      const limited = (key: string, changes = {}) => question(key, { maxStoredBytes: 4_000, ...changes })
      const { id } = chargeOf(await ledger.charge(limited('a')))
      const random = Array.from({ length: 200 }, (_, place) => sha256(String(place))).join('')
      await ledger.recordAnswer(id, 1, random)
      const before = [await spentOf(ledger), await kindsOf(ledger)]
      for (const changes of [{}, { keyChosen: true }, { price: basic('5') }]) {
        const outcome = await ledger.charge(limited('b', changes))
        if (outcome.kind !== 'storage-exceeded') throw new Error(outcome.kind)
        expect(outcome.by).toBe('bytes')
        // Hexadecimal digits hold half a byte each.
        expect(outcome.storedBytes).toBeGreaterThan(random.length / 2)
        expect(outcome.storedBytes).toBeLessThan(random.length + 3_000)
      }
      expect([await spentOf(ledger), await kindsOf(ledger)]).toEqual(before)
      expect(await ledger.charge(limited('a'))).toMatchObject({ kind: 'answered', answer: random })
      // The limit is per analyst and dataset, and that of the request applies.
      expect((await ledger.charge(limited('b', { principal: 'bob' }))).kind).toBe('charged')
      expect((await ledger.charge(limited('b', { maxStoredBytes: 1_000_000 }))).kind).toBe('charged')
      expect((await ledger.charge(question('c'))).kind).toBe('charged')
    },
  ),
  contractTest(
    'requests, further attempts and answers of sessions count as stored bytes',
    async (fixture) => {
      const ledger = await withCensus(fixture)
      const storedBytes = async () => {
        const outcome = await ledger.charge(question('probe', { maxStoredBytes: 0 }))
        return outcome.kind === 'storage-exceeded' ? outcome.storedBytes : Number.NaN
      }
      const request = JSON.stringify('x'.repeat(10_000))
      const { id } = chargeOf(await ledger.charge(question('a', { request })))
      const first = await storedBytes()
      expect(first).toBeGreaterThan(request.length)
      await ledger.recordFailure(id, 1)
      chargeOf(await ledger.charge(question('a', { request })))
      const second = await storedBytes()
      expect(second).toBeGreaterThan(first)
      await ledger.openSession(id, 2, 'opened', { positives: 1, terms: '{}', thresholdNoise: 1n })
      const asked = { session: id, idempotencyKey: 'a', requestHash: 'a' }
      await ledger.recordSessionAnswer({ ...asked, question: 1, request, above: false, answer: 'below' })
      const third = await storedBytes()
      expect(third).toBeGreaterThan(second + request.length)
      const next = { ...asked, idempotencyKey: 'b' }
      expect(await ledger.sessionQuestion({ ...next, maxStoredBytes: third })).toEqual({
        ...{ kind: 'storage-exceeded', by: 'bytes', storedBytes: third },
      })
      expect((await ledger.sessionQuestion({ ...next, maxStoredBytes: third + 1 })).kind).toBe('open')
      expect((await ledger.sessionQuestion({ ...asked, maxStoredBytes: 0 })).kind).toBe('answered')
      // A question under way is still answered.
      const underWay = { ...next, maxStoredBytes: 0, question: 2, request, above: false, answer: 'below' }
      expect(await ledger.recordSessionAnswer(underWay)).toBe(true)
    },
  ),
  contractTest(
    'at most 250 denials of an analyst are recorded, and an unrecorded one is not permanent',
    async (fixture) => {
      const ledger = await withCensus(fixture)
      const dear = (key: string, changes = {}) => question(key, { price: basic('1.5'), ...changes })
      const denials = Array.from({ length: MAX_DENIALS }, (_, place) =>
        dear(`key ${place}`, { keyChosen: place % 2 === 0 }),
      )
      // In two batches, the second of which continues the count of the first.
      for (const half of [denials.slice(0, 100), denials.slice(100)])
        await Promise.all(half.map((request) => ledger.charge(request)))
      const kinds = await kindsOf(ledger)
      expect(kinds).toHaveLength(1 + MAX_DENIALS)
      expect(await ledger.charge(dear('derived'))).toMatchObject({ kind: 'denied', sticks: false })
      const chosen = dear('chosen', { keyChosen: true })
      expect(await ledger.charge(chosen)).toMatchObject({ kind: 'storage-exceeded', by: 'denials' })
      // Recorded denials of chosen keys are still repeated.
      const recorded = await ledger.charge(dear('key 0', { keyChosen: true }))
      expect(recorded).toMatchObject({ kind: 'denied', sticks: true })
      expect(await ledger.charge(dear('chosen', { principal: 'bob' }))).toMatchObject({ kind: 'denied' })
      expect(await ledger.chargeRecords([chargeId('ada', 'chosen'), chargeId('ada', 'derived')])).toEqual([])
      expect(await kindsOf(ledger)).toHaveLength(kinds.length + 1)
      await ledger.grant('census', loss('9'), 'carol', 'asked for')
      expect((await ledger.charge(chosen)).kind).toBe('charged')
      expect((await ledger.charge(dear('key 0', { keyChosen: true }))).kind).toBe('denied')
      expect((await ledger.charge(dear('key 1'))).kind).toBe('charged')
    },
  ),
]
