import { expect } from 'vitest'
import { populationAccount } from '../../../../src/ledger/contract/budgets.ts'
import type { LedgerEvent } from '../../../../src/ledger/event.ts'
import type { Ledger } from '../../../../src/ledger/ledger.ts'
import type { Accounting } from '../../../../src/privacy/accounting.ts'
import type { Fixture } from '../../fixture.ts'
import { basic, chargeOf, loss, question, rho, summed } from '../../support.ts'
import { COUNTED, type ContractTest, contractTest, kindsOf, spentOf } from '../contract-test.ts'

const PEOPLE = populationAccount('people')

/** Opens the population `people` with a cap of ten parts, and the datasets `visits` and `drugs` in it with as much each. */
async function withPeople({ ledger }: Fixture, accounting: Accounting = 'basic'): Promise<Ledger> {
  const budget = { accounting, neighbours: 'add-remove', granted: loss('1', '0.000001') } as const
  await ledger.openBudget(PEOPLE, budget, 'carol')
  for (const dataset of ['visits', 'drugs'])
    expect(await ledger.openBudget(dataset, { ...budget, population: PEOPLE }, 'carol')).toEqual({
      kind: 'opened',
    })
  return ledger
}

/** The events of a chain, oldest first. */
async function eventsOf(ledger: Ledger, account: string): Promise<readonly LedgerEvent[]> {
  const stored = await ledger.events(account, { limit: 1_000, afterSequence: 0 })
  return stored.map(({ canonical }) => JSON.parse(canonical))
}

const on = (dataset: string, key: string, changes: Parameters<typeof question>[1] = {}) =>
  question(key, { dataset, ...changes })

