/**
 * A process that charges and answers until it is killed, eight questions at a time, and says on standard output what
 * was acknowledged: `open`, `charged <key>`, `answered <key>`, and `stopped <kind>` where the ledger gives up.
 */
import { writeSync } from 'node:fs'
import { LedgerFault } from '../../src/ledger/fault.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite.ts'
import { DELTA_FRACTION_DIGITS, deltaAtto, epsilonNano } from '../../src/privacy/loss.ts'

const [, , path = '', run = ''] = process.argv
const say = (line: string) => writeSync(1, `${line}\n`)

const ledger = await openSqliteLedger({ path })
await ledger.openBudget(
  'census',
  { epsilonNano: epsilonNano(10n ** 15n), deltaAtto: deltaAtto(10n ** BigInt(DELTA_FRACTION_DIGITS - 1)) },
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
          datasetVersion: 'v1',
          principal: 'ada',
          idempotencyKey: key,
          requestHash: key,
          request: key,
          loss: { epsilonNano: epsilonNano(3n), deltaAtto: deltaAtto(7n) },
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
