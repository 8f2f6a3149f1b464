import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import {
  type Administration,
  administer,
  ConnectionFailed,
  Problem,
  type Schemas,
  UnexpectedResponse,
} from '../../clients/typescript/src/administration.ts'
import { Misuse, REFUSED, UNREACHABLE } from './command.ts'
import { patientFetch } from './patient-fetch.ts'
import { shown } from './printing.ts'

/** Options of every command that calls a service. */
export interface ServiceOptions {
  readonly url?: string
  readonly keyFile?: string
  readonly json?: boolean
}

const DEFAULT_URL = 'http://127.0.0.1:8080'

/** Adds the options of commands that call a service. */
export function addServiceOptions(command: Command): Command {
  return command
    .option('--url <url>', `address of the service (default: SOTTO_URL, or ${DEFAULT_URL})`)
    .option(
      '--key-file <file>',
      'file with the API key (default: the file in SOTTO_KEY_FILE, or the key in SOTTO_KEY)',
    )
    .option('--json', 'print the answer of the service as JSON')
    .addHelpText(
      'after',
      `
SOTTO_KEY is the API key of a custodian. There is no option for the key itself, because other users of the machine can
read the arguments of a process.
Exit code: 0 done, 1 refused by the service, 2 wrong usage, 3 the service could not be reached.`,
    )
}

export type { Schemas }

/** JSON of the service, or of a declaration that it has yet to check. */
export type Json = Readonly<Record<string, unknown>>

/** The calls of commands. */
export interface ServiceClient extends Omit<Administration, 'upload'> {
  /**
   * Uploads a file for a draft or a registration.
   * @param onSent receives the number of bytes sent so far
   */
  upload(file: Blob, name: string, onSent: (bytes: number) => void): ReturnType<Administration['upload']>
}

/** Longest time that a timer of Node measures, 24 days. The service limits its ingestions itself. */
const TIMEOUT_MS = 2 ** 31 - 1

/**
 * Creates a client from options and environment.
 * @throws Misuse for a missing key, or an address that is not valid.
 */
export function connect(
  { url = process.env.SOTTO_URL ?? DEFAULT_URL, keyFile }: ServiceOptions,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ServiceClient {
  const base = addressOf(url)
  const key = keyOf(keyFile, environment)
  if (base.protocol === 'http:' && !isLoopback(base))
    console.error(`Warning: the API key is sent unencrypted to ${base.host}. Use https.`)
  const reporting = (onSent?: (bytes: number) => void) =>
    administer(base.href, key, { fetch: patientFetch(onSent), timeoutMs: TIMEOUT_MS })
  return { ...reporting(), upload: (file, name, onSent) => reporting(onSent).upload(file, name) }
}

/** @throws Misuse */
function addressOf(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isHttp = parsed?.protocol === 'http:' || parsed?.protocol === 'https:'
  if (parsed === undefined || !isHttp || parsed.username !== '' || parsed.password !== '')
    throw new Misuse('--url: must be an http(s) URL without user and password')
  return parsed
}

/** True for this machine. URLs have IPv4 addresses in their usual form. */
function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/** @throws Misuse whose message does not contain the key */
function keyOf(
  optionFile: string | undefined,
  {
    SOTTO_KEY: environmentKey,
    SOTTO_KEY_FILE: environmentFile,
  }: Readonly<Record<string, string | undefined>>,
): string {
  if (optionFile !== undefined) return checkKey('--key-file', readFileSync(optionFile, 'utf8').trim())
  if (environmentFile === undefined) return checkKey('SOTTO_KEY', environmentKey)
  if (environmentKey !== undefined)
    throw new Misuse('SOTTO_KEY_FILE: must not be set together with SOTTO_KEY')
  return checkKey('SOTTO_KEY_FILE', readFileSync(environmentFile, 'utf8').trim())
}

function checkKey(name: string, key: string | undefined): string {
  if (key === undefined || key === '')
    throw new Misuse(`${name}: must be the API key of a custodian, or name its file with --key-file`)
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Misuse(`${name}: must hold one API key and nothing else`)
  return key
}

/** Explains an error of the client, with the exit code of the command; `undefined` for any other error. */
export function explainFailure(
  error: unknown,
): { readonly message: string; readonly exitCode: number } | undefined {
  if (error instanceof Problem) return { message: describeProblem(error), exitCode: REFUSED }
  if (error instanceof ConnectionFailed || error instanceof UnexpectedResponse)
    return { message: error.message, exitCode: UNREACHABLE }
  return undefined
}

/** Returns a problem as lines: the code and the detail, then each field with the rule that it breaks. */
function describeProblem({ code, title, detail, errors }: Problem): string {
  const lines = errors.map(({ field, rule }) => `  ${shown(field)}: ${shown(rule)}`)
  // The detail of a refusal with fields repeats them.
  return [`${shown(code)}: ${shown(lines.length === 0 ? detail : title)}`, ...lines].join('\n')
}
