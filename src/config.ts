import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import path from 'node:path'
import { z } from 'zod'
import { isProtectedUrl, SIGNATURE_ALGORITHMS } from './http/access/oidc.ts'
import { ROLES, type Role } from './http/access/principal.ts'
import { codeOf } from './platform/files/private-file.ts'
import { type Defined, defined } from './privacy/defined.ts'
import { must } from './privacy/must.ts'
import { ruleOf } from './privacy/rule.ts'

/** One environment variable. */
interface Variable<Value> {
  readonly name: string
  /** What it sets: one sentence or more, in Markdown. */
  readonly meaning: string
  /** Its text if it is not set. Without one, its value is then undefined. */
  readonly standard: string | undefined
  /** Checks and converts its text. */
  readonly schema: z.ZodType<Value>
  /** True if it may contain a secret. It may then be read from the file that `<NAME>_FILE` names. */
  readonly isSecret: boolean
  /** True if it is a path relative to the data folder, or a URL. */
  readonly isPath: boolean
}

type Traits = Partial<Pick<Variable<unknown>, 'isSecret' | 'isPath'>>

const SECRET: Traits = { isSecret: true }
const PATH: Traits = { isPath: true }

function variable<Value>(
  name: string,
  standard: string,
  meaning: string,
  schema: z.ZodType<Value>,
  traits: Traits = {},
): Variable<Value> {
  return { name, standard, meaning, schema, isSecret: false, isPath: false, ...traits }
}

/** A variable without a default. */
function optional<Value>(
  name: string,
  meaning: string,
  schema: z.ZodType<Value>,
  traits: Traits = {},
): Variable<Value | undefined> {
  return { name, standard: undefined, meaning, schema, isSecret: false, isPath: false, ...traits }
}

const flag = z.enum(['true', 'false']).transform((value) => value === 'true')
const text = z.string().min(1)
const wholeNumber = (least: number, most: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().min(least).max(most))
/** A size such as `256MB`, in bytes. */
const size = (pattern: RegExp, rule: string) =>
  z
    .string()
    .regex(pattern, rule)
    .transform((value) => Number.parseInt(value, 10) * (value.endsWith('GB') ? 2 ** 30 : 2 ** 20))
const postgresUrl = z.string().refine(isPostgresUrl, 'must be a postgres:// URL')
const plainHttpUrl = z.string().refine(isPlainHttpUrl, 'must be an http(s) URL without user and password')

/**
 * All variables of the service, each optional. The configuration, its errors and docs/reference/configuration.md follow
 * from this table.
 */
