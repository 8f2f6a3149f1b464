import path from 'node:path'
import { type Config, readConfig } from '../../config.ts'
import { BackupError, type StoredData, UnsoundLedger, writeBackup } from '../../datasets/backup.ts'
import { type CommandDefinition, Misuse, REFUSED } from '../command.ts'

/** `npx sotto backup` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Writes a backup of the ledger, the catalog with the ingested rows, the digests of API keys and the known heads to
<folder>. The service may be running. Verifies the copy of the ledger.

Source files, uploads, the file of connections and the signing key are not part of it. If the ledger is in PostgreSQL,
run pg_dump after this command. With SOTTO_CATALOG_URL, the catalog and the keys are in that dump as well.`,
    )
    .argument('<folder>', 'a new or empty folder')
    .addHelpText('after', '\nSOTTO_DATA_DIR and SOTTO_LEDGER_URL name the data folder and the ledger.')
    .action((folder: string) => {
      const target = path.resolve(folder)
      return reportingBackup(async () => {
        const events = await writeBackup(storedData(readConfig(process.env)), target)
        const ledger = events === undefined ? 'without the PostgreSQL database' : `${events} events verified`
        console.log(`${target}: backup complete, ${ledger}`)
      })
    })
}

/** The data folder and the ledger of a configuration. */
export function storedData({ dataDirectory, ledgerUrl, catalogUrl, replicated }: Config): StoredData {
  const sharesCatalog = catalogUrl !== undefined
  return replicated ? { dataDirectory, sharesCatalog } : { dataDirectory, ledgerFile: ledgerUrl }
}

/** Runs a command on a backup, and reports its errors and the exit code. */
export async function reportingBackup(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (error instanceof BackupError) throw new Misuse(error.message)
    if (!(error instanceof UnsoundLedger)) throw error
    console.error(error.message)
    process.exitCode = REFUSED
  }
}
