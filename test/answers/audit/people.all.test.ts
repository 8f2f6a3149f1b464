import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { query as querySchema } from '../../../schemas/answers/query.ts'
import { WITHOUT_QUEUE } from '../../../src/answers/admission.ts'
import * as asItIs from '../../../src/answers/audit/audit.ts'
import { systemClock } from '../../../src/answers/release-time.ts'
import { systemEntropy } from '../../../src/core/mechanisms/samplers/entropy.ts'
import { openAuditedPair } from '../../../src/datasets/registration/audited-pair.ts'
import {
  type AuditedPair,
  type PairRow,
  prepareAuditedPair,
} from '../../../src/datasets/registration/prepared-pair.ts'
import { withChangedSource } from '../../mutants/changed-source.ts'
import { placed } from '../../mutants/select-mutants.ts'
import { aggregating } from '../counting.ts'

/*
 * An audit from outside of the promise to people: lower bounds of epsilon from releases of two datasets that differ in
 * one person with several rows.
 */

let directory = ''
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'sotto-audit-people-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

const COLUMNS = [
  { name: 'Patient', type: 'identifier', nullable: false },
  { name: 'Cost', type: 'integer', lower: 0, upper: 100, step: 1, nullable: false },
  { name: 'Region', type: 'category', categories: ['N', 'S'], nullable: false },
] as const

const visits = (patient: string, number: number, Region = 'N'): PairRow[] =>
  Array.from({ length: number }, (_, visit) => ({ Patient: patient, Cost: 100 - visit, Region }))

/** Others have more rows than are kept, so that the two datasets must keep the same ones. */
const OTHERS = [...visits('a', 6), ...visits('b', 1), ...visits('c', 9)]

const PAIRS: readonly (Pick<AuditedPair, 'neighbours' | 'rows' | 'neighbourRows'> & {
  readonly rise: number
})[] = [
  { neighbours: 'add-remove', rows: [...OTHERS, ...visits('d', 5)], neighbourRows: OTHERS, rise: 3 },
  {
    neighbours: 'change-one',
    rows: [...OTHERS, ...visits('d', 5)],
    neighbourRows: [...OTHERS, ...visits('e', 1, 'S')],
    rise: 3,
  },
]

const RELEASES = 2_000
const QUERY = {
  kind: 'count',
  where: { column: 'Region', op: '=', value: 'N' },
  mechanism: 'geometric',
  epsilon: 1,
}
/** Rows in the region that are kept of the people in both datasets: three, one and three. */
const OF_OTHERS = 7

async function releasesOf(
  { auditPair }: typeof asItIs,
  { rise: _, ...pair }: (typeof PAIRS)[number],
): Promise<readonly (readonly number[])[]> {
  const unused = () => Promise.reject(new Error('the engine of the pair is used'))
  const results = await auditPair(
    {
      engine: aggregating(unused),
      noiseSource: systemEntropy(),
      limits: { maxCells: 100 },
      leaseMs: 60_000,
      clock: systemClock,
      admission: WITHOUT_QUEUE,
      temporaryDirectory: directory,
    },
    (folder) =>
      openAuditedPair(
        prepareAuditedPair({
          ...pair,
          columns: COLUMNS,
          privacyUnit: { kind: 'person', column: 'Patient', maxRows: 3 },
        }),
        folder,
      ),
    {
      request: { kind: 'query', query: querySchema.parse(QUERY) },
      releases: RELEASES,
      givenUp: () => false,
    },
  )
  return results.map((list) =>
    list.map((result) => {
      if (typeof result === 'object' && result !== null && 'value' in result) return Number(result.value)
      throw new Error('one value was asked for')
    }),
  )
}

/** The probability that either bound of a test fails by chance is below this. */
const RISK = 1e-12

/** Chernoff bounds of a probability from a number of successes. */
function bounds(successes: number): { readonly lower: number; readonly upper: number } {
  const share = successes / RELEASES
  const allowed = Math.log(2 / RISK) / RELEASES
  const part = (p: number, q: number) => (p === 0 ? 0 : p * Math.log(p / q))
  const divergence = (q: number) => part(share, q) + part(1 - share, 1 - q)
  const furthest = (end: number) => {
    let [near, far] = [share, end]
    for (let halving = 0; halving < 60; halving += 1) {
      const middle = (near + far) / 2
      if (middle > 0 && middle < 1 && divergence(middle) <= allowed) near = middle
      else far = middle
    }
    return far
  }
  return { lower: furthest(0), upper: furthest(1) }
}

/** A lower bound of epsilon, from how often each dataset reaches the count of the one with more rows. */
function leastEpsilon([here = [], there = []]: readonly (readonly number[])[], rise: number): number {
  const reached = (values: readonly number[]) => values.filter((value) => value >= OF_OTHERS + rise).length
  return Math.log(bounds(reached(here)).lower / bounds(reached(there)).upper)
}

test.each(PAIRS)('a person with several rows is protected at the price, under $neighbours', async (pair) => {
  const least = leastEpsilon(await releasesOf(asItIs, pair), pair.rise)
  expect(least).toBeLessThan(1)
  // About 0.59: 2,000 releases leave that much uncertainty.
  expect(least).toBeGreaterThan(0.4)
})

const NOISE_FOR_ONE_ROW = placed([
  {
    file: 'core/planner/price/stability.ts',
    find: 'const rows = smaller(BigInt(bounding.rows), most)',
    replace: 'const rows = 1n',
  },
])

test.each(PAIRS)('noise for one row of each person is detected, under $neighbours', async (pair) => {
  await withChangedSource(NOISE_FOR_ONE_ROW, {}, async (load) => {
    const wrong = await load<typeof asItIs>('answers/audit/audit.ts')
    expect(leastEpsilon(await releasesOf(wrong, pair), pair.rise)).toBeGreaterThan(1.5)
  })
})
