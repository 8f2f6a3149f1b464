import { expect } from 'vitest'
import { chargeId } from '../../../../src/ledger/canonical.ts'
import type {
  ReleasePage,
  ReleasePosition,
  ReleaseSelection,
} from '../../../../src/ledger/contract/releases.ts'
import type { Ledger } from '../../../../src/ledger/ledger.ts'
import { FIRST_MS } from '../../fixture.ts'
import { basic, chargeOf, question, summed } from '../../support.ts'
import type { ContractTest } from '../contract-test.ts'

const DATASETS = ['census', 'survey', 'unused']

/** A release, named by its key, at a number of seconds after the first time. */
interface Released {
  readonly key: string
  readonly principal?: string
  readonly dataset?: string
  readonly kind?: string
  readonly second: number
  readonly answer?: string
}

async function openBudgets(ledger: Ledger): Promise<void> {
  for (const dataset of DATASETS) await ledger.openBudget(dataset, summed('10'), 'carol')
}

async function releaseAll(ledger: Ledger, releases: readonly Released[]): Promise<void> {
  for (const {
    key,
    principal = 'ada',
    dataset = 'census',
    kind = 'count',
    second,
    answer = key,
  } of releases) {
    const { id } = chargeOf(await ledger.charge(question(key, { principal, dataset })))
    const facts = { kind, answeredAtMs: FIRST_MS + 1_000 * second }
    expect(await ledger.recordAnswer(id, 1, answer, facts)).toBe(true)
  }
}

/** The answers of a page. Unless a release has another one, its answer is its key. */
const answersOf = ({ releases }: ReleasePage) => releases.map(({ answer }) => answer)

const list = (ledger: Ledger, selection: Partial<ReleaseSelection> = {}) =>
  ledger.releases({ datasets: DATASETS, limit: 100, ...selection })

/** Reads all pages and returns their answers. */
async function allPages(ledger: Ledger, selection: Partial<ReleaseSelection>): Promise<string[][]> {
  const pages: string[][] = []
  let after: ReleasePosition | undefined
  do {
    const page = await list(ledger, { ...selection, ...(after !== undefined && { after }) })
    pages.push(answersOf(page))
    after = page.next
  } while (after !== undefined)
  return pages
}

const RELEASED: readonly Released[] = [
  { key: 'a', second: 1 },
  { key: 'b', second: 2, principal: 'bob' },
  { key: 'c', second: 3, dataset: 'survey', kind: 'batch' },
  { key: 'd', second: 4, dataset: 'survey', principal: 'bob' },
  { key: 'e', second: 5, kind: 'sparseVector' },
]

