import { expect } from 'vitest'
import { chargeId } from '../../../../src/ledger/canonical.ts'
import { addAmounts, noAmount } from '../../../../src/privacy/accounting.ts'
import { basic, chargeOf, historyOf, loss, question, summed } from '../../support.ts'
import {
  allotment,
  answeredForAda,
  COUNTED,
  type ContractTest,
  contractTest,
  expectReceipt,
  shared,
  spentOf,
  withCensus,
} from '../contract-test.ts'

/** Requirements on releases that analysts share. */
export const SHARING: readonly ContractTest[] = [
  ...COUNTED.map(
    ({ accounting, parts }): ContractTest => ({
      name: `a shared release debits the analyst and not the dataset, in ${accounting}`,
      async run(fixture) {
        const { ledger, id } = await answeredForAda(fixture, accounting, parts(4n))
        const outcome = await ledger.charge(shared('bob', { price: parts(4n) }))
        if (outcome.kind !== 'shared') throw new Error(`expected a share, not ${outcome.kind}`)
        expect(outcome).toEqual({
          kind: 'shared',
          charge: {
            id: chargeId('bob', 'the question'),
            attempt: 1,
            budget: await ledger.budget('census'),
            analyst: { principal: 'bob', spent: parts(4n), spentOnShared: parts(4n) },
            debitedAtMs: fixture.clock.ms,
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
        // A third analyst gets the original release, not the second one's document.
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
  contractTest('a chosen key gets fresh noise', async (fixture) => {
    const { ledger } = await answeredForAda(fixture)
    const fresh = await ledger.charge(shared('bob', { idempotencyKey: 'mine', keyChosen: true }))
    expect(chargeOf(fresh).analyst).toEqual({
      principal: 'bob',
      spent: basic('0.1'),
      spentOnShared: basic('0'),
    })
    expect(await spentOf(ledger)).toEqual(basic('0.2'))
  }),
  ...COUNTED.map(
    ({ accounting, parts }): ContractTest => ({
      name: `a release is not shared with its own analyst, who is charged again, in ${accounting}`,
      async run(fixture) {
        const ledger = await withCensus(fixture, accounting)
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
        await expectReceipt(ledger, fresh.event, 'charged')
        await ledger.recordFailure(fresh.id, 1)
        expect(chargeOf(await ledger.charge(shared('ada', { price }))).attempt).toBe(2)
        expect(await ledger.recordAnswer(fresh.id, 2, 'fresh')).toBe(true)
        // Other analysts still get the first release.
        expect(await ledger.charge(shared('bob', { price }))).toMatchObject({
          kind: 'shared',
          shared: { id, principal: 'ada', answer: 'drawn' },
        })
        expect(await spentOf(ledger)).toEqual(parts(4n))
      },
    }),
  ),
  contractTest("an analyst's own release does not bypass the dataset's remaining budget", async (fixture) => {
    const ledger = await withCensus(fixture)
    const price = basic('0.6')
    const drawn = shared('ada', { idempotencyKey: 'mine', keyChosen: true, price })
    const { id } = chargeOf(await ledger.charge(drawn))
    await ledger.recordAnswer(id, 1, 'drawn')
    expect(await ledger.charge(shared('ada', { price }))).toMatchObject({ kind: 'denied', by: 'dataset' })
    expect((await ledger.charge(shared('bob', { price }))).kind).toBe('shared')
    await ledger.grant('census', loss('0.2'), 'carol', 'more')
    const fresh = chargeOf(await ledger.charge(shared('ada', { price })))
    expect(fresh).toMatchObject({ budget: { spent: basic('1.2') }, analyst: { spentOnShared: basic('0') } })
  }),
  contractTest('nothing is shared if either request has sharing disabled', async (fixture) => {
    const { ledger } = await answeredForAda(fixture)
    const alone = question('alone')
    await ledger.charge(alone)
    await ledger.recordAnswer(chargeId('ada', 'alone'), 1, 'hers alone')
    expect((await ledger.charge(shared('bob', { sharing: false }))).kind).toBe('charged')
    expect((await ledger.charge({ ...alone, principal: 'bob', sharing: true })).kind).toBe('charged')
    expect(await spentOf(ledger)).toEqual(basic('0.4'))
  }),
  contractTest('a release is not shared across dataset versions or datasets', async (fixture) => {
    const { ledger } = await answeredForAda(fixture)
    await ledger.openBudget('other', summed('1'), 'carol')
    const later = shared('bob', { datasetVersion: '2', requestHash: 'hash with version 2' })
    expect((await ledger.charge(later)).kind).toBe('charged')
    const elsewhere = shared('eve', { dataset: 'other' })
    expect((await ledger.charge(elsewhere)).kind).toBe('charged')
    expect(await spentOf(ledger)).toEqual(basic('0.2'))
    expect(await spentOf(ledger, 'other')).toEqual(basic('0.1'))
  }),
  contractTest('only an answered charge is shared, not one under way, failed or denied', async (fixture) => {
    const ledger = await withCensus(fixture)
    await ledger.charge(shared('ada'))
    expect((await ledger.charge(shared('bob'))).kind).toBe('charged')
    await ledger.recordFailure(chargeId('bob', 'the question'), 1)
    expect((await ledger.charge(shared('eve'))).kind).toBe('charged')
    const dear = { requestHash: 'dear', idempotencyKey: 'dear', price: basic('5') }
    expect((await ledger.charge(shared('ada', dear))).kind).toBe('denied')
    expect((await ledger.charge(shared('bob', dear))).kind).toBe('denied')
    expect(await spentOf(ledger)).toEqual(basic('0.3'))
  }),
  contractTest(
    'the release recorded first is shared, even if another was requested first',
    async (fixture) => {
      const ledger = await withCensus(fixture)
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
  ),
  contractTest(
    'a share that failed or whose lease expired remains a share and is debited once',
    async (fixture) => {
      const { clock } = fixture
      const { ledger, id } = await answeredForAda(fixture)
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
        if (outcome.kind === 'shared') await expectReceipt(ledger, outcome.charge.event, 'retried')
        clock.ms += 1_000
      }
      await fixture.reopen()
      expect(await fixture.ledger.charge(shared('bob'))).toMatchObject({
        kind: 'shared',
        charge: { attempt: 5 },
      })
      expect(await fixture.ledger.recordAnswer(chargeId('bob', 'the question'), 4, 'late')).toBe(false)
      expect(await fixture.ledger.recordAnswer(chargeId('bob', 'the question'), 5, 'hers too')).toBe(true)
      expect(await spentOf(fixture.ledger)).toEqual(basic('0.1'))
    },
  ),
  contractTest(
    "a share is limited by the allotment and not by the dataset's remaining budget",
    async (fixture) => {
      const { ledger } = await answeredForAda(fixture, 'basic', basic('1'))
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
  ),
  contractTest("without an allotment the dataset's cap limits shares too", async (fixture) => {
    const { ledger } = await answeredForAda(fixture, 'basic', basic('0.6'))
    const second = { idempotencyKey: 'second', requestHash: 'second', price: basic('0.4') }
    await ledger.charge(shared('ada', second))
    await ledger.recordAnswer(chargeId('ada', 'second'), 1, 'x')
    await ledger.charge(shared('bob', { price: basic('0.6') }))
    expect((await ledger.charge(shared('bob', { ...second, price: basic('0.400000001') }))).kind).toBe(
      'denied',
    )
    expect((await ledger.charge(shared('eve', second))).kind).toBe('shared')
    expect((await ledger.charge(shared('bob', { ...second, price: basic('0.4') }))).kind).toBe('shared')
  }),
  contractTest('an allotment includes spending on shares and cannot be set below it', async (fixture) => {
    const { ledger } = await answeredForAda(fixture)
    await ledger.charge(shared('bob'))
    expect((await ledger.allot(allotment('bob', loss('0.099999999')))).kind).toBe('below-spent')
    expect((await ledger.allot(allotment('bob', loss('0.15')))).kind).toBe('allotted')
    const own = question('own', { principal: 'bob' })
    expect(await ledger.charge(own)).toMatchObject({ kind: 'denied', by: 'allotment' })
  }),
]
