import { describe } from 'vitest'
import { openTrinoEngine } from '../../../../src/engines/trino/engine.ts'
import type { Trino } from '../../../servers/trino.ts'
import { type ConformanceOptions, testConformance } from '../../conformance.ts'
import { connectionTo } from '../fake-coordinator.ts'
import { loadTable } from '../tables.ts'

/** Tests conformance over tables that are created in the schema `conformance` of two catalogs. */
export function testTables(trino: Trino): void {
  const testCatalog = (catalog: 'memory' | 'iceberg', options: ConformanceOptions) =>
    testConformance(async () => {
      const { hostname, port } = new URL(trino.url)
      const limits = { connections: 2, statementTimeoutMs: 600_000, registrationTimeoutMs: 600_000 }
      await trino.query(`CREATE SCHEMA ${catalog}.conformance`)
      return {
        engine: openTrinoEngine(
          connectionTo(hostname, Number(port), { catalog, schema: 'conformance', limits }),
        ),
        load: (table) => loadTable(trino, `${catalog}.conformance`, table),
      }
    }, options)
  describe('in memory', () => testCatalog('memory', { unbounded: false, rows: 1_000, queries: 2 }))
  describe('of Iceberg', () => testCatalog('iceberg', { encodings: false, tables: 1, rows: 400, queries: 1 }))
}
