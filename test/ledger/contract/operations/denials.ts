import { expect } from 'vitest'
import { chargeId } from '../../../../src/ledger/canonical.ts'
import { basic, chargeOf, historyOf, loss, question } from '../../support.ts'
import {
  allotment,
  type ContractTest,
  contractTest,
  expectReceipt,
  kindsOf,
  spentOf,
  withCensus,
} from '../contract-test.ts'

/** Requirements on denied charges. */
export const DENIALS: readonly ContractTest[] = [
  contractTest('a denial of a chosen key is permanent and is recorded once', async (fixture) => {
    const ledger = await withCensus(fixture)
    const costly = question('a', { price: basic('1.5'), keyChosen: true })
    const nothing = { principal: 'ada', spent: basic('0'), spentOnShared: basic('0') }
    const before = await ledger.budget('census')
    const denied = { kind: 'denied', by: 'dataset', sticks: true, budget: before, analyst: nothing }
    expect(await ledger.charge(costly)).toEqual({ ...denied, sticks: false })
    expect(await ledger.charge(costly)).toEqual(denied)
    expect((await ledger.charge({ ...costly, requestHash: 'another' })).kind).toBe('key-reused')
    expect(await ledger.recordAnswer(chargeId('ada', 'a'), 1, 'x')).toBe(false)
    await ledger.recordFailure(chargeId('ada', 'a'), 1)
    await ledger.grant('census', loss('9'), 'carol', 'asked for')
    for (const changes of [{}, { price: basic('0.1') }]) {
      expect(await ledger.charge({ ...costly, ...changes })).toEqual({
        ...denied,
        budget: await ledger.budget('census'),
      })
    }
    expect((await ledger.budget('census'))?.cap).toEqual(basic('10', '0.000001'))
    expect(await spentOf(ledger)).toEqual(basic('0'))
    expect(await kindsOf(ledger)).toEqual(['opened', 'denied', 'granted'])
    expect((await ledger.charge({ ...costly, idempotencyKey: 'b' })).kind).toBe('charged')
  }),
  contractTest(
    'a denial without a chosen key is decided again on every request and is recorded once',
    async (fixture) => {
      const { clock } = fixture
      const ledger = await withCensus(fixture)
      const costly = question('a', { price: basic('1.5'), sharing: true })
      for (let time = 1; time <= 3; time += 1)
        expect(await ledger.charge(costly)).toMatchObject({ kind: 'denied', sticks: false })
      await ledger.grant('census', loss('0.3'), 'carol', 'asked for')
      expect((await ledger.charge(costly)).kind).toBe('denied')
      clock.ms += 5_000
      // Its price has changed by then, and the new price is debited.
      const cheaper = { ...costly, price: basic('1.3') }
      const charge = chargeOf(await ledger.charge(cheaper))
      expect(charge).toMatchObject({
        attempt: 1,
        budget: { spent: basic('1.3') },
        analyst: { spent: basic('1.3') },
      })
      await expectReceipt(ledger, charge.event, 'charged')
      expect((await ledger.charge(cheaper)).kind).toBe('in-flight')
      expect((await ledger.charge(costly)).kind).toBe('key-reused')
      expect(await ledger.recordAnswer(charge.id, 1, 'x')).toBe(true)
      const history = await historyOf(ledger)
      expect(history.map(({ kind, price }) => [kind, price])).toEqual([
        ['opened', undefined],
        ['denied', basic('1.5')],
        ['granted', undefined],
        ['charged', basic('1.3')],
        ['answered', undefined],
      ])
    },
  ),
  contractTest('a request denied before sharing was enabled is shared once it is paid', async (fixture) => {
    const ledger = await withCensus(fixture)
    const asked = question('a', { price: basic('1.5') })
    await ledger.charge(asked)
    await ledger.grant('census', loss('9'), 'carol', 'asked for')
    chargeOf(await ledger.charge({ ...asked, sharing: true }))
    await ledger.recordAnswer(chargeId('ada', 'a'), 1, 'x')
    const bobs = await ledger.charge({ ...asked, principal: 'bob', sharing: true })
    expect(bobs).toMatchObject({ kind: 'shared', shared: { answer: 'x' } })
  }),
  contractTest(
    'a chosen key denied by an allotment stays denied after the allotment is raised',
    async (fixture) => {
      const ledger = await withCensus(fixture)
      await ledger.allot(allotment('ada', loss('0.05')))
      const chosen = question('a', { keyChosen: true })
      for (const sticks of [false, true])
        expect(await ledger.charge(chosen)).toMatchObject({ kind: 'denied', by: 'allotment', sticks })
      expect((await ledger.charge(question('b'))).kind).toBe('denied')
      await ledger.allot(allotment('ada', loss('0.1')))
      expect((await ledger.charge(chosen)).kind).toBe('denied')
      expect((await ledger.charge(question('b'))).kind).toBe('charged')
      expect(await kindsOf(ledger)).toEqual(['opened', 'allotted', 'denied', 'denied', 'allotted', 'charged'])
    },
  ),
]
