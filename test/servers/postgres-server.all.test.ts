import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  isRunning,
  type PostgresServer,
  postgresBinaries,
  queryPostgres,
  startPostgresServer,
  startStandby,
} from './postgres-server.ts'

describe.skipIf(postgresBinaries() === undefined)('a PostgreSQL server for tests', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await startPostgresServer()
  })
  afterAll(() => server?.remove())

  test('is durable, UTF-8, collated by code, and not run by root', async () => {
    const url = await server.createDatabase()
    const [row] = await queryPostgres(
      url,
      `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
        current_setting('synchronous_commit') AS synchronous_commit, pg_encoding_to_char(encoding) AS encoding,
        datcollate, pg_is_in_recovery() AS standby
      FROM pg_database WHERE datname = current_database()`,
    )
    expect(row).toEqual({
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      encoding: 'UTF8',
      datcollate: 'C',
      standby: false,
    })
  })

  test('gives each caller a separate database, and accepts connections on its socket', async () => {
    const [first, second] = [await server.createDatabase(), await server.createDatabase()]
    expect(first).not.toBe(second)
    await queryPostgres(first, 'CREATE TABLE kept (number integer)')
    expect(await queryPostgres(second, `SELECT to_regclass('kept') AS kept`)).toEqual([{ kept: null }])
    const client = new Client({
      host: server.folder,
      port: server.port,
      user: 'postgres',
      database: 'postgres',
    })
    await client.connect()
    await client.end()
  })

  test.for(['fast', 'immediate', 'kill'] as const)('keeps what was committed: %s', async (how) => {
    const url = await server.createDatabase()
    await queryPostgres(url, 'CREATE TABLE kept (number integer); INSERT INTO kept VALUES (1)')
    const open = new Client(url)
    open.on('error', () => {})
    await open.connect()
    await open.query('BEGIN; INSERT INTO kept VALUES (2)')
    const before = server.processIds()
    const logged = server.log().length
    expect(before.length).toBeGreaterThan(5)

    await (how === 'kill' ? server.kill() : server.stop(how))
    expect(server.processIds()).toEqual([])
    expect(before.filter(isRunning)).toEqual([])
    await expect(queryPostgres(url, 'SELECT')).rejects.toThrow('ECONNREFUSED')

    await server.start()
    expect(await queryPostgres(url, 'SELECT number FROM kept')).toEqual([{ number: 1 }])
    const recovered = server.log().slice(logged).includes('automatic recovery in progress')
    expect(recovered).toBe(how !== 'fast')
  })

  test('a standby follows its primary, and says that it is one', async () => {
    const standby = await startStandby(server)
    onTestFinished(() => standby.remove())
    const [row] = await queryPostgres(standby.url('postgres'), 'SELECT pg_is_in_recovery() AS standby')
    expect(row).toEqual({ standby: true })

    const url = await server.createDatabase()
    await queryPostgres(url, 'CREATE TABLE kept (number integer); INSERT INTO kept VALUES (1)')
    const [written] = await queryPostgres(url, 'SELECT pg_current_wal_lsn() AS place')
    const replayed = `SELECT pg_last_wal_replay_lsn() >= '${written?.place}' AS yes`
    while ((await queryPostgres(standby.url('postgres'), replayed))[0]?.yes !== true) await sleep(10)
    const copy = standby.url(path.basename(new URL(url).pathname))
    expect(await queryPostgres(copy, 'SELECT number FROM kept')).toEqual([{ number: 1 }])
    await expect(queryPostgres(copy, 'INSERT INTO kept VALUES (2)')).rejects.toThrow('read-only')
    expect(await queryPostgres(url, 'SELECT application_name FROM pg_stat_replication')).toEqual([
      { application_name: 'standby' },
    ])
  })

  test('accepts other settings, and leaves nothing behind when removed', async () => {
    const careless = await startPostgresServer({ settings: { fsync: 'off' } })
    const url = careless.url('postgres')
    expect(await queryPostgres(url, 'SHOW fsync')).toEqual([{ fsync: 'off' }])
    await queryPostgres(url, 'ALTER SYSTEM SET fsync = on')
    await careless.restart()
    expect(await queryPostgres(url, 'SHOW fsync')).toEqual([{ fsync: 'on' }])
    const ids = careless.processIds()
    await careless.remove()
    expect(ids.filter(isRunning)).toEqual([])
    expect(existsSync(careless.folder)).toBe(false)
  })

  test('reports why it does not start, and leaves nothing behind', async () => {
    const empty = mkdtempSync(path.join(tmpdir(), 'sotto-'))
    onTestFinished(() => {
      vi.unstubAllEnvs()
      rmSync(empty, { recursive: true })
    })
    chmodSync(empty, 0o755)
    vi.stubEnv('TMPDIR', empty)
    await expect(startPostgresServer({ settings: { max_connections: 'many' } })).rejects.toThrow(
      /did not start.*max_connections/s,
    )
    expect(readdirSync(empty)).toEqual([])
  })

  test.for(['SIGKILL', 'SIGINT'] as const)('is removed once its owner is ended by %s', async (signal) => {
    const script = `
      const { startPostgresServer } = await import(${JSON.stringify(path.resolve(import.meta.dirname, './postgres-server.ts'))})
      const server = await startPostgresServer()
      process.stdout.write(JSON.stringify({ folder: server.folder, ids: server.processIds() }))
      setInterval(() => {}, 1_000)
    `
    const user = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [printed] = await once(user.stdout, 'data')
    const { folder, ids }: { folder: string; ids: readonly number[] } = JSON.parse(String(printed))
    expect(ids.length).toBeGreaterThan(3)
    expect(ids.filter(isRunning)).toEqual(ids)
    user.kill(signal)
    // Otherwise the test exceeds its time limit.
    while (existsSync(folder) || ids.some(isRunning)) await sleep(20)
  })
})
