import { isIP } from 'node:net'
import { z } from 'zod'
import { boolean, listOf, next, object, slug } from '../values.ts'

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
  connections: z
    .int()
    .min(1)
    .max(64)
    .default(4)
    .describe(
      'Statements that one process runs at the same time; for Trino, beside a short one that compares columns.',
    ),
  statementTimeoutMs: z
    .int()
    .min(1)
    .max(MOST_STATEMENT_MS)
    .optional()
    .describe('Time limit of a query. Default, and largest value: `SOTTO_QUERY_TIMEOUT_MS`.'),
  registrationTimeoutMs: z
    .int()
    .min(1)
    .max(86_400_000)
    .default(600_000)
    .describe('Time limit of each statement that checks or copies a table.'),
})

const facts = {
  port: z.int().min(1).max(65_535).describe('Port of the server.'),
  user: text.describe('Role or user that Sotto signs in as.'),
  password: text.optional().describe('Password.'),
  passwordFile: path.optional().describe('File that contains the password; it is read again for each login.'),
  tls: tls
    .optional()
    .describe(
      "TLS: `true` (default, except for this machine), `false`, or `{ca, cert, key, servername}` with PEM files and the name in the server's certificate, which is always checked.",
    ),
  allowUnencryptedPassword: boolean('Permits a password or token without TLS to another host.').default(
    false,
  ),
  limits: limits.prefault({}).describe('Limits on the statements.'),
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
  engine: z.literal('postgres').describe('PostgreSQL.'),
  host: host
    .or(z.string().regex(/^\/[^\0]{1,99}$/, 'must be a host name, an IP address or the folder of a socket'))
    .describe('Host name, IP address or folder of a socket.'),
  port: facts.port.default(5_432),
  database: identifier(63).describe('Database.'),
  schema: identifier(63).default('public').describe('Schema of tables named without one.'),
  allowWritableRole: boolean('Accepts a role that may change the tables, with a warning in the log.').default(
    false,
  ),
})

const trinoConnection = z.strictObject({
  ...facts,
  engine: z.literal('trino').describe('Trino.'),
  host: host.describe('Host name or IP address.'),
  user: facts.user
    .regex(/^[^:\p{Cc}]+$/u, 'must not contain ":" or a control character')
    .describe('User that Sotto signs in as.'),
  token: text.optional().describe('Bearer token, in place of a password.'),
  tokenFile: path.optional().describe('File that contains the token; it is read again for each login.'),
  catalog: identifier(128).describe('Catalog of tables.'),
  schema: identifier(128).describe('Schema of tables named without one.'),
})

/** The file that `SOTTO_CONNECTIONS` points to. */
export const connectionFile = z.record(
  connectionName,
  z.discriminatedUnion('engine', [postgresConnection, trinoConnection]),
)

/** The entries of that file, by engine. */
export const CONNECTION_ENTRIES = { PostgreSQL: postgresConnection, Trino: trinoConnection } as const

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
export const connectionList = object('ConnectionList', 'The databases whose tables can be registered.', {
  connections: listOf(
    z.strictObject({
      name: connectionName,
      engine: z.enum(['postgres', 'trino']),
      reachable: boolean(
        'True if the last check could reach the database and sign in. Checks repeat every 10 seconds.',
      ),
    }),
  ),
  next,
})

function isHost(name: string): boolean {
  if (isIP(name) !== 0) return true
  const labels = name.replace(/\.$/, '').split('.')
  return name.length <= 253 && labels.every((label) => /^[a-z0-9_][a-z0-9_-]{0,62}$/i.test(label))
}
