import { expect } from 'vitest'
import { chargeId } from '../../../../src/ledger/canonical.ts'
import { noAmount } from '../../../../src/privacy/accounting.ts'
import { NO_LOSS } from '../../../../src/privacy/loss.ts'
import { basic, historyOf, loss, question, rho } from '../../support.ts'
import {
  allotment,
  answeredForAda,
  COUNTED,
  type ContractTest,
  contractTest,
  kindsOf,
  leastOf,
  shared,
  spentOf,
  withCensus,
} from '../contract-test.ts'

/** Requirements on the allotments of analysts. */
export const ALLOTMENTS: readonly ContractTest[] = [
  contractTest('an allotment limits its analyst exactly, and no other analyst', async (fixture) => {
    const ledger = await withCensus(fixture)
    const granted = loss('0.3', '0.0000001')
    expect(await ledger.allot(allotment('ada', granted))).toEqual({
      kind: 'allotted',
      analyst: {
        principal: 'ada',
        allotment: { granted, limit: basic('0.3', '0.0000001') },
        spent: basic('0'),
        spentOnShared: basic('0'),
      },
    })
    expect((await ledger.charge(question('a', { price: basic('0.3') }))).kind).toBe('charged')
    const over = await ledger.charge(question('b', { price: basic('0.000000001') }))
    expect(over).toEqual({
      kind: 'denied',
      by: 'allotment',
      sticks: false,
      budget: await ledger.budget('census'),
      analyst: await ledger.analystSpending('census', 'ada'),
    })
    const delta = question('c', { price: basic('0', '0.000000100000000001') })
    expect(await ledger.charge(delta)).toMatchObject({ kind: 'denied', by: 'allotment' })
    const exactly = question('d', { price: basic('0', '0.0000001') })
    expect((await ledger.charge(exactly)).kind).toBe('charged')
    const bobs = question('b', { principal: 'bob', price: basic('0.7') })
    expect((await ledger.charge(bobs)).kind).toBe('charged')
    expect(await spentOf(ledger)).toEqual(basic('1', '0.0000001'))
    expect(await ledger.analystSpending('census', 'ada')).toMatchObject({
      spent: basic('0.3', '0.0000001'),
    })
  }),
  contractTest(
    'an allotment in rho limits its analyst to what its (epsilon, delta) buys',
    async (fixture) => {
      const ledger = await withCensus(fixture, 'zcdp')
      const granted = loss('0.5', '0.000001')
      const limit = rho('0.006641524356')
      expect(await ledger.allot(allotment('ada', granted))).toMatchObject({
        kind: 'allotted',
        analyst: { allotment: { granted, limit } },
      })
      const above = question('a', { price: rho('0.006641524357') })
      expect(await ledger.charge(above)).toMatchObject({ kind: 'denied', by: 'allotment' })
      expect((await ledger.charge(question('b', { price: limit }))).kind).toBe('charged')
      const least = question('c', { price: rho('0.000000000001') })
      expect(await ledger.charge(least)).toMatchObject({ kind: 'denied', by: 'allotment' })
    },
  ),
  contractTest(
    "the dataset's cap limits all analysts together, even if their allotments are larger",
    async (fixture) => {
      const ledger = await withCensus(fixture)
      for (const analyst of ['ada', 'bob', 'eve']) await ledger.allot(allotment(analyst, loss('5')))
      const price = basic('0.4')
      expect((await ledger.charge(question('a', { price }))).kind).toBe('charged')
      expect((await ledger.charge(question('a', { price, principal: 'bob' }))).kind).toBe('charged')
      const third = await ledger.charge(question('a', { price, principal: 'eve' }))
      expect(third).toMatchObject({ kind: 'denied', by: 'dataset', analyst: { spent: basic('0') } })
      expect(await spentOf(ledger)).toEqual(basic('0.8'))
    },
  ),
  contractTest(
    'an allotment cannot be below the spending, may equal it, and can be lifted',
    async (fixture) => {
      const ledger = await withCensus(fixture)
      await ledger.charge(question('a', { price: basic('0.4') }))
      const spent = { principal: 'ada', spent: basic('0.4'), spentOnShared: basic('0') }
      expect(await ledger.allot(allotment('ada', loss('0.399999999', '0.5')))).toEqual({
        kind: 'below-spent',
        analyst: spent,
      })
      expect(await ledger.analystSpending('census', 'ada')).toEqual(spent)
      expect((await ledger.allot(allotment('ada', loss('0.4')))).kind).toBe('allotted')
      const more = question('b')
      expect(await ledger.charge(more)).toMatchObject({ kind: 'denied', by: 'allotment' })
      const kept = await ledger.allot(allotment('ada', loss('0.1')))
      expect(kept).toMatchObject({ kind: 'below-spent', analyst: { allotment: { granted: loss('0.4') } } })
      expect(await ledger.allot(allotment('ada'))).toEqual({ kind: 'allotted', analyst: spent })
      expect((await ledger.charge(more)).kind).toBe('charged')
      const history = await historyOf(ledger)
      expect(
        history.map(({ kind, analyst, granted, reason, principal }) => [
          kind,
          analyst,
          granted,
          reason,
          principal,
        ]),
      ).toEqual([
        ['opened', undefined, loss('1', '0.000001'), undefined, 'carol'],
        ['charged', undefined, undefined, undefined, 'ada'],
        ['allotted', 'ada', loss('0.4'), 'a share', 'carol'],
        ['denied', undefined, undefined, undefined, 'ada'],
        ['allotted', 'ada', undefined, 'a share', 'carol'],
        ['charged', undefined, undefined, undefined, 'ada'],
      ])
    },
  ),
  ...COUNTED.flatMap(({ accounting, parts }): ContractTest[] => [
    contractTest(
      `an allotment of 0 equals the spending until it is lifted, in ${accounting}`,
      async (fixture) => {
        const ledger = await withCensus(fixture, accounting)
        await ledger.charge(question('a', { price: parts(3n) }))
        const limit = parts(3n)
        const { epsilonNano: epsilon, deltaAtto: delta } = limit.accounting === 'basic' ? limit : NO_LOSS
        const granted = { epsilonNano: epsilon, deltaAtto: delta }
        const spending = { principal: 'ada', spent: limit, spentOnShared: noAmount(accounting) }
        const analyst = { ...spending, allotment: { granted, limit } }
        for (let time = 1; time <= 2; time += 1)
          expect(await ledger.allot(allotment('ada', NO_LOSS))).toEqual({ kind: 'allotted', analyst })
        expect(await ledger.analystSpending('census', 'ada')).toEqual(analyst)
        const entries = await ledger.entries('census', { limit: 2 })
        expect(entries).toMatchObject([1, 2].map(() => ({ kind: 'allotted', analyst: 'ada', granted })))
        const least = question('b', { price: leastOf(accounting) })
        expect(await ledger.charge(least)).toMatchObject({ kind: 'denied', by: 'allotment', analyst })
        const free = question('free', { price: noAmount(accounting) })
        expect((await ledger.charge(free)).kind).toBe('charged')
        expect((await ledger.charge({ ...least, principal: 'bob' })).kind).toBe('charged')
        // An attempt under way was paid for.
        expect(await ledger.recordAnswer(chargeId('ada', 'a'), 1, 'x')).toBe(true)
        await fixture.reopen()
        expect(await fixture.ledger.charge(least)).toMatchObject({ kind: 'denied', by: 'allotment', analyst })
        expect(await fixture.ledger.allot(allotment('ada'))).toEqual({ kind: 'allotted', analyst: spending })
        expect((await fixture.ledger.charge(least)).kind).toBe('charged')
      },
    ),
    contractTest(
      `an allotment of 0 stops an analyst without spending, for shared releases too, in ${accounting}`,
      async (fixture) => {
        const ledger = await withCensus(fixture, accounting)
        const none = noAmount(accounting)
        const stopped = { granted: NO_LOSS, limit: none }
        expect(await ledger.allot(allotment('ada', NO_LOSS))).toEqual({
          kind: 'allotted',
          analyst: { principal: 'ada', spent: none, spentOnShared: none, allotment: stopped },
        })
        const least = question('a', { price: leastOf(accounting), sharing: true })
        const denied = { kind: 'denied', by: 'allotment' }
        expect(await ledger.charge(least)).toMatchObject(denied)
        await ledger.charge({ ...least, principal: 'bob' })
        await ledger.recordAnswer(chargeId('bob', 'a'), 1, 'x')
        expect(await ledger.charge(least)).toMatchObject(denied)
        expect((await ledger.charge({ ...least, principal: 'eve' })).kind).toBe('shared')
      },
    ),
    contractTest(
      `an allotment of 0 includes the spending on shared releases, in ${accounting}`,
      async (fixture) => {
        const { ledger } = await answeredForAda(fixture, accounting, parts(4n))
        await ledger.charge(shared('bob', { price: parts(4n) }))
        expect(await ledger.allot(allotment('bob', NO_LOSS))).toMatchObject({
          kind: 'allotted',
          analyst: { allotment: { limit: parts(4n) }, spent: parts(4n), spentOnShared: parts(4n) },
        })
        const own = question('own', { principal: 'bob', price: leastOf(accounting) })
        expect(await ledger.charge(own)).toMatchObject({ kind: 'denied', by: 'allotment' })
      },
    ),
  ]),
  contractTest('an allotment of only epsilon or only delta is not an allotment of 0', async (fixture) => {
    const ledger = await withCensus(fixture)
    await ledger.charge(question('a', { price: basic('0.4', '0.0000001') }))
    for (const granted of [loss('0.000000001'), loss('0', '0.000000000000000001')])
      expect((await ledger.allot(allotment('ada', granted))).kind).toBe('below-spent')
    expect(await ledger.allot(allotment('ada', NO_LOSS))).toMatchObject({
      kind: 'allotted',
      analyst: { allotment: { granted: loss('0.4', '0.0000001'), limit: basic('0.4', '0.0000001') } },
    })
  }),
  contractTest('an allotment requires a budget and valid amounts', async (fixture) => {
    const ledger = await withCensus(fixture)
    expect(await ledger.allot({ ...allotment('ada', loss('1')), dataset: 'nowhere' })).toEqual({
      kind: 'no-budget',
    })
    for (const granted of [loss('1000000.000000001'), loss('1', '1')])
      await expect(ledger.allot(allotment('ada', granted))).rejects.toThrow(RangeError)
    for (const changes of [{ analyst: '' }, { reason: '' }, { principal: '\ud800' }])
      await expect(ledger.allot({ ...allotment('ada', loss('1')), ...changes })).rejects.toThrow(RangeError)
    expect(await kindsOf(ledger)).toEqual(['opened'])
    expect((await ledger.head('census'))?.spending).toEqual([])
  }),
]
