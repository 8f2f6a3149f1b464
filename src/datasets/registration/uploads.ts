import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import type { FileFormat } from '../../core/dataset/dataset.ts'
import { PARQUET_MAGIC } from '../../engines/duckdb/ingestion/formats/parquet.ts'
import { isDiskFull } from '../../engines/duckdb/instance.ts'
import { publishFile, writeDigested, writePrivately } from '../../platform/files/durable-file.ts'
import type { FreeSpace } from '../../platform/files/free-space.ts'
import { Refusal, refuseField } from '../../privacy/refusal.ts'

/** A file that a custodian uploaded. */
export interface Upload {
  /** 128 random bits in hexadecimal. */
  readonly id: string
  /** The name that the client gave. It is shown and never used as a path. */
  readonly name: string
  readonly bytes: number
  readonly format: FileFormat
  /** ISO 8601, UTC. */
  readonly uploadedAt: string
  /** The time from which the upload cannot be used and is deleted. ISO 8601, UTC. */
  readonly expiresAt: string
}

/** Uploads of all principals. Each principal reaches only its own. */
export interface Uploads {
  /**
   * Stores a file.
   * @throws Refusal `upload-too-large`, `quota-exceeded` or `unavailable`; then nothing is left behind.
   */
  receive(principal: string, file: ReceivedFile): Promise<Upload>
  /** Returns the uploads of a principal, newest first. */
  list(principal: string): Promise<readonly Upload[]>
  /**
   * Deletes an upload.
   * @throws Refusal `unknown-source`
   */
  delete(principal: string, id: string): Promise<void>
  /** Deletes expired uploads and what interrupted ones left behind. */
  sweep(): Promise<void>
  /** Ends the regular deletion of expired uploads. */
  close(): void
}

/** A file that arrives. */
export interface ReceivedFile {
  /** The name that the client gave. */
  readonly name: string
  readonly chunks: AsyncIterable<Buffer>
}

/** Location and limits of uploads. */
export interface UploadOptions {
  readonly dataDirectory: string
  /** True if other processes may use the data folder. */
  readonly shared: boolean
  /** Largest size of one file. */
  readonly maxBytes: number
  /** Largest size of all files of a principal together. */
  readonly totalBytes: number
  /** Time after which an upload is deleted. */
  readonly keepMs: number
  readonly disk: Pick<FreeSpace, 'isSufficient'>
  /** Receives failures of the regular deletion. */
  readonly onError: (error: unknown) => void
}

/**
 * Folder of all uploads below the data folder. The path of a `file` source cannot contain it, because the names of
 * its folders do not begin with a dot.
 */
const FOLDER = '.uploads'

/** Largest number of uploads of a principal. */
const MOST_UPLOADS = 100

/** Number of bytes after which the space is checked again while a file arrives. */
const CHECK_EVERY_BYTES = 4 * 2 ** 20

/** Time after which a file that is no longer written to belongs to an interrupted upload. */
const ABANDONED_MS = 600_000

const SWEEP_EVERY_MS = 600_000

/** Follows no link. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW

/** Opens the folder of uploads and deletes expired ones at once and then regularly. See decision 37. */
export async function openUploads(options: UploadOptions): Promise<Uploads> {
  const { dataDirectory, keepMs } = options
  const root = path.join(dataDirectory, FOLDER)
  await mkdir(root, { recursive: true, mode: 0o700 })
  const sweep = (abandonedMs: number) => sweepFolder(root, abandonedMs)
  await shortenKeepTimes(root, keepMs)
  // Without other processes, all unfinished files are those of a process that has ended.
  await sweep(options.shared ? ABANDONED_MS : 0)
  const timer = setInterval(() => sweep(ABANDONED_MS).catch(options.onError), SWEEP_EVERY_MS)
  timer.unref()
  return {
    receive: (principal, file) => receive(options, folderOf(dataDirectory, principal), file),
    async list(principal) {
      const uploads = await readUploads(folderOf(dataDirectory, principal))
      return uploads.filter(isCurrent).sort((a, b) => (a.uploadedAt < b.uploadedAt ? 1 : -1))
    },
    async delete(principal, id) {
      const folder = folderOf(dataDirectory, principal)
      if (!isUploadId(id) || !(await remove(folder, id))) throw unknownSource(id)
    },
    sweep: () => sweep(ABANDONED_MS),
    close: () => clearInterval(timer),
  }
}

