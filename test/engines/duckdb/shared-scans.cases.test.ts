// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of source files, not templates.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance, DuckDBPreparedStatement } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import type {
  Aggregate,
  GroupKey,
  Predicate,
  Statistic,
} from '../../../src/core/planner/language/aggregate.ts'
import { execute, readRows } from '../../../src/engines/duckdb/connection.ts'
import { duckDbDialect } from '../../../src/engines/duckdb/dialect.ts'
import type { DuckDbEngine } from '../../../src/engines/duckdb/engine.ts'
import { ingest } from '../../../src/engines/duckdb/ingestion/ingest.ts'
import { EngineFailure } from '../../../src/engines/engine.ts'
import type { printSharedScan, scanColumns } from '../../../src/engines/printing/shared-scan.ts'
import type { readSharedScan } from '../../../src/engines/sql-result.ts'
import { ALL, cases, describeOnce } from '../../cases.ts'
import { folderForAll } from '../../folders.ts'
import { type SourceChange, withChangedSource } from '../../mutants/changed-source.ts'
import { aggregate, aggregateOfPeople, columns, randomRows } from '../arbitraries.ts'
import { column, datasetOf, openTestEngine, storedRows, withDuckDb } from '../fixture.ts'
import { writePeople } from '../people-table.ts'
import { aggregateRows, type StoredRow } from '../reference-engine.ts'

interface Table {
  readonly dataset: Dataset
  readonly rows: readonly StoredRow[]
}

const folder = folderForAll()
let engine: DuckDbEngine
let tables: readonly Table[] = []

function engineWith(queryTimeoutMs: number): DuckDbEngine {
  return openTestEngine(folder.path, {
    connectionsPerDataset: 2,
    queryTimeoutMs,
    temporaryDirectory: join(folder.path, `temporary-${queryTimeoutMs}`),
  })
}

async function ingestRows(id: string, rows: number): Promise<Table> {
  const sourcePath = join(folder.path, `${id}.csv`)
  const targetPath = join(folder.path, `${id}.duckdb`)
  await writeFile(sourcePath, randomRows(rows, 1))
  await ingest({ sourcePath, format: 'csv', columns, privacyUnit: { kind: 'row' }, targetPath })
  return { dataset: datasetOf(columns, id), rows: await storedRows(targetPath, columns) }
}

beforeAll(async () => {
  engine = engineWith(600_000)
  tables = [
    await ingestRows('many-rows', 1_000),
    await ingestRows('few-rows', 30),
    await ingestRows('no-rows', 0),
  ]
  for (const { dataset } of tables) await engine.open(dataset)
})
afterAll(async () => {
  await engine.close()
})

let statements = 0
beforeEach(() => {
  statements = 0
  const run = DuckDBPreparedStatement.prototype.run
  vi.spyOn(DuckDBPreparedStatement.prototype, 'run').mockImplementation(function (
    this: DuckDBPreparedStatement,
  ) {
    statements += 1
    return run.call(this)
  })
  return () => vi.restoreAllMocks()
})

/** Columns with few declared values, in place of others. */
const NARROW: Readonly<Record<string, string>> = {
  cell: 'small',
  x: 'day',
  middling: 'day',
  wide: 'small',
  hour: 'small',
}
const narrowColumn = (name: string) => NARROW[name] ?? name

/** The same predicate over columns with few values. */
function narrowPredicate(predicate: Predicate): Predicate {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return { ...predicate, predicates: predicate.predicates.map(narrowPredicate) }
    case 'not':
      return { ...predicate, predicate: narrowPredicate(predicate.predicate) }
    case 'string-in':
      return { kind: 'boolean-is', column: 'flag', value: predicate.values.length > 1 }
    case 'is-null':
      return {
        ...predicate,
        column: predicate.column === 'Name with spaces' ? 'group' : narrowColumn(predicate.column),
      }
    default:
      return { ...predicate, column: narrowColumn(predicate.column) }
  }
}

function narrowKey(key: GroupKey): GroupKey {
  if (key.kind === 'rows-of-person') return key
  return key.kind === 'predicate'
    ? { ...key, predicate: narrowPredicate(key.predicate) }
    : { ...key, column: narrowColumn(key.column) }
}

