import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { folderForAll } from '../../../folders.ts'
import { column, withDuckDb } from '../../fixture.ts'

const folder = folderForAll()

it.each([
  ['200 million rows', `SELECT 1 AS x, 'a' AS text FROM range(200000000)`, /at most 100000000 rows/],
  [
    '20 GB of text',
    `SELECT 1 AS x, repeat('a', 10000) AS text FROM range(2000000)`,
    /at most 17179869184 bytes/,
  ],
])(
  'a small Parquet file that stands for %s is refused before its values are read',
  async (_, select, rule) => {
    const sourcePath = join(folder.path, 'attack.parquet')
    await withDuckDb(':memory:', `COPY (${select}) TO '${sourcePath}' (FORMAT parquet, COMPRESSION zstd)`)
    expect((await stat(sourcePath)).size).toBeLessThan(1_000_000)
    const phases = new Set<string>()
    const refused = ingest({
      sourcePath,
      format: 'parquet',
      columns: [column.integer('x', 0n, 10n), column.string('text')],
      privacyUnit: { kind: 'row' },
      targetPath: join(folder.path, 'rows.duckdb'),
      onProgress: ({ phase }) => phases.add(phase),
    })
    await expect(refused).rejects.toThrow(rule)
    expect([...phases]).toEqual(['check'])
    expect(await readdir(folder.path)).toEqual(['attack.parquet'])
  },
)
