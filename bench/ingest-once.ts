import { rm } from 'node:fs/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import type { Column, FileFormat } from '../src/core/dataset/dataset.ts'
import { ingest } from '../src/engines/duckdb/ingestion/ingest.ts'
import { quoteLiteral } from '../src/engines/duckdb/instance.ts'

/*
 * One ingestion or one plain copy, in a process of its own, so that its peak of memory is known. Prints seconds and
 * bytes as JSON. Arguments: `plain`, `rows` or `people`; the format; the source; the file to write.
 */

const ONE = 1_000_000_000n

const facts = { nullable: true, invalidValue: { kind: 'null' } } as const

/** The columns of the file that `ingest.ts` writes. */
const columns: readonly Column[] = [
  { ...facts, name: 'age', type: 'integer', stepNano: ONE, lowerIndex: 0n, upperIndex: 120n },
  { ...facts, name: 'cost', type: 'number', stepNano: ONE / 100n, lowerIndex: 0n, upperIndex: 1_000_000n },
  {
    ...facts,
    name: 'region',
    type: 'category',
    categories: Array.from({ length: 40 }, (_, i) => `region ${i}`),
  },
  { ...facts, name: 'smoker', type: 'boolean' },
]

const identifier: Column = {
  name: 'patient',
  type: 'identifier',
  nullable: false,
  invalidValue: { kind: 'refuse' },
}

const KEY = '0123456789abcdef'.repeat(4)

/** The limits of an ingestion, for the plain copy as well. */
const PLAIN_LIMITS = { threads: '2', memory_limit: '1GB' }

async function copyPlainly(format: FileFormat, sourcePath: string, targetPath: string): Promise<void> {
  const instance = await DuckDBInstance.create(targetPath, {
    ...PLAIN_LIMITS,
    temp_directory: `${targetPath}.temporary`,
  })
  const connection = await instance.connect()
  await connection.run(`CREATE TABLE rows AS SELECT * FROM read_${format}(${quoteLiteral(sourcePath)})`)
  await connection.run('CHECKPOINT')
  connection.disconnectSync()
  instance.closeSync()
}

const [what, format, sourcePath, targetPath] = process.argv.slice(2)
if (format !== 'csv' && format !== 'parquet') throw new Error('the format is csv or parquet')
if (sourcePath === undefined || targetPath === undefined) throw new Error('a source and a target are needed')

const startMs = performance.now()
switch (what) {
  case 'plain':
    await copyPlainly(format, sourcePath, targetPath)
    break
  case 'rows':
    await ingest({ sourcePath, format, columns, privacyUnit: { kind: 'row' }, targetPath })
    break
  case 'people': {
    const privacyUnit = { kind: 'person', column: 'patient', maxRows: 20, key: KEY } as const
    await ingest({ sourcePath, format, columns: [identifier, ...columns], privacyUnit, targetPath })
    break
  }
  default:
    throw new Error('the first argument is plain, rows or people')
}
const seconds = (performance.now() - startMs) / 1000
const { user, system } = process.cpuUsage()
await rm(targetPath, { force: true })
await rm(`${targetPath}.temporary`, { recursive: true, force: true })
// Linux counts in kibibytes.
console.log(
  JSON.stringify({
    seconds,
    cpuSeconds: (user + system) / 1e6,
    peakBytes: process.resourceUsage().maxRSS * 1024,
  }),
)
