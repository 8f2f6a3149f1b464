import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openLedger } from '../../../src/ledger/open.ts'
import { openSqliteDatabase } from '../../../src/ledger/sqlite/database.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/ledger.ts'
import { verifyLedger } from '../../../src/ledger/verification.ts'
import { temporaryLedger } from '../../folders.ts'
import { describeOwnPostgres } from '../../servers/postgres.ts'
import { queryPostgres } from '../../servers/postgres-server.ts'
import { expectNothingLost } from '../balance-check.ts'
import { type Charging, faultsOf, messagesByKey, startCharging } from '../children.ts'
import { type Chance, chance, needsAnotherRound, roundCount, roundCounter } from '../rounds.ts'

/** On PostgreSQL the test waits for a lease to expire. */
const LEASE_MS = 250

/** Kills it at any time from its start to long after its budget is used up. */
async function killAtRandomTime({ child, said, ended }: Charging, random: Chance): Promise<void> {
  if (random.below(3) === 0) await sleep(random.below(300))
  else await said(random.below(500))
  await sleep(random.below(10))
  child.kill('SIGKILL')
  await ended
}

test('SQLite: kill -9 at any moment loses nothing, and each question is charged once', async () => {
  const random = chance('kill sqlite')
  const counted = roundCounter('kill -9 of a process on SQLite')
  const url = temporaryLedger()
  for (let round = 1; needsAnotherRound(round, roundCount(6), counted); round += 1) {
    const dataset = `dataset-${round}`
    const capacity = random.oneOf([40, 400])
    const charging = startCharging({
      url,
      dataset,
      run: `round-${round}`,
      capacity,
      population: round % 2 === 0,
      questions: capacity + 100,
      lanes: 1 + random.below(12),
      answerLength: random.oneOf([32, 32, 20_000]),
    })
    await killAtRandomTime(charging, random)
    const ledger = await openLedger({ url })
    try {
      const heard = messagesByKey(charging.lines)
      counted.add({ rounds: 1, ...(await expectNothingLost(ledger, dataset, heard, capacity)) })
    } finally {
      await ledger.close()
    }
  }
  const database = openSqliteDatabase(url)
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  database.close()
  // Rounds in which nothing was interrupted would test nothing.
  expect(counted.of('interrupted')).toBeGreaterThan(0)
  expect(counted.of('acknowledged')).toBeGreaterThan(0)
}, 1_200_000)

test('SQLite: a second process fails with an error until the first has ended', async () => {
  const url = temporaryLedger()
  const { child, said } = startCharging({ url, dataset: 'census', run: 'holder' })
  await said(1)
  await expect(openSqliteLedger({ path: url })).rejects.toMatchObject({
    name: 'LedgerFault',
    kind: 'in-use',
    message: `another process has the ledger ${url} open`,
  })
  child.kill('SIGKILL')
  await once(child, 'exit')
  const ledger = await openSqliteLedger({ path: url })
  expect(await ledger.budget('census')).toBeDefined()
  await ledger.close()
})

describeOwnPostgres('PostgreSQL', {}, (own) => {
  test('kill -9 of one of two processes loses nothing, and each question is charged once', async () => {
    const random = chance('kill postgres')
    const counted = roundCounter('kill -9 of one of two processes on PostgreSQL')
    const url = await own.server.createDatabase()
    for (let round = 1; needsAnotherRound(round, roundCount(4), counted); round += 1) {
      const dataset = `dataset-${round}`
      const capacity = random.oneOf([20, 200])
      // Both ask the same questions: the surviving process takes over the other's attempts once their leases expire.
      const population = round % 2 === 0
      const options = { url, dataset, run: `round-${round}`, capacity, population, leaseMs: LEASE_MS }
      const killed = startCharging({ ...options, lanes: 1 + random.below(8), questions: 300 })
      const left = startCharging({ ...options, lanes: 1 + random.below(8), questions: 60 })
      await killAtRandomTime(killed, random)
      await left.ended
      const heard = messagesByKey([...killed.lines, ...left.lines])
      expect(faultsOf(left.lines)).toEqual([])
      const ledger = await openLedger({ url })
      try {
        counted.add({ rounds: 1, ...(await expectNothingLost(ledger, dataset, heard, capacity)) })
      } finally {
        await ledger.close()
      }
    }
    expect(counted.of('interrupted')).toBeGreaterThan(0)
    expect(counted.of('acknowledged')).toBeGreaterThan(0)
  }, 1_200_000)

  test.for(['kill', 'immediate', 'lost connection'] as const)(
    'loss of its server or of the connection at any moment (%s): processes continue once it is back, and nothing is lost',
    async (how) => {
      const random = chance(`server ${how}`)
      const counted = roundCounter(`the server of PostgreSQL: ${how}`)
      const url = await own.server.createDatabase()
      for (let round = 1; round <= roundCount(2); round += 1) {
        const dataset = `dataset-${round}`
        const options = { url, dataset, capacity: 1_000, leaseMs: LEASE_MS, questions: 300, persistent: true }
        const run = `round-${round}`
        const both = [1 + random.below(4), 1 + random.below(4)].map((lanes) =>
          startCharging({ ...options, run, lanes }),
        )
        await Promise.race(both.map(({ said }) => said(1 + random.below(150))))
        await sleep(random.below(10))
        if (how === 'lost connection') await cutConnections(url)
        else {
          await (how === 'kill' ? own.server.kill() : own.server.stop('immediate'))
          await own.server.start()
        }
        const underWay = both.filter(({ lines }) => lines.at(-1) !== 'ended').length
        await Promise.all(both.map(({ ended }) => ended))
        const lines = both.flatMap((each) => each.lines)
        const heard = messagesByKey(lines)
        expect(heard.size).toBe(300)
        const faults = faultsOf(lines)
        const ledger = await openLedger({ url })
        try {
          const counts = await expectNothingLost(ledger, dataset, heard, 1_000)
          expect(counts.interrupted).toBe(0)
          counted.add({ rounds: 1, underWay, faults: faults.length, ...counts })
        } finally {
          await ledger.close()
        }
      }
      // Processes that have finished by then would test nothing. A loss before the commit may go unnoticed.
      expect(counted.of('underWay')).toBeGreaterThan(0)
      const ledger = await openLedger({ url })
      for (const dataset of await ledger.datasets())
        expect(await verifyLedger(ledger, dataset)).toMatchObject({ kind: 'sound' })
      await ledger.close()
    },
  )
})

/** Ends every other connection to a database. */
async function cutConnections(url: string): Promise<void> {
  const database = path.basename(new URL(url).pathname)
  await queryPostgres(
    new URL('/postgres', url).href,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`,
  )
}
