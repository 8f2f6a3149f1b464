import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type Column,
  type Dataset,
  isGrid,
  isQueryable,
  type KeyedPrivacyUnit,
} from '../../src/core/dataset/dataset.ts'
import type {
  Aggregate,
  Bounding,
  GroupKey,
  ValueCounting,
} from '../../src/core/planner/language/aggregate.ts'
import { columnNamed } from '../../src/core/planner/language/columns.ts'
import { planGrouping } from '../../src/core/planner/language/grouping.ts'
import type { TextCounts } from '../../src/core/planner/language/reading.ts'
import type { DuckDbEngine } from '../../src/engines/duckdb/engine.ts'
import { ingest } from '../../src/engines/duckdb/ingestion/ingest.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { describeClamped, describeMisfits } from '../../src/engines/misfits.ts'
import type {
  StoredRows,
  TableDataset,
  TableEngine,
  TableName,
} from '../../src/engines/tables/table-engine.ts'
import { must } from '../../src/privacy/must.ts'
import { folderForAll } from '../folders.ts'
import {
  aggregate,
  aggregateOfPeople,
  CONSTANT_COLUMNS,
  cellCounting,
  cellCountingOfPeople,
  clampedOrNot,
  countingOf,
  countingOfPeople,
  countingOfPersonValues,
  numericNames,
  profileOfPeople,
} from './arbitraries.ts'
import {
  clockTable,
  csvOf,
  encodedTables,
  queriedTables,
  type SourceTable,
  ZONES,
} from './conformance-tables.ts'
import { datasetOf, openTestEngine, withDuckDb } from './fixture.ts'
import { type Expressed, numberExpression, otherExpression } from './random-expressions.ts'

/** A database whose engine is compared with DuckDB. */
export interface TestedDatabase {
  readonly engine: TableEngine
  /** Creates a table with these columns and rows. */
  load(table: SourceTable): Promise<TableName>
}

export interface ConformanceOptions {
  /** Number of the tables that random queries read, and of the rows of each. */
  readonly tables?: number
  readonly rows?: number
  /** Random queries of each kind for each table. */
  readonly queries?: number
  /** False if the stored value of every value is compared elsewhere. */
  readonly encodings?: boolean
  /** False if the database has no decimals of any size. */
  readonly unbounded?: boolean
}

const KEY = '0123456789abcdef'.repeat(4)
const MAX_ROWS = 6

/**
 * Tests that a database computes the same integers as DuckDB over the same rows: the stored value of every value of every
 * type, and random queries of every kind over rows and people.
 */
