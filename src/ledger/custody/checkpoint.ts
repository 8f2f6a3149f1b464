import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { writePrivately } from '../../platform/files/durable-file.ts'
import type { SoundVerification } from '../protocol/verifier/verifier.ts'

/*
 * The results of the last verification of each dataset, from which the next start continues. The file is authenticated
 * by a key beside it. That detects damage and files of other folders; a person who can read the key can also write the
 * ledger itself, and is detected by the complete verification and by heads that were published.
 */

/** Results of verifications, by dataset. */
export type Checkpoint = ReadonlyMap<string, SoundVerification>

const LAYOUT = 1
const KEY_BYTES = 32

function checkpointFile(dataDirectory: string): string {
  return path.join(dataDirectory, 'checkpoint.json')
}

function keyFile(dataDirectory: string): string {
  return path.join(dataDirectory, 'checkpoint.key')
}

/** Reads the checkpoint in a data folder; `undefined` if there is none, or if it is damaged or not authentic. */
export async function readCheckpoint(dataDirectory: string): Promise<Checkpoint | undefined> {
  try {
    const key = Buffer.from(await readFile(keyFile(dataDirectory), 'utf8'), 'hex')
    if (key.length !== KEY_BYTES) return undefined
    const { mac, text } = JSON.parse(await readFile(checkpointFile(dataDirectory), 'utf8'))
    const [given, expected] = [Buffer.from(String(mac), 'hex'), macOf(key, String(text))]
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
    const { layout, results } = JSON.parse(String(text), revived)
    return layout === LAYOUT ? new Map(results) : undefined
  } catch {
    return undefined
  }
}

/** Writes the checkpoint of a data folder, and its key if there is none. */
export async function writeCheckpoint(dataDirectory: string, checkpoint: Checkpoint): Promise<void> {
  const text = JSON.stringify({ layout: LAYOUT, results: [...checkpoint] }, spelled)
  const mac = macOf(await openKey(keyFile(dataDirectory)), text).toString('hex')
  await writePrivately(checkpointFile(dataDirectory), `${JSON.stringify({ mac, text })}\n`)
}

/** Removes the checkpoint of a data folder, so that the next start verifies everything. */
export async function removeCheckpoint(dataDirectory: string): Promise<void> {
  await rm(checkpointFile(dataDirectory), { force: true })
}

async function openKey(file: string): Promise<Buffer> {
  const found = Buffer.from(await readFile(file, 'utf8').catch(() => ''), 'hex')
  if (found.length === KEY_BYTES) return found
  const key = randomBytes(KEY_BYTES)
  await writePrivately(file, key.toString('hex'))
  return key
}

function macOf(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** Spells a bigint, which JSON does not have, as `{"bigint": "1"}`. */
function spelled(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? { bigint: value.toString() } : value
}

function revived(_name: string, value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'bigint' in value
    ? BigInt(String(value.bigint))
    : value
}
