import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Dataset } from '../../core/dataset/dataset.ts'
import { declareColumns, declareDataset } from '../../core/dataset/declaration.ts'
import { openDuckDbEngine } from '../../engines/duckdb/engine.ts'
import { ingest } from '../../engines/duckdb/ingestion/ingest.ts'
import type { Engine } from '../../engines/engine.ts'
import { keyedUnit } from '../catalog/person-key.ts'
import type { PreparedPair } from './prepared-pair.ts'

/** Time limit for a statement over at most 1,000 rows. */
const STATEMENT_TIMEOUT_MS = 10_000

/**
 * Ingests two neighbouring datasets into a folder as any registered file, and opens an engine over them. Both are synthetic:
 * an auditor knows every row. They are not registered, and exist until the pair is closed and the folder removed.
 *
 * @throws Refusal `source-does-not-fit` or `source-unreadable` if the rows do not fit the columns.
 */
export async function openAuditedPair(
  { declaration, files: [file, neighbourFile] }: PreparedPair,
  folder: string,
): Promise<{
  readonly engine: Engine
  readonly datasets: readonly [Dataset, Dataset]
  readonly close: () => Promise<void>
}> {
  const columns = declareColumns(declaration)
  // Both datasets have the same key, as neighbours do: another would choose other rows of the people whom they share.
  const privacyUnit = await keyedUnit(declaration.privacyUnit, path.join(folder, 'person.key'))
  const fileOf = ({ id }: Pick<Dataset, 'id'>) => path.join(folder, `${id}.duckdb`)
  const engine = openDuckDbEngine({
    files: fileOf,
    connectionsPerDataset: 2,
    threads: 1,
    memoryLimit: '256MB',
    queryTimeoutMs: STATEMENT_TIMEOUT_MS,
    temporaryDirectory: path.join(folder, 'engine'),
  })
  const open = async (id: string, csv: string): Promise<Dataset> => {
    const sourcePath = path.join(folder, `${id}.csv`)
    await writeFile(sourcePath, csv)
    const counts = await ingest({
      sourcePath,
      format: 'csv',
      columns,
      privacyUnit,
      targetPath: fileOf({ id }),
    })
    const dataset = declareDataset({ ...declaration, id }, '1', counts.people ?? counts.rowsStored)
    await engine.open(dataset)
    return dataset
  }
  try {
    const datasets = [await open('pair', file), await open('pair-neighbour', neighbourFile)] as const
    return { engine, datasets, close: () => engine.close() }
  } catch (error) {
    await engine.close()
    throw error
  }
}
