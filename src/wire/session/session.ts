import { setImmediate } from 'node:timers/promises'
import { mayUse, type Principal } from '../../http/access/principal.ts'
import { logFailure } from '../../http/problem.ts'
import { defined } from '../../privacy/defined.ts'
import { must } from '../../privacy/must.ts'
import { PROBLEMS } from '../../privacy/problems.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { noteUnknownFunction } from '../catalogue/unknown-functions.ts'
import { describeError, WireError } from '../errors.ts'
import type { WireParts } from '../parts.ts'
import { type Report, send, type TransactionStatus } from '../protocol/backend.ts'
import { ProtocolViolation } from '../protocol/fields.ts'
import { type FrontendMessage, formatAt, MAX_MESSAGE_BYTES, readMessage } from '../protocol/frontend.ts'
import type { Inbox } from '../protocol/inbox.ts'
import type { Output } from '../protocol/output.ts'
import type { ReadCommand } from '../statements/command.ts'
import type { Literal } from '../statements/parameters.ts'
import { encodeValue } from '../values/encode.ts'
import { columnsOfCommand, execute, type Result } from './execute.ts'
import {
  boundValues,
  type Portal,
  type PreparedStatement,
  parameterTypesOf,
  placeholders,
} from './portals.ts'
import type { SessionState } from './state.ts'

/** A client that has signed in. */
export interface SignedIn
  extends Pick<SessionState, 'settings' | 'isDummy' | 'principal' | 'catalogue' | 'describeCatalogue'> {
  /** Aborted once the client has disconnected. */
  readonly left: AbortSignal
}

/** A session, as cancel requests and the shutdown see it. */
export interface Session {
  /** Serves the client until it leaves. */
  run(): Promise<void>
  /** Cancels the statement under way. It ends when its answer would have been released. */
  cancel(): void
  /** Ends the session after the statement under way. */
  end(): void
}

/** Time within which the rest of a message must arrive. */
const MESSAGE_MS = 30_000
const MOST_STATEMENTS = 500
const MOST_PORTALS = 32
const MOST_SUSPENDED = 4
const HEADER_BYTES = 4