function narrowStatistic(statistic: Statistic): Statistic {
  return 'where' in statistic && statistic.where !== undefined
    ? { ...statistic, where: narrowPredicate(statistic.where) }
    : statistic
}

/** An aggregate that can share a scan: few cells, narrow columns in conditions and keys, additive statistics. */
const shareable = aggregate
  .filter(({ statistics }) => statistics.every(({ kind }) => kind !== 'count-distinct'))
  .map((given): Aggregate => {
    const { where, groupBy, statistics, bounding } = given
    return {
      ...(where === undefined ? {} : { where: narrowPredicate(where) }),
      groupBy: groupBy.slice(0, 1).map(narrowKey),
      statistics: statistics.map(narrowStatistic),
      bounding,
    }
  })

const askAll = (asked: readonly Aggregate[], dataset: Dataset) =>
  Promise.all(asked.map((each) => engine.aggregate(dataset, each)))

describe('aggregates that are asked for at the same time', () => {
  it('have the integers of the reference, in one statement', async () => {
    let shared = 0
    await fc.assert(
      fc.asyncProperty(fc.array(shareable, { minLength: 2, maxLength: 12 }), async (asked) => {
        for (const { dataset, rows } of tables) {
          const names = new Set(asked.map((each) => engine.scanOf?.(dataset, each) ?? each))
          statements = 0
          expect(await askAll(asked, dataset)).toEqual(asked.map((each) => aggregateRows(each, rows)))
          expect(statements).toBe(names.size)
          if (names.size === 1) shared += 1
        }
      }),
      { numRuns: cases(60) },
    )
    // The cases are random: the check above needs some whose aggregates share one scan.
    expect(shared).toBeGreaterThan(0)
  })

  it('have the integers of the reference beside any others', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(shareable, aggregate), { minLength: 2, maxLength: 8 }),
        async (asked) => {
          for (const { dataset, rows } of tables)
            expect(await askAll(asked, dataset)).toEqual(asked.map((each) => aggregateRows(each, rows)))
        },
      ),
      { numRuns: cases(40) },
    )
  })

  it('have the integers of the reference over rows of people', async () => {
    const table = await writePeople(folder.path, 'people', { rows: 300, people: 40 })
    await engine.open(table.dataset)
    await fc.assert(
      fc.asyncProperty(fc.array(aggregateOfPeople, { minLength: 2, maxLength: 6 }), async (asked) => {
        const narrow = asked.map(
          ({ where, ...given }): Aggregate => ({
            ...given,
            ...(where === undefined ? {} : { where: narrowPredicate(where) }),
            groupBy: given.groupBy.slice(0, 1).map(narrowKey),
            statistics: given.statistics.map(narrowStatistic),
          }),
        )
        for (const each of [asked, narrow])
          expect(await askAll(each, table.dataset)).toEqual(each.map((one) => aggregateRows(one, table.rows)))
      }),
      { numRuns: cases(40) },
    )
  })

  const count: Aggregate = {
    groupBy: [],
    statistics: [{ kind: 'count' }],
    bounding: { kind: 'one-row-each' },
  }

  it('are read once if they are equal, whatever they read', async () => {
    const [{ dataset, rows } = { dataset: datasetOf([]), rows: [] }] = tables
    const texts = (...values: string[]): Aggregate => ({
      ...count,
      where: { kind: 'string-in', column: 'Name with spaces', values },
    })
    const asked = [texts('x', 'y'), texts('x', 'y'), texts('x","y'), texts('x'), texts('x')]
    expect(await askAll(asked, dataset)).toEqual(asked.map((each) => aggregateRows(each, rows)))
    expect(statements).toBe(3)
  })

  it('keep their own factors and offsets if they read the same integers', async () => {
    const [{ dataset, rows } = { dataset: datasetOf([]), rows: [] }] = tables
    const sum = (factor: bigint, offset: bigint, where?: Predicate): Aggregate => ({
      ...count,
      ...(where === undefined ? {} : { where }),
      statistics: [{ kind: 'affine-sum', column: 'small', factor, offset }],
    })
    const flagged: Predicate = { kind: 'boolean-is', column: 'flag', value: true }
    for (const asked of [
      [sum(1n, 0n), sum(3n, -7n)],
      [sum(1n, 0n), sum(3n, -7n), sum(2n, 1n, flagged), sum(5n, 1n, flagged)],
    ]) {
      statements = 0
      expect(await askAll(asked, dataset)).toEqual(asked.map((each) => aggregateRows(each, rows)))
      expect(statements).toBe(1)
    }
  })

  it('are computed alone if they have many cells or a long condition', async () => {
    const [{ dataset } = { dataset: datasetOf([]) }] = tables
    const edges = Array.from({ length: 102 }, (_, edge) => BigInt(edge - 3))
    const bins: Aggregate = {
      ...count,
      groupBy: [{ kind: 'bins', column: 'small', edges, nullCell: false }],
    }
    const list: Aggregate = {
      ...count,
      where: { kind: 'index-in', column: 'small', indexes: [...edges, ...edges] },
    }
    expect([bins, list].map((each) => engine.scanOf?.(dataset, each))).toEqual([undefined, undefined])
  })

  it('fail alone if they do not fit the dataset', async () => {
    const [{ dataset, rows } = { dataset: datasetOf([]), rows: [] }] = tables
    const unknown: Aggregate = { ...count, where: { kind: 'is-null', column: 'nowhere' } }
    const [known, failed] = await Promise.allSettled([
      engine.aggregate(dataset, count),
      engine.aggregate(dataset, unknown),
    ])
    expect(known).toEqual({ status: 'fulfilled', value: aggregateRows(count, rows) })
    expect(failed).toMatchObject({ status: 'rejected', reason: expect.any(EngineFailure) })
  })
})

