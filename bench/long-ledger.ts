import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { chargeId, sha256 } from '../src/ledger/canonical.ts'
import { openSqliteStore } from '../src/ledger/sqlite/store.ts'
import type { Call } from '../src/ledger/stores/operation.ts'
import { deltaAtto, epsilonNano } from '../src/privacy/loss.ts'

/*
 * Writes a long ledger through the store: `node bench/long-ledger.ts <folder> <events>`. Each charge has two events, and
 * its answer is as long as that of a count. Then measure a start: `time SOTTO_DATA_DIR=<folder> npm start`.
 */

const CALLS_PER_BATCH = 4_000
const [folder = '', count = '1000000'] = process.argv.slice(2)
const dataDirectory = path.resolve(folder)
await mkdir(dataDirectory, { recursive: true, mode: 0o700 })
const store = openSqliteStore(path.join(dataDirectory, 'ledger.sqlite'), Date.now)
const price = { accounting: 'basic', epsilonNano: epsilonNano(1_000n), deltaAtto: deltaAtto(0n) } as const
const budget = {
  accounting: 'basic',
  neighbours: 'add-remove',
  granted: { epsilonNano: epsilonNano(1_000_000_000_000_000n), deltaAtto: deltaAtto(0n) },
} as const
store.batch([{ operation: 'openBudget', args: ['long', budget, 'custodian'] }])

function callsOf(charge: number): readonly Call[] {
  const principal = `analyst-${charge % 20}`
  const idempotencyKey = `key-${charge}`
  const request = JSON.stringify({ kind: 'count', where: { column: 'Age', op: '<', value: charge } })
  const id = chargeId(principal, idempotencyKey)
  const answer = JSON.stringify({ id, dataset: 'long', result: { value: charge }, report: 'x'.repeat(600) })
  return [
    {
      operation: 'charge',
      args: [
        {
          ...{ dataset: 'long', datasetVersion: '1', principal, idempotencyKey, keyChosen: true, price },
          ...{ requestHash: sha256(request), request, sharing: false, leaseMs: 1_000 },
        },
      ],
    },
    { operation: 'recordAnswer', args: [id, 1, answer] },
  ]
}

let calls: Call[] = []
for (let charge = 0; charge < Number(count) / 2; charge += 1) {
  calls.push(...callsOf(charge))
  if (calls.length < CALLS_PER_BATCH) continue
  store.batch(calls)
  calls = []
}
store.batch(calls)
store.close()
