import { readFileSync } from 'node:fs'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { pipeline, type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { Misuse } from './command.ts'
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

/** The service refused a request. The message is the problem document as text. */
export class RequestRefused extends Error {}

/** The service could not be reached, or something else answered. */
export class ServiceUnreachable extends Error {}

/** JSON of the service. */
export type Json = Readonly<Record<string, unknown>>

/** A body that is sent as it is. */
export interface StreamedBody {
  readonly type: string
  readonly bytes: number
  readonly stream: Readable
}

/** Sends requests to a service with one key. */
export interface ServiceClient {
  /**
   * Sends a request and returns the body of the answer, `{}` if it has none.
   * @param path begins with `/v1/`
   * @throws RequestRefused or ServiceUnreachable
   */
  send(method: 'GET' | 'POST' | 'DELETE', path: string, body?: Json | StreamedBody): Promise<Json>
}

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
  return {
    async send(method, path, body) {
      const answer = await sendRequest(
        new URL(base.pathname.replace(/\/$/, '') + path, base),
        method,
        key,
        body,
      )
      return readAnswer(answer, base)
    },
  }
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

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** Time for which an answer is awaited after the service closed the connection for sending. */
const LATE_ANSWER_MS = 1_000

/** Sends one request. Not `fetch`, which gives up after five minutes without an answer. */
function sendRequest(
  url: URL,
  method: string,
  key: string,
  body: Json | StreamedBody | undefined,
): Promise<Answer> {
  const streamed = body !== undefined && isStreamed(body) ? body : undefined
  const written = body === undefined || streamed !== undefined ? undefined : JSON.stringify(body)
  const headers = {
    authorization: `Bearer ${key}`,
    accept: 'application/json',
    ...(streamed === undefined ? {} : { 'content-type': streamed.type, 'content-length': streamed.bytes }),
    ...(written === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(written) }),
  }
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const unreachable = (error: Error) => {
      const code = 'code' in error ? String(error.code) : error.name
      reject(new ServiceUnreachable(`the service at ${url.origin} could not be reached (${code})`))
    }
    const sending = request(url, { method, headers }, (incoming) => {
      text(incoming)
        .then((answer) => {
          resolve({
            status: incoming.statusCode ?? 0,
            type: incoming.headers['content-type'] ?? '',
            body: answer,
          })
          sending.destroy()
        })
        .catch(unreachable)
    })
    // A service that refuses a body early closes the connection, and its answer may still be on its way.
    sending.on('error', (error) =>
      setTimeout(() => unreachable(error), streamed === undefined ? 0 : LATE_ANSWER_MS),
    )
    if (streamed === undefined) sending.end(written)
    else pipeline(streamed.stream, sending, () => undefined)
  })
}

function isStreamed(body: Json | StreamedBody): body is StreamedBody {
  return typeof body.stream === 'object'
}

/** @throws RequestRefused for a problem document, ServiceUnreachable for anything that Sotto does not answer. */
function readAnswer({ status, type, body }: Answer, { origin }: URL): Json {
  if (status === 204) return {}
  const answer = parseJson(body)
  if (status < 300 && type.startsWith('application/json') && answer !== undefined) return answer
  if (type.startsWith('application/problem+json') && answer !== undefined)
    throw new RequestRefused(describeProblem(answer))
  throw new ServiceUnreachable(`${origin} does not answer as Sotto does (HTTP status ${status})`)
}

function parseJson(body: string): Json | undefined {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined
  } catch {
    return undefined
  }
}

/** Returns a problem document as lines: the code and the detail, then each field with the rule that it breaks. */
function describeProblem({ code, title, detail, errors }: Json): string {
  const fields = Array.isArray(errors) ? errors : []
  const lines = fields.map(({ field, rule }: Json) => `  ${shown(field)}: ${shown(rule)}`)
  // The detail of a refusal with fields repeats them.
  return [`${shown(code)}: ${shown(lines.length === 0 ? detail : (title ?? detail))}`, ...lines].join('\n')
}
