import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import {
  COMMAND_LINE,
  DEFAULT_OVERLAP_SECONDS,
  MAX_OVERLAP_SECONDS,
} from '../http/access/keys/key-changes.ts'
import { openKeyDocument } from '../http/access/keys/key-document.ts'
import { type ApiKey, type KeyStore, openKeyStore } from '../http/access/keys/keys.ts'
import { type KeySettings, ROLES, type Role } from '../http/access/principal.ts'
import { openDocuments } from '../ledger/documents/documents.ts'
import { defined } from '../privacy/defined.ts'
import { type CommandDefinition, Misuse } from './command.ts'

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
      const seconds = overlapFrom(overlapSeconds)
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
      const { samePrincipal } = options
      const [datasets, expiresAt] = [datasetsFrom(options.datasets), timeFrom(options.expiresAt)]
      const [spending, settings] = [spendingFrom(options.spending), settingsFrom(options)]
      const request = defined({ name, role, datasets, expiresAt, samePrincipal, spending, settings })
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

function spendingFrom(text: string | undefined): 'never' | 'allow' | undefined {
  if (text === undefined || text === 'never' || text === 'allow') return text
  throw new Misuse('--spending: must be never or allow')
}

function settingsFrom(options: CreationOptions): KeySettings | undefined {
  if (options.epsilon !== undefined && options.halfWidth !== undefined)
    throw new Misuse('--half-width: must not be given together with --epsilon')
  const settings = defined({
    epsilon: amountFrom('--epsilon', options.epsilon),
    halfWidth: amountFrom('--half-width', options.halfWidth),
    halfWidths: options.halfWidths,
  })
  return Object.keys(settings).length === 0 ? undefined : settings
}

function amountFrom(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const amount = Number(text)
  if (text.trim() === '' || !(amount > 0 && amount <= 1e9))
    throw new Misuse(`${option}: must be a number greater than 0`)
  return amount
}

function describe({ id, role, datasets, expiresAt }: ApiKey): string {
  const limits = [
    ...(datasets === undefined ? [] : [`datasets ${datasets.join(',')}`]),
    ...(expiresAt === undefined ? [] : [`expires ${expiresAt}`]),
  ]
  return [id, role, ...limits].join('\t')
}

function overlapFrom(text = String(DEFAULT_OVERLAP_SECONDS)): number {
  const seconds = Number(text)
  if (!/^\d+$/.test(text) || seconds > MAX_OVERLAP_SECONDS)
    throw new Misuse(`--overlap-seconds: must be a whole number from 0 to ${MAX_OVERLAP_SECONDS}`)
  return seconds
}

function timeFrom(text: string | undefined): string | undefined {
  if (text !== undefined && !/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text))
    throw new Misuse('--expires-at: must be a time with a zone, such as 2030-01-31T12:00:00Z')
  return text
}

/** @throws Misuse for an id that no dataset can have, which is probably misspelt */
function datasetsFrom(text: string | undefined): readonly string[] | undefined {
  const datasets = text?.split(',')
  if (datasets !== undefined && !datasets.every((dataset) => /^[a-z][a-z0-9-]{0,62}$/.test(dataset)))
    throw new Misuse('--datasets: must be ids of datasets, separated by commas')
  return datasets
}
