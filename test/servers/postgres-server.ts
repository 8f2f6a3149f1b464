import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chownSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { startReaper } from './reaper.ts'

/** A separate PostgreSQL server in a temporary folder. Both are removed when this process ends. */
export interface PostgresServer {
  /** Holds the data (`data/`), the log (`log`) and the socket. */
  readonly folder: string
  /** On 127.0.0.1; the same after a restart. */
  readonly port: number
  /** A connection string for its superuser, over TCP and without a password. */
  url(database: string): string
  /** Creates an empty database and resolves to its connection string. */
  createDatabase(): Promise<string>
  /** Starts it again after a stop or a kill, including recovery. Does nothing if it is running. */
  start(): Promise<void>
  /**
   * `fast`: clients are cut off, then a checkpoint. `immediate`: all processes quit at once, and the next start
   * recovers from the log. Does nothing if it is not running.
   */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  restart(mode?: 'fast' | 'immediate'): Promise<void>
  /** SIGKILL for the server and each of its processes. */
  kill(): Promise<void>
  /** The server's own process, then its children; empty if it is not running. */
  processIds(): readonly number[]
  /** Everything that it has logged so far. */
  log(): string
  /** Stops it and removes its folder. */
  remove(): Promise<void>
}

export interface PostgresOptions {
  /** Lines of `postgresql.conf`, by name. */
  readonly settings?: Readonly<Record<string, string>>
  /** Where the folder of the server is made: among temporary files unless given. */
  readonly parent?: string | undefined
}

const START_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 10
const START_ATTEMPTS = 10
const SUPERUSER = 'postgres'
const PROGRAMS = ['initdb', 'postgres', 'pg_basebackup']

/**
 * Below the range of outgoing connections, and different for each process of the test runner, so that the port is still
 * free for a restart.
 */
const PORTS = { first: 20_000 + 1_000 * (Number(process.env.VITEST_POOL_ID ?? 0) % 12), count: 1_000 }

/**
 * `fsync` and the other durability settings keep their safe values, because the tests depend on them. Shared memory
 * lies in the folder, where a killed server leaves nothing behind.
 */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  max_connections: '200',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  dynamic_shared_memory_type: 'mmap',
}

/**
 * Reads the id of the server process from its input until the input ends, which it does however the writer ends. It
 * then stops the server, frees the one segment of shared memory that a killed server leaves, and removes the folder.
 */
const REAPER = `
  trap '' HUP INT TERM
  running=
  while read -r pid; do running=$pid; done
  if [ -n "$running" ]; then
    kill -QUIT "$running"
    tries=0
    while kill -0 "$running" && [ $tries -lt 80 ]; do sleep 0.05; tries=$((tries + 1)); done
    kill -KILL "$running"
  fi
  sed -n 7p "$1/data/postmaster.pid" | while read -r key segment; do ipcrm -m "$segment"; done
  until rm -rf "$1"; do sleep 0.2; done
`

/** The folder of PostgreSQL's server programs; `undefined` if it is not installed. */
export function postgresBinaries(): string | undefined {
  const onPath = (process.env.PATH ?? '').split(path.delimiter).filter(path.isAbsolute)
  const debian = versions('/usr/lib/postgresql', /^(\d+)$/).map((folder) => path.join(folder, 'bin'))
  const homebrew = ['/opt/homebrew/opt', '/usr/local/opt', '/home/linuxbrew/.linuxbrew/opt']
    .flatMap((folder) => versions(folder, /^postgresql@(\d+)$/))
    .map((folder) => path.join(folder, 'bin'))
  return [...onPath, ...debian, ...homebrew].find((folder) =>
    PROGRAMS.every((program) => existsSync(path.join(folder, program))),
  )
}

/** The folders whose names hold a version, newest first. */
function versions(folder: string, name: RegExp): readonly string[] {
  if (!existsSync(folder)) return []
  const version = (entry: string) => Number(name.exec(entry)?.[1])
  return readdirSync(folder)
    .filter((entry) => name.test(entry))
    .sort((a, b) => version(b) - version(a))
    .map((entry) => path.join(folder, entry))
}

