import { expect } from 'vitest'
import { chargeId } from '../../../src/ledger/canonical.ts'
import { basic, chargeOf, loss, question, summed } from '../support.ts'
import { allotment, type ContractTest, contractTest, spentOf, withCensus } from './contract-test.ts'

/** Requirements on concurrent calls and on restarts. */
export const CONCURRENCY: readonly ContractTest[] = [
  contractTest('of 400 concurrent charges of 10, exactly 100 fit into a cap of 1000', async ({ ledger }) => {
    await ledger.openBudget('census', summed('1000'), 'carol')
    const outcomes = await Promise.all(
      Array.from({ length: 400 }, (_, index) =>
        ledger.charge(question(`q${index}`, { price: basic('10'), principal: `analyst ${index % 7}` })),
      ),
    )
    expect(outcomes.filter(({ kind }) => kind === 'charged')).toHaveLength(100)
    expect(outcomes.filter(({ kind }) => kind === 'denied')).toHaveLength(300)
    expect((await ledger.budget('census'))?.spent).toEqual(basic('1000'))
  }),
  contractTest('concurrent requests with one key are one charge', async (fixture) => {
    const ledger = await withCensus(fixture)
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => ledger.charge(question('a'))))
    const kinds = outcomes.map(({ kind }) => kind).sort()
    expect(kinds).toEqual(['charged', ...Array.from({ length: 19 }, () => 'in-flight')])
    const recorded = await Promise.all(
      ['x', 'y', 'z'].map((answer) => ledger.recordAnswer(chargeId('ada', 'a'), 1, answer)),
    )
    expect(recorded.filter((each) => each)).toHaveLength(1)
    expect(await spentOf(ledger)).toEqual(basic('0.1'))
  }),
  contractTest('concurrent calls for many datasets and analysts all take effect', async ({ ledger }) => {
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
  }),
  contractTest('a refused call does not affect concurrent calls', async (fixture) => {
    const ledger = await withCensus(fixture)
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
    for (const each of settled) if (each.status === 'rejected') expect(each.reason).toBeInstanceOf(RangeError)
    expect(await spentOf(ledger)).toEqual(basic('0.2'))
  }),
  contractTest('everything is kept across a restart', async (fixture) => {
    const ledger = await withCensus(fixture)
    const { id } = chargeOf(await ledger.charge(question('a')))
    await ledger.recordAnswer(id, 1, 'an answer')
    await ledger.charge(question('b'))
    await ledger.allot(allotment('bob', loss('0.05')))
    const head = await ledger.head('census')
    await fixture.reopen()
    expect(await fixture.ledger.head('census')).toEqual(head)
    expect(await fixture.ledger.charge(question('a'))).toMatchObject({
      kind: 'answered',
      answer: 'an answer',
    })
    expect(await fixture.ledger.charge(question('b'))).toMatchObject({
      kind: 'charged',
      charge: { attempt: 2 },
    })
    expect((await fixture.ledger.charge(question('c', { principal: 'bob' }))).kind).toBe('denied')
    expect(await spentOf(fixture.ledger)).toEqual(basic('0.2'))
  }),
]
