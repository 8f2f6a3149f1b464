/** Result of checking a signature. `unsupported`: the browser has no Ed25519. `no key`: the public key cannot be read. */
export type SignatureCheck = 'valid' | 'invalid' | 'unsupported' | 'no key'

/** Bytes of an Ed25519 signature. */
const SIGNATURE_LENGTH = 64

/**
 * Checks the signature of a head or receipt: Ed25519 (RFC 8032) over `{"dataset","hash","sequence","version":1}` in
 * canonical JSON.
 * @param publicKeyPem PEM (SPKI)
 */
export async function checkSignature(
  head: { readonly dataset: string; readonly sequence: number; readonly hash: string },
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
  const { dataset, hash, sequence } = head
  // The fields are in the order of canonical JSON.
  const statement = new TextEncoder().encode(JSON.stringify({ dataset, hash, sequence, version: 1 }))
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
