import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openLedger } from '../../../src/ledger/open.ts'
import { temporaryFolder, temporaryLedger } from '../../folders.ts'
import { describeOwnPostgres } from '../../servers/postgres.ts'
import { expectNothingLost } from '../balance-check.ts'
import { faultsOf, messagesByKey, startCharging } from '../children.ts'
import { chance, isLongRun, roundCount, roundCounter } from '../rounds.ts'
import { reasonNotTraced, straceArguments, titled, tracedUnder } from '../tracing.ts'

const untraced = reasonNotTraced()

/** System calls of SQLite on the ledger's files. */
const CALLS = ['openat', 'pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'unlink']

/** The call fails without being made, once or from then on (`+`), or the process is killed instead of making it. */
const FATES = ['error=EIO', 'error=EIO+', 'error=ENOSPC', 'error=ENOSPC+', 'error=EROFS+', 'signal=KILL']

/** Number of times that `npm test` tries each fault: at the first write, and at other random places. */
const SAMPLES_PER_FATE = 3

describe.skipIf(untraced !== undefined)(titled('SQLite, with a fault at each of its calls', untraced), () => {
  /** Few questions, so that each call can fail once; three at a time, so that commits are grouped. */
  const questions = { questions: 6, capacity: 5, lanes: 3 }

  /** A ledger after an orderly end, with the output of its process. */
  async function makeHistory() {
    const url = temporaryLedger()
    const charging = startCharging({ url, dataset: 'history', run: 'history', ...questions })
    await charging.ended
    return { url, heard: messagesByKey(charging.lines) }
  }
  type History = Awaited<ReturnType<typeof makeHistory>>

  function startTraced(history: History | undefined, inject?: string) {
    const url = temporaryLedger()
    if (history !== undefined) copyFileSync(history.url, url)
    const folder = path.dirname(url)
    const trace = path.join(folder, 'trace')
    const paths = [url, `${url}-journal`, `${url}-wal`, folder]
    const under = tracedUnder({ trace, calls: CALLS, paths, ...(inject !== undefined && { inject }) })
    const charging = startCharging({ url, dataset: 'census', run: 'traced', ...questions, under })
    return { ...charging, url, folder, trace: () => readFileSync(trace, 'utf8').split('\n') }
  }

  test.for(['new', 'old'] as const)(
    'nothing acknowledged is lost and every fault is reported: a ledger that is %s',
    async (age) => {
      const random = chance(`faults ${age}`)
      const counted = roundCounter(`a fault at each call of SQLite, in a ledger that is ${age}`)
      const history = age === 'old' ? await makeHistory() : undefined
      const whole = startTraced(history)
      await whole.ended
      expect(whole.lines.at(-1)).toBe('ended')
      const made = CALLS.map((call) => ({
        call,
        times: whole.trace().filter((line) => line.includes(` ${call}(`)).length,
      })).filter(({ times }) => times > 0)
      expect(made.length).toBeGreaterThan(3)
      for (const fate of FATES) {
        const places = isLongRun
          ? made.flatMap(({ call, times }) => Array.from({ length: times }, (_, index) => [call, index + 1]))
          : Array.from({ length: SAMPLES_PER_FATE }, (_, sample) => {
              if (sample === 0) return ['pwrite64', 1]
              const { call, times } = random.oneOf(made)
              return [call, 1 + random.below(times)]
            })
        for (const [call, place] of places) {
          const inject = `${call}:${fate.replace('+', '')}:when=${place}${fate.endsWith('+') ? '+' : ''}`
          counted.add({ rounds: 1, ...(await oneFault(history, inject)) })
        }
      }
      expect(counted.of('refused')).toBeGreaterThan(0)
      expect(counted.of('killed')).toBeGreaterThan(0)
    },
  )

  async function oneFault(history: History | undefined, inject: string) {
    const charging = startTraced(history, inject)
    await charging.ended
    const { lines, child, url, folder, trace } = charging
    const killed = child.signalCode === 'SIGKILL'
    const refused = faultsOf(lines).length > 0
    if (!killed) expect(lines.at(-1), inject).toBe('ended')
    const passedOver = trace().filter((line) => line.includes('INJECTED') && !refused)
    // An empty log may remain. If the flush of the folder fails once, it is repeated; if it keeps failing, an error
    // must be reported.
    const harmless = (line: string) =>
      line.includes(' unlink(') || (!inject.endsWith('+') && new RegExp(`[<"]${folder}[>"]`).test(line))
    expect(
      passedOver.filter((line) => !harmless(line)),
      inject,
    ).toEqual([])
    const ledger = await openLedger({ url })
    try {
      const counts = await expectNothingLost(ledger, 'census', messagesByKey(lines), questions.capacity)
      if (history !== undefined) await expectNothingLost(ledger, 'history', history.heard, questions.capacity)
      return { killed: Number(killed), refused: Number(refused), ...counts }
    } catch (error) {
      throw new Error(`after ${inject}`, { cause: error })
    } finally {
      await ledger.close()
      rmSync(folder, { recursive: true })
    }
  }
})

describeOwnPostgres('PostgreSQL, with a fault in its write-ahead log', { obstacle: untraced }, (own) => {
  /** System calls with which a backend makes a commit durable. */
  const WAL_FAULTS = [
    'fdatasync:error=EIO',
    'fdatasync:signal=KILL',
    'pwrite64:error=EIO',
    'pwrite64:error=ENOSPC',
    'pwrite64:signal=KILL',
  ]

  test('an unknown commit counts as charged: a repeat finds it, or makes it once', async () => {
    const random = chance('faults postgres')
    const counted = roundCounter('a fault in the write-ahead log of PostgreSQL')
    const url = await own.server.createDatabase()
    // The schema exists before any fault is injected.
    await (await openLedger({ url })).close()
    for (let round = 1; round <= roundCount(4); round += 1) {
      const fault = WAL_FAULTS[round % WAL_FAULTS.length] ?? ''
      const inject = `${fault}:when=${2 + random.below(12)}`
      const dataset = `dataset-${round}`
      const tracer = await attach(inject)
      const charging = startCharging({
        url,
        dataset,
        run: `round-${round}`,
        questions: 40,
        capacity: 35,
        lanes: 1 + random.below(6),
        leaseMs: 250,
        persistent: true,
      })
      await charging.saidLike(/^fault /)
      await tracer.detach()
      await untilItRuns()
      await untilEnded(charging.ended)
      const ledger = await openLedger({ url })
      try {
        const counts = await expectNothingLost(ledger, dataset, messagesByKey(charging.lines), 35)
        expect(counts.interrupted, inject).toBe(0)
        counted.add({ rounds: 1, faults: faultsOf(charging.lines).length, ...counts })
      } catch (error) {
        throw new Error(`after ${inject}`, { cause: error })
      } finally {
        await ledger.close()
      }
    }
    expect(counted.of('faults')).toBeGreaterThan(0)
  })

  /** Traces the server, so that processes that it starts from now on get a fault. */
  async function attach(inject: string) {
    const trace = path.join(temporaryFolder(), 'trace')
    const calls = ['fdatasync', 'pwrite64']
    const args = [...straceArguments({ trace, calls, inject }), '-p', String(own.server.processIds()[0])]
    // Not quiet, because its output shows when it has attached.
    const child = spawn(
      'strace',
      args.filter((each) => each !== '-qq'),
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    onTestFinished(() => {
      child.kill('SIGKILL')
    })
    await new Promise<void>((resolve, reject) => {
      let said = ''
      child.stderr.on('data', (chunk: Buffer) => {
        said += chunk.toString()
        if (said.includes('attached')) resolve()
      })
      child.once('exit', () => reject(new Error(`strace did not attach: ${said}`)))
    })
    return {
      async detach() {
        if (child.exitCode !== null || child.signalCode !== null) return
        const gone = once(child, 'exit')
        child.kill('SIGTERM')
        await gone
      },
    }
  }

  /**
   * A backend that the tracer left stopped blocks its server forever. The server is then killed, as in other rounds.
   */
  async function untilEnded(ended: Promise<unknown>): Promise<void> {
    const waited = new AbortController()
    const late = sleep(20_000, 'late', { signal: waited.signal }).catch(() => undefined)
    if ((await Promise.race([ended, late])) === 'late') {
      await own.server.kill()
      await own.server.start()
    }
    waited.abort()
    await ended
  }

  /**
   * Waits until the server accepts connections. A server whose recovery also gets the fault ends and is started again.
   */
  async function untilItRuns(): Promise<void> {
    for (let look = 1; !(await takesConnections()); look += 1) {
      // A backend that the tracer left stopped can block a recovery forever.
      if (look % 200 === 0) await own.server.kill()
      if (own.server.processIds().length === 0) await own.server.start()
      await sleep(50)
    }
  }

  async function takesConnections(): Promise<boolean> {
    const client = new Client({
      connectionString: own.server.url('postgres'),
      connectionTimeoutMillis: 10_000,
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return true
    } catch {
      return false
    } finally {
      await client.end().catch(() => undefined)
    }
  }
})
