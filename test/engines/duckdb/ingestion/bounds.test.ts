import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Column } from '../../../../src/core/dataset/dataset.ts'
import {
  type IngestionTerms,
  ingest,
  type SourceFile,
} from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { folderForAll, temporaryFolder } from '../../../folders.ts'
import { column, storedRows, withDuckDb } from '../../fixture.ts'

const folder = folderForAll()
let target = ''
beforeEach(() => {
  target = temporaryFolder()
})

async function parquet(select: string): Promise<SourceFile> {
  const sourcePath = join(folder.path, 'rows.parquet')
  await withDuckDb(':memory:', `COPY (${select}) TO '${sourcePath}' (FORMAT parquet, COMPRESSION zstd)`)
  return { sourcePath, format: 'parquet' }
}

async function csv(content: string): Promise<SourceFile> {
  const sourcePath = join(folder.path, 'rows.csv')
  await writeFile(sourcePath, content)
  return { sourcePath, format: 'csv' }
}

/** Ingests a file and returns the refusal and the phases that began. */
async function refusalOf(given: Partial<IngestionTerms> & SourceFile & Pick<IngestionTerms, 'columns'>) {
  const phases = new Set<string>()
  const targetPath = join(target, 'rows.duckdb')
  const onProgress: IngestionTerms['onProgress'] = ({ phase }) => phases.add(phase)
  const error: unknown = await ingest({
    privacyUnit: { kind: 'row' },
    targetPath,
    onProgress,
    ...given,
  }).catch((reason: unknown) => reason)
  if (!(error instanceof Refusal)) throw new Error(`no refusal but ${String(error)}`)
  expect(error.code).toBe('source-does-not-fit')
  expect(await readdir(target)).toEqual([])
  return { errors: error.errors, phases: [...phases] }
}

const x = column.integer('x', 0n, 10n)
const text = column.string('text')

describe('a source beyond the bounds is refused before its values are read', () => {
  const rowsRule = 'must have at most 1000 rows (SOTTO_INGEST_MAX_ROWS)'
  const bytesRule = 'must have at most 1000000 bytes, decompressed (SOTTO_INGEST_MAX_BYTES)'
  const valueRule = 'the source has a value of more than 100 bytes (SOTTO_INGEST_MAX_VALUE_BYTES)'

  it.each<[string, string, Column, IngestionTerms['bounds'], string, string]>([
    ['rows', 'SELECT 1 AS x FROM range(1001)', x, { maxRows: 1000 }, 'source', rowsRule],
    ['list elements', 'SELECT repeat([1], 1001) AS x', x, { maxRows: 1000 }, 'source', rowsRule],
    [
      'bytes of text',
      `SELECT repeat('a', 1000) AS text FROM range(1001)`,
      text,
      { maxBytes: 1e6 },
      'source',
      bytesRule,
    ],
    ['bytes of numbers', 'SELECT 1 AS x FROM range(125001)', x, { maxBytes: 1e6 }, 'source', bytesRule],
    [
      'bytes in a value',
      `SELECT repeat('é', 51) AS text`,
      text,
      { maxValueBytes: 100 },
      'columns.0.name',
      valueRule,
    ],
    [
      'bytes in a BLOB',
      `SELECT repeat('a', 101)::BLOB AS text`,
      text,
      { maxValueBytes: 100 },
      'columns.0.name',
      valueRule,
    ],
  ])('Parquet with more %s', async (_, select, declared, bounds, field, rule) => {
    const refused = await refusalOf({ ...(await parquet(select)), columns: [declared], bounds })
    expect(refused).toEqual({ errors: [{ field, rule }], phases: ['check'] })
  })

  it('CSV with more rows', async () => {
    const file = await csv(`x\n${'1\n'.repeat(1001)}`)
    const refused = await refusalOf({ ...file, columns: [x], bounds: { maxRows: 1000 } })
    expect(refused).toEqual({ errors: [{ field: 'source', rule: rowsRule }], phases: ['check'] })
  })

  it('any file with more bytes', async () => {
    const file = await csv(`x\n${'1\n'.repeat(500_000)}`)
    const refused = await refusalOf({ ...file, columns: [x], bounds: { maxBytes: 1e6 } })
    expect(refused).toEqual({ errors: [{ field: 'source', rule: bytesRule }], phases: [] })
  })
})

it('a source as large as the bounds is ingested, and columns that are not declared do not count', async () => {
  const select = `SELECT repeat('é', 50) AS text, repeat('a', 10000) AS other FROM range(1000)`
  const bounds = { maxRows: 1000, maxBytes: 100_000, maxValueBytes: 100 }
  const targetPath = join(target, 'rows.duckdb')
  const file = await parquet(select)
  await ingest({ ...file, columns: [text], privacyUnit: { kind: 'row' }, targetPath, bounds })
  expect(await storedRows(targetPath, [text])).toHaveLength(1000)
})

it('an ingestion that needs more memory than it may use is refused with that reason', async () => {
  const file = await parquet(`SELECT i AS x, md5(i::VARCHAR) AS text FROM range(500000) t(i)`)
  const refused = await refusalOf({
    ...file,
    columns: [x, text],
    limits: { memoryLimit: '20MB', maxTemporaryDirectorySize: '1MB' },
  })
  const rule = 'needs more memory or temporary disk space than an ingestion may use'
  expect(refused.errors).toEqual([{ field: 'source', rule }])
})
