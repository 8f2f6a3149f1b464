import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import type { Aggregate } from '../../../src/core/planner/language/aggregate.ts'
import { openPostgresTables } from '../../../src/engines/postgres/engine.ts'
import type { PostgresConnection } from '../../../src/engines/tables/connection.ts'
import type { TableDataset, TableEngine } from '../../../src/engines/tables/table-engine.ts'
import { describeOwnPostgres } from '../../servers/postgres.ts'
import { startStallingProxy } from '../../servers/stalling-proxy.ts'
import { column, datasetOf } from '../fixture.ts'
import { connectionOf } from './tables.ts'

const dataset: Dataset = datasetOf([column.integer('age', 0n, 120n)], 'visits')
const count: Aggregate = { groupBy: [], statistics: [{ kind: 'count' }], bounding: { kind: 'one-row-each' } }
const ROWS = 1_000

const SLOW = 'slow_visits'
const slowDataset: Dataset = datasetOf([column.integer('age', 0n, 120n)], SLOW)

/** True for a statement over the slow view, not for those that prepare its transaction. */
const reads = (query: string) => query.includes(`"${SLOW}" AS sotto_source`)

/** Names of connections to the server, apart from that of the test. */
const SESSIONS = `SELECT pid, state, query FROM pg_stat_activity
  WHERE application_name = 'sotto' AND pid <> pg_backend_pid() AND backend_type = 'client backend'`

