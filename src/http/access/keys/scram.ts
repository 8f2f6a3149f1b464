import { createHmac, hash, pbkdf2Sync } from 'node:crypto'

/** What SCRAM-SHA-256 (RFC 7677) needs to check a key without its text. Base64. */
export interface ScramVerifier {
  readonly storedKey: string
  readonly serverKey: string
}

/** Number of iterations: the least of RFC 7677. More would add nothing, because a key has 256 random bits. */
export const SCRAM_ITERATIONS = 4_096

/**
 * Returns the salt of a name, which all keys of the name share, because the service sends it before it knows which key the client
 * has. It follows from the name, so that it does not tell whether the name has keys.
 */
export function scramSalt(name: string): Buffer {
  return hash('sha256', `sotto scram ${name}`, 'buffer').subarray(0, 16)
}

/** Computes the verifier of a key. */
export function scramVerifierOf(name: string, text: string): ScramVerifier {
  const salted = pbkdf2Sync(text, scramSalt(name), SCRAM_ITERATIONS, 32, 'sha256')
  const clientKey = hmac(salted, 'Client Key')
  return {
    storedKey: hash('sha256', clientKey, 'base64'),
    serverKey: hmac(salted, 'Server Key').toString('base64'),
  }
}

/**
 * Checks a client's proof.
 * @param messages the messages of the exchange that client and service sign
 * @returns the service's signature, base64; undefined if the proof is not that of the key
 */
export function checkScramProof(
  { storedKey, serverKey }: ScramVerifier,
  messages: string,
  proof: Buffer,
): string | undefined {
  const signature = hmac(Buffer.from(storedKey, 'base64'), messages)
  if (proof.length !== signature.length) return undefined
  const clientKey = proof.map((byte, index) => byte ^ signature.readUInt8(index))
  if (hash('sha256', clientKey, 'base64') !== storedKey) return undefined
  return hmac(Buffer.from(serverKey, 'base64'), messages).toString('base64')
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
