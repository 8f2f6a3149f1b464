import path from 'node:path'
import { z } from 'zod'

const flag = z.enum(['true', 'false']).transform((text) => text === 'true')
const wholeNumber = (least: number, most: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().min(least).max(most))

/** Every variable that Sotto reads, each optional. `docs/operations.md` lists the same, and a test compares them. */
export const environmentSchema = z.object({
  SOTTO_HOST: z.string().min(1).default('127.0.0.1').describe('The address to listen on.'),
  SOTTO_PORT: wholeNumber(0, 65_535).default(8080).describe('The port to listen on; 0 picks a free one.'),
  SOTTO_DATA_DIR: z
    .string()
    .min(1)
    .refine(
      (text) => !/[?*[\]]/.test(path.resolve(text)),
      'must not lie in a folder whose name holds ?, *, [ or ]',
    )
    .default('data')
    .describe('The folder that holds source files, ingested rows, keys and the ledger.'),
  SOTTO_LEDGER_URL: z
    .string()
    .min(1)
    .default('ledger.sqlite')
    .describe('The ledger: a SQLite file, relative to the data folder, or a postgres:// URL.'),
  SOTTO_LEDGER_SIGNING_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('The Ed25519 key that signs receipts and heads: a PEM file, relative to the data folder.'),
  SOTTO_LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('The least severe log line to write.'),
  SOTTO_DEMO: flag
    .default(true)
    .describe('Whether to register the demo dataset `census` at the first start.'),
  SOTTO_AUDIT: flag
    .default(false)
    .describe('Whether auditors may have fresh releases of synthetic datasets without end, to measure them.'),
  SOTTO_QUERY_TIMEOUT_MS: wholeNumber(1, 3_600_000)
    .default(30_000)
    .describe('How long a query may run over the data, waiting for a connection included.'),
  SOTTO_QUERY_MEMORY: z
    .string()
    .regex(/^\d+(MB|GB)$/, 'must be a whole number followed by MB or GB')
    .default('1GB')
    .describe("The most memory a dataset's queries may use together."),
  SOTTO_QUERY_THREADS: wholeNumber(1, 256).default(2).describe("The threads a dataset's queries share."),
  SOTTO_QUERY_CONNECTIONS: wholeNumber(1, 64)
    .default(4)
    .describe('How many queries over one dataset may run at the same time.'),
  SOTTO_MAX_CELLS: wholeNumber(1, 1_000_000).default(10_000).describe('The most cells a table may have.'),
  SOTTO_DRAIN_MS: wholeNumber(0, 600_000)
    .default(500)
    .describe('How long, at a stop, readiness is down before no more connections are taken.'),
  SOTTO_SHUTDOWN_MS: wholeNumber(0, 600_000)
    .default(10_000)
    .describe('How long a stop waits for requests under way.'),
})

/** The configuration of one process. Paths are absolute. */
export interface Config {
  readonly host: string
  readonly port: number
  readonly dataDirectory: string
  /** A postgres:// URL, which may hold a password, or the path of a SQLite file. */
  readonly ledgerUrl: string
  /** Whether other processes may be at work on the same ledger, and the same data folder. */
  readonly replicated: boolean
  readonly ledgerSigningKey?: string
  readonly logLevel: z.output<typeof environmentSchema>['SOTTO_LOG_LEVEL']
  readonly demo: boolean
  readonly audit: boolean
  readonly queryTimeoutMs: number
  readonly queryMemory: string
  readonly queryThreads: number
  readonly queryConnections: number
  readonly maxCells: number
  readonly drainMs: number
  readonly shutdownMs: number
}

/** Why the service does not start: each line names a variable and the rule it breaks. */
export class ConfigError extends Error {}

/**
 * The configuration that an environment describes.
 * @throws ConfigError naming every variable that breaks a rule, unknown `SOTTO_` variables included.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const ours = Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => name.startsWith('SOTTO_') && value !== undefined),
  )
  const parsed = environmentSchema.strict().safeParse(ours)
  if (!parsed.success) {
    const lines = parsed.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((name) => `${name}: is not a variable Sotto knows`)
        : [`${issue.path.join('.')}: ${issue.message}`],
    )
    throw new ConfigError(lines.join('\n'))
  }
  const values = parsed.data
  const url = values.SOTTO_LEDGER_URL
  const isPostgres = /^postgres(ql)?:\/\//i.test(url)
  if (!isPostgres && /^[a-z][a-z0-9+.-]*:/i.test(url)) {
    throw new ConfigError('SOTTO_LEDGER_URL: must be the path of a SQLite file, or a postgres:// URL')
  }
  const dataDirectory = path.resolve(values.SOTTO_DATA_DIR)
  return {
    host: values.SOTTO_HOST,
    port: values.SOTTO_PORT,
    dataDirectory,
    ledgerUrl: isPostgres ? url : path.resolve(dataDirectory, url),
    replicated: isPostgres,
    ...(values.SOTTO_LEDGER_SIGNING_KEY === undefined
      ? {}
      : { ledgerSigningKey: path.resolve(dataDirectory, values.SOTTO_LEDGER_SIGNING_KEY) }),
    logLevel: values.SOTTO_LOG_LEVEL,
    demo: values.SOTTO_DEMO,
    audit: values.SOTTO_AUDIT,
    queryTimeoutMs: values.SOTTO_QUERY_TIMEOUT_MS,
    queryMemory: values.SOTTO_QUERY_MEMORY,
    queryThreads: values.SOTTO_QUERY_THREADS,
    queryConnections: values.SOTTO_QUERY_CONNECTIONS,
    maxCells: values.SOTTO_MAX_CELLS,
    drainMs: values.SOTTO_DRAIN_MS,
    shutdownMs: values.SOTTO_SHUTDOWN_MS,
  }
}
