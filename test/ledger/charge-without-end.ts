/**
 * A process that charges and answers until it is killed, eight questions at a time, and says on standard output what
 * was acknowledged: `open`, `charged <key>`, `answered <key>`, and `stopped <kind>` where the ledger gives up.
 */
import { writeSync } from 'node:fs'
import { LedgerFault } from '../../src/ledger/fault.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite.ts'
import { DELTA_FRACTION_DIGITS, deltaAtto, epsilonNano } from '../../src/privacy/loss.ts'

const [, , path = '', run = ''] = process.argv

/** A pipe that is full while its reader is late is tried again: what was acknowledged is said, whatever it takes. */
function say(line: string): void {
  let left = Buffer.from(`${line}\n`)
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(1, left))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
    }
  }
}

const ledger = await openSqliteLedger({ path })
await ledger.openBudget(
  'census',
  {
    accounting: 'basic',
    granted: {
      epsilonNano: epsilonNano(10n ** 15n),
      deltaAtto: deltaAtto(10n ** BigInt(DELTA_FRACTION_DIGITS - 1)),
    },
  },
  'carol',
)
say('open')

let last = 0
try {
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (;;) {
        last += 1
        const key = `${run}-${last}`
        const outcome = await ledger.charge({
          dataset: 'census',
          datasetVersion: '1',
          principal: 'ada',
          idempotencyKey: key,
          requestHash: key,
          request: key,
          keyChosen: false,
          price: { accounting: 'basic', epsilonNano: epsilonNano(3n), deltaAtto: deltaAtto(7n) },
          sharing: false,
          leaseMs: 60_000,
        })
        if (outcome.kind !== 'charged') throw new Error(`unexpected ${outcome.kind}`)
        say(`charged ${key}`)
        if (!(await ledger.recordAnswer(outcome.charge.id, 1, `answer to ${key}`)))
          throw new Error('fenced out')
        say(`answered ${key}`)
      }
    }),
  )
} catch (error) {
  if (!(error instanceof LedgerFault)) throw error
  const healthy = await ledger.healthy()
  await ledger.close()
  say(`stopped ${error.kind}, healthy ${healthy}`)
}
