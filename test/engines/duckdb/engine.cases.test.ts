import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { DuckDBMaterializedResult } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import {
  type Aggregate,
  LARGEST_SQUARED_INDEX,
  type Predicate,
  type Statistic,
  type ValueCounting,
} from '../../../src/core/planner/language/aggregate.ts'
import type { TextCounts } from '../../../src/core/planner/language/reading.ts'
import type { DuckDbEngine, DuckDbEngineOptions } from '../../../src/engines/duckdb/engine.ts'
import { ingest } from '../../../src/engines/duckdb/ingestion/ingest.ts'
import { openLockedInstance } from '../../../src/engines/duckdb/instance.ts'
import { EngineFailure } from '../../../src/engines/engine.ts'
import { cases, describeOnce } from '../../cases.ts'
import { folderForAll } from '../../folders.ts'
import {
  aggregate,
  cellCounting,
  clampedOrNot,
  columns,
  countingOf,
  LARGEST,
  MIDDLING,
  numericNames,
  predicate,
  randomRows,
} from '../arbitraries.ts'
import { column, datasetOf, openTestEngine, storedRows, withDuckDb } from '../fixture.ts'
import {
  aggregateRows,
  countCellIndexesOf,
  countIndexesOf,
  countTextsOf,
  type StoredRow,
} from '../reference-engine.ts'

const folder = folderForAll()

const engines: DuckDbEngine[] = []
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

function engineWith(given: Partial<DuckDbEngineOptions> = {}): DuckDbEngine {
  const engine = openTestEngine(folder.path, { connectionsPerDataset: 2, ...given })
  engines.push(engine)
  return engine
}

const count: Aggregate = { groupBy: [], statistics: [{ kind: 'count' }], bounding: { kind: 'one-row-each' } }

/** Work that must fail with the constant error. */
async function expectFailure(work: Promise<unknown>): Promise<void> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof EngineFailure)) throw new Error(`no engine failure but ${String(error)}`)
  expect(error.message).toBe('the aggregate could not be computed')
  expect(error.cause).toBeUndefined()
  expect(Object.keys(error)).toEqual(['name'])
}

async function ingestCsv(
  id: string,
  content: string,
): Promise<{ dataset: Dataset; rows: readonly StoredRow[] }> {
  const sourcePath = join(folder.path, `${id}.csv`)
  const targetPath = join(folder.path, `${id}.duckdb`)
  await writeFile(sourcePath, content)
  await ingest({ sourcePath, format: 'csv', columns, privacyUnit: { kind: 'row' }, targetPath })
  return { dataset: datasetOf(columns, id), rows: await storedRows(targetPath, columns) }
}

/** Datasets of unusual values: many rows, few, one, none, and nothing but NULL. */
async function oddDatasets(id: string) {
  return [
    await ingestCsv(`${id}-large`, randomRows(3_000, 1)),
    await ingestCsv(`${id}-small`, randomRows(40, 2)),
    await ingestCsv(`${id}-one-row`, randomRows(1, 3)),
    await ingestCsv(`${id}-no-rows`, randomRows(0, 4)),
    await ingestCsv(
      `${id}-all-null`,
      `${columns.map(({ name }) => name).join(',')}\n${`${','.repeat(columns.length - 1)}\n`.repeat(20)}`,
    ),
  ]
}

