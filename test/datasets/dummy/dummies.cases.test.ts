import { mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import type { Aggregate } from '../../../src/core/planner/language/aggregate.ts'
import { type DummyDeclaration, dummyDeclaration } from '../../../src/datasets/dummy/declaration.ts'
import {
  type Dummies,
  type DummiesOptions,
  type DummyCaller,
  type DummyTable,
  openDummies,
} from '../../../src/datasets/dummy/dummies.ts'
import { dummyRows } from '../../../src/datasets/dummy/rows.ts'
import { openTables } from '../../../src/datasets/dummy/tables.ts'
import { dummyText, writeDummyFile } from '../../../src/datasets/dummy/text.ts'
import { createDatasetEngine } from '../../../src/engines/routing.ts'
import { cases, describeOnce } from '../../cases.ts'
import { datasetOf, column as declared, openTestEngine, withDuckDb } from '../../engines/fixture.ts'
import { aggregateRows, type StoredRow } from '../../engines/reference-engine.ts'
import { PERSON, RANK } from '../../engines/reference-people.ts'
import { temporaryFolder } from '../../folders.ts'
import { clinic, declaration } from './declarations.ts'

let folder = ''
let directory = ''
let written = 0
let dummies: Dummies
beforeEach(() => {
  folder = temporaryFolder()
  directory = path.join(folder, 'dummy')
  written = 0
  dummies = open()
})
afterEach(() => dummies.close())

function open(changes: Partial<DummiesOptions> = {}): Dummies {
  return openDummies({
    directory,
    hasSpace: async () => true,
    write: async (input) => {
      written += 1
      await writeDummyFile(input)
    },
    ...changes,
  })
}

const caller = (principal = 'analyst'): DummyCaller => ({ principal, givenUp: new AbortController().signal })

const small = { rows: 60, seed: 's' }

/** A registered dataset of made-up visits, with the same declaration as `clinic`. */
const visits: Dataset = {
  ...datasetOf(
    [
      declared.identifier('patient'),
      { ...declared.integer('age', 0n, 110n, { nullable: false }), constantPerPerson: true },
      declared.category('ward', ['A', 'B', 'C']),
      declared.boolean('emergency'),
      declared.date('day', '2024-01-01', '2024-12-31', { dateFormat: 'DD.MM.YYYY' }),
    ],
    'visits',
  ),
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 5 },
}
const people: Dataset = datasetOf([declared.integer('age', 0n, 110n), declared.string('note')], 'people')

const count: Aggregate = {
  groupBy: [],
  statistics: [{ kind: 'count' }],
  bounding: { kind: 'one-row-each' },
}
const countOf = ({ engine, dataset }: DummyTable) =>
  engine.aggregate(dataset, { ...count, bounding: boundingOf(dataset) })

/** Keeps all rows of each person. */
function boundingOf({ privacyUnit }: Dataset): Aggregate['bounding'] {
  return privacyUnit.kind === 'row' ? { kind: 'one-row-each' } : { kind: 'rows', rows: privacyUnit.maxRows }
}

const files = async () =>
  (await readdir(directory).catch(() => [])).filter((name) => name !== 'engine').sort()

