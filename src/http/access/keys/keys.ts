import path from 'node:path'
import { writePrivately } from '../../../platform/files/durable-file.ts'
import { defined } from '../../../privacy/defined.ts'
import { Refusal } from '../../../privacy/refusal.ts'
import type { Principal, Role } from '../principal.ts'
import {
  type Author,
  addKey,
  COMMAND_LINE,
  isValid,
  mayManage,
  type NewKey,
  removeKey,
  rotateKey,
} from './key-changes.ts'
import { type KeyAct, type KeyFile, type KeyFileAccess, openKeyFile, type StoredKey } from './key-file.ts'
import { digestOfKey, drawKeyText, isKeyText } from './key-text.ts'
import type { ScramVerifier } from './scram.ts'

/** An API key as custodians see it, without its text and digest. */
export type ApiKey = Omit<StoredKey, 'sha256' | 'scram' | 'earlier'> & {
  /** Time until which a previous text is valid. Absent if none is. */
  readonly earlierValidUntil?: string
}

/** A new or rotated API key with its text, which is stored nowhere. */
export interface IssuedKey {
  readonly apiKey: ApiKey
  readonly text: string
}

/** Verifier of the text of a key that has this digest. */
export interface KeyVerifier extends ScramVerifier {
  readonly sha256: string
}

/** The API keys. Processes that share a data folder or a database see each other's changes at once. */
export interface KeyStore {
  /**
   * Returns the principal of a key, or `undefined` if the text is no valid key.
   * @throws Refusal `unauthenticated` if the key was valid and has ended.
   * @throws KeyFileFault or DocumentsFault if the keys cannot be read.
   */
  authenticate(text: string): Promise<Principal | undefined>
  /** Returns the principal of a key by the digest of its text, as `authenticate` does. */
  authenticateDigest(sha256: string): Promise<Principal | undefined>
  /**
   * Returns the verifiers of the texts of a name, with their digests: also of those that have ended, whose holders are told so by
   * `authenticateDigest`. Texts of before verifiers were stored have none.
   */
  scramVerifiers(name: string): Promise<readonly KeyVerifier[]>
  /** Returns true if an analyst of this name has a key. */
  hasAnalyst(name: string): Promise<boolean>
  /** Returns the keys that a custodian may manage, oldest first. */
  list(by: Author): Promise<readonly ApiKey[]>
  /** Creates a key, as {@link addKey} does. It is durable and valid when this resolves. */
  create(request: NewKey, by: Author): Promise<IssuedKey>
  /** Gives a key a new text, as {@link rotateKey} does. */
  rotate(id: string, overlapSeconds: number, by: Author): Promise<IssuedKey>
  /** Deletes a key with all of its texts, as {@link removeKey} does. */
  delete(id: string, by: Author): Promise<void>
  /**
   * Passes the changes that are not recorded yet to `record`, oldest first, and then removes them from the file. After a
   * crash in between, a change is passed again.
   */
  deliverActs(record: (act: KeyAct) => Promise<unknown>): Promise<void>
}

/**
 * Opens the keys of a data folder, where the folder and the file are created with the first key, or those of another
 * place.
 */
