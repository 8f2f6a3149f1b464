import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './postgres-server.ts'
import { startReaper } from './reaper.ts'

/** The version of Trino that the tests run. */
export const TRINO_VERSION = '476'

/** The folder into which `install-trino.ts` installs it. */
export const TRINO_FOLDER = path.resolve(
  import.meta.dirname,
  `../../node_modules/.cache/trino-${TRINO_VERSION}`,
)

/** The oldest version of Java that runs it. */
const OLDEST_JAVA = 24

/**
 * A coordinator and a worker in a temporary folder, with the catalogs `memory`, `iceberg` and `tpch`. Both read tables.
 * They end, and the folder is removed, when this process ends.
 */
export interface TrinoCluster {
  /** The coordinator's address; the same after a restart. */
  readonly url: string
  /** Starts the nodes that do not run, and waits until both are active. */
  start(): Promise<void>
  /** SIGKILL for one node. */
  kill(node: TrinoNode): Promise<void>
  /** SIGSTOP for one node, which then accepts connections and does not answer. */
  stop(node: TrinoNode): Promise<void>
  /** SIGCONT for one node. */
  resume(node: TrinoNode): Promise<void>
  /** Runs a statement as an administrator and returns the rows of its result. */
  query(sql: string): Promise<readonly (readonly unknown[])[]>
  /** Stops the nodes and removes the folder. */
  remove(): Promise<void>
}

/** A server of the cluster. */
export type TrinoNode = (typeof TRINO_NODES)[number]

const START_WITHIN_MS = 240_000
const LOOK_EVERY_MS = 200

/** The servers of a cluster. */
const TRINO_NODES = ['coordinator', 'worker'] as const

/** Returns why the cluster cannot run on this machine; `undefined` if it can. */
export function trinoObstacle(): 'Trino is not installed' | 'Java is too old or not installed' | undefined {
  if (java() === undefined) return 'Java is too old or not installed'
  return existsSync(TRINO_FOLDER) ? undefined : 'Trino is not installed'
}

/** The newest Java at JAVA_HOME or in the folder of Debian's packages, if it is new enough. */
function java(): string | undefined {
  const folder = '/usr/lib/jvm'
  const installed = existsSync(folder) ? readdirSync(folder).map((name) => path.join(folder, name)) : []
  return [process.env.JAVA_HOME ?? '', ...installed]
    .filter((home) => path.isAbsolute(home) && existsSync(path.join(home, 'bin/java')))
    .map((home) => ({ home, version: javaVersion(home) }))
    .filter(({ version }) => version >= OLDEST_JAVA)
    .sort((a, b) => b.version - a.version)[0]?.home
}

