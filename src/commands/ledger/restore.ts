import path from 'node:path'
import { readConfig } from '../../config.ts'
import { restoreBackup } from '../../datasets/backup.ts'
import { laterHeads } from '../../ledger/custody/known-heads.ts'
import { isSignatureOf } from '../../ledger/signature.ts'
import { type CommandDefinition, collect, Misuse } from '../command.ts'
import { reportingBackup, storedData } from './backup.ts'
import { type ChangedFile, type EventNote, readNotes, readText } from './noted-events.ts'

interface RestoreOptions {
  readonly checkHead: readonly string[]
  readonly publicKey?: string
  readonly withoutHeads?: boolean
}

/** `npx sotto restore` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Writes a backup into the data folder, which must be new or empty, and verifies the ledger. A backup that lacks an event
of a known head is older than the data that was lost; it is refused, because budgets could be spent again.
Either --check-head or --without-heads is required.`,
    )
    .argument('<backup>', 'the folder of the backup')
    .option(
      '--check-head <file>',
      'known heads: heads.jsonl of the lost data folder, or published heads; may be repeated',
      collect,
      [],
    )
    .option('--public-key <file>', 'accept only heads that are signed with this key')
    .option('--without-heads', 'there are no known heads: the newest backup is restored on trust')
    .addHelpText(
      'after',
      `\nSOTTO_DATA_DIR and SOTTO_LEDGER_URL name the data folder and the ledger.
Exit code: 0 restored, 1 the backup is older than a known head or damaged, 2 nothing could be restored.`,
    )
    .action(restoreFrom)
}

async function restoreFrom(
  folder: string,
  { checkHead: files, publicKey, withoutHeads = false }: RestoreOptions,
): Promise<void> {
  if ((files.length === 0) !== withoutHeads)
    throw new Misuse('give either --check-head <file> or --without-heads')
  const notes = files.flatMap((file) => readNotes(file, undefined)).map(requireUnchanged)
  if (publicKey !== undefined) requireSigned(notes, readText(publicKey))
  const known = notes.reduce(
    (heads, { noted }) => laterHeads(heads, new Map([[noted.dataset, noted]])),
    new Map() as Parameters<typeof laterHeads>[0],
  )
  const config = readConfig(process.env)
  const openDatabase = async () =>
    (await import('../../ledger/open.ts')).openLedger({ url: config.ledgerUrl })
  return reportingBackup(async () => {
    const events = await restoreBackup(path.resolve(folder), storedData(config), known, openDatabase)
    console.log(
      `${config.dataDirectory}: restored, ${events} events verified, ${known.size} known heads found`,
    )
  })
}

function requireUnchanged(note: EventNote | ChangedFile): EventNote {
  if ('changed' in note) throw new Misuse(`${note.file}: was changed: ${note.changed}`)
  return note
}

function requireSigned(notes: readonly EventNote[], publicKey: string): void {
  for (const { file, noted, signature } of notes) {
    if (signature !== undefined && isSignatureOf(noted, signature, publicKey)) continue
    throw new Misuse(`${file}: event ${noted.sequence} of ${noted.dataset} is not signed with the public key`)
  }
}
