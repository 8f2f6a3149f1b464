import { expect } from 'vitest'
import { chargeId } from '../../src/ledger/canonical.ts'
import type { LedgerEvent } from '../../src/ledger/event.ts'
import { openedForNeighbours } from '../../src/ledger/event.ts'
import type { ChargeRequest, Ledger, NewAllotment } from '../../src/ledger/ledger.ts'
import {
  type Accounting,
  type Amount,
  addAmounts,
  amountBoughtBy,
  noAmount,
} from '../../src/privacy/accounting.ts'
import { epsilonNano, MAX_BUDGET_EPSILON, NO_LOSS, rhoPico } from '../../src/privacy/loss.ts'
import type { Place } from './places.ts'
import { basic, chargeOf, historyOf, loss, question, rho, summed } from './support.ts'

/** What every ledger must do. It holds, or an expectation in it throws. */
export interface Law {
  readonly name: string
  holds(place: Place): Promise<void>
}

/** Under each accounting, amounts of which the cap is ten: whatever is said in them must hold under both. */
const COUNTED: readonly { accounting: Accounting; parts(count: bigint): Amount }[] = [
  { accounting: 'basic', parts: (count) => basicParts(count) },
  {
    accounting: 'zcdp',
    parts: (count) => ({ accounting: 'zcdp', rhoPico: rhoPico(2_435_597_035n * count) }),
  },
]

function basicParts(count: bigint): Amount {
  return { accounting: 'basic', ...NO_LOSS, epsilonNano: epsilonNano(loss('0.1').epsilonNano * count) }
}

function leastOf(accounting: Accounting): Amount {
  return accounting === 'zcdp' ? rho('0.000000000001') : basic('0.000000001')
}

/** A ledger with `census`, a budget of (1, 1e-6). */
async function withCensus({ ledger }: Place, accounting: Accounting = 'basic'): Promise<Ledger> {
  await ledger.openBudget(
    'census',
    { accounting, neighbours: 'add-remove', granted: loss('1', '0.000001') },
    'carol',
  )
  return ledger
}

const allotment = (analyst: string, granted?: NewAllotment['granted']): NewAllotment => ({
  dataset: 'census',
  analyst,
  principal: 'carol',
  reason: 'a share',
  ...(granted !== undefined && { granted }),
})
const kindsOf = async (ledger: Ledger, dataset = 'census') =>
  (await historyOf(ledger, dataset)).map(({ kind }) => kind)
const spentOf = async (ledger: Ledger, dataset = 'census') => (await ledger.budget(dataset))?.spent
const receiptIsOf = async (ledger: Ledger, event: { sequence: number; hash: string }, kind: string) => {
  const found = (await historyOf(ledger)).find(({ sequence }) => sequence === event.sequence)
  expect(found).toMatchObject({ kind, hash: event.hash })
}

