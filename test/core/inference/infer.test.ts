import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import { INFERENCE_LIMITS, infer, type PaidRelease } from '../../../src/core/inference/infer.ts'
import { aggregateRows, type StoredRow } from '../../engines/reference-engine.ts'
import { PERSON, RANK } from '../../engines/reference-people.ts'
import { rowOf } from '../planner/arbitraries.ts'
import { patients, people } from '../planner/neighbours/people.ts'
import { exactNodes, exactRelease, isInferred, planned } from './inferred.ts'

const rowsOfPeople = people('add-remove')
const ofPatients = patients('add-remove')

/** Rows of people with one row to four; Sex and Region are constant per person. */
const rowsOfPatients: fc.Arbitrary<readonly StoredRow[]> = fc
  .array(fc.array(rowOf(ofPatients), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 12 })
  .map((persons) =>
    persons.flatMap((own, person) =>
      own.map((row, rank) => ({
        ...row,
        Sex: own[0]?.Sex ?? null,
        Region: own[0]?.Region ?? null,
        [PERSON]: BigInt(person),
        [RANK]: BigInt(rank + 1),
      })),
    ),
  )

const male = { column: 'Sex', op: '=', value: 'M' }
const member = { column: 'Member', op: '=', value: true }
const inNorth = { column: 'Region', op: '=', value: 'N' }
const adult = { column: 'Age', op: '>=', value: 18 }
const where = fc.constantFrom(
  undefined,
  male,
  { op: 'not', predicate: male },
  member,
  { op: 'not', predicate: member },
  inNorth,
  adult,
  { op: 'not', predicate: adult },
  { op: 'and', predicates: [male, member] },
  { op: 'or', predicates: [male, inNorth] },
)
const keys = fc.constantFrom(
  ['Sex'],
  ['Sex', 'Member'],
  ['Member'],
  ['Region'],
  [{ column: 'Age', edges: [0, 18, 65, 120] }],
  [{ column: 'Visited', by: 'month' }],
  ['Sex', { column: 'Age', edges: [0, 18, 120] }],
)
const statistic = fc.constantFrom(
  { kind: 'count' },
  { kind: 'sum', column: 'Age' },
  { kind: 'sum', column: 'Age', clamp: { lower: 18, upper: 65 } },
  { kind: 'mean', column: 'Income' },
  { kind: 'sum', column: 'Income' },
  { kind: 'variance', column: 'Age' },
  { kind: 'proportion', of: member, name: 'members' },
)
const ofRows = fc.oneof(
  fc.record({ kind: fc.constant('count'), where }, { requiredKeys: ['kind'] }),
  fc.record({
    kind: fc.constantFrom('sum', 'mean', 'variance'),
    column: fc.constantFrom('Age', 'Income'),
    where,
  }),
  fc.record({ kind: fc.constant('groupBy'), keys, statistics: statistic.map((one) => [one]), where }),
  fc.record({ kind: fc.constant('proportion'), of: fc.constantFrom(member, adult), where }),
)
const bounds = fc.constantFrom(undefined, undefined, { rows: 1 }, { rows: 2 }, { rows: 4 })
const groupBounds = fc.constantFrom(undefined, { rows: 1 }, { groups: 1 }, { groups: 2, rowsPerGroup: 2 })
const wherePersons = fc.constantFrom(
  undefined,
  undefined,
  male,
  { op: 'not', predicate: male },
  member,
  inNorth,
)
const ofPersons = fc.oneof(
  fc.record({
    kind: fc.constant('count'),
    of: fc.constantFrom('people', 'rows'),
    where: wherePersons,
    contribution: bounds,
  }),
  fc.record({
    kind: fc.constantFrom('sum', 'mean'),
    column: fc.constant('Age'),
    where: wherePersons,
    contribution: bounds,
  }),
  fc.record({
    kind: fc.constant('groupBy'),
    keys,
    statistics: fc.constantFrom(
      [{ kind: 'count', of: 'people' }],
      [{ kind: 'count' }],
      [{ kind: 'sum', column: 'Age' }],
    ),
    where: wherePersons,
    contribution: groupBounds,
  }),
)

