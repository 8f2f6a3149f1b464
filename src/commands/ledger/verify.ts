import { isSound } from '../../ledger/protocol/verifier/export.ts'
import { isSignatureOf } from '../../ledger/signature.ts'
import { type CommandDefinition, collect, Misuse, REFUSED } from '../command.ts'
import { followEvents, LEDGER_HELP, type LedgerSource, printFindings } from './ledger-source.ts'
import { type EventNote, readNotes, readText } from './noted-events.ts'

interface VerifyOptions extends LedgerSource {
  readonly head: readonly string[]
  readonly receipt: readonly string[]
  readonly publicKey?: string
}

/** `npx sotto ledger verify` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Recomputes the hashes and balances of a ledger or an export, and looks for published heads and the receipts of answers
in it. Prints one line for each dataset, head and receipt.`,
    )
    .option('--export <file>', 'verify this export instead of the live ledger; "-" reads standard input')
    .option('--dataset <id>', 'verify this dataset only')
    .option('--head <file>', 'look for the published heads in this file; may be repeated', collect, [])
    .option('--receipt <file>', 'look for this answer or receipt; may be repeated', collect, [])
    .option('--public-key <file>', 'check the signatures of heads and receipts with this key')
    .addHelpText(
      'after',
      `${LEDGER_HELP}\nExit code: 0 sound, 1 a check failed, 2 nothing could be verified.`,
    )
    .action(verifyEvents)
}

async function verifyEvents(options: VerifyOptions): Promise<void> {
  const read = [...options.head, ...options.receipt].flatMap((file) => readNotes(file, options.dataset))
  const notes = read.flatMap((note) => ('changed' in note ? [] : [note]))
  const changed = read.filter((note) => 'changed' in note)
  if (options.publicKey !== undefined && read.length === 0)
    throw new Misuse('--public-key: needs a --head or a --receipt whose signature it checks')
  const publicKey = options.publicKey === undefined ? undefined : readText(options.publicKey)
  const signatureFaults = notes.map((note) => signatureFault(note, publicKey))
  const found = await followEvents(
    options,
    notes.map(({ noted }) => noted),
  )
  printFindings(found)
  const faults = notes.map((_, index) => found.noted[index]?.reason ?? signatureFaults[index])
  for (const [index, note] of notes.entries()) printNote(note, faults[index], publicKey !== undefined)
  for (const { file, changed: rule } of changed) console.error(`${file}: was changed: ${rule}`)
  if (!isSound(found) || changed.length > 0 || faults.some((fault) => fault !== undefined))
    process.exitCode = REFUSED
}

function printNote({ file, noted }: EventNote, fault: string | undefined, isSigned: boolean): void {
  const name = `${file}: event ${noted.sequence} of ${noted.dataset}`
  if (fault !== undefined) {
    console.error(`${name}: ${fault}`)
    return
  }
  const answer = noted.answer === undefined ? '' : ', with the answer'
  const signature = isSigned ? ', and signed' : '; signature not checked (--public-key)'
  console.log(`${name}: found${answer}${signature}`)
}

/** The reason why a signature is not accepted; `undefined` for a valid one, and where none is checked. */
function signatureFault({ noted, signature }: EventNote, publicKey: string | undefined): string | undefined {
  if (publicKey === undefined) return undefined
  if (signature === undefined) return 'it is not signed'
  return isSignatureOf(noted, signature, publicKey) ? undefined : 'the signature does not match the key'
}