export const VARIABLES = {
  host: variable('SOTTO_HOST', '127.0.0.1', 'Address to listen on.', text),
  port: variable('SOTTO_PORT', '8080', 'Port to listen on; 0 picks a free port.', wholeNumber(0, 65_535)),
  pgPort: optional(
    'SOTTO_PG_PORT',
    "Port for PostgreSQL's protocol, for BI tools; 0 picks a free port. Without it, the protocol is off.",
    wholeNumber(0, 65_535),
  ),
  tls: {
    certFile: optional(
      'SOTTO_TLS_CERT',
      'Certificate chain for HTTPS: a PEM file, relative to the data folder.',
      text,
      PATH,
    ),
    keyFile: optional(
      'SOTTO_TLS_KEY',
      'Private key of the certificate: a PEM file, relative to the data folder.',
      text,
      PATH,
    ),
  },
  trustedProxies: optional(
    'SOTTO_TRUST_PROXY',
    'Proxies whose `X-Forwarded-For` is trusted: addresses or CIDR blocks, separated by commas.',
    z
      .string()
      .refine(
        (value) => value.split(',').every(isNetwork),
        'must be IP addresses or CIDR blocks such as 10.0.0.0/8, separated by commas without spaces, and not /0',
      )
      .transform((value) => value.split(',')),
  ),
  allowedOrigins: optional(
    'SOTTO_ALLOWED_ORIGINS',
    'Origins of pages that may call the service from a browser, separated by commas.',
    z
      .string()
      .refine(
        (value) => value.split(',').every(isOrigin),
        'must be origins such as https://notebooks.example.org, separated by commas without spaces, and not *',
      )
      .transform((value) => value.split(',')),
  ),
  dataDirectory: variable(
    'SOTTO_DATA_DIR',
    'data',
    'Folder for source files, ingested rows, keys and the ledger.',
    text
      .transform((value) => path.resolve(value))
      .refine((value) => !/[?*[\]]/.test(value), 'must not be in a folder whose name contains ?, *, [ or ]'),
  ),
  ledgerUrl: variable(
    'SOTTO_LEDGER_URL',
    'ledger.sqlite',
    'Ledger: a SQLite file, relative to the data folder, or a postgres:// URL.',
    text.refine(
      (value) => !hasScheme(value) || isPostgresUrl(value),
      'must be the path of a SQLite file, or a postgres:// URL',
    ),
    { ...SECRET, ...PATH },
  ),
  catalogUrl: optional(
    'SOTTO_CATALOG_URL',
    'API keys and catalog: a postgres:// URL. Without it, they are in the data folder.',
    postgresUrl,
    SECRET,
  ),
  connectionsFile: optional(
    'SOTTO_CONNECTIONS',
    'Databases whose tables may be registered: a JSON or YAML file, relative to the data folder.',
    text,
    PATH,
  ),
  ledgerSigningKey: optional(
    'SOTTO_LEDGER_SIGNING_KEY',
    'Ed25519 key that signs receipts and heads: a PEM file, relative to the data folder.',
    text,
    PATH,
  ),
  headsPublish: optional(
    'SOTTO_HEADS_PUBLISH',
    'Destination of signed heads: a file to append to, relative to the data folder, or an http(s) URL to POST to.',
    text.refine(
      (value) => !hasScheme(value) || isPlainHttpUrl(value),
      'must be the path of a file, or an http(s) URL without user and password',
    ),
    { ...SECRET, ...PATH },
  ),
  headsPublishMs: variable(
    'SOTTO_HEADS_PUBLISH_SECONDS',
    '300',
    'Time between two publications of heads.',
    wholeNumber(1, 86_400).transform((seconds) => seconds * 1_000),
  ),
  metricsKey: optional(
    'SOTTO_METRICS_KEY',
    'Bearer key for `/metrics`. Without it and without a port of its own, `/metrics` answers 401.',
    z.string().regex(/^[\x21-\x7e]{16,200}$/, 'must be 16 to 200 visible ASCII characters'),
    SECRET,
  ),
  metricsPort: optional(
    'SOTTO_METRICS_PORT',
    'Separate port for `/metrics`, which the main port then does not serve. It needs a key only if one is set.',
    wholeNumber(0, 65_535),
  ),
  traces: {
    url: optional(
      'SOTTO_TRACES_URL',
      'Destination of traces: an http(s) URL for OTLP in JSON, such as `http://collector:4318/v1/traces`.',
      plainHttpUrl,
    ),
    headers: optional(
      'SOTTO_TRACES_HEADERS',
      'Headers of requests with traces: names and values, separated by commas.',
      z
        .string()
        .regex(
          /^[\w-]+=[\x20-\x2b\x2d-\x7e]+(,[\w-]+=[\x20-\x2b\x2d-\x7e]+)*$/,
          'must be names and values, such as authorization=Bearer abc,x-tenant=7',
        )
        .transform((value) => Object.fromEntries(pairsOf(value))),
      SECRET,
    ),
  },
  logLevel: variable(
    'SOTTO_LOG_LEVEL',
    'info',
    'Lowest severity of log lines that are written.',
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  ),
  demo: variable(
    'SOTTO_DEMO',
    'true',
    'Registers the demo dataset `census` at the first start if true.',
    flag,
  ),
  audit: variable(
    'SOTTO_AUDIT',
    'false',
    'Lets auditors draw fresh releases of synthetic datasets without limit if true.',
    flag,
  ),
  queryTimeoutMs: variable(
    'SOTTO_QUERY_TIMEOUT_MS',
    '30000',
    'Time limit of a query over the data, once its turn has come.',
    wholeNumber(1, 3_600_000),
  ),
  ingestTimeoutMs: variable(
    'SOTTO_INGEST_TIMEOUT_MS',
    '1800000',
    'Time limit of an ingestion: for copying a source and converting its rows.',
    wholeNumber(1, 86_400_000),
  ),
  queryMemory: variable(
    'SOTTO_QUERY_MEMORY',
    '1GB',
    "Memory limit of a dataset's queries together.",
    z.string().regex(/^\d+(MB|GB)$/, 'must be a whole number followed by MB or GB'),
  ),
  queryThreads: variable(
    'SOTTO_QUERY_THREADS',
    '2',
    "Threads that a dataset's queries share.",
    wholeNumber(1, 256),
  ),
  queryConnections: variable(
    'SOTTO_QUERY_CONNECTIONS',
    '4',
    'Number of queries that may run at the same time, over all datasets of one timing.',
    wholeNumber(1, 64),
  ),
  queueLength: variable(
    'SOTTO_QUEUE_LENGTH',
    '1000',
    'Number of queries that may wait for their turn.',
    wholeNumber(1, 100_000),
  ),
  queueWaitMs: variable(
    'SOTTO_QUEUE_WAIT_MS',
    '60000',
    'Time limit of the wait for a turn. Nothing has been charged then.',
    wholeNumber(1, 3_600_000),
  ),
  /** Limits of principals whose key has no quota. */
  quota: {
    requestsPerMinute: variable(
      'SOTTO_REQUESTS_PER_MINUTE',
      '6000',
      'Sustained requests per minute of a principal, unless its key has a quota.',
      wholeNumber(1, 1_000_000_000),
    ),
    burst: variable(
      'SOTTO_REQUEST_BURST',
      '2000',
      'Requests that a principal may send at once after a pause, unless its key has a quota.',
      wholeNumber(1, 1_000_000_000),
    ),
    concurrentRequests: variable(
      'SOTTO_CONCURRENT_REQUESTS',
      '100',
      'Requests that a principal may have under way, unless its key has a quota.',
      wholeNumber(1, 1_000_000),
    ),
    storedBytesPerDataset: variable(
      'SOTTO_STORED_BYTES',
      '268435456',
      'Bytes that the ledger stores for an analyst per dataset, unless the key has a quota.',
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
    ),
  },
  keylessPerMinute: variable(
    'SOTTO_KEYLESS_REQUESTS_PER_MINUTE',
    '600',
    'Requests per minute that an address may send without a valid key.',
    wholeNumber(1, 1_000_000_000),
  ),
  maxCells: variable(
    'SOTTO_MAX_CELLS',
    '10000',
    'Largest number of cells of a table.',
    wholeNumber(1, 1_000_000),
  ),
  sourceBounds: {
    maxRows: variable(
      'SOTTO_INGEST_MAX_ROWS',
      '100000000',
      'Largest number of rows of a source file.',
      wholeNumber(1, 10_000_000_000),
    ),
    maxBytes: variable(
      'SOTTO_INGEST_MAX_BYTES',
      '16GB',
      'Largest size of a source file, and of what it decompresses to.',
      size(/^[1-9]\d{0,8}(MB|GB)$/, 'must be a whole number greater than 0 followed by MB or GB'),
    ),
    maxValueBytes: variable(
      'SOTTO_INGEST_MAX_VALUE_BYTES',
      '65536',
      'Largest size of one value in a declared column of a source file, in bytes of UTF-8.',
      wholeNumber(1, 1_000_000),
    ),
  },
  minFreeDiskBytes: variable(
    'SOTTO_MIN_FREE_DISK',
    '256MB',
    'The service reports that it is not ready while the disk has less free space than this.',
    size(/^\d{1,9}(MB|GB)$/, 'must be a whole number followed by MB or GB'),
  ),
  uploads: {
    maxBytes: variable(
      'SOTTO_UPLOAD_MAX_BYTES',
      '1073741824',
      'Largest size of an upload.',
      wholeNumber(1, Number.MAX_SAFE_INTEGER - 1),
    ),
    totalBytes: variable(
      'SOTTO_UPLOAD_TOTAL_BYTES',
      '4294967296',
      'Largest size of all uploads of a principal together.',
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
    ),
    keepMs: variable(
      'SOTTO_UPLOAD_KEEP_HOURS',
      '72',
      'Time after which an upload is deleted. Datasets registered from it remain.',
      wholeNumber(1, 8_760).transform((hours) => hours * 3_600_000),
    ),
  },
  drainMs: variable(
    'SOTTO_DRAIN_MS',
    '500',
    'Time between reporting not ready and closing to new connections, at shutdown.',
    wholeNumber(0, 600_000),
  ),
  shutdownMs: variable(
    'SOTTO_SHUTDOWN_MS',
    '10000',
    'Time limit for open requests at shutdown, beyond twice the longest slot or deadline.',
    wholeNumber(0, 600_000),
  ),
  oidc: {
    issuer: optional(
      'SOTTO_OIDC_ISSUER',
      'OpenID provider whose access tokens are accepted: its issuer.',
      z.string().refine(isProtectedUrl, 'must be an https:// URL, or an http:// URL on this machine'),
    ),
    audience: optional('SOTTO_OIDC_AUDIENCE', 'Audience that tokens must name.', text),
    algorithms: variable(
      'SOTTO_OIDC_ALGORITHMS',
      'RS256,PS256,ES256,EdDSA',
      'Signature algorithms of tokens, separated by commas; only asymmetric ones.',
      z
        .string()
        .transform((value) => value.split(','))
        .pipe(z.array(z.enum(SIGNATURE_ALGORITHMS))),
    ),
    clockSkewMs: variable(
      'SOTTO_OIDC_CLOCK_SKEW_MS',
      '30000',
      "Largest difference between the provider's clock and this one.",
      wholeNumber(0, 300_000),
    ),
    tokenType: variable(
      'SOTTO_OIDC_TOKEN_TYPE',
      'at+jwt',
      'Type of tokens: RFC 9068, or any but ID tokens.',
      z.enum(['at+jwt', 'any']),
    ),
    nameClaim: variable('SOTTO_OIDC_NAME_CLAIM', 'sub', 'Claim with the name; `/a/b` is a path.', text),
    roleClaim: variable('SOTTO_OIDC_ROLE_CLAIM', 'roles', 'Claim with the role; `/a/b` is a path.', text),
    roles: variable(
      'SOTTO_OIDC_ROLES',
      'analyst=analyst,custodian=custodian,auditor=auditor',
      'Role that each value of the role claim stands for.',
      z
        .string()
        .regex(
          /^[^=,\s]+=(analyst|custodian|auditor)(,[^=,\s]+=(analyst|custodian|auditor))*$/,
          'must be values and roles, such as staff=analyst,privacy-office=auditor',
        )
        .transform(rolesFrom),
    ),
    datasetsClaim: optional(
      'SOTTO_OIDC_DATASETS_CLAIM',
      'Claim with the ids of the datasets that the token may use, or `*`.',
      text,
    ),
    clientId: optional('SOTTO_OIDC_CLIENT_ID', 'Client with which the console and Swagger UI sign in.', text),
  },
}