/**
 * Opens the file of an upload. The caller closes it.
 * @throws Refusal `source-refused` if the principal has no such upload.
 */
export async function openUpload(dataDirectory: string, principal: string, id: string): Promise<FileHandle> {
  await requireUsable(dataDirectory, principal, id)
  return open(filesOf(folderOf(dataDirectory, principal), id).rows, OPEN_FLAGS).catch(() => {
    throw refuseUpload()
  })
}

/**
 * Returns the name that the client gave for an upload.
 * @throws Refusal `source-refused` if the principal has no such upload.
 */
export async function uploadName(dataDirectory: string, principal: string, id: string): Promise<string> {
  return (await requireUsable(dataDirectory, principal, id)).name
}

async function requireUsable(dataDirectory: string, principal: string, id: string): Promise<StoredFacts> {
  const { facts } = filesOf(folderOf(dataDirectory, principal), id)
  const stored = isUploadId(id) ? await readFacts(facts) : undefined
  if (stored === undefined || !isCurrent(stored)) throw refuseUpload()
  return stored
}

function refuseUpload(): Refusal {
  const rule = 'must be the id of one of your uploads that has not expired'
  return refuseField('source-refused', 'source.upload', rule)
}

/** A time as `Date.toISOString` writes it. */
const isoTime = z.iso.datetime({ precision: 3 })

/** Facts of an upload as they are stored. */
const storedFacts = z.object({
  name: z.string(),
  bytes: z.int(),
  format: z.enum(['csv', 'parquet']),
  uploadedAt: isoTime,
  expiresAt: isoTime,
})
type StoredFacts = Omit<Upload, 'id'>

/** Folder of one principal. A digest takes the place of the name, which may have any characters. */
function folderOf(dataDirectory: string, principal: string): string {
  return path.join(dataDirectory, FOLDER, createHash('sha256').update(principal).digest('hex'))
}

function filesOf(folder: string, id: string) {
  return {
    partial: path.join(folder, `${id}.partial`),
    rows: path.join(folder, `${id}.rows`),
    facts: path.join(folder, `${id}.json`),
  }
}

function isUploadId(id: string): boolean {
  return /^[0-9a-f]{32}$/.test(id)
}

async function receive(options: UploadOptions, folder: string, file: ReceivedFile): Promise<Upload> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await requireSpace(options, folder)
  const id = randomBytes(16).toString('hex')
  const { partial, rows, facts } = filesOf(folder, id)
  try {
    const start: number[] = []
    let bytes = 0
    const limited = async function* () {
      let checkedBytes = 0
      for await (const chunk of file.chunks) {
        bytes += chunk.length
        if (bytes > options.maxBytes) throw uploadTooLarge(options.maxBytes)
        if (start.length < PARQUET_MAGIC.length) start.push(...chunk.subarray(0, PARQUET_MAGIC.length))
        yield chunk
        if (bytes - checkedBytes < CHECK_EVERY_BYTES) continue
        checkedBytes = bytes
        await requireSpace(options, folder)
      }
    }
    await writeDigested(limited(), partial)
    if (bytes === 0) throw refuseField('invalid-request', 'file', 'must not be empty')
    // Files of uploads that end at the same time count for each of them, so that all together stay within the limit.
    await requireSpace(options, folder)
    await publishFile(partial, rows)
    const now = Date.now()
    const format = Buffer.from(start).toString('latin1').startsWith(PARQUET_MAGIC) ? 'parquet' : 'csv'
    const stored: StoredFacts = {
      name: shownName(file.name),
      bytes,
      format,
      uploadedAt: new Date(now).toISOString(),
      expiresAt: new Date(now + options.keepMs).toISOString(),
    }
    await writePrivately(facts, JSON.stringify(stored))
    return { id, ...stored }
  } catch (error) {
    for (const name of [partial, rows, facts, `${facts}.partial`]) await rm(name, { force: true })
    if (isDiskFull(error)) throw diskFull()
    throw error
  }
}

