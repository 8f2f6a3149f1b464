import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import path from 'node:path'
import { z } from 'zod'
import { ruleOf } from '../schemas/rule.ts'
import { isProtectedUrl, type OidcSettings, SIGNATURE_ALGORITHMS } from './access/oidc.ts'
import { type Quota, ROLES, type Role } from './access/principal.ts'
import { isHttpUrl } from './custody/publish.ts'
import type { SourceBounds } from './engines/duckdb/ingest-bounds.ts'
import type { TlsFiles } from './http/tls.ts'

const flag = z.enum(['true', 'false']).transform((text) => text === 'true')
const wholeNumber = (least: number, most: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().min(least).max(most))

/** True for an IP address, and for a CIDR block such as `10.0.0.0/8`, but not for one of all addresses. */
function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (rest.length > 0 || longest < 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= longest)
}

/** True for an http(s) URL without user and password. */
function isPlainHttpUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && isHttpUrl(text) && url.username === '' && url.password === ''
}

/**
 * Marks a variable whose value is or may contain a secret. Such a variable may be read from the file that `<NAME>_FILE`
 * names. Variables that name a file themselves are not marked.
 */
const secret = <Schema extends z.ZodType>(schema: Schema): Schema => schema.meta({ isSecret: true })

/**
 * All variables that Sotto reads, each optional. `docs/operations.md` contains the same list, and a test compares
 * them.
 */
