import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import type { Aggregate, GroupKey, Statistic } from '../../../src/core/planner/language/aggregate.ts'
import type { TextCounts } from '../../../src/core/planner/language/reading.ts'
import type { DuckDbEngine } from '../../../src/engines/duckdb/engine.ts'
import { cases } from '../../cases.ts'
import { folderForAll } from '../../folders.ts'
import {
  aggregateOfPeople,
  bounding,
  cellCountingOfPeople,
  countingOfPeople,
  countingOfPersonValues,
  LARGEST,
  numericNames,
  predicate,
  profileOfPeople,
} from '../arbitraries.ts'
import { column, openTestEngine, withDuckDb } from '../fixture.ts'
import { peopleDataset, writePeople, writeSomePeople, writeSplitPeople } from '../people-table.ts'
import {
  aggregateRows,
  countCellIndexesOf,
  countIndexesOf,
  countTextsOf,
  type StoredRow,
} from '../reference-engine.ts'
import { PERSON, RANK } from '../reference-people.ts'

const folder = folderForAll()
let engine: DuckDbEngine
const datasets: { readonly dataset: Dataset; readonly rows: readonly StoredRow[] }[] = []

beforeAll(async () => {
  engine = openTestEngine(folder.path)
  datasets.push(
    await writePeople(folder.path, 'skewed', { rows: 600, people: 60 }),
    await writePeople(folder.path, 'constant', { rows: 200, people: 40, constant: true }),
    await writePeople(folder.path, 'constant-present', {
      rows: 150,
      people: 30,
      constant: true,
      present: true,
    }),
    await writePeople(folder.path, 'present', { rows: 100, people: 10, present: true }),
    await writePeople(folder.path, 'one-person', { rows: 30, people: 1 }),
    await writePeople(folder.path, 'nobody', { rows: 0, people: 1 }),
  )
  for (const { dataset } of datasets) await engine.open(dataset)
})
afterAll(async () => {
  await engine.close()
})

/** The counts of texts, in an order that does not depend on how they were found. */
function sorted({ texts, counts }: TextCounts): readonly (readonly [string, number | undefined])[] {
  return texts.map((text, place) => [text, counts[place]] as const).sort(([a], [b]) => (a < b ? -1 : 1))
}

describe('over rows of people', () => {
  it('the data distinguish the cases', () => {
    const [skewed] = datasets
    const numbers = new Map<number, number>()
    for (const row of skewed?.rows ?? []) {
      const person = Number(row[PERSON])
      numbers.set(person, Math.max(numbers.get(person) ?? 0, Number(row[RANK])))
    }
    expect(Math.max(...numbers.values())).toBeGreaterThan(20)
    expect(Math.min(...numbers.values())).toBeLessThan(3)
    expect(skewed?.rows.some((row) => row.group === null)).toBe(true)
  })

  it('people are counted by the number of their rows as the reference does, whatever bounds these', async () => {
    const [ofAll] = datasets.filter(({ dataset }) => dataset.id === 'skewed')
    const rows = ofAll?.rows.filter((row) => Number(row[RANK]) <= 61) ?? []
    const { dataset } = ofAll ?? expect.unreachable()
    const split = {
      ...dataset,
      id: 'split',
      privacyUnit: { kind: 'person', column: 'id', maxRows: 2 },
    } as const
    await writeSplitPeople(folder.path, dataset, split.id, { maxRows: 2, most: 61 })
    await engine.open(split)
    await fc.assert(
      fc.asyncProperty(profileOfPeople, async (given) => {
        expect(await engine.aggregate(split, given)).toEqual(aggregateRows(given, rows))
      }),
      { numRuns: cases(60) },
    )
  })

  it('aggregates equal the reference for any bounding', async () => {
    await fc.assert(
      fc.asyncProperty(aggregateOfPeople, async (given) => {
        for (const { dataset, rows } of datasets)
          expect(await engine.aggregate(dataset, given)).toEqual(aggregateRows(given, rows))
      }),
      { numRuns: cases(60) },
    )
  }, 120_000)

  it('counts of values equal the reference for any bounding', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(countingOfPeople(numericNames), countingOfPersonValues),
        countingOfPeople(fc.constant('Name with spaces')),
        cellCountingOfPeople,
        async (numbers, names, inCells) => {
          for (const { dataset, rows } of datasets) {
            expect(await engine.countIndexes(dataset, numbers)).toEqual(countIndexesOf(numbers, rows))
            expect(await engine.countIndexesInCells(dataset, inCells)).toEqual(
              countCellIndexesOf(inCells, rows),
            )
            expect(sorted(await engine.countTexts(dataset, names))).toEqual(sorted(countTextsOf(names, rows)))
          }
        },
      ),
      { numRuns: cases(30) },
    )
  }, 120_000)
})