describe('aggregates over DuckDB', () => {
  it('equal the reference for any data and any aggregate', async () => {
    const engine = engineWith()
    const datasets = await oddDatasets('aggregates')
    for (const { dataset } of datasets) await engine.open(dataset)
    // The data distinguish the cases: every column holds NULL and more than one other value.
    for (const { name } of columns) {
      const values = new Set(datasets[0]?.rows.map((row) => row[name]))
      expect(values.has(null)).toBe(true)
      expect(values.size).toBeGreaterThan(2)
    }
    await fc.assert(
      fc.asyncProperty(aggregate, async (given) => {
        for (const { dataset, rows } of datasets) {
          expect(await engine.aggregate(dataset, given)).toEqual(aggregateRows(given, rows))
        }
      }),
      { numRuns: cases(300) },
    )
  })

  it('sum 100,000 rows at the outermost index exactly', async () => {
    const dataset = datasetOf([column.integer('x', -LARGEST, LARGEST)], 'outermost')
    await withDuckDb(
      join(folder.path, 'outermost.duckdb'),
      `CREATE TABLE rows AS SELECT ${LARGEST}::BIGINT AS x FROM range(100000)`,
    )
    const engine = engineWith()
    await engine.open(dataset)
    const sum: Statistic = { kind: 'affine-sum', column: 'x', factor: 2n ** 64n, offset: -(2n ** 100n) }
    expect(await engine.aggregate(dataset, { ...count, statistics: [sum] })).toEqual([
      [100_000n * (2n ** 64n * LARGEST - 2n ** 100n)],
    ])
  })

  it.each([
    ['64', MIDDLING],
    ['128', LARGEST_SQUARED_INDEX],
  ])('square a million rows at the outermost index in %s bits, exactly', async (bits, outermost) => {
    const dataset = datasetOf([column.integer('x', -outermost, outermost)], `squares-${bits}`)
    await withDuckDb(
      join(folder.path, `squares-${bits}.duckdb`),
      `CREATE TABLE rows AS SELECT CASE WHEN range % 4 = 0 THEN ${-outermost} ELSE ${outermost} END::BIGINT AS x
      FROM range(1000000)`,
    )
    const engine = engineWith()
    await engine.open(dataset)
    const [factor, offset] = [2n ** 64n, -(2n ** 100n)]
    const squares: Statistic = { kind: 'affine-square-sum', column: 'x', factor, offset }
    expect(await engine.aggregate(dataset, { ...count, statistics: [squares] })).toEqual([
      [250_000n * (factor * -outermost + offset) ** 2n + 750_000n * (factor * outermost + offset) ** 2n],
    ])
  })

  it('count rows with an unknown predicate among those for which it does not hold', async () => {
    const { dataset, rows } = await ingestCsv('unknown', randomRows(60, 13))
    const engine = engineWith()
    await engine.open(dataset)
    const predicate: Predicate = { kind: 'index-between', column: 'small', lower: 1n }
    const [positive, unknown] = [
      rows.filter(({ small }) => typeof small === 'bigint' && small >= 1n).length,
      rows.filter(({ small }) => small === null).length,
    ]
    expect(unknown).toBeGreaterThan(0)
    const given: Aggregate = { ...count, groupBy: [{ kind: 'predicate', predicate }] }
    expect(await engine.aggregate(dataset, given)).toEqual([[BigInt(60 - positive), BigInt(positive)]])
  })

  it('count a thousand predicates at a time', async () => {
    const { dataset, rows } = await ingestCsv('candidates', randomRows(200, 14))
    const engine = engineWith()
    await engine.open(dataset)
    const where = fc.sample(predicate, { numRuns: 1_000, seed: 15 })
    const given: Aggregate = { ...count, statistics: where.map((where) => ({ kind: 'count', where })) }
    expect(await engine.aggregate(dataset, given)).toEqual(aggregateRows(given, rows))
    const grouped: Aggregate = {
      ...given,
      groupBy: [{ kind: 'boolean', column: 'flag', nullCell: true }],
    }
    expect(await engine.aggregate(dataset, grouped)).toEqual(aggregateRows(grouped, rows))
  })

  it('support thousands of bins', async () => {
    const { dataset, rows } = await ingestCsv('bins', randomRows(500, 5))
    const engine = engineWith()
    await engine.open(dataset)
    for (const squares of [false, true]) {
      const edges = Array.from({ length: 2_000 }, (_, i) => BigInt(squares ? i * i : i) - 10n)
      const given: Aggregate = {
        ...count,
        groupBy: [{ kind: 'bins', column: 'small', edges, nullCell: true }],
      }
      expect(await engine.aggregate(dataset, given)).toEqual(aggregateRows(given, rows))
    }
  })
})

