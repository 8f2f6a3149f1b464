import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createKey } from '../api-key.ts'
import { type ServiceProcess, startServiceProcess } from '../e2e/process.ts'
import { installed } from '../installed.ts'
import { findPython, pythonWithClient } from '../python.ts'
import { describeOwnPostgres } from '../servers/postgres.ts'

const run = promisify(execFile)
const DEPLOY = path.resolve(import.meta.dirname, '../../deploy')
const LEDGER_PASSWORD = 'only for this test'
const THREADS = 6
/** Of each question. The budget of the demo is enough for 100,000 of them. */
const EPSILON = 0.0001
/** As in `compose.yaml`, where the proxy checks each second, but shorter. */
const DRAIN_MS = 2_500

const python = findPython()
const missing = [
  ...(installed('psql') ? [] : ['psql']),
  ...(installed('caddy', 'version') ? [] : ['caddy']),
  ...(python === undefined ? ['Python 3.10 or newer with venv and pip'] : []),
]
const obstacle = missing.length === 0 ? undefined : `it needs ${missing.join(' and ')}`

/** An answer that the load received. */
interface Received {
  readonly number: number
  readonly id: string
  readonly value: number
}

interface StoredRelease {
  readonly id: string
  readonly answer: { readonly result: { readonly value: number } }
}

interface Budget {
  readonly spent: { readonly epsilon: number }
}