export const environmentSchema = z.object({
  SOTTO_HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on.'),
  SOTTO_PORT: wholeNumber(0, 65_535).default(8080).describe('Port to listen on; 0 picks a free port.'),
  SOTTO_TLS_CERT: z
    .string()
    .min(1)
    .optional()
    .describe('Certificate chain for HTTPS: a PEM file, relative to the data folder.'),
  SOTTO_TLS_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('Private key of the certificate: a PEM file, relative to the data folder.'),
  SOTTO_TRUST_PROXY: z
    .string()
    .refine(
      (text) => text.split(',').every(isNetwork),
      'must be IP addresses or CIDR blocks such as 10.0.0.0/8, separated by commas without spaces, and not /0',
    )
    .optional()
    .describe('Proxies whose `X-Forwarded-For` is trusted: addresses or CIDR blocks, separated by commas.'),
  SOTTO_DATA_DIR: z
    .string()
    .min(1)
    .refine(
      (text) => !/[?*[\]]/.test(path.resolve(text)),
      'must not be in a folder whose name contains ?, *, [ or ]',
    )
    .default('data')
    .describe('Folder for source files, ingested rows, keys and the ledger.'),
  SOTTO_LEDGER_URL: secret(
    z
      .string()
      .min(1)
      .default('ledger.sqlite')
      .describe('Ledger: a SQLite file, relative to the data folder, or a postgres:// URL.'),
  ),
  SOTTO_CATALOG_URL: secret(
    z
      .string()
      .regex(/^postgres(ql)?:\/\//i, 'must be a postgres:// URL')
      .optional()
      .describe('API keys and catalog: a postgres:// URL. Without it, they are in the data folder.'),
  ),
  SOTTO_CONNECTIONS: z
    .string()
    .min(1)
    .optional()
    .describe('Databases whose tables may be registered: a JSON or YAML file, relative to the data folder.'),
  SOTTO_LEDGER_SIGNING_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('Ed25519 key that signs receipts and heads: a PEM file, relative to the data folder.'),
  SOTTO_HEADS_PUBLISH: secret(
    z
      .string()
      .min(1)
      .optional()
      .describe(
        'Destination of signed heads: a file to append to, relative to the data folder, or an http(s) URL to POST to.',
      ),
  ),
  SOTTO_HEADS_PUBLISH_SECONDS: wholeNumber(1, 86_400)
    .default(300)
    .describe('Time between two publications of heads.'),
  SOTTO_METRICS_KEY: secret(
    z
      .string()
      .regex(/^[\x21-\x7e]{16,200}$/, 'must be 16 to 200 visible ASCII characters')
      .optional()
      .describe(
        'Bearer key for `/metrics`. Without it and without a port of its own, `/metrics` answers 401.',
      ),
  ),
  SOTTO_METRICS_PORT: wholeNumber(0, 65_535)
    .optional()
    .describe(
      'Separate port for `/metrics`, which the main port then does not serve. It needs a key only if one is set.',
    ),
  SOTTO_TRACES_URL: z
    .string()
    .refine(isPlainHttpUrl, 'must be an http(s) URL without user and password')
    .optional()
    .describe(
      'Destination of traces: an http(s) URL for OTLP in JSON, such as `http://collector:4318/v1/traces`.',
    ),
  SOTTO_TRACES_HEADERS: secret(
    z
      .string()
      .regex(
        /^[\w-]+=[\x20-\x2b\x2d-\x7e]+(,[\w-]+=[\x20-\x2b\x2d-\x7e]+)*$/,
        'must be names and values, such as authorization=Bearer abc,x-tenant=7',
      )
      .optional()
      .describe('Headers of requests with traces: names and values, separated by commas.'),
  ),
  SOTTO_LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Lowest severity of log lines that are written.'),
  SOTTO_DEMO: flag.default(true).describe('Registers the demo dataset `census` at the first start if true.'),
  SOTTO_AUDIT: flag
    .default(false)
    .describe('Lets auditors draw fresh releases of synthetic datasets without limit if true.'),
  SOTTO_QUERY_TIMEOUT_MS: wholeNumber(1, 3_600_000)
    .default(30_000)
    .describe('Time limit of a query over the data, once its turn has come.'),
  SOTTO_INGEST_TIMEOUT_MS: wholeNumber(1, 86_400_000)
    .default(1_800_000)
    .describe('Time limit of an ingestion: for copying a source and converting its rows.'),
  SOTTO_QUERY_MEMORY: z
    .string()
    .regex(/^\d+(MB|GB)$/, 'must be a whole number followed by MB or GB')
    .default('1GB')
    .describe("Memory limit of a dataset's queries together."),
  SOTTO_QUERY_THREADS: wholeNumber(1, 256).default(2).describe("Threads that a dataset's queries share."),
  SOTTO_QUERY_CONNECTIONS: wholeNumber(1, 64)
    .default(4)
    .describe('Number of queries that may run at the same time, over all datasets of one timing.'),
  SOTTO_QUEUE_LENGTH: wholeNumber(1, 100_000)
    .default(1_000)
    .describe('Number of queries that may wait for their turn.'),
  SOTTO_QUEUE_WAIT_MS: wholeNumber(1, 3_600_000)
    .default(60_000)
    .describe('Time limit of the wait for a turn. Nothing has been charged then.'),
  SOTTO_REQUESTS_PER_MINUTE: wholeNumber(1, 1_000_000_000)
    .default(6_000)
    .describe('Sustained requests per minute of a principal, unless its key has a quota.'),
  SOTTO_REQUEST_BURST: wholeNumber(1, 1_000_000_000)
    .default(2_000)
    .describe('Requests that a principal may send at once after a pause, unless its key has a quota.'),
  SOTTO_CONCURRENT_REQUESTS: wholeNumber(1, 1_000_000)
    .default(100)
    .describe('Requests that a principal may have under way, unless its key has a quota.'),
  SOTTO_STORED_BYTES: wholeNumber(1, Number.MAX_SAFE_INTEGER)
    .default(2 ** 28)
    .describe('Bytes that the ledger stores for an analyst per dataset, unless the key has a quota.'),
  SOTTO_KEYLESS_REQUESTS_PER_MINUTE: wholeNumber(1, 1_000_000_000)
    .default(600)
    .describe('Requests per minute that an address may send without a valid key.'),
  SOTTO_MAX_CELLS: wholeNumber(1, 1_000_000).default(10_000).describe('Largest number of cells of a table.'),
  SOTTO_INGEST_MAX_ROWS: wholeNumber(1, 10_000_000_000)
    .default(100_000_000)
    .describe('Largest number of rows of a source file.'),
  SOTTO_INGEST_MAX_BYTES: z
    .string()
    .regex(/^[1-9]\d{0,8}(MB|GB)$/, 'must be a whole number greater than 0 followed by MB or GB')
    .default('16GB')
    .describe('Largest size of a source file, and of what it decompresses to.'),
  SOTTO_INGEST_MAX_VALUE_BYTES: wholeNumber(1, 1_000_000)
    .default(65_536)
    .describe('Largest size of one value in a declared column of a source file, in bytes of UTF-8.'),
  SOTTO_MIN_FREE_DISK: z
    .string()
    .regex(/^\d{1,9}(MB|GB)$/, 'must be a whole number followed by MB or GB')
    .default('256MB')
    .describe('The service reports that it is not ready while the disk has less free space than this.'),
  SOTTO_UPLOAD_MAX_BYTES: wholeNumber(1, Number.MAX_SAFE_INTEGER - 1)
    .default(2 ** 30)
    .describe('Largest size of an upload.'),
  SOTTO_UPLOAD_TOTAL_BYTES: wholeNumber(1, Number.MAX_SAFE_INTEGER)
    .default(2 ** 32)
    .describe('Largest size of all uploads of a principal together.'),
  SOTTO_UPLOAD_KEEP_HOURS: wholeNumber(1, 8_760)
    .default(72)
    .describe('Time after which an upload is deleted. Datasets registered from it remain.'),
  SOTTO_DRAIN_MS: wholeNumber(0, 600_000)
    .default(500)
    .describe('Time between reporting not ready and closing to new connections, at shutdown.'),
  SOTTO_SHUTDOWN_MS: wholeNumber(0, 600_000)
    .default(10_000)
    .describe('Time limit for open requests at shutdown, beyond twice the longest slot or deadline.'),
  SOTTO_OIDC_ISSUER: z
    .string()
    .refine(isProtectedUrl, 'must be an https:// URL, or an http:// URL on this machine')
    .optional()
    .describe('OpenID provider whose access tokens are accepted: its issuer.'),
  SOTTO_OIDC_AUDIENCE: z.string().min(1).optional().describe('Audience that tokens must name.'),
  SOTTO_OIDC_ALGORITHMS: z
    .string()
    .default('RS256,PS256,ES256,EdDSA')
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(SIGNATURE_ALGORITHMS)))
    .describe('Signature algorithms of tokens, separated by commas; only asymmetric ones.'),
  SOTTO_OIDC_CLOCK_SKEW_MS: wholeNumber(0, 300_000)
    .default(30_000)
    .describe("Largest difference between the provider's clock and this one."),
  SOTTO_OIDC_TOKEN_TYPE: z
    .enum(['at+jwt', 'any'])
    .default('at+jwt')
    .describe('Type of tokens: RFC 9068, or any but ID tokens.'),
  SOTTO_OIDC_NAME_CLAIM: z.string().min(1).default('sub').describe('Claim with the name; `/a/b` is a path.'),
  SOTTO_OIDC_ROLE_CLAIM: z
    .string()
    .min(1)
    .default('roles')
    .describe('Claim with the role; `/a/b` is a path.'),
  SOTTO_OIDC_ROLES: z
    .string()
    .regex(
      /^[^=,\s]+=(analyst|custodian|auditor)(,[^=,\s]+=(analyst|custodian|auditor))*$/,
      'must be values and roles, such as staff=analyst,privacy-office=auditor',
    )
    .default('analyst=analyst,custodian=custodian,auditor=auditor')
    .describe('Role that each value of the role claim stands for.'),
  SOTTO_OIDC_DATASETS_CLAIM: z
    .string()
    .min(1)
    .optional()
    .describe('Claim with the ids of the datasets that the token may use, or `*`.'),
  SOTTO_OIDC_CLIENT_ID: z
    .string()
    .min(1)
    .optional()
    .describe('Client with which the console and Swagger UI sign in.'),
})

