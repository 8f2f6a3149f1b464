#!/usr/bin/env node
/** The command line, `npx sotto <command>`: lists the commands, loads one and runs it. */
import { Command, CommanderError } from 'commander'
import { LedgerFault } from '../ledger/fault.ts'
import { SOFTWARE_VERSION } from '../platform/software-version.ts'
import { type CommandDefinition, REFUSED, UNUSABLE } from './command.ts'
import { explainFailure } from './service.ts'

const SERVICE = 'Commands that call a service:'
const HOST = 'Commands on the host of a service:'
const OTHER = 'Other commands:'

/** Loads a command when it is called, so that no command needs the libraries of the others. */
type Load = () => Promise<{ readonly define: CommandDefinition }>

/** All commands by name: group, summary and file. */
const COMMANDS: Readonly<Record<string, readonly [group: string, summary: string, load: Load]>> = {
  start: [HOST, 'start the service', () => import('./start.ts')],
  draft: [SERVICE, 'propose a declaration of a file or table', () => import('./datasets/draft.ts')],
  register: [SERVICE, 'register a dataset from its declaration', () => import('./datasets/register.ts')],
  datasets: [SERVICE, 'list the datasets', () => import('./datasets/datasets.ts')],
  budget: [SERVICE, 'show the budget of a dataset', () => import('./datasets/budget.ts')],
  grant: [SERVICE, 'raise the budget of a dataset', () => import('./datasets/grant.ts')],
  publish: [SERVICE, 'publish a new version of a dataset', () => import('./datasets/publish.ts')],
  versions: [SERVICE, 'list the versions of a dataset', () => import('./datasets/versions.ts')],
  coverage: [SERVICE, 'measure what maxRows leaves out', () => import('./datasets/coverage.ts')],
  withdraw: [SERVICE, 'withdraw a dataset', () => import('./datasets/withdraw.ts')],
  key: [HOST, 'create, list, rotate and delete API keys', () => import('./key.ts')],
  'ledger verify': [
    HOST,
    'check the hashes and balances of a ledger or an export',
    () => import('./ledger/verify.ts'),
  ],
  'ledger export': [HOST, "write a dataset's events as JSON Lines", () => import('./ledger/export.ts')],
  'ledger sign': [HOST, 'verify, then sign the head of each dataset', () => import('./ledger/sign.ts')],
  'ledger copy': [HOST, 'move a SQLite ledger to PostgreSQL', () => import('./ledger/copy-ledger.ts')],
  'ledger create-signing-key': [
    HOST,
    'write a new Ed25519 key pair',
    () => import('./ledger/create-signing-key.ts'),
  ],
  backup: [HOST, 'copy the ledger, the catalog and the keys to a folder', () => import('./ledger/backup.ts')],
  restore: [HOST, 'write a backup into an empty data folder', () => import('./ledger/restore.ts')],
  'copy-catalog': [
    HOST,
    'copy the catalog and the keys to PostgreSQL',
    () => import('./datasets/copy-catalog.ts'),
  ],
  population: [OTHER, 'write made-up people as CSV', () => import('./datasets/population.ts')],
  openapi: [OTHER, 'write openapi.yaml', () => import('./openapi.ts')],
}

const EXIT_CODES = `
Exit code: 0 done, 1 the service refused the request or did not start, or a check failed, 2 the command could not be
carried out (wrong arguments, for example), 3 the service could not be reached.`

/** Lists all commands and defines the one that the arguments name. */
async function createProgram(args: readonly string[]): Promise<Command> {
  const named = args[0] === 'help' ? args.slice(1) : args
  const program = new Command('npx sotto')
    .description('Queries with differential privacy: the command line of Sotto.')
    .version(SOFTWARE_VERSION)
    .addHelpText('after', EXIT_CODES)
    .addHelpCommand(new Command('help').argument('[command]').summary('describe a command').helpGroup(OTHER))
    .exitOverride()
  const ledger = new Command('ledger')
    .description('Verifies, exports, signs and moves ledgers.')
    .exitOverride()
  ledger.summary('verify, export, sign and move ledgers').helpGroup(HOST)
  for (const [name, [group, summary, load]] of Object.entries(COMMANDS)) {
    const words = name.split(' ')
    const isOfLedger = words.length > 1
    const command = (isOfLedger ? ledger : program).command(words.at(-1) ?? name).summary(summary)
    if (!isOfLedger) command.helpGroup(group)
    if (!words.every((word, index) => named[index] === word)) continue
    const { define } = await load()
    define(command)
    // The help is wrapped at the width of the terminal.
    command.description(command.description().replace(/([^\n])\n(?!\n)/g, '$1 '))
  }
  return program.addCommand(ledger)
}

function explain(error: unknown): string {
  if (error instanceof LedgerFault && error.kind === 'in-use') {
    return `${error.message}
While the service runs, use its API: GET /v1/datasets/{dataset}/ledger/export returns an export to use with --export, and
GET /v1/datasets/{dataset}/ledger/verification verifies.`
  }
  return error instanceof Error ? error.message : String(error)
}

/** Returns the exit code of a failed command, after its message was printed. */
function codeOf(error: unknown): number {
  // Commander has printed its message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : UNUSABLE
  const failure = explainFailure(error)
  console.error((failure?.message ?? explain(error)).trimEnd())
  if (failure !== undefined) return failure.exitCode
  // A damaged store is not sound; any other failure says nothing about the ledger.
  return error instanceof LedgerFault && error.kind === 'unusable' ? REFUSED : UNUSABLE
}

try {
  const args = process.argv.slice(2)
  await (await createProgram(args)).parseAsync(args, { from: 'user' })
} catch (error) {
  process.exitCode = codeOf(error)
}