/** The processes of `compose.yaml` with the profile `production`, but for the monitoring, on free ports of this machine. */
describeOwnPostgres('The processes of the compose file', { obstacle }, (own) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sotto-rolling-'))
  const data = path.join(folder, 'data')
  const replicas: ServiceProcess[] = []
  let ports: readonly number[] = []
  let site = 0
  let ledgerUrl = ''
  let auditorKey = ''
  let programs = ''

  const startReplica = (place: number) =>
    startServiceProcess({
      SOTTO_PORT: `${ports[place]}`,
      SOTTO_DATA_DIR: data,
      SOTTO_DEMO: 'true',
      SOTTO_LEDGER_URL: ledgerUrl,
      SOTTO_TRUST_PROXY: '127.0.0.1',
      SOTTO_DRAIN_MS: `${DRAIN_MS}`,
      // The attempts of a killed replica are taken over after this time and 10 seconds.
      SOTTO_QUERY_TIMEOUT_MS: '5000',
    })

  beforeAll(async () => {
    const { server } = own
    const passwordFile = path.join(folder, 'ledger-password')
    writeFileSync(passwordFile, LEDGER_PASSWORD)
    await run('sh', [path.join(DEPLOY, 'postgres/10-ledger.sh')], {
      env: {
        PATH: process.env.PATH ?? '',
        PGHOST: '127.0.0.1',
        PGPORT: `${server.port}`,
        POSTGRES_USER: 'postgres',
        LEDGER_PASSWORD_FILE: passwordFile,
      },
    })
    ledgerUrl = `postgres://sotto:${encodeURIComponent(LEDGER_PASSWORD)}@127.0.0.1:${server.port}/sotto`
    ports = await freePorts(4)
    site = ports[2] ?? 0
    auditorKey = await createKey(data, { name: 'auditor', role: 'auditor' })
    programs = await pythonWithClient(python ?? '')
    // The first replica creates the keys and the demo.
    for (const place of [0, 1]) replicas.push(await startReplica(place))
  })
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop('SIGKILL')))
    rmSync(folder, { recursive: true, force: true })
  })

  test('restarts of one replica after the other, and a killed one, lose nothing and charge nothing twice', async () => {
    const proxy = await startProxy()
    const load = startLoad()
    for (const place of [0, 1, 0, 1]) {
      const before = load.received().length
      expect(await replicas[place]?.stop('SIGTERM')).toBe(0)
      await load.reaches(before + 20)
      replicas[place] = await startReplica(place)
      await load.reaches(load.received().length + 20)
    }
    await replicas[0]?.stop('SIGKILL')
    await load.reaches(load.received().length + 20)
    replicas[0] = await startReplica(0)
    await load.reaches(load.received().length + 20)
    const received = await load.end()

    // Nothing but answers and requests to repeat.
    const responses = proxy.responses()
    expect(responses.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(received.length)
    const others = responses.filter(({ status }) => status !== 200)
    expect(others.filter(({ status, retryAfter }) => !mayRepeat(status) || retryAfter === undefined)).toEqual(
      [],
    )

    // The ledger has one charge for each question, and the answer that the analyst received.
    expect(new Set(received.map(({ number }) => number)).size).toBe(received.length)
    const events = await exportedEvents()
    const charges = events.filter(({ kind }) => kind === 'charged')
    expect(charges.map(({ chargeId }) => chargeId).sort()).toEqual(received.map(({ id }) => id).sort())
    const stored = new Map((await releases()).map(({ id, answer }) => [id, answer.result.value]))
    expect(received.filter(({ id, value }) => stored.get(id) !== value)).toEqual([])
    expect(await (await audit('/v1/datasets/census/ledger/verification')).json()).toMatchObject({
      sound: true,
    })
    const { spent } = (await (await audit('/v1/datasets/census/budget')).json()) as Budget
    expect(spent.epsilon).toBeCloseTo(received.length * EPSILON, 9)
  })

  const audit = (address: string) =>
    fetch(`${replicas[1]?.url}${address}`, { headers: { authorization: `Bearer ${auditorKey}` } })

  async function exportedEvents(): Promise<readonly { kind: string; chargeId: string }[]> {
    const text = await audit('/v1/datasets/census/ledger/export').then((answer) => answer.text())
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event)
  }

  async function releases(): Promise<readonly StoredRelease[]> {
    const all: StoredRelease[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const page = (await audit(`/v1/releases?dataset=census&limit=100${query}`).then((answer) =>
        answer.json(),
      )) as {
        releases: StoredRelease[]
        next?: string
      }
      all.push(...page.releases)
      cursor = page.next
    }
    return all
  }

  /** Starts the proxy with its own configuration, as the compose file does. */
  async function startProxy() {
    const log = path.join(folder, 'proxy.log')
    const child = spawn(
      'caddy',
      ['run', '--config', path.join(DEPLOY, 'proxy/Caddyfile'), '--adapter', 'caddyfile'],
      {
        env: {
          PATH: process.env.PATH ?? '',
          HOME: folder,
          XDG_DATA_HOME: folder,
          XDG_CONFIG_HOME: folder,
          SOTTO_SITE: `localhost:${site}`,
          SOTTO_SITE_HTTP: `${ports[3]}`,
          SOTTO_REPLICAS: `127.0.0.1:${ports[0]} 127.0.0.1:${ports[1]}`,
        },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    child.stderr.pipe(createWriteStream(log))
    onTestFinished(() => stopProcess(child))
    await expect.poll(() => existsSync(certificateAuthority())).toBe(true)
    return {
      responses: () =>
        readFileSync(log, 'utf8')
          .split('\n')
          .filter((line) => line.includes('"handled request"'))
          .map((line) => JSON.parse(line))
          .map(({ status, resp_headers }) => ({ status, retryAfter: resp_headers['Retry-After']?.[0] })),
    }
  }

  const certificateAuthority = () => path.join(folder, 'caddy/pki/authorities/local/root.crt')

  /** Starts analysts that ask without a pause. */
  function startLoad() {
    const end = path.join(folder, 'end')
    const key = readFileSync(path.join(data, 'analyst.key'), 'utf8').trim()
    const child = spawn(
      path.join(programs, 'python'),
      [
        path.join(import.meta.dirname, 'load.py'),
        `https://localhost:${site}`,
        `${THREADS}`,
        `${EPSILON}`,
        end,
      ],
      {
        env: { PATH: process.env.PATH ?? '', SOTTO_KEY: key, SSL_CERT_FILE: certificateAuthority() },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    const output = { lines: '', errors: '', ended: false }
    child.stdout.on('data', (part) => (output.lines += part))
    child.stderr.on('data', (part) => (output.errors += part))
    child.once('close', () => (output.ended = true))
    onTestFinished(() => stopProcess(child))
    const received = (): Received[] =>
      output.lines
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
    return {
      received,
      reaches: (count: number) => expect.poll(() => output.ended || received().length >= count).toBe(true),
      async end() {
        writeFileSync(end, '')
        const [code] = output.ended ? [child.exitCode] : await once(child, 'close')
        expect(output.errors).toBe('')
        expect(code).toBe(0)
        return received()
      },
    }
  }
})

/** True for responses after which a client repeats its request: unavailable, or still being answered. */
function mayRepeat(status: number): boolean {
  return status === 503 || status === 409
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'close')
  child.kill('SIGKILL')
  await ended
}

/** Ports that are free now, and stay free for a restart: below the range of outgoing connections. */
async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = 10_000 + Math.floor(Math.random() * 10_000)
    if (!ports.includes(port) && (await isFree(port))) ports.push(port)
  }
  return ports
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  const free = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
  })
  if (free) await new Promise((resolve) => server.close(resolve))
  return free
}
