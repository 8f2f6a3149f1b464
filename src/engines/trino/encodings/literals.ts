/** A 64-bit integer that cannot be misread. A plain number would be a 32-bit integer, whose arithmetic can overflow. */
export function bigint(value: bigint): string {
  return `BIGINT '${value}'`
}

/** A 32-bit integer that cannot be misread. */
export function integer(value: bigint): string {
  return `INTEGER '${value}'`
}

/** An integer in the type of sums. */
export function wide(value: bigint): string {
  return `CAST('${value}' AS DECIMAL(38, 0))`
}

/** A double that cannot be misread. A number with a decimal point would be a DECIMAL. */
export function double(value: number): string {
  return `DOUBLE '${value}'`
}

/** A text, as the hexadecimal digits of its bytes in UTF-8: no character of it is part of the statement. */
export function text(value: string): string {
  return `from_utf8(X'${Buffer.from(value).toString('hex')}')`
}

/** A value within bounds; NULL for NULL. */
export function clamped(value: string, least: string, most: string): string {
  return `least(greatest(${value}, ${least}), ${most})`
}

/** The quotient by a positive divisor, rounded down. */
export function floorDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend % divisor < 0n ? quotient - 1n : quotient
}
