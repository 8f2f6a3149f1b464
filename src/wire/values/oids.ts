import type { CellType } from '../../answers/sql/rows/row-values.ts'
import type { WireColumn } from '../protocol/backend.ts'

/** OIDs of PostgreSQL's types, by their name in pg_type. */
export const OID = {
  bool: 16,
  char: 18,
  name: 19,
  int8: 20,
  int2: 21,
  int4: 23,
  regproc: 24,
  text: 25,
  oid: 26,
  float4: 700,
  float8: 701,
  unknown: 705,
  bpchar: 1042,
  varchar: 1043,
  date: 1082,
  time: 1083,
  timestamp: 1114,
  timestamptz: 1184,
  timetz: 1266,
  numeric: 1700,
  int2Array: 1005,
  int4Array: 1007,
  textArray: 1009,
  int8Array: 1016,
} as const

/** Names of types in SQL, by OID. The others have their own name. */
export const SQL_NAMES: ReadonlyMap<number, string> = new Map<number, string>([
  [OID.bool, 'boolean'],
  [OID.char, '"char"'],
  [OID.int8, 'bigint'],
  [OID.int2, 'smallint'],
  [OID.int4, 'integer'],
  [OID.float4, 'real'],
  [OID.float8, 'double precision'],
  [OID.bpchar, 'character'],
  [OID.varchar, 'character varying'],
  [OID.time, 'time without time zone'],
  [OID.timetz, 'time with time zone'],
  [OID.timestamp, 'timestamp without time zone'],
  [OID.timestamptz, 'timestamp with time zone'],
])

const SIZES: ReadonlyMap<number, number> = new Map([
  [OID.bool, 1],
  [OID.char, 1],
  [OID.name, 64],
  [OID.int2, 2],
  [OID.int4, 4],
  [OID.oid, 4],
  [OID.date, 4],
  [OID.float4, 4],
  [OID.int8, 8],
  [OID.float8, 8],
  [OID.timestamp, 8],
  [OID.timestamptz, 8],
])

/** The type of a cell of an answer. Instants have a time zone, UTC. */
const OF_CELLS: Readonly<Record<CellType, number>> = {
  text: OID.text,
  number: OID.float8,
  integer: OID.int8,
  boolean: OID.bool,
  date: OID.date,
  timestamp: OID.timestamptz,
}

/** Describes a column of rows. */
export function wireColumn(name: string, type: number): WireColumn {
  return { name, type, size: SIZES.get(type) ?? -1 }
}

/** Describes a column of the rows of a statement. */
export function columnOfCells({
  name,
  type,
}: {
  readonly name: string
  readonly type: CellType
}): WireColumn {
  return wireColumn(name, OF_CELLS[type])
}

/** Returns the type of a parameter that is compared with a column of a dataset. */
export function typeOfCompared(type: string): number {
  switch (type) {
    case 'integer':
      return OID.int8
    case 'number':
      return OID.float8
    case 'boolean':
      return OID.bool
    case 'date':
      return OID.date
    case 'timestamp':
      return OID.timestamptz
    default:
      return OID.text
  }
}
