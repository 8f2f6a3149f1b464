import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { MOST_TEXTS, MOST_VALUES } from '../../../src/core/dataset/value-limits.ts'
import { temporaryFolder } from '../../folders.ts'
import { column, datasetOf, openTestEngine, withDuckDb } from '../fixture.ts'

const CONNECTIONS = 4

it('counts of as many values as declarations allow succeed on all connections, with the least memory that the configuration accepts', async () => {
  const folder = temporaryFolder()
  const text = `rpad((range % ${MOST_TEXTS})::VARCHAR || '-', 33, '\u{1F600}')`
  await withDuckDb(
    join(folder, 'values.duckdb'),
    `CREATE TABLE rows AS SELECT (range * 2654435761) % 1099511627776 AS x, range % 2 = 0 AS flag, ${text} AS text
      FROM range(${MOST_VALUES})`,
  )
  const columns = [column.integer('x', 0n, 2n ** 40n), column.boolean('flag'), column.string('text')]
  const dataset = datasetOf(columns, 'values')
  const engine = openTestEngine(folder, {
    connectionsPerDataset: CONNECTIONS,
    threads: 2,
    memoryLimit: '320MB',
  })
  onTestFinished(() => engine.close())
  await engine.open(dataset)
  const bounding = { kind: 'one-row-each' } as const
  const groupBy = [{ kind: 'boolean', column: 'flag', nullCell: false }] as const
  const onAll = (count: () => Promise<number>) => Promise.all(Array.from({ length: CONNECTIONS }, count))
  const each = (values: number) => Array<number>(CONNECTIONS).fill(values)

  const indexes = await onAll(
    async () => (await engine.countIndexes(dataset, { column: 'x', bounding })).counts.length,
  )
  expect(indexes).toEqual(each(MOST_VALUES))
  const inCells = await onAll(async () => {
    const cells = await engine.countIndexesInCells(dataset, { column: 'x', groupBy, bounding })
    return cells.reduce((sum, { counts }) => sum + counts.length, 0)
  })
  expect(inCells).toEqual(each(MOST_VALUES))
  const texts = await onAll(
    async () => (await engine.countTexts(dataset, { column: 'text', bounding })).counts.length,
  )
  expect(texts).toEqual(each(MOST_TEXTS))
})
