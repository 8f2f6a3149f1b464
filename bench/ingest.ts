import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import type { FileFormat } from '../src/core/dataset/dataset.ts'
import { quoteLiteral } from '../src/engines/duckdb/instance.ts'
import { median } from './median.ts'

/** The ingestion of one file beside a plain `CREATE TABLE AS` of the same file: medians over the rounds. */
export interface IngestFigure {
  readonly format: FileFormat
  readonly unit: 'rows' | 'people'
  readonly rows: number
  readonly plainSeconds: number
  readonly sottoSeconds: number
  /** Sotto's time divided by that of the plain copy in the same round. */
  readonly ratio: { readonly median: number; readonly lowest: number; readonly highest: number }
  /** The same for processor time, on which other work of the machine has less influence. */
  readonly cpuRatio: number
  /** Largest peak of memory of the whole process, in bytes. */
  readonly peakBytes: number
}

/** Goals for the ratio: with one row per person, and with an identifier. */
export const INGEST_GOALS = { rows: 8, people: 12 } as const

const ROWS = 20_000_000
const PEOPLE = 3_000_000
const ROUNDS = 3

/** Four columns, as `ingest-once.ts` declares them; with an identifier, five. */
const FOUR = `(hash(i) % 90 + 10)::INTEGER AS age,
  round((hash(i + 7) % 1000000) / 100.0, 2)::DOUBLE AS cost,
  'region ' || (hash(i * 3) % 40) AS region,
  hash(i * 5) % 3 = 0 AS smoker`
const SELECTED = {
  rows: FOUR,
  people: `'patient-' || (hash(i + 13) % ${PEOPLE}) AS patient, ${FOUR}`,
} as const

/** Measures the ingestion of made-up rows from Parquet and CSV, in processes that take turns with plain copies. */
export async function ingestBenchmark(rows = ROWS): Promise<readonly IngestFigure[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sotto-bench-ingest-'))
  try {
    const figures: IngestFigure[] = []
    for (const unit of ['rows', 'people'] as const) {
      for (const format of ['parquet', 'csv'] as const) {
        const sourcePath = path.join(folder, `${unit}.${format}`)
        await writeSource(sourcePath, format, SELECTED[unit], rows)
        figures.push({ format, unit, rows, ...(await compare(unit, format, sourcePath)) })
        await rm(sourcePath)
      }
    }
    return figures
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function writeSource(file: string, format: FileFormat, selected: string, rows: number): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2', memory_limit: '2GB' })
  const connection = await instance.connect()
  const options = format === 'csv' ? 'FORMAT csv, HEADER' : 'FORMAT parquet'
  await connection.run(
    `COPY (SELECT ${selected} FROM range(${rows}) t(i)) TO ${quoteLiteral(file)} (${options})`,
  )
  connection.disconnectSync()
  instance.closeSync()
}

async function compare(unit: IngestFigure['unit'], format: FileFormat, sourcePath: string) {
  const plain: Once[] = []
  const sotto: Once[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    plain.push(await once('plain', format, sourcePath))
    sotto.push(await once(unit, format, sourcePath))
  }
  const ratios = sotto.map(({ seconds }, round) => seconds / (plain[round]?.seconds ?? Number.NaN))
  return {
    plainSeconds: median(plain.map(({ seconds }) => seconds)),
    sottoSeconds: median(sotto.map(({ seconds }) => seconds)),
    ratio: { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) },
    cpuRatio: median(
      sotto.map(({ cpuSeconds }, round) => cpuSeconds / (plain[round]?.cpuSeconds ?? Number.NaN)),
    ),
    peakBytes: Math.max(...sotto.map(({ peakBytes }) => peakBytes)),
  }
}

interface Once {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly peakBytes: number
}

async function once(what: string, format: FileFormat, sourcePath: string): Promise<Once> {
  const program = path.join(import.meta.dirname, 'ingest-once.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [
    program,
    what,
    format,
    sourcePath,
    `${sourcePath}.duckdb`,
  ])
  return JSON.parse(stdout) as Once
}
