import { Client } from 'pg'
import { openPostgresTables } from '../../../src/engines/postgres/engine.ts'
import { describePostgres } from '../../postgres.ts'
import { testConformance } from '../conformance.ts'
import { connectionOf, loadTable } from './tables.ts'

describePostgres('PostgreSQL', ({ createDatabase }) => {
  testConformance(async () => {
    const url = await createDatabase()
    return {
      engine: openPostgresTables(connectionOf(url)),
      load: async (table) => {
        const client = new Client(url)
        await client.connect()
        try {
          return await loadTable(client, table)
        } finally {
          await client.end()
        }
      },
    }
  })
})