/** Checks that the identity behind every estimate holds on exact integers; returns whether there was an estimate. */
function identityHolds(
  target: object,
  paid: readonly object[],
  dataset: Dataset,
  rows: readonly StoredRow[],
): boolean {
  return identityHoldsFor(
    target,
    paid.map((each, place) => exactRelease(each, dataset, rows, String(place))),
    dataset,
    rows,
  )
}

function identityHoldsFor(
  target: object,
  releases: readonly PaidRelease[],
  dataset: Dataset,
  rows: readonly StoredRow[],
): boolean {
  const question = planned(target, dataset)
  const found = infer(question, releases)
  if (!isInferred(found)) return false
  const exact = aggregateRows(question.aggregate, rows)
  for (const [statistic, cells] of found.statistics.entries())
    for (const [cell, { terms, denominator }] of cells.entries()) {
      const sum = terms.reduce((total, term) => {
        const release = releases[Number(term.release)] as PaidRelease
        return total + term.weight * (release.integers[term.statistic]?.[term.cell] ?? 0n)
      }, 0n)
      expect(sum).toBe((exact[statistic]?.[cell] ?? 0n) * denominator)
    }
  return true
}

describe('the identity behind every estimate holds on the exact integers', () => {
  test('of rows', () => {
    let estimates = 0
    fc.assert(
      fc.property(
        ofRows,
        fc.array(ofRows, { minLength: 3, maxLength: 8 }),
        fc.array(rowOf(rowsOfPeople), { maxLength: 30 }),
        (target, paid, rows) => {
          if (identityHolds(target, paid, rowsOfPeople, rows)) estimates += 1
        },
      ),
      { numRuns: 300 },
    )
    expect(estimates).toBeGreaterThan(20)
  })

  test('of people with skewed numbers of rows', () => {
    let estimates = 0
    fc.assert(
      fc.property(
        ofPersons,
        fc.array(ofPersons, { minLength: 4, maxLength: 10 }),
        rowsOfPatients,
        (target, paid, rows) => {
          if (identityHolds(target, paid, ofPatients, rows)) estimates += 1
        },
      ),
      { numRuns: 300 },
    )
    expect(estimates).toBeGreaterThan(20)
  })

  test.each([
    ['rows', rowsOfPeople, fc.array(rowOf(rowsOfPeople), { maxLength: 30 })],
    ['rows of people', ofPatients, rowsOfPatients],
  ] as const)('of any range of a paid curve: %s', (_, dataset, someRows) => {
    const inside = { column: 'Age', op: 'between', lower: 18, upper: 64 }
    const member = { column: 'Member', op: '=', value: true }
    fc.assert(
      fc.property(someRows, fc.boolean(), (rows, isFiltered) => {
        const where = isFiltered ? member : undefined
        const curve = exactNodes({ column: 'Age', ...(where && { where }) }, dataset, rows, '0')
        const parts = exactRelease(
          { kind: 'histogram', column: { column: 'Age', edges: [0, 18, 120] } },
          dataset,
          rows,
          '1',
        )
        const target = { kind: 'count', where: where ? { op: 'and', predicates: [inside, where] } : inside }
        expect(identityHoldsFor(target, [curve, { ...parts, id: '1' }], dataset, rows)).toBe(true)
        expect(identityHoldsFor({ kind: 'count' }, [curve], dataset, rows)).toBe(!isFiltered)
      }),
      { numRuns: 10 },
    )
  })
})

