import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import path from 'node:path'
import { parse, YAMLParseError } from 'yaml'
import { type ConnectionEntry, connectionFile } from '../../../schemas/datasets/connections.ts'
import type { Connection, ConnectionTls, Secret } from '../../engines/tables/connection.ts'
import { PrivateFileError, readPrivateFile } from '../../platform/files/private-file.ts'
import { defined } from '../../privacy/defined.ts'
import { ruleOf, unknownFieldsOf } from '../../privacy/rule.ts'

/**
 * The file of connections cannot be used. Each line of the message names a connection, a field and the rule that it
 * breaks, but no value.
 */
export class ConnectionFileError extends Error {}

/** Defaults and bounds that the service's configuration sets. */
export interface ConnectionDefaults {
  /** Time limit for queries of the service, which no connection may exceed. */
  readonly queryTimeoutMs: number
}

/**
 * Reads the connections that the operator has named, in JSON or YAML, and checks every file that they refer to. Paths in
 * it are relative to its own folder.
 *
 * @param file an absolute path
 * @throws ConnectionFileError
 */
export async function readConnections(
  file: string,
  defaults: ConnectionDefaults,
): Promise<ReadonlyMap<string, Connection>> {
  const entries = parseEntries(await readPrivateFile(file).catch(refuseFile))
  const connections: Connection[] = []
  const broken: string[] = []
  for (const [name, entry] of Object.entries(entries)) {
    try {
      connections.push(await connectionOf(name, entry, path.dirname(file), defaults))
    } catch (error) {
      if (!(error instanceof RuleBroken)) throw error
      broken.push(`${name}.${error.message}`)
    }
  }
  if (broken.length > 0) throw new ConnectionFileError(broken.join('\n'))
  return new Map(connections.map((connection) => [connection.name, connection]))
}

/** A field breaks a rule. The message is the field and the rule. */
class RuleBroken extends Error {
  constructor(field: string, rule: string) {
    super(`${field}: ${rule}`)
  }
}

function refuseFile(error: unknown): never {
  throw error instanceof PrivateFileError ? new ConnectionFileError(error.message) : error
}

function parseEntries(text: string): Readonly<Record<string, ConnectionEntry>> {
  let document: unknown
  try {
    document = parse(text, { maxAliasCount: 0 })
  } catch (error) {
    // The message of the parser quotes the file, which may contain passwords.
    const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined
    throw new ConnectionFileError(`must be JSON or YAML${line === undefined ? '' : ` (line ${line})`}`)
  }
  const parsed = connectionFile.safeParse(document ?? {}, { error: ruleOf })
  if (parsed.success) return parsed.data
  const lines = parsed.error.issues.flatMap((issue) => {
    const field = issue.path.join('.')
    return issue.code === 'unrecognized_keys'
      ? unknownFieldsOf(issue).map((unknown) => `${field}.${unknown.field}: ${unknown.rule}`)
      : [`${field === '' ? '' : `${field}: `}${issue.message}`]
  })
  throw new ConnectionFileError(lines.join('\n'))
}

async function connectionOf(
  name: string,
  entry: ConnectionEntry,
  folder: string,
  { queryTimeoutMs }: ConnectionDefaults,
): Promise<Connection> {
  const { host, port, user, limits } = entry
  const statementTimeoutMs = limits.statementTimeoutMs ?? queryTimeoutMs
  if (statementTimeoutMs > queryTimeoutMs)
    throw new RuleBroken('limits.statementTimeoutMs', 'must be at most SOTTO_QUERY_TIMEOUT_MS')
  const password = await secretOf(entry, 'password', folder)
  const token = entry.engine === 'trino' ? await secretOf(entry, 'token', folder) : undefined
  if (password !== undefined && token !== undefined)
    throw new RuleBroken('token', 'must not be given together with a password')
  requireEncryption(entry, password !== undefined || token !== undefined)
  const tls = await tlsOf(entry, folder)
  const facts = defined({ name, host, user, password, tls, limits: { ...limits, statementTimeoutMs } })
  switch (entry.engine) {
    case 'postgres': {
      const { engine, database, schema, allowWritableRole } = entry
      return { ...facts, port, engine, database, schema, allowWritableRole }
    }
    case 'trino': {
      const { engine, catalog, schema } = entry
      return { ...facts, ...defined({ port, engine, catalog, schema, token }) }
    }
  }
}

