import { readConfig } from '../../config.ts'
import type { ChainHead } from '../../ledger/contract/chain.ts'
import { isSound } from '../../ledger/protocol/verifier/export.ts'
import { readHeadSigner } from '../../ledger/signature.ts'
import { type CommandDefinition, Misuse, REFUSED, writeOutput } from '../command.ts'
import { followEvents, LEDGER_HELP, type LedgerSource, printFindings } from './ledger-source.ts'

/** `npx sotto ledger sign` */
export const define: CommandDefinition = (command) => {
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
    .action(signHeads)
}

async function signHeads(options: LedgerSource & { readonly output?: string }): Promise<void> {
  const { ledgerSigningKey } = readConfig(process.env)
  if (ledgerSigningKey === undefined)
    throw new Misuse('SOTTO_LEDGER_SIGNING_KEY: must name the key to sign with')
  const signer = await readHeadSigner(ledgerSigningKey)
  const found = await followEvents(options, [])
  if (!isSound(found)) {
    printFindings(found)
    process.exitCode = REFUSED
    return
  }
  const lines = found.datasets.flatMap(({ dataset, verification }) => {
    if (verification.kind === 'broken') return []
    const head: ChainHead = { dataset, sequence: verification.events, hash: verification.headHash }
    return `${JSON.stringify({ version: 1, ...head, signature: signer.sign(head) })}\n`
  })
  await writeOutput(options.output, lines)
}