describe('a table', () => {
  test('holds exactly the made-up rows, whatever the declaration', async () => {
    await fc.assert(
      fc.asyncProperty(declaration, fc.integer({ min: 1, max: 40 }), async (drawn, rows) => {
        const size = { rows, seed: 'table' }
        const dataset = datasetFor(drawn)
        const queryable = drawn.columns.filter(({ type }) => type !== 'identifier')
        const names = queryable.map(({ name }) => `"${name}"`)
        if (names.length === 0) return
        const stored = await dummies.query(dataset, size, caller(), async ({ dataset: { version } }) =>
          withDuckDb(
            ':memory:',
            `ATTACH '${directory}/${version}.duckdb' AS made (READ_ONLY)`,
            `CREATE TABLE kept AS SELECT ${names.join(', ')} FROM made.rows`,
            'DETACH made',
            'FROM kept',
          ),
        )
        const made = [...dummyRows(drawn, size)].map((values) =>
          values.filter((_, i) => drawn.columns[i]?.type !== 'identifier'),
        )
        const sorted = (all: readonly (readonly unknown[])[]) =>
          all
            .map((values) =>
              JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? Number(value) : value)),
            )
            .sort()
        expect(sorted(stored)).toEqual(sorted(made))
      }),
      { numRuns: cases(25) },
    )
  })

  test('answers with the integers of the reference engine', async () => {
    const aggregate: Aggregate = {
      where: { kind: 'boolean-is', column: 'emergency', value: false },
      groupBy: [{ kind: 'category', column: 'ward', size: 3, nullCell: true }],
      statistics: [{ kind: 'count' }, { kind: 'affine-sum', column: 'age', factor: 1n, offset: -3n }],
      bounding: boundingOf(visits),
    }
    const names = visits.columns.map(({ name }) => name)
    const rows = [...dummyRows(dummyDeclaration(visits), { rows: 400, seed: 's' })].map(
      (values): StoredRow => ({
        ...Object.fromEntries(values.map((value, i) => [names[i], value])),
        [PERSON]: BigInt(String(values[0]).replace('dummy-', '')),
        // Everybody keeps all rows, so that their order does not matter.
        [RANK]: 1n,
      }),
    )
    const computed = await dummies.query(visits, { rows: 400, seed: 's' }, caller(), ({ engine, dataset }) =>
      engine.aggregate(dataset, aggregate),
    )
    expect(computed).toEqual(aggregateRows(aggregate, rows))
    expect(computed.flat().every((integer) => integer !== 0n)).toBe(true)
  })

  test('is made once for two datasets with one declaration, and again for another seed', async () => {
    await dummies.query(visits, small, caller(), countOf)
    const other: Dataset = {
      ...visits,
      id: 'other',
      version: '9',
      source: { kind: 'table', connection: 'warehouse', table: 'main.visits', mode: 'live' },
    }
    expect(await dummies.query(other, small, caller(), countOf)).toEqual([[60n]])
    expect(written).toBe(1)
    await dummies.query(visits, { ...small, seed: 't' }, caller(), countOf)
    expect(written).toBe(2)
  })

  test('has the rules of the dataset, and the public number of its own units only under change-one', async () => {
    const facts = (dataset: Dataset) =>
      dummies.query(dataset, small, caller(), async ({ dataset: { rows, people, neighbours } }) => ({
        rows,
        people,
        neighbours,
      }))
    expect(await facts({ ...people, neighbours: 'change-one', rows: 5_000 })).toEqual({
      rows: 60,
      neighbours: 'change-one',
    })
    expect(await facts(people)).toEqual({ neighbours: 'add-remove' })
    const counted = await facts({ ...visits, neighbours: 'change-one', people: 5_000 })
    expect(counted.people).toBeGreaterThan(5)
    expect(counted.people).toBeLessThan(61)
  })

  test('is kept while it is used, and only a few are kept afterwards', async () => {
    const sizes = Array.from({ length: 7 }, (_, i) => ({ rows: 10, seed: `s${i}` }))
    await dummies.query(people, { rows: 10, seed: 'held' }, caller(), async (held) => {
      for (const size of sizes) await dummies.query(people, size, caller('other'), countOf)
      expect(await countOf(held)).toEqual([[10n]])
    })
    await expect.poll(files).toHaveLength(4)
    // The most recently used ones are kept.
    await dummies.query(people, { rows: 10, seed: 'held' }, caller(), countOf)
    await dummies.query(people, { rows: 10, seed: 's6' }, caller(), countOf)
    expect(written).toBe(8)
    await dummies.close()
    expect(await readdir(folder)).toEqual([])
  })

  test('is made once for callers who ask for it at the same time, also if the first of them leaves', async () => {
    const leaving = new AbortController()
    const begin = Promise.withResolvers<void>()
    dummies = open({
      write: async (input, { givenUp }) => {
        written += 1
        await begin.promise
        givenUp.throwIfAborted()
        await writeDummyFile(input)
      },
    })
    const first = dummies.query(people, small, { principal: 'first', givenUp: leaving.signal }, countOf)
    const second = dummies.query(people, small, caller('second'), countOf)
    await expect.poll(() => written).toBe(1)
    leaving.abort()
    begin.resolve()
    expect(await second).toEqual([[60n]])
    await first
    expect(written).toBe(1)
  })

  test('that could not be made is made again by the next request', async () => {
    let fails = true
    dummies = open({
      write: async (input) => {
        if (fails) throw new Error('no thread')
        await writeDummyFile(input)
      },
    })
    await expect(dummies.query(people, small, caller(), countOf)).rejects.toThrow('no thread')
    fails = false
    expect(await dummies.query(people, small, caller(), countOf)).toEqual([[60n]])
  })

  test('that could not be made never takes the place of a newer one', async () => {
    await mkdir(directory)
    const tables = openTables(directory, 1, async (input) => {
      written += 1
      if (written === 1) throw new Error('no thread')
      await writeDummyFile(input)
    })
    const version = () => tables.use(dummyDeclaration(people), small, async (made) => made.version)
    // All three share the table that fails; the last one asks again at once, while the others end.
    const outcomes = await Promise.allSettled([version(), version(), version().catch(version)])
    expect(outcomes).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }, { value: 'table-2' }])
    expect([await version(), written]).toEqual(['table-2', 2])
    await tables.close()
  })
})

