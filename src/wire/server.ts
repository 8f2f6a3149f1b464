import { randomInt } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, type SecureContext, type SecureContextOptions, TLSSocket } from 'node:tls'
import type { Principal } from '../http/access/principal.ts'
import { createQuotas } from '../http/access/quotas.ts'
import { networkOf } from '../http/access/refused-sign-ins.ts'
import type { RequestLimits } from '../http/limits.ts'
import { openCatalogues } from './catalogue/catalogues.ts'
import { DATABASE, DUMMY_DATABASE } from './catalogue/names.ts'
import { describeError, WireError } from './errors.ts'
import type { WireParts, WireTimes } from './parts.ts'
import { type Report, send } from './protocol/backend.ts'
import { ProtocolViolation } from './protocol/fields.ts'
import { MAX_START_BYTES, readStartPacket, type StartPacket } from './protocol/frontend.ts'
import { openInbox } from './protocol/inbox.ts'
import { openOutput } from './protocol/output.ts'
import { overQuota } from './session/counted-runs.ts'
import { createSession, type Session } from './session/session.ts'
import { createSettings, type Settings, type SettingsOfKey } from './session/settings.ts'
import { signIn } from './session/sign-in.ts'
import { openCommandPool } from './statements/pool.ts'

/** The server of PostgreSQL's protocol. */
export interface WireServer {
  readonly server: Server
  /** New connections use another certificate. */
  setSecureContext(options: SecureContextOptions): void
  /** Ends sessions after the statements under way, and stops. */
  close(): Promise<void>
}

const TIMES: WireTimes = { signInMs: 15_000, messageMs: 30_000, sendMs: 60_000, lingerMs: 10_000 }
const MOST_CONNECTIONS = 1_000
const MOST_OF_A_PRINCIPAL = 100
/** The number of connections of an address that have not signed in. */
const MOST_OF_AN_ADDRESS = 100
const KEEP_ALIVE_MS = 60_000

/** Opens the server and the thread that reads statements. It does not listen yet. See decision 75. */
export function openWireServer(
  given: Omit<WireParts, 'commandPool' | 'times'>,
  times: Partial<WireTimes> = {},
): WireServer {
  const parts: WireParts = { ...given, times: { ...TIMES, ...times }, commandPool: openCommandPool() }
  const { signInMs, lingerMs } = parts.times
  const registry = createRegistry()
  const catalogues = openCatalogues(parts.catalog)
  const { keylessPerMinute } = parts.requestLimits
  const addresses = createQuotas({
    requestsPerMinute: keylessPerMinute,
    burst: keylessPerMinute,
    concurrentRequests: MOST_OF_AN_ADDRESS,
  })
  let context = parts.tls === undefined ? undefined : createSecureContext(parts.tls)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.setNoDelay(true)
    // An address that sends wrong keys or nothing does not occupy connections of others.
    const admitted = addresses.admit({ name: networkOf(socket.remoteAddress ?? ''), role: 'analyst' })
    if (admitted.kind !== 'admitted') {
      socket.end(send.report(tooManyStrangers))
      socket.destroySoon()
      return
    }
    const timer = setTimeout(() => socket.destroy(), signInMs)
    socket.once('close', () => {
      clearTimeout(timer)
      admitted.end()
    })
    // Pools of many clients may have the address of one proxy. Each has a limit of its own from here on.
    const recognised = () => {
      clearTimeout(timer)
      admitted.undo()
    }
    serve({ parts, registry, catalogues, context }, socket, recognised).finally(() => {
      socket.destroySoon()
      // A client that does not read would keep its connection for ever.
      setTimeout(() => socket.destroy(), lingerMs).unref()
    })
  })
  server.maxConnections = MOST_CONNECTIONS
  return {
    server,
    setSecureContext(options) {
      context = createSecureContext(options)
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      registry.endAll()
      for (const socket of sockets) if (!registry.hasSession(socket)) socket.destroy()
      await closed
      await parts.commandPool.close()
      catalogues.close()
    },
  }
}