function javaVersion(home: string): number {
  const file = path.join(home, 'release')
  if (!existsSync(file)) return 0
  return Number(/^JAVA_VERSION="(\d+)/m.exec(readFileSync(file, 'utf8'))?.[1] ?? 0)
}

/** Reads ids of processes until its input ends, however the writer ends. Then it ends them and removes the folder. */
const REAPER = `
  trap '' HUP INT TERM
  running=
  while read -r pids; do running=$pids; done
  for pid in $running; do kill -KILL "$pid"; done
  until rm -rf "$1"; do sleep 0.2; done
`

/**
 * Starts a cluster, in half a minute.
 * @throws Error if Trino is not installed, or does not start; the message then contains the logs.
 */
export async function startTrinoCluster(): Promise<TrinoCluster> {
  const obstacle = trinoObstacle()
  if (obstacle !== undefined) throw new Error(obstacle)
  const folder = mkdtempSync(path.join(tmpdir(), 'sotto-trino-'))
  const ports = { coordinator: await freePort(), worker: await freePort() }
  const url = `http://127.0.0.1:${ports.coordinator}`
  for (const node of TRINO_NODES) writeConfiguration(folder, node, ports)
  const reaper = startReaper(REAPER, folder)
  const running = new Map<TrinoNode, ChildProcess>()
  const logOf = (node: TrinoNode) => path.join(folder, `${node}.log`)
  const watch = () => reaper.watch([...running.values()].flatMap(({ pid }) => pid ?? []))

  function startNode(node: TrinoNode): void {
    if (running.has(node)) return
    const log = openSync(logOf(node), 'a')
    const child = spawn(path.join(java() ?? '', 'bin/java'), javaArguments(folder, node), {
      cwd: path.join(folder, node),
      stdio: ['ignore', log, log],
      // In its own process group, so that Ctrl-C in a terminal does not end it.
      detached: true,
    })
    closeSync(log)
    running.set(node, child)
    child.once('exit', () => {
      if (running.get(node) === child) running.delete(node)
      watch()
    })
    watch()
    child.unref()
  }

  async function start(): Promise<void> {
    for (const node of TRINO_NODES) startNode(node)
    for (const startMs = performance.now(); !(await areActive(url)); await sleep(LOOK_EVERY_MS)) {
      if (running.size === TRINO_NODES.length && performance.now() < startMs + START_WITHIN_MS) continue
      const logs = TRINO_NODES.map((node) => readFileSync(logOf(node), 'utf8').slice(-5_000))
      throw new Error(`Trino did not start:\n${logs.join('\n')}`)
    }
  }

  async function kill(node: TrinoNode): Promise<void> {
    const child = running.get(node)
    if (child === undefined) return
    child.ref()
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async function remove(): Promise<void> {
    for (const node of TRINO_NODES) await kill(node)
    await reaper.end()
  }

  try {
    await start()
  } catch (error) {
    await remove()
    throw error
  }
  return {
    url,
    start,
    kill,
    stop: async (node) => void running.get(node)?.kill('SIGSTOP'),
    resume: async (node) => void running.get(node)?.kill('SIGCONT'),
    query: (sql) => queryTrino(url, sql),
    remove,
  }
}

/** True if the coordinator sees that both nodes are active. */
async function areActive(url: string): Promise<boolean> {
  try {
    const rows = await queryTrino(url, "SELECT node_id FROM system.runtime.nodes WHERE state = 'active'")
    return rows.length === TRINO_NODES.length
  } catch {
    return false
  }
}

/**
 * Runs a statement on a cluster without authentication. It is independent of the client under test.
 * @throws Error with the message of a failed statement.
 */
export async function queryTrino(url: string, sql: string): Promise<readonly (readonly unknown[])[]> {
  const rows: (readonly unknown[])[] = []
  const headers = { 'x-trino-user': 'administrator', 'x-trino-time-zone': 'UTC' }
  let response = await fetch(`${url}/v1/statement`, { method: 'POST', body: sql, headers })
  for (;;) {
    if (response.status !== 200) throw new Error(`the status is ${response.status}`)
    const page = (await response.json()) as {
      readonly data?: readonly (readonly unknown[])[]
      readonly error?: { readonly message?: string }
      readonly nextUri?: string
    }
    if (page.error !== undefined) throw new Error(page.error.message)
    for (const row of page.data ?? []) rows.push(row)
    if (page.nextUri === undefined) return rows
    response = await fetch(page.nextUri, { headers })
  }
}

const HEAP = '1G'

function javaArguments(folder: string, node: TrinoNode): readonly string[] {
  return [
    `-Xmx${HEAP}`,
    // A cluster lives for minutes, in which little is gained by the second compiler and by a collector with threads of its own.
    ...['-XX:+UseSerialGC', '-XX:+ExitOnOutOfMemoryError', '-XX:TieredStopAtLevel=1'],
    ...['-Djdk.attach.allowAttachSelf=true', '--add-modules=jdk.incubator.vector'],
    ...['-Dnode.environment=test', `-Dnode.id=${node}`, `-Dnode.data-dir=${path.join(folder, node, 'data')}`],
    '-Dnode.internal-address=127.0.0.1',
    `-Dconfig=${path.join(folder, node, 'config.properties')}`,
    `-Dlog.levels-file=${path.join(folder, node, 'log.properties')}`,
    ...['-cp', path.join(TRINO_FOLDER, 'lib/*'), 'io.trino.server.TrinoServer'],
  ]
}

function writeConfiguration(
  folder: string,
  node: TrinoNode,
  ports: Readonly<Record<TrinoNode, number>>,
): void {
  const catalogs = path.join(folder, node, 'catalog')
  mkdirSync(path.join(folder, node, 'data'), { recursive: true })
  mkdirSync(catalogs)
  mkdirSync(path.join(folder, 'tables'), { recursive: true })
  write(path.join(folder, node, 'log.properties'), { io: 'WARN' })
  write(path.join(folder, node, 'config.properties'), {
    coordinator: String(node === 'coordinator'),
    // Both nodes read tables.
    ...(node === 'coordinator' ? { 'node-scheduler.include-coordinator': 'true' } : {}),
    'query.remote-task.max-error-duration': '10s',
    'http-server.http.port': String(ports[node]),
    'discovery.uri': `http://127.0.0.1:${ports.coordinator}`,
    'query.max-memory': '512MB',
    'query.max-memory-per-node': '256MB',
    'memory.heap-headroom-per-node': '256MB',
    'catalog.management': 'static',
    'catalog.config-dir': catalogs,
    'plugin.dir': path.join(TRINO_FOLDER, 'plugin'),
  })
  write(path.join(catalogs, 'memory.properties'), {
    'connector.name': 'memory',
    'memory.max-data-per-node': '256MB',
  })
  // One thread of each node reads a large table, so that a slow query leaves the machine to others.
  write(path.join(catalogs, 'tpch.properties'), { 'connector.name': 'tpch', 'tpch.splits-per-node': '1' })
  write(path.join(catalogs, 'iceberg.properties'), {
    'connector.name': 'iceberg',
    'iceberg.catalog.type': 'TESTING_FILE_METASTORE',
    'hive.metastore.catalog.dir': 'local:///iceberg',
    'fs.native-local.enabled': 'true',
    'local.location': path.join(folder, 'tables'),
  })
}

function write(file: string, lines: Readonly<Record<string, string>>): void {
  writeFileSync(
    file,
    Object.entries(lines)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
}
