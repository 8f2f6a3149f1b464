import { expect } from 'vitest'
import { openedFor } from '../../../../src/ledger/event.ts'
import { amountBoughtBy } from '../../../../src/privacy/accounting.ts'
import { MAX_BUDGET_EPSILON } from '../../../../src/privacy/loss.ts'
import { basic, chargeOf, loss, question, rho, summed } from '../../support.ts'
import { type ContractTest, contractTest, kindsOf, spentOf, withCensus } from '../contract-test.ts'

/** Requirements on opening budgets and granting to them. */
export const BUDGETS: readonly ContractTest[] = [
  contractTest(
    'the first event records the neighbours of a budget, which never change',
    async ({ ledger }) => {
      expect(await openedFor(ledger, 'census')).toEqual({})
      const privacyUnit = { kind: 'person', column: 'patient', maxRows: 3 } as const
      const changeOne = { ...summed('1'), neighbours: 'change-one', privacyUnit } as const
      await ledger.openBudget('census', changeOne, 'carol')
      await ledger.charge(question('a'))
      await ledger.openBudget('census', summed('1'), 'carol')
      expect(await openedFor(ledger, 'census')).toMatchObject({
        neighbours: 'change-one',
        privacyUnit: { kind: 'person', column: 'patient' },
      })
    },
  ),
  contractTest('a budget is opened once, and a second attempt does not change it', async (fixture) => {
    const ledger = await withCensus(fixture)
    expect(await ledger.openBudget('other', summed('2'), 'carol')).toEqual({ kind: 'opened' })
    await ledger.charge(question('a'))
    const budget = {
      granted: loss('1', '0.000001'),
      cap: basic('1', '0.000001'),
      spent: basic('0.1'),
    }
    expect(await ledger.openBudget('census', summed('9'), 'carol')).toEqual({ kind: 'exists', budget })
    const zcdp = { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('9') } as const
    expect(await ledger.openBudget('census', zcdp, 'carol')).toEqual({ kind: 'exists', budget })
    expect(await ledger.budget('census')).toEqual(budget)
    expect(await ledger.budget('nowhere')).toBeUndefined()
    expect(await ledger.head('nowhere')).toBeUndefined()
    expect(await ledger.analystSpending('nowhere', 'ada')).toBeUndefined()
    expect(await kindsOf(ledger)).toEqual(['opened', 'charged'])
  }),
  contractTest('decimals add up exactly: 0.1 and 0.2 leave 0.7 of 1', async (fixture) => {
    const ledger = await withCensus(fixture)
    await ledger.charge(question('a', { price: basic('0.1') }))
    const { budget } = chargeOf(await ledger.charge(question('b', { price: basic('0.2') })))
    expect(budget.spent).toEqual(basic('0.3'))
    expect((await ledger.charge(question('c', { price: basic('0.700000001') }))).kind).toBe('denied')
    expect((await ledger.charge(question('d', { price: basic('0.7') }))).kind).toBe('charged')
    expect((await ledger.charge(question('e', { price: basic('0.000000001') }))).kind).toBe('denied')
    expect(await spentOf(ledger)).toEqual(basic('1'))
  }),
  contractTest('a budget limits delta as well as epsilon', async (fixture) => {
    const ledger = await withCensus(fixture)
    const first = await ledger.charge(question('a', { price: basic('0.1', '0.000001') }))
    expect(first.kind).toBe('charged')
    const spent = basic('0.1', '0.000001')
    const denied = await ledger.charge(question('b', { price: basic('0.1', '0.000000000000000001') }))
    expect(denied).toEqual({
      kind: 'denied',
      by: 'dataset',
      sticks: false,
      budget: { granted: loss('1', '0.000001'), cap: basic('1', '0.000001'), spent },
      analyst: { principal: 'ada', spent, spentOnShared: basic('0') },
    })
    expect((await ledger.charge(question('c', { price: basic('0.1') }))).kind).toBe('charged')
  }),
  contractTest('a budget holds the largest amounts exactly and refuses larger ones', async ({ ledger }) => {
    const [epsilon, delta] = [String(MAX_BUDGET_EPSILON), '0.999999999999999999']
    const [granted, largest] = [loss(epsilon, delta), basic(epsilon, delta)]
    await ledger.openBudget('census', { accounting: 'basic', neighbours: 'add-remove', granted }, 'carol')
    expect((await ledger.charge(question('a', { price: largest }))).kind).toBe('charged')
    const full = { granted, cap: largest, spent: largest }
    expect(await ledger.budget('census')).toEqual(full)
    expect((await ledger.charge(question('b', { price: largest }))).kind).toBe('denied')
    await expect(ledger.grant('census', loss('0.000000001'), 'carol', 'more')).rejects.toThrow(RangeError)
    const least = loss('0', '0.000000000000000001')
    await expect(ledger.grant('census', least, 'carol', 'more')).rejects.toThrow(RangeError)
    await expect(ledger.openBudget('b', summed('1000000.000000001'), 'carol')).rejects.toThrow(RangeError)
    await expect(ledger.openBudget('b', summed('1', '1'), 'carol')).rejects.toThrow(RangeError)
    const beyond = question('c', { price: basic('1000000.000000001') })
    await expect(ledger.charge(beyond)).rejects.toThrow(RangeError)
    expect(await ledger.budget('census')).toEqual(full)
    expect(await ledger.budget('b')).toBeUndefined()
  }),
  contractTest(
    'a budget in rho holds the largest amounts exactly and refuses larger ones',
    async ({ ledger }) => {
      const granted = loss(String(MAX_BUDGET_EPSILON), '0.999999999999999999')
      await ledger.openBudget('census', { accounting: 'zcdp', neighbours: 'add-remove', granted }, 'carol')
      const cap = amountBoughtBy('zcdp', granted)
      expect((await ledger.charge(question('a', { price: cap }))).kind).toBe('charged')
      expect(await ledger.budget('census')).toEqual({ granted, cap, spent: cap })
      expect((await ledger.charge(question('b', { price: rho('0.000000000001') }))).kind).toBe('denied')
      const beyond = question('c', { price: rho('1000000.000000000001') })
      await expect(ledger.charge(beyond)).rejects.toThrow(RangeError)
    },
  ),
  contractTest(
    'a cap is replaced by a smaller or larger one while nothing is spent, and is recorded',
    async (fixture) => {
      const ledger = await withCensus(fixture)
      const denied = await ledger.charge(question('too much', { price: basic('2') }))
      expect(denied.kind).toBe('denied')
      const smaller = { granted: loss('0.2'), cap: basic('0.2'), spent: basic('0') }
      expect(await ledger.replaceCap('census', loss('0.2'), 'carol', 'a typing error')).toEqual({
        kind: 'replaced',
        budget: smaller,
      })
      expect(await ledger.budget('census')).toEqual(smaller)
      expect((await ledger.charge(question('a', { price: basic('0.3') }))).kind).toBe('denied')
      const larger = { granted: loss('3', '0.1'), cap: basic('3', '0.1'), spent: basic('0') }
      const replaced = await ledger.replaceCap('census', loss('3', '0.1'), 'carol', 'another')
      expect(replaced).toEqual({ kind: 'replaced', budget: larger })
      // The same cap again is not recorded.
      expect(await ledger.replaceCap('census', loss('3', '0.1'), 'carol', 'again')).toEqual(replaced)
      expect(await kindsOf(ledger)).toEqual(['opened', 'denied', 'cap-replaced', 'denied', 'cap-replaced'])
      // Caps that differ in one amount only.
      for (const granted of [loss('3', '0.2'), loss('2', '0.2'), loss('3', '0.2'), loss('3', '0.1')]) {
        await ledger.replaceCap('census', granted, 'carol', 'another')
        expect((await ledger.budget('census'))?.granted).toEqual(granted)
      }
      const [entry] = await ledger.entries('census', { limit: 1 })
      expect(entry).toMatchObject({
        kind: 'cap-replaced',
        principal: 'carol',
        granted: loss('3', '0.1'),
        reason: 'another',
      })
      const [act] = await ledger.acts({ limit: 1 })
      expect(act).toMatchObject({
        kind: 'budget-replaced',
        subject: 'census',
        facts: { sequence: entry?.sequence, hash: entry?.hash },
      })
      expect((await ledger.charge(question('b', { price: basic('3', '0.1') }))).kind).toBe('charged')
      expect(await ledger.replaceCap('nowhere', loss('1'), 'carol', 'none')).toEqual({ kind: 'no-budget' })
    },
  ),
  contractTest(
    'a cap is not replaced once something was spent, even if the charge failed',
    async (fixture) => {
      const ledger = await withCensus(fixture)
      const { id, attempt } = chargeOf(await ledger.charge(question('a', { price: basic('0.000000001') })))
      await ledger.recordFailure(id, attempt)
      const budget = await ledger.budget('census')
      for (const cap of [loss('0.5'), loss('5', '0.1')])
        expect(await ledger.replaceCap('census', cap, 'carol', 'late')).toEqual({ kind: 'spent', budget })
      expect(await kindsOf(ledger)).toEqual(['opened', 'charged', 'failed'])
    },
  ),
  contractTest(
    'a cap in rho is replaced by the amount that the new one buys, after grants as well',
    async ({ ledger }) => {
      const opened = { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('4', '0.001') } as const
      await ledger.openBudget('census', opened, 'carol')
      await ledger.grant('census', loss('1'), 'carol', 'more')
      const granted = loss('0.5', '0.000001')
      const cap = amountBoughtBy('zcdp', granted)
      const budget = { granted, cap, spent: rho('0') }
      expect(await ledger.replaceCap('census', granted, 'carol', 'wrong')).toEqual({
        kind: 'replaced',
        budget,
      })
      expect((await ledger.charge(question('a', { price: cap }))).kind).toBe('charged')
      expect((await ledger.replaceCap('census', loss('9', '0.1'), 'carol', 'late')).kind).toBe('spent')
      await expect(ledger.replaceCap('census', loss('1', '1'), 'carol', 'large')).rejects.toThrow(RangeError)
    },
  ),
  contractTest('a grant raises a budget and is recorded', async (fixture) => {
    const ledger = await withCensus(fixture)
    await ledger.charge(question('a', { price: basic('1') }))
    expect((await ledger.charge(question('b'))).kind).toBe('denied')
    expect(await ledger.grant('census', loss('0.1', '0.5'), 'carol', 'a second survey')).toEqual({
      granted: loss('1.1', '0.500001'),
      cap: basic('1.1', '0.500001'),
      spent: basic('1'),
    })
    expect((await ledger.charge(question('b'))).kind).toBe('charged')
    expect(await ledger.grant('nowhere', loss('1'), 'carol', 'why not')).toBeUndefined()
    const [, granted] = await ledger.entries('census', { limit: 10 })
    expect(granted).toMatchObject({
      kind: 'granted',
      principal: 'carol',
      reason: 'a second survey',
      granted: loss('0.1', '0.5'),
    })
    expect(granted).not.toHaveProperty('price')
  }),
  {
    // 0.024355970359 is what (1, 1e-6) buys: Canonne, Kamath, Steinke 2020, corollary 13, to 12 digits and rounded
    // down.
    name: 'a cap in rho is what all grants buy together, exact to the last unit',
    async run(fixture) {
      const ledger = await withCensus(fixture, 'zcdp')
      expect((await ledger.budget('census'))?.cap).toEqual(rho('0.024355970359'))
      const price = rho('0.012177985179')
      for (const key of ['a', 'b'])
        expect((await ledger.charge(question(key, { price }))).kind).toBe('charged')
      const rest = question('c', { price: rho('0.000000000002') })
      expect((await ledger.charge(rest)).kind).toBe('denied')
      const { budget } = chargeOf(await ledger.charge(question('d', { price: rho('0.000000000001') })))
      expect(budget).toEqual({
        granted: loss('1', '0.000001'),
        cap: rho('0.024355970359'),
        spent: rho('0.024355970359'),
      })
      const granted = loss('2', '0.000001')
      expect(await ledger.grant('census', loss('1'), 'carol', 'more')).toEqual({
        granted,
        cap: amountBoughtBy('zcdp', granted),
        spent: rho('0.024355970359'),
      })
      expect((await ledger.charge(rest)).kind).toBe('charged')
    },
  },
  contractTest('a cap in rho is 0 until a delta is granted', async ({ ledger }) => {
    await ledger.openBudget(
      'census',
      { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('1') },
      'carol',
    )
    expect((await ledger.budget('census'))?.cap).toEqual(rho('0'))
    expect((await ledger.charge(question('a', { price: rho('0.01') }))).kind).toBe('denied')
    await ledger.grant('census', loss('0', '0.000001'), 'carol', 'a delta')
    expect((await ledger.charge(question('a', { price: rho('0.01') }))).kind).toBe('charged')
  }),
  contractTest("a price must be in the units of the dataset's accounting", async (fixture) => {
    const ledger = await withCensus(fixture)
    await ledger.openBudget(
      'other',
      { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('1', '0.5') },
      'carol',
    )
    await expect(ledger.charge(question('a', { price: rho('0.01') }))).rejects.toThrow(RangeError)
    await expect(ledger.charge(question('a', { dataset: 'other' }))).rejects.toThrow(RangeError)
    for (const dataset of ['census', 'other']) expect(await kindsOf(ledger, dataset)).toEqual(['opened'])
    expect((await ledger.charge(question('a'))).kind).toBe('charged')
  }),
  contractTest('every dataset with a budget is listed in order', async ({ ledger }) => {
    expect(await ledger.datasets()).toEqual([])
    for (const dataset of ['b', 'B', 'a-2', 'a', 'a.1'])
      await ledger.openBudget(dataset, summed('1'), 'carol')
    expect(await ledger.datasets()).toEqual(['B', 'a', 'a-2', 'a.1', 'b'])
  }),
]