/**
 * Returns the reader of a secret that is given in the file itself or in a file of its own, which is read once to check
 * it.
 */
async function secretOf(
  entry: ConnectionEntry,
  field: 'password' | 'token',
  folder: string,
): Promise<Secret | undefined> {
  const given: Readonly<Record<string, unknown>> = entry
  const [value, file] = [given[field], given[`${field}File`]]
  if (typeof file !== 'string') return typeof value === 'string' ? async () => value : undefined
  if (value !== undefined) throw new RuleBroken(`${field}File`, `must not be given together with ${field}`)
  const located = path.resolve(folder, file)
  const read = async () => (await readPrivateFile(located)).replace(/\r?\n$/, '')
  const present = await read().catch((error: unknown) => refuseField(`${field}File`, error))
  if (present === '') throw new RuleBroken(`${field}File`, 'must not be empty')
  return read
}

function refuseField(field: string, error: unknown): never {
  throw error instanceof PrivateFileError ? new RuleBroken(field, error.message) : error
}

/** Requires TLS for secrets that leave the machine, unless the operator permits sending them unencrypted. */
function requireEncryption(entry: ConnectionEntry, hasSecret: boolean): void {
  if (usesTls(entry) || !hasSecret || isLocal(entry.host) || entry.allowUnencryptedPassword) return
  throw new RuleBroken(
    'tls',
    'must not be false for a host other than this machine, because the password would travel unencrypted, unless ' +
      'allowUnencryptedPassword is true',
  )
}

function usesTls({ tls, host }: ConnectionEntry): boolean {
  return tls === undefined ? !isLocal(host) : tls !== false
}

/** True for this machine: a loopback address, `localhost` or the folder of a socket. */
function isLocal(host: string): boolean {
  return (
    host === 'localhost' ||
    host === '::1' ||
    host.startsWith('/') ||
    (isIP(host) === 4 && host.startsWith('127.'))
  )
}

async function tlsOf(entry: ConnectionEntry, folder: string): Promise<ConnectionTls | undefined> {
  if (!usesTls(entry)) return undefined
  if (entry.host.startsWith('/')) throw new RuleBroken('tls', 'must not be given for the folder of a socket')
  const files = typeof entry.tls === 'object' ? entry.tls : {}
  if ((files.cert === undefined) !== (files.key === undefined))
    throw new RuleBroken('tls', 'must have both cert and key, or neither')
  const { servername } = files
  const ca = await pemOf('tls.ca', files.ca, folder, checkCertificate)
  const cert = await pemOf('tls.cert', files.cert, folder, checkCertificate)
  const key = await pemOf('tls.key', files.key, folder, checkKey)
  if (
    cert !== undefined &&
    key !== undefined &&
    !new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  )
    throw new RuleBroken('tls.key', 'must be the key of the certificate in tls.cert')
  return defined({ ca, cert, key, servername })
}

/** A check of a PEM file: how it is read, what throws if it is not one, and the rule. */
interface PemCheck {
  readonly read: (file: string) => Promise<string>
  readonly parse: (pem: string) => unknown
  readonly rule: string
}

const checkCertificate: PemCheck = {
  read: (file) => readFile(file, 'utf8'),
  parse: (pem) => new X509Certificate(pem),
  rule: 'must be a PEM certificate that can be read',
}

const checkKey: PemCheck = {
  read: readPrivateFile,
  parse: createPrivateKey,
  rule: 'must be a PEM private key without a passphrase',
}

async function pemOf(
  field: string,
  file: string | undefined,
  folder: string,
  { read, parse: parsePem, rule }: PemCheck,
): Promise<string | undefined> {
  if (file === undefined) return undefined
  try {
    const pem = await read(path.resolve(folder, file))
    parsePem(pem)
    return pem
  } catch (error) {
    // Messages of the parser may quote the file.
    throw new RuleBroken(field, error instanceof PrivateFileError ? error.message : rule)
  }
}
