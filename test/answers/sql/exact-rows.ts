import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { readAggregate } from '../../../src/answers/release.ts'
import type { ResultColumn } from '../../../src/answers/sql/rows/result.ts'
import type { Cell } from '../../../src/answers/sql/rows/row-values.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { noiseReport, reporter } from '../../../src/core/planner/report.ts'
import type { NoiseReport, Report } from '../../../src/core/planner/report-kinds.ts'
import { ingest } from '../../../src/engines/duckdb/ingestion/ingest.ts'
import { openTestEngine } from '../../engines/fixture.ts'
import { makeFolder } from '../../folders.ts'
import { COLUMNS, translatedAll, visits } from './translated.ts'

/** Versions of the dataset, each with other random rows. */
export const DATASETS = ['first', 'second', 'third']

const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 4, nil: '' })
const row = fc.tuple(
  fc.nat(7).map((person) => `p${person}`),
  orNull(fc.constantFrom('North', 'South', "O'Hara")),
  orNull(fc.nat(20)),
  fc.nat(9),
  orNull(fc.integer({ min: -20, max: 20 }).map((quarters) => quarters / 4)),
  orNull(fc.nat(40).map((day) => new Date(Date.UTC(2024, 0, 25 + day)).toISOString().slice(0, 10))),
  orNull(fc.nat(119).map((hour) => `${new Date(Date.UTC(2024, 1, 27, hour)).toISOString().slice(0, 19)}Z`)),
  orNull(fc.boolean()),
  orNull(fc.constantFrom('a', "it's", 'ÄÖ𝄞', 'other')),
)

/** Rows of a statement, made from the exact integers of its aggregate. No noise is added to them. */
export interface ExactRows {
  /** The values of the rows of each version as texts. NULL is the empty text. */
  readonly sources: readonly {
    readonly version: string
    readonly path: string
    readonly rows: readonly (readonly string[])[]
  }[]
  /** The rows without half-widths, and their columns. */
  read(
    sql: string,
    version: string,
  ): Promise<{ readonly columns: readonly ResultColumn[]; readonly rows: readonly (readonly Cell[])[] }>
  close(): Promise<void>
}

/** Ingests random rows, over which statements are then answered. */
export async function openExactRows(): Promise<ExactRows> {
  const folder = makeFolder()
  const fileOf = (version: string) => join(folder, `${version}.duckdb`)
  const engine = openTestEngine(folder, {
    files: ({ version }: { readonly version: string }) => fileOf(version),
    connectionsPerDataset: 2,
  })
  const sources: ExactRows['sources'][number][] = []
  for (const [seed, version] of DATASETS.entries()) {
    const sampled = fc.sample(fc.array(row, { minLength: 40, maxLength: 80 }), { seed, numRuns: 1 })[0] ?? []
    const rows = sampled.map((values) => values.map(String))
    const header = COLUMNS.map(({ name }) => `"${name}"`).join(',')
    const path = join(folder, `${version}.csv`)
    const lines = rows.map((values) => values.map((value) => (value === '' ? '' : `"${value}"`)).join(','))
    await writeFile(path, `${[header, ...lines].join('\n')}\n`)
    await ingest({
      sourcePath: path,
      format: 'csv',
      columns: COLUMNS,
      privacyUnit: { kind: 'person', column: 'patient', maxRows: 1_000, key: '0123456789abcdef'.repeat(4) },
      targetPath: fileOf(version),
    })
    await engine.open({ ...visits, version })
    sources.push({ version, path, rows })
  }
  return {
    sources,
    async read(sql, version) {
      const { asked, columnsOf, rowsOf } = translatedAll(sql)
      const reports: (Report & { readonly noise: NoiseReport })[] = []
      for (const query of asked) {
        const planned = plan(query, { ...visits, version }, { maxCells: 100_000 })
        if (planned.kind !== 'additive') throw new Error(`not made from sums and counts: ${sql}`)
        const exact = await readAggregate(planned, engine)
        if (exact.kind !== 'additive') throw new Error('sums and counts are read')
        const noisy = planned.measurements.map(({ fractionBits }, place) =>
          (exact.integers[place] ?? []).map((integer) => integer << BigInt(fractionBits)),
        )
        reports.push({ ...reporter(planned)({ kind: 'additive', noisy }), noise: noiseReport(planned) })
      }
      const all = columnsOf(reports.map(({ noise }) => ({ noise, round: false })))
      const halfWidths = new Set(all.map(({ halfWidthColumn }) => halfWidthColumn))
      const columns = all.filter(({ name }) => !halfWidths.has(name))
      const rows = rowsOf(reports).map((cells) => cells.filter((_, at) => !halfWidths.has(all[at]?.name)))
      return { columns, rows }
    },
    async close() {
      await engine.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