export function openKeyStore(place: string | KeyFileAccess, now: () => number = Date.now): KeyStore {
  const file = typeof place === 'string' ? openKeyFile(place) : place
  let index: { readonly contents: KeyFile; readonly byDigest: ReadonlyMap<string, Entry> } | undefined
  const byDigest = async () => {
    const contents = await file.read()
    if (index?.contents !== contents) index = { contents, byDigest: indexByDigest(contents) }
    return index.byDigest
  }
  const authenticateDigest = async (sha256: string) => {
    const entry = (await byDigest()).get(sha256)
    if (entry === undefined) return undefined
    if (entry.validUntil.every((time) => now() < Date.parse(time))) return entry.principal
    throw new Refusal('unauthenticated', 'The API key has expired or was replaced.')
  }
  return {
    authenticate: async (text) => (isKeyText(text) ? authenticateDigest(digestOfKey(text)) : undefined),
    authenticateDigest,
    async scramVerifiers(name) {
      const keys = (await file.read()).keys.filter((key) => key.name === name)
      const texts = keys.flatMap((key) => [key, ...key.earlier])
      return texts.flatMap(({ sha256, scram }) => (scram === undefined ? [] : [{ sha256, ...scram }]))
    },
    hasAnalyst: async (name) =>
      (await file.read()).keys.some(
        (key) => key.role === 'analyst' && key.name === name && isValid(key, now()),
      ),
    list: async (by) =>
      (await file.read()).keys.filter((key) => mayManage(by, key)).map((key) => describe(key, now())),
    async create(request, by) {
      const text = drawKeyText()
      const created = await file.update((contents) => addKey(contents, request, text, { by, atMs: now() }))
      return { apiKey: describe(created, now()), text }
    },
    async rotate(id, overlapSeconds, by) {
      const text = drawKeyText()
      const rotated = await file.update((contents) =>
        rotateKey(contents, id, { overlapSeconds, text }, { by, atMs: now() }),
      )
      return { apiKey: describe(rotated, now()), text }
    },
    async delete(id, by) {
      await file.update((contents) => removeKey(contents, id, { by, atMs: now() }))
    },
    async deliverActs(record) {
      if (!(await file.exists()) || (await file.read()).acts.length === 0) return
      // A lock of its own, because the deletion of a key must not wait for the ledger.
      await file.whileDelivering(async () => {
        const delivered = new Set<string>()
        for (const act of (await file.read()).acts) {
          await record(act)
          delivered.add(act.id)
        }
        await file.update((contents) => {
          const acts = contents.acts.filter(({ id }) => !delivered.has(id))
          return {
            contents: acts.length === contents.acts.length ? contents : { ...contents, acts },
            result: undefined,
          }
        })
      })
    },
  }
}

/**
 * Creates the keys of the first start, for one analyst and one custodian, and writes each to `<role>.key` in the data
 * folder, readable by the owner only. Does nothing if there is a key of either role already. An auditor's key may exist
 * before.
 * @param file the stored keys; default: those of the data folder
 */
export async function createFirstKeys(
  dataDirectory: string,
  file: KeyFileAccess = openKeyFile(dataDirectory),
): Promise<void> {
  await file.update(async (contents) => {
    if (contents.keys.some(({ role }) => role !== 'auditor')) return { contents, result: undefined }
    let after = contents
    for (const role of ['analyst', 'custodian'] as const satisfies readonly Role[]) {
      const text = drawKeyText()
      // Written before the digest, so that a crash in between leaves no valid key whose text is lost.
      await writePrivately(path.join(dataDirectory, `${role}.key`), `${text}\n`)
      const request = { name: role, role, samePrincipal: true }
      after = addKey(after, request, text, { by: COMMAND_LINE, atMs: Date.now() }).contents
    }
    return { contents: after, result: undefined }
  })
}

/** Text of a key that is or was valid. */
interface Entry {
  readonly principal: Principal
  /** Times until which it is valid; all of them must be in the future. */
  readonly validUntil: readonly string[]
}

function indexByDigest({ keys }: KeyFile): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>()
  for (const { id, name, role, datasets, quota, spending, settings, expiresAt, sha256, earlier } of keys) {
    const principal: Principal = defined({ name, role, key: id, datasets, quota, spending, settings })
    const expiry = expiresAt === undefined ? [] : [expiresAt]
    entries.set(sha256, { principal, validUntil: expiry })
    for (const before of earlier)
      entries.set(before.sha256, { principal, validUntil: [...expiry, before.validUntil] })
  }
  return entries
}

function describe({ sha256: _, scram: __, earlier, ...key }: StoredKey, nowMs: number): ApiKey {
  const until = earlier.map(({ validUntil }) => validUntil).filter((time) => Date.parse(time) > nowMs)
  return defined({ ...key, earlierValidUntil: until.sort().at(-1) })
}