const tooManyStrangers: Report = {
  severity: 'FATAL',
  code: '53300',
  message: 'Too many connections from this address have not signed in. Retry later.',
}

interface Serving {
  readonly parts: WireParts
  readonly registry: Registry
  readonly catalogues: ReturnType<typeof openCatalogues>
  readonly context: SecureContext | undefined
}

type Start = Extract<StartPacket, { kind: 'start' }>

/** Serves a connection until it ends. Never rejects. */
async function serve(serving: Serving, socket: Socket, recognised: () => void): Promise<void> {
  try {
    const opened = await openConnection(serving, socket, recognised)
    if (opened !== undefined) await serveClient(serving, socket, opened, recognised)
  } catch {
    // Whatever a client sends ends its own connection only.
    socket.destroy()
  }
}

interface Opened {
  readonly connection: Socket
  readonly inbox: ReturnType<typeof openInbox>
  readonly start: Start
}

/** Reads the packets before the sign-in, and begins encryption; undefined for a connection that ends with them. */
async function openConnection(
  { registry, context }: Serving,
  socket: Socket,
  recognised: () => void,
): Promise<Opened | undefined> {
  let connection = socket
  let inbox = openInbox(socket)
  for (let packets = 0; packets < 4; packets += 1) {
    const packet = await nextStartPacket(inbox)
    switch (packet?.kind) {
      case 'gss':
        connection.write('N')
        break
      case 'tls': {
        if (context === undefined || connection instanceof TLSSocket) {
          connection.write('N')
          break
        }
        // Bytes that came before the encryption could be another's.
        if (inbox.detach().length > 0) return undefined
        connection.write('S')
        connection = new TLSSocket(socket, { isServer: true, secureContext: context })
        connection.on('error', () => socket.destroy())
        inbox = openInbox(connection)
        break
      }
      case 'cancel':
        if (registry.cancel(packet.process, packet.secret)) recognised()
        return undefined
      case 'start':
        return { connection, inbox, start: packet }
      case 'other-version':
      case undefined:
        return undefined
    }
  }
  return undefined
}

async function nextStartPacket(inbox: ReturnType<typeof openInbox>): Promise<StartPacket | undefined> {
  const header = await inbox.take(4)
  if (header === undefined) return undefined
  const length = header.readInt32BE() - 4
  if (length < 4 || length > MAX_START_BYTES) throw new ProtocolViolation('a packet is too long')
  const packet = await inbox.take(length)
  return packet === undefined ? undefined : readStartPacket(packet)
}

async function serveClient(
  { parts, registry, catalogues }: Serving,
  socket: Socket,
  { connection, inbox, start }: Opened,
  recognised: () => void,
): Promise<void> {
  const output = openOutput(connection, parts.times.sendMs)
  let entry: ReturnType<Registry['enter']> | undefined
  try {
    const user = start.parameters.get('user') ?? ''
    const { isDummy } = requireDatabase(start.parameters.get('database') ?? user)
    const address = socket.remoteAddress ?? ''
    if (start.minorVersion > 0) output.add(send.negotiateVersion([]))
    const principal = await signIn(parts, { inbox, output, address, user })
    const caller = await principal()
    countSignIn(parts.requestLimits, caller)
    recognised()
    const settings = startSettings(start, caller)
    const left = new AbortController()
    connection.once('close', () => left.abort())
    const session = createSession(
      parts,
      {
        ...{ settings, isDummy, principal, catalogues, left: left.signal },
        waitingValues: () => registry.waitingValues(user),
      },
      { inbox, output },
    )
    entry = registry.enter(user, socket, session)
    output.add(send.authenticationOk())
    for (const [name, value] of settings.reported()) output.add(send.parameterStatus(name, value))
    output.add(send.backendKey(entry.process, entry.secret))
    output.add(send.ready('I'))
    await output.flush()
    await session.run()
  } catch (error) {
    const { report } = describeError(error)
    output.add(send.report({ ...report, severity: 'FATAL' }))
    await output.flush().catch(() => undefined)
  } finally {
    entry?.leave()
    connection.end()
  }
}

