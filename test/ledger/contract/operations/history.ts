import { expect } from 'vitest'
import { chargeId, sha256 } from '../../../../src/ledger/canonical.ts'
import type { LedgerEvent } from '../../../../src/ledger/event.ts'
import type { Ledger } from '../../../../src/ledger/ledger.ts'
import { countCharges } from '../../../../src/ledger/verification.ts'
import { basic, chargeOf, historyOf, loss, question, summed } from '../../support.ts'
import { allotment, type ContractTest, contractTest, kindsOf, withCensus } from '../contract-test.ts'
import { withSession } from './sessions.ts'

/** Requirements on events, heads and records. */
export const HISTORY: readonly ContractTest[] = [
  contractTest('the history lists every event, newest first, in pages', async (fixture) => {
    const { clock } = fixture
    const ledger = await withCensus(fixture)
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
  }),
  contractTest('each dataset has its own chain without gaps', async (fixture) => {
    const ledger = await withCensus(fixture)
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
  }),
  {
    // All other fields of an event are public or easy to guess, so without a salt a hash would confirm a guess.
    name: 'each event has a random salt that the history does not show',
    async run(fixture) {
      const ledger = await withCensus(fixture)
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
  contractTest(
    'the sequence orders events even if the clock stands still or is set back',
    async (fixture) => {
      const { clock } = fixture
      const ledger = await withCensus(fixture)
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
  ),
  contractTest('the last charged version of a dataset is known', async (fixture) => {
    const ledger = await withCensus(fixture)
    for (const [key, datasetVersion] of [
      ['a', '9'],
      ['b', '10'],
      ['c', '2'],
    ] as const)
      await ledger.charge(question(key, { datasetVersion }))
    expect(await ledger.lastDatasetVersion('census')).toBe(10)
    expect(await ledger.healthy()).toBe(true)
  }),
  contractTest(
    'the head has the end of the chain, the balances and the spending per analyst',
    async (fixture) => {
      const ledger = await withCensus(fixture)
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
  ),
  contractTest('charge records have the stored charges and the hashes of their answers', async (fixture) => {
    const ledger = await withSession(fixture)
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
    expect(await countCharges(ledger)).toEqual(
      new Map([
        ['census', 5],
        ['survey', 1],
      ]),
    )
  }),
]
