import { expect } from 'vitest'
import { sha256 } from '../../../src/ledger/canonical.ts'
import { populationAccount } from '../../../src/ledger/contract/budgets.ts'
import type { Member } from '../../../src/ledger/contract/chain.ts'
import type { LedgerEvent } from '../../../src/ledger/event.ts'
import { eventLoss } from '../../../src/ledger/event.ts'
import { exportLines } from '../../../src/ledger/exported.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { followExport, isSound } from '../../../src/ledger/protocol/verifier/export.ts'
import { fixtureInMemory } from '../fixture.ts'
import { basic, chargeOf, loss, question, summed } from '../support.ts'
import { chain, type EventFacts } from './sample-history.ts'
import { type VerificationSource, type VerificationTest, verificationTest } from './verification-test.ts'

const PEOPLE = populationAccount('people')

const member = (sequence: number, dataset = 'visits') => ({ dataset, sequence, hash: sha256(`${sequence}`) })
const charged = (chargeId: string, sequence: number, changes: Partial<LedgerEvent> = {}): EventFacts => ({
  kind: 'charged',
  principal: 'ada',
  chargeId,
  requestHash: sha256(chargeId),
  loss: eventLoss(loss('0.1')),
  member: member(sequence),
  ...changes,
})

/** The chain of a population of one dataset, on which ada had spent 0.3, of which 0.1 on a shared release. */
const HISTORY: readonly EventFacts[] = [
  {
    kind: 'opened',
    principal: 'carol',
    loss: eventLoss(loss('1', '0.000001')),
    neighbours: 'add-remove',
    privacyUnit: { kind: 'person' },
    synthetic: false,
  },
  { kind: 'joined', principal: 'carol', member: member(2) },
  {
    kind: 'carried',
    principal: 'carol',
    analyst: 'ada',
    loss: eventLoss(loss('0.3')),
    spentOnShared: eventLoss(loss('0.1')),
    member: member(2),
  },
  charged('a', 3),
  charged('of bob', 4, { kind: 'shared', principal: 'bob', sharedFrom: 'from before' }),
  { kind: 'granted', principal: 'carol', loss: eventLoss(loss('0.5')), reason: 'a second study' },
  { kind: 'allotted', principal: 'carol', analyst: 'ada', loss: eventLoss(loss('0.5')), reason: 'a share' },
  charged('b', 7),
]

function verify({ createVerifier }: VerificationSource, history: readonly EventFacts[]) {
  const verifier = createVerifier(PEOPLE)
  for (const event of chain(PEOPLE, history)) verifier.add(event, sha256(event.canonical))
  return verifier.result()
}

const at = (
  place: number,
  changes: { readonly [Field in keyof LedgerEvent]?: LedgerEvent[Field] | undefined },
) => ({
  place,
  // JSON omits undefined fields.
  history: HISTORY.with(place, JSON.parse(JSON.stringify({ ...HISTORY[place], ...changes }))),
})

/** Histories with one impossible event. */
const TAMPERED: Readonly<
  Record<string, { readonly place: number; readonly history: readonly EventFacts[] }>
> = {
  'neighbours that change one': at(0, { neighbours: 'change-one' }),
  'a dataset that joins twice': at(3, { kind: 'joined', member: member(3) }),
  'a charge of a dataset that has not joined': at(3, { member: member(3, 'drugs') }),
  'spending carried from a dataset that has not joined': at(2, { member: member(2, 'drugs') }),
  'spending carried after a charge': { place: 4, history: HISTORY.toSpliced(4, 0, ...HISTORY.slice(2, 3)) },
  'a charge without a dataset': at(3, { member: undefined }),
  'a grant for a dataset': at(5, { member: member(5) }),
  'events of a dataset in another order': at(4, { member: member(3) }),
  'a denial': at(3, { kind: 'denied' }),
  'an answer': at(4, { kind: 'answered', chargeId: 'a', principal: 'ada' }),
  'a population that joins another': at(1, { population: PEOPLE }),
  'spending carried beyond the cap': {
    place: 3,
    history: HISTORY.toSpliced(3, 0, {
      ...{ kind: 'carried', principal: 'carol', member: member(2) },
      ...{ analyst: 'bob', loss: eventLoss(loss('0.9')) },
    }),
  },
  'more carried than an analyst may spend': at(2, { loss: eventLoss(loss('1.2')) }),
  'more shared than spent': at(2, { spentOnShared: eventLoss(loss('0.4')) }),
  'spending of nobody': at(2, { analyst: undefined }),
  'spending carried in rho': at(2, { loss: { rhoPico: '1' } }),
  'a charge beyond the cap': at(3, { loss: eventLoss(loss('0.800000001')) }),
  'a charge beyond the allotment': at(7, { loss: eventLoss(loss('0.100000001')) }),
  'another delta': at(5, { loss: eventLoss(loss('0.5', '0.1')) }),
}