/** Counts a sign-in as a request of its principal. @throws WireError beyond its limits */
function countSignIn({ quotas }: RequestLimits, caller: Principal): void {
  const decision = quotas.admit(caller)
  if (decision.kind === 'admitted') decision.end()
  else throw overQuota(decision.kind)
}

/** @throws WireError for another database */
function requireDatabase(database: string): { readonly isDummy: boolean } {
  if (database === DATABASE || database === DUMMY_DATABASE) return { isDummy: database === DUMMY_DATABASE }
  throw new WireError('3D000', `There is no database "${database}".`, {
    hint: `The databases are ${DATABASE}, and ${DUMMY_DATABASE} with made-up rows.`,
    fatal: true,
  })
}

/** Parameters of the start that are no settings. */
const NOT_SETTINGS: readonly string[] = ['user', 'database', 'options', 'replication']

/** Creates the settings with those that the client states: as parameters of the start, or as `-c name=value` in `options`. */
function startSettings({ parameters }: Start, key: SettingsOfKey): Settings {
  const settings = createSettings(key)
  for (const [name, value] of parameters)
    if (!NOT_SETTINGS.includes(name) && !name.startsWith('_pq_.')) settings.set(name, value)
  for (const given of optionsOf(parameters.get('options') ?? '')) {
    const at = given.indexOf('=')
    if (at < 0)
      throw new WireError('22023', 'options: must be settings such as -c name=value', { fatal: true })
    settings.set(given.slice(0, at).replaceAll('-', '_'), given.slice(at + 1))
  }
  settings.startHere()
  return settings
}

/** Splits `-c name=value --name=value`. A backslash quotes the character after it. */
function optionsOf(text: string): readonly string[] {
  const words = (text.match(/(?:\\.|[^\s\\])+/g) ?? []).map((word) => word.replace(/\\(.)/g, '$1'))
  return words.filter((word) => word !== '-c').map((word) => word.replace(/^(-c|--)/, ''))
}

/** The sessions, for cancel requests and limits. */
interface Registry {
  /** @throws WireError if the user has too many sessions */
  enter(
    user: string,
    socket: Socket,
    session: Session,
  ): { readonly process: number; readonly secret: number; leave(): void }
  hasSession(socket: Socket): boolean
  /** The number of values that wait for the clients of a user. */
  waitingValues(user: string): number
  /** Returns false if the session or the secret is another. */
  cancel(process: number, secret: number): boolean
  endAll(): void
}

function createRegistry(): Registry {
  const sessions = new Map<
    number,
    { readonly user: string; readonly secret: number; readonly socket: Socket; readonly session: Session }
  >()
  const sessionsOf = (user: string) => [...sessions.values()].filter((each) => each.user === user)
  return {
    waitingValues: (user) => sessionsOf(user).reduce((sum, { session }) => sum + session.waitingValues(), 0),
    enter(user, socket, session) {
      const own = sessionsOf(user).length
      if (own >= MOST_OF_A_PRINCIPAL)
        throw new WireError('53300', `"${user}" has ${own} sessions, the most possible.`, { fatal: true })
      let process = randomInt(1, 2 ** 31)
      while (sessions.has(process)) process = randomInt(1, 2 ** 31)
      const secret = randomInt(-(2 ** 31), 2 ** 31)
      sessions.set(process, { user, secret, socket, session })
      return { process, secret, leave: () => void sessions.delete(process) }
    },
    hasSession: (socket) => [...sessions.values()].some((each) => each.socket === socket),
    cancel(process, secret) {
      const found = sessions.get(process)
      if (found?.secret !== secret) return false
      found.session.cancel()
      return true
    },
    endAll() {
      for (const { session } of sessions.values()) session.end()
    },
  }
}
