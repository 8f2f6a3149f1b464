/** Prints a 64-bit integer with its type. Quotes keep its sign apart from operators. */
export function int8(value: bigint): string {
  return `'${value}'::int8`
}

/** Prints a 32-bit integer with its type. */
export function int4(value: bigint): string {
  return `'${value}'::int4`
}

/**
 * A text as a string literal. The prefix E makes backslashes mean the same under every setting.
 * @throws RangeError for a text with U+0000
 */
export function quoteLiteral(text: string): string {
  if (text.includes('\0')) throw new RangeError('a text of PostgreSQL cannot contain U+0000')
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

/** A text that is compared byte by byte. */
export function textLiteral(value: string, type: 'text' | 'bpchar' = 'text'): string {
  return `(${quoteLiteral(value)}::${type} COLLATE "C")`
}

/** An integer within bounds. It is never NULL: `least` and `greatest` ignore NULL. */
export function clamped(integer: string, lower: bigint, upper: bigint): string {
  return `least(greatest(${integer}, ${int8(lower)}), ${int8(upper)})`
}