describeOnce('an aggregate beside one that fails', () => {
  const isSlow = (value: boolean): Predicate => ({ kind: 'boolean-is', column: 'slow', value })

  /** A dataset in which reading the rows where `slow` is true never ends. */
  async function endless(): Promise<Dataset> {
    await withDuckDb(
      join(folder.path, 'endless.duckdb'),
      'CREATE TABLE few AS SELECT range % 10 AS x FROM range(10)',
      `CREATE VIEW rows AS SELECT *, false AS slow FROM few
      UNION ALL SELECT range % 10 AS x, true AS slow FROM range(1000000000000000)`,
    )
    return datasetOf([column.integer('x', 0n, 10n), column.boolean('slow')], 'endless')
  }

  it('is run again alone, and is answered', async () => {
    const dataset = await endless()
    const limited = engineWith(1_000)
    await limited.open(dataset)
    const counting = (value: boolean, lower: bigint): Aggregate => ({
      groupBy: [],
      where: { kind: 'and', predicates: [isSlow(value), { kind: 'index-between', column: 'x', lower }] },
      statistics: [{ kind: 'count' }],
      bounding: { kind: 'one-row-each' },
    })
    // On a busy machine the quick ones may exceed the limit, too.
    for (let answered = false; !answered; ) {
      const outcomes = await Promise.allSettled(
        [counting(true, 0n), counting(false, 0n), counting(true, 1n), counting(false, 5n)].map((asked) =>
          limited.aggregate(dataset, asked),
        ),
      )
      for (const slow of [outcomes[0], outcomes[2]]) {
        expect(slow?.status).toBe('rejected')
        expect(slow?.status === 'rejected' && slow.reason).toBeInstanceOf(EngineFailure)
        expect(slow).toMatchObject({ reason: { name: 'EngineTimeout' } })
      }
      answered = outcomes[1]?.status === 'fulfilled' && outcomes[3]?.status === 'fulfilled'
      if (answered) expect([outcomes[1], outcomes[3]]).toMatchObject([{ value: [[10n]] }, { value: [[5n]] }])
    }
    await limited.close()
  })

  it('is answered after any failure of the scan that they share', async () => {
    const [{ dataset, rows } = { dataset: datasetOf([]), rows: [] }] = tables
    const run = vi.mocked(DuckDBPreparedStatement.prototype.run)
    run.mockImplementationOnce(() => Promise.reject(new Error('out of memory')))
    const asked = [true, false].map(
      (value): Aggregate => ({
        groupBy: [],
        where: { kind: 'boolean-is', column: 'flag', value },
        statistics: [{ kind: 'count' }],
        bounding: { kind: 'one-row-each' },
      }),
    )
    expect(await askAll(asked, dataset)).toEqual(asked.map((each) => aggregateRows(each, rows)))
  })
})