/** Configuration of one process. Paths are absolute. */
export interface Config {
  readonly host: string
  readonly port: number
  /** Files for HTTPS; absent for HTTP. */
  readonly tls?: TlsFiles
  /** Addresses and CIDR blocks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly string[]
  readonly dataDirectory: string
  /** A postgres:// URL, which may contain a password, or the path of a SQLite file. */
  readonly ledgerUrl: string
  /** A postgres:// URL, which may contain a password. Absent if the catalog and the keys are in the data folder. */
  readonly catalogUrl?: string
  /** True if other processes may use the same ledger and data folder. */
  readonly replicated: boolean
  /** File of the databases whose tables may be registered. */
  readonly connectionsFile?: string
  readonly ledgerSigningKey?: string
  /** The path of a file, or an http(s) URL. */
  readonly headsPublish?: string
  readonly headsPublishMs: number
  readonly metricsKey?: string
  readonly metricsPort?: number
  /** Destination of traces; absent if requests are not traced. */
  readonly traces?: { readonly url: string; readonly headers: Readonly<Record<string, string>> }
  readonly logLevel: z.output<typeof environmentSchema>['SOTTO_LOG_LEVEL']
  readonly demo: boolean
  readonly audit: boolean
  readonly queryTimeoutMs: number
  readonly ingestTimeoutMs: number
  readonly queryMemory: string
  readonly queryThreads: number
  readonly queryConnections: number
  readonly queueLength: number
  readonly queueWaitMs: number
  /** Default limits, for principals whose key has no quota. */
  readonly quota: Quota
  readonly keylessPerMinute: number
  readonly maxCells: number
  /** Bounds on source files. */
  readonly sourceBounds: SourceBounds
  readonly minFreeDiskBytes: number
  readonly uploads: {
    readonly maxBytes: number
    readonly totalBytes: number
    readonly keepMs: number
  }
  readonly drainMs: number
  readonly shutdownMs: number
  /** Absent if no tokens are accepted. */
  readonly oidc?: OidcSettings & { readonly clientId?: string }
}

