import { expect } from 'vitest'
import { chargeId } from '../../../../src/ledger/canonical.ts'
import type { ChargeRequest } from '../../../../src/ledger/contract/charges.ts'
import { noAmount } from '../../../../src/privacy/accounting.ts'
import { NO_LOSS } from '../../../../src/privacy/loss.ts'
import { basic, chargeOf, historyOf, loss, question, requestOf, rho, summed } from '../../support.ts'
import {
  COUNTED,
  type ContractTest,
  contractTest,
  expectReceipt,
  kindsOf,
  spentOf,
  withCensus,
} from '../contract-test.ts'

/** Requirements on charges, their keys and their leases. */
export const CHARGES: readonly ContractTest[] = [
  ...COUNTED.flatMap(({ accounting, parts }): ContractTest[] => [
    contractTest(
      `ten charges of a tenth of the cap succeed and the eleventh is denied, in ${accounting}`,
      async (fixture) => {
        const ledger = await withCensus(fixture, accounting)
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
    ),
    contractTest(
      `a charge is identified by principal and key and returns the balances, in ${accounting}`,
      async (fixture) => {
        const ledger = await withCensus(fixture, accounting)
        const charge = chargeOf(await ledger.charge(question('a', { price: parts(1n) })))
        const budget = await ledger.budget('census')
        expect(charge).toEqual({
          id: chargeId('ada', 'a'),
          attempt: 1,
          budget,
          analyst: { principal: 'ada', spent: parts(1n), spentOnShared: noAmount(accounting) },
          debitedAtMs: fixture.clock.ms,
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
    ),
    contractTest(
      `a charge that failed or whose lease expired is retried at no cost, in ${accounting}`,
      async (fixture) => {
        const { clock } = fixture
        const ledger = await withCensus(fixture, accounting)
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
        await expectReceipt(ledger, third.event, 'retried')
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
    ),
    contractTest(`a charge of 0 is recorded, in ${accounting}`, async ({ ledger }) => {
      await ledger.openBudget('census', { accounting, neighbours: 'add-remove', granted: NO_LOSS }, 'carol')
      const free = question('a', { price: noAmount(accounting) })
      expect((await ledger.charge(free)).kind).toBe('charged')
      expect((await ledger.charge(question('b', { price: parts(1n) }))).kind).toBe('denied')
    }),
  ]),
  contractTest(
    'a charge is in flight until its lease expires, then belongs to the next attempt',
    async (fixture) => {
      const { clock } = fixture
      const ledger = await withCensus(fixture)
      const first = chargeOf(await ledger.charge(question('a')))
      clock.ms += 400
      expect(await ledger.charge(question('a'))).toEqual({ kind: 'in-flight', retryAfterMs: 600 })
      clock.ms += 599
      expect(await ledger.charge(question('a'))).toEqual({ kind: 'in-flight', retryAfterMs: 1 })
      clock.ms += 1
      const second = chargeOf(await ledger.charge(question('a', { datasetVersion: '2' })))
      expect(second).toEqual({ ...first, attempt: 2, event: second.event })
      await expectReceipt(ledger, first.event, 'charged')
      await expectReceipt(ledger, second.event, 'retried')
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
  ),
  contractTest('a clock that is set back does not extend a lease', async (fixture) => {
    const { clock } = fixture
    const ledger = await withCensus(fixture)
    await ledger.charge(question('a'))
    clock.ms -= 3_600_000
    expect(chargeOf(await ledger.charge(question('a'))).attempt).toBe(2)
    clock.ms += 7_200_000
    expect(chargeOf(await ledger.charge(question('a'))).attempt).toBe(3)
    expect(await ledger.recordAnswer(chargeId('ada', 'a'), 3, 'x')).toBe(true)
    clock.ms -= 7_200_000
    expect((await ledger.charge(question('a'))).kind).toBe('answered')
    expect(await spentOf(ledger)).toEqual(basic('0.1'))
  }),
  contractTest(
    'a key is refused for another request or dataset, and for another price until it is answered',
    async (fixture) => {
      const ledger = await withCensus(fixture)
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
  ),
  contractTest(
    'a new debit is made within the span of its request, and a charge that has no answer stays open after it',
    async (fixture) => {
      const { clock } = fixture
      const ledger = await withCensus(fixture)
      const start = clock.ms
      const within = { fromMs: start, untilMs: start + 10 }
      clock.ms = start - 1
      expect(await ledger.charge(question('a', { within }))).toEqual({ kind: 'other-time', nowMs: clock.ms })
      clock.ms = start + 10
      expect(await ledger.charge(question('a', { within }))).toEqual({ kind: 'other-time', nowMs: clock.ms })
      expect(await spentOf(ledger)).toEqual(basic('0'))
      clock.ms = start + 9
      const { id, debitedAtMs } = chargeOf(await ledger.charge(question('a', { within })))
      expect(debitedAtMs).toBe(start + 9)
      expect(await ledger.unansweredRequests([id, 'none'])).toEqual(new Map([[id, requestOf('a')]]))
      await ledger.recordFailure(id, 1)
      clock.ms = start + 5_000
      expect(await ledger.unansweredRequests([id])).toEqual(new Map([[id, requestOf('a')]]))
      expect(chargeOf(await ledger.charge(question('a', { within })))).toMatchObject({
        attempt: 2,
        debitedAtMs,
      })
      await ledger.recordAnswer(id, 2, 'answer')
      expect(await ledger.unansweredRequests([id])).toEqual(new Map())
      expect((await ledger.charge(question('a', { within }))).kind).toBe('answered')
    },
  ),
  contractTest('the debit of a request that was denied before has its own time', async (fixture) => {
    const { clock } = fixture
    const ledger = await withCensus(fixture)
    expect((await ledger.charge(question('a', { price: basic('2') }))).kind).toBe('denied')
    clock.ms += 1_000
    await ledger.grant('census', loss('1'), 'carol', 'more')
    const { id, debitedAtMs } = chargeOf(await ledger.charge(question('a', { price: basic('2') })))
    expect(debitedAtMs).toBe(clock.ms)
    await ledger.recordFailure(id, 1)
    clock.ms += 1_000
    expect(chargeOf(await ledger.charge(question('a', { price: basic('2') })))).toMatchObject({
      attempt: 2,
      debitedAtMs,
    })
  }),
  contractTest('a charge without a budget has no effect', async (fixture) => {
    const ledger = await withCensus(fixture)
    expect(await ledger.charge(question('a', { dataset: 'nowhere' }))).toEqual({ kind: 'no-budget' })
    expect(await ledger.lastDatasetVersion('nowhere')).toBe(0)
    expect(await ledger.entries('nowhere', { limit: 1 })).toEqual([])
    expect((await ledger.charge(question('a'))).kind).toBe('charged')
  }),
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
    ([what, changes]): ContractTest => ({
      name: `a charge with ${what} is refused and has no effect`,
      async run(fixture) {
        const ledger = await withCensus(fixture)
        await expect(ledger.charge(question('a', changes))).rejects.toThrow(RangeError)
        expect(await ledger.entries('census', { limit: 10 })).toHaveLength(1)
        expect(await spentOf(ledger)).toEqual(basic('0'))
      },
    }),
  ),
]
