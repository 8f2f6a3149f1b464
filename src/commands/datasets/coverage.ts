import type { CommandDefinition } from '../command.ts'
import { printJson } from '../printing.ts'
import { addServiceOptions, connect, type ServiceOptions } from '../service.ts'
import { printCoverage } from './register.ts'

/** `npx sotto coverage` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Measures what maxRows leaves out of the present version of a dataset, charges the declared epsilon to its budget, and
publishes the result. For a live table, and for a version that could not be measured when it was published.`,
    )
    .argument('<dataset>', 'the id of the dataset')
  addServiceOptions(command).action(async (dataset: string, options: ServiceOptions) => {
    const answer = await connect(options).measureCoverage(dataset)
    if (options.json) printJson(answer)
    else printCoverage(answer)
  })
}