/** Configuration error that stops the start. Each line of its message names a variable and the rule it breaks. */
export class ConfigError extends Error {}

/** Variables of commands that call a service. The service itself does not read them. */
const CLIENT_VARIABLES: readonly string[] = ['SOTTO_URL', 'SOTTO_KEY', 'SOTTO_KEY_FILE']

/** Names of the variables that may be read from the file that `<NAME>_FILE` names. */
export const SECRET_VARIABLES: readonly string[] = Object.entries(environmentSchema.shape)
  .filter(([, schema]) => schema.meta()?.isSecret === true)
  .map(([name]) => name)

/**
 * Reads the configuration from an environment, and from the files that it names for secrets.
 * @throws ConfigError naming every variable that breaks a rule, including unknown `SOTTO_` variables.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const ours = Object.fromEntries(
    Object.entries(environment).filter(
      ([name, value]) => name.startsWith('SOTTO_') && !CLIENT_VARIABLES.includes(name) && value !== undefined,
    ),
  )
  const parsed = environmentSchema.strict().safeParse(withSecretFiles(ours), { error: ruleOf })
  if (!parsed.success) {
    const lines = parsed.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((name) => `${name}: is not a known variable`)
        : [`${String(issue.path[0])}: ${issue.message}`],
    )
    throw new ConfigError(lines.join('\n'))
  }
  const values = parsed.data
  const url = values.SOTTO_LEDGER_URL
  const isPostgres = /^postgres(ql)?:\/\//i.test(url)
  if (!isPostgres && /^[a-z][a-z0-9+.-]*:/i.test(url)) {
    throw new ConfigError('SOTTO_LEDGER_URL: must be the path of a SQLite file, or a postgres:// URL')
  }
  requireSharedLedger(values, isPostgres)
  if (values.SOTTO_CATALOG_URL !== undefined) requireNoGeneratedFiles(ours)
  requireTwoPorts(values)
  requirePublication(values)
  requireEnoughMemory(values)
  const dataDirectory = path.resolve(values.SOTTO_DATA_DIR)
  const trustedProxies = values.SOTTO_TRUST_PROXY?.split(',')
  return {
    host: values.SOTTO_HOST,
    port: values.SOTTO_PORT,
    ...tlsFiles(values, dataDirectory),
    ...(trustedProxies === undefined ? {} : { trustedProxies }),
    dataDirectory,
    ledgerUrl: isPostgres ? url : path.resolve(dataDirectory, url),
    ...(values.SOTTO_CATALOG_URL === undefined ? {} : { catalogUrl: values.SOTTO_CATALOG_URL }),
    replicated: isPostgres,
    ...(values.SOTTO_CONNECTIONS === undefined
      ? {}
      : { connectionsFile: path.resolve(dataDirectory, values.SOTTO_CONNECTIONS) }),
    ...(values.SOTTO_LEDGER_SIGNING_KEY === undefined
      ? {}
      : { ledgerSigningKey: path.resolve(dataDirectory, values.SOTTO_LEDGER_SIGNING_KEY) }),
    ...(values.SOTTO_HEADS_PUBLISH === undefined
      ? {}
      : { headsPublish: headsTarget(dataDirectory, values.SOTTO_HEADS_PUBLISH) }),
    headsPublishMs: values.SOTTO_HEADS_PUBLISH_SECONDS * 1_000,
    ...(values.SOTTO_METRICS_KEY === undefined ? {} : { metricsKey: values.SOTTO_METRICS_KEY }),
    ...(values.SOTTO_METRICS_PORT === undefined ? {} : { metricsPort: values.SOTTO_METRICS_PORT }),
    ...tracesTarget(values),
    logLevel: values.SOTTO_LOG_LEVEL,
    // The rows of the demo are a file, which replicas without a shared volume do not have.
    demo: values.SOTTO_DEMO && values.SOTTO_CATALOG_URL === undefined,
    audit: values.SOTTO_AUDIT,
    queryTimeoutMs: values.SOTTO_QUERY_TIMEOUT_MS,
    ingestTimeoutMs: values.SOTTO_INGEST_TIMEOUT_MS,
    queryMemory: values.SOTTO_QUERY_MEMORY,
    queryThreads: values.SOTTO_QUERY_THREADS,
    queryConnections: values.SOTTO_QUERY_CONNECTIONS,
    queueLength: values.SOTTO_QUEUE_LENGTH,
    queueWaitMs: values.SOTTO_QUEUE_WAIT_MS,
    quota: {
      requestsPerMinute: values.SOTTO_REQUESTS_PER_MINUTE,
      burst: values.SOTTO_REQUEST_BURST,
      concurrentRequests: values.SOTTO_CONCURRENT_REQUESTS,
      storedBytesPerDataset: values.SOTTO_STORED_BYTES,
    },
    keylessPerMinute: values.SOTTO_KEYLESS_REQUESTS_PER_MINUTE,
    maxCells: values.SOTTO_MAX_CELLS,
    sourceBounds: {
      maxRows: values.SOTTO_INGEST_MAX_ROWS,
      maxBytes: bytesOf(values.SOTTO_INGEST_MAX_BYTES),
      maxValueBytes: values.SOTTO_INGEST_MAX_VALUE_BYTES,
    },
    minFreeDiskBytes: bytesOf(values.SOTTO_MIN_FREE_DISK),
    uploads: {
      maxBytes: values.SOTTO_UPLOAD_MAX_BYTES,
      totalBytes: values.SOTTO_UPLOAD_TOTAL_BYTES,
      keepMs: values.SOTTO_UPLOAD_KEEP_HOURS * 3_600_000,
    },
    drainMs: values.SOTTO_DRAIN_MS,
    shutdownMs: values.SOTTO_SHUTDOWN_MS,
    ...oidcSettings(values, Object.keys(ours)),
  }
}

/** Larger files contain no URL and no key. */
const MOST_SECRET_BYTES = 65_536

