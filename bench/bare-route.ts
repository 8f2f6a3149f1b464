import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { DuckDBPreparedStatement } from '@duckdb/node-api'
import fastify from 'fastify'
import { readConfig } from '../src/config.ts'
import { openCatalog } from '../src/datasets/catalog/catalog.ts'
import { duckDbDialect } from '../src/engines/duckdb/dialect.ts'
import { openLockedInstance } from '../src/engines/duckdb/instance.ts'
import { printAggregate } from '../src/engines/sql-printer.ts'

/*
 * The baseline that Sotto is compared with: a route that does the minimum work. It counts the rows with the statement
 * that Sotto prints, over the same ingested file with the same settings, and durably commits one row to SQLite before
 * it answers. It has no key, validation, plan, noise, log line, budget or second commit.
 */

/** Counts, then commits one row synchronously. */
export const SINGLE_COMMIT_ROUTE = '/count'
/** Counts, then commits together with all waiting requests. */
export const GROUPED_COMMIT_ROUTE = '/count-grouped'

if (import.meta.main) await serve(process.argv[2] ?? '', process.argv[3] ?? '', process.argv[4] ?? '')

async function serve(dataDirectory: string, debitsFile: string, id: string): Promise<void> {
  const count = await openCounter(dataDirectory, id)
  const { debit, debitGrouped } = openDebits(debitsFile)
  const app = fastify()
  const body = { schema: { body: { type: 'object' } } } as const
  app.post<{ Body: CountRequest }>(SINGLE_COMMIT_ROUTE, body, async (request) => {
    const value = await count(request.body.where.value)
    debit(JSON.stringify(request.body))
    return { value }
  })
  app.post<{ Body: CountRequest }>(GROUPED_COMMIT_ROUTE, body, async (request) => {
    const value = await count(request.body.where.value)
    await debitGrouped(JSON.stringify(request.body))
    return { value }
  })
  process.once('SIGTERM', () => process.exit(0))
  console.log(`bare route at ${await app.listen({ host: '127.0.0.1', port: 0 })}.`)
}

interface CountRequest {
  readonly where: { readonly value: number }
}

/** Opens as many connections as Sotto, each with the statement prepared. Requests wait in line while all are busy. */
async function openCounter(dataDirectory: string, id: string): Promise<(age: number) => Promise<number>> {
  const config = readConfig({})
  const catalog = await openCatalog(path.join(dataDirectory, 'datasets'))
  const dataset = catalog.get(id)?.dataset
  if (dataset === undefined) throw new Error('the dataset is not there')
  const { sql } = printAggregate(
    {
      where: { kind: 'index-between', column: 'Age', lower: 0n },
      groupBy: [],
      statistics: [{ kind: 'count' }],
      bounding: { kind: 'one-row-each' },
    },
    dataset,
    duckDbDialect,
  )
  const instance = await openLockedInstance(catalog.rowsFile(dataset), 'READ_ONLY', {
    threads: config.queryThreads,
    memoryLimit: config.queryMemory,
    temporaryDirectory: path.join(dataDirectory, `bare-temporary-${id}`),
    maxTemporaryDirectorySize: '1GB',
  })
  const idle: DuckDBPreparedStatement[] = []
  for (let opened = 0; opened < config.queryConnections; opened += 1) {
    idle.push(await (await instance.connect()).prepare(sql))
  }
  const line: ((statement: DuckDBPreparedStatement) => void)[] = []

  return async (age) => {
    const statement = idle.pop() ?? (await new Promise<DuckDBPreparedStatement>((take) => line.push(take)))
    statement.bindBigInt(1, BigInt(age))
    const result = await statement.run()
    const value = Number(result.getChunk(0).getRows()[0]?.[1])
    const next = line.shift()
    if (next === undefined) idle.push(statement)
    else next(statement)
    return value
  }
}

interface Debits {
  debit(request: string): void
  debitGrouped(request: string): Promise<void>
}

function openDebits(file: string): Debits {
  const database = new DatabaseSync(file)
  database.exec(`
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 16000;
    CREATE TABLE debits (number INTEGER PRIMARY KEY, request TEXT NOT NULL) STRICT;
  `)
  const insert = database.prepare('INSERT INTO debits (request) VALUES (?)')
  let waiting: { readonly request: string; readonly resolve: () => void }[] = []

  const commitWaiting = (): void => {
    const group = waiting
    waiting = []
    database.exec('BEGIN IMMEDIATE')
    for (const { request } of group) insert.run(request)
    database.exec('COMMIT')
    for (const { resolve } of group) resolve()
  }

  return {
    debit: (request) => {
      insert.run(request)
    },
    debitGrouped: (request) =>
      new Promise((resolve) => {
        if (waiting.length === 0) setImmediate(commitWaiting)
        waiting.push({ request, resolve })
      }),
  }
}
