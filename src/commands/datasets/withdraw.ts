import type { CommandDefinition } from '../command.ts'
import { printJson, shown } from '../printing.ts'
import { addServiceOptions, connect, type ServiceOptions } from '../service.ts'

/** `npx sotto withdraw` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Withdraws a dataset and deletes its ingested rows. The id keeps its budget and what was spent of it.`,
    )
    .argument('<dataset>', 'the id of the dataset')
  addServiceOptions(command).action(async (dataset: string, options: ServiceOptions) => {
    await connect(options).withdraw(dataset)
    if (options.json) printJson({})
    else console.log(`${shown(dataset)}: withdrawn; its budget remains`)
  })
}
