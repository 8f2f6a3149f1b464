import type { Format } from './frontend.ts'

/** A column of rows, as a client receives it. */
export interface WireColumn {
  readonly name: string
  /** OID of its type. */
  readonly type: number
  /** Size of its values in bytes; negative if they have various sizes. */
  readonly size: number
}

/** An error or a notice for a client. */
export interface Report {
  readonly severity: 'ERROR' | 'FATAL' | 'NOTICE' | 'WARNING'
  /** SQLSTATE. */
  readonly code: string
  readonly message: string
  readonly detail?: string
  readonly hint?: string
  /** Place in the text of the statement, in characters, from 1 on. */
  readonly position?: number
}

/** State of a session: outside of a transaction, in one, or in one that has failed. */
export type TransactionStatus = 'I' | 'T' | 'E'

function int16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2)
  bytes.writeUInt16BE(value & 0xffff)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeInt32BE(value | 0)
  return bytes
}

function text(value: string): Buffer {
  return Buffer.from(`${value.replaceAll('\0', '')}\0`)
}

function message(type: string, ...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 4)
  return Buffer.concat([Buffer.from(type), int32(length), ...parts])
}

/** Messages of the service. */
export const send = {
  authenticationOk: () => message('R', int32(0)),
  saslMechanisms: (mechanisms: readonly string[]) =>
    message('R', int32(10), ...mechanisms.map(text), Buffer.of(0)),
  saslContinue: (data: string) => message('R', int32(11), Buffer.from(data)),
  saslFinal: (data: string) => message('R', int32(12), Buffer.from(data)),
  negotiateVersion: (options: readonly string[]) =>
    message('v', int32(3 << 16), int32(options.length), ...options.map(text)),
  parameterStatus: (name: string, value: string) => message('S', text(name), text(value)),
  backendKey: (process: number, secret: number) => message('K', int32(process), int32(secret)),
  ready: (status: TransactionStatus) => message('Z', Buffer.from(status)),
  parseComplete: () => message('1'),
  bindComplete: () => message('2'),
  closeComplete: () => message('3'),
  noData: () => message('n'),
  emptyQuery: () => message('I'),
  portalSuspended: () => message('s'),
  commandComplete: (tag: string) => message('C', text(tag)),
  parameterDescription: (types: readonly number[]) => message('t', int16(types.length), ...types.map(int32)),
  rowDescription: (columns: readonly WireColumn[], formats: (index: number) => Format) =>
    message(
      'T',
      int16(columns.length),
      ...columns.map(({ name, type, size }, index) =>
        Buffer.concat([
          text(name),
          // No table and no column of one: the values are computed.
          int32(0),
          int16(0),
          int32(type),
          int16(size),
          int32(-1),
          int16(formats(index) === 'binary' ? 1 : 0),
        ]),
      ),
    ),
  /** @param values NULL is null */
  dataRow: (values: readonly (Uint8Array | null)[]) =>
    message(
      'D',
      int16(values.length),
      ...values.flatMap((value) => (value === null ? [int32(-1)] : [int32(value.length), value])),
    ),
  report: (report: Report) => {
    const { severity, code, message: summary, detail, hint, position } = report
    const fields: readonly (readonly [string, string | undefined])[] = [
      ['S', severity],
      ['V', severity],
      ['C', code],
      ['M', summary],
      ['D', detail],
      ['H', hint],
      ['P', position?.toString()],
    ]
    const given = fields.flatMap(([name, value]) =>
      value === undefined ? [] : [Buffer.from(name), text(value)],
    )
    const type = severity === 'ERROR' || severity === 'FATAL' ? 'E' : 'N'
    return message(type, ...given, Buffer.of(0))
  },
}