/** The counts of texts, in an order that does not depend on how they were found. */
function sorted({ texts, counts }: TextCounts): readonly (readonly [string, number | undefined])[] {
  return texts.map((text, position) => [text, counts[position]] as const).sort(([a], [b]) => (a < b ? -1 : 1))
}

const valuesOf = (column: string, where?: Predicate): ValueCounting => ({
  column,
  bounding: { kind: 'one-row-each' },
  ...(where === undefined ? {} : { where }),
})

describe('counts of values over DuckDB', () => {
  it('equal the reference for any data and any counting', async () => {
    const engine = engineWith()
    const datasets = await oddDatasets('values')
    for (const { dataset } of datasets) await engine.open(dataset)
    await fc.assert(
      fc.asyncProperty(
        clampedOrNot(countingOf(numericNames)),
        countingOf(fc.constant('Name with spaces')),
        cellCounting,
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
      { numRuns: cases(100) },
    )
  })

  it('return a hundred thousand values, with the indexes in order', async () => {
    const { dataset } = await distinct('distinct', 100_000)
    const engine = engineWith()
    await engine.open(dataset)
    const { indexes, counts } = await engine.countIndexes(dataset, valuesOf('x'))
    const expected = Array.from({ length: 100_000 }, (_, row) => (row * 7_919) % 1_000_003)
    expect(Array.from(indexes)).toEqual(expected.sort((a, b) => a - b))
    expect(counts).toEqual(new Float64Array(100_000).fill(1))
    const texts = await engine.countTexts(dataset, valuesOf('text'))
    expect(new Set(texts.texts)).toEqual(new Set(expected.map((x) => `the text of row ${x}`)))
    expect(texts.texts.length).toBe(100_000)
    expect(texts.counts).toEqual(counts)
  })

  it('distinguish texts that a decoder may confuse', async () => {
    const odd = [
      '',
      'x',
      '\uFEFFx',
      '\uFEFF\uFEFFx',
      '\uFEFF',
      'x\uFEFF',
      '\u0000',
      '\uFFFD',
      '😀'.repeat(50),
      'X',
      'x ',
    ]
    const literals = odd.map((text) => {
      const characters = Array.from(text, (character) => `chr(${character.codePointAt(0)})`)
      return ["''", ...characters].join(' || ')
    })
    await withDuckDb(
      join(folder.path, 'odd-texts.duckdb'),
      `CREATE TABLE rows AS SELECT unnest([${literals.join(', ')}]) AS text FROM range(3)`,
    )
    const dataset = datasetOf([column.string('text')], 'odd-texts')
    const engine = engineWith()
    await engine.open(dataset)
    const counts = new Float64Array(odd.length).fill(3)
    expect(sorted(await engine.countTexts(dataset, valuesOf('text')))).toEqual(sorted({ texts: odd, counts }))
  })

  it('fail when DuckDB runs out of memory, and later ones succeed', async () => {
    const { dataset } = await distinct('memory', 1_000_000)
    const engine = engineWith({
      connectionsPerDataset: 1,
      memoryLimit: '5MB',
      maxTemporaryDirectorySize: '1MB',
    })
    await engine.open(dataset)
    for (let round = 0; round < 2; round += 1) {
      await expectFailure(engine.countTexts(dataset, valuesOf('text')))
      await expectFailure(engine.countIndexes(dataset, valuesOf('x')))
      expect(await engine.aggregate(dataset, count)).toEqual([[1_000_000n]])
    }
    expect(await engine.healthy()).toBe(true)
  })

  it('are refused for columns of other types, and for datasets that are not open', async () => {
    const { dataset } = await ingestCsv('types', randomRows(10, 16))
    const engine = engineWith()
    await engine.open(dataset)
    for (const name of ['group', 'flag', 'Name with spaces', 'nowhere'])
      await expectFailure(engine.countIndexes(dataset, valuesOf(name)))
    for (const name of ['group', 'flag', 'small', 'x', 'nowhere'])
      await expectFailure(engine.countTexts(dataset, valuesOf(name)))
    await expectFailure(engine.countIndexes({ ...dataset, version: 'other' }, valuesOf('small')))
    await expectFailure(engine.countTexts({ ...dataset, version: 'other' }, valuesOf('Name with spaces')))
  })
})

/** A dataset of distinct numbers, and a text for each. */
async function distinct(id: string, rows: number): Promise<{ dataset: Dataset }> {
  await withDuckDb(
    join(folder.path, `${id}.duckdb`),
    `CREATE TABLE rows AS SELECT x, 'the text of row ' || x AS text
    FROM (SELECT (range * 7919) % 1000003 AS x FROM range(${rows}))`,
  )
  return { dataset: datasetOf([column.integer('x', 0n, 1_000_003n), column.string('text')], id) }
}

/**
 * A dataset with a few rows that are quick to count, and others that are never read to the end: `rows` is a view over
 * 10^15 generated rows. A filter on `endless` chooses.
 */
async function endless(id: string): Promise<{
  readonly dataset: Dataset
  readonly quick: Aggregate
  readonly slow: Aggregate
}> {
  const columns = "range % 1000 AS x, 'text ' || range % 1000 AS text"
  await withDuckDb(
    join(folder.path, `${id}.duckdb`),
    `CREATE TABLE few AS SELECT ${columns} FROM range(10)`,
    `CREATE VIEW rows AS SELECT *, false AS endless FROM few
    UNION ALL SELECT ${columns}, true AS endless FROM range(1000000000000000)`,
  )
  return {
    dataset: datasetOf(
      [column.integer('x', 0n, 1_000n), column.string('text'), column.boolean('endless')],
      id,
    ),
    quick: { ...count, where: isEndless(false) },
    slow: { ...count, where: isEndless(true) },
  }
}

const isEndless = (value: boolean): Predicate => ({ kind: 'boolean-is', column: 'endless', value })

/** Work that must fail because its time limit has passed. */
async function expectTimeout(work: Promise<unknown>): Promise<void> {
  await expectFailure(work)
  await expect(work).rejects.toMatchObject({ name: 'EngineTimeout' })
}

/** Repeats a query until it is answered. On a busy machine it may exceed the engine's time limit. */
async function eventually<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask().catch((error: unknown) => {
      if (error instanceof EngineFailure && error.name === 'EngineTimeout') return undefined
      throw error
    })
    if (answer !== undefined) return answer
  }
}

