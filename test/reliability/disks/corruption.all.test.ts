import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { StoredEvent } from '../../../src/ledger/contract/chain.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import { eventPages, verifyLedger } from '../../../src/ledger/verification.ts'
import { temporaryFolder } from '../../folders.ts'
import { type Messages, messagesByKey, startCharging } from '../children.ts'
import { costOf, questionOf } from '../questions.ts'
import { type Chance, chance, roundCount, roundCounter } from '../rounds.ts'

/** Result of a start: a refusal, or the state that it continues with. */
type Start =
  | { readonly kind: 'refused' }
  | {
      readonly kind: 'started'
      readonly events: readonly StoredEvent[]
      /** True if some answer is not replayed unchanged. */
      readonly altered: boolean
    }

/** Opens a ledger and checks it as the service does when it starts. */
async function start(url: string, heard: ReadonlyMap<string, Messages>): Promise<Start> {
  let ledger: Ledger
  try {
    ledger = await openLedger({ url })
  } catch (error) {
    expect(error).toMatchObject({ name: 'LedgerFault' })
    return { kind: 'refused' }
  }
  try {
    const datasets = await ledger.datasets()
    if (datasets.length !== 1 || datasets[0] !== 'census') return { kind: 'refused' }
    const found = await verifyLedger(ledger, 'census')
    if (found?.kind !== 'sound') return { kind: 'refused' }
    const events: StoredEvent[] = []
    for await (const page of eventPages(ledger, 'census')) events.push(...page)
    const charges = events.filter(({ canonical }) => canonical.includes('"kind":"charged"')).length
    expect((await ledger.budget('census'))?.spent).toEqual(costOf(charges))
    return { kind: 'started', events, altered: await isAltered(ledger, heard) }
  } catch (error) {
    if (!(error instanceof Error) || error.name === 'AssertionError') throw error
    // The service ends with the error.
    return { kind: 'refused' }
  } finally {
    await ledger.close().catch(() => undefined)
  }
}

/**
 * Returns true if some answer is replayed with other bytes. A request that fails does not count, because its failure is
 * visible.
 */
async function isAltered(ledger: Ledger, heard: ReadonlyMap<string, Messages>): Promise<boolean> {
  for (const [key, { answer }] of heard) {
    if (answer === undefined) continue
    try {
      const outcome = await ledger.charge(questionOf('census', key, 1_000))
      if (outcome.kind !== 'answered' || outcome.answer !== answer) return true
    } catch {
      // The caller sees this failure. Answers to later keys are still compared.
    }
  }
  return false
}

/** A ledger after an orderly end or after kill -9, with all its events. */
async function leave(how: 'in order' | 'killed') {
  const folder = temporaryFolder()
  const left = path.join(folder, 'left')
  const charging = startCharging({
    url: left,
    dataset: 'census',
    run: 'before',
    lanes: 3,
    ...(how === 'in order' && { questions: 40 }),
  })
  if (how === 'killed') {
    await charging.said(120)
    charging.child.kill('SIGKILL')
  }
  await charging.ended
  const log = existsSync(`${left}-wal`) ? readFileSync(`${left}-wal`) : Buffer.alloc(0)
  const url = path.join(folder, 'ledger.sqlite')
  /** Writes the ledger to a folder, with changed bytes in the file or the log. */
  function lay({ file, wal = log }: { readonly file?: Buffer; readonly wal?: Buffer }): string {
    for (const each of [url, `${url}-wal`]) rmSync(each, { force: true })
    if (file === undefined) copyFileSync(left, url)
    else writeFileSync(url, file, { mode: 0o600 })
    if (wal.length > 0) writeFileSync(`${url}-wal`, wal, { mode: 0o600 })
    return url
  }
  const heard = messagesByKey(charging.lines)
  const whole = await start(lay({}), heard)
  if (whole.kind === 'refused' || whole.altered) throw new Error('the unchanged ledger is refused')
  return { file: readFileSync(left), log, lay, heard, events: whole.events }
}

/** Flips one bit, but not in a byte that is 0, because most of these are unused. */
function flipped(bytes: Buffer, random: Chance): Buffer {
  const after = Buffer.from(bytes)
  for (;;) {
    const place = random.below(bytes.length)
    const byte = bytes[place] ?? 0
    if (byte === 0) continue
    after[place] = byte ^ (1 << random.below(8))
    return after
  }
}

function cut(bytes: Buffer, random: Chance): Buffer {
  return bytes.subarray(0, random.below(bytes.length))
}

test.for([
  { how: 'a bit is flipped', damage: flipped, rounds: 16 },
  { how: 'the end is cut off', damage: cut, rounds: 8 },
])(
  'SQLite: a file of which $how is refused at the start, or still contains every debit',
  async ({ how, damage, rounds }) => {
    const random = chance(how)
    const counted = roundCounter(`files of SQLite of which ${how}`)
    const { file, lay, heard, events } = await leave('in order')
    expect(events.length).toBe(81)
    for (let round = 1; round <= roundCount(rounds); round += 1) {
      const found = await start(lay({ file: damage(file, random) }), heard)
      if (found.kind === 'started') expect(found.events).toEqual(events)
      const altered = found.kind === 'started' && found.altered
      counted.add({ rounds: 1, refused: Number(found.kind === 'refused'), altered: Number(altered) })
    }
    expect(counted.of('refused')).toBeGreaterThan(0)
    // Replayed answers are compared with the events at the start.
    expect(counted.of('altered')).toBe(0)
  },
)

test.for([
  { how: 'a bit is flipped', damage: flipped },
  { how: 'the end is cut off', damage: cut },
])(
  'SQLite: a log of which $how leaves a prefix of the history, and no partial transaction',
  async ({ how, damage }) => {
    const random = chance(`log, ${how}`)
    const counted = roundCounter(`logs of SQLite of which ${how}`)
    const { log, lay, heard, events } = await leave('killed')
    expect(log.length).toBeGreaterThan(100_000)
    for (let round = 1; round <= roundCount(8); round += 1) {
      const found = await start(lay({ wal: damage(log, random) }), heard)
      const refused = found.kind === 'refused'
      if (!refused) expect(found.events).toEqual(events.slice(0, found.events.length))
      const cutOff = !refused && found.events.length < events.length
      counted.add({ rounds: 1, refused: Number(refused), cutOff: Number(cutOff) })
    }
  },
)

test('SQLite: a file that is not a ledger is refused, and not changed', async () => {
  const folder = temporaryFolder()
  const url = path.join(folder, 'ledger.sqlite')
  const random = chance('no ledger')
  for (const text of [
    'this is no database',
    'SQLite format 3\0',
    Array.from({ length: 9_000 }, () => random.below(10)).join(''),
  ]) {
    writeFileSync(url, text, { mode: 0o600 })
    await expect(openLedger({ url })).rejects.toMatchObject({ name: 'LedgerFault', kind: 'unusable' })
    expect(readFileSync(url, 'utf8')).toBe(text)
  }
})