/**
 * Replaces each `<NAME>_FILE` of a secret by the variable, with the content of the file. Paths are relative to the data
 * folder. Permissions are not checked, because container engines mount secrets with permissions of their own.
 * @throws ConfigError naming every variable whose file cannot be used, or that is also set itself.
 */
function withSecretFiles(
  given: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const { SOTTO_DATA_DIR: directory = environmentSchema.shape.SOTTO_DATA_DIR.parse(undefined) } = given
  const values = { ...given }
  const broken: string[] = []
  for (const name of SECRET_VARIABLES) {
    const file = given[`${name}_FILE`]
    if (file === undefined) continue
    delete values[`${name}_FILE`]
    if (given[name] !== undefined) broken.push(`${name}_FILE: must not be set together with ${name}`)
    else if (file === '') broken.push(`${name}_FILE: must be the path of a file`)
    else {
      const read = readSecret(path.resolve(directory, file))
      if ('rule' in read) broken.push(`${name}_FILE: ${read.rule}`)
      else values[name] = read.value
    }
  }
  if (broken.length > 0) throw new ConfigError(broken.join('\n'))
  return values
}

/** Reads a secret without its final line break, or returns the rule that the file breaks. */
function readSecret(file: string): { readonly value: string } | { readonly rule: string } {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    return { rule: `must be a file that can be read${code}` }
  }
  const value = text.replace(/\r?\n$/, '')
  if (value === '') return { rule: 'must be a file that is not empty' }
  return value.length > MOST_SECRET_BYTES ? { rule: 'must be a file of at most 64 kB' } : { value }
}

