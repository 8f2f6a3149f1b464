import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { canonicalJson } from './canonical.ts'

/** The end of a dataset's chain, or any other event of it. Who knows it can tell whether an export still holds it. */
export interface ChainHead {
  readonly dataset: string
  readonly sequence: number
  /** Hexadecimal. */
  readonly hash: string
}

/** Signs heads with the ledger's key. */
export interface HeadSigner {
  /** PEM (SPKI), to be published. */
  readonly publicKey: string
  /**
   * The Ed25519 signature (RFC 8032) over {@link headStatement}, base64. It is deterministic: a head has one.
   * @throws Error where the head has no canonical JSON.
   */
  sign(head: ChainHead): string
}

/** The bytes of an Ed25519 signature. */
const SIGNATURE_LENGTH = 64

/** What is signed of a head: canonical JSON (RFC 8785), with the version of its layout. */
export function headStatement({ dataset, sequence, hash }: ChainHead): string {
  return canonicalJson({ version: 1, dataset, sequence, hash })
}

/**
 * Read the key that heads are signed with: the PKCS#8 PEM of an Ed25519 private key, which its owner alone may read.
 * @param file named by `SOTTO_LEDGER_SIGNING_KEY`
 * @throws Error which names that variable and the rule, never the key.
 */
export async function readHeadSigner(file: string): Promise<HeadSigner> {
  const key = parsePrivateKey(await readPrivateFile(file), file)
  return {
    publicKey: publicPem(createPublicKey(key)),
    sign: (head) => sign(null, Buffer.from(headStatement(head)), key).toString('base64'),
  }
}

/**
 * Whether a text is the signature of a head by a key. What is no signature, or no head, is not.
 * @param publicKeyPem PEM (SPKI) of an Ed25519 public key
 * @throws Error where the key is none.
 */
export function isSignatureOf(head: ChainHead, signature: string, publicKeyPem: string): boolean {
  const key = parsePublicKey(publicKeyPem)
  const bytes = Buffer.from(signature, 'base64')
  // The decoder skips what is not base64, so that many texts would be one signature.
  if (bytes.length !== SIGNATURE_LENGTH || bytes.toString('base64') !== signature) return false
  let statement: string
  try {
    statement = headStatement(head)
  } catch {
    return false
  }
  return verify(null, Buffer.from(statement), key, bytes)
}

/**
 * Make a key to sign heads with: the private one in `file`, for its owner alone, and the public one in `<file>.pub`.
 * @returns the public key, PEM (SPKI)
 * @throws Error with the code `EEXIST` where one of the files is there: a key is never overwritten.
 */
export async function createSigningKey(file: string): Promise<string> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const pem = publicPem(publicKey)
  await writeNew(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), 0o600)
  try {
    await writeNew(`${file}.pub`, pem, 0o644)
  } catch (error) {
    await rm(file)
    throw error
  }
  return pem
}

async function writeNew(file: string, text: string | Buffer, mode: number): Promise<void> {
  const handle = await open(file, 'wx', mode)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function readPrivateFile(file: string): Promise<string> {
  let handle: FileHandle
  try {
    handle = await open(file, 'r')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw keyError(`${file} cannot be read${reason}`)
  }
  try {
    if (((await handle.stat()).mode & 0o077) !== 0)
      throw keyError(`${file} must be readable by its owner alone (chmod 600)`)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

function parsePrivateKey(pem: string, file: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    // What the parser says could quote the text.
    throw keyError(`${file} must hold the PKCS#8 PEM of a private key, without a passphrase`)
  }
  if (key.asymmetricKeyType !== 'ed25519')
    throw keyError(`${file} must hold an Ed25519 key, not one of the type ${key.asymmetricKeyType}`)
  return key
}

function parsePublicKey(pem: string): KeyObject {
  let key: KeyObject
  try {
    key = createPublicKey(pem)
  } catch {
    throw new Error('the public key must be the PEM of an Ed25519 public key')
  }
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`the public key must be an Ed25519 key, not one of the type ${key.asymmetricKeyType}`)
  return key
}

function publicPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

function keyError(rule: string): Error {
  return new Error(`SOTTO_LEDGER_SIGNING_KEY: ${rule}`)
}
