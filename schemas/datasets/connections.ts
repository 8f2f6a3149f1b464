import { isIP } from 'node:net'
import { z } from 'zod'
import { listOf, slug } from '../values.ts'

/** Name of a connection, as its operator chooses it. */
export const connectionName = slug

/** The service waits for a query no longer than this. */
const MOST_STATEMENT_MS = 3_600_000

const text = z.string().min(1).max(1_000)
const path = z.string().min(1).max(4_096)

const host = z.string().refine(isHost, 'must be a host name or an IP address, without a port or a URL')

const tls = z.union(
  [z.boolean(), z.strictObject({ ca: path, cert: path, key: path, servername: host }).partial()],
  'must be true, false or {"ca", "cert", "key", "servername"}',
)

const limits = z.strictObject({
  connections: z.int().min(1).max(64).default(4),
  statementTimeoutMs: z.int().min(1).max(MOST_STATEMENT_MS).optional(),
  registrationTimeoutMs: z.int().min(1).max(86_400_000).default(600_000),
})

const facts = {
  port: z.int().min(1).max(65_535),
  user: text,
  password: text.optional(),
  passwordFile: path.optional(),
  tls: tls.optional(),
  allowUnencryptedPassword: z.boolean().default(false),
  limits: limits.prefault({}),
}

const identifier = (length: number) =>
  z
    .string()
    .min(1)
    .max(length)
    .refine(
      (name) => !/[.\p{Cc}"]/u.test(name),
      'must not contain ".", a quotation mark or a control character',
    )

const postgresConnection = z.strictObject({
  ...facts,
  engine: z.literal('postgres'),
  host: host.or(
    z.string().regex(/^\/[^\0]{1,99}$/, 'must be a host name, an IP address or the folder of a socket'),
  ),
  port: facts.port.default(5_432),
  database: identifier(63),
  schema: identifier(63).default('public'),
  allowWritableRole: z.boolean().default(false),
})

const trinoConnection = z.strictObject({
  ...facts,
  engine: z.literal('trino'),
  host,
  user: facts.user.regex(/^[^:\p{Cc}]+$/u, 'must not contain ":" or a control character'),
  token: text.optional(),
  tokenFile: path.optional(),
  catalog: identifier(128),
  schema: identifier(128),
})

/** The file that `SOTTO_CONNECTIONS` points to. */
export const connectionFile = z.record(
  connectionName,
  z.discriminatedUnion('engine', [postgresConnection, trinoConnection]),
)

/** An entry of the file of connections. */
export type ConnectionEntry = z.output<typeof connectionFile>[string]

/** Schema of a table's name in a registration: `schema.table` or `table`. */
export const tableName = z
  .string()
  .max(257)
  .refine(
    (name) => /^[^."\p{Cc}]{1,128}(\.[^."\p{Cc}]{1,128})?$/u.test(name),
    'must be "schema.table" or "table", each of at most 128 characters without ".", quotation marks and control characters',
  )

/** GET /v1/connections */
export const connectionList = z
  .strictObject({
    connections: listOf(
      z.strictObject({
        name: connectionName,
        engine: z.enum(['postgres', 'trino']),
        reachable: z
          .boolean()
          .describe(
            'True if the last check could reach the database and sign in. Checks repeat every 10 seconds.',
          ),
      }),
    ),
  })
  .meta({ id: 'ConnectionList', description: 'The databases whose tables can be registered.' })

function isHost(name: string): boolean {
  if (isIP(name) !== 0) return true
  const labels = name.replace(/\.$/, '').split('.')
  return name.length <= 253 && labels.every((label) => /^[a-z0-9_][a-z0-9_-]{0,62}$/i.test(label))
}