const BUDGETS: readonly Law[] = [
  {
    name: 'the first event says for which neighbours a budget was opened, once and for all',
    async holds({ ledger }) {
      expect(await openedForNeighbours(ledger, 'census')).toBeUndefined()
      const changeOne = { ...summed('1'), neighbours: 'change-one' } as const
      await ledger.openBudget('census', changeOne, 'carol')
      await ledger.charge(question('a'))
      await ledger.openBudget('census', summed('1'), 'carol')
      expect(await openedForNeighbours(ledger, 'census')).toBe('change-one')
    },
  },
  {
    name: 'a budget is opened once and stays as it is',
    async holds(place) {
      const ledger = await withCensus(place)
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
    },
  },
  {
    name: 'decimals add up exactly: 0.1 and 0.2 leave 0.7 of 1',
    async holds(place) {
      const ledger = await withCensus(place)
      await ledger.charge(question('a', { price: basic('0.1') }))
      const { budget } = chargeOf(await ledger.charge(question('b', { price: basic('0.2') })))
      expect(budget.spent).toEqual(basic('0.3'))
      expect((await ledger.charge(question('c', { price: basic('0.700000001') }))).kind).toBe('denied')
      expect((await ledger.charge(question('d', { price: basic('0.7') }))).kind).toBe('charged')
      expect((await ledger.charge(question('e', { price: basic('0.000000001') }))).kind).toBe('denied')
      expect(await spentOf(ledger)).toEqual(basic('1'))
    },
  },
  {
    name: 'a budget is bound by delta as much as by epsilon',
    async holds(place) {
      const ledger = await withCensus(place)
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
    },
  },
  {
    name: 'a budget holds the largest amounts exactly, and no more',
    async holds({ ledger }) {
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
    },
  },
  {
    name: 'a budget in rho holds the largest amounts exactly, and no more',
    async holds({ ledger }) {
      const granted = loss(String(MAX_BUDGET_EPSILON), '0.999999999999999999')
      await ledger.openBudget('census', { accounting: 'zcdp', neighbours: 'add-remove', granted }, 'carol')
      const cap = amountBoughtBy('zcdp', granted)
      expect((await ledger.charge(question('a', { price: cap }))).kind).toBe('charged')
      expect(await ledger.budget('census')).toEqual({ granted, cap, spent: cap })
      expect((await ledger.charge(question('b', { price: rho('0.000000000001') }))).kind).toBe('denied')
      const beyond = question('c', { price: rho('1000000.000000000001') })
      await expect(ledger.charge(beyond)).rejects.toThrow(RangeError)
    },
  },
  {
    name: 'a budget grows by grants, which are on record',
    async holds(place) {
      const ledger = await withCensus(place)
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
    },
  },
  {
    // 0.024355970359 is what (1, 1e-6) buys: Canonne, Kamath, Steinke 2020, corollary 13, to 12 digits and rounded down.
    name: 'a budget in rho holds what the grants buy together, to the last unit',
    async holds(place) {
      const ledger = await withCensus(place, 'zcdp')
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
  {
    name: 'a budget in rho without a delta buys nothing, until one is granted',
    async holds({ ledger }) {
      await ledger.openBudget(
        'census',
        { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('1') },
        'carol',
      )
      expect((await ledger.budget('census'))?.cap).toEqual(rho('0'))
      expect((await ledger.charge(question('a', { price: rho('0.01') }))).kind).toBe('denied')
      await ledger.grant('census', loss('0', '0.000001'), 'carol', 'a delta')
      expect((await ledger.charge(question('a', { price: rho('0.01') }))).kind).toBe('charged')
    },
  },
  {
    name: 'a price is counted as its dataset is',
    async holds(place) {
      const ledger = await withCensus(place)
      await ledger.openBudget(
        'other',
        { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('1', '0.5') },
        'carol',
      )
      await expect(ledger.charge(question('a', { price: rho('0.01') }))).rejects.toThrow(RangeError)
      await expect(ledger.charge(question('a', { dataset: 'other' }))).rejects.toThrow(RangeError)
      for (const dataset of ['census', 'other']) expect(await kindsOf(ledger, dataset)).toEqual(['opened'])
      expect((await ledger.charge(question('a'))).kind).toBe('charged')
    },
  },
  {
    name: 'every dataset that has a budget is listed, in order',
    async holds({ ledger }) {
      expect(await ledger.datasets()).toEqual([])
      for (const dataset of ['b', 'B', 'a-2', 'a', 'a.1'])
        await ledger.openBudget(dataset, summed('1'), 'carol')
      expect(await ledger.datasets()).toEqual(['B', 'a', 'a-2', 'a.1', 'b'])
    },
  },
]

const CHARGES: readonly Law[] = [
  ...COUNTED.flatMap(({ accounting, parts }): Law[] => [
    {
      name: `ten of ten are charged and no eleventh, in ${accounting}`,
      async holds(place) {
        const ledger = await withCensus(place, accounting)
        for (let number = 1; number <= 10; number += 1) {
          const charge = chargeOf(await ledger.charge(question(`q${number}`, { price: parts(1n) })))
          expect(charge.budget.spent).toEqual(parts(BigInt(number)))
          expect(charge.analyst.spent).toEqual(parts(BigInt(number)))
        }
        expect(await ledger.charge(question('q11', { price: parts(1n) }))).toMatchObject({
          kind: 'denied',
          by: 'dataset',
        })
        expect(await spentOf(ledger)).toEqual(parts(10n))
      },
    },
    {
      name: `a charge is known by its principal and key, and says what is left, in ${accounting}`,
      async holds(place) {
        const ledger = await withCensus(place, accounting)
        const charge = chargeOf(await ledger.charge(question('a', { price: parts(1n) })))
        const budget = await ledger.budget('census')
        expect(charge).toEqual({
          id: chargeId('ada', 'a'),
          attempt: 1,
          budget,
          analyst: { principal: 'ada', spent: parts(1n), spentOnShared: noAmount(accounting) },
          event: { sequence: 2, hash: (await historyOf(ledger))[1]?.hash },
        })
        expect(budget?.spent).toEqual(parts(1n))
        expect(charge.id).toMatch(/^[0-9a-f]{32}$/)
        const bobs = chargeOf(await ledger.charge(question('a', { principal: 'bob', price: parts(2n) })))
        expect(bobs.id).toBe(chargeId('bob', 'a'))
        expect(bobs.analyst.spent).toEqual(parts(2n))
        expect(await spentOf(ledger)).toEqual(parts(3n))
        expect((await historyOf(ledger)).map(({ price }) => price)).toEqual([undefined, parts(1n), parts(2n)])
      },
    },
    {
      name: `a charge that failed or lapsed is tried again at no cost, in ${accounting}`,
      async holds(place) {
        const { clock } = place
        const ledger = await withCensus(place, accounting)
        const asked = question('a', { price: parts(10n) })
        await ledger.charge(asked)
        await ledger.recordFailure(chargeId('ada', 'a'), 1)
        expect(chargeOf(await ledger.charge(asked)).attempt).toBe(2)
        clock.ms += 1_000
        const third = chargeOf(await ledger.charge(asked))
        expect(third).toMatchObject({
          attempt: 3,
          budget: { spent: parts(10n) },
          analyst: { spent: parts(10n) },
        })
        await receiptIsOf(ledger, third.event, 'retried')
        expect(await ledger.recordAnswer(third.id, 3, 'x')).toBe(true)
        expect(await spentOf(ledger)).toEqual(parts(10n))
        expect(await kindsOf(ledger)).toEqual([
          'opened',
          'charged',
          'failed',
          'retried',
          'retried',
          'answered',
        ])
      },
    },
    {
      name: `a charge of nothing is a charge too, in ${accounting}`,
      async holds({ ledger }) {
        await ledger.openBudget('census', { accounting, neighbours: 'add-remove', granted: NO_LOSS }, 'carol')
        const free = question('a', { price: noAmount(accounting) })
        expect((await ledger.charge(free)).kind).toBe('charged')
        expect((await ledger.charge(question('b', { price: parts(1n) }))).kind).toBe('denied')
      },
    },
  ]),
  {
    name: 'a charge is in flight until its lease runs out, then belongs to the next attempt',
    async holds(place) {
      const { clock } = place
      const ledger = await withCensus(place)
      const first = chargeOf(await ledger.charge(question('a')))
      clock.ms += 400
      expect(await ledger.charge(question('a'))).toEqual({ kind: 'in-flight', retryAfterMs: 600 })
      clock.ms += 599
      expect(await ledger.charge(question('a'))).toEqual({ kind: 'in-flight', retryAfterMs: 1 })
      clock.ms += 1
      const second = chargeOf(await ledger.charge(question('a', { datasetVersion: '2' })))
      expect(second).toEqual({ ...first, attempt: 2, event: second.event })
      await receiptIsOf(ledger, first.event, 'charged')
      await receiptIsOf(ledger, second.event, 'retried')
      expect(await ledger.charge(question('a'))).toEqual({ kind: 'in-flight', retryAfterMs: 1_000 })
      expect(await ledger.recordAnswer(first.id, 1, 'late')).toBe(false)
      expect(await ledger.release(first.id)).toBeUndefined()
      expect(await ledger.recordAnswer(first.id, 2, 'in time')).toBe(true)
      expect(await ledger.charge(question('a'))).toEqual({
        kind: 'answered',
        id: first.id,
        answer: 'in time',
      })
      expect(await ledger.lastDatasetVersion('census')).toBe(2)
    },
  },
  {
    name: 'a charge is not locked for longer by a clock that was set back, nor lost by one set forward',
    async holds(place) {
      const { clock } = place
      const ledger = await withCensus(place)
      await ledger.charge(question('a'))
      clock.ms -= 3_600_000
      expect(chargeOf(await ledger.charge(question('a'))).attempt).toBe(2)
      clock.ms += 7_200_000
      expect(chargeOf(await ledger.charge(question('a'))).attempt).toBe(3)
      expect(await ledger.recordAnswer(chargeId('ada', 'a'), 3, 'x')).toBe(true)
      clock.ms -= 7_200_000
      expect((await ledger.charge(question('a'))).kind).toBe('answered')
      expect(await spentOf(ledger)).toEqual(basic('0.1'))
    },
  },
  {
    name: 'an answer is replayed byte for byte, whatever the price is by then',
    async holds(place) {
      const ledger = await withCensus(place)
      const answer = '{"value":1,"text":"\\u0000 ü 💧 \u2028 \\u2028"}'
      const { id } = chargeOf(await ledger.charge(question('a')))
      expect(await ledger.recordAnswer(id, 1, answer)).toBe(true)
      expect(await ledger.recordAnswer(id, 1, 'another')).toBe(false)
      for (const keyChosen of [false, true]) {
        const again = await ledger.charge(question('a', { price: basic('0.5'), keyChosen, sharing: true }))
        expect(again).toEqual({ kind: 'answered', id, answer })
      }
      expect(await ledger.release(id)).toEqual({ id, dataset: 'census', principal: 'ada', answer })
      expect(await ledger.release(chargeId('ada', 'b'))).toBeUndefined()
      expect(await spentOf(ledger)).toEqual(basic('0.1'))
      expect(await kindsOf(ledger)).toEqual(['opened', 'charged', 'answered'])
    },
  },
  {
    name: 'a key is refused for another request, another dataset, or another price before the answer',
    async holds(place) {
      const ledger = await withCensus(place)
      await ledger.openBudget('other', summed('1'), 'carol')
      const { id } = chargeOf(await ledger.charge(question('a')))
      const reused = { kind: 'key-reused' }
      const others: Partial<ChargeRequest>[] = [
        { requestHash: 'another' },
        { dataset: 'other' },
        { price: basic('0.2') },
        { price: basic('0.099999999') },
        { price: basic('0.1', '0.000000000000000001') },
        { price: rho('0.1') },
      ]
      for (const changes of others) expect(await ledger.charge(question('a', changes))).toEqual(reused)
      await ledger.recordFailure(id, 1)
      for (const changes of others) expect(await ledger.charge(question('a', changes))).toEqual(reused)
      expect((await ledger.charge(question('a'))).kind).toBe('charged')
      await ledger.recordAnswer(id, 2, 'x')
      for (const changes of others.slice(0, 2))
        expect(await ledger.charge(question('a', changes))).toEqual(reused)
      expect(await spentOf(ledger)).toEqual(basic('0.1'))
      expect(await spentOf(ledger, 'other')).toEqual(basic('0'))
    },
  },
  {
    name: 'a charge may be tried again at once after a failure, and the debit stays',
    async holds(place) {
      const ledger = await withCensus(place)
      const { id } = chargeOf(await ledger.charge(question('a')))
      await ledger.recordFailure(id, 7)
      expect((await ledger.charge(question('a'))).kind).toBe('in-flight')
      await ledger.recordFailure(id, 1)
      expect(await ledger.recordAnswer(id, 1, 'x')).toBe(false)
      expect(await spentOf(ledger)).toEqual(basic('0.1'))
      expect(chargeOf(await ledger.charge(question('a'))).attempt).toBe(2)
      await ledger.recordFailure(id, 1)
      expect(await ledger.recordAnswer(id, 2, 'x')).toBe(true)
      await ledger.recordFailure(id, 2)
      expect((await ledger.release(id))?.answer).toBe('x')
      expect(await ledger.recordAnswer(chargeId('ada', 'never'), 1, 'x')).toBe(false)
      await ledger.recordFailure(chargeId('ada', 'never'), 1)
      expect(await kindsOf(ledger)).toEqual(['opened', 'charged', 'failed', 'retried', 'answered'])
    },
  },
  {
    name: 'a denial sticks to a key that was chosen, whatever is granted since, and is on record once',
    async holds(place) {
      const ledger = await withCensus(place)
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
    },
  },
  {
    name: 'a denial of a question without a chosen key is looked at afresh, and is on record once',
    async holds(place) {
      const { clock } = place
      const ledger = await withCensus(place)
      const costly = question('a', { price: basic('1.5'), sharing: true })
      for (let time = 1; time <= 3; time += 1)
        expect(await ledger.charge(costly)).toMatchObject({ kind: 'denied', sticks: false })
      await ledger.grant('census', loss('0.3'), 'carol', 'asked for')
      expect((await ledger.charge(costly)).kind).toBe('denied')
      clock.ms += 5_000
      // By then its price is another one, and that is what is debited.
      const cheaper = { ...costly, price: basic('1.3') }
      const charge = chargeOf(await ledger.charge(cheaper))
      expect(charge).toMatchObject({
        attempt: 1,
        budget: { spent: basic('1.3') },
        analyst: { spent: basic('1.3') },
      })
      await receiptIsOf(ledger, charge.event, 'charged')
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
  },
  {
    name: 'what was denied while analysts did not share is shared if they do once it is paid',
    async holds(place) {
      const ledger = await withCensus(place)
      const asked = question('a', { price: basic('1.5') })
      await ledger.charge(asked)
      await ledger.grant('census', loss('9'), 'carol', 'asked for')
      chargeOf(await ledger.charge({ ...asked, sharing: true }))
      await ledger.recordAnswer(chargeId('ada', 'a'), 1, 'x')
      const bobs = await ledger.charge({ ...asked, principal: 'bob', sharing: true })
      expect(bobs).toMatchObject({ kind: 'shared', shared: { answer: 'x' } })
    },
  },
  {
    name: 'a charge needs a budget, and leaves no trace without one',
    async holds(place) {
      const ledger = await withCensus(place)
      expect(await ledger.charge(question('a', { dataset: 'nowhere' }))).toEqual({ kind: 'no-budget' })
      expect(await ledger.lastDatasetVersion('nowhere')).toBe(0)
      expect(await ledger.entries('nowhere', { limit: 1 })).toEqual([])
      expect((await ledger.charge(question('a'))).kind).toBe('charged')
    },
  },
  ...(
    [
      ['an empty key', { idempotencyKey: '' }],
      ['an empty principal', { principal: '' }],
      ['an empty request', { request: '' }],
      ['a lone surrogate', { request: '\ud800' }],
      ['a NUL', { idempotencyKey: 'a\0b' }],
      ['no lease', { leaseMs: 0 }],
      ['a lease beyond a day', { leaseMs: 86_400_001 }],
      ['an endless lease', { leaseMs: Number.POSITIVE_INFINITY }],
      ['a fraction of a lease', { leaseMs: 0.5 }],
      ['a negative epsilon', { price: { ...basic('0'), epsilonNano: -1n as never } }],
      ['a negative delta', { price: { ...basic('0'), deltaAtto: -1n as never } }],
      ['an epsilon beyond 64 bits', { price: { ...basic('0'), epsilonNano: (1n << 64n) as never } }],
      ['a negative rho', { price: { accounting: 'zcdp', rhoPico: -1n as never } }],
    ] as const
  ).map(
    ([what, changes]): Law => ({
      name: `a charge with ${what} is refused and leaves no trace`,
      async holds(place) {
        const ledger = await withCensus(place)
        await expect(ledger.charge(question('a', changes))).rejects.toThrow(RangeError)
        expect(await ledger.entries('census', { limit: 10 })).toHaveLength(1)
        expect(await spentOf(ledger)).toEqual(basic('0'))
      },
    }),
  ),
]

const ALLOTMENTS: readonly Law[] = [
  {
    name: 'an allotment limits its analyst to the last unit, and nobody else',
    async holds(place) {
      const ledger = await withCensus(place)
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
    },
  },
  {
    name: 'an allotment in rho limits its analyst to what its (epsilon, delta) buys',
    async holds(place) {
      const ledger = await withCensus(place, 'zcdp')
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
  },
  {
    name: "the dataset's cap binds over all analysts together, however large their shares",
    async holds(place) {
      const ledger = await withCensus(place)
      for (const analyst of ['ada', 'bob', 'eve']) await ledger.allot(allotment(analyst, loss('5')))
      const price = basic('0.4')
      expect((await ledger.charge(question('a', { price }))).kind).toBe('charged')
      expect((await ledger.charge(question('a', { price, principal: 'bob' }))).kind).toBe('charged')
      const third = await ledger.charge(question('a', { price, principal: 'eve' }))
      expect(third).toMatchObject({ kind: 'denied', by: 'dataset', analyst: { spent: basic('0') } })
      expect(await spentOf(ledger)).toEqual(basic('0.8'))
    },
  },
  {
    name: 'an allotment is never set below what was spent, may be what was spent, and is lifted again',
    async holds(place) {
      const ledger = await withCensus(place)
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
  },
  ...COUNTED.flatMap(({ accounting, parts }): Law[] => [
    {
      name: `an allotment of nothing is what was spent, until it is lifted, in ${accounting}`,
      async holds(place) {
        const ledger = await withCensus(place, accounting)
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
        // What is under way was paid for.
        expect(await ledger.recordAnswer(chargeId('ada', 'a'), 1, 'x')).toBe(true)
        await place.reopen()
        expect(await place.ledger.charge(least)).toMatchObject({ kind: 'denied', by: 'allotment', analyst })
        expect(await place.ledger.allot(allotment('ada'))).toEqual({ kind: 'allotted', analyst: spending })
        expect((await place.ledger.charge(least)).kind).toBe('charged')
      },
    },
    {
      name: `an allotment of nothing stops who has spent nothing, from sharing too, in ${accounting}`,
      async holds(place) {
        const ledger = await withCensus(place, accounting)
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
    },
    {
      name: `an allotment of nothing counts what was paid for shares, in ${accounting}`,
      async holds(place) {
        const { ledger } = await answeredForAda(place, accounting, parts(4n))
        await ledger.charge(shared('bob', { price: parts(4n) }))
        expect(await ledger.allot(allotment('bob', NO_LOSS))).toMatchObject({
          kind: 'allotted',
          analyst: { allotment: { limit: parts(4n) }, spent: parts(4n), spentOnShared: parts(4n) },
        })
        const own = question('own', { principal: 'bob', price: leastOf(accounting) })
        expect(await ledger.charge(own)).toMatchObject({ kind: 'denied', by: 'allotment' })
      },
    },
  ]),
  {
    name: 'an allotment of either epsilon or delta is not one of nothing',
    async holds(place) {
      const ledger = await withCensus(place)
      await ledger.charge(question('a', { price: basic('0.4', '0.0000001') }))
      for (const granted of [loss('0.000000001'), loss('0', '0.000000000000000001')])
        expect((await ledger.allot(allotment('ada', granted))).kind).toBe('below-spent')
      expect(await ledger.allot(allotment('ada', NO_LOSS))).toMatchObject({
        kind: 'allotted',
        analyst: { allotment: { granted: loss('0.4', '0.0000001'), limit: basic('0.4', '0.0000001') } },
      })
    },
  },
  {
    name: 'an allotment needs a budget, and amounts that can be',
    async holds(place) {
      const ledger = await withCensus(place)
      expect(await ledger.allot({ ...allotment('ada', loss('1')), dataset: 'nowhere' })).toEqual({
        kind: 'no-budget',
      })
      for (const granted of [loss('1000000.000000001'), loss('1', '1')])
        await expect(ledger.allot(allotment('ada', granted))).rejects.toThrow(RangeError)
      for (const changes of [{ analyst: '' }, { reason: '' }, { principal: '\ud800' }])
        await expect(ledger.allot({ ...allotment('ada', loss('1')), ...changes })).rejects.toThrow(RangeError)
      expect(await kindsOf(ledger)).toEqual(['opened'])
      expect((await ledger.head('census'))?.spending).toEqual([])
    },
  },
  {
    name: 'a key that was denied by an allotment says so again, and who asks without one may pay once it is raised',
    async holds(place) {
      const ledger = await withCensus(place)
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
  },
  {
    name: 'the head tells the end of the chain, the balances and who spent what, in order',
    async holds(place) {
      const ledger = await withCensus(place)
      // UTF-16 and UTF-8 put these two in different orders.
      const [drop, halfwidth] = ['💧', '\uff5e']
      await ledger.charge(question('a', { principal: drop }))
      await ledger.charge(question('a', { principal: halfwidth, price: basic('0.2') }))
      await ledger.allot(allotment('ada', loss('0.5')))
      const last = (await historyOf(ledger)).at(-1)
      const head = await ledger.head('census')
      expect(head).toMatchObject({
        sequence: 4,
        hash: last?.hash,
        budget: { granted: loss('1', '0.000001'), cap: basic('1', '0.000001'), spent: basic('0.3') },
      })
      expect(head?.spending[0]).toEqual({
        principal: 'ada',
        allotment: { granted: loss('0.5'), limit: basic('0.5') },
        spent: basic('0'),
        spentOnShared: basic('0'),
      })
      const spent = new Map(head?.spending.map((each) => [each.principal, each.spent]))
      expect(spent.get(drop)).toEqual(basic('0.1'))
      expect(spent.get(halfwidth)).toEqual(basic('0.2'))
      expect(spent.size).toBe(3)
      expect(await ledger.analystSpending('census', 'never')).toEqual({
        principal: 'never',
        spent: basic('0'),
        spentOnShared: basic('0'),
      })
    },
  },
]

/** A question on a dataset whose analysts share: who asks it is who pays. */
const shared = (principal: string, changes: Partial<ChargeRequest> = {}): ChargeRequest =>
  question('the question', { principal, sharing: true, ...changes })

/** `ada` has paid for the question and has the answer `hers`. */
async function answeredForAda(place: Place, accounting: Accounting = 'basic', price = basic('0.1')) {
  const ledger = await withCensus(place, accounting)
  const { id } = chargeOf(await ledger.charge(shared('ada', { price })))
  await ledger.recordAnswer(id, 1, 'hers')
  return { ledger, id }
}

const SHARING: readonly Law[] = [
  ...COUNTED.map(
    ({ accounting, parts }): Law => ({
      name: `a release answers another analyst, who pays for it while the dataset does not, in ${accounting}`,
      async holds(place) {
        const { ledger, id } = await answeredForAda(place, accounting, parts(4n))
        const outcome = await ledger.charge(shared('bob', { price: parts(4n) }))
        if (outcome.kind !== 'shared') throw new Error(`expected a share, not ${outcome.kind}`)
        expect(outcome).toEqual({
          kind: 'shared',
          charge: {
            id: chargeId('bob', 'the question'),
            attempt: 1,
            budget: await ledger.budget('census'),
            analyst: { principal: 'bob', spent: parts(4n), spentOnShared: parts(4n) },
            event: { sequence: 4, hash: (await historyOf(ledger))[3]?.hash },
          },
          shared: { id, dataset: 'census', principal: 'ada', answer: 'hers' },
        })
        expect(await spentOf(ledger)).toEqual(parts(4n))
        expect((await ledger.charge(shared('bob', { price: parts(4n) }))).kind).toBe('in-flight')
        expect(await ledger.recordAnswer(outcome.charge.id, 1, 'hers, for bob')).toBe(true)
        expect(await ledger.charge(shared('bob', { price: parts(4n) }))).toMatchObject({
          kind: 'answered',
          answer: 'hers, for bob',
        })
        // A third gets the release itself, and not what was made of it.
        expect(await ledger.charge(shared('eve', { price: parts(4n) }))).toMatchObject({
          kind: 'shared',
          shared: { id, principal: 'ada', answer: 'hers' },
        })
        expect(await spentOf(ledger)).toEqual(parts(4n))
        const history = await historyOf(ledger)
        expect(history.map(({ kind, principal, price }) => [kind, principal, price])).toEqual([
          ['opened', 'carol', undefined],
          ['charged', 'ada', parts(4n)],
          ['answered', 'ada', undefined],
          ['shared', 'bob', parts(4n)],
          ['answered', 'bob', undefined],
          ['shared', 'eve', parts(4n)],
        ])
        const spending = (await ledger.head('census'))?.spending ?? []
        const sum = spending.reduce((all, { spent }) => addAmounts(all, spent), noAmount(accounting))
        expect(sum).toEqual(parts(12n))
      },
    }),
  ),
  {
    name: 'a key that was chosen asks for a fresh draw',
    async holds(place) {
      const { ledger } = await answeredForAda(place)
      const fresh = await ledger.charge(shared('bob', { idempotencyKey: 'mine', keyChosen: true }))
      expect(chargeOf(fresh).analyst).toEqual({
        principal: 'bob',
        spent: basic('0.1'),
        spentOnShared: basic('0'),
      })
      expect(await spentOf(ledger)).toEqual(basic('0.2'))
    },
  },
  ...COUNTED.map(
    ({ accounting, parts }): Law => ({
      name: `nobody shares with themselves: beside a draw of one's own a question is charged afresh, in ${accounting}`,
      async holds(place) {
        const ledger = await withCensus(place, accounting)
        const price = parts(2n)
        const drawn = shared('ada', { idempotencyKey: 'mine', keyChosen: true, price })
        const { id } = chargeOf(await ledger.charge(drawn))
        await ledger.recordAnswer(id, 1, 'drawn')
        const fresh = chargeOf(await ledger.charge(shared('ada', { price })))
        expect(fresh).toMatchObject({
          attempt: 1,
          budget: { spent: parts(4n) },
          analyst: { spent: parts(4n), spentOnShared: noAmount(accounting) },
        })
        await receiptIsOf(ledger, fresh.event, 'charged')
        await ledger.recordFailure(fresh.id, 1)
        expect(chargeOf(await ledger.charge(shared('ada', { price }))).attempt).toBe(2)
        expect(await ledger.recordAnswer(fresh.id, 2, 'fresh')).toBe(true)
        // To others it is the first release all the same.
        expect(await ledger.charge(shared('bob', { price }))).toMatchObject({
          kind: 'shared',
          shared: { id, principal: 'ada', answer: 'drawn' },
        })
        expect(await spentOf(ledger)).toEqual(parts(4n))
      },
    }),
  ),
  {
    name: "a release of one's own does not get around what is left of the dataset",
    async holds(place) {
      const ledger = await withCensus(place)
      const price = basic('0.6')
      const drawn = shared('ada', { idempotencyKey: 'mine', keyChosen: true, price })
      const { id } = chargeOf(await ledger.charge(drawn))
      await ledger.recordAnswer(id, 1, 'drawn')
      expect(await ledger.charge(shared('ada', { price }))).toMatchObject({ kind: 'denied', by: 'dataset' })
      expect((await ledger.charge(shared('bob', { price }))).kind).toBe('shared')
      await ledger.grant('census', loss('0.2'), 'carol', 'more')
      const fresh = chargeOf(await ledger.charge(shared('ada', { price })))
      expect(fresh).toMatchObject({ budget: { spent: basic('1.2') }, analyst: { spentOnShared: basic('0') } })
    },
  },
  {
    name: 'nothing is shared where the dataset does not, neither into it nor out of it',
    async holds(place) {
      const { ledger } = await answeredForAda(place)
      const alone = question('alone')
      await ledger.charge(alone)
      await ledger.recordAnswer(chargeId('ada', 'alone'), 1, 'hers alone')
      expect((await ledger.charge(shared('bob', { sharing: false }))).kind).toBe('charged')
      expect((await ledger.charge({ ...alone, principal: 'bob', sharing: true })).kind).toBe('charged')
      expect(await spentOf(ledger)).toEqual(basic('0.4'))
    },
  },
  {
    name: 'another version of the dataset is another question, and so is another dataset',
    async holds(place) {
      const { ledger } = await answeredForAda(place)
      await ledger.openBudget('other', summed('1'), 'carol')
      const later = shared('bob', { datasetVersion: '2', requestHash: 'hash with version 2' })
      expect((await ledger.charge(later)).kind).toBe('charged')
      const elsewhere = shared('eve', { dataset: 'other' })
      expect((await ledger.charge(elsewhere)).kind).toBe('charged')
      expect(await spentOf(ledger)).toEqual(basic('0.2'))
      expect(await spentOf(ledger, 'other')).toEqual(basic('0.1'))
    },
  },
  {
    name: 'only an answer is shared: not a charge under way, a failed one, or a denied one',
    async holds(place) {
      const ledger = await withCensus(place)
      await ledger.charge(shared('ada'))
      expect((await ledger.charge(shared('bob'))).kind).toBe('charged')
      await ledger.recordFailure(chargeId('bob', 'the question'), 1)
      expect((await ledger.charge(shared('eve'))).kind).toBe('charged')
      const dear = { requestHash: 'dear', idempotencyKey: 'dear', price: basic('5') }
      expect((await ledger.charge(shared('ada', dear))).kind).toBe('denied')
      expect((await ledger.charge(shared('bob', dear))).kind).toBe('denied')
      expect(await spentOf(ledger)).toEqual(basic('0.3'))
    },
  },
  {
    name: 'what is shared is the first release, whoever asked first',
    async holds(place) {
      const ledger = await withCensus(place)
      const [ada, bob] = ['ada', 'bob'].map((name) => chargeId(name, 'the question'))
      await ledger.charge(shared('ada'))
      await ledger.charge(shared('bob'))
      await ledger.recordAnswer(bob ?? '', 1, 'his')
      await ledger.recordAnswer(ada ?? '', 1, 'hers')
      const own = await ledger.charge(shared('bob', { idempotencyKey: 'again', keyChosen: true }))
      await ledger.recordAnswer(chargeOf(own).id, 1, 'his second')
      for (const principal of ['eve', 'fay'])
        expect(await ledger.charge(shared(principal))).toMatchObject({
          kind: 'shared',
          shared: { id: bob, answer: 'his' },
        })
      expect(await spentOf(ledger)).toEqual(basic('0.3'))
    },
  },
  {
    name: 'a share that failed or lapsed goes on as a share, and is debited once',
    async holds(place) {
      const { clock } = place
      const { ledger, id } = await answeredForAda(place)
      await ledger.charge(shared('bob'))
      await ledger.recordFailure(chargeId('bob', 'the question'), 1)
      for (const [attempt, changes] of [
        [2, {}],
        [3, { keyChosen: true }],
        [4, { sharing: false }],
      ] as const) {
        const outcome = await ledger.charge(shared('bob', changes))
        expect(outcome).toMatchObject({
          kind: 'shared',
          charge: { attempt, analyst: { spent: basic('0.1'), spentOnShared: basic('0.1') } },
          shared: { id, answer: 'hers' },
        })
        if (outcome.kind === 'shared') await receiptIsOf(ledger, outcome.charge.event, 'retried')
        clock.ms += 1_000
      }
      await place.reopen()
      expect(await place.ledger.charge(shared('bob'))).toMatchObject({
        kind: 'shared',
        charge: { attempt: 5 },
      })
      expect(await place.ledger.recordAnswer(chargeId('bob', 'the question'), 4, 'late')).toBe(false)
      expect(await place.ledger.recordAnswer(chargeId('bob', 'the question'), 5, 'hers too')).toBe(true)
      expect(await spentOf(place.ledger)).toEqual(basic('0.1'))
    },
  },
  {
    name: 'a share is held against the allotment, and not against what is left of the dataset',
    async holds(place) {
      const { ledger } = await answeredForAda(place, 'basic', basic('1'))
      await ledger.allot(allotment('bob', loss('0.999999999')))
      const asked = shared('bob', { price: basic('1') })
      expect(await ledger.charge(asked)).toMatchObject({
        kind: 'denied',
        by: 'allotment',
        analyst: { spent: basic('0'), spentOnShared: basic('0') },
      })
      await ledger.allot(allotment('bob', loss('1')))
      expect((await ledger.charge(asked)).kind).toBe('shared')
      expect((await ledger.charge(shared('eve', { price: basic('1') }))).kind).toBe('shared')
      const fresh = shared('eve', { idempotencyKey: 'fresh', keyChosen: true })
      expect(await ledger.charge(fresh)).toMatchObject({ kind: 'denied', by: 'dataset' })
    },
  },
  {
    name: "without an allotment, shares too stay within the dataset's cap",
    async holds(place) {
      const { ledger } = await answeredForAda(place, 'basic', basic('0.6'))
      const second = { idempotencyKey: 'second', requestHash: 'second', price: basic('0.4') }
      await ledger.charge(shared('ada', second))
      await ledger.recordAnswer(chargeId('ada', 'second'), 1, 'x')
      await ledger.charge(shared('bob', { price: basic('0.6') }))
      expect((await ledger.charge(shared('bob', { ...second, price: basic('0.400000001') }))).kind).toBe(
        'denied',
      )
      expect((await ledger.charge(shared('eve', second))).kind).toBe('shared')
      expect((await ledger.charge(shared('bob', { ...second, price: basic('0.4') }))).kind).toBe('shared')
    },
  },
  {
    name: 'an allotment counts what was paid for shares, and is never set below it',
    async holds(place) {
      const { ledger } = await answeredForAda(place)
      await ledger.charge(shared('bob'))
      expect((await ledger.allot(allotment('bob', loss('0.099999999')))).kind).toBe('below-spent')
      expect((await ledger.allot(allotment('bob', loss('0.15')))).kind).toBe('allotted')
      const own = question('own', { principal: 'bob' })
      expect(await ledger.charge(own)).toMatchObject({ kind: 'denied', by: 'allotment' })
    },
  },
]

const HISTORY: readonly Law[] = [
  {
    name: 'the history tells every event, newest first, page by page',
    async holds(place) {
      const { clock } = place
      const ledger = await withCensus(place)
      const { id } = chargeOf(await ledger.charge(question('a')))
      clock.ms += 5_000
      await ledger.charge(question('a'))
      await ledger.recordFailure(id, 2)
      await ledger.charge(question('a'))
      await ledger.recordAnswer(id, 3, 'x')
      await ledger.charge(question('b', { principal: 'bob', price: basic('5') }))
      const all = await ledger.entries('census', { limit: 100 })
      expect(all.map(({ sequence, kind, principal }) => [sequence, kind, principal])).toEqual([
        [7, 'denied', 'bob'],
        [6, 'answered', 'ada'],
        [5, 'retried', 'ada'],
        [4, 'failed', 'ada'],
        [3, 'retried', 'ada'],
        [2, 'charged', 'ada'],
        [1, 'opened', 'carol'],
      ])
      expect(all.filter(({ price }) => price !== undefined).map(({ kind }) => kind)).toEqual([
        'denied',
        'charged',
      ])
      expect(all[5]).toEqual({
        sequence: 2,
        dataset: 'census',
        kind: 'charged',
        at: '2026-01-01T00:00:00.000Z',
        principal: 'ada',
        chargeId: id,
        price: basic('0.1'),
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      })
      const paged = []
      let beforeSequence: number | undefined
      for (;;) {
        const page = await ledger.entries('census', {
          limit: 2,
          ...(beforeSequence !== undefined && { beforeSequence }),
        })
        paged.push(...page)
        beforeSequence = page.at(-1)?.sequence
        if (beforeSequence === undefined) break
      }
      expect(paged).toEqual(all)
      const sequences = async (page: Parameters<Ledger['entries']>[1]) =>
        (await ledger.entries('census', page)).map(({ sequence }) => sequence)
      expect(await sequences({ limit: 100, principal: 'bob' })).toEqual([7])
      expect(await sequences({ limit: 2, principal: 'ada', beforeSequence: 6 })).toEqual([5, 4])
      expect(await sequences({ limit: 2, principal: 'nobody' })).toEqual([])
      const stored = await ledger.events('census', { limit: 1_000, afterSequence: 0 })
      expect(stored.map(({ hash }) => hash)).toEqual(all.map(({ hash }) => hash).reverse())
      expect(await ledger.events('census', { limit: 2, afterSequence: 3 })).toEqual(stored.slice(3, 5))
      expect(await ledger.events('census', { limit: 2, afterSequence: 7 })).toEqual([])
      for (const page of [
        { limit: 0 },
        { limit: 1.5 },
        { limit: 1_001 },
        { limit: 1, beforeSequence: Number.NaN },
      ])
        await expect(ledger.entries('census', page)).rejects.toThrow(RangeError)
      for (const page of [
        { limit: 0, afterSequence: 0 },
        { limit: 1, afterSequence: -1 },
      ])
        await expect(ledger.events('census', page)).rejects.toThrow(RangeError)
    },
  },
  {
    name: 'each dataset has its own chain, whose events follow each other from the first',
    async holds(place) {
      const ledger = await withCensus(place)
      await ledger.openBudget('other', summed('3'), 'carol')
      for (const key of ['a', 'b', 'c']) {
        const { id } = chargeOf(await ledger.charge(question(key)))
        await ledger.charge(question(key, { principal: 'bob', dataset: 'other' }))
        await ledger.recordAnswer(id, 1, key)
      }
      expect(await kindsOf(ledger, 'other')).toEqual(['opened', 'charged', 'charged', 'charged'])
      for (const dataset of ['census', 'other']) {
        const sequences = (await historyOf(ledger, dataset)).map(({ sequence }) => sequence)
        expect(sequences).toEqual(sequences.map((_, index) => index + 1))
      }
    },
  },
  {
    // All else in an event is public or soon guessed: a hash would tell who guesses that they are right.
    name: 'each event has a random salt of its own, which readers of the history do not see',
    async holds(place) {
      const ledger = await withCensus(place)
      const charges = await Promise.all(['a', 'b'].map((key) => ledger.charge(question(key))))
      for (const { id } of charges.map(chargeOf)) await ledger.recordAnswer(id, 1, 'x')
      const events = await ledger.events('census', { limit: 10, afterSequence: 0 })
      const salts = events.map(({ canonical }): LedgerEvent => JSON.parse(canonical)).map(({ salt }) => salt)
      // RFC 9562, version 4: 122 random bits.
      for (const salt of salts)
        expect(salt).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(new Set(salts).size).toBe(5)
      const shown = JSON.stringify([await historyOf(ledger), charges], (_, each) =>
        typeof each === 'bigint' ? String(each) : each,
      )
      for (const salt of salts) expect(shown).not.toContain(salt)
    },
  },
  {
    name: 'the clock may stand still, run back and forth: the sequence says what came first',
    async holds(place) {
      const { clock } = place
      const ledger = await withCensus(place)
      for (const [key, shift] of [
        ['a', -86_400_000],
        ['b', 172_800_000],
        ['c', 0],
      ] as const) {
        clock.ms += shift
        expect((await ledger.charge(question(key))).kind).toBe('charged')
      }
      const times = (await historyOf(ledger)).map(({ at }) => at.slice(0, 10))
      expect(times).toEqual(['2026-01-01', '2025-12-31', '2026-01-02', '2026-01-02'])
    },
  },
  {
    name: 'the version of a dataset that was last charged under is known',
    async holds(place) {
      const ledger = await withCensus(place)
      for (const [key, datasetVersion] of [
        ['a', '9'],
        ['b', '10'],
        ['c', '2'],
      ] as const)
        await ledger.charge(question(key, { datasetVersion }))
      expect(await ledger.lastDatasetVersion('census')).toBe(10)
      expect(await ledger.healthy()).toBe(true)
    },
  },
]

const TOGETHER: readonly Law[] = [
  {
    name: 'of 400 charges of 10 asked together, exactly 100 go into a cap of 1000',
    async holds({ ledger }) {
      await ledger.openBudget('census', summed('1000'), 'carol')
      const outcomes = await Promise.all(
        Array.from({ length: 400 }, (_, index) =>
          ledger.charge(question(`q${index}`, { price: basic('10'), principal: `analyst ${index % 7}` })),
        ),
      )
      expect(outcomes.filter(({ kind }) => kind === 'charged')).toHaveLength(100)
      expect(outcomes.filter(({ kind }) => kind === 'denied')).toHaveLength(300)
      expect((await ledger.budget('census'))?.spent).toEqual(basic('1000'))
    },
  },
  {
    name: 'one key asked for many times together is one charge',
    async holds(place) {
      const ledger = await withCensus(place)
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => ledger.charge(question('a'))))
      const kinds = outcomes.map(({ kind }) => kind).sort()
      expect(kinds).toEqual(['charged', ...Array.from({ length: 19 }, () => 'in-flight')])
      const recorded = await Promise.all(
        ['x', 'y', 'z'].map((answer) => ledger.recordAnswer(chargeId('ada', 'a'), 1, answer)),
      )
      expect(recorded.filter((each) => each)).toHaveLength(1)
      expect(await spentOf(ledger)).toEqual(basic('0.1'))
    },
  },
  {
    name: 'calls of many datasets and analysts asked together all take effect',
    async holds({ ledger }) {
      const datasets = Array.from({ length: 10 }, (_, index) => `d${index}`)
      await Promise.all(datasets.map((dataset) => ledger.openBudget(dataset, summed('1'), 'carol')))
      const asked = datasets.flatMap((dataset) =>
        ['ada', 'bob', 'eve'].map((principal) =>
          question(`of ${dataset}`, { dataset, principal, sharing: true }),
        ),
      )
      const charges = (await Promise.all(asked.map((each) => ledger.charge(each)))).map(chargeOf)
      await Promise.all([
        ...charges.map(({ id }) => ledger.recordAnswer(id, 1, id)),
        ...datasets.map((dataset) => ledger.grant(dataset, loss('1'), 'carol', 'more')),
      ])
      for (const dataset of datasets) expect(await spentOf(ledger, dataset)).toEqual(basic('0.3'))
      const [first] = await Promise.all(datasets.map((dataset) => ledger.head(dataset)))
      expect(first?.sequence).toBe(8)
    },
  },
  {
    name: 'a call that is refused does not touch those asked with it',
    async holds(place) {
      const ledger = await withCensus(place)
      const settled = await Promise.allSettled([
        ledger.charge(question('a')),
        ledger.charge(question('b', { leaseMs: -1 })),
        ledger.grant('census', loss('1000000'), 'carol', 'too much'),
        ledger.charge(question('a')),
        ledger.budget('census'),
        ledger.charge(question('c')),
      ])
      expect(settled.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'rejected',
        'fulfilled',
        'fulfilled',
        'fulfilled',
      ])
      for (const each of settled)
        if (each.status === 'rejected') expect(each.reason).toBeInstanceOf(RangeError)
      expect(await spentOf(ledger)).toEqual(basic('0.2'))
    },
  },
  {
    name: 'everything is there again after a restart',
    async holds(place) {
      const ledger = await withCensus(place)
      const { id } = chargeOf(await ledger.charge(question('a')))
      await ledger.recordAnswer(id, 1, 'an answer')
      await ledger.charge(question('b'))
      await ledger.allot(allotment('bob', loss('0.05')))
      const head = await ledger.head('census')
      await place.reopen()
      expect(await place.ledger.head('census')).toEqual(head)
      expect(await place.ledger.charge(question('a'))).toMatchObject({
        kind: 'answered',
        answer: 'an answer',
      })
      expect(await place.ledger.charge(question('b'))).toMatchObject({
        kind: 'charged',
        charge: { attempt: 2 },
      })
      expect((await place.ledger.charge(question('c', { principal: 'bob' }))).kind).toBe('denied')
      expect(await spentOf(place.ledger)).toEqual(basic('0.2'))
    },
  },
]

/** All laws of budgets, charges, allotments and sharing; those of sessions are in `session-laws.ts`. */
export const LEDGER_LAWS: readonly Law[] = [
  ...BUDGETS,
  ...CHARGES,
  ...ALLOTMENTS,
  ...SHARING,
  ...HISTORY,
  ...TOGETHER,
]
