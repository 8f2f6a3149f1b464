import type { Source } from '../../tables/comparisons.ts'
import type { SourceType } from '../../tables/encoder.ts'

/** Prefix of the name of an enumerated type. No name that PostgreSQL formats begins with it. */
export const ENUM_PREFIX = 'enum '

const TYPES: Readonly<Record<string, SourceType>> = {
  smallint: { kind: 'integer', bits: 16 },
  integer: { kind: 'integer', bits: 32 },
  bigint: { kind: 'integer', bits: 64 },
  numeric: { kind: 'decimal' },
  real: { kind: 'float', bits: 32 },
  'double precision': { kind: 'float', bits: 64 },
  boolean: { kind: 'boolean' },
  text: { kind: 'text' },
  'character varying': { kind: 'text' },
  character: { kind: 'text', isPadded: true },
  bpchar: { kind: 'text', isPadded: true },
  uuid: { kind: 'uuid' },
  date: { kind: 'date' },
  'timestamp without time zone': { kind: 'timestamp' },
  'timestamp with time zone': { kind: 'timestamptz' },
}

/** Reads a type's name as `format_type` prints it under the search path `pg_catalog`. */
export function sourceTypeOf(name: string): SourceType | undefined {
  if (name.startsWith(ENUM_PREFIX)) return { kind: 'enum' }
  const numeric = /^numeric\((\d+),(-?\d+)\)$/.exec(name)
  if (numeric !== null)
    return { kind: 'decimal', digits: { precision: Number(numeric[1]), scale: Number(numeric[2]) } }
  const plain = name.replace(/^(character|character varying|timestamp)\(\d+\)/, '$1')
  return Object.hasOwn(TYPES, plain) ? TYPES[plain] : undefined
}

/** Prints an expression that is NULL where the source is NULL. */
export function unlessNull({ sql, notNull }: Source, expression: string): string {
  return notNull ? expression : `CASE WHEN ${sql} IS NOT NULL THEN ${expression} END`
}
