import { readConfig } from '../config.ts'
import { isSound } from '../ledger/exported.ts'
import type { ChainHead } from '../ledger/ledger.ts'
import { readHeadSigner } from '../ledger/signature.ts'
import { type CommandDefinition, exitingWith, Misuse, REFUSED, SUCCESS, writeOutput } from './command.ts'
import { followEvents, LEDGER_HELP, type LedgerSource, printFindings } from './ledger-source.ts'

/** `npx sotto ledger sign` */
export const sign: CommandDefinition = (command) => {
  command
    .description(
      `Verifies a ledger or an export, then signs the head of each dataset with the key that SOTTO_LEDGER_SIGNING_KEY names.
Writes one JSON document per line. Signs nothing unless everything is sound.`,
    )
    .option(
      '--export <file>',
      'sign the heads of this export instead of the live ledger; "-" reads standard input',
    )
    .option('--dataset <id>', 'sign the head of this dataset only')
    .option('--output <file>', 'write to this file instead of standard output')
    .addHelpText('after', LEDGER_HELP)
    .action(exitingWith(signHeads))
}

async function signHeads(options: LedgerSource & { readonly output?: string }): Promise<number> {
  const { ledgerSigningKey } = readConfig(process.env)
  if (ledgerSigningKey === undefined)
    throw new Misuse('SOTTO_LEDGER_SIGNING_KEY: must name the key to sign with')
  const signer = await readHeadSigner(ledgerSigningKey)
  const found = await followEvents(options, [])
  if (!isSound(found)) {
    printFindings(found)
    return REFUSED
  }
  const lines = found.datasets.flatMap(({ dataset, verification }) => {
    if (verification.kind === 'broken') return []
    const head: ChainHead = { dataset, sequence: verification.events, hash: verification.headHash }
    return `${JSON.stringify({ version: 1, ...head, signature: signer.sign(head) })}\n`
  })
  await writeOutput(options.output, lines)
  return SUCCESS
}
