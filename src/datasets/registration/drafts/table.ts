import type { TableColumn } from '../../../core/dataset/dataset.ts'
import { parseJoinedColumn } from '../../../core/dataset/joins.ts'
import { sourceTypeOf as typeOfPostgres } from '../../../engines/postgres/encodings/source.ts'
import { parseTableName, type TableEngine } from '../../../engines/tables/table-engine.ts'
import { sourceTypeOf as typeOfTrino } from '../../../engines/trino/encodings/source.ts'
import { must } from '../../../privacy/must.ts'
import { refuseField } from '../../../privacy/refusal.ts'
import { type Connections, readable, resolveTable } from '../sources/table.ts'
import type { DescribedSource, DescribedType, Remark } from './described.ts'
import { OPEN_QUESTION } from './open-questions.ts'

/** A table to draft a declaration for. */
export interface DraftedTable {
  readonly kind: 'table'
  readonly connection: string
  readonly table: string
  /** True for a joined source: the table with those to which its foreign keys lead. */
  readonly joins?: boolean
}

/**
 * Describes a table or view by the names and types of its columns, with its joins if they are asked for. No row is read.
 * @throws Refusal `source-refused`, `source-unreadable` or `unavailable`
 */
export async function describeTable(
  connections: Connections,
  { joins = false, ...drafted }: DraftedTable,
  signal: AbortSignal,
): Promise<DescribedSource> {
  const source = resolveTable(connections, { ...drafted, mode: 'live' })
  const table = parseTableName(source.table)
  const engine = connections.get(source.connection)?.engine
  const columns = await readable(async () => engine?.describe(table, signal), signal)
  if (columns === undefined)
    throw refuseField('source-refused', 'source.table', 'names no table or view that the connection may read')
  const described = {
    source: { ...source },
    name: table.name,
    columns: columns.map(describeColumn),
    notes: [],
  }
  if (!joins || engine === undefined) return described
  const found = await readable(() => followReferences(engine, source.table, columns, signal), signal)
  const { tables } = found
  if (tables.length === 1) return { ...described, notes: found.notes }
  return {
    name: table.name,
    source: {
      kind: 'joined',
      tables: Object.fromEntries(tables.map(({ name, full }) => [name, { ...source, table: full }])),
      joins: found.joins,
    },
    columns: tables.flatMap((each) =>
      each.columns.map((column) => ({ ...describeColumn(column), table: each.name })),
    ),
    notes: found.notes,
    questions: found.joins.map(({ to }, i) => ({
      field: `source.joins.${i}.public`,
      text: publicQuestion(to),
    })),
  }
}

function publicQuestion(to: string): string {
  const { table } = must(parseJoinedColumn(to), 'the table of a key')
  return (
    `Is ${table} a list that does not depend on people, such as all licensed hospitals? Then true. If its rows are people, or ` +
    'lead to people: false. The key at the end of these joins identifies the people.'
  )
}

/** A table of a drafted join. */
interface FollowedTable {
  /** Its name in the declaration. */
  readonly name: string
  readonly full: string
  readonly columns: readonly TableColumn[]
}

/** Follows foreign keys from a table, breadth first. One join leads to each table, and the number of tables is limited. */
async function followReferences(
  engine: TableEngine,
  full: string,
  columns: readonly TableColumn[],
  signal: AbortSignal,
) {
  const tables: FollowedTable[] = [{ name: nameIn([], parseTableName(full).name), full, columns }]
  const joins: { readonly from: string; readonly to: string; readonly public: string }[] = []
  const notes: Remark[] = []
  const remark = (text: string) => notes.push({ field: 'source', text })
  for (const { name, full: from, columns: own } of tables) {
    for (const { column, table, key } of (await engine.references?.(parseTableName(from), signal)) ?? []) {
      const to = `${table.schema}.${table.name}`
      const reference = `The foreign key ${name}.${column} leads to ${to}`
      if (!own.some((each) => each.name === column)) continue
      if (tables.some((each) => each.full === to))
        remark(`${reference} as well, to which one join leads already.`)
      else if (tables.length === MOST_TABLES)
        remark(`${reference}: at most ${MOST_TABLES} tables are joined.`)
      else {
        const found = await engine.describe(table, signal)
        if (!found?.some((each) => each.name === key)) remark(`${reference}, which cannot be read.`)
        else {
          const other = nameIn(tables, table.name)
          tables.push({ name: other, full: to, columns: found })
          joins.push({ from: `${name}.${column}`, to: `${other}.${key}`, public: OPEN_QUESTION })
        }
      }
    }
  }
  if (joins.length === 0)
    remark('The database declares no foreign key that leads from this table to another one.')
  return { tables, joins, notes }
}

/** Largest number of joined tables. */
const MOST_TABLES = 10

/** Derives the name of a joined table, which no other table has. */
function nameIn(tables: readonly FollowedTable[], table: string): string {
  const plain =
    table
      .replace(/[^A-Za-z0-9_]/g, '_')
      .replace(/^[^A-Za-z]+/, '')
      .slice(0, 28) || 'other'
  const names = [plain, ...Array.from({ length: MOST_TABLES }, (_, i) => `${plain}${i + 2}`)]
  const isFree = (name: string) => tables.every((each) => each.name.toLowerCase() !== name.toLowerCase())
  return must(names.find(isFree), 'a free name')
}

function describeColumn({ name, type, notNull }: TableColumn) {
  return { name, type: describeDatabaseType(type), notNull }
}

/** Returns the kind of values of a type of a database, such as `numeric(10,2)` or `timestamp(3) with time zone`. */
function describeDatabaseType(name: string): DescribedType {
  const type = typeOfPostgres(name) ?? typeOfTrino(name)
  if (type === undefined) return { kind: 'other', name: name.slice(0, 40) }
  switch (type.kind) {
    case 'decimal':
    case 'float':
      return { kind: 'number' }
    case 'enum':
      return { kind: 'text' }
    case 'timestamptz':
      return { kind: 'timestamp' }
    default:
      return { kind: type.kind }
  }
}
