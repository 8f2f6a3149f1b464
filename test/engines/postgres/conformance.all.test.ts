import { openPostgresTables } from '../../../src/engines/postgres/engine.ts'
import { describePostgres } from '../../servers/postgres.ts'
import { withClient } from '../../servers/postgres-server.ts'
import { testConformance } from '../conformance.ts'
import { connectionOf, loadTable } from './tables.ts'

describePostgres('PostgreSQL', ({ createDatabase }) => {
  testConformance(async () => {
    const url = await createDatabase()
    return {
      engine: openPostgresTables(connectionOf(url)),
      load: (table) => withClient(url, (client) => loadTable(client, table)),
    }
  })
})
