import { existsSync } from 'node:fs'
import path from 'node:path'
import { readConfig } from '../../config.ts'
import { LedgerFault } from '../../ledger/fault.ts'
import { type CommandDefinition, Misuse } from '../command.ts'
import { readDatabaseUrl } from './database-url.ts'

/** `npx sotto ledger copy` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Copies the ledger from its SQLite file into an empty PostgreSQL database, verifies the copy and compares the heads of
both. From then on no service opens the file, so that no budget can be spent twice. Stop the service first.
An interrupted copy is completed by the same command.`,
    )
    .argument(
      '<file>',
      'a file that contains the postgres:// URL of the database, as for SOTTO_LEDGER_URL_FILE',
    )
    .addHelpText(
      'after',
      `\nSOTTO_DATA_DIR and SOTTO_LEDGER_URL name the ledger to copy.
Exit code: 0 copied, 1 the ledger or the database cannot be used, 2 nothing could be copied.`,
    )
    .action(copyToDatabase)
}

async function copyToDatabase(file: string): Promise<void> {
  const { ledgerUrl, replicated } = readConfig(process.env)
  if (replicated)
    throw new Misuse(
      'SOTTO_LEDGER_URL: must name a SQLite ledger, which is copied to the database in the file',
    )
  if (!existsSync(ledgerUrl))
    throw new Misuse(
      `no ledger found at ${ledgerUrl}: set SOTTO_DATA_DIR or SOTTO_LEDGER_URL to its location`,
    )
  const url = readDatabaseUrl(file)
  const { copyLedger } = await import('../../ledger/copy.ts')
  const { earlier, heads } = await copyLedger({ path: ledgerUrl, url }).catch((error: unknown) => {
    const isInUse = error instanceof LedgerFault && error.kind === 'in-use'
    throw isInUse ? new Misuse(`${error.message}. Stop the service first.`) : error
  })
  for (const { dataset, sequence, hash } of heads)
    console.log(`${dataset}: ${sequence} events, head ${hash} in both`)
  console.log(
    earlier
      ? 'The ledger had been copied before.'
      : 'The ledger was copied and verified. No service opens its file from now on.',
  )
  console.log(`Start the service with SOTTO_LEDGER_URL_FILE=${path.resolve(file)}`)
}
