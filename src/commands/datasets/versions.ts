import type { CommandDefinition } from '../command.ts'
import { printJson, printTable, shown } from '../printing.ts'
import { addServiceOptions, connect, type ServiceOptions } from '../service.ts'

/** `npx sotto versions` */
export const define: CommandDefinition = (command) => {
  command
    .description('Lists the versions of a dataset since its registration, the newest first.')
    .argument('<dataset>', 'the id of the dataset')
  addServiceOptions(command).action(async (dataset: string, options: ServiceOptions) => {
    const answer = await connect(options).versions(dataset)
    if (options.json) printJson(answer)
    else
      printTable(
        ['version', 'published', 'rows or people'],
        answer.versions.map(({ version, publishedAt, rows, people }) => [
          shown(version),
          shown(publishedAt),
          shown(rows ?? people ?? 'private'),
        ]),
      )
  })
}
