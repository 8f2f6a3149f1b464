import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { apiKey } from '../../../../schemas/service/keys.ts'
import { writePrivately } from '../../../platform/files/durable-file.ts'
import { FileLockTimeout, withFileLock } from '../../../platform/files/file-lock.ts'
import { createWritableFolder } from '../../../platform/files/writable-folder.ts'

const digest = z.string().regex(/^[0-9a-f]{64}$/)
const time = z.iso.datetime()

/** Verifier of SCRAM-SHA-256; absent for texts of before it was stored. */
const scram = z.strictObject({ storedKey: z.base64(), serverKey: z.base64() }).optional()

const storedKey = apiKey.omit({ earlierValidUntil: true }).extend({
  sha256: digest,
  scram,
  /** Digests of previous texts, with the times until which they are valid. */
  earlier: z.array(z.strictObject({ sha256: digest, scram, validUntil: time })).readonly(),
})

const act = z.strictObject({
  /** Identifies the act while it waits to be recorded. */
  id: z.string(),
  kind: z.enum(['key-created', 'key-rotated', 'key-deleted']),
  at: time,
  principal: z.string(),
  subject: z.string(),
  facts: z.record(z.string(), z.union([z.string(), z.number(), z.array(z.string()).readonly()])),
})

/** Version of key files. Raised with every change. */
const VERSION = 2

const keyFile = z.strictObject({
  version: z.literal(VERSION),
  keys: z.array(storedKey).readonly(),
  /** Every name that ever had a key: its role, which is fixed, and the number of keys that it has had. */
  names: z.record(apiKey.shape.name, z.strictObject({ role: apiKey.shape.role, keys: z.int().min(1) })),
  /** Changes that are not in the ledger's chain of administrative acts yet. */
  acts: z.array(act).readonly(),
})

/** Contents of a key file. */
export type KeyFile = z.output<typeof keyFile>
/** Entry of a key file. */
export type StoredKey = KeyFile['keys'][number]
/** Change of the keys, for the chain of administrative acts. It contains neither a key nor a digest. */
export type KeyAct = KeyFile['acts'][number]

/** The keys cannot be read or changed at present. The message contains no digest. */
export class KeyFileFault extends Error {}

/** The keys before the first one. */
export const NO_KEYS: KeyFile = { version: VERSION, keys: [], names: {}, acts: [] }

/**
 * Time after a change of a file within which another change may have the same time stamp. A copy that was read within it is
 * read again.
 */
const STAMP_MS = 2_000

interface Copy {
  readonly stamp: string
  readonly text: string
  readonly contents: KeyFile
  readonly settled: boolean
}

/** New contents of a key file, and a result for the caller. */
export interface Change<Result> {
  readonly contents: KeyFile
  readonly result: Result
}

/** The stored keys: the file `keys.json` of a data folder, or a document in a database. */
export interface KeyFileAccess {
  /**
   * Returns the contents as they are when this is called, or later. Unchanged contents are the same object.
   * @throws KeyFileFault if the keys are missing or damaged; DocumentsFault if the database does not respond.
   */
  read(): Promise<KeyFile>
  /** True if there are stored keys. */
  exists(): Promise<boolean>
  /**
   * Replaces the contents while no other process does the same, and returns the result of the change. The new contents
   * are durable when this resolves. Nothing is written if the change throws or returns the contents that it was given.
   */
  update<Result>(change: (contents: KeyFile) => Change<Result> | Promise<Change<Result>>): Promise<Result>
  /**
   * Runs the task that records acts while no other process does the same. Changes of the keys do not wait for it.
   */
  whileDelivering(task: () => Promise<void>): Promise<void>
}

/**
 * Gives access to the key file of a data folder, which several processes may share. Reads in one turn of the event loop
 * share one look at the file. See decision 32.
 */
export function openKeyFile(dataDirectory: string): KeyFileAccess {
  const file = path.join(dataDirectory, 'keys.json')
  let copy: Copy | undefined
  /** The contents as they were seen in this turn of the event loop. A request that arrives later is in a later turn. */
  let seen: KeyFile | undefined

  function read(): KeyFile {
    if (seen !== undefined) return seen
    const found = readIfChanged(file, copy)
    if (found === undefined) throw new KeyFileFault(`${file} is missing`)
    copy = found
    seen = found.contents
    setImmediate(forget)
    return seen
  }

  function forget(): void {
    seen = undefined
  }

  function exists(): boolean {
    copy = readIfChanged(file, copy)
    return copy !== undefined
  }

  return {
    read: async () => read(),
    exists: async () => exists(),
    whileDelivering: (task) => withFileLock(path.join(dataDirectory, 'keys-acts.lock'), task),
    async update(change) {
      await createWritableFolder(dataDirectory)
      return whileLocked(path.join(dataDirectory, 'keys.lock'), async () => {
        copy = undefined
        forget()
        const before = exists() ? read() : NO_KEYS
        const { contents, result } = await change(before)
        if (contents !== before) await writePrivately(file, keyFileText(contents))
        forget()
        return result
      })
    },
  }
}

/** Returns the text of a key file, validated as at reading, so that no change can write one that cannot be read. */
export function keyFileText(contents: KeyFile): string {
  return `${JSON.stringify(keyFile.parse(contents), null, 2)}\n`
}

/** @throws KeyFileFault if another process holds the lock too long */
async function whileLocked<Result>(lockFile: string, task: () => Promise<Result>): Promise<Result> {
  try {
    return await withFileLock(lockFile, task)
  } catch (error) {
    if (error instanceof FileLockTimeout) throw new KeyFileFault(error.message)
    throw error
  }
}

/** Returns the last copy, or a new one if the file may have changed; `undefined` if there is no file. */
function readIfChanged(file: string, last: Copy | undefined): Copy | undefined {
  let descriptor: number
  try {
    // Not stat: network file systems ask the server only when a file is opened.
    descriptor = openSync(file, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  try {
    const { ino, size, mtimeNs, ctimeNs, mtimeMs } = fstatSync(descriptor, { bigint: true })
    const stamp = [ino, size, mtimeNs, ctimeNs].join(' ')
    if (last?.settled && last.stamp === stamp) return last
    const settled = Date.now() - Number(mtimeMs) > STAMP_MS
    const text = readFileSync(descriptor, 'utf8')
    const contents = last?.text === text ? last.contents : parseKeyFile(file, text)
    return { stamp, text, contents, settled }
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Parses a key file.
 * @param file its name for messages
 * @throws KeyFileFault if it is damaged, or of another version.
 */
export function parseKeyFile(file: string, text: string): KeyFile {
  const damaged = (reason: string) =>
    new KeyFileFault(`${file} is damaged: ${reason}. Restore it from a copy; see docs/operations.md`)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw damaged('it is not JSON')
  }
  if (typeof json === 'object' && json !== null && 'version' in json && json.version !== VERSION)
    throw new KeyFileFault(
      `${file} has version ${json.version}; this release of Sotto uses version ${VERSION} only`,
    )
  const parsed = keyFile.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw damaged(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`)
}