/** Variables of commands that call a service. The service itself does not read them. */
const CLIENT_VARIABLES: readonly string[] = ['SOTTO_URL', 'SOTTO_KEY', 'SOTTO_KEY_FILE']

/** The variables of a table, without its groups. */
function* variablesOf(table: object): Generator<Variable<unknown>> {
  for (const entry of Object.values(table)) {
    if ('schema' in entry) yield entry
    else yield* variablesOf(entry)
  }
}

export const ALL_VARIABLES: readonly Variable<unknown>[] = [...variablesOf(VARIABLES)]

/** Names of the variables that may be read from the file that `<NAME>_FILE` names. */
export const SECRET_VARIABLES: readonly string[] = ALL_VARIABLES.filter(({ isSecret }) => isSecret).map(
  ({ name }) => name,
)

type ValuesOf<Table> = {
  readonly [Key in keyof Table]: Table[Key] extends Variable<infer Value> ? Value : ValuesOf<Table[Key]>
}

function valuesOf<Table extends object>(
  table: Table,
  read: (variable: Variable<unknown>) => unknown,
): ValuesOf<Table> {
  const values = Object.entries(table).map(([key, entry]) => [
    key,
    'schema' in entry ? read(entry) : valuesOf(entry, read),
  ])
  return Object.fromEntries(values) as ValuesOf<Table>
}

