import { parseArgs } from 'node:util'
import { readConfig } from '../config.ts'
import { ADMINISTRATION } from '../ledger/act.ts'
import { exportLines } from '../ledger/exported.ts'
import { type Command, Misuse, SUCCESS, writeOutput } from './command.ts'
import { datasetsOf, LEDGER_HELP, withLedger } from './ledger-source.ts'

/** `npx sotto ledger export` */
export const exportEvents: Command = {
  help: `usage: npx sotto ledger export [options]

Writes the events of one dataset, or the administrative acts, as JSON Lines.

  --dataset <id>    the dataset, or ${ADMINISTRATION} for the administrative acts; optional if the ledger has only one
                    dataset
  --output <file>   write to this file instead of standard output

${LEDGER_HELP}
`,
  run: async (args) => {
    const { values } = parseArgs({
      args: [...args],
      options: { dataset: { type: 'string' }, output: { type: 'string' } },
    })
    return withLedger(readConfig(process.env), async (ledger) => {
      const [dataset, ...others] =
        values.dataset === ADMINISTRATION ? [ADMINISTRATION] : await datasetsOf(ledger, values.dataset)
      if (dataset === undefined || others.length > 0)
        throw new Misuse(`name one of the datasets with --dataset: ${[dataset, ...others].join(', ')}`)
      await writeOutput(values.output, exportLines(ledger, dataset))
      return SUCCESS
    })
  },
}
