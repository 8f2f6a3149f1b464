import { createHash } from 'node:crypto'
import { constants, createWriteStream } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { refuseField } from '../privacy/refusal.ts'
import type { Source } from './dataset.ts'

/** Letters, digits and a few marks: no separator tricks, no drive letters, no URL, nothing a reader would expand. */
const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9_. -]*$/

/** No link at the end of the path, and no waiting for the other end of what turns out to be a pipe. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Copy a source file to where only the service writes, so that what was checked, what is digested and what is read are
 * the same bytes, whatever happens to the source meanwhile.
 *
 * @param copy an absolute path; a file there is replaced
 * @returns the SHA-256 of the bytes, hexadecimal. It tells the private file apart from any guess at it: keep it private.
 * @throws Refusal `source-refused`, before anything is opened, where the path is not that of a file below the data folder.
 */
export async function copySource(dataDirectory: string, source: Source, copy: string): Promise<string> {
  const located = await locateSource(dataDirectory, source)
  const handle = await open(located, OPEN_FLAGS).catch(() => {
    throw refuseSource('cannot be read')
  })
  try {
    await requireSameFile(handle, await locateSource(dataDirectory, source))
    const hash = createHash('sha256')
    await pipeline(
      handle.createReadStream({ autoClose: false }),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk)
          yield chunk
        }
      },
      createWriteStream(copy, { mode: 0o600 }),
    )
    return hash.digest('hex')
  } finally {
    await handle.close()
  }
}

/** A folder on the way may have been exchanged for a link between the look and the opening: then this is another file. */
async function requireSameFile(handle: FileHandle, located: string): Promise<void> {
  const opened = await handle.stat({ bigint: true })
  const there = await lstat(located, { bigint: true }).catch(() => undefined)
  if (!opened.isFile() || opened.ino !== there?.ino || opened.dev !== there.dev) {
    throw refuseSource('changed while it was looked at')
  }
}

function refuseSource(rule: string) {
  return refuseField('source-refused', 'source.path', rule)
}

/**
 * The absolute path of a source file, once it is certain that it lies below the data folder.
 *
 * The text is checked before anything is touched; then each step down from the folder must be a real directory and
 * the last a regular file, so that no link leads elsewhere.
 *
 * @throws Refusal `source-refused`, before anything is opened.
 */
async function locateSource(dataDirectory: string, source: Source): Promise<string> {
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
  if (!source.path.endsWith(`.${source.format}`)) throw refuseSource(`must end in .${source.format}`)

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
