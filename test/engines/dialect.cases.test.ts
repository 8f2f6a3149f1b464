import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Dataset } from '../../src/core/dataset/dataset.ts'
import type { Aggregate } from '../../src/core/planner/language/aggregate.ts'
import { type Dialect, quoteIdentifier, standardSql } from '../../src/engines/dialect.ts'
import { ingest } from '../../src/engines/duckdb/ingestion/ingest.ts'
import { openLockedInstance } from '../../src/engines/duckdb/instance.ts'
import { printAggregate } from '../../src/engines/sql-printer.ts'
import { readAggregate } from '../../src/engines/sql-result.ts'
import { cases } from '../cases.ts'
import { folderForAll } from '../folders.ts'
import { aggregate, aggregateOfPeople, columns, randomRows } from './arbitraries.ts'
import { datasetOf, storedRows } from './fixture.ts'
import { writePeople } from './people-table.ts'
import { aggregateRows, type StoredRow } from './reference-engine.ts'
import { PERSON, RANK } from './reference-people.ts'

/**
 * A dialect that differs from DuckDB's wherever it may: values are literals, 128-bit integers are decimals, and the
 * relation is a subquery.
 */
const otherDialect: Dialect = {
  ...standardSql,
  relation: ({ privacyUnit }) => {
    const names = columns.map(({ name }) => name)
    if (privacyUnit.kind === 'person') names.push(PERSON, RANK)
    return `(SELECT ${names.map(quoteIdentifier).join(', ')} FROM rows) AS stored`
  },
  value: (value, _type, bind) => (typeof value === 'string' ? `$${bind(value)}` : `(${value})`),
  sum: (integers) => `sum(CAST(${integers} AS DECIMAL(38, 0)))`,
  quotient: (dividend, divisor) => `divide(CAST(${dividend} AS INT128), CAST(${divisor} AS INT128))`,
  wideQuotient: (dividend, divisor) => `divide(CAST(${dividend} AS INT128), CAST(${divisor} AS INT128))`,
}

async function run(connection: DuckDBConnection, sql: string, parameters: readonly unknown[]) {
  const values = parameters.map((value) => {
    if (typeof value !== 'string') throw new Error('only texts are bound')
    return value
  })
  return (await connection.runAndReadAll(sql, values)).getRows()
}

const folder = folderForAll()

/** Compares statements in the other dialect, run over a dataset's file, with the reference. */
async function expectReference(
  { dataset, rows }: { readonly dataset: Dataset; readonly rows: readonly StoredRow[] },
  aggregates: fc.Arbitrary<Aggregate>,
  numRuns: number,
): Promise<void> {
  const instance = await openLockedInstance(join(folder.path, `${dataset.id}.duckdb`), 'READ_ONLY', {
    threads: 1,
    memoryLimit: '512MB',
    temporaryDirectory: join(folder.path, 'temporary'),
    maxTemporaryDirectorySize: '1GB',
  })
  const connection = await instance.connect()
  try {
    await fc.assert(
      fc.asyncProperty(aggregates, async (given) => {
        const { sql, parameters, cells } = printAggregate(given, dataset, otherDialect)
        expect(sql).not.toMatch(/HUGEINT|count_if|\/\/|QUALIFY/)
        expect(readAggregate(given, cells, await run(connection, sql, parameters))).toEqual(
          aggregateRows(given, rows),
        )
      }),
      { numRuns },
    )
  } finally {
    connection.disconnectSync()
    instance.closeSync()
  }
}

test('an aggregate of rows has the same integers in another dialect', async () => {
  const [sourcePath, targetPath] = [join(folder.path, 'rows.csv'), join(folder.path, 'rows.duckdb')]
  await writeFile(sourcePath, randomRows(200, 31))
  await ingest({ sourcePath, format: 'csv', columns, privacyUnit: { kind: 'row' }, targetPath })
  const rows = await storedRows(targetPath, columns)
  await expectReference({ dataset: datasetOf(columns, 'rows'), rows }, aggregate, cases(200))
})

test('an aggregate of people has the same integers in another dialect', async () => {
  const people = await writePeople(folder.path, 'people', { rows: 200, people: 25, constant: true })
  await expectReference(people, aggregateOfPeople, cases(200))
})