/**
 * Checks that replicas that share a catalog share the ledger, too.
 * @throws ConfigError if the ledger is a file of one replica.
 */
function requireSharedLedger(
  { SOTTO_CATALOG_URL: catalog }: z.output<typeof environmentSchema>,
  isPostgres: boolean,
): void {
  if (catalog !== undefined && !isPostgres)
    throw new ConfigError('SOTTO_CATALOG_URL: needs SOTTO_LEDGER_URL to be a postgres:// URL, too')
}

/**
 * Checks that no dataset is generated at the start whose rows would be a file of one replica.
 * @throws ConfigError for a variable that asks for one.
 */
function requireNoGeneratedFiles(given: Readonly<Record<string, string | undefined>>): void {
  const asked = ['SOTTO_DEMO', 'SOTTO_AUDIT'].filter((name) => given[name] === 'true')
  if (asked.length === 0) return
  throw new ConfigError(
    asked.map((name) => `${name}: must not be true with SOTTO_CATALOG_URL, which shares no files`).join('\n'),
  )
}

/**
 * Checks that the metrics have a port of their own, if they have one.
 * @throws ConfigError if it is the port of the service.
 */
function requireTwoPorts({
  SOTTO_PORT: port,
  SOTTO_METRICS_PORT: metricsPort,
}: z.output<typeof environmentSchema>): void {
  if (metricsPort === port && port !== 0)
    throw new ConfigError(`SOTTO_METRICS_PORT: must be another port than SOTTO_PORT, which is ${port}`)
}

/**
 * Returns the files for HTTPS, if they are configured.
 * @throws ConfigError if only one of the files is given.
 */
function tlsFiles(
  { SOTTO_TLS_CERT: cert, SOTTO_TLS_KEY: key }: z.output<typeof environmentSchema>,
  dataDirectory: string,
): Pick<Config, 'tls'> {
  if (cert === undefined && key === undefined) return {}
  if (cert === undefined) throw new ConfigError('SOTTO_TLS_CERT: must be set together with SOTTO_TLS_KEY')
  if (key === undefined) throw new ConfigError('SOTTO_TLS_KEY: must be set together with SOTTO_TLS_CERT')
  return { tls: { certFile: path.resolve(dataDirectory, cert), keyFile: path.resolve(dataDirectory, key) } }
}

/**
 * Returns the destination of traces, if one is configured.
 * @throws ConfigError if headers are given without a destination.
 */
function tracesTarget({
  SOTTO_TRACES_URL: url,
  SOTTO_TRACES_HEADERS: headers,
}: z.output<typeof environmentSchema>): Pick<Config, 'traces'> {
  if (url === undefined && headers !== undefined)
    throw new ConfigError('SOTTO_TRACES_HEADERS: needs SOTTO_TRACES_URL')
  if (url === undefined) return {}
  const pairs = headers?.split(',').map((pair) => {
    const [name = '', ...value] = pair.split('=')
    return [name, value.join('=')] as const
  })
  return { traces: { url, headers: Object.fromEntries(pairs ?? []) } }
}

/**
 * Returns the settings for tokens, if an issuer is configured.
 * @throws ConfigError if the audience is missing, or other settings are given without an issuer.
 */
