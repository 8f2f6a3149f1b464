import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { folderForAll } from '../../../folders.ts'
import { column, withDuckDb } from '../../fixture.ts'

const folder = folderForAll()

it('the rows of many people are ranked in less memory than they take', async () => {
  const sourcePath = join(folder.path, 'visits.parquet')
  const [rows, people] = [1_500_000, 300_000]
  await withDuckDb(
    ':memory:',
    `COPY (SELECT 'patient ' || (hash(i) % ${people}) AS patient, (hash(i + 1) % 1000)::INTEGER AS cost, 'note ' || i AS note
      FROM range(${rows}) t(i)) TO '${sourcePath}' (FORMAT parquet)`,
  )
  const targetPath = join(folder.path, 'visits.duckdb')
  const counts = await ingest({
    sourcePath,
    format: 'parquet',
    columns: [column.identifier('patient'), column.integer('cost', 0n, 1000n), column.string('note')],
    privacyUnit: { kind: 'person', column: 'patient', maxRows: 20, key: '0123456789abcdef'.repeat(4) },
    targetPath,
    limits: { threads: 2, memoryLimit: '150MB' },
  })
  expect(counts.rowsRead).toBe(rows)
  expect(counts.people).toBeGreaterThan(people * 0.98)
  const wrong = `SELECT count(*)::INTEGER FROM (
    SELECT sotto_person FROM rows GROUP BY sotto_person HAVING max(sotto_rank) <> count(*) OR count(DISTINCT sotto_rank) <> count(*)
  )`
  expect(await withDuckDb(targetPath, wrong)).toEqual([[0]])
})