describeOwnPostgres('PostgreSQL', { settings: { max_connections: '12' } }, (own) => {
  let url: string
  let admin: Client
  let engine: TableEngine | undefined
  beforeEach(async () => {
    await own.server.start()
    url = await own.server.createDatabase()
    await connectAdmin()
    await admin.query(`CREATE TABLE visits AS SELECT 40 AS age FROM generate_series(1, ${ROWS})`)
    // A view whose rows take as long as its reader allows.
    await admin.query(`CREATE VIEW ${SLOW} AS SELECT 40 AS age FROM generate_series(1, 100), pg_sleep(60)`)
  })
  afterEach(async () => {
    await engine?.close()
    engine = undefined
    await admin.end().catch(() => undefined)
  })

  const connectAdmin = async () => {
    admin = new Client(url)
    admin.on('error', () => {})
    await admin.connect()
  }
  const opened = (given: Partial<PostgresConnection> = {}, statementTimeoutMs = 20_000): TableEngine => {
    const limits = { connections: 2, statementTimeoutMs, registrationTimeoutMs: statementTimeoutMs }
    engine = openPostgresTables({ ...connectionOf(url), limits, ...given })
    engine.open(tableOf(dataset))
    engine.open(tableOf(slowDataset))
    return engine
  }
  const tableOf = (of: Dataset): TableDataset => ({
    dataset: of,
    table: { schema: 'public', name: of.id },
    columns: [{ name: 'age', type: 'integer', notNull: false }],
    unit: { kind: 'row' },
  })
  const counted = (of: TableEngine) => of.aggregate(dataset, count)
  const right = [[BigInt(ROWS)]]
  const failed = (name: string) => ({ name, message: 'the aggregate could not be computed' })
  /** Waits until the server runs as many statements over the slow view. */
  const running = async (statements: number) => {
    const isSlow = ({ state, query }: { state: string; query: string }) => state === 'active' && reads(query)
    while ((await admin.query(SESSIONS)).rows.filter(isSlow).length !== statements) await sleep(10)
  }
  const backend = async (): Promise<number> => {
    const { rows } = await admin.query<{ pid: number; query: string }>(SESSIONS)
    const found = rows.find(({ query }) => reads(query))
    if (found === undefined) throw new Error('no statement runs')
    return found.pid
  }

  it('is unavailable before a query, and is used again once it is back', async () => {
    const tables = opened()
    expect(await tables.reachable()).toBe(true)
    await own.server.stop('fast')
    await expect(counted(tables)).rejects.toMatchObject(failed('EngineUnavailable'))
    expect(await tables.reachable()).toBe(false)
    await own.server.start()
    expect(await counted(tables)).toEqual(right)
  })

  it('answers after a restart, although every idle connection was lost', async () => {
    const tables = opened()
    await Promise.all([counted(tables), counted(tables)])
    await own.server.restart('immediate')
    expect(await Promise.all([counted(tables), counted(tables)])).toEqual([right, right])
  })

  /** The sorted names of the failures of two slow queries that are under way while something happens. */
  const failuresDuring = async (tables: TableEngine, outage: () => Promise<void>) => {
    const asked = [1, 2].map(() =>
      tables.aggregate(slowDataset, count).then(
        () => 'answered',
        (error: Error) => error.name,
      ),
    )
    await running(2)
    await outage()
    return (await Promise.all(asked)).toSorted()
  }

  it('counts a crash once, however many queries were under way, and the next crash again', async () => {
    const tables = opened()
    for (let outage = 0; outage < 2; outage += 1) {
      const failures = await failuresDuring(tables, () => own.server.kill())
      expect(failures).toEqual(['EngineInterrupted', 'EngineUnavailable'])
      await own.server.start()
      await connectAdmin()
      expect(await counted(tables)).toEqual(right)
    }
  })

  it('counts the end of one process of the server, which ends the others as well', async () => {
    const tables = opened()
    const failures = await failuresDuring(tables, async () => {
      process.kill(await backend(), 'SIGKILL')
    })
    expect(failures).toEqual(['EngineInterrupted', 'EngineUnavailable'])
    await expect.poll(() => counted(tables).catch(() => undefined)).toEqual(right)
  })

  it.each([
    ['restart', () => own.server.restart('fast')],
    ['stop', () => own.server.stop('fast')],
  ] as const)('does not count an orderly %s, which cannot depend on data', async (_, end) => {
    const tables = opened()
    expect(await failuresDuring(tables, end)).toEqual(['EngineUnavailable', 'EngineUnavailable'])
    await own.server.start()
    expect(await counted(tables)).toEqual(right)
  })

  it.each([
    ['pg_terminate_backend', 'EngineInterrupted'],
    ['pg_cancel_backend', 'EngineFailure'],
  ])('fails a query after %s as %s, and answers the next', async (end, name) => {
    const tables = opened()
    const query = expect(tables.aggregate(slowDataset, count)).rejects.toMatchObject(failed(name))
    await running(1)
    await admin.query(`SELECT ${end}($1)`, [await backend()])
    await query
    expect(await counted(tables)).toEqual(right)
  })

  it('ends a statement at the time limit, on the server too', async () => {
    const tables = opened({}, 500)
    await expect(tables.aggregate(slowDataset, count)).rejects.toMatchObject(failed('EngineTimeout'))
    await running(0)
    expect(await counted(tables)).toEqual(right)
  })

  it('ends the statements of a dataset that is closed, and no others', async () => {
    const tables = opened()
    const query = expect(tables.aggregate(slowDataset, count)).rejects.toMatchObject(
      failed('EngineUnavailable'),
    )
    await running(1)
    await tables.closeDataset(slowDataset)
    await query
    await running(0)
    expect(await counted(tables)).toEqual(right)
    await expect(tables.aggregate(slowDataset, count)).rejects.toMatchObject(failed('EngineUnavailable'))
  })

  it('ends an inspection once its signal is aborted, with the signal’s reason', async () => {
    const tables = opened()
    const abort = new AbortController()
    const inspection = expect(tables.inspect(tableOf(slowDataset), abort.signal)).rejects.toThrow('withdrawn')
    await running(1)
    abort.abort(new Error('withdrawn'))
    await inspection
    await running(0)
    expect(await tables.inspect(tableOf(dataset))).toMatchObject({ rowsRead: ROWS, rowsStored: ROWS })
  })

  it('is unavailable while it accepts no more connections', async () => {
    const tables = opened({ user: 'reader' }, 5_000)
    await admin.query('CREATE ROLE reader LOGIN; GRANT SELECT ON visits TO reader')
    await admin.query('ALTER ROLE reader CONNECTION LIMIT 0')
    await expect(counted(tables)).rejects.toMatchObject(failed('EngineUnavailable'))
    await admin.query('ALTER ROLE reader CONNECTION LIMIT 1')
    expect(await counted(tables)).toEqual(right)
    await tables.close()
    await admin.query('DROP OWNED BY reader; DROP ROLE reader')
  })

  it('is unavailable once the password is wrong, and reads a new one for the next login', async () => {
    const access = join(own.server.folder, 'data', 'pg_hba.conf')
    await writeFile(access, `host all reader all scram-sha-256\n${await readFile(access, 'utf8')}`)
    await admin.query("CREATE ROLE reader LOGIN PASSWORD 'old'; GRANT SELECT ON visits TO reader")
    await admin.query('SELECT pg_reload_conf()')
    let password = 'old'
    const tables = opened({ user: 'reader', password: async () => password })
    expect(await counted(tables)).toEqual(right)
    await admin.query("ALTER ROLE reader PASSWORD 'new'")
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
    await expect(counted(tables)).rejects.toMatchObject(failed('EngineUnavailable'))
    expect(await tables.reachable()).toBe(false)
    password = 'new'
    expect(await counted(tables)).toEqual(right)
    await tables.close()
    await admin.query('DROP OWNED BY reader; DROP ROLE reader')
  })

  it('is unavailable within the time limit if the network stalls before a statement', async () => {
    const proxy = await startStallingProxy(own.server.port)
    try {
      const tables = opened({ host: '127.0.0.1', port: proxy.port }, 1_000)
      expect(await counted(tables)).toEqual(right)
      proxy.stall()
      await expect(counted(tables)).rejects.toMatchObject(failed('EngineUnavailable'))
      proxy.resume()
      expect(await counted(tables)).toEqual(right)
    } finally {
      await engine?.close()
      engine = undefined
      await proxy.close()
    }
  })

  it('ends a query within the time limit if the network stalls during it', async () => {
    const proxy = await startStallingProxy(own.server.port)
    try {
      const tables = opened({ host: '127.0.0.1', port: proxy.port }, 2_000)
      const query = expect(tables.aggregate(slowDataset, count)).rejects.toMatchObject(
        failed('EngineTimeout'),
      )
      await running(1)
      proxy.stall()
      await query
      proxy.resume()
      expect(await counted(tables)).toEqual(right)
      await running(0)
    } finally {
      await engine?.close()
      engine = undefined
      await proxy.close()
    }
  })

  it.each([
    ['type of a column', 'ALTER TABLE visits ALTER age TYPE bigint'],
    ['name of a column', 'ALTER TABLE visits RENAME age TO years'],
    ['constraint of a column', 'ALTER TABLE visits ALTER age SET NOT NULL'],
    ['set of columns', 'ALTER TABLE visits DROP age'],
    ['name of the table', 'ALTER TABLE visits RENAME TO visitors'],
  ])('tells that the %s has changed', async (_, change) => {
    const tables = opened()
    expect(await counted(tables)).toEqual(right)
    await admin.query(change)
    await expect(counted(tables)).rejects.toMatchObject(failed('TableChanged'))
  })

  it('answers although columns that are not declared have changed', async () => {
    const tables = opened()
    await admin.query('ALTER TABLE visits ADD note text')
    expect(await counted(tables)).toEqual(right)
  })
})
