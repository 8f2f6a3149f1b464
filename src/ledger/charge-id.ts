import { sha256 } from './canonical.ts'

/**
 * The id of a charge, and of the release it pays for: the first 32 hexadecimal digits of the SHA-256 of the canonical
 * JSON (RFC 8785) of `[principal, idempotencyKey]`. A caller who lost the reply can work it out.
 * @throws Error where either text has a lone surrogate.
 */
export function chargeId(principal: string, idempotencyKey: string): string {
  if (!principal.isWellFormed() || !idempotencyKey.isWellFormed())
    throw new Error('what is not well-formed Unicode has no canonical JSON')
  return sha256(JSON.stringify([principal, idempotencyKey])).slice(0, 32)
}
