import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { writePrivately } from '../files/durable-file.ts'
import { createWritableFolder } from '../files/writable-folder.ts'
import type { Authenticator } from './authenticator.ts'
import { type Principal, ROLES, type Role } from './principal.ts'

/**
 * Identifies the principal of an API key.
 *
 * Keys are 256 random bits, so a plain SHA-256 is sufficient for storing them. The digest of a presented key is
 * compared with every stored digest in constant time, so the duration reveals nothing about either.
 */
export type KeyRing = Authenticator

interface StoredKey extends Principal {
  /** SHA-256 of the key, hexadecimal. */
  readonly sha256: string
}

const KEY_PREFIX = 'sotto_'

/** Opens the key ring of a data folder; `undefined` if the folder has none yet. */
export function openKeyRing(dataDirectory: string): KeyRing | undefined {
  const stored = readKeys(dataDirectory)
  if (stored === undefined) return undefined
  const digests = stored.map(({ sha256, ...principal }) => ({
    principal,
    digest: Buffer.from(sha256, 'hex'),
  }))
  return {
    async authenticate(key) {
      const presented = digestOf(key)
      let found: Principal | undefined
      for (const { principal, digest } of digests) {
        if (timingSafeEqual(presented, digest)) found = principal
      }
      return found
    },
    hasAnalyst: async (name) => stored.some((key) => key.role === 'analyst' && key.name === name),
  }
}

/**
 * Creates a key for a new principal and adds its digest to the data folder's key ring.
 *
 * @returns the key, which is stored nowhere else.
 * @throws RangeError if the name is taken, or contains characters other than lower-case letters, digits and "-".
 */
export async function createKey(dataDirectory: string, principal: Principal): Promise<string> {
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(principal.name)) {
    throw new RangeError('a name must be 1 to 63 lower-case letters, digits and "-", starting with a letter')
  }
  await createWritableFolder(dataDirectory)
  const stored = readKeys(dataDirectory) ?? []
  if (stored.some((key) => key.name === principal.name))
    throw new RangeError(`the name ${principal.name} is taken`)
  const key = KEY_PREFIX + randomBytes(32).toString('base64url')
  const entry: StoredKey = { ...principal, sha256: digestOf(key).toString('hex') }
  await writePrivately(keyRingFile(dataDirectory), `${JSON.stringify([...stored, entry], null, 2)}\n`)
  return key
}

/**
 * Creates the keys of the first start, for one analyst and one custodian, and writes each to `<role>.key` in the data
 * folder, readable by the owner only. Does nothing if the folder already has a key of either role. An auditor's key
 * may exist before.
 */
export async function createFirstKeys(dataDirectory: string): Promise<void> {
  if (readKeys(dataDirectory)?.some(({ role }) => role !== 'auditor')) return
  for (const role of ['analyst', 'custodian'] as const satisfies readonly Role[]) {
    const key = await createKey(dataDirectory, { name: role, role })
    await writePrivately(path.join(dataDirectory, `${role}.key`), `${key}\n`)
  }
}

function readKeys(dataDirectory: string): readonly StoredKey[] | undefined {
  let text: string
  try {
    text = readFileSync(keyRingFile(dataDirectory), 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  const keys = JSON.parse(text) as readonly StoredKey[]
  for (const key of keys) {
    if (!ROLES.includes(key.role) || !/^[0-9a-f]{64}$/.test(key.sha256)) {
      throw new Error(
        `${keyRingFile(dataDirectory)} is damaged: an entry has no known role or no SHA-256 digest`,
      )
    }
  }
  return keys
}

function keyRingFile(dataDirectory: string): string {
  return path.join(dataDirectory, 'keys.json')
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
