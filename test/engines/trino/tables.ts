import { quoteIdentifier } from '../../../src/engines/dialect.ts'
import type { TableName } from '../../../src/engines/tables/table-engine.ts'
import type { Trino } from '../../servers/trino.ts'
import type { SourceTable, SourceType } from '../conformance-tables.ts'

/** Characters of the values in one statement; each takes two in the statement. */
const BATCH_CHARACTERS = 200_000

/** Catalogs of the test cluster in which tables can be created. */
type Catalog = 'memory' | 'iceberg'

/** Creates a table in a schema of a catalog and inserts its rows. */
export async function loadTable(
  { query }: Pick<Trino, 'query'>,
  schema: `${Catalog}.${string}`,
  { name, columns, rows }: SourceTable,
): Promise<TableName> {
  const table = `${schema}.${quoteIdentifier(name)}`
  const types = columns.map(({ type }) =>
    schema.startsWith('iceberg.') ? typeOfIceberg(type) : typeOf(type),
  )
  const definitions = columns.map(({ column }, i) => `${quoteIdentifier(column.name)} ${types[i]}`)
  await query(`CREATE TABLE ${table} (${definitions.join(', ')})`)
  const values = types.map((type, i) => `CAST(r[${i + 1}] AS ${type})`)
  for (const batch of batchesOf(rows.map((row) => row.map((value, i) => inTrino(value, columns[i]?.type))))) {
    const texts = `json_parse(from_utf8(X'${Buffer.from(JSON.stringify(batch)).toString('hex')}'))`
    await query(
      `INSERT INTO ${table} SELECT ${values.join(', ')} FROM UNNEST(CAST(${texts} AS ARRAY(ARRAY(VARCHAR)))) AS t(r)`,
    )
  }
  return { schema: schema.replace(/^.*\./, ''), name }
}

type Row = readonly (string | null)[]

function batchesOf(rows: readonly Row[]): readonly (readonly Row[])[] {
  const batches: Row[][] = []
  let characters = BATCH_CHARACTERS
  for (const row of rows) {
    characters += JSON.stringify(row).length
    if (characters > BATCH_CHARACTERS) {
      batches.push([])
      characters = 0
    }
    batches.at(-1)?.push(row)
  }
  return batches
}

function typeOf(type: SourceType): string {
  switch (type) {
    case 'text':
      return 'varchar'
    case 'timestamp':
      return 'timestamp(6)'
    case 'timestamptz':
      return 'timestamp(6) with time zone'
    default:
      return type
  }
}

/** Iceberg has fewer types: those of the same values that it has. */
function typeOfIceberg(type: SourceType): string {
  if (type === 'smallint') return 'integer'
  return /^(var)?char\(/.test(type) ? 'varchar' : typeOf(type)
}

function inTrino(value: string | null, type: SourceType | undefined): string | null {
  if (value === null) return null
  if (type === 'timestamptz') return value.replace('T', ' ').replace('Z', ' UTC')
  if (type !== 'real' && type !== 'double') return value
  return value.replace(/^(-?)inf$/, '$1Infinity').replace('nan', 'NaN')
}