function oidcSettings(
  values: z.output<typeof environmentSchema>,
  given: readonly string[],
): Pick<Config, 'oidc'> {
  const issuer = values.SOTTO_OIDC_ISSUER
  const audience = values.SOTTO_OIDC_AUDIENCE
  if (issuer === undefined) {
    const stray = given.filter((name) => name.startsWith('SOTTO_OIDC_'))
    if (stray.length === 0) return {}
    throw new ConfigError(stray.map((name) => `${name}: needs SOTTO_OIDC_ISSUER`).join('\n'))
  }
  if (audience === undefined)
    throw new ConfigError('SOTTO_OIDC_AUDIENCE: must be set together with SOTTO_OIDC_ISSUER')
  const datasetsClaim = values.SOTTO_OIDC_DATASETS_CLAIM
  const clientId = values.SOTTO_OIDC_CLIENT_ID
  return {
    oidc: {
      issuer,
      audience,
      algorithms: values.SOTTO_OIDC_ALGORITHMS,
      clockSkewMs: values.SOTTO_OIDC_CLOCK_SKEW_MS,
      tokenType: values.SOTTO_OIDC_TOKEN_TYPE,
      nameClaim: values.SOTTO_OIDC_NAME_CLAIM,
      roleClaim: values.SOTTO_OIDC_ROLE_CLAIM,
      roles: rolesFrom(values.SOTTO_OIDC_ROLES),
      ...(datasetsClaim === undefined ? {} : { datasetsClaim }),
      ...(clientId === undefined ? {} : { clientId }),
    },
  }
}

/** Reads pairs such as `staff=analyst,privacy-office=auditor`. */
function rolesFrom(text: string): ReadonlyMap<string, Role> {
  return new Map(
    text.split(',').flatMap((pair) => {
      const [value = '', name] = pair.split('=')
      const role = ROLES.find((each) => each === name)
      return role === undefined ? [] : [[value, role] as const]
    }),
  )
}

/** Converts a size such as `256MB` to bytes. */
function bytesOf(size: string): number {
  return Number.parseInt(size, 10) * (size.endsWith('GB') ? 2 ** 30 : 2 ** 20)
}

function headsTarget(dataDirectory: string, target: string): string {
  return isHttpUrl(target) ? target : path.resolve(dataDirectory, target)
}

/**
 * Checks the destination of signed heads, if there is one.
 * @throws ConfigError if the destination is not valid, or no key is configured that signs the heads.
 */
function requirePublication({
  SOTTO_HEADS_PUBLISH: target,
  SOTTO_LEDGER_SIGNING_KEY: key,
}: z.output<typeof environmentSchema>): void {
  if (target === undefined) return
  if (key === undefined)
    throw new ConfigError('SOTTO_HEADS_PUBLISH: needs SOTTO_LEDGER_SIGNING_KEY, the key that signs the heads')
  if (!/^[a-z][a-z0-9+.-]*:/i.test(target)) return
  if (!isPlainHttpUrl(target))
    throw new ConfigError(
      'SOTTO_HEADS_PUBLISH: must be the path of a file, or an http(s) URL without user and password',
    )
}

/**
 * Memory in MB that statements over the largest number of values need, for each concurrent query and for each thread.
 * Measured for operations that DuckDB can move to the temporary folder.
 */
const LEAST_MEMORY_MB = { perQuery: 64, perThread: 32 }

/**
 * Requires enough memory for queries over the largest number of values that declarations allow.
 * @throws ConfigError if there is less.
 */
function requireEnoughMemory(values: z.output<typeof environmentSchema>): void {
  const {
    SOTTO_QUERY_MEMORY: memory,
    SOTTO_QUERY_CONNECTIONS: queries,
    SOTTO_QUERY_THREADS: threads,
  } = values
  const megabytes = Number.parseInt(memory, 10) * (memory.endsWith('GB') ? 1_000 : 1)
  const least = queries * LEAST_MEMORY_MB.perQuery + threads * LEAST_MEMORY_MB.perThread
  if (megabytes >= least) return
  throw new ConfigError(
    `SOTTO_QUERY_MEMORY: must be at least ${least}MB for ${queries} concurrent queries (SOTTO_QUERY_CONNECTIONS) and ` +
      `${threads} threads (SOTTO_QUERY_THREADS)`,
  )
}
