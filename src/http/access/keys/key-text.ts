import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const PREFIX = 'sotto_'
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Length of 32 random bytes in base 62. */
const SECRET_LENGTH = 43
/** Length of a CRC-32 in base 62. */
const CHECKSUM_LENGTH = 6

const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`)

/**
 * Draws a new API key: `sotto_`, 256 random bits in base 62 (43 characters), and the CRC-32 of these characters in
 * base 62 (6 characters). The fixed form lets secret scanners find leaked keys with few false alarms.
 */
export function drawKeyText(): string {
  const secret = inBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_LENGTH)
  return PREFIX + secret + checksumOf(secret)
}

/** True for a text that has the prefix of API keys, and therefore is no token of an identity provider. */
export function hasKeyPrefix(text: string): boolean {
  return text.startsWith(PREFIX)
}

/** True for a text in the form of an API key with a matching checksum. */
export function isKeyText(text: string): boolean {
  if (!FORM.test(text)) return false
  const secret = text.slice(PREFIX.length, -CHECKSUM_LENGTH)
  return text.endsWith(checksumOf(secret))
}

/**
 * Returns the SHA-256 of a key, hexadecimal. A plain digest suffices, because a key has 256 random bits. Keys are found
 * by their digest, so the duration of a search reveals nothing about a stored key.
 */
export function digestOfKey(key: string): string {
  return hash('sha256', key, 'hex')
}

function checksumOf(secret: string): string {
  return inBase62(BigInt(crc32(secret)), CHECKSUM_LENGTH)
}

function inBase62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = DIGITS.charAt(Number(rest % 62n)) + text
  return text
}
