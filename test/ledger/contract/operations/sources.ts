import { expect } from 'vitest'
import type { NewSource } from '../../../../src/ledger/contract/budgets.ts'
import { openedFor } from '../../../../src/ledger/event.ts'
import type { Ledger } from '../../../../src/ledger/ledger.ts'
import { question, summed } from '../../support.ts'
import { type ContractTest, contractTest, kindsOf } from '../contract-test.ts'

const [FILE, OTHER] = ['0a'.repeat(32), '0b'.repeat(32)]
const AS_REAL = { kind: 'source-refused', because: 'registered-as-real' }
const ELSEWHERE = { kind: 'source-refused', because: 'registered-elsewhere' }

const real = (digest = FILE): NewSource => ({ digests: [digest], synthetic: false })
const madeUp = (digest = FILE): NewSource => ({ digests: [digest], synthetic: true })

/** Opens the budget of an id for a source. */
function open(ledger: Ledger, dataset: string, source: NewSource) {
  const { synthetic } = source
  return ledger.openBudget(dataset, { ...summed('1'), synthetic, source }, 'carol')
}

/** Requirements on the sources of datasets. */
export const SOURCES: readonly ContractTest[] = [
  contractTest(
    'the first event records if the data are synthetic, which never changes',
    async ({ ledger }) => {
      await open(ledger, 'census', madeUp())
      await open(ledger, 'survey', real(OTHER))
      await ledger.openBudget('other', summed('1'), 'carol')
      expect(await openedFor(ledger, 'census')).toMatchObject({ synthetic: true })
      expect(await openedFor(ledger, 'survey')).toMatchObject({ synthetic: false })
      expect(await openedFor(ledger, 'other')).toMatchObject({ synthetic: false })
    },
  ),
  contractTest(
    'a source that was registered as real is never synthetic, under any id and for any reason',
    async (fixture) => {
      await open(fixture.ledger, 'census', real())
      await fixture.reopen()
      const { ledger } = fixture
      for (const source of [madeUp(), { ...madeUp(), separateBudget: 'a demonstration' }]) {
        expect(await open(ledger, 'census', source)).toEqual(AS_REAL)
        expect(await open(ledger, 'other', source)).toEqual(AS_REAL)
        expect(await ledger.registerSource('census', source, 'carol')).toEqual(AS_REAL)
      }
      expect(await ledger.datasets()).toEqual(['census'])
      expect(await kindsOf(ledger)).toEqual(['opened'])
    },
  ),
  contractTest('an id with a source of real data never has a synthetic one', async ({ ledger }) => {
    await open(ledger, 'census', madeUp())
    expect(await ledger.registerSource('census', real(OTHER), 'carol')).toBeUndefined()
    expect(await ledger.registerSource('census', madeUp('0c'.repeat(32)), 'carol')).toEqual(AS_REAL)
  }),
  contractTest('a source under a second id needs a reason, which is an event', async ({ ledger }) => {
    await open(ledger, 'census', real())
    expect(await open(ledger, 'survey', real())).toEqual(ELSEWHERE)
    expect(await ledger.budget('survey')).toBeUndefined()
    const reason = 'another ethics committee decides'
    expect(await open(ledger, 'survey', { ...real(), separateBudget: reason })).toEqual({ kind: 'opened' })
    expect(await kindsOf(ledger)).toEqual(['opened'])
    const [event] = await ledger.entries('survey', { limit: 1 })
    expect(event).toMatchObject({ kind: 'source-reused', principal: 'carol', reason })
    const [, stored] = await ledger.events('survey', { limit: 2, afterSequence: 0 })
    expect(JSON.parse(stored?.canonical ?? '')).toMatchObject({ otherDatasets: ['census'] })
    await ledger.charge(question('a', { dataset: 'survey' }))
    expect(await kindsOf(ledger, 'survey')).toEqual(['opened', 'source-reused', 'charged'])
  }),
  contractTest('a source is recognised by each of its tables', async ({ ledger }) => {
    const joined = (digests: readonly string[]): NewSource => ({ digests, synthetic: false })
    await open(ledger, 'census', joined([FILE, OTHER]))
    const third = '0c'.repeat(32)
    for (const digests of [[OTHER], [FILE, third], [third, OTHER]])
      expect(await open(ledger, 'survey', joined(digests))).toEqual(ELSEWHERE)
    // A version of the first may have one of the tables, and another one.
    expect(await ledger.registerSource('census', joined([OTHER, third]), 'carol')).toBeUndefined()
    expect(await open(ledger, 'survey', real(third))).toEqual(ELSEWHERE)
  }),
  contractTest('the same source again under its id is recorded once', async ({ ledger }) => {
    await open(ledger, 'census', real())
    await open(ledger, 'survey', { ...real(), separateBudget: 'another project' })
    for (const dataset of ['census', 'survey']) {
      expect((await open(ledger, dataset, real())).kind).toBe('exists')
      expect(await ledger.registerSource(dataset, real(), 'carol')).toBeUndefined()
    }
    expect(await kindsOf(ledger)).toEqual(['opened'])
    expect(await kindsOf(ledger, 'survey')).toEqual(['opened', 'source-reused'])
  }),
  contractTest('a budget that exists gets further sources', async (fixture) => {
    await fixture.ledger.openBudget('census', summed('1'), 'carol')
    expect((await open(fixture.ledger, 'census', real())).kind).toBe('exists')
    await fixture.reopen()
    expect(await open(fixture.ledger, 'survey', real())).toEqual(ELSEWHERE)
    expect(await kindsOf(fixture.ledger)).toEqual(['opened'])
  }),
  contractTest('made-up data have any number of budgets, but not beside real ones', async ({ ledger }) => {
    expect(await open(ledger, 'demo', madeUp())).toEqual({ kind: 'opened' })
    expect(await open(ledger, 'demo-2', madeUp())).toEqual({ kind: 'opened' })
    expect(await kindsOf(ledger, 'demo-2')).toEqual(['opened'])
    expect(await open(ledger, 'census', real())).toEqual(ELSEWHERE)
  }),
  contractTest('registrations that are decided together see each other', async ({ ledger }) => {
    const outcomes = await Promise.all([
      open(ledger, 'census', real()),
      open(ledger, 'survey', real()),
      open(ledger, 'demo', madeUp()),
      ledger.registerSource('census', real(OTHER), 'carol'),
      open(ledger, 'other', real(OTHER)),
    ])
    expect(outcomes).toEqual([{ kind: 'opened' }, ELSEWHERE, AS_REAL, undefined, ELSEWHERE])
  }),
  contractTest(
    'no event contains the digest of a source, and an id without a budget has no source',
    async ({ ledger }) => {
      expect(await ledger.registerSource('nowhere', real(), 'carol')).toEqual({ kind: 'no-budget' })
      await open(ledger, 'census', real())
      await open(ledger, 'survey', { ...real(), separateBudget: 'another project' })
      for (const dataset of ['census', 'survey']) {
        const events = await ledger.events(dataset, { limit: 10, afterSequence: 0 })
        expect(events.some(({ canonical }) => canonical.includes(FILE))).toBe(false)
      }
      await expect(ledger.registerSource('census', real('no digest'), 'carol')).rejects.toThrow(RangeError)
    },
  ),
]
