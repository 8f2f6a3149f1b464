import type { TableColumn } from '../../../core/dataset/dataset.ts'
import { ENUM_PREFIX } from '../../../engines/postgres/encodings/source.ts'
import { parseTableName } from '../../../engines/tables/table-engine.ts'
import { refuseField } from '../../../privacy/refusal.ts'
import { type Connections, readable, resolveTable } from '../sources/table.ts'
import type { DescribedSource, DescribedType } from './described.ts'

/** A table to draft a declaration for. */
export interface DraftedTable {
  readonly kind: 'table'
  readonly connection: string
  readonly table: string
}

/**
 * Describes a table or view by the names and types of its columns. No row is read.
 * @throws Refusal `source-refused`, `source-unreadable` or `unavailable`
 */
export async function describeTable(
  connections: Connections,
  drafted: DraftedTable,
  signal: AbortSignal,
): Promise<DescribedSource> {
  const source = resolveTable(connections, { ...drafted, mode: 'live' })
  const table = parseTableName(source.table)
  const engine = connections.get(source.connection)?.engine
  const columns = await readable(async () => engine?.describe(table, signal), signal)
  if (columns === undefined)
    throw refuseField('source-refused', 'source.table', 'names no table or view that the connection may read')
  return { source: { ...source }, name: table.name, columns: columns.map(describeColumn), notes: [] }
}

function describeColumn({ name, type, notNull }: TableColumn) {
  return { name, type: describeDatabaseType(type), notNull }
}

/** Names of the types of PostgreSQL and Trino without their parameters, and the kinds of their values. */
const KINDS: Readonly<Record<string, DescribedType['kind']>> = {
  tinyint: 'integer',
  smallint: 'integer',
  integer: 'integer',
  bigint: 'integer',
  numeric: 'number',
  decimal: 'number',
  real: 'number',
  double: 'number',
  'double precision': 'number',
  boolean: 'boolean',
  text: 'text',
  varchar: 'text',
  char: 'text',
  'character varying': 'text',
  character: 'text',
  date: 'date',
  timestamp: 'timestamp',
  'timestamp without time zone': 'timestamp',
  'timestamp with time zone': 'timestamp',
  uuid: 'uuid',
}

/** Returns the kind of values of a type of a database, such as `numeric(10,2)` or `timestamp(3) with time zone`. */
function describeDatabaseType(type: string): DescribedType {
  if (type.startsWith(ENUM_PREFIX)) return { kind: 'text' }
  const plain = type
    .toLowerCase()
    .replace(/\([^)]*\)/, '')
    .trim()
  const kind = Object.hasOwn(KINDS, plain) ? KINDS[plain] : undefined
  return kind === undefined || kind === 'other' ? { kind: 'other', name: type.slice(0, 40) } : { kind }
}