/** A registered dataset with a declaration. */
function datasetFor(declaration: DummyDeclaration): Dataset {
  return { ...datasetOf(declaration.columns), ...declaration }
}

describeOnce('rows of a dataset and made-up rows are never mixed up', () => {
  test('attack: a plan over a registered dataset, or over one with the id of a table, finds no made-up rows', async () => {
    await dummies.query(people, small, caller(), async ({ engine, dataset }) => {
      expect(await engine.aggregate(dataset, count)).toEqual([[60n]])
      const unavailable = { name: 'EngineUnavailable' }
      await expect(engine.aggregate(people, count)).rejects.toMatchObject(unavailable)
      for (const { id, version } of [
        { ...dataset, id: 'people' },
        { ...dataset, version: '1' },
      ])
        await expect(engine.aggregate({ ...people, id, version }, count)).rejects.toMatchObject(unavailable)
    })
  })

  test('attack: a plan over a table of made-up rows finds no rows of a dataset, ingested or live', async () => {
    const asked: string[] = []
    const fail = async (): Promise<never> => {
      asked.push('read')
      throw new Error('a real table was read')
    }
    const rowsFile = path.join(folder, 'real.duckdb')
    await withDuckDb(
      rowsFile,
      'CREATE TABLE rows AS SELECT i::BIGINT AS age, NULL::VARCHAR AS note FROM range(7) AS r(i)',
    )
    const duckDb = openTestEngine(folder, {
      files: () => rowsFile,
      memoryLimit: '128MB',
      queryTimeoutMs: 10_000,
    })
    const table = {
      aggregate: fail,
      countIndexes: fail,
      countIndexesInCells: fail,
      countTexts: fail,
      close: async () => undefined,
    }
    const engine = createDatasetEngine({
      duckDb,
      tables: new Map([['warehouse', table as never]]),
      keyedUnit: async () => ({ kind: 'row' }),
      reachability: { isReachable: () => true, checkSoon: () => {} },
    })
    await engine.open({ dataset: people })
    expect(await engine.aggregate(people, count)).toEqual([[7n]])
    const live: Dataset = {
      ...people,
      source: { kind: 'table', connection: 'warehouse', table: 'main.people', mode: 'live' },
    }
    for (const dataset of [people, live])
      await dummies.query(dataset, small, caller(), async (made) => {
        expect(made.dataset.id).toMatch(/^dummy:[0-9a-f]{64}$/)
        await expect(engine.aggregate(made.dataset, count)).rejects.toMatchObject({
          name: 'EngineUnavailable',
        })
      })
    expect(asked).toEqual([])
    await engine.close()
  })
})

describeOnce('a file', () => {
  test('is the text of the rows, and leaves nothing in the folder', async () => {
    for (const format of ['csv', 'json'] as const) {
      const { stream, bytes } = await dummies.file(visits, small, format, caller())
      expect(await files()).toEqual([])
      const expected = [...dummyText(dummyDeclaration(visits), small, format)].join('')
      expect(await text(stream)).toBe(expected)
      expect(bytes).toBe(Buffer.byteLength(expected))
    }
  })

  test('in Parquet has the same values, with types of their own', async () => {
    const { stream } = await dummies.file(datasetFor(clinic), { rows: 300, seed: 's' }, 'parquet', caller())
    expect(await files()).toEqual([])
    const [parquet, csv] = [path.join(folder, 'rows.parquet'), path.join(folder, 'rows.csv')]
    await writeFile(parquet, stream)
    await writeFile(csv, dummyText(clinic, { rows: 300, seed: 's' }, 'source'))
    const types = await withDuckDb(
      ':memory:',
      `SELECT column_name, column_type FROM (DESCRIBE FROM '${parquet}')`,
    )
    expect(types).toEqual([
      ['patient', 'VARCHAR'],
      ['age', 'BIGINT'],
      ['cost, EUR', 'DOUBLE'],
      ['shift', 'DOUBLE'],
      ['visited', 'DATE'],
      ['arrived', 'TIMESTAMP WITH TIME ZONE'],
      ['emergency', 'BOOLEAN'],
      ['ward', 'VARCHAR'],
      ['diagnosis', 'VARCHAR'],
      ['remark', 'VARCHAR'],
      ['visit', 'VARCHAR'],
    ])
    const names = clinic.columns.map(({ name }) => `"${name}"`)
    const shown = names.map((name) =>
      name === '"arrived"'
        ? `strftime(arrived AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ')`
        : `${name}::VARCHAR`,
    )
    const read = await withDuckDb(':memory:', `SELECT ${shown.join(', ')} FROM '${parquet}'`)
    const expected = [...dummyText(clinic, { rows: 300, seed: 's' }, 'json')].join('')
    const records: readonly Record<string, unknown>[] = JSON.parse(expected)
    const asText = (value: unknown) =>
      value === null ? null : typeof value === 'number' ? value : String(value)
    const numbers = new Set([1, 2, 3])
    expect(
      read.map((row) => row.map((value, i) => (numbers.has(i) && value !== null ? Number(value) : value))),
    ).toEqual(records.map((record) => Object.values(record).map(asText)))
  })

  test('that cannot be written leaves nothing', async () => {
    dummies = open({
      write: async ({ file }) => {
        await writeFile(file, 'half of')
        throw new Error('no thread')
      },
    })
    for (const format of ['csv', 'parquet'] as const)
      await expect(dummies.file(people, small, format, caller())).rejects.toThrow('no thread')
    expect(await files()).toEqual([])
  })
})

