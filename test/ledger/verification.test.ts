import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canonicalJson, sha256 } from '../../src/ledger/canonical.ts'
import { chargeId } from '../../src/ledger/charge-id.ts'
import { canonicalEvent, FIRST_PREVIOUS_HASH, type LedgerEvent } from '../../src/ledger/event.ts'
import type { Ledger, StoredEvent } from '../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite.ts'
import { createVerifier, type Verification, verifyLedger } from '../../src/ledger/verification.ts'
import { loss, question, temporaryPath } from './support.ts'

let ledger: Ledger
let events: readonly StoredEvent[]

/** A history with every kind of event. */
beforeEach(async () => {
  ledger = await openSqliteLedger({ path: temporaryPath() })
  const charged = async (key: string, price = '0.1') =>
    ledger.charge(question(key, { datasetVersion: '1', loss: loss(price) }))
  const id = (key: string) => chargeId('ada', key)
  await ledger.openBudget('census', loss('0.5', '0.001'), 'carol')
  await charged('a')
  await ledger.recordAnswer(id('a'), 1, 'first')
  await charged('b')
  await ledger.recordFailure(id('b'), 1)
  await charged('b')
  await ledger.recordAnswer(id('b'), 2, 'second')
  await charged('dear', '0.9')
  await ledger.grant('census', loss('1', '0.5'), 'carol', 'more')
  await charged('dear', '0.9')
  await charged('session')
  await ledger.openSession(id('session'), 1, 'opened', { positives: 2, terms: '{}', thresholdNoise: 3n })
  for (const number of [1, 2]) {
    const asked = { session: id('session'), idempotencyKey: `q${number}`, requestHash: `hash ${number}` }
    await ledger.recordSessionAnswer({
      ...asked,
      question: number,
      request: '{}',
      above: true,
      answer: `answer ${number}`,
    })
  }
  events = await ledger.events('census', { limit: 1_000, afterSequence: 0 })
})
afterEach(() => ledger.close())

function verify(stored: readonly StoredEvent[]): Verification {
  const verifier = createVerifier('census')
  for (const event of stored) verifier.add(event)
  return verifier.result()
}

/** The same events from `place` on, each changed and hashed anew so that the chain holds: what a thief could write. */
function forged(place: number, change: (event: LedgerEvent) => LedgerEvent): StoredEvent[] {
  let previousHash = FIRST_PREVIOUS_HASH
  return events.map(({ canonical }, index) => {
    const event: LedgerEvent = { ...JSON.parse(canonical), previousHash }
    const text = canonicalEvent(index === place ? change(event) : event)
    previousHash = sha256(text)
    return { canonical: text, hash: previousHash }
  })
}

const kindAt = (place: number): LedgerEvent['kind'] => JSON.parse(events[place]?.canonical ?? '{}').kind
const places = () => events.map((_, place) => place)

test('every kind of event is in the history, and it is sound, page by page or at once', async () => {
  const kinds = new Set(places().map(kindAt))
  expect([...kinds].sort()).toEqual(
    ['answered', 'charged', 'denied', 'failed', 'granted', 'opened', 'retried', 'session-answered'].sort(),
  )
  const expected = {
    kind: 'sound',
    events: events.length,
    headHash: events.at(-1)?.hash,
    budget: { cap: loss('1.5', '0.501'), spent: loss('1.2') },
  }
  expect(verify(events)).toEqual(expected)
  expect(await verifyLedger(ledger, 'census')).toEqual(expected)
  expect(await verifyLedger(ledger, 'never')).toBeUndefined()
  const page = await ledger.events('census', { limit: 2, afterSequence: 3 })
  expect(page).toEqual(events.slice(3, 5))
})

describe('whatever is done to an export is found, at the first event that it makes wrong', () => {
  test('one character changed in any event', () => {
    for (const place of places()) {
      const text = events[place]?.canonical ?? ''
      for (let position = 0; position < text.length; position += 7) {
        const other = text[position] === '1' ? '2' : '1'
        const canonical = text.slice(0, position) + other + text.slice(position + 1)
        const changed = events.map((event, index) => (index === place ? { ...event, canonical } : event))
        expect(verify(changed)).toMatchObject({ kind: 'broken', sequence: place + 1 })
      }
      const rehashed = events.map((event, index) =>
        index === place ? { ...event, hash: sha256(event.hash) } : event,
      )
      expect(verify(rehashed)).toMatchObject({ kind: 'broken', sequence: place + 1 })
    }
  })

  test('an event left out, or two exchanged, or one twice, or one that is no event', () => {
    for (const place of places()) {
      const [event, next] = [events[place], events[place + 1]]
      if (event === undefined) throw new Error('there is an event')
      if (next !== undefined) {
        expect(verify(events.toSpliced(place, 1))).toMatchObject({ kind: 'broken', sequence: place + 1 })
        expect(verify(events.toSpliced(place, 2, next, event))).toMatchObject({
          kind: 'broken',
          sequence: place + 1,
        })
      }
      expect(verify(events.toSpliced(place, 0, event))).toMatchObject({ kind: 'broken', sequence: place + 2 })
      for (const canonical of ['', '{}', 'null', canonicalJson({ version: 2 })])
        expect(verify(events.toSpliced(place, 0, { canonical, hash: sha256(canonical) }))).toMatchObject({
          kind: 'broken',
          sequence: place + 1,
        })
    }
  })

  test('a tail cut off is sound by itself, and betrayed by a head noted before', () => {
    const noted = verify(events)
    const cut = verify(events.slice(0, -1))
    if (noted.kind !== 'sound' || cut.kind !== 'sound') throw new Error('both are sound')
    expect(cut.headHash).not.toBe(noted.headHash)
  })

  test.each([
    ['a debit beyond the cap', 'charged', { loss: { epsilonNano: '9000000000', deltaAtto: '0' } }],
    ['a negative debit', 'charged', { loss: { epsilonNano: '-1', deltaAtto: '0' } }],
    ['a debit without an amount', 'charged', { loss: undefined }],
    ['an answer to a charge that was not made', 'answered', { chargeId: 'f'.repeat(32) }],
    ['an answer by an attempt that was overtaken', 'answered', { attempt: 7 }],
    ['an answer to another’s charge', 'answered', { principal: 'eve' }],
    ['an attempt left out', 'retried', { attempt: 4 }],
    ['a question left out', 'session-answered', { question: 5 }],
    ['a budget opened again', 'granted', { kind: 'opened' as const }],
    ['another dataset', 'granted', { dataset: 'other' }],
    ['another place', 'granted', { sequence: 1 }],
    ['a later layout', 'granted', { version: 2 as 1 }],
  ])('%s, though the chain was hashed anew', (_name, kind, change) => {
    const place = places().find((index) => kindAt(index) === kind) ?? -1
    const stored = forged(place, ({ ...event }) => {
      const changed = { ...event, ...change }
      // JSON has no undefined.
      return JSON.parse(JSON.stringify(changed))
    })
    expect(verify(stored)).toMatchObject({ kind: 'broken', sequence: place + 1 })
  })
})

test('balances that are not what the events amount to are found', async () => {
  const budget = await ledger.budget('census')
  if (budget === undefined) throw new Error('there is a budget')
  const altered: Ledger = { ...ledger, budget: async () => ({ ...budget, spent: loss('0.2') }) }
  expect(await verifyLedger(altered, 'census')).toMatchObject({
    kind: 'broken',
    reason: 'the balances are not what the events amount to',
  })
})
