import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { PrivateFileError, readPrivateFile } from '../platform/files/private-file.ts'
import type { ChainHead } from './contract/chain.ts'
import { headStatement } from './protocol/verifier/noted-events.ts'

/** Signs heads with the ledger's key. */
export interface HeadSigner {
  /** PEM (SPKI), for publication. */
  readonly publicKey: string
  /**
   * Computes the Ed25519 signature (RFC 8032) of {@link headStatement} in base64. It is deterministic.
   */
  sign(head: ChainHead): string
}

/** Length of an Ed25519 signature in bytes. */
const SIGNATURE_LENGTH = 64

/**
 * Reads the key that signs heads: the PKCS#8 PEM of an Ed25519 private key, in a file that only its
 * owner and its group may access.
 * @param file the value of `SOTTO_LEDGER_SIGNING_KEY`
 * @throws Error that names the variable and the violated rule, never the key.
 */
export async function readHeadSigner(file: string): Promise<HeadSigner> {
  const pem = await readPrivateFile(file).catch((error: unknown) => {
    throw error instanceof PrivateFileError ? keyError(`${file} ${error.message}`) : error
  })
  const key = parsePrivateKey(pem, file)
  return {
    publicKey: publicPem(createPublicKey(key)),
    sign: (head) => sign(null, Buffer.from(headStatement(head)), key).toString('base64'),
  }
}

/**
 * Verifies the signature of a head. Returns false for an invalid signature or head.
 * @param publicKeyPem PEM (SPKI) of an Ed25519 public key
 * @throws Error if the key is invalid.
 */
export function isSignatureOf(head: ChainHead, signature: string, publicKeyPem: string): boolean {
  const key = parsePublicKey(publicKeyPem)
  const bytes = Buffer.from(signature, 'base64')
  // The decoder ignores characters that are not base64. Without this check, many texts would be the same signature.
  if (bytes.length !== SIGNATURE_LENGTH || bytes.toString('base64') !== signature) return false
  return verify(null, Buffer.from(headStatement(head)), key, bytes)
}

/**
 * Creates a key that signs heads: the private key in `file`, readable by its owner only, and the public key in
 * `<file>.pub`.
 * @returns the public key, PEM (SPKI)
 * @throws Error with the code `EEXIST` if one of the files exists. Keys are never overwritten.
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

function writeNew(file: string, text: string | Buffer, mode: number): Promise<void> {
  return writeFile(file, text, { flag: 'wx', mode, flush: true })
}

function parsePrivateKey(pem: string, file: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    // The message of the parser may quote the file.
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
