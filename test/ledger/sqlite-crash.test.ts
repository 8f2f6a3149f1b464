import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { chargeId } from '../../src/ledger/charge-id.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite.ts'
import { openSqliteDatabase } from '../../src/ledger/sqlite-schema.ts'
import { sqliteStore } from '../../src/ledger/sqlite-store.ts'
import { deltaAtto, epsilonNano } from '../../src/privacy/loss.ts'
import { ledgerOver } from './places.ts'
import { expectSoundBooks, question, run, temporaryPath } from './support.ts'

const SCRIPT = new URL('./charge-without-end.ts', import.meta.url).pathname

interface Charging {
  readonly child: ChildProcess
  /** What it has acknowledged. */
  readonly lines: string[]
  /** Resolves as soon as it has acknowledged this much, or has ended. */
  reached(count: number): Promise<void>
}

function startCharging(path: string, name: string, shell?: string): Charging {
  const script = [process.execPath, SCRIPT, path, name]
  const [command = '', ...args] = shell === undefined ? script : ['sh', '-c', shell, 'sh', ...script]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], env: {} })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout })
  const waiting = new Set<() => void>()
  reader.on('line', (line) => {
    lines.push(line)
    for (const look of waiting) look()
  })
  let ended = false
  reader.on('close', () => {
    ended = true
    for (const look of waiting) look()
  })
  return {
    child,
    lines,
    reached: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (lines.length < count && !ended) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
  }
}

/** That everything acknowledged is there, once, and that the books balance. */
async function checkBooks(
  path: string,
  lines: readonly string[],
): Promise<{ charges: number; interrupted: number }> {
  const database = openSqliteDatabase(path)
  const store = sqliteStore(database, Date.now)
  try {
    await expectSoundBooks(ledgerOver(store))
    const budget = run(store, 'budget', 'census')
    const [row] = database.prepare("SELECT count(*) AS n FROM charges WHERE state <> 'denied'").all()
    const charges = Number(row?.n)
    expect(budget?.spent).toEqual({
      accounting: 'basic',
      epsilonNano: epsilonNano(3n * BigInt(charges)),
      deltaAtto: deltaAtto(7n * BigInt(charges)),
    })
    const paid = database.prepare('SELECT state FROM charges WHERE id = ?')
    for (const line of lines) {
      const [what, key = ''] = line.split(' ')
      const id = chargeId('ada', key)
      if (what === 'charged') expect(paid.get(id), line).toBeDefined()
      if (what === 'answered') expect(run(store, 'release', id)?.answer, line).toBe(`answer to ${key}`)
    }
    // What was interrupted is completed by the same question, under the same charge, at no further cost.
    const open = database.prepare("SELECT * FROM charges WHERE state = 'charged'").all()
    for (const each of open) {
      const key = String(each.idempotency_key)
      const price = { accounting: 'basic', epsilonNano: epsilonNano(3n), deltaAtto: deltaAtto(7n) } as const
      const asked = question(key, { requestHash: key, request: key, price })
      const outcome = run(store, 'charge', asked)
      if (outcome.kind !== 'charged') throw new Error(`an interrupted charge is ${outcome.kind}`)
      expect(run(store, 'recordAnswer', outcome.charge.id, outcome.charge.attempt, `answer to ${key}`)).toBe(
        true,
      )
    }
    expect(run(store, 'budget', 'census')?.spent).toEqual(budget?.spent)
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    return { charges, interrupted: open.length }
  } finally {
    store.close()
  }
}

it('loses nothing acknowledged to kill -9, round after round', { timeout: 120_000 }, async () => {
  const path = temporaryPath()
  const acknowledged: string[] = []
  let interrupted = 0
  for (let round = 1; round <= 10; round += 1) {
    const { child, lines, reached } = startCharging(path, `round${round}`)
    await reached(20 + Math.floor(Math.random() * 400))
    child.kill('SIGKILL')
    await Promise.all([once(child, 'exit'), reached(Number.POSITIVE_INFINITY)])
    expect(lines.length).toBeGreaterThanOrEqual(20)
    acknowledged.push(...lines)
    interrupted += (await checkBooks(path, acknowledged)).interrupted
  }
  expect(interrupted).toBeGreaterThan(0)
})

it('stops at a write that fails, having acknowledged only what is there', { timeout: 60_000 }, async () => {
  const path = temporaryPath()
  // A limit on the size of files (in 512-byte blocks): writes beyond it fail, as they do on a broken disk.
  const { child, lines, reached } = startCharging(path, 'limited', `trap '' XFSZ; ulimit -f 2000; exec "$@"`)
  await Promise.all([once(child, 'exit'), reached(Number.POSITIVE_INFINITY)])
  expect(lines.at(-1)).toBe('stopped stopped, healthy false')
  expect(lines.length).toBeGreaterThan(20)
  await checkBooks(path, lines)
})

it('fails loudly where another process has the ledger open, until that process is gone', async () => {
  const path = temporaryPath()
  const { child, reached } = startCharging(path, 'holder')
  await reached(1)
  await expect(openSqliteLedger({ path })).rejects.toMatchObject({
    name: 'LedgerFault',
    kind: 'in-use',
    message: `another process has the ledger ${path} open`,
  })
  child.kill('SIGKILL')
  await once(child, 'exit')
  const ledger = await openSqliteLedger({ path })
  expect(await ledger.budget('census')).toBeDefined()
  await ledger.close()
})