/** The list of releases. */
export const RELEASES: readonly ContractTest[] = [
  {
    name: 'a release is listed with the facts about its charge',
    run: async ({ ledger }) => {
      await openBudgets(ledger)
      await releaseAll(ledger, [{ key: 'a', second: 7, kind: 'mean', answer: '{"value":1}' }])
      const id = chargeId('ada', 'a')
      const { request } = question('a')
      expect(await list(ledger)).toEqual({
        releases: [
          {
            ...{ id, dataset: 'census', datasetVersion: '1', principal: 'ada', kind: 'mean', request },
            ...{ answeredAtMs: FIRST_MS + 7_000, price: basic('0.1'), shared: false, answer: '{"value":1}' },
          },
        ],
      })
    },
  },
  {
    name: 'releases are listed newest first, by dataset, principal, kind and time',
    run: async ({ ledger }) => {
      await openBudgets(ledger)
      await releaseAll(ledger, RELEASED)
      const listed = async (selection: Partial<ReleaseSelection>) => answersOf(await list(ledger, selection))
      expect(await listed({})).toEqual(['e', 'd', 'c', 'b', 'a'])
      expect(await listed({ datasets: ['survey'] })).toEqual(['d', 'c'])
      expect(await listed({ datasets: ['survey', 'survey'] })).toEqual(['d', 'c'])
      expect(await listed({ datasets: [] })).toEqual([])
      expect(await listed({ principal: 'ada' })).toEqual(['e', 'c', 'a'])
      expect(await listed({ principal: 'ada', datasets: ['survey'] })).toEqual(['c'])
      expect(await listed({ principal: 'ada', datasets: [] })).toEqual([])
      expect(await listed({ principal: 'eve' })).toEqual([])
      expect(await listed({ kind: 'batch' })).toEqual(['c'])
      expect(await listed({ kind: 'count', principal: 'bob' })).toEqual(['d', 'b'])
      // The earliest time is included, the latest is not.
      const times = { fromMs: FIRST_MS + 2_000, toMs: FIRST_MS + 4_000 }
      expect(await listed(times)).toEqual(['c', 'b'])
      expect(await listed({ ...times, principal: 'ada' })).toEqual(['c'])
    },
  },
  {
    name: 'pages have every release once, however many have the same time',
    run: async ({ ledger }) => {
      await openBudgets(ledger)
      const keys = Array.from({ length: 23 }, (_, place) => `key ${place}`)
      const dataset = (place: number) => DATASETS[place % 2] ?? ''
      await releaseAll(
        ledger,
        keys.map((key, place) => ({ key, dataset: dataset(place), second: Math.floor(place / 8) })),
      )
      const inOrder = keys.toSorted((a, b) => {
        const [seconds, ids] = [a, b].map((key) => [
          Math.floor(keys.indexOf(key) / 8),
          chargeId('ada', key),
        ]) as [[number, string], [number, string]]
        return ids[0] - seconds[0] || (seconds[1] < ids[1] ? 1 : -1)
      })
      for (const principal of [undefined, 'ada']) {
        const selection = principal === undefined ? {} : { principal }
        for (const limit of [1, 4, 22, 23, 24]) {
          const pages = await allPages(ledger, { ...selection, limit })
          expect(pages.flat()).toEqual(inOrder)
          expect(pages.map(({ length }) => length).slice(0, -1)).toEqual(
            Array(Math.ceil(23 / limit) - 1).fill(limit),
          )
        }
      }
    },
  },
  {
    name: 'a page ends early once its answers are large, and has one release at least',
    run: async ({ ledger }) => {
      await openBudgets(ledger)
      // Random digits, which compression leaves above the size at which a page ends.
      const large = Array.from({ length: 120_000 }, (_, place) =>
        Math.sin(place).toString(36).slice(3, 27),
      ).join('')
      await releaseAll(
        ledger,
        ['a', 'b', 'c', 'd'].map((key, second) => ({
          key,
          second,
          answer: second < 3 ? `${key} ${large}` : key,
        })),
      )
      const pages = await allPages(ledger, {})
      expect(pages.map((page) => page.map((answer) => answer[0]))).toEqual([['d', 'c'], ['b'], ['a']])
      expect(await allPages(ledger, { principal: 'ada' })).toEqual(pages)
    },
  },
  {
    name: 'charges without an answer are not listed',
    run: async ({ ledger }) => {
      await openBudgets(ledger)
      await ledger.charge(question('under way'))
      await ledger.charge(question('failed'))
      await ledger.recordFailure(chargeId('ada', 'failed'), 1)
      const denied = await ledger.charge(question('denied', { price: basic('11') }))
      expect(denied.kind).toBe('denied')
      expect(await list(ledger)).toEqual({ releases: [] })
      expect(await list(ledger, { principal: 'ada' })).toEqual({ releases: [] })
    },
  },
  {
    name: 'an opened session is listed, and a shared release as that of the analyst who shares it',
    run: async ({ ledger }) => {
      await openBudgets(ledger)
      const { id } = chargeOf(await ledger.charge(question('session')))
      const facts = { kind: 'sparseVector', answeredAtMs: FIRST_MS }
      const session = { positives: 1, terms: '{}', thresholdNoise: 1n }
      await ledger.openSession(id, 1, 'opened', session, facts)
      const shared = { sharing: true, requestHash: 'hash', dataset: 'survey' }
      const own = chargeOf(await ledger.charge(question('ask', shared)))
      await ledger.recordAnswer(own.id, 1, 'hers', { kind: 'count', answeredAtMs: FIRST_MS + 1 })
      const outcome = await ledger.charge(question('ask', { ...shared, principal: 'bob' }))
      if (outcome.kind !== 'shared') throw new Error('the release is shared')
      const times = { kind: 'count', answeredAtMs: FIRST_MS + 2 }
      await ledger.recordAnswer(outcome.charge.id, 1, 'his', times)
      const listed = await list(ledger)
      expect(
        listed.releases.map(({ kind, principal, shared, answer }) => [kind, principal, shared, answer]),
      ).toEqual([
        ['count', 'bob', true, 'his'],
        ['count', 'ada', false, 'hers'],
        ['sparseVector', 'ada', false, 'opened'],
      ])
      expect(answersOf(await list(ledger, { principal: 'bob' }))).toEqual(['his'])
    },
  },
  {
    name: 'the position of a page does not depend on whether its release exists',
    run: async ({ ledger }) => {
      await openBudgets(ledger)
      await releaseAll(ledger, [
        { key: 'a', second: 1 },
        { key: 'b', second: 1, principal: 'bob' },
        { key: 'c', second: 1 },
      ])
      const own = [chargeId('ada', 'a'), chargeId('ada', 'c')]
      for (const id of [chargeId('bob', 'b'), chargeId('bob', 'never asked'), '8'.repeat(32)]) {
        const after = { answeredAtMs: FIRST_MS + 1_000, id }
        const { releases } = await list(ledger, { principal: 'ada', after })
        expect(releases.map((each) => each.id).toSorted()).toEqual(own.filter((each) => each < id).toSorted())
      }
    },
  },
  {
    name: 'a selection out of range is refused',
    run: async ({ ledger }) => {
      await openBudgets(ledger)
      for (const wrong of [{ limit: 0 }, { limit: 1_001 }, { fromMs: -1 }, { toMs: 1.5 }, { kind: '\ud800' }])
        await expect(list(ledger, wrong)).rejects.toThrow(RangeError)
    },
  },
]