/**
 * Creates a cluster (UTF-8, C collation) and starts it, in about a second. `cluster_name` is `primary`.
 * @throws Error if PostgreSQL is not installed, or does not start; the message then contains the log.
 */
export async function startPostgresServer(options: PostgresOptions = {}): Promise<PostgresServer> {
  const settings = { cluster_name: 'primary', ...options.settings }
  return startServer({ ...options, settings }, (data, run) =>
    // Unflushed, because no test simulates a loss of power for the server.
    run('initdb', [...['-D', data, '-U', SUPERUSER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']]),
  )
}

/**
 * Copies a running server and starts the copy as its streaming standby, with the primary's settings. `cluster_name`,
 * and with it the name in `synchronous_standby_names`, is `standby`.
 * @throws Error as {@link startPostgresServer}
 */
export async function startStandby(
  primary: PostgresServer,
  options: PostgresOptions = {},
): Promise<PostgresServer> {
  const settings = { cluster_name: 'standby', ...options.settings }
  return startServer({ ...options, settings }, (data, run) =>
    run('pg_basebackup', [
      ...['-h', '127.0.0.1', '-p', String(primary.port), '-U', SUPERUSER],
      ...['-D', data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'],
    ]),
  )
}

type Run = (program: string, args: readonly string[]) => Promise<void>

async function startServer(
  { settings, parent = tmpdir() }: PostgresOptions,
  makeData: (data: string, run: Run) => Promise<void>,
): Promise<PostgresServer> {
  const binaries = postgresBinaries()
  if (binaries === undefined) throw new Error('PostgreSQL is not installed')
  const owner = unprivilegedUser()
  const folder = mkdtempSync(path.join(parent, 'sotto-postgres-'))
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  const data = path.join(folder, 'data')
  const logFile = path.join(folder, 'log')
  const reaper = startReaper(REAPER, folder)
  let postmaster: ChildProcess | undefined
  let lastDatabase = 0

  function spawnProgram(program: string, args: readonly string[]): ChildProcess {
    const log = openSync(logFile, 'a')
    try {
      return spawn(path.join(binaries ?? '', program), args, {
        cwd: folder,
        // A time zone and no locale; otherwise initdb tries all that the machine has.
        env: { PATH: process.env.PATH ?? '', TZ: 'UTC', LC_ALL: 'C' },
        stdio: ['ignore', log, log],
        // In its own process group, so that Ctrl-C in a terminal does not end it and the reaper can stop it in order.
        detached: true,
        ...owner,
      })
    } finally {
      closeSync(log)
    }
  }

  const run: Run = async (program, args) => {
    const [code] = await once(spawnProgram(program, args), 'exit')
    if (code !== 0) throw new Error(`${program} ended with ${code}:\n${log()}`)
  }

  function log(): string {
    return existsSync(logFile) ? readFileSync(logFile, 'utf8') : ''
  }

  async function start(): Promise<void> {
    if (postmaster !== undefined) return
    const logged = log().length
    const child = spawnProgram('postgres', ['-D', data])
    reaper.watch(child.pid === undefined ? [] : [child.pid])
    child.once('exit', () => {
      if (postmaster === child) postmaster = undefined
      reaper.watch([])
    })
    postmaster = child
    for (const startMs = performance.now(); !isReady(data, child.pid); await sleep(LOOK_EVERY_MS)) {
      const late = performance.now() > startMs + START_WITHIN_MS
      if (late) await end('SIGKILL')
      if (late || child.exitCode !== null) {
        throw new Error(`PostgreSQL did not start:\n${log().slice(logged)}`)
      }
    }
    child.unref()
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const child = postmaster
    if (child === undefined) return
    child.ref()
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  async function kill(): Promise<void> {
    // Stopped first, so that it starts no further processes while they are listed.
    postmaster?.kill('SIGSTOP')
    const children = processIds().slice(1)
    for (const pid of children) signalIfThere(pid, 'SIGKILL')
    await end('SIGKILL')
    // While one of them is running, a start would find the shared memory in use.
    while (children.some(isRunning)) await sleep(LOOK_EVERY_MS)
  }

  function processIds(): readonly number[] {
    const pid = postmaster?.pid
    return pid === undefined ? [] : [pid, ...childrenOf(pid)]
  }

  const stop = (mode: 'fast' | 'immediate') => end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')

  async function remove(): Promise<void> {
    await stop('immediate')
    await reaper.end()
  }

  let port = 0
  const url = (database: string) => `postgres://${SUPERUSER}@127.0.0.1:${port}/${database}`

  try {
    await makeData(data, run)
    for (let attempt = 1; postmaster === undefined; attempt += 1) {
      port = await freePort()
      const lines = { ...SETTINGS, unix_socket_directories: folder, ...settings, port: String(port) }
      appendFileSync(path.join(data, 'postgresql.conf'), configuration(lines))
      try {
        await start()
      } catch (error) {
        // Another program may have taken the port in the meantime.
        if (attempt === START_ATTEMPTS || !String(error).includes('could not bind')) throw error
      }
    }
  } catch (error) {
    await reaper.end()
    throw error
  }

  return {
    folder,
    port,
    url,
    async createDatabase() {
      lastDatabase += 1
      const database = `test_${lastDatabase}`
      await queryPostgres(url(SUPERUSER), `CREATE DATABASE ${database}`)
      return url(database)
    },
    start,
    stop,
    async restart(mode = 'fast') {
      await stop(mode)
      await start()
    },
    kill,
    processIds,
    log,
    remove,
  }
}

/** Lines to append to `postgresql.conf`, where the last line of a name takes effect. */
function configuration(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join('')
}

/** User to run it as, because PostgreSQL refuses root; `undefined` if this process may run it itself. */
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const user of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((what) => {
      const { status, stdout } = spawnSync('id', [what, user], { encoding: 'utf8' })
      return status === 0 ? Number(stdout) : undefined
    })
    if (uid !== undefined && gid !== undefined) return { uid, gid }
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody"')
}

/** Finds a port that nothing listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count)
    const server = createServer()
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!free) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

/** True if the server's lock file says that it accepts connections. */
function isReady(data: string, pid: number | undefined): boolean {
  const lines = lockFile(data).split('\n')
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

/** Empty if there is none. A starting server replaces the file that a killed one left, which can happen at any moment. */
function lockFile(data: string): string {
  try {
    return readFileSync(path.join(data, 'postmaster.pid'), 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

interface Process {
  readonly pid: number
  readonly parent: number
  /** One letter; `Z` for a process that has ended and was not waited for yet. */
  readonly state: string
}

function processes(): readonly Process[] {
  if (!existsSync('/proc/self/stat')) {
    return spawnSync('ps', ['-A', '-o', 'pid=,ppid=,state='], { encoding: 'utf8' })
      .stdout.split('\n')
      .map((line) => line.trim().split(/\s+/))
      .map(([pid, parent, state = '']) => ({ pid: Number(pid), parent: Number(parent), state }))
  }
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      try {
        const [state = '', parent] = readFileSync(`/proc/${entry}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ')
        return [{ pid: Number(entry), parent: Number(parent), state }]
      } catch {
        return [] // it ended in the meantime
      }
    })
}

function childrenOf(pid: number): readonly number[] {
  return processes()
    .filter(({ parent }) => parent === pid)
    .map((child) => child.pid)
}

/** True if the process exists and has not ended. */
export function isRunning(pid: number): boolean {
  return processes().some((each) => each.pid === pid && !each.state.startsWith('Z'))
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Works on a connection that is closed afterwards. */
export async function withClient<Result>(
  url: string,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client(url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Runs a statement like a person with an SQL prompt, and returns its rows. */
export function queryPostgres(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  return withClient(url, async (client) => (await client.query(sql)).rows)
}