describeOnce('the pool of connections', () => {
  it('answers many queries at a time', async () => {
    const { dataset, rows } = await ingestCsv('many', randomRows(300, 6))
    const engine = engineWith({ connectionsPerDataset: 3 })
    await engine.open(dataset)
    const shapes = fc.sample(aggregate, { numRuns: 60, seed: 7 })
    const answers = await Promise.all(shapes.map((given) => engine.aggregate(dataset, given)))
    expect(answers).toEqual(shapes.map((given) => aggregateRows(given, rows)))
    expect(await engine.healthy()).toBe(true)
  })

  it('stops statements that exceed their time limit, and continues', async () => {
    const { dataset, quick, slow } = await endless('slow')
    // More connections than the process has threads for them: some statements are interrupted before they begin.
    const connectionsPerDataset = 8
    const engine = engineWith({ connectionsPerDataset, queryTimeoutMs: 1_000 })
    await engine.open(dataset)
    await Promise.all(Array.from({ length: 12 }, () => expectTimeout(engine.aggregate(dataset, slow))))
    const asked = Array.from({ length: connectionsPerDataset }, () =>
      eventually(() => engine.aggregate(dataset, quick)),
    )
    for (const answer of await Promise.all(asked)) expect(answer).toEqual([[10n]])
    expect(await engine.healthy()).toBe(true)
    // Waits until every statement has stopped.
    await engine.close()
  })

  it('stops a count of values that exceeds its time limit', async () => {
    const { dataset } = await endless('slow-values')
    const engine = engineWith({ connectionsPerDataset: 2, queryTimeoutMs: 1_000 })
    await engine.open(dataset)
    await Promise.all(
      [1, 2].flatMap(() => [
        expectTimeout(engine.countIndexes(dataset, valuesOf('x', isEndless(true)))),
        expectTimeout(engine.countTexts(dataset, valuesOf('text', isEndless(true)))),
      ]),
    )
    expect(await eventually(() => engine.countIndexes(dataset, valuesOf('x', isEndless(false))))).toEqual({
      indexes: Float64Array.from({ length: 10 }, (_, index) => index),
      counts: new Float64Array(10).fill(1),
    })
    expect(await engine.healthy()).toBe(true)
  })

  it('stops reading a result that exceeds its time limit', async () => {
    const { dataset } = await distinct('reading', 20_000)
    const engine = engineWith({ connectionsPerDataset: 1, queryTimeoutMs: 10_000 })
    await engine.open(dataset)
    const { getChunk } = DuckDBMaterializedResult.prototype
    const read = vi.spyOn(DuckDBMaterializedResult.prototype, 'getChunk').mockImplementation(function (
      this: DuckDBMaterializedResult,
      index,
    ) {
      if (index === 2) vi.advanceTimersByTime(10_000)
      return getChunk.call(this, index)
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      await expectFailure(engine.countIndexes(dataset, valuesOf('x')))
      expect(await engine.aggregate(dataset, count)).toEqual([[20_000n]])
      expect(read.mock.calls.slice(0, 3)).toEqual([[0], [1], [2]])
      expect(read).not.toHaveBeenCalledWith(3)
    } finally {
      vi.useRealTimers()
      read.mockRestore()
    }
  })

  it('ends the time limit of a statement with the statement', async () => {
    const { dataset, rows } = await ingestCsv('limits', randomRows(3_000, 12))
    const engine = engineWith({ connectionsPerDataset: 1, queryTimeoutMs: 1_000 })
    await engine.open(dataset)
    const edges = Array.from({ length: 200 }, (_, i) => BigInt(i * i))
    const given: Aggregate = { ...count, groupBy: [{ kind: 'bins', column: 'cell', edges, nullCell: true }] }
    const expected = aggregateRows(given, rows)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      for (let round = 0; round < 10; round += 1) {
        const answer = engine.aggregate(dataset, given)
        // A time limit left behind by an earlier statement would expire here and interrupt this one.
        vi.advanceTimersByTime(999)
        expect(await answer).toEqual(expected)
        expect(vi.getTimerCount()).toBe(0)
      }
    } finally {
      vi.useRealTimers()
    }
  })

  it('begins the time limit of a statement once it has a connection', async () => {
    const { dataset } = await endless('waiting')
    const counting = { column: 'x', where: isEndless(true), bounding: { kind: 'one-row-each' } } as const
    const engine = engineWith({ connectionsPerDataset: 1, queryTimeoutMs: 10_000 })
    await engine.open(dataset)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      let settled = 0
      const asked = [1, 2, 3].map(() =>
        expectTimeout(engine.countIndexes(dataset, counting)).finally(() => {
          settled += 1
        }),
      )
      let passedMs = 0
      const passUntil = async (condition: () => boolean): Promise<void> => {
        while (!condition()) {
          vi.advanceTimersByTime(20)
          passedMs += 20
          await setImmediate()
        }
      }
      await passUntil(() => settled === asked.length)
      await Promise.all(asked)
      expect(passedMs).toBeGreaterThanOrEqual(30_000)
      let isClosed = false
      const closing = engine.close().then(() => {
        isClosed = true
      })
      // The interrupts repeat until the last statement has stopped.
      await passUntil(() => isClosed)
      await closing
    } finally {
      vi.useRealTimers()
    }
  })

  it('is busy, but healthy, while every connection is in use', async () => {
    const { dataset, slow } = await endless('busy')
    const engine = engineWith({ connectionsPerDataset: 1, queryTimeoutMs: 1_000 })
    await engine.open(dataset)
    const running = expectTimeout(engine.aggregate(dataset, slow))
    expect(await engine.healthy()).toBe(true)
    await running
  })

  it('continues after a failure', async () => {
    const { dataset } = await ingestCsv('failing', randomRows(10, 9))
    const engine = engineWith({ connectionsPerDataset: 1 })
    await engine.open(dataset)
    // A declaration that the file was not ingested under.
    const other = datasetOf([column.integer('not in the file', 0n, 1n)], 'failing')
    for (let round = 0; round < 3; round += 1) {
      await expectFailure(
        engine.aggregate(other, { ...count, where: { kind: 'is-null', column: 'not in the file' } }),
      )
      expect(await engine.aggregate(dataset, count)).toEqual([[10n]])
    }
    expect(await engine.healthy()).toBe(true)
  })

  it('says nothing about an aggregate that does not fit', async () => {
    const { dataset } = await ingestCsv('invalidValue', randomRows(10, 10))
    const engine = engineWith()
    await engine.open(dataset)
    await expectFailure(
      engine.aggregate(dataset, { ...count, where: { kind: 'is-null', column: 'nowhere' } }),
    )
  })
})

