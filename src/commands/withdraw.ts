import { type CommandDefinition, exitingWith, SUCCESS } from './command.ts'
import { printJson, shown } from './printing.ts'
import { addServiceOptions, connect, type ServiceOptions } from './service.ts'

/** `npx sotto withdraw` */
export const withdraw: CommandDefinition = (command) => {
  command
    .description(
      `Withdraws a dataset and deletes its ingested rows. The id keeps its budget and what was spent of it.`,
    )
    .argument('<dataset>', 'the id of the dataset')
  addServiceOptions(command).action(
    exitingWith(async (dataset: string, options: ServiceOptions) => {
      const answer = await connect(options).send('DELETE', `/v1/datasets/${encodeURIComponent(dataset)}`)
      if (options.json) printJson(answer)
      else console.log(`${shown(dataset)}: withdrawn; its budget remains`)
      return SUCCESS
    }),
  )
}
