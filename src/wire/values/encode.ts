import type { Format } from '../protocol/frontend.ts'
import { OID } from './oids.ts'

/** A value of a row. */
export type WireValue = string | number | bigint | boolean | null | readonly WireValue[]

/** Days from 1970 to 2000, from which PostgreSQL counts. */
const EPOCH_DAYS = 10_957
const MS_PER_DAY = 86_400_000

/**
 * Encodes a value of a type in a format. NULL is null.
 * @throws RangeError for a value that the type does not have
 */
export function encodeValue(type: number, value: WireValue, format: Format): Buffer | null {
  if (value === null) return null
  return format === 'text' ? Buffer.from(textOf(type, value)) : binaryOf(type, value)
}

function textOf(type: number, value: Exclude<WireValue, null>): string {
  if (typeof value === 'object') return `{${value.map((item) => elementText(item)).join()}}`
  if (typeof value === 'boolean') return value ? 't' : 'f'
  if (type === OID.timestamptz && typeof value === 'string')
    return value.replace('T', ' ').replace(/Z$/, '+00')
  return String(value)
}

function elementText(item: WireValue): string {
  if (item === null) return 'NULL'
  if (typeof item !== 'string') return textOf(0, item)
  return /^$|^null$|[{}",\\\s]/i.test(item) ? `"${item.replace(/["\\]/g, '\\$&')}"` : item
}

/** Types whose binary form is a number of so many bytes. */
const INTEGER_BYTES: ReadonlyMap<number, 2 | 4 | 8> = new Map([
  [OID.int2, 2],
  [OID.int4, 4],
  [OID.oid, 4],
  [OID.int8, 8],
])

const ELEMENTS: ReadonlyMap<number, number> = new Map([
  [OID.int2Array, OID.int2],
  [OID.int4Array, OID.int4],
  [OID.int8Array, OID.int8],
  [OID.textArray, OID.text],
])

function binaryOf(type: number, value: Exclude<WireValue, null>): Buffer {
  const bytes = INTEGER_BYTES.get(type)
  if (bytes !== undefined) return integer(BigInt(value as number | bigint | string), bytes)
  if (typeof value === 'object') return arrayOf(ELEMENTS.get(type) ?? OID.text, value)
  switch (type) {
    case OID.bool:
      return Buffer.of(value === true ? 1 : 0)
    case OID.float8: {
      const encoded = Buffer.allocUnsafe(8)
      encoded.writeDoubleBE(Number(value))
      return encoded
    }
    case OID.date:
      return integer(BigInt(Date.parse(`${value}T00:00:00Z`) / MS_PER_DAY - EPOCH_DAYS), 4)
    case OID.timestamptz:
      return integer(microseconds(String(value)), 8)
    case OID.numeric:
      throw new RangeError('numeric values have no binary form here')
    default:
      return Buffer.from(String(value))
  }
}

function integer(value: bigint, bytes: 2 | 4 | 8): Buffer {
  const encoded = Buffer.alloc(8)
  encoded.writeBigInt64BE(value)
  return encoded.subarray(8 - bytes)
}

/** Microseconds since 2000 of an instant in ISO 8601. */
function microseconds(instant: string): bigint {
  const [, whole = '', fraction = ''] = /^([^.]*?)(?:\.(\d+))?Z?$/.exec(instant) ?? []
  const seconds = BigInt(Date.parse(`${whole}Z`)) / 1_000n - BigInt(EPOCH_DAYS) * 86_400n
  return seconds * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'))
}

/** An array of one dimension, as PostgreSQL's array_send writes it. */
function arrayOf(element: number, items: readonly WireValue[]): Buffer {
  const header = Buffer.alloc(items.length === 0 ? 12 : 20)
  header.writeInt32BE(items.length === 0 ? 0 : 1, 0)
  header.writeInt32BE(items.includes(null) ? 1 : 0, 4)
  header.writeInt32BE(element, 8)
  if (items.length > 0) {
    header.writeInt32BE(items.length, 12)
    header.writeInt32BE(1, 16)
  }
  const encoded = items.flatMap((item) => {
    const value = encodeValue(element, item, 'binary')
    const length = Buffer.alloc(4)
    length.writeInt32BE(value === null ? -1 : value.length)
    return value === null ? [length] : [length, value]
  })
  return Buffer.concat([header, ...encoded])
}
