import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { must } from '../../../src/privacy/must.ts'
import { createKey } from '../../api-key.ts'
import { type Chance, chance, roundCount } from '../../reliability/rounds.ts'
import { getJson, makeServiceFolder, registerPupils } from '../../reliability/service.ts'
import { freePort } from '../../servers/postgres-server.ts'
import { cancelPacket, int32, message, type RawConnection, rawConnection, signIn } from './hostile.ts'

/** A long run makes 100,000 connections in its 25 rounds. */
const CONNECTIONS = 4_000 * roundCount(0.25)
const LANES = 40
/** Time within which the quiet client gets each answer, on a machine that others use. */
const QUIET_MS = 40_000
/** Heap of the main thread, and of the one that reads SQL, in MiB. */
const HEAP_MIB = 512
/** Memory that DuckDB may use for a dataset, in MiB. */
const DUCKDB_MIB = 512
/** Most memory that the process may ever have, in MiB: two heaps, DuckDB, and what is outside of them. */
const MOST_PEAK_MIB = 2 * HEAP_MIB + DUCKDB_MIB + 768
/** What it falls back to between bursts, in MiB. With 8 KiB left behind by each of 100,000 connections it would not. */
const MOST_AT_REST_MIB = 1_000

const START = {
  user: 'ada',
  database: 'sotto',
  options: '-c sotto.epsilon=0.001 -c sotto.spending=replay-only',
}
const TEXTS = [
  ...[
    '',
    ';;',
    'SELECT 1',
    'BEGIN',
    'ROLLBACK',
    'SHOW ALL',
    'DISCARD ALL',
    'SELECT $1::int',
    'COPY pupils TO STDOUT',
  ],
  'SELECT relname FROM pg_class WHERE relname = $1',
  'SELECT COUNT(*) FROM pupils',
  'SELECT COUNT(*) FROM pupils WHERE year > $1',
  "SET sotto.epsilon = '1e-3'; SELECT COUNT(*) FROM pupils; SELECT 2",
  'SELECT a.relname, b.relname FROM pg_class a, pg_class b',
  `SELECT '${'é\u{1f600}'.repeat(1_000)}'`,
]
const NAMES = ['', 'a', 'b', 'x'.repeat(5_000), 'ü']
const int16 = (value: number) => int32(value).subarray(2)
const COUNTS = [0, 1, 2, 65_535, 32_767]

/** A message of any kind, in whatever state the session is. */
function someMessage(random: Chance): Buffer {
  const name = random.oneOf(NAMES)
  // Text that the parser fails on ends its thread.
  const text = random.below(200) === 0 ? `SELECT ${'('.repeat(5_000)}` : random.oneOf(TEXTS)
  const values = [
    Buffer.from('1'),
    Buffer.from([0xff, 0xfe]),
    Buffer.alloc(8),
    Buffer.alloc(random.below(70_000)),
  ]
  const value = random.oneOf(values)
  switch (random.below(14)) {
    case 0:
      return message('Q', text)
    case 1:
      return message('P', name, text, int16(random.oneOf([0, 0, 0, 1, 65_535])))
    case 2:
      return message('P', name, text, int16(1), random.oneOf([0, 20, 25, 701, 1_700, 16, 2_950, -1]))
    case 3:
      return message('B', name, random.oneOf(NAMES), int16(0), int16(1), value.length, value, int16(0))
    case 4:
      return message(
        'B',
        name,
        random.oneOf(NAMES),
        int16(1),
        int16(1),
        int16(random.oneOf(COUNTS)),
        -1,
        int16(1),
        int16(1),
      )
    case 5:
      return message('D', Buffer.from(random.oneOf(['S', 'P', 'X'])), name)
    case 6:
      return message('E', name, random.oneOf([0, 1, 3, -1, 2 ** 31 - 1]))
    case 7:
      return message('C', Buffer.from(random.oneOf(['S', 'P'])), name)
    case 8:
      return Buffer.concat(Array.from({ length: random.below(300) }, () => message('S')))
    case 9:
      return message(random.oneOf(['d', 'c', 'f', 'F', 'H', '?', '\0']), value)
    case 10:
      return message('p', Buffer.from('SCRAM-SHA-256\0'))
    case 11:
      if (random.below(10) > 0) return message('Q', text)
      // A session with hundreds of statements and portals.
      return Buffer.concat(
        Array.from({ length: random.below(700) }, (_, index) =>
          Buffer.concat([
            message('P', `s${index}`, random.oneOf(TEXTS), int16(0)),
            message('B', `s${index}`, `s${index}`, int16(0), int16(0), int16(0)),
          ]),
        ),
      )
    case 12:
      return message('', 80_877_103)
    default:
      return Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256)))
  }
}

function damaged(valid: Buffer, random: Chance): Buffer {
  const bytes = Buffer.from(valid)
  if (bytes.length < 5) return bytes
  switch (random.below(12)) {
    case 0:
      return bytes.subarray(0, random.below(bytes.length))
    case 1:
      bytes[random.below(bytes.length)] = random.below(256)
      return bytes
    case 2:
      bytes.writeInt32BE(random.oneOf([-1, 0, 3, 4, 5, 2 ** 31 - 1, -(2 ** 31), 300_000, 65_536]), 1)
      return bytes
    default:
      return bytes
  }
}

