import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Aggregate, Statistic } from '../../../src/core/planner/language/aggregate.ts'
import type { DuckDbEngine } from '../../../src/engines/duckdb/engine.ts'
import { temporaryFolder } from '../../folders.ts'
import { column, datasetOf, openTestEngine, withDuckDb } from '../fixture.ts'

const count: Aggregate = { groupBy: [], statistics: [{ kind: 'count' }], bounding: { kind: 'one-row-each' } }

function engineOver(folder: string): DuckDbEngine {
  const engine = openTestEngine(folder)
  onTestFinished(() => engine.close())
  return engine
}

it('count a thousand predicates with less processor time than 400 take with count(*) FILTER', async () => {
  const folder = temporaryFolder()
  await withDuckDb(
    join(folder, 'thousand.duckdb'),
    'CREATE TABLE rows AS SELECT (range * 7919) % 1000003 AS x FROM range(100000)',
  )
  const dataset = datasetOf([column.integer('x', 0n, 1_000_003n)], 'thousand')
  const filters = Array.from({ length: 400 }, (_, i) => `count(*) FILTER (WHERE x <= ${i * 1_000})`)
  const filtering = process.cpuUsage()
  await withDuckDb(
    join(folder, 'thousand.duckdb'),
    'SET threads = 1',
    `SELECT ${filters.join(', ')} FROM rows`,
  )
  const filtered = process.cpuUsage(filtering)
  const engine = engineOver(folder)
  await engine.open(dataset)
  const statistics = Array.from(
    { length: 1_000 },
    (_, i): Statistic => ({
      kind: 'count',
      where: { kind: 'index-between', column: 'x', upper: BigInt(i) * 1_000n },
    }),
  )
  const counting = process.cpuUsage()
  expect(await engine.aggregate(dataset, { ...count, statistics })).toHaveLength(1_000)
  expect(process.cpuUsage(counting).user).toBeLessThan(filtered.user)
})
