#!/usr/bin/env node
/** The command line, `npx sotto <command>`: finds the command and runs it. */
import { LedgerFault } from '../ledger/ledger.ts'
import { type Command, Misuse, SUCCESS, UNSOUND, UNUSABLE } from './command.ts'

const USAGE = `usage: npx sotto <command> [options]

  ledger verify               check the hashes and balances of a ledger or an export
  ledger export               write a dataset's events as JSON Lines
  ledger sign                 verify, then sign the head of each dataset
  ledger create-signing-key   write a new Ed25519 key pair
  backup                      copy the ledger, the catalog and the keys to a folder
  restore                     write a backup into an empty data folder
  population                  write made-up people as CSV
  key                         create, list, rotate and delete API keys
  openapi                     write openapi.yaml

"npx sotto <command> --help" describes a command.
Exit code: 0 success, 1 the ledger is not sound, 2 the command could not be carried out.
`

/** Every command by its name. Each is loaded when it is called, so that none needs the libraries of the others. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map(
  Object.entries({
    'ledger verify': async () => (await import('./verify.ts')).verify,
    'ledger export': async () => (await import('./export.ts')).exportEvents,
    'ledger sign': async () => (await import('./sign.ts')).sign,
    'ledger create-signing-key': async () => (await import('./create-signing-key.ts')).createSigningKeyPair,
    backup: async () => (await import('./backup.ts')).backup,
    restore: async () => (await import('./restore.ts')).restore,
    population: async () => (await import('./population.ts')).population,
    key: async () => (await import('./key.ts')).key,
    openapi: async () => (await import('./openapi.ts')).openapi,
  }),
)

async function run(args: readonly string[]): Promise<number> {
  const [first = ''] = args
  const words = first === 'ledger' ? 2 : 1
  const load = COMMANDS.get(args.slice(0, words).join(' '))
  const rest = args.slice(words)
  const isHelp = args.some((arg) => arg === '--help' || arg === '-h') || first === 'help'
  if (load === undefined) {
    if (!isHelp) throw new Misuse(USAGE)
    process.stdout.write(USAGE)
    return SUCCESS
  }
  const command = await load()
  if (!isHelp) return command.run(rest)
  process.stdout.write(command.help)
  return SUCCESS
}

function explain(error: unknown): string {
  if (error instanceof LedgerFault && error.kind === 'in-use') {
    return `${error.message}
While the service runs, use its API: GET /v1/datasets/{dataset}/ledger/export returns an export to use with --export, and
GET /v1/datasets/{dataset}/ledger/verification verifies.`
  }
  return error instanceof Error ? error.message : String(error)
}

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  console.error(explain(error).trimEnd())
  // A damaged store is not sound; any other failure says nothing about the ledger.
  process.exitCode = error instanceof LedgerFault && error.kind === 'unusable' ? UNSOUND : UNUSABLE
}
