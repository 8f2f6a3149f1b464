import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openLedger } from '../../../src/ledger/open.ts'
import { temporaryFolder } from '../../folders.ts'
import type { SourceChange } from '../../mutants/changed-source.ts'
import { placed } from '../../mutants/select-mutants.ts'
import { type Counts, expectNothingLost } from '../balance-check.ts'
import { messagesByKey, startCharging } from '../children.ts'
import { type Chance, chance, roundCount, roundCounter } from '../rounds.ts'
import { reasonNotTraced, titled, tracedUnder } from '../tracing.ts'
import { afterPowerLoss, type Files, STEP_CALLS, stepsOf } from './power-loss.ts'

const untraced = reasonNotTraced()

/** Number of losses of power in one life of a ledger. The next life begins with the remaining files. */
const LIVES = 4

const DATABASE = 'ledger/sqlite/database.ts'
const WRITTEN_BACK_OFTEN = placed([
  {
    file: DATABASE,
    find: 'PRAGMA wal_autocheckpoint = 16000',
    replace: 'PRAGMA wal_autocheckpoint = 12',
  },
])
/** Flushes as this setting of SQLite has it, and takes it for the right one. */
const flushing = (setting: string, number: number) =>
  placed([
    { file: DATABASE, find: 'PRAGMA synchronous = FULL', replace: `PRAGMA synchronous = ${setting}` },
    { file: DATABASE, find: "'synchronous', 2n", replace: `'synchronous', ${number}n` },
  ])

describe.skipIf(untraced !== undefined)(titled('SQLite, after a loss of power', untraced), () => {
  test('nothing acknowledged is lost, for any part of the unflushed data that a disk keeps', async () => {
    const random = chance('power loss')
    const counted = roundCounter('losses of power on SQLite')
    await livesAndDeaths([], random, roundCount(2), (counts) => counted.add(counts))
    expect(counted.of('acknowledged')).toBeGreaterThan(0)
    expect(counted.of('interrupted')).toBeGreaterThan(0)
  })

  test('nothing acknowledged is lost if the log is written back to the file all the time', async () => {
    const random = chance('power loss while written back')
    const counted = roundCounter('losses of power on SQLite, the log being written back all the time')
    await livesAndDeaths(WRITTEN_BACK_OFTEN, random, roundCount(2), (counts) => counted.add(counts))
    expect(counted.of('acknowledged')).toBeGreaterThan(0)
  })

  test.for([
    { what: 'never flushes', changes: flushing('OFF', 0) },
    { what: 'flushes when it writes back', changes: flushing('NORMAL', 1) },
  ])('the check finds a ledger that $what', async ({ what, changes }) => {
    await expect(livesAndDeaths(changes, chance(`power loss, ${what}`), 50, () => undefined)).rejects.toThrow(
      /acknowledged|malformed|paid for|verification of|answer|events of/,
    )
  })
})

/** Runs a ledger that loses power repeatedly, and checks the remaining files after each loss. */
async function livesAndDeaths(
  changes: readonly SourceChange[],
  random: Chance,
  rounds: number,
  add: (counts: Counts & { rounds: number }) => void,
) {
  for (let round = 0; round < rounds; round += 1) {
    const folder = temporaryFolder()
    const url = path.join(folder, 'ledger', 'ledger.sqlite')
    const directory = path.dirname(url)
    let files: Files = new Map()
    let heard: readonly string[] = []
    for (let life = 1; life <= LIVES; life += 1) {
      lay(directory, files)
      const trace = path.join(folder, 'trace')
      const under = tracedUnder({ trace, calls: STEP_CALLS, withBytes: true })
      const options = { url, changes, dataset: 'census', run: `life-${life}`, under }
      const charging = startCharging({
        ...options,
        questions: 4 + random.below(8),
        lanes: 1 + random.below(4),
      })
      await charging.ended
      expect(charging.lines.at(-1)).toBe('ended')
      const steps = stepsOf(readFileSync(trace, 'utf8'), directory)
      // The check uses a copy, because it settles interrupted questions. The next life begins with the original files.
      const looks = life === LIVES ? 1 : 3
      for (let look = 0; look < looks; look += 1) {
        const end = random.below(steps.length + 1)
        const left = afterPowerLoss(directory, files, steps.slice(0, end), random)
        const lines = [...heard, ...left.lines]
        lay(directory, left.files)
        const ledger = await openLedger({ url })
        try {
          add({ rounds: 1, ...(await expectNothingLost(ledger, 'census', messagesByKey(lines))) })
        } finally {
          await ledger.close()
        }
        if (look === looks - 1) {
          files = left.files
          heard = lines
        }
      }
    }
    rmSync(folder, { recursive: true })
  }
}

/** Makes a folder contain exactly these files. */
function lay(directory: string, files: Files): void {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory)
  for (const [file, bytes] of files) writeFileSync(file, bytes, { mode: 0o600 })
}
