import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'

/**
 * Serializes a value as canonical JSON (RFC 8785), so that equal values have equal hashes.
 * @throws Error for lone surrogates, NaN and infinities; TypeError for a value that JSON cannot represent.
 */
export function canonicalJson(value: unknown): string {
  const json = canonicalize(value)
  if (json === undefined) throw new TypeError('JSON cannot represent the value')
  return json
}

/** Computes the SHA-256 of a text's UTF-8, in hexadecimal. */
export function sha256(text: string): string {
  return hash('sha256', text, 'hex')
}

/**
 * Computes the id of a charge, and of the release it pays for: the first 32 hexadecimal digits of the SHA-256 of the
 * canonical JSON (RFC 8785) of `[principal, idempotencyKey]`. A client that lost the response can compute it.
 * @throws Error if either text contains a lone surrogate.
 */
export function chargeId(principal: string, idempotencyKey: string): string {
  if (!principal.isWellFormed() || !idempotencyKey.isWellFormed())
    throw new Error('a text that is not well-formed Unicode has no canonical JSON')
  // JSON.stringify writes an array of well-formed texts in canonical form.
  return sha256(JSON.stringify([principal, idempotencyKey])).slice(0, 32)
}