type Values = ValuesOf<typeof VARIABLES>

/** A group of values that is complete once its `Required` ones are there. */
type Complete<Group, Required extends keyof Group> = Defined<
  Omit<Group, Required> & { readonly [Key in Required]: Exclude<Group[Key], undefined> }
>

/** Configuration of one process. Paths are absolute. URLs may contain a password. */
export interface Config extends Defined<Omit<Values, 'tls' | 'traces' | 'oidc'>> {
  /** Files for HTTPS; absent for HTTP. */
  readonly tls?: Complete<Values['tls'], 'certFile' | 'keyFile'>
  /** Destination of traces; absent if requests are not traced. */
  readonly traces?: Complete<Values['traces'], 'url' | 'headers'>
  /** Absent if no tokens are accepted. */
  readonly oidc?: Complete<Values['oidc'], 'issuer' | 'audience'>
  /** True if other processes may use the same ledger and data folder. */
  readonly replicated: boolean
}

/** Configuration error that stops the start. Each line of its message names a variable and the rule it breaks. */
export class ConfigError extends Error {}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the configuration from an environment, and from the files that it names for secrets.
 * @throws ConfigError naming every variable that breaks a rule, including unknown `SOTTO_` variables.
 */
export function readConfig(environment: Environment): Config {
  const names = Object.keys(environment).filter(
    (name) =>
      name.startsWith('SOTTO_') && !CLIENT_VARIABLES.includes(name) && environment[name] !== undefined,
  )
  const given = withSecretFiles(Object.fromEntries(names.map((name) => [name, environment[name]])))
  const broken = Object.keys(given)
    .filter((name) => !ALL_VARIABLES.some((variable) => variable.name === name))
    .map((name) => `${name}: is not a known variable`)
  const { name: folderName, standard: standardFolder } = VARIABLES.dataDirectory
  const folder = path.resolve(must(given[folderName] ?? standardFolder, 'the standard data folder'))
  const values = valuesOf(VARIABLES, ({ name, standard, schema, isPath }) => {
    const value = given[name] ?? standard
    if (value === undefined) return undefined
    const parsed = schema.safeParse(value, { error: ruleOf })
    if (!parsed.success) broken.push(...parsed.error.issues.map(({ message }) => `${name}: ${message}`))
    return isPath && !hasScheme(value) ? path.resolve(folder, value) : parsed.data
  })
  stopIf(broken)
  stopIf([...brokenTogether(values, ({ name }) => given[name] !== undefined)])
  const { tls, traces, oidc, ...single } = values
  const { certFile, keyFile } = tls
  const { issuer, audience } = oidc
  return defined({
    ...single,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    traces: traces.url === undefined ? undefined : { url: traces.url, headers: traces.headers ?? {} },
    oidc: issuer === undefined || audience === undefined ? undefined : defined({ ...oidc, issuer, audience }),
    // The rows of the demo are a file, which replicas without a shared volume do not have.
    demo: values.demo && values.catalogUrl === undefined,
    replicated: isPostgresUrl(values.ledgerUrl),
  })
}