if (ALL)
  describe('mistakes in shared scans', () => {
    const printing = (mistake: string, find: string, replace: string) => ({
      mistake,
      change: { file: 'engines/printing/shared-scan.ts', find, replace },
    })
    const reading = (mistake: string, find: string, replace: string) => ({
      mistake,
      change: { file: 'engines/sql-result.ts', find, replace },
    })

    const MUTANTS: readonly { readonly mistake: string; readonly change: SourceChange }[] = [
      printing('the measure of another column', 'measure: measures.indexOf(measure)', 'measure: 0'),
      printing(
        'the condition of another statistic',
        'condition: place(`(${printPredicate(printer, where)}) IS TRUE`)',
        'condition: (place(`(${printPredicate(printer, where)}) IS TRUE`), Math.max(...[...places.keys()].filter((p) => places[p].endsWith("TRUE")).slice(0, 1)) + measures.length)',
      ),
      printing(
        'positions off by one',
        'measures.length + places.push(sql) - 1',
        'Math.max(measures.length, measures.length + places.push(sql) - 2)',
      ),
      printing(
        'rows in no cell counted',
        'CASE WHEN ${conditions.join',
        'CASE WHEN true OR ${conditions.join',
      ),
      printing('one condition enough', "conditions.join(' AND ')", "conditions.join(' OR ')"),
      printing(
        'rows grouped without the columns of statistics',
        "'where' in statistic ? columnsIn(statistic.where) : []",
        '[]',
      ),
      printing(
        'rows without a value counted',
        "defined({ kind: 'count', column })",
        "defined({ kind: 'count', column: where === undefined ? column : undefined })",
      ),
      reading(
        'the columns of another aggregate',
        'const positions = shared[index]',
        'const positions = shared[0]',
      ),
      reading('the last group only', "must(values[place], 'a sum') + integer", 'integer'),
      reading('conditions ignored', 'requireBoolean(row[condition])', 'true'),
    ]

    interface Modules {
      readonly printSharedScan: typeof printSharedScan
      readonly scanColumns: typeof scanColumns
      readonly readSharedScan: typeof readSharedScan
    }

    const groups = fc.sample(fc.array(shareable, { minLength: 2, maxLength: 5 }), { numRuns: 120, seed: 3 })
    let instance: DuckDBInstance
    let connection: DuckDBConnection
    beforeAll(async () => {
      instance = await DuckDBInstance.create(join(folder.path, 'few-rows.duckdb'), {
        access_mode: 'READ_ONLY',
      })
      connection = await instance.connect()
    })
    afterAll(() => {
      connection.disconnectSync()
      instance.closeSync()
    })

    const agrees = async (changes: readonly SourceChange[]): Promise<boolean> =>
      withChangedSource(changes, {}, async (load) => {
        const printer = await load<Modules>('engines/printing/shared-scan.ts')
        const reader = await load<Modules>('engines/sql-result.ts')
        return agreesWithReference({ ...printer, ...reader }).catch(() => false)
      })

    async function agreesWithReference(modules: Modules): Promise<boolean> {
      const table = tables.find(({ dataset }) => dataset.id === 'few-rows')
      if (table === undefined) throw new Error('the table is missing')
      for (const asked of groups) {
        const printed = modules.printSharedScan(asked, table.dataset, duckDbDialect)
        const found = modules.readSharedScan(asked, printed, readRows(await execute(connection, printed)))
        for (const [index, each] of asked.entries())
          if (!same(found[index] ?? [], aggregateRows(each, table.rows))) return false
      }
      return true
    }

    const same = (one: readonly (readonly bigint[])[], other: readonly (readonly bigint[])[]) =>
      one.length === other.length && one.flat().join() === other.flat().join()

    it('are none in the source as it is', async () => {
      expect(await agrees([])).toBe(true)
    })

    it.each(MUTANTS)('are noticed: $mistake', async ({ change }) => {
      expect(await agrees([change])).toBe(false)
    })
  })
