import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Column, Dataset, DatasetVersion } from '../catalog/dataset.ts'
import { type DuckDbEngine, openDuckDbEngine } from '../engines/duckdb/engine.ts'
import { ingest } from '../engines/duckdb/ingest.ts'
import type { Engine } from '../engines/engine.ts'
import { Refusal } from '../privacy/refusal.ts'
import { type DummyColumn, type DummyDeclaration, type DummySize, dummyKey } from './declaration.ts'
import type { DummyFileInput } from './file.ts'

/** Facts of a table that plans depend on. */
export interface DummyTableFacts {
  readonly dataset: Pick<Dataset, 'id' | 'version' | 'source' | 'columns' | 'privacyUnit' | 'synthetic'>
  /** The number of rows or people, which is public under `change-one`. */
  readonly units: Pick<Dataset, 'rows' | 'people'>
}

/** The steps of making a table that others wait for. */
export interface TableSteps {
  /** Writes the rows to a file. */
  readonly write: (input: DummyFileInput) => Promise<void>
  /** Runs the task that stores the rows of the file in a table, once it may. */
  readonly store: <Result>(task: () => Promise<Result>) => Promise<Result>
}

/** Tables of made-up rows, made when they are first used. */
export interface DummyTables {
  /** Reads these tables and nothing else. */
  readonly engine: Engine
  /**
   * Runs work that uses a table.
   * @param steps make the table if there is none
   * @throws what the steps throw, and any error of the work
   */
  use<Result>(
    declaration: DummyDeclaration,
    size: DummySize,
    steps: TableSteps,
    work: (facts: DummyTableFacts) => Promise<Result>,
  ): Promise<Result>
  /** Closes and removes all tables. */
  close(): Promise<void>
}

/** Number of unused tables that are kept. */
const MOST_IDLE_TABLES = 4

/** Share of the machine of each table. The rows of the largest one fit into the memory. */
const LIMITS = { threads: 1, memoryLimit: '256MB', maxTemporaryDirectorySize: '1GB' } as const

/** Time limit for a statement over at most 100,000 rows. */
const STATEMENT_TIMEOUT_MS = 10_000

/** The folder of all tables, and the engine that reads them. */
interface TableFolder {
  readonly directory: string
  readonly engine: DuckDbEngine
  readonly fileOf: (table: Pick<DatasetVersion, 'version'>) => string
}

/** A table that is made or was made. */
interface Table {
  readonly facts: Promise<DummyTableFacts>
  /** The number of tasks that use it. */
  users: number
}

/**
 * Creates tables in a folder of their own, with an engine of their own. Ids of registered datasets have no colon, so that no
 * table can be taken for one of them.
 * @param connections the number of tasks that query a table at the same time
 */
