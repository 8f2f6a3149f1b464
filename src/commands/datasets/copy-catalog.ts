import path from 'node:path'
import { readConfig } from '../../config.ts'
import { CatalogCopyError, copyEntries } from '../../datasets/catalog/copy.ts'
import { copyKeys } from '../../http/access/keys/key-document.ts'
import { requireUnused } from '../../ledger/copy.ts'
import { openDocuments } from '../../ledger/documents/documents.ts'
import { LedgerFault } from '../../ledger/fault.ts'
import { useOnce } from '../../ledger/postgres/connection.ts'
import { type CommandDefinition, Misuse } from '../command.ts'
import { readDatabaseUrl } from '../ledger/database-url.ts'

/** `npx sotto copy-catalog` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Copies the catalog and the API keys from the data folder into a PostgreSQL database, for SOTTO_CATALOG_URL. Ingested rows
and source files stay in the folder. Stop all replicas first. The ledger must be in PostgreSQL already.
An interrupted copy is completed by the same command.`,
    )
    .argument(
      '<file>',
      'a file that contains the postgres:// URL of the database, as for SOTTO_CATALOG_URL_FILE',
    )
    .addHelpText(
      'after',
      `\nSOTTO_DATA_DIR and SOTTO_LEDGER_URL name the data folder and the ledger.
Exit code: 0 copied, 2 nothing could be copied.`,
    )
    .action(copyToDatabase)
}

async function copyToDatabase(file: string): Promise<void> {
  const { dataDirectory, ledgerUrl, catalogUrl, replicated } = readConfig(process.env)
  if (!replicated)
    throw new Misuse('SOTTO_LEDGER_URL: must name a PostgreSQL database; see npx sotto ledger copy')
  if (catalogUrl !== undefined)
    throw new Misuse('SOTTO_CATALOG_URL: must not be set; the catalog of the data folder is copied')
  const url = readDatabaseUrl(file)
  await useOnce(ledgerUrl, requireUnused).catch((error: unknown) => {
    const isInUse = error instanceof LedgerFault && error.kind === 'in-use'
    throw isInUse ? new Misuse('a service uses the ledger. Stop all replicas first.') : error
  })
  const documents = await openDocuments(url)
  try {
    const ids = await copyEntries(path.join(dataDirectory, 'datasets'), documents)
    const hasKeys = await copyKeys(dataDirectory, documents)
    console.log(`Copied datasets: ${ids.length}, API keys: ${hasKeys ? 'yes' : 'none in the folder'}`)
  } catch (error) {
    throw error instanceof CatalogCopyError ? new Misuse(error.message) : error
  } finally {
    await documents.close()
  }
  console.log(`Start all replicas with SOTTO_CATALOG_URL_FILE=${path.resolve(file)}`)
}
