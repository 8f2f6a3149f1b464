import { refuseField } from '../../privacy/refusal.ts'
import { decodeText } from '../protocol/fields.ts'
import type { Format } from '../protocol/frontend.ts'
import type { Literal } from '../statements/parameters.ts'
import { OID } from './oids.ts'

const NUMBERS: readonly number[] = [
  OID.int2,
  OID.int4,
  OID.int8,
  OID.oid,
  OID.float4,
  OID.float8,
  OID.numeric,
]
const TEXTS: readonly number[] = [OID.text, OID.varchar, OID.bpchar, OID.name, OID.unknown, OID.char]
const MS_PER_DAY = 86_400_000
const EPOCH_MS = Date.UTC(2000, 0)

/** True for a type of numbers. */
export function isNumeric(type: number): boolean {
  return NUMBERS.includes(type)
}

/** True for a type that parameters can have. */
export function isParameterType(type: number): boolean {
  return (
    isNumeric(type) ||
    TEXTS.includes(type) ||
    [OID.bool, OID.date, OID.timestamp, OID.timestamptz].some((each) => each === type)
  )
}

/**
 * Decodes the value of a parameter as a constant.
 * @param index its number, from 1 on
 * @throws Refusal `invalid-request` for bytes that are no value of the type
 */
export function decodeParameter(index: number, type: number, bytes: Buffer | null, format: Format): Literal {
  if (bytes === null) return { kind: 'null' }
  const literal = format === 'text' ? ofText(type, decodeText(bytes)) : ofBinary(type, bytes)
  if (literal !== undefined) return literal
  throw refuseField('invalid-request', `$${index}`, 'must be a value of its type')
}

function ofText(type: number, text: string): Literal | undefined {
  if (isNumeric(type)) {
    const trimmed = text.trim()
    return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,4})?$/i.test(trimmed)
      ? { kind: 'number', text: trimmed.replace(/^\+/, '') }
      : undefined
  }
  if (type === OID.bool) {
    if (/^(t|true|y|yes|on|1)$/i.test(text)) return { kind: 'boolean', value: true }
    return /^(f|false|n|no|off|0)$/i.test(text) ? { kind: 'boolean', value: false } : undefined
  }
  return { kind: 'text', value: text }
}

/** Types whose binary form has a fixed length, with how it is read. */
const FIXED: ReadonlyMap<number, readonly [length: number, read: (bytes: Buffer) => Literal | undefined]> =
  new Map([
    [OID.bool, [1, (bytes) => ({ kind: 'boolean', value: bytes[0] !== 0 })]],
    [OID.int2, [2, (bytes) => number(bytes.readInt16BE())]],
    [OID.int4, [4, (bytes) => number(bytes.readInt32BE())]],
    [OID.oid, [4, (bytes) => number(bytes.readUInt32BE())]],
    [OID.int8, [8, (bytes) => number(bytes.readBigInt64BE())]],
    [OID.float4, [4, (bytes) => finite(bytes.readFloatBE())]],
    [OID.float8, [8, (bytes) => finite(bytes.readDoubleBE())]],
    [OID.date, [4, (bytes) => dateOf(bytes.readInt32BE())]],
    [OID.timestamp, [8, (bytes) => instantOf(bytes.readBigInt64BE())]],
    [OID.timestamptz, [8, (bytes) => instantOf(bytes.readBigInt64BE())]],
  ])

function ofBinary(type: number, bytes: Buffer): Literal | undefined {
  const fixed = FIXED.get(type)
  if (fixed !== undefined) {
    const [length, read] = fixed
    return bytes.length === length ? read(bytes) : undefined
  }
  if (type === OID.numeric) return numericOf(bytes)
  return TEXTS.includes(type) ? { kind: 'text', value: decodeText(bytes) } : undefined
}

function number(value: number | bigint | string): Literal {
  return { kind: 'number', text: String(value) }
}

function finite(value: number): Literal | undefined {
  return Number.isFinite(value) ? number(value) : undefined
}

const NEGATIVE = 0x4000

/** Decodes numeric's digits in base 10,000. */
function numericOf(bytes: Buffer): Literal | undefined {
  if (bytes.length < 8) return undefined
  const count = bytes.readUInt16BE(0)
  const weight = bytes.readInt16BE(2)
  const sign = bytes.readUInt16BE(4)
  if (bytes.length !== 8 + 2 * count || count > 32 || Math.abs(weight) > 64) return undefined
  if (sign !== 0 && sign !== NEGATIVE) return undefined
  let digits = 0n
  for (let index = 0; index < count; index += 1)
    digits = digits * 10_000n + BigInt(bytes.readUInt16BE(8 + 2 * index))
  return number(`${sign === NEGATIVE ? '-' : ''}${digits}e${4 * (weight - count + 1)}`)
}

function dateOf(days: number): Literal | undefined {
  const at = new Date(EPOCH_MS + days * MS_PER_DAY)
  return isUsual(at) ? { kind: 'text', value: at.toISOString().slice(0, 10) } : undefined
}

function instantOf(microseconds: bigint): Literal | undefined {
  const fraction = ((microseconds % 1_000_000n) + 1_000_000n) % 1_000_000n
  const at = new Date(EPOCH_MS + Number((microseconds - fraction) / 1_000n))
  if (!isUsual(at)) return undefined
  return { kind: 'text', value: `${at.toISOString().slice(0, 19)}.${String(fraction).padStart(6, '0')}Z` }
}

/** True for a year of four digits. */
function isUsual(at: Date): boolean {
  const ms = at.getTime()
  return ms >= Date.UTC(1, 0) && ms < Date.UTC(10_000, 0)
}