/** Longest shown name, in characters. */
const LONGEST_NAME = 200

/** Returns the client's name for a file without folders and without characters that are not printable. */
function shownName(name: string): string {
  const last = name.replace(/^.*[/\\]/s, '')
  const printable = last.normalize('NFC').replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '')
  return [...printable].slice(0, LONGEST_NAME).join('').trim() || 'file'
}

/** @throws Refusal if the disk is nearly full, or the files of a principal reach their limits. */
async function requireSpace({ disk, totalBytes }: UploadOptions, folder: string): Promise<void> {
  if (!(await disk.isSufficient())) throw diskFull()
  const names = await readdir(folder)
  const sizes = await Promise.all(
    names.map((name) => stat(path.join(folder, name)).catch(() => ({ size: 0 }))),
  )
  const used = sizes.reduce((sum, { size }) => sum + size, 0)
  const uploads = new Set(names.map((name) => name.split('.')[0])).size
  if (used <= totalBytes && uploads <= MOST_UPLOADS) return
  throw new Refusal(
    'quota-exceeded',
    `Your uploads may have ${totalBytes} bytes together, and there may be ${MOST_UPLOADS} of them. Delete some of them ` +
      'with DELETE /v1/sources/{source}.',
  )
}

async function readUploads(folder: string): Promise<Upload[]> {
  const names = await readdir(folder).catch(() => [])
  const ids = names.flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : []))
  const uploads = await Promise.all(
    ids.map(async (id) => {
      const stored = await readFacts(filesOf(folder, id).facts)
      return stored === undefined ? [] : [{ id, ...stored }]
    }),
  )
  return uploads.flat()
}

/** Applies a shorter time of the configuration to the uploads that are stored. */
async function shortenKeepTimes(root: string, keepMs: number): Promise<void> {
  for (const principal of await readdir(root)) {
    const folder = path.join(root, principal)
    for (const { id, ...stored } of await readUploads(folder)) {
      const expiresAt = new Date(Date.parse(stored.uploadedAt) + keepMs).toISOString()
      if (expiresAt < stored.expiresAt)
        await writePrivately(filesOf(folder, id).facts, JSON.stringify({ ...stored, expiresAt }))
    }
  }
}

/** Returns the facts of an upload; undefined if there is none or its file is damaged. */
async function readFacts(file: string): Promise<StoredFacts | undefined> {
  try {
    return storedFacts.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return undefined
  }
}

function isCurrent({ expiresAt }: StoredFacts): boolean {
  return Date.parse(expiresAt) > Date.now()
}

/** Removes an upload. Its facts go first, because an upload without facts does not exist. */
async function remove(folder: string, id: string): Promise<boolean> {
  const { facts, rows } = filesOf(folder, id)
  const existed = (await readFacts(facts)) !== undefined
  for (const name of [facts, rows]) await rm(name, { force: true })
  return existed
}

async function sweepFolder(root: string, abandonedMs: number): Promise<void> {
  for (const principal of await readdir(root)) {
    const folder = path.join(root, principal)
    const uploads = await readUploads(folder)
    for (const upload of uploads) if (!isCurrent(upload)) await remove(folder, upload.id)
    const known = new Set(uploads.filter(isCurrent).flatMap(({ id }) => [`${id}.json`, `${id}.rows`]))
    for (const name of await readdir(folder)) {
      if (known.has(name)) continue
      const file = path.join(folder, name)
      const written = await stat(file).catch(() => undefined)
      if (written !== undefined && Date.now() - written.mtimeMs >= abandonedMs)
        await rm(file, { force: true })
    }
  }
}

function unknownSource(id: string): Refusal {
  return new Refusal('unknown-source', `There is no upload ${id}. GET /v1/sources lists your uploads.`)
}

function uploadTooLarge(maxBytes: number): Refusal {
  const detail = `The file is larger than ${maxBytes} bytes. Ask the operator to place it below the data folder, or to raise SOTTO_UPLOAD_MAX_BYTES.`
  return new Refusal('upload-too-large', detail)
}

function diskFull(): Refusal {
  return new Refusal('unavailable', 'The disk has too little free space for uploads. Ask the operator.')
}