export function testConformance(
  database: () => Promise<TestedDatabase>,
  {
    tables: mostTables = 3,
    rows = 3_000,
    queries = 20,
    encodings = true,
    unbounded = true,
  }: ConformanceOptions = {},
): void {
  const folder = folderForAll()
  let tested: TestedDatabase
  let duckDb: DuckDbEngine
  beforeAll(async () => {
    tested = await database()
    duckDb = openTestEngine(folder.path)
  })
  afterAll(async () => {
    await duckDb?.close()
    await tested?.engine.close()
  })

  /** Stores a table in DuckDB. */
  const store = async (table: SourceTable, dataset: Dataset, unit: KeyedPrivacyUnit) => {
    const [sourcePath, targetPath] = [
      join(folder.path, `${table.name}.csv`),
      join(folder.path, `${dataset.id}.duckdb`),
    ]
    await writeFile(sourcePath, csvOf(table))
    return ingest({ sourcePath, format: 'csv', columns: dataset.columns, privacyUnit: unit, targetPath })
  }

  const encoded = encodings ? encodedTables(400, { unbounded }) : []
  it.each(encoded.map((table) => [table.name, table] as const))(
    'stores the same values of %s, whatever the other rows',
    async (_, table) => {
      const name = await tested.load(table)
      // A value may be stored or refused, but every column must fit.
      const dataset = datasetOf(
        table.columns.map(({ column }) => column),
        table.name,
      )
      const hasIdentifier = dataset.columns.some(({ type }) => type === 'identifier')
      const unit: KeyedPrivacyUnit = hasIdentifier
        ? { kind: 'person', column: 'id', maxRows: MAX_ROWS, key: KEY }
        : { kind: 'row' }
      const tableDataset = tableDatasetOf(dataset, name, unit, await tested.engine.describe(name))
      const {
        rowsBeyondMaxRows: _beyond,
        invalidValues,
        clampedValues,
        ...counts
      } = await store(table, dataset, unit)
      const inspection = await tested.engine.inspect(tableDataset)
      expect(inspection).toMatchObject(counts)
      // Where a decimal of more than 15 digits is almost half a step beyond a bound, DuckDB takes it for the half step.
      for (const [place, { column, values }] of describeClamped(
        dataset.columns,
        inspection.clamped,
      ).entries()) {
        expect(clampedValues[place]?.column).toBe(column)
        expect(Math.abs(values - (clampedValues[place]?.values ?? Number.NaN)), column).toBeLessThan(10)
      }
      const withoutPlaces = invalidValues.map(({ misfits = [], ...each }) => ({
        ...each,
        misfits: misfits.map(({ rule, values }) => ({ rule, values })),
      }))
      expect(await describeMisfits(dataset.columns, inspection.misfits)).toEqual(withoutPlaces)
      if (hasIdentifier) return
      const expected = await storedTexts(join(folder.path, `${dataset.id}.duckdb`), dataset.columns)
      const stored = await collected(tested.engine.read(tableDataset))
      for (const [i, { name: column }] of dataset.columns.entries()) {
        const values = (all: StoredRows) => all.map((row) => row[i]).sort()
        expect(values(stored), `the values of ${column}`).toEqual(values(expected))
      }
      expect(sorted(stored)).toEqual(sorted(expected))
    },
  )

  it('counts the same instants in the cells of time zones', async () => {
    const table = clockTable()
    const dataset = datasetOf(
      table.columns.map(({ column }) => column),
      table.name,
    )
    const name = await tested.load(table)
    await store(table, dataset, { kind: 'row' })
    await duckDb.open(dataset)
    tested.engine.open(tableDatasetOf(dataset, name, { kind: 'row' }, await tested.engine.describe(name)))
    for (const timeZone of ZONES)
      for (const by of ['day', 'hour', 'dayOfWeek'] as const) {
        const { key } = planGrouping({ column: 'at', by, timeZone }, dataset, 'column')
        const bounding = { kind: 'one-row-each' } as const
        const asked: Aggregate = { groupBy: [key], statistics: [{ kind: 'count' }], bounding }
        const [here, there] = await Promise.all([
          tested.engine.aggregate(dataset, asked),
          duckDb.aggregate(dataset, asked),
        ])
        expect(here, `${by} in ${timeZone}`).toEqual(there)
      }
  })

  const tables = queriedTables(rows).slice(0, mostTables)
  for (const table of tables) {
    const declared = table.columns.map(({ column }) => column)
    const constant = table === tables[0]
    const people = declared.map(
      (each): Column =>
        constant && each.type !== 'identifier' && CONSTANT_COLUMNS.some((name) => name === each.name)
          ? { ...each, constantPerPerson: true }
          : each,
    )
    const ofRows = datasetOf(declared, `${table.name}_rows`)
    const ofPeople: Dataset = {
      ...datasetOf(people, `${table.name}_people`),
      privacyUnit: { kind: 'person', column: 'id', maxRows: MAX_ROWS },
    }
    let isOpen = false
    const open = async () => {
      if (isOpen) return
      isOpen = true
      const name = await tested.load(table)
      const found = await tested.engine.describe(name)
      for (const [dataset, unit] of [
        [ofRows, { kind: 'row' }],
        [ofPeople, { kind: 'person', column: 'id', maxRows: MAX_ROWS, key: KEY }],
      ] as const) {
        await store(table, dataset.privacyUnit.kind === 'row' ? withoutRepetition(dataset) : dataset, unit)
        await duckDb.open(dataset)
        tested.engine.open(tableDatasetOf(withoutRepetition(dataset), name, unit, found))
      }
    }
    const same = async <Given>(
      given: fc.Arbitrary<Given>,
      ask: (engine: Engine, dataset: Dataset, query: Given) => Promise<unknown>,
      dataset: Dataset,
      numRuns = queries,
    ) => {
      await open()
      const property = fc.asyncProperty(given, async (query) => {
        const [here, there] = await Promise.all([
          ask(tested.engine, dataset, query),
          ask(duckDb, dataset, query),
        ])
        expect(here).toEqual(there)
      })
      await fc.assert(property, { numRuns, seed: 11 })
    }

    it(`computes the same aggregates of ${ofRows.id}`, () =>
      same(aggregate, (engine, dataset, query) => engine.aggregate(dataset, query), ofRows))
    it(`computes the same aggregates of ${ofPeople.id}`, () =>
      same(aggregateOfPeople, (engine, dataset, query) => engine.aggregate(dataset, query), ofPeople))
    it(`counts the same people by the number of their rows of ${ofPeople.id}`, () =>
      same(profileOfPeople, (engine, dataset, query) => engine.aggregate(dataset, query), ofPeople))
    it(`counts the same indexes of ${ofRows.id}`, () =>
      same(
        clampedOrNot(countingOf(numericNames)),
        (engine, dataset, query) => engine.countIndexes(dataset, query),
        ofRows,
      ))
    it(`counts the same indexes of ${ofPeople.id}`, () =>
      same(
        fc.oneof(clampedOrNot(countingOfPeople(numericNames)), countingOfPersonValues),
        (engine, dataset, query) => engine.countIndexes(dataset, query),
        ofPeople,
      ))
    it(`counts the same indexes in cells of ${ofRows.id}`, () =>
      same(cellCounting, (engine, dataset, query) => engine.countIndexesInCells(dataset, query), ofRows))
    it(`counts the same indexes in cells of ${ofPeople.id}`, () =>
      same(
        cellCountingOfPeople,
        (engine, dataset, query) => engine.countIndexesInCells(dataset, query),
        ofPeople,
      ))
    it(`computes the same expressions of ${ofRows.id} and ${ofPeople.id}`, async () => {
      for (const dataset of [ofRows, ofPeople])
        await same(
          expressed(dataset),
          async (engine, _, query) => ({
            indexes: await engine.countIndexes(dataset, query.counting),
            cells: await engine.aggregate(dataset, query.aggregate),
          }),
          dataset,
          Math.ceil(queries / 4),
        )
    })
    const texts = fc.constant('Name with spaces')
    it(`counts the same texts of ${ofRows.id}`, () =>
      same(
        countingOf(texts),
        async (engine, dataset, query) => byText(await engine.countTexts(dataset, query)),
        ofRows,
      ))
    it(`counts the same texts of ${ofPeople.id}`, () =>
      same(
        countingOfPeople(texts),
        async (engine, dataset, query) => byText(await engine.countTexts(dataset, query)),
        ofPeople,
      ))
  }
}

