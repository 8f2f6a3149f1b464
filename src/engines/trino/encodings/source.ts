/** A type of Trino whose values can be stored. Arrays, maps, rows, times, intervals and JSON are not among them. */
export type SourceType =
  | { readonly kind: 'integer'; readonly bits: 8 | 16 | 32 | 64 }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'float'; readonly bits: 32 | 64 }
  | { readonly kind: 'boolean' | 'text' | 'char' | 'uuid' | 'date' | 'timestamp' | 'timestamptz' }

const TYPES: Readonly<Record<string, SourceType>> = {
  tinyint: { kind: 'integer', bits: 8 },
  smallint: { kind: 'integer', bits: 16 },
  integer: { kind: 'integer', bits: 32 },
  bigint: { kind: 'integer', bits: 64 },
  real: { kind: 'float', bits: 32 },
  double: { kind: 'float', bits: 64 },
  boolean: { kind: 'boolean' },
  varchar: { kind: 'text' },
  char: { kind: 'char' },
  uuid: { kind: 'uuid' },
  date: { kind: 'date' },
  timestamp: { kind: 'timestamp' },
  'timestamp with time zone': { kind: 'timestamptz' },
}

/** Reads the name of a type as `information_schema.columns` has it, such as `timestamp(3) with time zone`. */
export function sourceTypeOf(name: string): SourceType | undefined {
  const decimal = /^decimal\((\d+),\s?(\d+)\)$/.exec(name)
  if (decimal !== null) return { kind: 'decimal', precision: Number(decimal[1]), scale: Number(decimal[2]) }
  const plain = name.replace(/^(varchar|char|timestamp)\(\d+\)/, '$1')
  return Object.hasOwn(TYPES, plain) ? TYPES[plain] : undefined
}
