import { constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import path from 'node:path'
import { csvDialect, type FileFormat } from '../../../core/dataset/dataset.ts'
import { DEFAULT_BOUNDS, requireBytes } from '../../../engines/duckdb/ingestion/bounds.ts'
import { writeDigested } from '../../../platform/files/durable-file.ts'
import { refuseField } from '../../../privacy/refusal.ts'
import { openUpload } from '../uploads.ts'
import type { SourceKind, SourceOfKind } from './source.ts'

/** A CSV or Parquet file below the data folder. */
export const fileSource: SourceKind<'file'> = {
  fixed: {},
  copy: async (source, { dataDirectory, copy, signal, bounds }) => {
    const handle = await openSourceFile(dataDirectory, source)
    try {
      requireBytes((await handle.stat()).size, { ...DEFAULT_BOUNDS, ...bounds })
      const digest = await writeDigested(handle.createReadStream({ autoClose: false }), copy, signal)
      const { format, csv, path: name } = source
      return { format, csv: format === 'csv' ? csvDialect(csv, name) : undefined, digest }
    } finally {
      await handle.close()
    }
  },
}

/** A file that the registering custodian uploaded. */
export const uploadSource: SourceKind<'upload'> = {
  fixed: {},
  copy: async ({ upload, format, csv }, { dataDirectory, copy, principal, signal }) => {
    const handle = await openUpload(dataDirectory, principal, upload)
    try {
      const digest = await writeDigested(handle.createReadStream({ autoClose: false }), copy, signal)
      return { format, csv, digest }
    } finally {
      await handle.close()
    }
  },
}

/**
 * Opens a source file below the data folder. The caller closes it.
 * @throws Refusal `source-refused` for a path that may not be read.
 */
export async function openSourceFile(
  dataDirectory: string,
  source: SourceOfKind<'file'>,
): Promise<FileHandle> {
  const located = await locateSource(dataDirectory, source)
  const handle = await open(located, OPEN_FLAGS).catch(() => {
    throw refuseSource('cannot be read')
  })
  try {
    await requireSameFile(handle, await locateSource(dataDirectory, source))
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** The characters of a folder or file name: they exclude separators, drive letters, URLs and patterns. */
const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9_. -]*$/

/** Extensions of the files of a format. */
const EXTENSIONS = {
  csv: { pattern: /\.(csv|tsv|txt)(\.gz)?$/, names: '.csv, .tsv or .txt, or one of these followed by .gz' },
  parquet: { pattern: /\.parquet$/, names: '.parquet' },
} as const satisfies Record<FileFormat, unknown>

/** Follows no link at the end of the path, and does not block on a named pipe. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Refuses another file than the one that was located: a folder may have been replaced by a link meanwhile. */
async function requireSameFile(handle: FileHandle, located: string): Promise<void> {
  const opened = await handle.stat({ bigint: true })
  const found = await lstat(located, { bigint: true }).catch(() => undefined)
  if (!opened.isFile() || opened.ino !== found?.ino || opened.dev !== found.dev) {
    throw refuseSource('changed while it was read')
  }
}

function refuseSource(rule: string) {
  return refuseField('source-refused', 'source.path', rule)
}

/**
 * Locates a source file below the data folder and returns its absolute path.
 *
 * The text is checked before the file system is read. Then every step down from the data folder must be a real
 * directory and the last one a regular file, so that no link leads out of the folder.
 *
 * @throws Refusal `source-refused`, before anything is opened.
 */
async function locateSource(dataDirectory: string, source: SourceOfKind<'file'>): Promise<string> {
  if (path.isAbsolute(source.path) || /^[A-Za-z]:/.test(source.path)) {
    throw refuseSource('must be relative to the data folder')
  }
  if (source.path.includes('://')) throw refuseSource('must be a file below the data folder, not a URL')
  const segments = source.path.split('/')
  if (segments.includes('..')) throw refuseSource('must not leave the data folder')
  if (!segments.every((segment) => SEGMENT.test(segment))) {
    throw refuseSource('may hold only letters, digits, spaces, "_", "-", "." and "/" between folder names')
  }
  // The extension keeps the service's own files (keys, ledger, ingested data) out of reach.
  const { pattern, names } = EXTENSIONS[source.format]
  if (!pattern.test(source.path)) throw refuseSource(`must end in ${names}`)

  let located = dataDirectory
  for (const [depth, segment] of segments.entries()) {
    located = path.join(located, segment)
    const status = await lstat(located).catch(() => undefined)
    if (status === undefined) throw refuseSource('names no file below the data folder')
    if (status.isSymbolicLink()) throw refuseSource('must not pass through a symbolic link')
    const last = depth === segments.length - 1
    if (last ? !status.isFile() : !status.isDirectory())
      throw refuseSource('names no file below the data folder')
  }
  return located
}
