import { type CommandDefinition, exitingWith, SUCCESS } from './command.ts'
import { printJson, printTable, shown } from './printing.ts'
import { addServiceOptions, connect, type Json, type ServiceOptions } from './service.ts'

/** `npx sotto versions` */
export const versions: CommandDefinition = (command) => {
  command
    .description('Lists the versions of a dataset since its registration, the newest first.')
    .argument('<dataset>', 'the id of the dataset')
  addServiceOptions(command).action(
    exitingWith(async (dataset: string, options: ServiceOptions) => {
      const path = `/v1/datasets/${encodeURIComponent(dataset)}/versions`
      const answer = await connect(options).send('GET', path)
      const listed: readonly Json[] = Array.isArray(answer.versions) ? answer.versions : []
      if (options.json) printJson(answer)
      else
        printTable(
          ['version', 'published', 'rows or people'],
          listed.map(({ version, publishedAt, rows, people }) => [
            shown(version),
            shown(publishedAt),
            shown(rows ?? people ?? 'private'),
          ]),
        )
      return SUCCESS
    }),
  )
}