/** Counts of the values of an expression, and its sum in the cells of another. */
function expressed(dataset: Dataset): fc.Arbitrary<{
  readonly counting: ValueCounting
  readonly aggregate: Aggregate
}> {
  const column = ({ text }: Expressed) => columnNamed(dataset, text)
  const numbers = numberExpression.map(column).filter((found) => found !== undefined && isGrid(found))
  const keys = otherExpression.map((expression): GroupKey[] => {
    const found = column(expression)
    if (found === undefined) return []
    if (found.type === 'boolean') return [{ kind: 'boolean', column: found.name, nullCell: found.nullable }]
    if (found.type !== 'category') throw new Error('the expression is neither a truth nor a text')
    const { categories, nullable: nullCell } = found
    return [{ kind: 'category', column: found.name, size: categories.length, nullCell }]
  })
  const bounding: Bounding =
    dataset.privacyUnit.kind === 'row' ? { kind: 'one-row-each' } : { kind: 'rows', rows: 2 }
  return fc.tuple(numbers, keys).map(([number, groupBy]) => {
    const { name } = must(number, 'an expression that is not refused')
    const where = { kind: 'not', predicate: { kind: 'is-null', column: name } } as const
    const sum = { kind: 'affine-sum', column: name, factor: 1n, offset: 0n } as const
    return {
      counting: { column: name, bounding },
      aggregate: { where, groupBy, statistics: [{ kind: 'count' }, sum], bounding },
    }
  })
}

/** The dataset without its identifier, which must not repeat where rows are people. */
function withoutRepetition(dataset: Dataset): Dataset {
  return dataset.privacyUnit.kind === 'person'
    ? dataset
    : { ...dataset, columns: dataset.columns.filter(isQueryable) }
}

function tableDatasetOf(
  dataset: Dataset,
  table: TableName,
  unit: KeyedPrivacyUnit,
  found: Awaited<ReturnType<TableEngine['describe']>>,
): TableDataset {
  const columns = dataset.columns.map(({ name }) => {
    const column = found?.find((each) => each.name.toLowerCase() === name.toLowerCase())
    if (column === undefined) throw new Error(`the table has no column ${name}`)
    return column
  })
  return { dataset, table, columns, unit }
}

async function storedTexts(file: string, columns: readonly Column[]): Promise<StoredRows> {
  const texts = columns.map(({ name }) => `"${name}"::VARCHAR`)
  const rows = await withDuckDb(file, `SELECT ${texts.join(', ')} FROM rows`)
  return rows.map((row) => row.map((value) => (typeof value === 'string' ? value : null)))
}

async function collected(batches: AsyncIterable<StoredRows>): Promise<StoredRows> {
  const rows: (readonly (string | null)[])[] = []
  for await (const batch of batches) rows.push(...batch)
  return rows
}

function sorted(rows: StoredRows): readonly string[] {
  return rows.map((row) => JSON.stringify(row)).sort()
}

function byText({ texts, counts }: TextCounts): ReadonlyMap<string, number | undefined> {
  return new Map(texts.map((text, i) => [text, counts[i]] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