function stopIf(broken: readonly string[]): void {
  if (broken.length > 0) throw new ConfigError(broken.join('\n'))
}

/**
 * Memory in MB that statements over the largest number of values need, for each concurrent query and for each thread.
 * Measured for operations that DuckDB can move to the temporary folder.
 */
const LEAST_MEMORY_MB = { perQuery: 64, perThread: 32 }

/** Yields the rules over several variables that are broken, each with the variable that breaks it. */
function* brokenTogether(
  values: Values,
  isGiven: (variable: Variable<unknown>) => boolean,
): Generator<string> {
  const { tls, traces, oidc, ...own } = VARIABLES
  /** If one variable is set, another must be. */
  function* requires(one: Variable<unknown>, other: Variable<unknown>, why = '') {
    if (isGiven(one) && !isGiven(other)) yield `${one.name}: needs ${other.name}${why}`
  }
  yield* requires(tls.certFile, tls.keyFile)
  yield* requires(tls.keyFile, tls.certFile)
  yield* requires(traces.headers, traces.url)
  for (const variable of Object.values(oidc)) yield* requires(variable, oidc.issuer)
  yield* requires(oidc.issuer, oidc.audience)
  yield* requires(own.headsPublish, own.ledgerSigningKey, ', the key that signs the heads')
  if (values.catalogUrl !== undefined) {
    if (!isPostgresUrl(values.ledgerUrl))
      yield `${own.catalogUrl.name}: needs ${own.ledgerUrl.name} to be a postgres:// URL, too`
    for (const { variable, asked } of [
      { variable: own.demo, asked: values.demo },
      { variable: own.audit, asked: values.audit },
    ])
      if (asked && isGiven(variable))
        yield `${variable.name}: must not be true with ${own.catalogUrl.name}, which shares no files`
  }
  const { port, metricsPort } = values
  if (metricsPort === port && port !== 0)
    yield `${own.metricsPort.name}: must be another port than ${own.port.name}, which is ${port}`
  const { pgPort } = values
  if (pgPort !== undefined && pgPort !== 0 && (pgPort === port || pgPort === metricsPort))
    yield `${own.pgPort.name}: must be another port than those of HTTP`
  const { queryMemory, queryConnections, queryThreads } = values
  const megabytes = Number.parseInt(queryMemory, 10) * (queryMemory.endsWith('GB') ? 1_000 : 1)
  const least = queryConnections * LEAST_MEMORY_MB.perQuery + queryThreads * LEAST_MEMORY_MB.perThread
  if (megabytes < least)
    yield `${own.queryMemory.name}: must be at least ${least}MB for ${queryConnections} concurrent queries ` +
      `(${own.queryConnections.name}) and ${queryThreads} threads (${own.queryThreads.name})`
}

