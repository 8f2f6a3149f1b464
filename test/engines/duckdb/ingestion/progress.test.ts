import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { type Ingestion, ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import type { IngestionProgress } from '../../../../src/engines/duckdb/ingestion/progress.ts'
import { folderForAll, temporaryFolder } from '../../../folders.ts'
import { column, withDuckDb } from '../../fixture.ts'

const folder = folderForAll()
let target = ''
let csv: string
let parquet: string
const ROWS = 200_000
const columns = [column.integer('x', 0n, 1_000_000n), column.string('text')]

beforeAll(async () => {
  csv = join(folder.path, 'rows.csv')
  await writeFile(csv, `x,text\n${Array.from({ length: ROWS }, (_, i) => `${i},text ${i}\n`).join('')}`)
  parquet = join(folder.path, 'rows.parquet')
  const rows = `SELECT i AS x, 'text ' || i AS text FROM range(3000000) t(i)`
  await withDuckDb(':memory:', `COPY (${rows}) TO '${parquet}' (FORMAT parquet)`)
})
beforeEach(() => {
  target = temporaryFolder()
})

function ingestion(given: Partial<Ingestion> = {}): Ingestion {
  return {
    sourcePath: csv,
    format: 'csv',
    columns,
    privacyUnit: { kind: 'row' },
    targetPath: join(target, 'rows.duckdb'),
    ...given,
  }
}

it('the progress of each phase begins at 0 and never decreases', async () => {
  const reports: IngestionProgress[] = []
  await ingest(ingestion({ onProgress: (progress) => reports.push(progress) }))
  const phases = reports.map(({ phase }) => phase).filter((phase, i, all) => phase !== all[i - 1])
  expect(phases).toEqual(['check', 'read', 'store'])
  for (const phase of phases) {
    const fractions = reports.filter((report) => report.phase === phase).map(({ fraction }) => fraction)
    expect(fractions[0]).toBe(0)
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b))
    expect(Math.max(...fractions)).toBeLessThanOrEqual(1)
  }
  expect(reports).toContainEqual({ phase: 'check', fraction: 1 })
  expect(reports.at(-1)).toEqual({ phase: 'store', fraction: 1 })
})

it.each(['check', 'read', 'store'] as const)('an abort in phase %s leaves nothing behind', async (last) => {
  const leaving = new AbortController()
  const reason = new Error('the client left')
  const phases = new Set<string>()
  const aborted = ingest(
    ingestion({
      signal: leaving.signal,
      onProgress: ({ phase }) => {
        phases.add(phase)
        if (phase === last) leaving.abort(reason)
      },
    }),
  )
  await expect(aborted).rejects.toBe(reason)
  expect([...phases].at(-1)).toBe(last)
  expect(await readdir(target)).toEqual([])
})

it('an abort stops the statement that runs', async () => {
  const leaving = new AbortController()
  const reason = new Error('the time limit was reached')
  const phases = new Set<string>()
  const aborted = ingest(
    ingestion({
      sourcePath: parquet,
      format: 'parquet',
      signal: leaving.signal,
      onProgress: ({ phase }) => {
        phases.add(phase)
        // The statement begins before timers run.
        if (phase === 'read') setTimeout(() => leaving.abort(reason), 0)
      },
    }),
  )
  await expect(aborted).rejects.toBe(reason)
  expect(phases).not.toContain('store')
  expect(await readdir(target)).toEqual([])
})

it('a signal that has aborted before is obeyed', async () => {
  const reason = new Error('withdrawn')
  await expect(ingest(ingestion({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason)
  expect(await readdir(target)).toEqual([])
})

it('two ingestions of one target do not disturb each other, even if one is aborted', async () => {
  const leaving = new AbortController()
  const abort = ({ phase }: IngestionProgress) => phase === 'store' && leaving.abort()
  const outcomes = await Promise.allSettled([
    ingest(ingestion()),
    ingest(ingestion({ signal: leaving.signal, onProgress: abort })),
    ingest(ingestion()),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  const stored = await withDuckDb(join(target, 'rows.duckdb'), 'SELECT count(*)::INTEGER FROM rows')
  expect(stored).toEqual([[ROWS]])
  expect(await readdir(target)).toEqual(['rows.duckdb'])
})