/** A population of two datasets, one of which joined after it was charged. */
async function samplePopulation(): Promise<Ledger> {
  const { ledger } = fixtureInMemory()
  await ledger.openBudget(PEOPLE, summed('1'), 'carol')
  await ledger.openBudget('visits', summed('1'), 'carol')
  await ledger.openBudget('drugs', { ...summed('1'), population: PEOPLE }, 'carol')
  chargeOf(await ledger.charge(question('before', { dataset: 'visits' })))
  await ledger.joinPopulation('visits', PEOPLE, 'carol')
  for (const dataset of ['visits', 'drugs'])
    chargeOf(await ledger.charge(question(`of ${dataset}`, { dataset })))
  return ledger
}

/** Follows the export of some chains, after a change of each event. Later hashes and references are computed again. */
async function followed(
  ledger: Ledger,
  accounts: readonly string[],
  change: (event: LedgerEvent) => LedgerEvent[],
) {
  const lines: string[] = []
  const renamed = new Map<string, { sequence: number; hash: string }>()
  for (const account of accounts) {
    const histories: EventFacts[] = []
    const texts = (await Array.fromAsync(exportLines(ledger, account))).join('').trimEnd().split('\n')
    const before: { hash: string; kept: boolean }[] = []
    for (const text of texts) {
      const { event, hash }: { event: LedgerEvent; hash: string } = JSON.parse(text)
      const changed = change(event)
      before.push({ hash, kept: changed.length > 0 })
      for (const { dataset: _, sequence: __, previousHash: ___, at: ____, ...facts } of changed)
        histories.push({
          ...facts,
          ...(facts.member && { member: { ...facts.member, ...renamed.get(facts.member.hash) } }),
        })
    }
    const made = chain(account, histories)
    for (const [place, { hash }] of before.filter(({ kept }) => kept).entries())
      renamed.set(hash, { sequence: place + 1, hash: made[place]?.hash ?? '' })
    lines.push(...made.map(({ canonical, hash }) => `{"event":${canonical},"hash":"${hash}"}\n`))
  }
  const bytes = async function* () {
    yield Buffer.from(lines.join(''))
  }
  return followExport(bytes(), { sha256 })
}

const BOTH = ['visits', 'drugs', PEOPLE]

