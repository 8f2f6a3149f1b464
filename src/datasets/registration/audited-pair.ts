import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Dataset } from '../../core/dataset/dataset.ts'
import {
  type ColumnDeclaration,
  type DatasetDeclaration,
  declareColumns,
  declareDataset,
  requireUnreservedNames,
} from '../../core/dataset/declaration.ts'
import { openDuckDbEngine } from '../../engines/duckdb/engine.ts'
import { ingest } from '../../engines/duckdb/ingestion/ingest.ts'
import type { Engine } from '../../engines/engine.ts'
import type { Neighbours, PrivacyUnit } from '../../privacy/neighbours.ts'
import { refuseField } from '../../privacy/refusal.ts'
import { keyedUnit } from '../catalog/person-key.ts'

/** A value of a row as JSON. */
export type PairValue = number | string | boolean | null

/** A row by the names of its columns. */
export type PairRow = Readonly<Record<string, PairValue>>

/** Two neighbouring datasets that an auditor gives. */
export interface AuditedPair {
  readonly columns: readonly ColumnDeclaration[]
  readonly privacyUnit: PrivacyUnit
  readonly neighbours: Neighbours
  readonly rows: readonly PairRow[]
  readonly neighbourRows: readonly PairRow[]
}

/** Time limit for a statement over at most 1,000 rows. */
const STATEMENT_TIMEOUT_MS = 10_000

/**
 * Checks that two datasets are neighbours, ingests them into a folder as any registered file, and opens an engine over
 * them. Both are synthetic: an auditor knows every row. They are not registered, and exist until the pair is closed and
 * the folder removed.
 *
 * @throws Refusal `invalid-request` if the rows are not those of neighbouring datasets; `source-does-not-fit` or
 * `source-unreadable` if they do not fit the columns.
 */
export async function openAuditedPair(
  pair: AuditedPair,
  folder: string,
): Promise<{
  readonly engine: Engine
  readonly datasets: readonly [Dataset, Dataset]
  readonly close: () => Promise<void>
}> {
  // Refuses a privacy unit without its column before rows are compared.
  const declaration = declarationOf('pair', pair)
  const columns = declareColumns(declaration)
  requireUnreservedNames(declaration.columns)
  requireNeighbouringUnits(pair)
  // Both datasets have the same key, as neighbours do: another would choose other rows of the people whom they share.
  const privacyUnit = await keyedUnit(pair.privacyUnit, path.join(folder, 'person.key'))
  const fileOf = ({ id }: Pick<Dataset, 'id'>) => path.join(folder, `${id}.duckdb`)
  const engine = openDuckDbEngine({
    files: fileOf,
    connectionsPerDataset: 2,
    threads: 1,
    memoryLimit: '256MB',
    queryTimeoutMs: STATEMENT_TIMEOUT_MS,
    temporaryDirectory: path.join(folder, 'engine'),
  })
  const open = async (id: string, rows: readonly PairRow[]): Promise<Dataset> => {
    const sourcePath = path.join(folder, `${id}.csv`)
    await writeFile(sourcePath, csvOf(pair.columns, rows))
    const declaration = declarationOf(id, pair)
    const counts = await ingest({
      sourcePath,
      format: 'csv',
      columns,
      privacyUnit,
      targetPath: fileOf({ id }),
    })
    const dataset = declareDataset(declaration, '1', counts.people ?? counts.rowsStored)
    await engine.open(dataset)
    return dataset
  }
  try {
    const datasets = [
      await open('pair', pair.rows),
      await open('pair-neighbour', pair.neighbourRows),
    ] as const
    return { engine, datasets, close: () => engine.close() }
  } catch (error) {
    await engine.close()
    throw error
  }
}

function declarationOf(id: string, { columns, privacyUnit, neighbours }: AuditedPair): DatasetDeclaration {
  return {
    id,
    title: 'Pair of an auditor',
    source: { kind: 'file', path: `${id}.csv`, format: 'csv' },
    columns,
    privacyUnit,
    neighbours,
    synthetic: true,
    accounting: 'basic',
    sharing: false,
    timing: 'off',
    failureLimit: 3,
    queryLimits: {},
  }
}

/**
 * Checks that two lists of rows are neighbours, in any order: one has exactly one row, or one person with all rows,
 * that the other lacks (`add-remove`), or each has exactly one that the other lacks (`change-one`).
 * @throws Refusal `invalid-request`
 */
export function requireNeighbouringUnits(pair: AuditedPair): void {
  const surplus = new Map<string, number>()
  for (const unit of unitTexts('rows', pair.rows, pair)) surplus.set(unit, (surplus.get(unit) ?? 0) + 1)
  for (const unit of unitTexts('neighbourRows', pair.neighbourRows, pair))
    surplus.set(unit, (surplus.get(unit) ?? 0) - 1)
  let [here, there] = [0, 0]
  for (const difference of surplus.values()) {
    here += Math.max(0, difference)
    there += Math.max(0, -difference)
  }
  const unit = pair.privacyUnit.kind === 'row' ? 'row' : 'person, with all rows of that person,'
  const refuse = (rule: string) => refuseField('invalid-request', 'neighbourRows', rule)
  switch (pair.neighbours) {
    case 'add-remove':
      if (here + there === 1) return
      throw refuse(`must be rows with one ${unit} more or fewer`)
    case 'change-one':
      if (here === 1 && there === 1) return
      throw refuse(`must be rows with one ${unit} replaced by another`)
  }
}

/** A text for each privacy unit, which is the same for two units with the same rows in any order. */
function unitTexts(
  field: string,
  rows: readonly PairRow[],
  { columns, privacyUnit }: AuditedPair,
): readonly string[] {
  const names = columns.map(({ name }) => name)
  const units = new Map<string, string[]>()
  for (const [place, row] of rows.entries()) {
    if (Object.keys(row).length !== names.length || names.some((name) => !Object.hasOwn(row, name)))
      throw refuseField('invalid-request', `${field}.${place}`, 'must have exactly the declared columns')
    const unit = privacyUnit.kind === 'row' ? String(place) : String(row[privacyUnit.column])
    const text = JSON.stringify(names.map((name) => row[name]))
    units.set(unit, [...(units.get(unit) ?? []), text])
  }
  return Array.from(units.values(), (texts) => texts.sort().join())
}

/** A CSV file (RFC 4180). An empty field without quotes is NULL. */
function csvOf(columns: readonly ColumnDeclaration[], rows: readonly PairRow[]): string {
  const line = (values: readonly (PairValue | undefined)[]) => `${values.map(fieldOf).join(',')}\n`
  const names = columns.map(({ name }) => name)
  return [line(names), ...rows.map((row) => line(names.map((name) => row[name])))].join('')
}

function fieldOf(value: PairValue | undefined): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? `"${value.replaceAll('"', '""')}"` : String(value)
}
