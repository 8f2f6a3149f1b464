#!/usr/bin/env node
/** The command line, `npx sotto <command>`: lists the commands, loads one and runs it. */
import { Command, CommanderError } from 'commander'
import { LedgerFault } from '../ledger/ledger.ts'
import { type CommandDefinition, REFUSED, SUCCESS, UNREACHABLE, UNUSABLE } from './command.ts'
import { RequestRefused, ServiceUnreachable } from './service.ts'

/** A command in the list of all commands. */
interface ListedCommand {
  readonly group: string
  readonly summary: string
  /** Loads the definition, when the command is called, so that no command needs the libraries of the others. */
  readonly load: () => Promise<CommandDefinition>
}

const SERVICE = 'Commands that call a service:'
const HOST = 'Commands on the host of a service:'
const OTHER = 'Other commands:'

const COMMANDS: ReadonlyMap<string, ListedCommand> = new Map(
  Object.entries({
    draft: {
      group: SERVICE,
      summary: 'propose a declaration of a file or table',
      load: async () => (await import('./draft.ts')).draft,
    },
    register: {
      group: SERVICE,
      summary: 'register a dataset from its declaration',
      load: async () => (await import('./register.ts')).register,
    },
    datasets: {
      group: SERVICE,
      summary: 'list the datasets',
      load: async () => (await import('./datasets.ts')).datasets,
    },
    budget: {
      group: SERVICE,
      summary: 'show the budget of a dataset',
      load: async () => (await import('./budget.ts')).budget,
    },
    grant: {
      group: SERVICE,
      summary: 'raise the budget of a dataset',
      load: async () => (await import('./grant.ts')).grant,
    },
    publish: {
      group: SERVICE,
      summary: 'publish a new version of a dataset',
      load: async () => (await import('./publish.ts')).publish,
    },
    versions: {
      group: SERVICE,
      summary: 'list the versions of a dataset',
      load: async () => (await import('./versions.ts')).versions,
    },
    withdraw: {
      group: SERVICE,
      summary: 'withdraw a dataset',
      load: async () => (await import('./withdraw.ts')).withdraw,
    },
    key: {
      group: HOST,
      summary: 'create, list, rotate and delete API keys',
      load: async () => (await import('./key.ts')).key,
    },
    'ledger verify': {
      group: HOST,
      summary: 'check the hashes and balances of a ledger or an export',
      load: async () => (await import('./verify.ts')).verify,
    },
    'ledger export': {
      group: HOST,
      summary: "write a dataset's events as JSON Lines",
      load: async () => (await import('./export.ts')).exportEvents,
    },
    'ledger sign': {
      group: HOST,
      summary: 'verify, then sign the head of each dataset',
      load: async () => (await import('./sign.ts')).sign,
    },
    'ledger copy': {
      group: HOST,
      summary: 'move a SQLite ledger to PostgreSQL',
      load: async () => (await import('./copy-ledger.ts')).copyLedgerCommand,
    },
    'ledger create-signing-key': {
      group: HOST,
      summary: 'write a new Ed25519 key pair',
      load: async () => (await import('./create-signing-key.ts')).createSigningKeyPair,
    },
    backup: {
      group: HOST,
      summary: 'copy the ledger, the catalog and the keys to a folder',
      load: async () => (await import('./backup.ts')).backup,
    },
    restore: {
      group: HOST,
      summary: 'write a backup into an empty data folder',
      load: async () => (await import('./restore.ts')).restore,
    },
    'copy-catalog': {
      group: HOST,
      summary: 'copy the catalog and the keys to PostgreSQL',
      load: async () => (await import('./copy-catalog.ts')).copyCatalogCommand,
    },
    population: {
      group: OTHER,
      summary: 'write made-up people as CSV',
      load: async () => (await import('./population.ts')).population,
    },
    openapi: {
      group: OTHER,
      summary: 'write openapi.yaml',
      load: async () => (await import('./openapi.ts')).openapi,
    },
  }),
)

const EXIT_CODES = `
Exit code: 0 done, 1 the service refused the request or a check failed, 2 the command could not be carried out (wrong
arguments, for example), 3 the service could not be reached.`

/** Lists all commands and defines the one that the arguments name. */
async function createProgram(args: readonly string[]): Promise<Command> {
  const named = args[0] === 'help' ? args.slice(1) : args
  const program = new Command('npx sotto')
    .description('Queries with differential privacy: the command line of Sotto.')
    .addHelpText('after', EXIT_CODES)
    .addHelpCommand(new Command('help').argument('[command]').summary('describe a command').helpGroup(OTHER))
    .exitOverride()
  const ledger = new Command('ledger')
    .description('Verifies, exports, signs and moves ledgers.')
    .exitOverride()
  ledger.summary('verify, export, sign and move ledgers').helpGroup(HOST)
  for (const [name, { group, summary, load }] of COMMANDS) {
    const words = name.split(' ')
    const isOfLedger = words.length > 1
    const command = (isOfLedger ? ledger : program).command(words.at(-1) ?? name).summary(summary)
    if (!isOfLedger) command.helpGroup(group)
    if (!words.every((word, index) => named[index] === word)) continue
    const define = await load()
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
  if (error instanceof CommanderError) return error.exitCode === SUCCESS ? SUCCESS : UNUSABLE
  console.error(explain(error).trimEnd())
  if (error instanceof RequestRefused) return REFUSED
  if (error instanceof ServiceUnreachable) return UNREACHABLE
  // A damaged store is not sound; any other failure says nothing about the ledger.
  return error instanceof LedgerFault && error.kind === 'unusable' ? REFUSED : UNUSABLE
}

try {
  const args = process.argv.slice(2)
  await (await createProgram(args)).parseAsync(args, { from: 'user' })
} catch (error) {
  process.exitCode = codeOf(error)
}