/** Creates the session of a client. */
export function createSession(
  parts: WireParts,
  { left, ...signedIn }: SignedIn,
  { inbox, output }: { readonly inbox: Inbox; readonly output: Output },
): Session {
  const statements = new Map<string, PreparedStatement>()
  const portals = new Map<string, Portal>()
  let status: TransactionStatus = 'I'
  /** Text of the latest statement, in which errors have their place. */
  let text = ''
  /** True from an error in the extended protocol until the next Sync. */
  let skipping = false
  let running: { cancelled: boolean; readonly controller: AbortController } | undefined
  let ending = false

  const { principal } = signedIn
  const state: SessionState = {
    ...signedIn,
    status: () => status,
    setStatus(next) {
      status = next
    },
    report(changed) {
      for (const [name, value] of changed) output.add(send.parameterStatus(name, value))
    },
    deallocate(name) {
      if (name === undefined) statements.clear()
      else if (!statements.delete(name)) throw unknownStatement(name)
    },
  }

  /** Runs a statement, which counts as a request of its principal. */
  async function runCounted(read: ReadCommand, text: string): Promise<Result> {
    const arrivedAtMs = parts.clock.nowMs()
    if (status === 'E' && !endsTransaction(read)) throw new WireError('25P02', FAILED_TRANSACTION)
    const caller = await principal()
    const decision = parts.requestLimits.quotas.admit(caller)
    if (decision.kind !== 'admitted') throw overQuota(decision.kind)
    const current = { cancelled: false, controller: new AbortController() }
    running = current
    const givenUp = AbortSignal.any([left, current.controller.signal])
    try {
      const result = await execute(parts, state, read.command, { text, arrivedAtMs, givenUp })
      if (current.cancelled) throw cancelled()
      log(read, caller, arrivedAtMs)
      return result
    } catch (error) {
      const shown = current.cancelled ? cancelled() : error
      log(read, caller, arrivedAtMs, shown)
      throw shown
    } finally {
      running = undefined
      decision.end()
    }
  }

  /** Logs and counts a statement. The line contains neither its text nor its duration, which may depend on data. */
  function log(read: ReadCommand, caller: Principal, arrivedAtMs: number, error?: unknown): void {
    const code = error === undefined ? undefined : describeError(error).code
    const { kind } = read.command
    const { name, key } = caller
    parts.logger.info(defined({ protocol: 'postgresql', kind, code, principal: name, key }), 'statement')
    const statusCode = error === undefined ? 200 : code === undefined ? 400 : PROBLEMS[code].status
    const elapsedTime = parts.clock.nowMs() - arrivedAtMs
    const config = kind === 'question' ? { answersFromData: true as const } : {}
    parts.metrics.observe({ method: 'PG', routeOptions: { url: kind, config } }, { statusCode, elapsedTime })
  }

  async function read(text: string, values: readonly Literal[] = []): Promise<readonly ReadCommand[]> {
    const { name } = await principal()
    return parts.commandPool.run(
      'commands',
      { text, values },
      { timeoutMs: 5_000, givenUp: left, principal: name },
    )
  }

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
    portal.result = result.kind === 'rows' ? { ...result, rows: [] } : result
    const counted = result.kind === 'rows' && result.tag === 'SELECT'
    output.add(send.commandComplete(counted ? `SELECT ${portal.sent - before}` : result.tag))
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
      const result = await runCounted(each, text)
      sendNotices(result.notices)
      if (result.kind === 'rows') output.add(send.rowDescription(result.columns, () => 'text'))
      await sendResult({ text, read: each, formats: [], sent: 0, result }, result, 0)
    }
  }

  async function parse({ name, text, parameterTypes }: Extract<FrontendMessage, { kind: 'parse' }>) {
    if (name !== '' && statements.has(name))
      throw new WireError('42P05', `There is a prepared statement "${name}" already.`)
    if (statements.size >= MOST_STATEMENTS)
      throw new WireError('54000', `A session has at most ${MOST_STATEMENTS} prepared statements.`)
    statements.delete(name)
    const [first, second] = await read(text)
    if (second !== undefined)
      throw new WireError('42601', 'A prepared statement cannot contain several statements.')
    if (first !== undefined && status === 'E' && !endsTransaction(first))
      throw new WireError('25P02', FAILED_TRANSACTION)
    if (first === undefined || first.parameters.length === 0) {
      if (first?.command.kind === 'refused') throw new Refusal(...first.command.refused)
      statements.set(name, { text, read: first, parameterTypes: parameterTypes.map((type) => type || 25) })
    } else {
      const caller = await principal()
      const permitted = first.tables.filter((each) => mayUse(caller, each))
      const table = permitted.map((each) => parts.catalog.get(each)).find((each) => each !== undefined)
      const types = parameterTypesOf(first, parameterTypes, table?.dataset)
      const [described] = await read(text, placeholders(types))
      if (described?.command.kind === 'refused') throw new Refusal(...described.command.refused)
      statements.set(name, { text, read: described, parameterTypes: types })
    }
    output.add(send.parseComplete())
  }

  async function bind(message: Extract<FrontendMessage, { kind: 'bind' }>): Promise<void> {
    const statement = requireStatement(message.statement)
    const { portal: name } = message
    if (name !== '' && portals.has(name)) throw new WireError('42P03', `There is a portal "${name}" already.`)
    if (portals.size >= MOST_PORTALS)
      throw new WireError('54000', `A session has at most ${MOST_PORTALS} portals.`)
    const { text } = statement
    const values = boundValues(statement, message)
    const command = values.length === 0 ? statement.read : (await read(text, values))[0]
    if (command?.command.kind === 'refused') throw new Refusal(...command.command.refused)
    portals.set(name, { text, read: command, formats: message.resultFormats, sent: 0 })
    output.add(send.bindComplete())
  }

  async function describe({ target, name }: Extract<FrontendMessage, { kind: 'describe' | 'close' }>) {
    const { text, read: described } = target === 'statement' ? requireStatement(name) : requirePortal(name)
    if (target === 'statement') output.add(send.parameterDescription(requireStatement(name).parameterTypes))
    const columns =
      described && (await columnsOfCommand(parts, state, described.command, { text, givenUp: left }))
    const formats = target === 'portal' ? requirePortal(name).formats : []
    if (columns === undefined) output.add(send.noData())
    else output.add(send.rowDescription(columns, (index) => formatAt(formats, index)))
  }

  async function executePortal({ portal: name, maxRows }: Extract<FrontendMessage, { kind: 'execute' }>) {
    const portal = requirePortal(name)
    if (portal.read === undefined) {
      output.add(send.emptyQuery())
      return
    }
    if (portal.result === undefined) {
      if ([...portals.values()].filter(hasRowsLeft).length >= MOST_SUSPENDED)
        throw new WireError('54000', `A session has at most ${MOST_SUSPENDED} portals with rows to send.`)
      portal.result = await runCounted(portal.read, portal.text)
      sendNotices(portal.result.notices)
    }
    await sendResult(portal, portal.result, maxRows)
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

  function requireStatement(name: string): PreparedStatement {
    const found = statements.get(name)
    if (found === undefined) throw unknownStatement(name)
    return found
  }

  function requirePortal(name: string): Portal {
    const found = portals.get(name)
    if (found === undefined) throw new WireError('34000', `There is no portal "${name}".`)
    return found
  }

  /** Handles a message; returns false at the end of the session. */
  async function handle(message: FrontendMessage): Promise<boolean> {
    if (skipping && message.kind !== 'sync' && message.kind !== 'terminate') return true
    switch (message.kind) {
      case 'query':
        portals.delete('')
        await simpleQuery(message.text).catch(reportError)
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
    if (status === 'I') portals.clear()
    output.add(send.ready(status))
    await output.flush()
  }

  /** Reports an error, and skips what follows it. @throws the error if the session ends with it */
  async function reportError(error: unknown): Promise<void> {
    const { report, isFatal, code } = describeError(error, text)
    if (code !== undefined) logFailure(error, code, parts.logger)
    noteUnknownFunction(error, parts.logger)
    output.add(send.report(report))
    if (status === 'T') status = 'E'
    skipping = true
    if (isFatal) throw error
  }

  return {
    async run() {
      for (;;) {
        const message = await nextMessage(inbox)
        if (message === undefined || ending) break
        text = textOf(message) ?? text
        try {
          if (!(await handle(message))) break
        } catch (error) {
          await reportError(error)
        }
        await output.flushIfMuch()
        // A client that sends many small messages must not keep others from their turn.
        await setImmediate()
      }
      if (ending) {
        output.add(send.report({ severity: 'FATAL', code: '57P01', message: 'The service is stopping.' }))
        await output.flush()
      }
    },
    cancel() {
      if (running === undefined) return
      running.cancelled = true
      running.controller.abort()
    },
    end() {
      ending = true
      inbox.end()
    },
  }
}

function hasRowsLeft({ result, sent }: Portal): boolean {
  return result?.kind === 'rows' && sent < result.rows.length
}

/** Returns the next message; undefined if the client has left, or the session ends. */
async function nextMessage(inbox: Inbox): Promise<FrontendMessage | undefined> {
  const type = await inbox.take(1)
  if (type === undefined) return undefined
  const header = await inbox.take(HEADER_BYTES, MESSAGE_MS)
  if (header === undefined) return undefined
  const length = header.readInt32BE() - HEADER_BYTES
  if (length < 0 || length > MAX_MESSAGE_BYTES)
    throw new ProtocolViolation(`a message has at most ${MAX_MESSAGE_BYTES} bytes`)
  const message = await inbox.take(length, MESSAGE_MS)
  return message === undefined ? undefined : readMessage(must(type[0], 'a byte'), message)
}

const FAILED_TRANSACTION = 'The transaction has failed. Statements are ignored until ROLLBACK.'

function endsTransaction({ command }: ReadCommand): boolean {
  return (
    command.kind === 'transaction' &&
    (command.act === 'commit' || command.act === 'rollback' || command.act === 'rollback-to')
  )
}

function cancelled(): WireError {
  return new WireError(
    '57014',
    'The statement was cancelled. An answer that was paid for is replayed at no cost.',
  )
}

function unknownStatement(name: string): WireError {
  return new WireError('26000', `There is no prepared statement "${name}".`)
}

function overQuota(kind: 'rate-limited' | 'too-many'): WireError {
  return kind === 'rate-limited'
    ? new WireError('53400', 'You have sent too many statements. Nothing was charged. Retry later.')
    : new WireError('53400', 'You have too many requests under way. Nothing was charged. Retry later.')
}
