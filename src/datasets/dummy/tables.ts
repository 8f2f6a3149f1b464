import { rm } from 'node:fs/promises'
import path from 'node:path'
import type { Dataset } from '../../core/dataset/dataset.ts'
import { openDuckDbEngine } from '../../engines/duckdb/engine.ts'
import { ingest } from '../../engines/duckdb/ingestion/ingest.ts'
import { defined } from '../../privacy/defined.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { type DummyDeclaration, type DummySize, dummyKey } from './declaration.ts'
import type { DummyFileInput } from './text.ts'

/** Number of unused tables that are kept. */
const MOST_IDLE_TABLES = 4

/** Share of the machine of each table. The rows of the largest one fit into the memory. */
const LIMITS = { threads: 1, memoryLimit: '256MB', maxTemporaryDirectorySize: '1GB' } as const

/** Time limit for a statement over at most 100,000 rows. */
const STATEMENT_TIMEOUT_MS = 10_000

/** Facts of a table that plans depend on. */
interface MadeTable
  extends Pick<Dataset, 'id' | 'version' | 'source' | 'columns' | 'privacyUnit' | 'synthetic'> {
  /** The number of rows or people, which is public under `change-one`. */
  readonly units: Pick<Dataset, 'rows' | 'people'>
}

/**
 * Opens tables in a folder of their own, with an engine of their own. They are made when they are first used. Ids of
 * registered datasets have no colon, so that no table can be taken for one of them.
 * @param connections the number of tasks that query a table at the same time
 * @param write writes the rows of a table to a file
 */
export function openTables(
  directory: string,
  connections: number,
  write: (input: DummyFileInput) => Promise<void>,
) {
  const fileOf = ({ version }: Pick<Dataset, 'version'>) => path.join(directory, `${version}.duckdb`)
  const engine = openDuckDbEngine({
    ...LIMITS,
    files: fileOf,
    connectionsPerDataset: connections,
    queryTimeoutMs: STATEMENT_TIMEOUT_MS,
    temporaryDirectory: path.join(directory, 'engine'),
  })

  const make = async (version: string, declaration: DummyDeclaration, size: DummySize) => {
    const key = dummyKey(declaration, size)
    const table = { id: `dummy:${key}`, version }
    const sourcePath = path.join(directory, `${version}.csv`)
    try {
      await write({ declaration, size, format: 'source', file: sourcePath })
      const units = await ingestRows(key, declaration, sourcePath, fileOf(table))
      await engine.open(table)
      const source = { kind: 'population', ...size } as const
      return { ...table, ...declaration, source, synthetic: true, units }
    } finally {
      await rm(sourcePath, { force: true })
    }
  }
  const remove = async (table: MadeTable) => {
    await engine.closeDataset(table)
    await rm(fileOf(table), { force: true })
  }

  return {
    engine,
    /** Runs work that uses a table. */
    use: keepTables(make, remove),
    async close() {
      await engine.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A table that is made or was made. */
interface Table {
  readonly made: Promise<MadeTable>
  /** The number of tasks that use it. */
  users: number
}

/** Makes each table once for all tasks that use it, and keeps a few that are not in use. */
function keepTables(
  make: (version: string, declaration: DummyDeclaration, size: DummySize) => Promise<MadeTable>,
  remove: (table: MadeTable) => Promise<void>,
) {
  /** The tables by their keys, the most recently used last. */
  const tables = new Map<string, Table>()
  let versions = 0
  const makeNext = (declaration: DummyDeclaration, size: DummySize): Table => {
    versions += 1
    return { made: make(`table-${versions}`, declaration, size), users: 0 }
  }
  /** Removes the least recently used of the unused tables, beyond the number that is kept. */
  const removeIdle = (): void => {
    const idle = [...tables].filter(([, { users }]) => users === 0)
    for (const [key, { made }] of idle.slice(0, Math.max(0, idle.length - MOST_IDLE_TABLES))) {
      tables.delete(key)
      // A file that remains is removed with the folder.
      made.then(remove).catch(() => undefined)
    }
  }
  return async <Result>(
    declaration: DummyDeclaration,
    size: DummySize,
    work: (table: MadeTable) => Promise<Result>,
  ): Promise<Result> => {
    const key = dummyKey(declaration, size)
    const table = tables.get(key) ?? makeNext(declaration, size)
    tables.set(key, table)
    table.users += 1
    try {
      const made = await table.made.catch((error: unknown) => {
        if (tables.get(key) === table) tables.delete(key)
        throw error
      })
      return await work(made)
    } finally {
      table.users -= 1
      if (tables.get(key) === table) {
        tables.delete(key)
        tables.set(key, table)
      }
      removeIdle()
    }
  }
}

/**
 * Ingests made-up rows as those of a registered file.
 * @returns the number of privacy units
 */
async function ingestRows(
  key: string,
  { columns, privacyUnit }: DummyDeclaration,
  sourcePath: string,
  targetPath: string,
): Promise<MadeTable['units']> {
  // Made-up people need no secret. A fixed key keeps the same rows of a person each time.
  const unit = privacyUnit.kind === 'row' ? privacyUnit : { ...privacyUnit, key }
  try {
    const source = { sourcePath, targetPath, format: 'csv', columns } as const
    const { rowsStored, people } = await ingest({ ...source, privacyUnit: unit, limits: LIMITS })
    return privacyUnit.kind === 'row' ? { rows: rowsStored } : defined({ people })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // It would name columns, but the caller has sent no source.
    throw new Error('made-up rows do not fit their declaration', { cause: error })
  }
}
