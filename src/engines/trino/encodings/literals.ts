import { LARGEST_EXACT_INTEGER } from '../../grid.ts'

/** Prints a 64-bit integer with its type. A plain number would be a 32-bit integer, whose arithmetic can overflow. */
export function bigint(value: bigint): string {
  return `BIGINT '${value}'`
}

/** Prints a 32-bit integer with its type. */
export function integer(value: bigint): string {
  return `INTEGER '${value}'`
}

/** An integer in the type of sums. */
export function wide(value: bigint): string {
  return `CAST('${value}' AS DECIMAL(38, 0))`
}

/** Prints a double with its type. A number with a decimal point would be a DECIMAL. */
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

/**
 * Prints the number of edges that are at most an integer within 2^53. The edges are one constant, because Trino cannot
 * compile a nested search of hundreds of them.
 * @param edges increasing integers
 */
export function edgesBelow(integer: string, edges: readonly bigint[]): string {
  const distinct = edges.map((edge, place) => {
    // No integer is beyond these edges, which must differ as doubles as well.
    if (edge > LARGEST_EXACT_INTEGER) return LARGEST_EXACT_INTEGER + 2n * BigInt(place + 1)
    if (edge < -LARGEST_EXACT_INTEGER) return -LARGEST_EXACT_INTEGER - 2n * BigInt(edges.length - place)
    return edge
  })
  return `width_bucket(CAST(${integer} AS DOUBLE), CAST(JSON '[${distinct.join(',')}]' AS ARRAY(DOUBLE)))`
}