describeOnce('datasets', () => {
  it('answer only while they are open', async () => {
    const { dataset } = await ingestCsv('opening', randomRows(7, 11))
    const engine = engineWith()
    await expectFailure(engine.aggregate(dataset, count))
    await Promise.all([engine.open(dataset), engine.open(dataset)])
    expect(await engine.aggregate(dataset, count)).toEqual([[7n]])
    await expectFailure(engine.aggregate({ ...dataset, version: 'other' }, count))
    await engine.closeDataset({ id: dataset.id, version: 'other' })
    expect(await engine.aggregate(dataset, count)).toEqual([[7n]])
    await engine.closeDataset(dataset)
    await engine.closeDataset(dataset)
    await expectFailure(engine.aggregate(dataset, count))
    await engine.open(dataset)
    expect(await engine.aggregate(dataset, count)).toEqual([[7n]])
  })

  it('finish accepted queries before they close, and accept no more', async () => {
    const { dataset, quick } = await endless('closing')
    const engine = engineWith({ connectionsPerDataset: 1 })
    await engine.open(dataset)
    const asked = Promise.all([1, 2, 3].map(() => engine.aggregate(dataset, quick)))
    await Promise.resolve()
    const closing = engine.closeDataset(dataset)
    await expectFailure(engine.aggregate(dataset, quick))
    expect(await asked).toEqual([[[10n]], [[10n]], [[10n]]])
    await closing
    await expectFailure(engine.aggregate(dataset, quick))
    expect(await engine.healthy()).toBe(true)
  })

  it('are told apart from failures of a statement while they are not open', async () => {
    const { dataset } = await ingestCsv('unavailable', randomRows(10, 17))
    const engine = engineWith()
    const unavailable = async () => {
      const work = engine.aggregate(dataset, count)
      await expectFailure(work)
      await expect(work).rejects.toMatchObject({ name: 'EngineUnavailable' })
    }
    await unavailable()
    await engine.open(dataset)
    const unknown = { ...count, where: { kind: 'is-null', column: 'nowhere' } } as const
    await expect(engine.aggregate(dataset, unknown)).rejects.toMatchObject({ name: 'EngineFailure' })
    await engine.closeDataset(dataset)
    await unavailable()
    // The file is gone.
    const lost = datasetOf(columns, 'lost')
    await expectFailure(engine.open(lost))
    await expect(engine.aggregate(lost, count)).rejects.toMatchObject({ name: 'EngineUnavailable' })
  })

  it('do not open without a file, or with a broken one', async () => {
    const engine = engineWith()
    const broken = datasetOf(columns, 'broken')
    await expectFailure(engine.open(broken))
    await writeFile(join(folder.path, 'broken.duckdb'), 'secret')
    await expectFailure(engine.open(broken))
    await expectFailure(engine.aggregate(broken, count))
    expect(await engine.healthy()).toBe(true)
  })
})

