import { type CommandDefinition, Misuse } from '../command.ts'
import { printJson, shown } from '../printing.ts'
import { addServiceOptions, connect, type Json, type Schemas, type ServiceOptions } from '../service.ts'
import { namingColumns, readDeclaration, withUploads } from './declaration-file.ts'
import { showingIngestion } from './progress.ts'
import { printCounts, printCoverage, triedText } from './register.ts'

/** Fields of a declaration that a new version may bring. */
const FIELDS = ['source', 'columns', 'derived', 'separateBudget'] as const

interface PublishOptions extends ServiceOptions {
  readonly dryRun?: boolean
}

/** `npx sotto publish` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Publishes a new version of a dataset under its budget: the rows and columns of a declaration, or without one the
present source read again. The same rows again change nothing.`,
    )
    .argument('<dataset>', 'the id of the dataset')
    .argument('[declaration]', 'the file of the declaration, as for "npx sotto register"')
    .option('--dry-run', 'check the declaration and every value of the source, and publish nothing')
  addServiceOptions(command).action(publishVersion)
}

async function publishVersion(
  dataset: string,
  file: string | undefined,
  options: PublishOptions,
): Promise<void> {
  const client = connect(options)
  const read = file === undefined ? { declaration: {} as Json, localSources: [] } : readDeclaration(file)
  const { declaration } = read
  if (declaration.id !== undefined && declaration.id !== dataset)
    throw new Misuse(`${file}: is the declaration of ${shown(declaration.id)}, not of ${dataset}`)
  const brought = FIELDS.filter((field) => declaration[field] !== undefined)
  const body = Object.fromEntries(brought.map((field) => [field, declaration[field]]))
  const dryRun = options.dryRun ?? false
  const send = (version: Json) =>
    showingIngestion(client, dataset, options, () =>
      namingColumns(declaration, () => client.publish(dataset, version, { dryRun })),
    )
  const answer = await withUploads(client, { ...read, declaration: body }, send)
  if (options.json) printJson(answer)
  else printVersion(answer)
}

function printVersion(answer: Schemas['PublishedVersion'] | Schemas['TriedVersion']): void {
  const published =
    'dryRun' in answer
      ? `${triedText(answer.ingestion)}${answer.unchanged ? ', as in the present version' : ''}; nothing was published`
      : `version ${shown(answer.version)}`
  console.log(`${shown(answer.id)}: ${published}`)
  printCounts(answer.ingestion)
  if ('coverageStatement' in answer) printCoverage(answer)
}
