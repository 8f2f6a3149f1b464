import { openTrinoEngine } from '../../../src/engines/trino/engine.ts'
import { describeTrino } from '../../trino.ts'
import { testConformance } from '../conformance.ts'
import { connectionTo } from './fake-coordinator.ts'
import { loadTable } from './tables.ts'

describeTrino('Trino over tables in memory', (trino) => {
  testConformance(
    async () => {
      const { hostname, port } = new URL(trino.url)
      const limits = { connections: 2, statementTimeoutMs: 600_000, registrationTimeoutMs: 600_000 }
      await trino.query('CREATE SCHEMA memory.conformance')
      return {
        engine: openTrinoEngine(connectionTo(hostname, Number(port), { schema: 'conformance', limits })),
        load: (table) => loadTable(trino, 'memory.conformance', table),
      }
    },
    { unbounded: false, rows: 2_000, queries: 4 },
  )
})