describeOnce('one caller against others', () => {
  test('attack: many requests of one principal leave a place for another, which does not wait', async () => {
    const release = Promise.withResolvers<void>()
    const begun: string[] = []
    const ask = (principal: string) =>
      dummies.query(people, small, caller(principal), async () => {
        begun.push(principal)
        if (principal === 'flood') await release.promise
      })
    const flood = Array.from({ length: 20 }, () => ask('flood'))
    await expect.poll(() => begun).toEqual(['flood'])
    await ask('other')
    expect(begun).toEqual(['flood', 'other'])
    release.resolve()
    await Promise.all(flood)
    expect(begun.length).toBe(21)
  })

  test('attack: files of one principal that are never read leave places for another, and end when the client leaves', async () => {
    const leaving = new AbortController()
    const flood = { principal: 'flood', givenUp: leaving.signal }
    const held = await Promise.all(Array.from({ length: 4 }, () => dummies.file(people, small, 'csv', flood)))
    const waiting = dummies.file(people, small, 'csv', {
      principal: 'flood',
      givenUp: new AbortController().signal,
    })
    for (let i = 0; i < 3; i += 1) {
      const { stream, bytes } = await dummies.file(people, small, 'csv', caller('other'))
      expect(Buffer.byteLength(await text(stream))).toBe(bytes)
    }
    expect(written).toBe(7)
    leaving.abort()
    for (const { stream } of held) await expect(text(stream)).rejects.toThrow()
    const { stream, bytes } = await waiting
    expect(Buffer.byteLength(await text(stream))).toBe(bytes)
  })

  test('attack: requests beyond the queue are refused, those of the flood first', async () => {
    const release = Promise.withResolvers<void>()
    const ask = (principal: string) => dummies.query(people, small, caller(principal), () => release.promise)
    const flood = Array.from({ length: 60 }, () =>
      ask('flood').then(
        () => 'done',
        (error) => error.code,
      ),
    )
    const others = ['a', 'b', 'c'].map((name) =>
      ask(name).then(
        () => 'done',
        (error) => error.code,
      ),
    )
    await expect.poll(() => written).toBe(1)
    release.resolve()
    expect(await Promise.all(others)).toEqual(['done', 'done', 'done'])
    const outcomes = await Promise.all(flood)
    expect(outcomes.filter((outcome) => outcome === 'unavailable').length).toBeGreaterThan(25)
    expect(outcomes.filter((outcome) => outcome === 'done').length).toBeGreaterThan(25)
  })

  test('a client that disconnects while it waits is not answered, and others are', async () => {
    const release = Promise.withResolvers<void>()
    const held = dummies.query(people, small, caller(), () => release.promise)
    const leaving = new AbortController()
    const left = dummies.query(people, small, { principal: 'analyst', givenUp: leaving.signal }, countOf)
    leaving.abort()
    await expect(left).rejects.toMatchObject({ code: 'unavailable' })
    release.resolve()
    await held
    expect(await dummies.query(people, small, caller(), countOf)).toEqual([[60n]])
  })

  test('nothing is made while the disk is nearly full, and not more values than allowed', async () => {
    dummies = open({ hasSpace: async () => false })
    await mkdir(directory, { recursive: true })
    for (const made of [
      dummies.file(people, small, 'csv', caller()),
      dummies.query(people, small, caller(), countOf),
    ])
      await expect(made).rejects.toMatchObject({ code: 'unavailable' })
    const wide = datasetOf(Array.from({ length: 200 }, (_, i) => declared.boolean(`c${i}`)))
    const refused = { code: 'invalid-request', errors: [{ field: 'rows' }] }
    await expect(dummies.file(wide, { rows: 20_001, seed: 's' }, 'csv', caller())).rejects.toMatchObject(
      refused,
    )
    await expect(dummies.query(wide, { rows: 20_001, seed: 's' }, caller(), countOf)).rejects.toMatchObject(
      refused,
    )
    expect(written).toBe(0)
  })
})