/** Packets before the sign-in. */
const beginnings = (random: Chance): readonly Buffer[] => {
  const tls = message('', 80_877_103)
  const gss = message('', 80_877_104)
  return [
    Buffer.concat([tls, tls]),
    Buffer.concat([tls, gss, tls, gss, tls]),
    Buffer.concat([tls, Buffer.from([22, 3, 1, 2, 0, 1])]),
    cancelPacket(random.below(2 ** 31), random.below(2 ** 31)),
    message('', 2 << 16, 'user', 'ada', Buffer.of(0)),
    message(
      '',
      3 << 16,
      'user',
      'ada',
      'database',
      random.oneOf(['sotto', 'other', '\u{1f600}']),
      Buffer.of(0),
    ),
    message('', 3 << 16, ...Array.from({ length: 900 }, () => 'a.b'), Buffer.of(0)),
    message('', 3 << 16, Buffer.from('user\0\xff\xfe\0\0')),
    Buffer.concat([int32(random.oneOf([-1, 0, 4, 7, 10_001, 2 ** 31 - 1])), Buffer.alloc(20)]),
  ]
}

/** Sends bytes as they are, in portions or one by one. */
async function sendSomehow({ send, socket }: RawConnection, bytes: Buffer, random: Chance): Promise<void> {
  const portion = random.oneOf([bytes.length, bytes.length, 1, 1 + random.below(5_000)])
  const most = portion === 1 ? 300 : bytes.length
  for (let at = 0; at < most && !socket.destroyed; at += portion) {
    send(bytes.subarray(at, Math.min(most, at + portion)))
    if (portion < bytes.length) await sleep(0)
  }
}

async function attack(port: number, key: string, random: Chance): Promise<void> {
  const raw = await rawConnection(port, `127.0.0.${1 + random.below(250)}`)
  const isSignedIn = random.below(3) > 0
  if (isSignedIn) await signIn(raw, START, key)
  else await sendSomehow(raw, damaged(random.oneOf(beginnings(random)), random), random)
  // A client that reads nothing must wait.
  if (random.below(4) === 0) raw.socket.pause()
  for (let count = random.below(9); count > 0 && !raw.socket.destroyed; count -= 1)
    await sendSomehow(raw, damaged(someMessage(random), random), random)
  switch (random.below(4)) {
    case 0:
      raw.socket.resetAndDestroy()
      break
    case 1:
      raw.socket.destroy()
      break
    default:
      // Half closed: the service must end it.
      raw.socket.resume()
      raw.socket.end()
  }
  await raw.closed
}

/** Memory of a process in MiB: what it has, or the most that it ever had. */
function memoryOf(process: number, which: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${process}/status`, 'utf8')
  const [, kilobytes] = new RegExp(`${which}:\\s+(\\d+)`).exec(status) ?? []
  return Number(kilobytes) / 1_024
}

test(`${CONNECTIONS} connections that send anything neither stop the service, nor fill its memory, nor keep others waiting`, async () => {
  const random = chance('fuzz of frames')
  const folder = await makeServiceFolder()
  const pgPort = await freePort()
  const service = await folder.start({
    SOTTO_PG_PORT: String(pgPort),
    SOTTO_LOG_LEVEL: 'error',
    SOTTO_QUERY_MEMORY: `${DUCKDB_MIB}MB`,
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
  })
  await registerPupils(folder, service.url, 1)
  const quietKey = await createKey(folder.directory, { name: 'bea', role: 'analyst' })
  const client = new Client({
    ...{ host: '127.0.0.1', port: pgPort, user: 'bea', database: 'sotto', password: quietKey },
    options: '-c sotto.epsilon=0.01 -c sotto.spending=allow',
  } as never)
  await client.connect()
  const ask = () => client.query({ text: 'SELECT COUNT(*) FROM pupils WHERE year > 2', rowMode: 'array' })
  const { rows } = await ask()

  let slowestMs = 0
  let isOver = false
  const quiet = async () => {
    while (!isOver) {
      const startedMs = performance.now()
      expect((await ask()).rows).toEqual(rows)
      expect((await client.query("SELECT 1 FROM pg_class WHERE relname = 'pupils'")).rowCount).toBe(1)
      slowestMs = Math.max(slowestMs, performance.now() - startedMs)
      await sleep(100)
    }
  }
  const pid = must(service.child.pid, 'a process')
  let left = CONNECTIONS
  const memories: number[] = []
  const lane = async () => {
    while (left > 0) {
      left -= 1
      if (left % 100 === 0) memories.push(memoryOf(pid, 'VmRSS'))
      await attack(pgPort, folder.analystKey, random)
    }
  }
  const watched = quiet()
  const lanes = Array.from({ length: LANES }, lane)
  await Promise.race([
    Promise.all(lanes),
    watched.then(() => Promise.reject(new Error('the quiet client ended'))),
  ])
  isOver = true
  await watched
  const peak = memoryOf(pid, 'VmHWM')
  const atRest = Math.min(...memories.slice(-Math.ceil(memories.length / 4)))
  console.log(
    `${CONNECTIONS} connections: the service had ${Math.round(peak)} MiB at most, and ${Math.round(atRest)} MiB at rest; ` +
      `the quiet client waited ${Math.round(slowestMs)} ms at most`,
  )
  expect(peak).toBeLessThan(MOST_PEAK_MIB)
  expect(atRest).toBeLessThan(MOST_AT_REST_MIB)
  expect(slowestMs).toBeLessThan(QUIET_MS)
  await client.end()
  const budget = await getJson(folder.auditorKey, `${service.url}/v1/datasets/pupils/budget`)
  // Only the quiet client may spend.
  expect(budget).toMatchObject({ spent: { epsilon: 0.01 } })
  expect(await service.stop('SIGTERM')).toBe(0)
  expect(service.output()).not.toMatch(/"level":(50|60)|Error/)
})
