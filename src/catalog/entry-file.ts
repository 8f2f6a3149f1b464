import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { writePrivately } from '../files/durable-file.ts'
import type { Neighbours } from '../privacy/neighbours.ts'
import type { CatalogEntry } from './catalog.ts'
import type { Dataset, Source } from './dataset.ts'
import {
  type ColumnDeclaration,
  type DatasetDeclaration,
  declareDataset,
  defaultDeclarations,
} from './declaration.ts'

/** The file of an entry in the dataset's folder. */
export const ENTRY_FILE = 'dataset.json'

/**
 * Stored form of an entry: the original declaration and the facts that cannot be derived from it, or a note of its
 * removal.
 */
type StoredEntry =
  | {
      readonly state: 'registered'
      readonly declaration: StoredDeclaration
      readonly budget: CatalogEntry['budget']
      readonly version: string
      readonly rows?: number
      readonly people?: number
      readonly registeredAt: string
      /** Absent in entries of earlier releases: the present version is the only one. */
      readonly versions?: CatalogEntry['versions']
      readonly sourceDigest: string
      readonly ingestion?: CatalogEntry['ingestion']
      readonly tableColumns?: CatalogEntry['tableColumns']
    }
  | RemovedEntry

/**
 * A declaration of this or an earlier release. The first release had only files, one accounting and no sharing; timing,
 * the failure limit and limits on queries came later.
 */
type StoredDeclaration = Omit<DatasetDeclaration, 'source' | LaterDeclarations> &
  Partial<Pick<DatasetDeclaration, LaterDeclarations>> & {
    readonly source: Source | Omit<Extract<Source, { kind: 'file' }>, 'kind'>
  }

type LaterDeclarations = 'accounting' | 'sharing' | 'timing' | 'failureLimit' | 'queryLimits'

/** Facts of a removed registration that its remaining budget depends on. */
export interface RemovedEntry {
  readonly state: 'removed'
  readonly version: string
  /** Absent if an earlier release removed the dataset. */
  readonly neighbours?: Neighbours
  /** Absent if an earlier release removed the dataset. */
  readonly synthetic?: boolean
  /** SHA-256 of the source. Absent if the service generated it, or if an earlier release removed the dataset. */
  readonly sourceDigest?: string
}

/**
 * Reads the entry in a dataset's folder; `undefined` if there is none.
 * @throws Error for a damaged entry.
 */
export async function readEntry(folder: string): Promise<CatalogEntry | RemovedEntry | undefined> {
  const file = path.join(folder, ENTRY_FILE)
  try {
    return parseEntry(file, await readFile(file, 'utf8'))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Writes the entry of a dataset, durably. */
export function writeEntry(folder: string, entry: CatalogEntry | RemovedEntry): Promise<void> {
  return writePrivately(path.join(folder, ENTRY_FILE), entryText(entry))
}

/** Returns the stored form of an entry as text. */
export function entryText(entry: CatalogEntry | RemovedEntry): string {
  const stored = 'state' in entry ? entry : storedForm(entry)
  return `${JSON.stringify(stored, null, 2)}\n`
}

/**
 * A text that changes whenever the entry in a dataset's folder is written.
 * @throws Error `ENOENT` if there is no entry.
 */
export async function entryStamp(folder: string): Promise<string> {
  const { mtimeNs, ino } = await stat(path.join(folder, ENTRY_FILE), { bigint: true })
  return `${ino} ${mtimeNs}`
}

/** True for the error of a file that does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

function storedForm({
  declaration,
  budget,
  dataset: { version, rows, people },
  registeredAt,
  versions,
  sourceDigest,
  ingestion,
  tableColumns,
}: CatalogEntry): StoredEntry {
  const facts = { declaration, budget, version, registeredAt, versions, sourceDigest }
  return {
    state: 'registered',
    ...facts,
    ...(rows === undefined ? {} : { rows }),
    ...(people === undefined ? {} : { people }),
    ...(ingestion === undefined ? {} : { ingestion }),
    ...(tableColumns === undefined ? {} : { tableColumns }),
  }
}

/**
 * Parses the stored form of an entry, of this or an earlier release.
 * @param file its name for messages
 * @throws Error unless the text is a valid entry.
 */
export function parseEntry(file: string, text: string): CatalogEntry | RemovedEntry {
  const stored = JSON.parse(text) as StoredEntry
  if (!['registered', 'removed'].includes(stored.state) || !/^[1-9]\d*$/.test(stored.version)) {
    throw new Error(`${file} is damaged: it has no known state or no valid version`)
  }
  if (stored.state === 'removed') return stored
  const { budget, version, rows, people, registeredAt, sourceDigest, ingestion, tableColumns } = stored
  const { source } = stored.declaration
  const declaration: DatasetDeclaration = {
    accounting: 'basic',
    sharing: false,
    ...defaultDeclarations(stored.declaration),
    ...stored.declaration,
    columns: stored.declaration.columns.map(withCheckedLimits),
    source: 'kind' in source ? source : { kind: 'file', ...source },
  }
  const units = { ...(rows === undefined ? {} : { rows }), ...(people === undefined ? {} : { people }) }
  const { versions = [{ version, publishedAt: registeredAt, ...units }] } = stored
  const dataset = datasetOf(declaration, version, rows ?? people, versions[0]?.version)
  return {
    ...{ declaration, budget, dataset, registeredAt, versions, sourceDigest },
    ...(ingestion === undefined ? {} : { ingestion }),
    ...(tableColumns === undefined ? {} : { tableColumns }),
  }
}

/**
 * Converts a declaration to a version of a dataset, as {@link declareDataset} does.
 * @param firstVersion number of the first version of the registration
 */
export function datasetOf(
  declaration: DatasetDeclaration,
  version: string,
  units: number | undefined,
  firstVersion: string | undefined,
): Dataset {
  const dataset = declareDataset(declaration, version, units)
  return firstVersion === undefined || firstVersion === version ? dataset : { ...dataset, firstVersion }
}

/**
 * Returns a stored column as queries may use it. An earlier release stored `selectable: true` and did not check the
 * number and the length of the values, so that a query over them could fail for their size: the column is then not
 * selectable until the dataset is registered again.
 */
function withCheckedLimits(column: ColumnDeclaration): ColumnDeclaration {
  if (column.type !== 'string' || column.selectable !== true) return column
  const { selectable: _, ...unchecked } = column
  return unchecked
}