describeOnce('a locked instance', () => {
  const attempts = (path: string): readonly string[] => [
    `SELECT * FROM read_csv('${path}/other.csv')`,
    `SELECT * FROM '${path}/other.csv'`,
    `SELECT * FROM read_text('${path}/other.csv')`,
    `SELECT * FROM glob('${path}/*')`,
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_parquet('http://127.0.0.1/x')",
    `COPY rows TO '${path}/stolen.csv'`,
    `COPY (SELECT 1) TO '${path}/stolen.parquet' (FORMAT parquet)`,
    `EXPORT DATABASE '${path}/stolen'`,
    `IMPORT DATABASE '${path}/stolen'`,
    `ATTACH '${path}/other.duckdb'`,
    `ATTACH '${path}/stolen.duckdb'`,
    "ATTACH ':memory:' AS stolen",
    'INSTALL httpfs',
    'LOAD httpfs',
    `LOAD '${path}/stolen.duckdb_extension'`,
    'SET threads = 8',
    "SET memory_limit = '100GB'",
    'SET enable_external_access = true',
    'SET autoload_known_extensions = true',
    'SET autoinstall_known_extensions = true',
    'SET allow_community_extensions = true',
    "SET allowed_paths = ['/etc/passwd']",
    "SET allowed_directories = ['/']",
    "SET temp_directory = '/tmp'",
    "SET profiling_output = '/tmp/stolen'",
    "SET log_query_path = '/tmp/stolen'",
    'SET lock_configuration = false',
    'RESET lock_configuration',
    'INSERT INTO rows VALUES (1)',
    'DELETE FROM rows',
    'DROP TABLE rows',
    'CREATE TABLE stolen AS SELECT * FROM rows',
    'ALTER TABLE rows ADD COLUMN y INTEGER',
    "SELECT getenv('HOME')",
  ]

  it('reads its own rows and refuses everything else', async () => {
    const path = join(folder.path, 'locked.duckdb')
    await withDuckDb(path, 'CREATE TABLE rows AS SELECT 1 AS x')
    await withDuckDb(join(folder.path, 'other.duckdb'), 'CREATE TABLE rows AS SELECT 2 AS x')
    await writeFile(join(folder.path, 'other.csv'), 'x\n1\n')
    const before = await readdir(folder.path)
    const instance = await openLockedInstance(path, 'READ_ONLY', {
      threads: 1,
      memoryLimit: '100MB',
      temporaryDirectory: join(folder.path, 'locked-temporary'),
      maxTemporaryDirectorySize: '10MB',
    })
    const connection = await instance.connect()
    try {
      for (const sql of attempts(folder.path)) {
        const outcome = await connection.run(sql).then(
          () => 'done',
          () => 'refused',
        )
        expect([sql, outcome]).toEqual([sql, 'refused'])
      }
      expect((await connection.runAndReadAll('SELECT * FROM rows')).getRows()).toEqual([[1]])
    } finally {
      connection.disconnectSync()
      instance.closeSync()
    }
    expect(await readdir(folder.path)).toEqual(before)
  })

  it('reaches the file that it was opened for, and no other', async () => {
    const allowed = join(folder.path, 'allowed.csv')
    await writeFile(allowed, 'x\n1\n')
    await writeFile(join(folder.path, 'forbidden.csv'), 'x\n1\n')
    const instance = await openLockedInstance(
      join(folder.path, 'ingesting.duckdb'),
      'READ_WRITE',
      {
        threads: 1,
        memoryLimit: '100MB',
        temporaryDirectory: join(folder.path, 'ingesting-temporary'),
        maxTemporaryDirectorySize: '10MB',
      },
      [allowed],
    )
    const connection = await instance.connect()
    try {
      await connection.run(`SELECT * FROM read_csv('${allowed}')`)
      for (const sql of [
        `SELECT * FROM read_csv('${join(folder.path, 'forbidden.csv')}')`,
        `SELECT * FROM read_csv('${folder.path}/*.csv')`,
        `COPY (SELECT 1) TO '${join(folder.path, 'stolen.csv')}'`,
        `ATTACH '${join(folder.path, 'other.duckdb')}' AS stolen`,
        'SET lock_configuration = false',
      ]) {
        await expect(connection.run(sql)).rejects.toThrow()
      }
    } finally {
      connection.disconnectSync()
      instance.closeSync()
    }
  })
})
