import type { Command } from 'commander'
import { DEFAULT_OVERLAP_SECONDS, keyRequest, rotationRequest } from '../../schemas/service/keys.ts'
import { readConfig } from '../config.ts'
import { COMMAND_LINE } from '../http/access/keys/key-changes.ts'
import { openKeyDocument } from '../http/access/keys/key-document.ts'
import { type ApiKey, type KeyStore, openKeyStore } from '../http/access/keys/keys.ts'
import { ROLES, type Role } from '../http/access/principal.ts'
import { openDocuments } from '../ledger/documents/documents.ts'
import { defined } from '../privacy/defined.ts'
import { checked, numberOf } from './checked-options.ts'
import type { CommandDefinition } from './command.ts'

/** Arguments and options, by the fields of requests that they give. */
const OPTIONS = {
  name: '<name>',
  expiresAt: '--expires-at',
  overlapSeconds: '--overlap-seconds',
  'settings.epsilon': '--epsilon',
  'settings.halfWidth': '--half-width',
}

interface CreationOptions {
  readonly datasets?: string
  readonly expiresAt?: string
  readonly samePrincipal?: boolean
  readonly spending?: string
  readonly epsilon?: string
  readonly halfWidth?: string
  readonly halfWidths?: true
}

/** `npx sotto key` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Manages API keys on the host of the service, also while it runs. Changes apply at once. A new or rotated key is printed
once. Only its digest is stored.`,
    )
    .addHelpText(
      'after',
      '\nSOTTO_DATA_DIR names the data folder, SOTTO_CATALOG_URL the database with the keys if they are in one.',
    )
  for (const role of ROLES) defineCreation(command, role)
  command
    .command('list')
    .description('Lists the keys.')
    .action(async () => {
      for (const each of await withKeys((keys) => keys.list(COMMAND_LINE))) console.log(describe(each))
    })
  command
    .command('rotate')
    .description('Replaces a key.')
    .argument('<id>', 'the id of the key, such as ada.1')
    .option(
      '--overlap-seconds <number>',
      `time for which the previous key stays valid (default: ${DEFAULT_OVERLAP_SECONDS})`,
    )
    .action(async (id: string, { overlapSeconds }: { readonly overlapSeconds?: string }) => {
      const asked = defined({ overlapSeconds: numberOf(overlapSeconds) })
      const { overlapSeconds: seconds } = checked(rotationRequest, asked, OPTIONS)
      console.log((await withKeys((keys) => keys.rotate(id, seconds, COMMAND_LINE))).text)
    })
  command
    .command('delete')
    .description('Deletes a key.')
    .argument('<id>', 'the id of the key, such as ada.1')
    .action(async (id: string) => {
      await withKeys((keys) => keys.delete(id, COMMAND_LINE))
    })
}

/** Runs a task with the keys of the data folder, or of the database that SOTTO_CATALOG_URL names. */
async function withKeys<Result>(task: (keys: KeyStore) => Promise<Result>): Promise<Result> {
  const { dataDirectory, catalogUrl } = readConfig(process.env)
  if (catalogUrl === undefined) return task(openKeyStore(dataDirectory))
  const documents = await openDocuments(catalogUrl)
  try {
    return await task(openKeyStore(openKeyDocument(documents)))
  } finally {
    await documents.close()
  }
}

function defineCreation(command: Command, role: Role): void {
  const creation = command
    .command(role)
    .description(`Creates a key with the role ${role}.`)
    .argument('<name>', 'the principal that the key identifies')
    .option('--datasets <ids>', 'limits the key to these datasets, separated by commas')
    .option(
      '--expires-at <time>',
      'time from which the key is not valid, in ISO 8601, such as 2030-01-31T12:00:00Z',
    )
    .option(
      '--same-principal',
      'adds a key for a principal that has or had one: both have the same releases and allotments',
    )
    .action(async (name: string, options: CreationOptions) => {
      const { datasets, epsilon, halfWidth, halfWidths, ...others } = options
      const settings = defined({ epsilon: numberOf(epsilon), halfWidth: numberOf(halfWidth), halfWidths })
      const asked = defined({
        ...{ name, role, ...others },
        datasets: datasets?.split(','),
        settings: Object.keys(settings).length === 0 ? undefined : settings,
      })
      const request = checked(keyRequest, asked, OPTIONS)
      console.log((await withKeys((keys) => keys.create(request, COMMAND_LINE))).text)
    })
  if (role !== 'analyst') return
  creation
    .option(
      '--spending <rule>',
      "never: the key gets only answers that cost nothing. allow: sessions over PostgreSQL's protocol begin by allowing it",
    )
    .option('--epsilon <number>', 'sotto.epsilon with which these sessions begin')
    .option('--half-width <number>', 'sotto.half_width with which they begin, instead of a price')
    .option('--half-widths', 'these sessions begin with sotto.half_widths = on')
}

function describe({ id, role, datasets, expiresAt }: ApiKey): string {
  const limits = [
    ...(datasets === undefined ? [] : [`datasets ${datasets.join(',')}`]),
    ...(expiresAt === undefined ? [] : [`expires ${expiresAt}`]),
  ]
  return [id, role, ...limits].join('\t')
}
