import { parseArgs } from 'node:util'
import { isSound } from '../ledger/exported.ts'
import { isSignatureOf } from '../ledger/signature.ts'
import { type Command, Misuse, SUCCESS, UNSOUND } from './command.ts'
import { followEvents, LEDGER_HELP, printFindings } from './ledger-source.ts'
import { type EventNote, readHeads, readReceipt, readText } from './noted-events.ts'

/** `npx sotto ledger verify` */
export const verify: Command = {
  help: `usage: npx sotto ledger verify [options]

Recomputes the hashes and balances of a ledger or an export, and looks for published heads and the receipts of answers
in it. Prints one line for each dataset, head and receipt.

  --export <file>       verify this export instead of the live ledger; "-" reads standard input
  --dataset <id>        verify this dataset only
  --head <file>         look for the published heads in this file; may be repeated
  --receipt <file>      look for this answer or receipt; may be repeated
  --public-key <file>   check the signatures of heads and receipts with this key

${LEDGER_HELP}
Exit code: 0 sound, 1 a check failed, 2 nothing could be verified.
`,
  run: async (args) => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        export: { type: 'string' },
        dataset: { type: 'string' },
        head: { type: 'string', multiple: true, default: [] },
        receipt: { type: 'string', multiple: true, default: [] },
        'public-key': { type: 'string' },
      },
    })
    const notes = [
      ...values.head.flatMap((file) => readHeads(file)),
      ...values.receipt.map((file) => readReceipt(file, values.dataset)),
    ]
    const publicKeyFile = values['public-key']
    if (publicKeyFile !== undefined && notes.length === 0)
      throw new Misuse('--public-key: needs a --head or a --receipt whose signature it checks')
    const publicKey = publicKeyFile === undefined ? undefined : readText(publicKeyFile)
    const signatureFaults = notes.map((note) => signatureFault(note, publicKey))
    const found = await followEvents(
      values,
      notes.map(({ noted }) => noted),
    )
    printFindings(found)
    const faults = notes.map((_, index) => found.noted[index]?.reason ?? signatureFaults[index])
    for (const [index, note] of notes.entries()) printNote(note, faults[index], publicKey !== undefined)
    return isSound(found) && faults.every((fault) => fault === undefined) ? SUCCESS : UNSOUND
  },
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
