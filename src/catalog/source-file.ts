import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { refuseField } from '../privacy/refusal.ts'
import type { Source } from './dataset.ts'

/** Letters, digits and a few marks: no separator tricks, no drive letters, no URL, nothing a reader would expand. */
const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9_. -]*$/

/**
 * The absolute path of a source file, once it is certain that it lies below the data folder.
 *
 * The text is checked before anything is touched; then each step down from the folder must be a real directory and
 * the last a regular file, so that no link leads elsewhere.
 *
 * @throws Refusal `source-refused`, before anything is opened.
 */
export async function locateSource(dataDirectory: string, source: Source): Promise<string> {
  const refuse = (rule: string) => refuseField('source-refused', 'source.path', rule)
  if (path.isAbsolute(source.path) || /^[A-Za-z]:/.test(source.path)) {
    throw refuse('must be relative to the data folder')
  }
  if (source.path.includes('://')) throw refuse('must be a file below the data folder, not a URL')
  const segments = source.path.split('/')
  if (segments.includes('..')) throw refuse('must not leave the data folder')
  if (!segments.every((segment) => SEGMENT.test(segment))) {
    throw refuse('may hold only letters, digits, spaces, "_", "-", "." and "/" between folder names')
  }
  // The extension keeps the service's own files (keys, ledger, ingested data) out of reach.
  if (!source.path.endsWith(`.${source.format}`)) throw refuse(`must end in .${source.format}`)

  let located = dataDirectory
  for (const [depth, segment] of segments.entries()) {
    located = path.join(located, segment)
    const status = await lstat(located).catch(() => undefined)
    if (status === undefined) throw refuse('names no file below the data folder')
    if (status.isSymbolicLink()) throw refuse('must not pass through a symbolic link')
    const last = depth === segments.length - 1
    if (last ? !status.isFile() : !status.isDirectory()) throw refuse('names no file below the data folder')
  }
  return located
}

/** SHA-256 of a file's bytes, hexadecimal. */
export async function digestFile(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
