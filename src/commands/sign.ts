import { parseArgs } from 'node:util'
import { readConfig } from '../config.ts'
import { isSound } from '../ledger/exported.ts'
import type { ChainHead } from '../ledger/ledger.ts'
import { readHeadSigner } from '../ledger/signature.ts'
import { type Command, Misuse, SUCCESS, UNSOUND, writeOutput } from './command.ts'
import { followEvents, LEDGER_HELP, printFindings } from './ledger-source.ts'

/** `npx sotto ledger sign` */
export const sign: Command = {
  help: `usage: npx sotto ledger sign [options]

Verifies a ledger or an export, then signs the head of each dataset with the key that SOTTO_LEDGER_SIGNING_KEY names.
Writes one JSON document per line. Signs nothing unless everything is sound.

  --export <file>   sign the heads of this export instead of the live ledger; "-" reads standard input
  --dataset <id>    sign the head of this dataset only
  --output <file>   write to this file instead of standard output

${LEDGER_HELP}
`,
  run: async (args) => {
    const { values } = parseArgs({
      args: [...args],
      options: { export: { type: 'string' }, dataset: { type: 'string' }, output: { type: 'string' } },
    })
    const { ledgerSigningKey } = readConfig(process.env)
    if (ledgerSigningKey === undefined)
      throw new Misuse('SOTTO_LEDGER_SIGNING_KEY: must name the key to sign with')
    const signer = await readHeadSigner(ledgerSigningKey)
    const found = await followEvents(values, [])
    if (!isSound(found)) {
      printFindings(found)
      return UNSOUND
    }
    const lines = found.datasets.flatMap(({ dataset, verification }) => {
      if (verification.kind === 'broken') return []
      const head: ChainHead = { dataset, sequence: verification.events, hash: verification.headHash }
      return `${JSON.stringify({ version: 1, ...head, signature: signer.sign(head) })}\n`
    })
    await writeOutput(values.output, lines)
    return SUCCESS
  },
}
