import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TableEngine } from '../../../../src/engines/tables/table-engine.ts'
import { openTrinoEngine } from '../../../../src/engines/trino/engine.ts'
import type { Trino } from '../../../servers/trino.ts'
import { loadShop, question, type Shops, testJoins } from '../../joined-shops.ts'
import { connectionTo } from '../fake-coordinator.ts'

/** Tables with their columns and types. */
const TABLES = {
  lines: { order: 'integer', product: 'varchar', pieces: 'integer' },
  orders: { code: 'integer', customer: 'varchar', channel: 'varchar(4)' },
  customers: { id: 'varchar(9)', age: 'integer' },
  products: { code: 'bigint', name: 'varchar' },
  flat: {
    'customers.id': 'varchar',
    'lines.pieces': 'integer',
    'orders.channel': 'varchar',
    'customers.age': 'integer',
    'products.name': 'varchar',
  },
} as const

/** Tests joins of tables in the schema `public` of the memory catalog. */
export function testJoined(trino: Trino): void {
  let engine: TableEngine
  beforeAll(async () => {
    await trino.query('CREATE SCHEMA memory.public')
    for (const [name, columns] of Object.entries(TABLES)) {
      const printed = Object.entries(columns).map(([column, type]) => `"${column}" ${type}`)
      await trino.query(`CREATE TABLE memory.public.${name} (${printed.join(', ')})`)
    }
    const { hostname, port } = new URL(trino.url)
    engine = openTrinoEngine(connectionTo(hostname, Number(port), { catalog: 'memory', schema: 'public' }))
  })
  afterAll(() => engine?.close())

  const insert: Shops['insert'] = async (name, rows) => {
    const types: readonly string[] = Object.values(TABLES[name as keyof typeof TABLES])
    const values = rows.map((row) => {
      const texts = row.map((value, i) => `CAST(${value === null ? 'NULL' : `'${value}'`} AS ${types[i]})`)
      return `(${texts.join(', ')})`
    })
    await trino.query(`TRUNCATE TABLE memory.public.${name}`)
    if (values.length > 0) await trino.query(`INSERT INTO memory.public.${name} VALUES ${values.join(', ')}`)
  }
  testJoins(() => ({ engine, insert }), 1)

  it.each(['orders', 'products'] as const)('fail where a key of %s is repeated', async (name) => {
    const rows = Array.from({ length: 5 }, (_, code) => String(code))
    const shop = {
      lines: rows.map((code) => [code, '0', '3'] as [string, string, '3']),
      orders: rows.map((code) => [code, code, 'web'] as [string, string, 'web']),
      customers: rows.map((id) => [id, '7'] as [string, '7']),
      ...{ products: 1, dangling: 'null' as const },
    }
    const joined = await loadShop({ engine, insert }, shop)
    engine.open(joined)
    const cells = () => engine.aggregate(joined.dataset, question)
    expect((await cells()).flat().at(0)).toBeDefined()
    // NULL is no key, and may be repeated.
    await trino.query(
      `INSERT INTO memory.public.${name} SELECT NULL, x.* FROM (VALUES 1, 2) CROSS JOIN (SELECT ${name === 'orders' ? "'0', 'web'" : "'nothing'"}) AS x`,
    )
    await cells()
    await trino.query(`INSERT INTO memory.public.${name} SELECT * FROM memory.public.${name} WHERE code = 0`)
    expect((await engine.inspect(joined)).joined?.joins.map(({ repeated }) => repeated)).toEqual(
      joined.table && 'joins' in joined.table
        ? joined.table.joins.joins.map(({ to }) => (to.table === name ? 1 : 0))
        : [],
    )
    await expect(cells()).rejects.toMatchObject({ name: 'EngineFailure' })
    await expect(engine.read(joined)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      name: 'EngineFailure',
    })
    await engine.closeDataset(joined.dataset)
  })
}
