import { ProtocolViolation, readFields, readList } from './fields.ts'

/** Format of a value: a text, or the binary form of its type. */
export type Format = 'text' | 'binary'

/** A message that a client sends after the start. */
export type FrontendMessage =
  | { readonly kind: 'query'; readonly text: string }
  | {
      readonly kind: 'parse'
      readonly name: string
      readonly text: string
      readonly parameterTypes: readonly number[]
    }
  | {
      readonly kind: 'bind'
      readonly portal: string
      readonly statement: string
      readonly parameterFormats: readonly Format[]
      /** NULL is null. */
      readonly parameters: readonly (Buffer | null)[]
      readonly resultFormats: readonly Format[]
    }
  | { readonly kind: 'describe' | 'close'; readonly target: 'statement' | 'portal'; readonly name: string }
  | { readonly kind: 'execute'; readonly portal: string; readonly maxRows: number }
  | { readonly kind: 'sync' | 'flush' | 'terminate' }
  /** A password, or a part of SCRAM. */
  | { readonly kind: 'password'; readonly bytes: Buffer }
  | { readonly kind: 'unsupported'; readonly what: string }

/** A packet at the beginning of a connection. */
export type StartPacket =
  | { readonly kind: 'tls' | 'gss' }
  | { readonly kind: 'cancel'; readonly process: number; readonly secret: number }
  | {
      readonly kind: 'start'
      readonly minorVersion: number
      readonly parameters: ReadonlyMap<string, string>
    }
  | { readonly kind: 'other-version'; readonly major: number }

/** Largest size of a packet at the beginning: PostgreSQL's own limit. */
export const MAX_START_BYTES = 10_000
/** Largest size of a message. The longest statement fits, with its parameters. */
export const MAX_MESSAGE_BYTES = 256 * 1024
/** Largest size of a message before the client has signed in. */
export const MAX_PASSWORD_BYTES = 4_096

const CODES = { cancel: 80_877_102, tls: 80_877_103, gss: 80_877_104 } as const
const MAJOR_VERSION = 3

/**
 * Reads a packet at the beginning of a connection, without its length.
 * @throws ProtocolViolation
 */
export function readStartPacket(packet: Buffer): StartPacket {
  const fields = readFields(packet)
  const code = fields.int32()
  switch (code) {
    case CODES.tls:
      return { kind: 'tls' }
    case CODES.gss:
      return { kind: 'gss' }
    case CODES.cancel:
      return { kind: 'cancel', process: fields.int32(), secret: fields.int32() }
  }
  const major = code >>> 16
  if (major !== MAJOR_VERSION) return { kind: 'other-version', major }
  const parameters = new Map<string, string>()
  for (let name = fields.text(); name !== ''; name = fields.text()) parameters.set(name, fields.text())
  return { kind: 'start', minorVersion: code & 0xffff, parameters }
}

/**
 * Reads a message by the byte of its type.
 * @param message without type and length
 * @throws ProtocolViolation
 */
export function readMessage(type: number, message: Buffer): FrontendMessage {
  const fields = readFields(message)
  const read = READERS[String.fromCharCode(type)]
  if (read === undefined) throw new ProtocolViolation('a message has an unknown type')
  return read(fields)
}

type Reader = (fields: ReturnType<typeof readFields>) => FrontendMessage

const READERS: Readonly<Record<string, Reader>> = {
  Q: (fields) => ({ kind: 'query', text: fields.text() }),
  P: (fields) => ({
    kind: 'parse',
    name: fields.text(),
    text: fields.text(),
    parameterTypes: readList(fields.int16(), fields.int32),
  }),
  B: (fields) => {
    const portal = fields.text()
    const statement = fields.text()
    const parameterFormats = readList(fields.int16(), () => formatOf(fields.int16()))
    const parameters = readList(fields.int16(), () => {
      const length = fields.int32()
      return length === -1 ? null : fields.bytes(length)
    })
    const resultFormats = readList(fields.int16(), () => formatOf(fields.int16()))
    return { kind: 'bind', portal, statement, parameterFormats, parameters, resultFormats }
  },
  D: (fields) => ({ kind: 'describe', ...targetOf(fields) }),
  C: (fields) => ({ kind: 'close', ...targetOf(fields) }),
  E: (fields) => ({ kind: 'execute', portal: fields.text(), maxRows: Math.max(0, fields.int32()) }),
  S: () => ({ kind: 'sync' }),
  H: () => ({ kind: 'flush' }),
  X: () => ({ kind: 'terminate' }),
  p: (fields) => ({ kind: 'password', bytes: fields.bytes(fields.left()) }),
  F: () => ({ kind: 'unsupported', what: 'function calls' }),
  d: () => ({ kind: 'unsupported', what: 'COPY' }),
  c: () => ({ kind: 'unsupported', what: 'COPY' }),
  f: () => ({ kind: 'unsupported', what: 'COPY' }),
}

function formatOf(code: number): Format {
  if (code !== 0 && code !== 1) throw new ProtocolViolation('a format is neither text nor binary')
  return code === 0 ? 'text' : 'binary'
}

function targetOf(fields: ReturnType<typeof readFields>) {
  const [type] = fields.bytes(1)
  const target = { 83: 'statement', 80: 'portal' } as const
  if (type !== 83 && type !== 80)
    throw new ProtocolViolation('a message is about neither a statement nor a portal')
  return { target: target[type], name: fields.text() }
}

/** Returns the format of an item: one format may be stated for all of them, and none is text. */
export function formatAt(formats: readonly Format[], index: number): Format {
  return (formats.length === 1 ? formats[0] : formats[index]) ?? 'text'
}
