import { headStatement } from '../../../../src/ledger/protocol/verifier/noted-events.ts'

const encoder = new TextEncoder()

/** True if the browser lets the page compute hashes. It does so only over HTTPS and on the machine of the service. */
export function canDigest(): boolean {
  return globalThis.crypto?.subtle !== undefined
}

/** Computes the SHA-256 of a text's UTF-8, in hexadecimal. */
export async function sha256(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Result of checking a signature. `unsupported`: the browser has no Ed25519. `no key`: the public key cannot be read. */
export type SignatureCheck = 'valid' | 'invalid' | 'unsupported' | 'no key'

/** Bytes of an Ed25519 signature. */
const SIGNATURE_LENGTH = 64

/**
 * Checks the Ed25519 signature (RFC 8032) of a head or receipt.
 * @param publicKeyPem PEM (SPKI)
 */
export async function checkSignature(
  head: Parameters<typeof headStatement>[0],
  signature: string,
  publicKeyPem: string,
): Promise<SignatureCheck> {
  const spki = bytesOf(publicKeyPem.replace(/-----[A-Z ]+-----|\s/g, ''))
  if (spki === undefined) return 'no key'
  let key: Awaited<ReturnType<typeof crypto.subtle.importKey>>
  try {
    key = await crypto.subtle.importKey('spki', spki, { name: 'Ed25519' }, false, ['verify'])
  } catch (error) {
    return error instanceof DOMException && error.name === 'NotSupportedError' ? 'unsupported' : 'no key'
  }
  const bytes = bytesOf(signature)
  if (bytes === undefined || bytes.length !== SIGNATURE_LENGTH) return 'invalid'
  const statement = encoder.encode(headStatement(head))
  return (await crypto.subtle.verify({ name: 'Ed25519' }, key, bytes, statement)) ? 'valid' : 'invalid'
}

/** Decodes base64, which must be written in its one canonical form. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const text = atob(base64)
    if (text === '' || btoa(text) !== base64) return undefined
    return Uint8Array.from(text, (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