/** Larger files contain no URL and no key. */
const MOST_SECRET_BYTES = 65_536

/**
 * Replaces each `<NAME>_FILE` of a secret by the variable, with the content of the file. Paths are relative to the data
 * folder. Permissions are not checked, because container engines mount secrets with permissions of their own.
 * @throws ConfigError naming every variable whose file cannot be used, or that is also set itself.
 */
function withSecretFiles(given: Environment): Environment {
  const { name: folderName, standard = '' } = VARIABLES.dataDirectory
  const values = { ...given }
  const broken: string[] = []
  for (const name of SECRET_VARIABLES) {
    const file = given[`${name}_FILE`]
    if (file === undefined) continue
    delete values[`${name}_FILE`]
    if (given[name] !== undefined) broken.push(`${name}_FILE: must not be set together with ${name}`)
    else if (file === '') broken.push(`${name}_FILE: must be the path of a file`)
    else {
      const read = readSecret(path.resolve(given[folderName] ?? standard, file))
      if ('rule' in read) broken.push(`${name}_FILE: ${read.rule}`)
      else values[name] = read.value
    }
  }
  stopIf(broken)
  return values
}

/** Reads a secret without its final line break, or returns the rule that the file breaks. */
function readSecret(file: string): { readonly value: string } | { readonly rule: string } {
  let secret: string
  try {
    secret = readFileSync(file, 'utf8')
  } catch (error) {
    return { rule: `must be a file that can be read${codeOf(error)}` }
  }
  const value = secret.replace(/\r?\n$/, '')
  if (value === '') return { rule: 'must be a file that is not empty' }
  return value.length > MOST_SECRET_BYTES ? { rule: 'must be a file of at most 64 kB' } : { value }
}

/** Reads pairs such as `a=1,b=2`. A value may contain `=`. */
function pairsOf(list: string): readonly (readonly [name: string, value: string])[] {
  return list.split(',').map((pair) => {
    const at = pair.indexOf('=')
    return [pair.slice(0, at), pair.slice(at + 1)]
  })
}

/** Reads pairs such as `staff=analyst,privacy-office=auditor`. */
function rolesFrom(list: string): ReadonlyMap<string, Role> {
  return new Map(
    pairsOf(list).flatMap(([value, name]) => {
      const role = ROLES.find((each) => each === name)
      return role === undefined ? [] : [[value, role] as const]
    }),
  )
}

/** True for an IP address, and for a CIDR block such as `10.0.0.0/8`, but not for one of all addresses. */
function isNetwork(value: string): boolean {
  const [address = '', bits, ...rest] = value.split('/')
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (rest.length > 0 || longest < 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= longest)
}

/** True for the origin of a page as browsers send it, such as `https://notebooks.example.org`. */
function isOrigin(value: string): boolean {
  return isPlainHttpUrl(value) && new URL(value).origin === value
}

function hasScheme(value: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(value)
}

function isPostgresUrl(value: string): boolean {
  return /^postgres(ql)?:\/\//i.test(value)
}

/** True for an http(s) URL without user and password. */
function isPlainHttpUrl(value: string): boolean {
  const url = URL.canParse(value) ? new URL(value) : undefined
  return url !== undefined && /^https?:\/\//i.test(value) && url.username === '' && url.password === ''
}