/** Requirements on populations, which pay for whatever their datasets spend. */
export const POPULATIONS: readonly ContractTest[] = [
  ...COUNTED.map(({ accounting, parts }) =>
    contractTest(`a charge debits the dataset and its population, in ${accounting}`, async (fixture) => {
      const ledger = await withPeople(fixture, accounting)
      const one = chargeOf(await ledger.charge(on('visits', 'a', { price: parts(6n) })))
      expect(one).toMatchObject({
        budget: { spent: parts(6n), population: PEOPLE },
        population: {
          account: PEOPLE,
          budget: { spent: parts(6n) },
          analyst: { principal: 'ada', spent: parts(6n) },
        },
      })
      const other = chargeOf(await ledger.charge(on('drugs', 'b', { price: parts(4n) })))
      expect(other.budget.spent).toEqual(parts(4n))
      expect(other.population?.budget.spent).toEqual(parts(10n))
      // Each dataset has as much left as the population ever had, which has nothing.
      const refused = await ledger.charge(on('drugs', 'c', { price: parts(1n) }))
      expect(refused).toMatchObject({ kind: 'denied', by: 'population', population: { account: PEOPLE } })
      expect(await spentOf(ledger, 'visits')).toEqual(parts(6n))
      expect(await spentOf(ledger, 'drugs')).toEqual(parts(4n))
      expect(await spentOf(ledger, PEOPLE)).toEqual(parts(10n))
    }),
  ),
  contractTest(
    'both chains record a charge, and that of the population names the event of the dataset',
    async (fixture) => {
      const ledger = await withPeople(fixture)
      const made = chargeOf(await ledger.charge(on('visits', 'a')))
      const last = (await eventsOf(ledger, PEOPLE)).at(-1)
      expect(last).toMatchObject({
        kind: 'charged',
        sequence: made.population?.event?.sequence,
        chargeId: made.id,
        loss: { epsilonNano: '100000000', deltaAtto: '0' },
        member: { dataset: 'visits', ...made.event },
      })
      expect(await kindsOf(ledger, 'visits')).toEqual(['opened', 'joined', 'charged'])
      expect(await kindsOf(ledger, PEOPLE)).toEqual(['opened', 'joined', 'joined', 'charged'])
      await ledger.recordFailure(made.id, 1)
      const again = chargeOf(await ledger.charge(on('visits', 'a')))
      expect(again.attempt).toBe(2)
      expect(again.population?.event).toBeUndefined()
      expect(await spentOf(ledger, PEOPLE)).toEqual(basic('0.1'))
    },
  ),
  contractTest(
    'an allotment on the population limits an analyst on all its datasets together',
    async (fixture) => {
      const ledger = await withPeople(fixture)
      const allotted = { dataset: PEOPLE, analyst: 'ada', principal: 'carol', reason: 'a share' }
      await ledger.allot({ ...allotted, granted: loss('0.25') })
      chargeOf(await ledger.charge(on('visits', 'a')))
      chargeOf(await ledger.charge(on('drugs', 'b')))
      expect(await ledger.charge(on('drugs', 'c'))).toMatchObject({
        kind: 'denied',
        by: 'population-allotment',
        population: { analyst: { spent: basic('0.2') } },
      })
      chargeOf(await ledger.charge(on('drugs', 'd', { principal: 'bob' })))
      await ledger.grant(PEOPLE, loss('1'), 'carol', 'a second study')
      expect((await ledger.budget(PEOPLE))?.cap).toEqual(basic('2', '0.000001'))
      expect((await ledger.budget('visits'))?.cap).toEqual(basic('1', '0.000001'))
    },
  ),
  contractTest('a shared release debits the analyst on both levels, and neither cap', async (fixture) => {
    const ledger = await withPeople(fixture)
    const asked = (principal: string) => on('visits', 'q', { principal, sharing: true })
    const { id } = chargeOf(await ledger.charge(asked('ada')))
    await ledger.recordAnswer(id, 1, 'hers')
    expect(await ledger.charge(asked('bob'))).toMatchObject({
      kind: 'shared',
      charge: { population: { analyst: { spent: basic('0.1'), spentOnShared: basic('0.1') } } },
    })
    expect(await spentOf(ledger, PEOPLE)).toEqual(basic('0.1'))
  }),
  contractTest('a dataset that joins brings all that it and its analysts ever spent', async (fixture) => {
    const ledger = await withPeople(fixture)
    await ledger.openBudget('lab', summed('1', '0.000001'), 'carol')
    const asked = (principal: string) => on('lab', 'q', { principal, sharing: true, price: basic('0.3') })
    const { id } = chargeOf(await ledger.charge(asked('ada')))
    await ledger.recordAnswer(id, 1, 'hers')
    await ledger.charge(asked('bob'))
    chargeOf(await ledger.charge(on('visits', 'v', { price: basic('0.2') })))
    expect(await ledger.joinPopulation('lab', PEOPLE, 'carol')).toEqual({ kind: 'joined' })
    expect(await ledger.joinPopulation('lab', PEOPLE, 'carol')).toEqual({ kind: 'joined' })
    expect(await spentOf(ledger, PEOPLE)).toEqual(basic('0.5'))
    expect(await ledger.analystSpending(PEOPLE, 'ada')).toMatchObject({ spent: basic('0.5') })
    expect(await ledger.analystSpending(PEOPLE, 'bob')).toMatchObject({
      spent: basic('0.3'),
      spentOnShared: basic('0.3'),
    })
    // A source from before the dataset joined is shared as before.
    expect(await ledger.charge(asked('eve'))).toMatchObject({ kind: 'shared' })
    const { members } = (await ledger.head(PEOPLE)) ?? {}
    expect(members?.map(({ dataset, spent }) => [dataset, spent])).toEqual([
      ['drugs', basic('0')],
      ['lab', basic('0.3')],
      ['visits', basic('0.2')],
    ])
  }),
  contractTest('a dataset joins one population, once, and only one that it fits', async (fixture) => {
    const ledger = await withPeople(fixture)
    const other = populationAccount('others')
    await ledger.openBudget(other, summed('1', '0.000001'), 'carol')
    const refused = (because: string) => expect.objectContaining({ kind: 'join-refused', because })
    const join = (dataset: string, population = PEOPLE) => ledger.joinPopulation(dataset, population, 'carol')
    expect(await join('visits', other)).toEqual(refused('other-population'))
    expect(await join('nowhere')).toEqual({ kind: 'no-budget' })
    const open = (name: string, accounting: Accounting, delta: string, epsilon = '2') =>
      ledger.openBudget(
        name,
        { accounting, neighbours: 'add-remove', granted: loss(epsilon, delta) },
        'carol',
      )
    await open('in-rho', 'zcdp', '0.000001')
    await open('without-delta', 'basic', '0')
    await open('large', 'basic', '0.000001')
    await open('of-ada', 'basic', '0.000001')
    await open('alone', 'basic', '0.000001')
    expect(await join('alone', populationAccount('nobody'))).toEqual(refused('unknown-population'))
    expect(await join('in-rho')).toEqual(refused('accounting'))
    expect(await join('without-delta')).toEqual(refused('delta'))
    chargeOf(await ledger.charge(on('large', 'l', { price: basic('1.1') })))
    expect(await join('large')).toEqual(refused('budget'))
    chargeOf(await ledger.charge(on('of-ada', 'o')))
    await ledger.allot({
      ...{ dataset: PEOPLE, analyst: 'ada', principal: 'carol', reason: 'a share' },
      granted: loss('0.05'),
    })
    expect(await join('of-ada')).toEqual(refused('allotment'))
    expect(
      await ledger.openBudget('of-ada', { ...summed('2', '0.000001'), population: PEOPLE }, 'carol'),
    ).toEqual(refused('allotment'))
    expect(await spentOf(ledger, PEOPLE)).toEqual(basic('0'))
    expect((await ledger.budget('of-ada'))?.population).toBeUndefined()
  }),
  ...COUNTED.map(({ accounting, parts }) =>
    contractTest(
      `charges of several datasets are debited together or not at all, in ${accounting}`,
      async (fixture) => {
        const ledger = await withPeople(fixture, accounting)
        const both = (visits: bigint, drugs: bigint, key: string, changes = {}) =>
          ledger.chargeAll([
            on('visits', `${key} 1`, { price: parts(visits), ...changes }),
            on('drugs', `${key} 2`, { price: parts(drugs), ...changes }),
          ])
        const spent = () => Promise.all([PEOPLE, 'visits', 'drugs'].map((each) => spentOf(ledger, each)))
        const chosen = { keyChosen: true }
        // Each fits into its dataset and into the population; their sum does not.
        const refused = await both(6n, 5n, 'a', chosen)
        expect(refused).toMatchObject({
          ...{ kind: 'refused', place: 1, unpaid: parts(11n) },
          outcome: {
            kind: 'denied',
            by: 'population',
            sticks: false,
            population: { budget: { spent: parts(0n) } },
          },
        })
        expect(await spent()).toEqual([parts(0n), parts(0n), parts(0n)])
        expect(await kindsOf(ledger, 'visits')).toEqual(['opened', 'joined'])
        expect((await eventsOf(ledger, 'drugs')).at(-1)).toMatchObject({ kind: 'denied', principal: 'ada' })

        const made = await both(6n, 4n, 'b')
        expect(made).toMatchObject({
          kind: 'charged',
          outcomes: [
            { charge: { population: { budget: { spent: parts(6n) } } } },
            { charge: { population: { budget: { spent: parts(10n) } } } },
          ],
        })
        expect(await spent()).toEqual([parts(10n), parts(6n), parts(4n)])
        // The denial of a chosen key is permanent for all of them.
        for (const account of [PEOPLE, 'visits', 'drugs'])
          await ledger.grant(account, loss('9'), 'carol', 'more')
        expect(await both(6n, 5n, 'a', chosen)).toMatchObject({ place: 1, outcome: { sticks: true } })
        expect(await both(1n, 1n, 'b')).toMatchObject({ place: 0, outcome: { kind: 'key-reused' } })
        expect(await both(6n, 4n, 'b')).toMatchObject({ place: 0, outcome: { kind: 'in-flight' } })
        expect(await spent()).toEqual([parts(10n), parts(6n), parts(4n)])

        // What is paid already is not debited again, and its answers are returned beside a further attempt.
        const [first, second] = made.kind === 'charged' ? made.outcomes.map(chargeOf) : []
        await ledger.recordAnswer(first?.id ?? '', 1, 'visits')
        await ledger.recordFailure(second?.id ?? '', 1)
        expect(await both(6n, 4n, 'b')).toMatchObject({
          outcomes: [{ kind: 'answered', answer: 'visits' }, { charge: { id: second?.id, attempt: 2 } }],
        })
        expect(await spent()).toEqual([parts(10n), parts(6n), parts(4n)])
      },
    ),
  ),
  contractTest('no charge of several is debited before all of them are', async (fixture) => {
    const ledger = await withPeople(fixture)
    const twice = [on('visits', 'a'), on('visits', 'b')]
    await expect(ledger.chargeAll(twice)).rejects.toThrow(RangeError)
    const mixed = [on('visits', 'a'), on('drugs', 'b', { price: rho('0.1') })]
    await expect(ledger.chargeAll(mixed)).rejects.toThrow(RangeError)
    const allotted = { dataset: 'drugs', analyst: 'ada', principal: 'carol', reason: 'a share' }
    await ledger.allot({ ...allotted, granted: loss('0.05') })
    const both = () => ledger.chargeAll([on('visits', 'c'), on('drugs', 'd')])
    expect(await both()).toMatchObject({ place: 1, outcome: { kind: 'denied', by: 'allotment' } })
    await ledger.allot({ ...allotted, granted: loss('0.1') })
    await ledger.allot({ ...allotted, dataset: PEOPLE, granted: loss('0.15') })
    expect(await both()).toMatchObject({ place: 1, outcome: { kind: 'denied', by: 'population-allotment' } })
    expect(await ledger.chargeAll([on('visits', 'c'), on('nowhere', 'e')])).toMatchObject({
      place: 1,
      outcome: { kind: 'no-budget' },
    })
    for (const account of [PEOPLE, 'visits', 'drugs'])
      expect(await spentOf(ledger, account)).toEqual(basic('0'))
    // Of several at the same time, in one transaction or in many, as many fit as into the population.
    await ledger.allot({ ...allotted, dataset: PEOPLE, granted: loss('1') })
    await ledger.allot({ ...allotted, granted: loss('1') })
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        ledger.chargeAll([on('visits', `v ${index}`), on('drugs', `d ${index}`)]),
      ),
    )
    expect(outcomes.filter(({ kind }) => kind === 'charged')).toHaveLength(5)
    expect(await spentOf(ledger, PEOPLE)).toEqual(basic('1'))
    expect(await spentOf(ledger, 'visits')).toEqual(basic('0.5'))
  }),
  contractTest('a source needs no second budget within one population', async (fixture) => {
    const ledger = await withPeople(fixture)
    const source = { digests: ['0a'.repeat(32)], synthetic: false }
    expect(await ledger.registerSource('visits', source, 'carol')).toBeUndefined()
    const elsewhere = { kind: 'source-refused', because: 'registered-elsewhere' }
    const budget = { ...summed('1', '0.000001'), source }
    expect(await ledger.openBudget('copy', budget, 'carol')).toEqual(elsewhere)
    const other = populationAccount('others')
    await ledger.openBudget(other, summed('1', '0.000001'), 'carol')
    expect(await ledger.openBudget('copy', { ...budget, population: other }, 'carol')).toEqual(elsewhere)
    // Also from a call that is committed together with that of the first dataset.
    const opened = await Promise.all(
      ['copy', 'second copy'].map((each) =>
        ledger.openBudget(each, { ...budget, population: PEOPLE }, 'carol'),
      ),
    )
    expect(opened).toEqual([{ kind: 'opened' }, { kind: 'opened' }])
    expect(await ledger.registerSource('drugs', source, 'carol')).toBeUndefined()
  }),
  contractTest('a population is asked nothing, and its delta is fixed', async (fixture) => {
    const ledger = await withPeople(fixture)
    await expect(ledger.charge(on(PEOPLE, 'a'))).rejects.toThrow(RangeError)
    await expect(ledger.resume(PEOPLE, 'carol', 'why')).rejects.toThrow(RangeError)
    await expect(ledger.joinPopulation(PEOPLE, PEOPLE, 'carol')).rejects.toThrow(RangeError)
    await expect(ledger.joinPopulation('visits', 'drugs', 'carol')).rejects.toThrow(RangeError)
    const changed = { ...summed('1', '0.000001'), neighbours: 'change-one' } as const
    await expect(ledger.openBudget(populationAccount('new'), changed, 'carol')).rejects.toThrow(RangeError)
    for (const account of [PEOPLE, 'visits']) {
      await expect(ledger.grant(account, loss('0', '0.1'), 'carol', 'why')).rejects.toThrow(RangeError)
      await expect(ledger.replaceCap(account, loss('1', '0.1'), 'carol', 'why')).rejects.toThrow(RangeError)
    }
    expect(await ledger.datasets()).toEqual(['drugs', 'visits'])
    const administration = await ledger.acts({ limit: 10 })
    expect(administration.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([
      `population-joined ${PEOPLE}`,
      `population-joined ${PEOPLE}`,
      `population-created ${PEOPLE}`,
    ])
  }),
  contractTest(
    'of concurrent charges of many datasets, no more fit than into the population',
    async ({ ledger }) => {
      await ledger.openBudget(PEOPLE, summed('1'), 'carol')
      const datasets = Array.from({ length: 5 }, (_, index) => `d${index}`)
      await Promise.all(
        datasets.map((each) => ledger.openBudget(each, { ...summed('1'), population: PEOPLE }, 'carol')),
      )
      const outcomes = await Promise.all(
        datasets.flatMap((dataset) =>
          Array.from({ length: 8 }, (_, index) => ledger.charge(on(dataset, `${dataset} ${index}`))),
        ),
      )
      expect(outcomes.filter(({ kind }) => kind === 'charged')).toHaveLength(10)
      expect(await spentOf(ledger, PEOPLE)).toEqual(basic('1'))
    },
  ),
]
