import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../schemas/answers/query.ts'
import { type Dataset, isGrid, type QueryableColumn } from '../../src/core/dataset/dataset.ts'
import { normalForm } from '../../src/core/planner/identity/normal-form.ts'
import type { Aggregate } from '../../src/core/planner/language/aggregate.ts'
import { columnNamed } from '../../src/core/planner/language/columns.ts'
import { planGrouping } from '../../src/core/planner/language/grouping.ts'
import { plan } from '../../src/core/planner/plan.ts'
import type { DuckDbEngine } from '../../src/engines/duckdb/engine.ts'
import { ingest } from '../../src/engines/duckdb/ingestion/ingest.ts'
import { must } from '../../src/privacy/must.ts'
import { LIMITS } from '../core/planner/planned.ts'
import { folderForAll } from '../folders.ts'
import { columns, randomRows } from './arbitraries.ts'
import { CLOCK_CHANGES, clockTable, csvOf, ZONES } from './conformance-tables.ts'
import { datasetOf, openTestEngine, storedRows } from './fixture.ts'
import { type Computed, type Expressed, numberExpression, otherExpression } from './random-expressions.ts'
import type { StoredRow } from './reference-engine.ts'

const folder = folderForAll()
const dataset: Dataset = datasetOf(columns, 'expressions')
let engine: DuckDbEngine
let rows: readonly StoredRow[] = []

beforeAll(async () => {
  const [sourcePath, targetPath] = [join(folder.path, 'rows.csv'), join(folder.path, 'expressions.duckdb')]
  await writeFile(sourcePath, randomRows(60, 3))
  await ingest({ sourcePath, format: 'csv', columns, privacyUnit: { kind: 'row' }, targetPath })
  rows = await storedRows(targetPath, columns)
  engine = openTestEngine(folder.path)
  await engine.open(dataset)
})
afterAll(() => engine.close())

/** The index of a value that must lie on the grid of its column, or its place among the values. */
function indexOf(column: QueryableColumn, value: Exclude<Computed, null>): bigint {
  if (typeof value === 'string')
    return BigInt(column.type === 'category' ? column.categories.indexOf(value) : -1)
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (!isGrid(column)) throw new Error('a number has a grid')
  const [numerator, denominator] = [value[0] * 1_000_000_000n, value[1] * column.stepNano]
  expect(numerator % denominator, `${column.name} is on its grid`).toBe(0n)
  return numerator / denominator
}

