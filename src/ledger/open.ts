import { isAbsolute } from 'node:path'
import { LedgerFault } from './fault.ts'
import { openPostgresLedger, type PostgresLedger } from './postgres/ledger.ts'
import { openSqliteLedger, type SqliteLedger } from './sqlite/ledger.ts'

/**
 * Opens the ledger that `url` names: a PostgreSQL database (`postgres://` or `postgresql://`) or the absolute path of a
 * SQLite file.
 * @throws LedgerFault `in-use` or `unusable`.
 */
export async function openLedger(options: { readonly url: string }): Promise<PostgresLedger | SqliteLedger> {
  const { url } = options
  if (/^postgres(ql)?:\/\//i.test(url)) return openPostgresLedger({ url })
  if (!isAbsolute(url))
    throw new LedgerFault('unusable', "the path of a ledger's SQLite file must be absolute")
  return openSqliteLedger({ path: url })
}