export function createDummyTables(directory: string, connections: number): DummyTables {
  const fileOf = ({ version }: Pick<DatasetVersion, 'version'>) => path.join(directory, `${version}.duckdb`)
  const engine = openDuckDbEngine({
    ...LIMITS,
    files: fileOf,
    connectionsPerDataset: connections,
    queryTimeoutMs: STATEMENT_TIMEOUT_MS,
    temporaryDirectory: path.join(directory, 'engine'),
  })
  /** The tables by their keys, the most recently used last. */
  const tables = new Map<string, Table>()
  let made = 0

  const make = (key: string, declaration: DummyDeclaration, size: DummySize, steps: TableSteps) => {
    made += 1
    return makeTable({ directory, engine, fileOf }, `table-${made}`, { key, declaration, size }, steps)
  }

  const remove = async ({ facts }: Table): Promise<void> => {
    const made = await facts.catch(() => undefined)
    if (made === undefined) return
    await engine.closeDataset(made.dataset)
    await rm(fileOf(made.dataset), { force: true })
  }

  /** Removes the least recently used of the unused tables, beyond the number that is kept. */
  const removeIdle = (): void => {
    const idle = [...tables].filter(([, { users }]) => users === 0)
    for (const [key, table] of idle.slice(0, Math.max(0, idle.length - MOST_IDLE_TABLES))) {
      tables.delete(key)
      // A file that remains is removed with the folder.
      remove(table).catch(() => undefined)
    }
  }

  return {
    engine,
    async use(declaration, size, steps, work) {
      const key = dummyKey(declaration, size)
      const table = tables.get(key) ?? { facts: make(key, declaration, size, steps), users: 0 }
      tables.set(key, table)
      table.users += 1
      try {
        const facts = await table.facts.catch((error: unknown) => {
          if (tables.get(key) === table) tables.delete(key)
          throw error
        })
        return await work(facts)
      } finally {
        table.users -= 1
        if (tables.get(key) === table) {
          tables.delete(key)
          tables.set(key, table)
        }
        removeIdle()
      }
    },
    async close() {
      await engine.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Makes a table from a file of made-up rows, and removes the file. */
async function makeTable(
  { directory, engine, fileOf }: TableFolder,
  version: string,
  { key, declaration, size }: { key: string; declaration: DummyDeclaration; size: DummySize },
  { write, store }: TableSteps,
): Promise<DummyTableFacts> {
  const id = `dummy:${key}`
  const source = { kind: 'population', ...size } as const
  const sourcePath = path.join(directory, `${version}.csv`)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  try {
    await write({ declaration, size, format: 'csv', file: sourcePath })
    const columns = declaration.columns.map(columnOf)
    const units = await store(() => ingestRows(key, declaration, columns, sourcePath, fileOf({ version })))
    await engine.open({ id, version })
    const privacyUnit = unitOf(declaration)
    return { dataset: { id, version, source, columns, privacyUnit, synthetic: true }, units }
  } finally {
    await rm(sourcePath, { force: true })
  }
}

/**
 * Ingests made-up rows as those of a registered file.
 * @returns the number of privacy units
 */
async function ingestRows(
  key: string,
  { person }: DummyDeclaration,
  columns: readonly Column[],
  sourcePath: string,
  targetPath: string,
): Promise<DummyTableFacts['units']> {
  try {
    const { rowsStored, people } = await ingest({
      sourcePath,
      targetPath,
      format: 'csv',
      columns,
      // Made-up people need no secret. A fixed key keeps the same rows of a person each time.
      privacyUnit: person === undefined ? { kind: 'row' } : { kind: 'person', ...person, key },
      limits: LIMITS,
    })
    return person === undefined ? { rows: rowsStored } : people === undefined ? {} : { people }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // It would name columns, but the caller has sent no source.
    throw new Error('made-up rows do not fit their declaration', { cause: error })
  }
}

function unitOf({ person }: DummyDeclaration): Dataset['privacyUnit'] {
  return person === undefined ? { kind: 'row' } : { kind: 'person', ...person }
}

/** A column with declared facts. Made-up files spell dates and times as ISO 8601 in UTC, and all of their values fit. */
function columnOf(column: DummyColumn): Column {
  const invalidValue = { kind: 'refuse' } as const
  if (column.type === 'identifier') return { ...column, nullable: false, invalidValue }
  const { name, constantPerPerson, nullable } = column
  const facts = {
    name,
    nullable,
    invalidValue: nullable ? ({ kind: 'null' } as const) : invalidValue,
    ...(constantPerPerson ? { constantPerPerson: true } : {}),
  }
  switch (column.type) {
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp': {
      const { type, stepNano, lowerIndex, upperIndex, maxValues } = column
      const grid = {
        ...facts,
        ...{ stepNano, lowerIndex, upperIndex },
        ...(maxValues === undefined ? {} : { rankable: { maxValues } }),
      }
      if (type === 'integer' || type === 'number') return { ...grid, type }
      const dateFormat = 'YYYY-MM-DD'
      return type === 'date' ? { ...grid, type, dateFormat } : { ...grid, type, dateFormat, timeZone: 'UTC' }
    }
    case 'boolean':
      return { ...facts, type: 'boolean' }
    case 'category':
      return { ...facts, type: 'category', categories: column.categories }
    case 'string': {
      const { maxValues, maxLength } = column
      return maxValues === undefined || maxLength === undefined
        ? { ...facts, type: 'string' }
        : { ...facts, type: 'string', selectable: { maxValues, maxLength } }
    }
  }
}
