import type { PostgresConnection } from '../tables/connection.ts'
import { joinsTables } from '../tables/joined.ts'
import { createOpenTables } from '../tables/open-tables.ts'
import type { TableEngine } from '../tables/table-engine.ts'
import { checkAgain, createLookups, readingTerms } from './describe.ts'
import { postgresDialect } from './dialect.ts'
import { createRegistration } from './registration.ts'
import { openTransactions } from './sessions.ts'

/**
 * Reads tables of one PostgreSQL database in place. Every statement runs in a read-only transaction with settings of its
 * own, after the table's columns have been compared with those of the registration.
 * @param onWritable called once, when the connection first accepts a table that its role may change
 */
export function openPostgresTables(
  connection: PostgresConnection,
  onWritable: () => void = () => {},
): TableEngine {
  const transactions = openTransactions(connection)
  const { lockable, ...lookups } = createLookups(connection, transactions, onWritable)
  const { closeAll, ...openTables } = createOpenTables({
    dialect: postgresDialect,
    use: (table, signal, work) => {
      const timeoutMs = connection.limits.statementTimeoutMs
      const terms = readingTerms(table, {
        isolation: 'statement',
        timeoutMs,
        signal,
      })
      return transactions.run({ ...terms, dataset: table.dataset.id }, async (session) => {
        const answer = await work(session.each)
        if (joinsTables(table)) await checkAgain(session, terms)
        return answer
      })
    },
  })

  return {
    ...openTables,
    ...lookups,
    ...createRegistration(connection, transactions, { lockable }),
    healthy: lookups.reachable,
    close: async () => {
      await transactions.close()
      closeAll()
    },
  }
}