const group: GroupKey = { kind: 'category', column: 'group', size: 4, nullCell: true }
const flag: GroupKey = { kind: 'boolean', column: 'flag', nullCell: true }
const groupings = fc.constantFrom<readonly GroupKey[]>([], [group], [flag, group])
const additive = fc.constantFrom<Statistic>(
  { kind: 'count' },
  { kind: 'count-people' },
  { kind: 'affine-sum', column: 'small', factor: 1n, offset: 2n },
  { kind: 'affine-square-sum', column: 'small', factor: 2n, offset: -9n },
  {
    kind: 'affine-sum',
    perPerson: { kind: 'sum', column: 'small', lower: -5n, upper: 20n },
    factor: 1n,
    offset: 0n,
  },
  {
    kind: 'affine-sum',
    perPerson: { kind: 'mean', column: 'x', lower: -5n, upper: 20n },
    factor: 3n,
    offset: 1n,
  },
)

describe('bounding of one person', () => {
  it('does not depend on other people: without a person, exactly that person’s contribution is missing', async () => {
    const [skewed] = datasets
    if (skewed === undefined) throw new Error('no dataset')
    for (const person of [0, 1, 7]) {
      const [alone, others] = [`alone-${person}`, `others-${person}`]
      await writeSomePeople(folder.path, skewed.dataset, alone, `${PERSON} = ${person}`)
      await writeSomePeople(folder.path, skewed.dataset, others, `${PERSON} <> ${person}`)
      const parts = [
        { ...skewed.dataset, id: alone },
        { ...skewed.dataset, id: others },
      ]
      for (const part of parts) await engine.open(part)
      await fc.assert(
        fc.asyncProperty(
          fc.record(
            { where: predicate, groupBy: groupings, statistics: fc.tuple(additive, additive), bounding },
            { requiredKeys: ['groupBy', 'statistics', 'bounding'] },
          ),
          async (given: Aggregate) => {
            const [all, own = [], rest = []] = await Promise.all(
              [skewed.dataset, ...parts].map((dataset) => engine.aggregate(dataset, given)),
            )
            const added = own.map((cells, statistic) =>
              cells.map((value, cell) => value + (rest[statistic]?.[cell] ?? 0n)),
            )
            expect(all).toEqual(added)
          },
        ),
        { numRuns: cases(30) },
      )
    }
  }, 120_000)

  it('leaves at most the stated numbers of rows and groups', async () => {
    const person = datasets.find(({ dataset }) => dataset.id === 'one-person')
    if (person === undefined) throw new Error('no dataset')
    let full = 0
    await fc.assert(
      fc.asyncProperty(fc.option(predicate, { nil: undefined }), bounding, async (where, bounds) => {
        const [counts = [], people = []] = await engine.aggregate(person.dataset, {
          ...(where === undefined ? {} : { where }),
          groupBy: [flag, group],
          statistics: [{ kind: 'count' }, { kind: 'count-people' }],
          bounding: bounds,
        })
        const rows = counts.reduce((sum, count) => sum + count, 0n)
        const cells = people.reduce((sum, count) => sum + count, 0n)
        if (bounds.kind === 'rows') expect(rows).toBeLessThanOrEqual(BigInt(bounds.rows))
        if (bounds.kind === 'groups') {
          expect(cells).toBeLessThanOrEqual(BigInt(bounds.groups))
          for (const count of counts) expect(count).toBeLessThanOrEqual(BigInt(bounds.rowsPerGroup))
          if (cells === BigInt(bounds.groups)) full += 1
        }
      }),
      // All of them in every run: few fill their groups.
      { numRuns: 60 },
    )
    expect(full).toBeGreaterThan(0)
  }, 60_000)
})

it('totals per person of more than 64 bits are added up exactly', async () => {
  // Each of 3 people has 4,000 rows at the outermost index, which is a total of 2^53 * 4,000.
  await withDuckDb(
    join(folder.path, 'totals.duckdb'),
    `CREATE TABLE rows AS SELECT CASE WHEN range % 3 = 0 THEN ${-LARGEST} ELSE ${LARGEST} END::BIGINT AS x,
      (range % 3)::INTEGER AS ${PERSON}, (range // 3 + 1)::INTEGER AS ${RANK} FROM range(12000)`,
  )
  const dataset = peopleDataset([column.integer('x', -LARGEST, LARGEST)], 'totals', 4_000)
  await engine.open(dataset)
  const total = 4_000n * LARGEST
  const sumWithin = async (lower: bigint, upper: bigint) => {
    const perPerson = { kind: 'sum', column: 'x', lower, upper } as const
    const [sums] = await engine.aggregate(dataset, {
      groupBy: [],
      statistics: [{ kind: 'affine-sum', perPerson, factor: 1n, offset: 0n }],
      bounding: { kind: 'rows', rows: 4_000 },
    })
    return sums?.[0]
  }
  expect(await sumWithin(-(2n ** 73n), 2n ** 73n)).toBe(total)
  expect(await sumWithin(-total + 1n, 2n ** 73n)).toBe(total + 1n)
  expect(await sumWithin(-(2n ** 73n), total - 1n)).toBe(total - 2n)
  expect(await sumWithin(0n, 2n ** 64n + 5n)).toBe(2n * (2n ** 64n + 5n))
  expect(await sumWithin(-(2n ** 64n) - 5n, 7n)).toBe(-(2n ** 64n) - 5n + 14n)
})
