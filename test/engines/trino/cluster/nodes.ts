import { expect, test } from 'vitest'
import { openTrinoEngine } from '../../../../src/engines/trino/engine.ts'
import type { Trino } from '../../../servers/trino.ts'
import { connectionTo } from '../fake-coordinator.ts'
import { COUNT_AND_SUM, lineItems, TINY_ANSWER } from '../slow-table.ts'

/** Tests that both nodes work, and what is found in them. */
export function testNodes(trino: Trino): void {
  test('both work on a query', async () => {
    const { hostname, port } = new URL(trino.url)
    const engine = openTrinoEngine(
      connectionTo(hostname, Number(port), { catalog: 'tpch', schema: 'tiny', user: 'two-nodes' }),
    )
    const table = lineItems('tiny')
    expect(await engine.describe(table.table)).toEqual(expect.arrayContaining([...table.columns]))
    engine.open(table)
    const tasksOf = () =>
      trino.query(
        'SELECT query_id, node_id, sum(processed_input_rows) FROM system.runtime.tasks JOIN system.runtime.queries USING (query_id) ' +
          `WHERE "user" = 'two-nodes' AND query LIKE '%sotto_kept_rows%' GROUP BY 1, 2`,
      )
    let asked = 0
    // On a slow machine one node may have read every row before the other begins.
    const nodes = async () => {
      expect(await engine.aggregate(table.dataset, COUNT_AND_SUM)).toEqual(TINY_ANSWER)
      asked += 1
      return new Set((await tasksOf()).map(([, node]) => node))
    }
    await expect.poll(nodes, { timeout: 60_000 }).toEqual(new Set(['coordinator', 'worker']))
    const tasks = await tasksOf()
    expect(new Set(tasks.map(([id]) => id)).size).toBe(asked)
    for (const [, , rows] of tasks) expect(Number(rows)).toBeGreaterThan(1_000)
    await engine.close()
  })

  test('an unknown table has no description', async () => {
    const { hostname, port } = new URL(trino.url)
    const engine = openTrinoEngine(connectionTo(hostname, Number(port), { catalog: 'tpch', schema: 'tiny' }))
    expect(await engine.describe({ schema: 'tiny', name: 'no such table' })).toBeUndefined()
    expect(await engine.describe({ schema: "no ' schema", name: 'lineitem' })).toBeUndefined()
    expect(await engine.reachable()).toBe(true)
    await engine.close()
  })
}
