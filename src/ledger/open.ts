import { isAbsolute } from 'node:path'
import { LedgerFault } from './ledger.ts'
import { openPostgresLedger, type PostgresLedger } from './postgres/ledger.ts'
import { openSqliteLedger, type SqliteLedger } from './sqlite/ledger.ts'

/**
 * Open the ledger that `url` names: a PostgreSQL database (`postgres://` or `postgresql://`), or else the absolute path of
 * a SQLite file.
 * @throws LedgerFault `in-use` or `unusable`.
 */
export async function openLedger(options: { readonly url: string }): Promise<PostgresLedger | SqliteLedger> {
  const { url } = options
  if (/^postgres(ql)?:\/\//i.test(url)) return openPostgresLedger({ url })
  if (!isAbsolute(url))
    throw new LedgerFault('unusable', "a ledger's SQLite file is named by its absolute path")
  return openSqliteLedger({ path: url })
}