describe('tables with more elementary cells than can be worked with are added up', () => {
  const counts = { kind: 'groupBy', statistics: [{ kind: 'count' }] }
  const byYear = { column: 'Age', edges: Array.from({ length: 121 }, (_, year) => year) }
  const byDay = { column: 'Visited', by: 'day' }
  const byRegion = { ...counts, keys: ['Region'] }
  const ofAges = { ...counts, keys: [byYear, 'Region', 'Sex'] }
  const ofDays = { ...counts, keys: [byDay, 'Region', 'Sex'] }
  const rows = fc.sample(rowOf(rowsOfPeople), { numRuns: 200, seed: 1 })
  const variancesOf = (target: object, paid: readonly object[]) => {
    expect(identityHolds(target, paid, rowsOfPeople, rows)).toBe(true)
    const releases = paid.map((each, place) => exactRelease(each, rowsOfPeople, rows, String(place)))
    const found = infer(planned(target, rowsOfPeople), releases)
    return isInferred(found) ? found.statistics.flat().map(({ variance }) => variance) : []
  }
  const sizeOf = (wire: object) =>
    planned(wire, rowsOfPeople).groupings.reduce((size, { labels }) => size * labels.length, 1)
  /** The variance of a cell, in that of a paid cell, of a number of cells that are added up. */
  const [one = Number.NaN] = variancesOf(byRegion, [byRegion])
  const expectVariance = (found: readonly number[], cells: number) => {
    for (const variance of found) expect(variance / one).toBeCloseTo(cells, 6)
  }

  test('over columns that the question is not about, with nothing lost', () => {
    const regions = sizeOf(byRegion)
    const [ages, days] = [sizeOf(ofAges) / regions, sizeOf(ofDays) / regions]
    expect(sizeOf(ofAges) * days).toBeGreaterThan(INFERENCE_LIMITS.cells)
    expectVariance(variancesOf(byRegion, [ofDays]), days)
    expectVariance(variancesOf(byRegion, [ofAges, ofDays]), 1 / (1 / ages + 1 / days))
    expectVariance(variancesOf(byRegion, [ofAges, ofDays, byRegion]), 1 / (1 / ages + 1 / days + 1))
  })

  test('over bins that the question does not tell apart', () => {
    const grown = { ...counts, keys: [{ column: 'Age', edges: [0, 18, 120] }, 'Region'] }
    // About days, so that they are not added up otherwise.
    const march = { kind: 'count', where: { column: 'Visited', op: '>=', value: '2024-03-01' } }
    const found = variancesOf(grown, [ofDays, march, ofAges])
    const [young, old, all] = [2 * 18, 2 * 102, sizeOf(ofDays) / sizeOf(byRegion)]
    const combined = (own: number, others: number) => (own * others) / (own + others)
    const expected = [combined(young, old + all), combined(old, young + all)]
    expect(found).toHaveLength(2 * sizeOf(byRegion))
    for (const [place, variance] of found.entries())
      expect(variance / one).toBeCloseTo(expected[place < found.length / 2 ? 0 : 1] ?? Number.NaN, 6)
  })

  test('but not people over columns in which a person can have several values', () => {
    const people = (keys: readonly unknown[]) => ({
      ...counts,
      keys,
      statistics: [{ kind: 'count', of: 'people' }],
    })
    const paid = (keys: readonly unknown[]) => exactRelease(people(keys), ofPatients, [], 'paid')
    const follows = (keys: readonly unknown[], from: readonly unknown[]) =>
      isInferred(infer(planned(people(keys), ofPatients), [paid(from)]))
    expect(follows(['Sex'], ['Sex', 'Region'])).toBe(true)
    expect(follows(['Sex'], ['Sex', 'Member'])).toBe(false)
  })
})

test('an epsilon whose noise is 0 in floating point has an estimate', () => {
  const epsilon = 900
  const months = { kind: 'histogram', column: { column: 'Visited', by: 'month' }, epsilon }
  const days = { kind: 'histogram', column: { column: 'Visited', by: 'day' }, epsilon }
  const paid = [months, days].map((each, place) => exactRelease(each, rowsOfPeople, [], String(place)))
  expect(isInferred(infer(planned(months, rowsOfPeople), paid))).toBe(true)
})