function expected(column: QueryableColumn, { compute }: Expressed): ReadonlyMap<bigint, number> {
  const counts = new Map<bigint, number>()
  for (const row of rows) {
    const value = compute(row)
    if (value === null) {
      expect(column.nullable, `${column.name} can be NULL`).toBe(true)
      continue
    }
    const index = indexOf(column, value)
    if (isGrid(column)) {
      expect(index, `${column.name} is not below its bounds`).toBeGreaterThanOrEqual(column.lowerIndex)
      expect(index, `${column.name} is not above its bounds`).toBeLessThanOrEqual(column.upperIndex)
    }
    counts.set(index, (counts.get(index) ?? 0) + 1)
  }
  return new Map([...counts].toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

async function counted(column: QueryableColumn): Promise<ReadonlyMap<bigint, number>> {
  const bounding = { kind: 'one-row-each' } as const
  if (isGrid(column)) {
    const { indexes: values, counts } = await engine.countIndexes(dataset, { column: column.name, bounding })
    return new Map(Array.from(values, (value, place) => [BigInt(value), must(counts[place], 'a count')]))
  }
  const size = column.type === 'category' ? column.categories.length : 2
  const key =
    column.type === 'category'
      ? ({ kind: 'category', column: column.name, size, nullCell: false } as const)
      : ({ kind: 'boolean', column: column.name, nullCell: false } as const)
  const aggregate: Aggregate = { groupBy: [key], statistics: [{ kind: 'count' }], bounding }
  const [cells = []] = await engine.aggregate(dataset, aggregate)
  return new Map(
    cells.flatMap((count, place) => (count === 0n ? [] : [[BigInt(place), Number(count)] as const])),
  )
}

describe('random expressions', () => {
  test.each([
    ['numbers', numberExpression],
    ['truths and texts', otherExpression],
  ])('of %s have the values of a reference in rationals, within their bounds', async (_, expressions) => {
    let derived = 0
    const property = fc.asyncProperty(expressions, async (expression) => {
      const column = columnNamed(dataset, expression.text)
      if (column === undefined) return
      derived += 1
      expect(columnNamed(dataset, column.name)?.name, 'a normal form is its own').toBe(column.name)
      expect(await counted(column), expression.text).toEqual(expected(column, expression))
    })
    await fc.assert(property, { numRuns: 120, seed: 7 })
    expect(derived, 'expressions that are not refused').toBeGreaterThan(60)
  })
})

describe('cells by the clock of a time zone', () => {
  const table = clockTable()
  const zoned = datasetOf(
    table.columns.map((each) => each.column),
    'zoned',
  )

  beforeAll(async () => {
    const [sourcePath, targetPath] = [join(folder.path, 'zoned.csv'), join(folder.path, 'zoned.duckdb')]
    await writeFile(sourcePath, csvOf(table))
    await ingest({
      sourcePath,
      format: 'csv',
      columns: zoned.columns,
      privacyUnit: { kind: 'row' },
      targetPath,
    })
    await engine.open(zoned)
  })

  const counts = async (by: 'day' | 'hour' | 'month' | 'dayOfWeek', timeZone: string) => {
    const { key, labels } = planGrouping({ column: 'at', by, timeZone }, zoned, 'column')
    const bounding = { kind: 'one-row-each' } as const
    const aggregate: Aggregate = { groupBy: [key], statistics: [{ kind: 'count' }], bounding }
    const [cells = []] = await engine.aggregate(zoned, aggregate)
    return Object.fromEntries(
      labels.flatMap((label, place) => (cells[place] ? [[String(label), Number(cells[place])]] : [])),
    )
  }

  test.each(ZONES)('of %s contain the instants that it shows in them', async (timeZone) => {
    const format = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' })
    const weekday = new Intl.DateTimeFormat('en', { timeZone, weekday: 'long' })
    const expectedBy = (name: (instant: Date) => string) => {
      const found: Record<string, number> = {}
      for (const instant of CLOCK_CHANGES) found[name(instant)] = (found[name(instant)] ?? 0) + 1
      return found
    }
    expect(await counts('day', timeZone)).toEqual(expectedBy((instant) => format.format(instant)))
    expect(await counts('month', timeZone)).toEqual(
      expectedBy((instant) => format.format(instant).slice(0, 7)),
    )
    expect(await counts('dayOfWeek', timeZone)).toEqual(expectedBy((instant) => weekday.format(instant)))
  })

  test('have days of 23 and 25 hours, and two hours where the clock shows one twice', async () => {
    const days = await counts('day', 'America/New_York')
    expect([days['2024-03-09'], days['2024-03-10'], days['2024-11-03']]).toEqual([48, 46, 50])
    const hours = await counts('hour', 'America/New_York')
    expect([hours['2024-11-03T01-04:00'], hours['2024-11-03T01-05:00']]).toEqual([2, 2])
    expect([
      hours['2024-03-10T01-05:00'],
      hours['2024-03-10T02-05:00'],
      hours['2024-03-10T03-04:00'],
    ]).toEqual([2, undefined, 2])
  })

  test('are of one zone, whatever the case of its name, and of UTC those without one', () => {
    const ofZone = (timeZone: string) =>
      normalForm(
        plan(query.parse({ ...asked, column: { column: 'at', by: 'day', timeZone } }), zoned, LIMITS),
      )
    const asked = { kind: 'histogram', epsilon: 1 }
    expect(ofZone('asia/TOKYO')).toEqual(ofZone('Asia/Tokyo'))
    expect(ofZone('utc')).toEqual(
      normalForm(plan(query.parse({ ...asked, column: { column: 'at', by: 'day' } }), zoned, LIMITS)),
    )
    expect(columnNamed(zoned, "local(at, 'asia/tokyo')")?.name).toBe("local(at, 'Asia/Tokyo')")
    expect(columnNamed(zoned, "local(at, 'utc')")?.name).toBe('at')
  })

  test('are those of a zone that exists, and of timestamps', () => {
    const grouping = { column: 'at', by: 'day', timeZone: 'Mars/Base' } as const
    expect(() => planGrouping(grouping, zoned, 'column')).toThrow('column.timeZone: has "Mars/Base"')
    expect(() => planGrouping({ ...grouping, column: 'day' }, dataset, 'column')).toThrow(
      'must give local a timestamp',
    )
  })
})
