import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Dialect, quoteIdentifier, standardSql } from '../../src/engines/dialect.ts'
import { ingest } from '../../src/engines/duckdb/ingest.ts'
import { openLockedInstance } from '../../src/engines/duckdb/instance.ts'
import { printAggregate } from '../../src/engines/sql-printer.ts'
import { readAggregate } from '../../src/engines/sql-result.ts'
import { aggregate, columns, randomRows } from './arbitraries.ts'
import { datasetOf, storedRows, temporaryFolder } from './fixture.ts'
import { aggregateRows } from './reference-engine.ts'

/**
 * A dialect that differs from DuckDB's wherever it may: values are literals, 128-bit integers are decimals, and the
 * relation is a subquery.
 */
const otherDialect: Dialect = {
  ...standardSql,
  relation: () =>
    `(SELECT ${columns.map(({ name }) => quoteIdentifier(name)).join(', ')} FROM rows) AS stored`,
  value: (value, _type, bind) => (typeof value === 'string' ? `$${bind(value)}` : `(${value})`),
  sum: (integers) => `sum(CAST(${integers} AS DECIMAL(38, 0)))`,
  product: (left, right) => `(CAST(${left} AS DECIMAL(38, 0)) * ${right})`,
  quotient: (dividend, divisor) => `CAST((${dividend} - ${dividend} % ${divisor}) / ${divisor} AS BIGINT)`,
}

async function run(connection: DuckDBConnection, sql: string, parameters: readonly unknown[]) {
  const values = parameters.map((value) => {
    if (typeof value !== 'string') throw new Error('only texts are bound')
    return value
  })
  return (await connection.runAndReadAll(sql, values)).getRows()
}

test('an aggregate has the same integers in another dialect', async () => {
  const folder = await temporaryFolder()
  const [sourcePath, targetPath] = [join(folder.path, 'rows.csv'), join(folder.path, 'rows.duckdb')]
  await writeFile(sourcePath, randomRows(200, 31))
  await ingest({ sourcePath, format: 'csv', columns, privacyUnit: { kind: 'row' }, targetPath })
  const rows = await storedRows(targetPath, columns)
  const dataset = datasetOf(columns, 'rows')
  const instance = await openLockedInstance(targetPath, 'READ_ONLY', {
    threads: 1,
    memoryLimit: '512MB',
    temporaryDirectory: join(folder.path, 'temporary'),
    maxTemporaryDirectorySize: '1GB',
  })
  const connection = await instance.connect()
  try {
    await fc.assert(
      fc.asyncProperty(aggregate, async (given) => {
        const { sql, parameters, cells } = printAggregate(given, dataset, otherDialect)
        expect(sql).not.toMatch(/HUGEINT|count_if|\/\//)
        expect(readAggregate(given, cells, await run(connection, sql, parameters))).toEqual(
          aggregateRows(given, rows),
        )
      }),
      { numRuns: 200 },
    )
  } finally {
    connection.disconnectSync()
    instance.closeSync()
    await folder.remove()
  }
})
