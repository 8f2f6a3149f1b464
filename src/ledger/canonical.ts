import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'

/**
 * The one way to write a value as JSON (RFC 8785), so that equal values have equal hashes.
 * @throws Error for lone surrogates, NaN and infinities; TypeError for what JSON cannot say.
 */
export function canonicalJson(value: unknown): string {
  const json = canonicalize(value)
  if (json === undefined) throw new TypeError('the value has no JSON')
  return json
}

/** SHA-256 of a text's UTF-8, hexadecimal. */
export function sha256(text: string): string {
  return hash('sha256', text, 'hex')
}
