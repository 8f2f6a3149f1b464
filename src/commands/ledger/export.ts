import { readConfig } from '../../config.ts'
import { ADMINISTRATION } from '../../ledger/contract/acts.ts'
import { exportLines } from '../../ledger/exported.ts'
import { type CommandDefinition, Misuse, writeOutput } from '../command.ts'
import { datasetsOf, LEDGER_HELP, withLedger } from './ledger-source.ts'

/** `npx sotto ledger export` */
export const define: CommandDefinition = (command) => {
  command
    .description('Writes the events of one dataset or population, or the administrative acts, as JSON Lines.')
    .option(
      '--dataset <id>',
      `the dataset, @population:ID for a population, or ${ADMINISTRATION} for the administrative acts; optional if the ledger has only one dataset`,
    )
    .option('--output <file>', 'write to this file instead of standard output')
    .addHelpText('after', LEDGER_HELP)
    .action((options: { readonly dataset?: string; readonly output?: string }) =>
      withLedger(readConfig(process.env), async (ledger) => {
        const [dataset, ...others] =
          options.dataset === ADMINISTRATION ? [ADMINISTRATION] : await datasetsOf(ledger, options.dataset)
        if (dataset === undefined || others.length > 0)
          throw new Misuse(`name one of the datasets with --dataset: ${[dataset, ...others].join(', ')}`)
        await writeOutput(options.output, exportLines(ledger, dataset))
      }),
    )
}