export const POPULATION_TESTS: readonly VerificationTest[] = [
  verificationTest('the chain of a population is sound, with what its datasets brought', async (source) => {
    expect(verify(source, HISTORY)).toMatchObject({
      kind: 'sound',
      budget: { cap: basic('1.5', '0.000001'), spent: basic('0.4') },
      spending: [
        { principal: 'ada', spent: basic('0.5'), spentOnShared: basic('0.1') },
        { principal: 'bob', spent: basic('0.1'), spentOnShared: basic('0.1') },
      ],
    })
  }),
  ...Object.entries(TAMPERED).map(([name, { place, history }]) =>
    verificationTest(`in a population: ${name}`, async (source) => {
      expect(verify(source, history)).toMatchObject({ kind: 'broken', sequence: place + 1 })
    }),
  ),
  verificationTest(
    'in a dataset: events of a population, and a second population',
    async ({ createVerifier }) => {
      const opened: EventFacts = { ...HISTORY[0], kind: 'opened', principal: 'carol' }
      const joined: EventFacts = { kind: 'joined', principal: 'carol', population: PEOPLE }
      const verified = (history: readonly EventFacts[]) => {
        const verifier = createVerifier('visits')
        for (const event of chain('visits', history)) verifier.add(event, sha256(event.canonical))
        return verifier.result()
      }
      const granted: EventFacts = { kind: 'granted', principal: 'carol', reason: 'more' }
      expect(verified([opened, joined])).toMatchObject({ kind: 'sound', budget: { population: PEOPLE } })
      const others: readonly EventFacts[] = [
        { ...joined, population: populationAccount('others') },
        { ...granted, loss: eventLoss(loss('0', '0.1')) },
        charged('a', 3),
        { ...HISTORY[2], kind: 'carried', principal: 'carol' },
      ]
      for (const other of others)
        expect(verified([opened, joined, other])).toMatchObject({ kind: 'broken', sequence: 3 })
      expect(verified([opened, { ...joined, population: 'drugs' }])).toMatchObject({
        kind: 'broken',
        sequence: 2,
      })
    },
  ),
  verificationTest(
    'a population that has not spent what its datasets have is found',
    async ({ verifyLedger }) => {
      const ledger = await samplePopulation()
      const withMembers = (changed: (members: readonly Member[]) => readonly Member[]): Ledger => ({
        ...ledger,
        async head(account) {
          const head = await ledger.head(account)
          return head?.members === undefined ? head : { ...head, members: changed(head.members) }
        },
      })
      const found = (changed: Parameters<typeof withMembers>[0]) => verifyLedger(withMembers(changed), PEOPLE)
      expect(await found((members) => members)).toMatchObject({ kind: 'sound' })
      // A dataset that was charged, while its population was not.
      const more = (members: readonly Member[]) => members.map((each) => ({ ...each, spent: basic('0.2') }))
      expect(await found(more)).toMatchObject({
        reason: 'the population has not spent what its datasets have',
      })
      const ofBob = (members: readonly Member[]) =>
        members.map((each) => ({
          ...each,
          spending: each.spending.map((one) => ({ ...one, principal: 'bob' })),
        }))
      expect(await found(ofBob)).toMatchObject({
        reason: 'an analyst has not spent on the population what they have on its datasets',
      })
    },
  ),
  verificationTest('a charge of a population must be stored for its dataset', async ({ verifyLedger }) => {
    const ledger = await samplePopulation()
    const records: Ledger['chargeRecords'] = async (ids) =>
      (await ledger.chargeRecords(ids)).map((record) => ({ ...record, dataset: 'visits' }))
    expect(await verifyLedger({ ...ledger, chargeRecords: records }, PEOPLE)).toMatchObject({
      kind: 'broken',
      reason: 'the stored charge differs from its events',
    })
  }),
  verificationTest(
    'in an export: a charge that debited only the dataset is found, as any difference is',
    async () => {
      const ledger = await samplePopulation()
      const same = (event: LedgerEvent) => [event]
      expect(isSound(await followed(ledger, BOTH, same))).toBe(true)
      // Chains that are not in the export are not compared.
      for (const accounts of [[PEOPLE], ['visits'], ['drugs', PEOPLE]])
        expect(isSound(await followed(ledger, accounts, same))).toBe(true)
      const another = await ledger.charge(question('another', { dataset: 'visits' }))
      chargeOf(another)
      const reasonsFor = async (change: Parameters<typeof followed>[2]) =>
        (await followed(ledger, BOTH, change)).datasets.flatMap(({ dataset, verification }) =>
          verification.kind === 'broken'
            ? [`${dataset} ${verification.sequence} ${verification.reason}`]
            : [],
        )
      const isFirstCharge = ({ chargeId, member: of }: LedgerEvent) =>
        chargeId !== undefined && of?.dataset === 'visits' && of.sequence === 4
      expect(await reasonsFor((event) => (isFirstCharge(event) ? [] : [event]))).toEqual([
        'visits 4 the population was not debited',
      ])
      const differs = [
        expect.stringMatching(/^@population:people \d the chain of the dataset does not confirm/),
      ]
      const cheaper = { loss: eventLoss(loss('0.05')) }
      expect(await reasonsFor((event) => [isFirstCharge(event) ? { ...event, ...cheaper } : event])).toEqual(
        differs,
      )
      const carriesLess = (event: LedgerEvent) => [
        event.kind === 'carried' ? { ...event, ...cheaper } : event,
      ]
      expect(await reasonsFor(carriesLess)).toEqual(differs)
      expect(await reasonsFor((event) => (event.kind === 'carried' ? [] : [event]))).toEqual([
        'visits 3 the population was not debited',
      ])
      expect(
        await reasonsFor((event) => [
          isFirstCharge(event) && event.member
            ? { ...event, member: { ...event.member, hash: 'f'.repeat(64) } }
            : event,
        ]),
      ).toEqual(differs)
    },
  ),
]
