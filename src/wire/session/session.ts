import { setImmediate } from 'node:timers/promises'
import { logFailure } from '../../http/problem.ts'
import { must } from '../../privacy/must.ts'
import type { Catalogues } from '../catalogue/catalogues.ts'
import { DATABASE, DUMMY_DATABASE } from '../catalogue/names.ts'
import { noteUnknownFunction } from '../catalogue/unknown-functions.ts'
import { describeError, WireError } from '../errors.ts'
import type { WireParts } from '../parts.ts'
import { type Report, send, type TransactionStatus } from '../protocol/backend.ts'
import { ProtocolViolation } from '../protocol/fields.ts'
import { type FrontendMessage, formatAt, MAX_MESSAGE_BYTES, readMessage } from '../protocol/frontend.ts'
import type { Inbox } from '../protocol/inbox.ts'
import type { Output } from '../protocol/output.ts'
import { encodeValue } from '../values/encode.ts'
import { createCountedRuns, stopped } from './counted-runs.ts'
import type { Result } from './execute.ts'
import { createPrepared, cursorsOf, type Portal, waitingValuesOf } from './portals.ts'
import type { SessionState } from './state.ts'
import { createStatements } from './statements.ts'

/** A client that has signed in. */
export interface SignedIn extends Pick<SessionState, 'settings' | 'isDummy' | 'principal'> {
  readonly catalogues: Pick<Catalogues, 'evaluate'>
  /** Aborted once the client has disconnected. */
  readonly left: AbortSignal
  /** The number of values that wait for their clients, in all sessions of the user. */
  waitingValues(): number
}

/** A session, as cancel requests and the shutdown see it. */
export interface Session {
  /** Serves the client until it leaves. */
  run(): Promise<void>
  /** Cancels the statement under way. It ends when its answer would have been released. */
  cancel(): void
  /** Ends the session after the statement under way. */
  end(): void
  /** The number of values that the client has not fetched. */
  waitingValues(): number
}

const HEADER_BYTES = 4

