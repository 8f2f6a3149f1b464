import type { SourceType } from '../../tables/encoder.ts'

const TYPES: Readonly<Record<string, SourceType>> = {
  tinyint: { kind: 'integer', bits: 8 },
  smallint: { kind: 'integer', bits: 16 },
  integer: { kind: 'integer', bits: 32 },
  bigint: { kind: 'integer', bits: 64 },
  real: { kind: 'float', bits: 32 },
  double: { kind: 'float', bits: 64 },
  boolean: { kind: 'boolean' },
  varchar: { kind: 'text' },
  char: { kind: 'text', isPadded: true },
  uuid: { kind: 'uuid' },
  date: { kind: 'date' },
  timestamp: { kind: 'timestamp' },
  'timestamp with time zone': { kind: 'timestamptz' },
}

/** Reads the name of a type as `information_schema.columns` has it, such as `timestamp(3) with time zone`. */
export function sourceTypeOf(name: string): SourceType | undefined {
  const decimal = /^decimal\((\d+),\s?(\d+)\)$/.exec(name)
  if (decimal !== null)
    return { kind: 'decimal', digits: { precision: Number(decimal[1]), scale: Number(decimal[2]) } }
  const plain = name.replace(/^(varchar|char|timestamp)\(\d+\)/, '$1')
  return Object.hasOwn(TYPES, plain) ? TYPES[plain] : undefined
}
