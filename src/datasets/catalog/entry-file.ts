import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Dataset } from '../../core/dataset/dataset.ts'
import { type DatasetDeclaration, declareDataset } from '../../core/dataset/declaration.ts'
import type { CatalogEntry, RemovedEntry } from '../../core/dataset/entry.ts'
import { defined } from '../../privacy/defined.ts'
import { entry } from '../../privacy/must.ts'

/** The file of an entry in the dataset's folder. */
export const ENTRY_FILE = 'dataset.json'

/** Version of the stored form. Raised with every change. */
const FORMAT = 5

/**
 * Stored form of an entry, beside {@link FORMAT}: the original declaration and the facts that cannot be derived from it, or a note of its
 * removal.
 */
type StoredEntry =
  | (Omit<CatalogEntry, 'dataset'> & {
      readonly state: 'registered'
      readonly version: string
      readonly rows?: number
      readonly people?: number
    })
  | RemovedEntry

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

/** Returns the stored form of an entry as text. */
export function entryText(entry: CatalogEntry | RemovedEntry): string {
  const stored = { format: FORMAT, ...('state' in entry ? entry : storedForm(entry)) }
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

function storedForm({ dataset, ...facts }: CatalogEntry): StoredEntry {
  const { version, rows, people } = dataset
  return { state: 'registered', ...facts, version, ...defined({ rows, people }) }
}

/**
 * Parses the stored form of an entry.
 * @param file its name for messages
 * @throws Error unless the text is a valid entry of this release.
 */
export function parseEntry(file: string, text: string): CatalogEntry | RemovedEntry {
  const { format, ...stored } = parsed(file, text)
  if (format !== FORMAT)
    throw new Error(`${file} has format ${format}; this release of Sotto uses format ${FORMAT} only`)
  if (!['registered', 'removed'].includes(stored.state) || !/^[1-9]\d*$/.test(stored.version)) {
    throw new Error(`${file} is damaged: it has no known state or no valid version`)
  }
  if (stored.state === 'removed') return stored
  const { state: _, version, rows, people, ...facts } = stored
  return { ...facts, dataset: datasetOf(facts.declaration, facts.versions, rows ?? people) }
}

function parsed(file: string, text: string): StoredEntry & { readonly format: number } {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${file} is damaged: it is not JSON. Restore it from a backup of the data folder`)
  }
}

/**
 * Converts a declaration to the last version of a dataset, as {@link declareDataset} does.
 * @param versions all versions of the registration
 * @param units public number of privacy units
 */
export function datasetOf(
  declaration: DatasetDeclaration,
  versions: CatalogEntry['versions'],
  units: number | undefined,
): Dataset {
  const [first, last] = [entry(versions, 0), entry(versions, versions.length - 1)]
  return {
    ...declareDataset(declaration, last.version, units),
    ...(first === last ? {} : { firstVersion: first.version }),
    ...defined({ coverage: last.coverage }),
  }
}