/** Creates the session of a client. */
export function createSession(
  parts: WireParts,
  { catalogues, left, waitingValues, ...signedIn }: SignedIn,
  { inbox, output }: { readonly inbox: Inbox; readonly output: Output },
): Session {
  const prepared = createPrepared()
  const { statements, portals } = prepared
  /** The result of a simple query while it is sent. */
  let sending: Portal | undefined
  let status: TransactionStatus = 'I'
  /** Text of the latest statement, in which errors have their place. */
  let text = ''
  /** True from an error in the extended protocol until the next Sync. */
  let skipping = false
  /** True from an error until the client is told that the next statement may come. */
  let hasFailed = false
  let ending = false

  const state: SessionState = {
    ...signedIn,
    catalogue(principal, ...asked) {
      const database = signedIn.isDummy ? DUMMY_DATABASE : DATABASE
      const session = { database, settings: signedIn.settings.all(), cursors: cursorsOf(prepared) }
      return catalogues.evaluate({ principal, ...session }, ...asked)
    },
    status: () => status,
    setStatus(next) {
      status = next
    },
    endTransaction(isRolledBack) {
      prepared.endPortals(isRolledBack)
      status = 'I'
    },
    report(changed) {
      for (const [name, value] of changed) output.add(send.parameterStatus(name, value))
    },
    deallocate: statements.remove,
    close: portals.remove,
  }

  const runs = createCountedRuns(parts, state, { left, waitingValues })
  const { read, run, open, columnsOf, prepare, bindValues, requireLiveTransaction } = createStatements(
    parts,
    state,
    {
      prepared,
      runs,
      left,
      forgetText() {
        text = ''
      },
    },
  )

  function sendNotices(notices: readonly Report[]): void {
    for (const notice of notices) output.add(send.report(notice))
  }

  async function sendRows(portal: Portal, maxRows: number): Promise<void> {
    const { result } = portal
    if (result?.kind !== 'rows') return
    const { columns, rows } = result
    const end = maxRows === 0 ? rows.length : Math.min(rows.length, portal.sent + maxRows)
    for (; portal.sent < end; portal.sent += 1) {
      const row = must(rows[portal.sent], 'a row of the result')
      const values = row.map((value, index) =>
        encodeValue(
          must(columns[index], 'a column of the result').type,
          value,
          formatAt(portal.formats, index),
        ),
      )
      output.add(send.dataRow(values))
      await output.flushIfMuch()
    }
  }

  /** Sends what follows from a result, and the end of the statement. */
  async function sendResult(portal: Portal, result: Result, maxRows: number): Promise<void> {
    const before = portal.sent
    await sendRows(portal, maxRows)
    if (result.kind === 'rows' && portal.sent < result.rows.length) {
      output.add(send.portalSuspended())
      return
    }
    const counted = result.kind === 'rows' && (result.tag === 'SELECT' || result.tag === 'FETCH')
    output.add(send.commandComplete(counted ? `${result.tag} ${portal.sent - before}` : result.tag))
    if (portal.scrolls) return
    portal.result = result.kind === 'rows' ? { ...result, rows: [] } : result
    portal.sent = 0
  }

  async function simpleQuery(text: string): Promise<void> {
    const commands = await read(text)
    if (commands.length === 0) output.add(send.emptyQuery())
    for (const each of commands) {
      if (each.parameters.length > 0)
        throw new WireError(
          '42P02',
          'Parameters need a prepared statement. Write the value into the statement.',
        )
      const result = await run(each.command, text)
      sendNotices(result.notices)
      if (result.kind === 'rows') output.add(send.rowDescription(result.columns, () => 'text'))
      sending = { text, read: each, formats: [], sent: 0, characters: 0, createdAtMs: 0, result }
      await sendResult(sending, result, 0)
    }
  }

  async function parse({ name, text, parameterTypes }: Extract<FrontendMessage, { kind: 'parse' }>) {
    statements.makeRoomFor(name)
    prepared.requireSpace(name.length + text.length)
    const [first, second] = await read(text)
    if (second !== undefined)
      throw new WireError('42601', 'A prepared statement cannot contain several statements.')
    if (first !== undefined) requireLiveTransaction(first.command)
    statements.set(name, await prepare({ text, place: 0 }, first, parameterTypes))
    output.add(send.parseComplete())
  }

  async function bind(message: Extract<FrontendMessage, { kind: 'bind' }>): Promise<void> {
    const statement = statements.require(message.statement)
    portals.makeRoomFor(message.portal)
    const { portal: name, parameters } = message
    const characters = parameters.reduce((sum, each) => sum + (each?.length ?? 0), name.length)
    prepared.requireSpace(characters)
    const bound = await bindValues(statement, message)
    portals.set(name, {
      text: statement.text,
      read: bound,
      formats: message.resultFormats,
      createdAtMs: Date.now(),
      sent: 0,
      characters,
    })
    output.add(send.bindComplete())
  }

  async function describe({ target, name }: Extract<FrontendMessage, { kind: 'describe' | 'close' }>) {
    await runs.countPreparation()
    const { text, read: described } = (target === 'statement' ? statements : portals).require(name)
    if (target === 'statement') output.add(send.parameterDescription(statements.require(name).parameterTypes))
    const columns = described && (await columnsOf(described.command, text))
    const formats = target === 'portal' ? portals.require(name).formats : []
    if (columns === undefined) output.add(send.noData())
    else output.add(send.rowDescription(columns, (index) => formatAt(formats, index)))
  }

  async function executePortal({ portal: name, maxRows }: Extract<FrontendMessage, { kind: 'execute' }>) {
    const portal = portals.require(name)
    if (portal.read === undefined) {
      output.add(send.emptyQuery())
      return
    }
    const { result, notices } = await open(portal, portal.read.command)
    sendNotices(notices)
    await sendResult(portal, result, maxRows)
  }

  function textOf(message: FrontendMessage): string | undefined {
    switch (message.kind) {
      case 'query':
      case 'parse':
        return message.text
      case 'bind':
        return statements.get(message.statement)?.text
      case 'execute':
        return portals.get(message.portal)?.text
      default:
        return undefined
    }
  }

  /** Handles a message; returns false at the end of the session. */
  async function handle(message: FrontendMessage): Promise<boolean> {
    if (skipping && message.kind !== 'sync' && message.kind !== 'terminate') return true
    switch (message.kind) {
      case 'query':
        portals.delete('')
        await simpleQuery(message.text).catch(reportError)
        sending = undefined
        skipping = false
        await ready()
        return true
      case 'parse':
        await parse(message)
        return true
      case 'bind':
        portals.delete('')
        await bind(message)
        return true
      case 'describe':
        await describe(message)
        return true
      case 'execute':
        await executePortal(message)
        return true
      case 'close':
        if (message.target === 'statement') statements.delete(message.name)
        else portals.delete(message.name)
        output.add(send.closeComplete())
        return true
      case 'sync':
        skipping = false
        await ready()
        return true
      case 'flush':
        await output.flush()
        return true
      case 'terminate':
        return false
      case 'password':
        throw new ProtocolViolation('a password was sent after the sign-in')
      case 'unsupported':
        throw new WireError('0A000', `The service does not support ${message.what}.`)
    }
  }

  async function ready(): Promise<void> {
    // Portals end with their transaction.
    runs.endPreparation()
    if (status === 'I') prepared.endPortals(hasFailed)
    hasFailed = false
    output.add(send.ready(status))
    await output.flush()
  }

  /** Reports an error, and skips what follows it. @throws the error if the session ends with it */
  async function reportError(thrown: unknown): Promise<void> {
    const hasLeft = left.aborted && thrown === left.reason
    const error = hasLeft ? stopped('cancelled') : thrown
    const { report, isFatal, code } = describeError(error, text)
    if (code !== undefined) logFailure(error, code, parts.logger)
    noteUnknownFunction(error, parts.logger)
    if (isFatal) throw error
    output.add(send.report(report))
    if (status === 'T') status = 'E'
    skipping = true
    hasFailed = true
  }

  async function serve(): Promise<void> {
    for (;;) {
      const message = await nextMessage(inbox, parts.times.messageMs)
      if (message === undefined || ending) break
      text = textOf(message) ?? text
      try {
        if (!(await handle(message))) break
      } catch (error) {
        await reportError(error)
        // A client that has sent Flush waits for the error before it sends Sync.
        await output.flush()
      }
      await output.flushIfMuch()
      // A client that sends many small messages must not keep others from their turn.
      await setImmediate()
    }
    if (ending) {
      output.add(send.report({ severity: 'FATAL', code: '57P01', message: 'The service is stopping.' }))
      await output.flush()
    }
  }

  return {
    async run() {
      try {
        await serve()
      } finally {
        runs.endPreparation()
      }
    },
    cancel: runs.cancel,
    end() {
      ending = true
      inbox.end()
    },
    waitingValues: () =>
      [sending, ...portals.entries().map(([, portal]) => portal)].reduce(
        (sum, portal) => sum + waitingValuesOf(portal),
        0,
      ),
  }
}

/** Returns the next message; undefined if the client has left, or the session ends. */
async function nextMessage(inbox: Inbox, withinMs: number): Promise<FrontendMessage | undefined> {
  const type = await inbox.take(1)
  if (type === undefined) return undefined
  const begunMs = performance.now()
  const header = await inbox.take(HEADER_BYTES, withinMs)
  if (header === undefined) return undefined
  const length = header.readInt32BE() - HEADER_BYTES
  if (length < 0 || length > MAX_MESSAGE_BYTES)
    throw new ProtocolViolation(`a message has at most ${MAX_MESSAGE_BYTES} bytes`)
  const message = await inbox.take(length, Math.max(0, withinMs - (performance.now() - begunMs)))
  return message === undefined ? undefined : readMessage(must(type[0], 'a byte'), message)
}
