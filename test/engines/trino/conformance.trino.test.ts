import { openTrinoEngine } from '../../../src/engines/trino/engine.ts'
import { describeTrino, type SharedTrino } from '../../trino.ts'
import { type TestedDatabase, testConformance } from '../conformance.ts'
import { connectionTo } from './fake-coordinator.ts'
import { loadTable } from './tables.ts'

/** The engine over the schema `conformance` of a catalog, with tables that are created there. */
async function openSchema(trino: SharedTrino, catalog: 'memory' | 'iceberg'): Promise<TestedDatabase> {
  const { hostname, port } = new URL(trino.url)
  const limits = { connections: 2, statementTimeoutMs: 600_000, registrationTimeoutMs: 600_000 }
  await trino.query(`CREATE SCHEMA ${catalog}.conformance`)
  return {
    engine: openTrinoEngine(connectionTo(hostname, Number(port), { catalog, schema: 'conformance', limits })),
    load: (table) => loadTable(trino, `${catalog}.conformance`, table),
  }
}

describeTrino('Trino over tables in memory', (trino) => {
  testConformance(() => openSchema(trino, 'memory'), { unbounded: false, rows: 10_000, queries: 2 })
})

describeTrino('Trino over tables of Iceberg', (trino) => {
  testConformance(() => openSchema(trino, 'iceberg'), {
    encodings: false,
    tables: 1,
    rows: 1_000,
    queries: 1,
  })
})
