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
import type { Command, FetchCommand, ReadCommand, SimpleCommand } from '../statements/command.ts'
import type { Literal } from '../statements/parameters.ts'
import { encodeValue } from '../values/encode.ts'
import { OID } from '../values/oids.ts'
import { moveCursor } from './cursors.ts'
import { columnsOfCommand, done, execute, type Result } from './execute.ts'
import {
  boundValues,
  createNamed,
  type Portal,
  type PreparedStatement,
  parameterTypesOf,
  placeholders,
  typeNamed,
} from './portals.ts'
import type { SessionState } from './state.ts'

/** A client that has signed in. */
export interface SignedIn
  extends Pick<SessionState, 'settings' | 'isDummy' | 'principal' | 'catalogue' | 'describeCatalogue'> {
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

/** A request that is counted as under way. */
interface Admission {
  end(): void
}

/** Time within which the rest of a message must arrive. */
const MESSAGE_MS = 30_000
const MOST_STATEMENTS = 500
/** Characters of all prepared statements of a session, whose trees take many times as much. */
const MOST_PREPARED_TEXT = 256 * 1_024
const MOST_PORTALS = 32
const MOST_SUSPENDED = 4
/** Characters of the prepared statements and portals of a session, with their names and parameters. */
const MOST_CHARACTERS = 512 * 1024
/** Values about the catalogue that wait for the clients of a user: those of two of the largest results. */
const MOST_WAITING_VALUES = 400_000
const HEADER_BYTES = 4

/** Creates the session of a client. */
export function createSession(
  parts: WireParts,
  { left, waitingValues, ...signedIn }: SignedIn,
  { inbox, output }: { readonly inbox: Inbox; readonly output: Output },
): Session {
  const ofStatements = { taken: '42P05', absent: '26000' }
  const statements = createNamed<PreparedStatement>('prepared statement', MOST_STATEMENTS, ofStatements)
  const portals = createNamed<Portal>('portal', MOST_PORTALS, { taken: '42P03', absent: '34000' })
  /** The result of a simple query while it is sent. */
  let sending: Portal | undefined
  let status: TransactionStatus = 'I'
  /** Text of the latest statement, in which errors have their place. */
  let text = ''
  /** True from an error in the extended protocol until the next Sync. */
  let skipping = false
  /** True from an error until the client is told that the next statement may come. */
  let hasFailed = false
  let running: { ended?: 'cancelled' | 'timed out'; readonly controller: AbortController } | undefined
  /** An admission that a message before the next statement has taken. */
  let admitted: Admission | undefined
  let ending = false

  const { principal } = signedIn
  const state: SessionState = {
    ...signedIn,
    status: () => status,
    setStatus(next) {
      status = next
    },
    endTransaction(isRolledBack) {
      endPortals(isRolledBack)
      status = 'I'
    },
    report(changed) {
      for (const [name, value] of changed) output.add(send.parameterStatus(name, value))
    },
    deallocate(name) {
      if (name !== undefined) statements.require(name)
      if (name === undefined) statements.clear()
      else statements.delete(name)
    },
    close(name) {
      if (name !== undefined) portals.require(name)
      if (name === undefined) portals.clear()
      else portals.delete(name)
    },
  }

  function endPortals(isRolledBack: boolean): void {
    for (const [name, portal] of portals.entries()) {
      if (portal.ends === 'never') continue
      if (portal.ends === 'on-rollback' && !isRolledBack) portal.ends = 'never'
      else portals.delete(name)
    }
  }

  /** Runs a statement. Those about other statements of the session run these. */
  async function run(command: Command, source: string): Promise<Result> {
    if (status === 'E' && !endsTransaction(command)) throw new WireError('25P02', FAILED_TRANSACTION)
    switch (command.kind) {
      case 'prepare': {
        const { name, place, prepared, types } = command
        statements.makeRoomFor(name)
        requireSpace(name.length + source.length)
        const statement = await prepare({ text: source, place }, prepared, types.map(typeNamed))
        if (statement.read !== undefined) await columnsOf(statement.read.command, source)
        statements.set(name, statement)
        return done('PREPARE')
      }
      case 'execute': {
        const { name, values } = command
        const statement = statements.require(name)
        const parameters = values.map((value) => (value === null ? null : Buffer.from(value)))
        const bound = await bindValues(statement, { parameters, parameterFormats: [] })
        text = ''
        return runCounted(requireQuery(bound?.command), statement.text)
      }
      case 'declare':
        return declare(command, source)
      case 'fetch':
        return fetch(command)
      default:
        return runCounted(command, source)
    }
  }

  async function declare(
    { name, query, holds, scrolls }: Extract<Command, { kind: 'declare' }>,
    source: string,
  ): Promise<Result> {
    if (status === 'I' && !holds)
      throw new WireError('25P01', 'A cursor needs a transaction, in which it ends.', {
        hint: 'Send BEGIN first, or declare it WITH HOLD.',
      })
    portals.makeRoomFor(name)
    const characters = name.length + source.length
    requireSpace(characters)
    await columnsOf(query, source)
    const read = { command: query, parameters: [], tables: [] }
    const ends = holds ? 'on-rollback' : 'on-end'
    portals.set(name, { text: source, read, formats: [], sent: 0, characters, scrolls, ends })
    return done('DECLARE CURSOR')
  }

  async function fetch(command: FetchCommand): Promise<Result> {
    const portal = portals.require(command.name)
    const query = requireQuery(portal.read?.command)
    text = ''
    const { result, notices } = await open(portal, query)
    if (result.kind !== 'rows') throw notQuery()
    const scrolls = portal.scrolls === true
    const { at, rows } = moveCursor(command, { from: portal.sent, total: result.rows.length, scrolls })
    const isOver = !scrolls && at > result.rows.length
    if (isOver) portal.result = { ...result, rows: [] }
    portal.sent = isOver ? 1 : at
    const fetched = rows.map((row) => must(result.rows[row - 1], 'a row of the result'))
    if (command.moves) return done(`MOVE ${rows.length}`, notices)
    return { ...result, rows: fetched, tag: 'FETCH', notices }
  }

  /** Runs the statement of a portal, unless it has run. */
  async function open(portal: Portal, command: Command) {
    if (portal.result !== undefined) return { result: portal.result, notices: [] }
    const isQuery = command.kind === 'question' || command.kind === 'catalogue'
    if (isQuery && portals.entries().filter(([, each]) => hasRowsLeft(each)).length >= MOST_SUSPENDED)
      throw new WireError('54000', `A session has at most ${MOST_SUSPENDED} portals with rows to send.`)
    portal.result = await run(command, portal.text)
    return { result: portal.result, notices: portal.result.notices }
  }

  /** Describes the columns of the rows of a statement; undefined if it has none. */
  async function columnsOf(command: Command, source: string) {
    switch (command.kind) {
      case 'prepare':
      case 'declare':
        return undefined
      case 'execute': {
        const statement = statements.require(command.name)
        const query = requireQuery(statement.read?.command)
        return columnsOfCommand(parts, state, query, { text: statement.text, givenUp: left })
      }
      case 'fetch': {
        const portal = portals.require(command.name)
        if (command.moves) return undefined
        const query = requireQuery(portal.read?.command)
        return columnsOfCommand(parts, state, query, { text: portal.text, givenUp: left })
      }
      default:
        return columnsOfCommand(parts, state, command, { text: source, givenUp: left })
    }
  }

  /** Runs a statement, which counts as a request of its principal. */
  async function runCounted(command: SimpleCommand, text: string): Promise<Result> {
    const arrivedAtMs = parts.clock.nowMs()
    const caller = await principal()
    const admission = admitted ?? admit(caller)
    admitted = undefined
    const current: NonNullable<typeof running> = { controller: new AbortController() }
    running = current
    const timeoutMs = state.settings.timeoutMs()
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => stop('timed out'), timeoutMs)
    const givenUp = AbortSignal.any([left, current.controller.signal])
    try {
      const result = await execute(parts, state, command, { text, arrivedAtMs, givenUp })
      if (current.ended !== undefined) throw stopped(current.ended)
      const values = command.kind === 'catalogue' ? valuesIn(result) : 0
      if (values > 0 && values + waitingValues() > MOST_WAITING_VALUES)
        throw new WireError('54000', 'Too many rows wait in your sessions. Fetch or close them first.')
      log(command, caller, arrivedAtMs)
      return result
    } catch (error) {
      const shown =
        current.ended !== undefined ? stopped(current.ended) : hasLeft(error) ? stopped('cancelled') : error
      log(command, caller, arrivedAtMs, shown)
      throw shown
    } finally {
      clearTimeout(timer)
      running = undefined
      admission.end()
    }
  }

  /** Stops the statement under way. It ends when its answer would have been released. */
  function stop(as: 'cancelled' | 'timed out'): void {
    if (running === undefined) return
    running.ended ??= as
    running.controller.abort()
  }

  /** Counts a request of a principal. @throws WireError beyond its limits */
  function admit(caller: Principal): Admission {
    const decision = parts.requestLimits.quotas.admit(caller)
    if (decision.kind !== 'admitted') throw overQuota(decision.kind)
    return decision
  }

  /** Counts the work before a statement: one request with the next statement, or until the client waits for an answer. */
  async function countPreparation(): Promise<void> {
    admitted ??= admit(await principal())
  }

  function endPreparation(): void {
    admitted?.end()
    admitted = undefined
  }

  /** Logs and counts a statement. The line contains neither its text nor its duration, which may depend on data. */
  function log({ kind }: SimpleCommand, caller: Principal, arrivedAtMs: number, error?: unknown): void {
    const code = error === undefined ? undefined : describeError(error).code
    const { name, key } = caller
    parts.logger.info(defined({ protocol: 'postgresql', kind, code, principal: name, key }), 'statement')
    const statusCode = error === undefined ? 200 : code === undefined ? 400 : PROBLEMS[code].status
    const elapsedTime = parts.clock.nowMs() - arrivedAtMs
    const config = kind === 'question' ? { answersFromData: true as const } : {}
    parts.metrics.observe({ method: 'PG', routeOptions: { url: kind, config } }, { statusCode, elapsedTime })
  }

  async function read(text: string, values: readonly Literal[] = []): Promise<readonly ReadCommand[]> {
    await countPreparation()
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
      sending = { text, read: each, formats: [], sent: 0, characters: 0, result }
      await sendResult(sending, result, 0)
    }
  }

  async function parse({ name, text, parameterTypes }: Extract<FrontendMessage, { kind: 'parse' }>) {
    statements.makeRoomFor(name)
    requireSpace(name.length + text.length)
    const [first, second] = await read(text)
    if (second !== undefined)
      throw new WireError('42601', 'A prepared statement cannot contain several statements.')
    if (first !== undefined && status === 'E' && !endsTransaction(first.command))
      throw new WireError('25P02', FAILED_TRANSACTION)
    statements.set(name, await prepare({ text, place: 0 }, first, parameterTypes))
    output.add(send.parseComplete())
  }

  /** Prepares a statement, and requires that it is supported. */
  async function prepare(
    source: Pick<PreparedStatement, 'text' | 'place'>,
    first: ReadCommand | undefined,
    statedTypes: readonly number[],
  ): Promise<PreparedStatement> {
    const prepared = statements.entries().reduce((sum, [, each]) => sum + each.text.length, 0)
    if (prepared + source.text.length > MOST_PREPARED_TEXT)
      throw new WireError(
        '54000',
        `The prepared statements of a session have at most ${MOST_PREPARED_TEXT} characters.`,
      )
    if (first === undefined || first.parameters.length === 0) {
      requireSupported(first)
      return { ...source, read: first, parameterTypes: statedTypes.map((type) => type || OID.text) }
    }
    const caller = await principal()
    const permitted = first.tables.filter((each) => mayUse(caller, each))
    const table = permitted.map((each) => parts.catalog.get(each)).find((each) => each !== undefined)
    const parameterTypes = parameterTypesOf(first, statedTypes, table?.dataset)
    return { ...source, read: await readPrepared(source, placeholders(parameterTypes)), parameterTypes }
  }

  /** Reads a prepared statement with values of its parameters. */
  async function readPrepared(
    { text, place }: Pick<PreparedStatement, 'text' | 'place'>,
    values: readonly Literal[],
  ): Promise<ReadCommand | undefined> {
    const found = (await read(text, values))[place]
    const bound = found?.command.kind === 'prepare' ? found.command.prepared : found
    requireSupported(bound)
    return bound
  }

  async function bindValues(
    statement: PreparedStatement,
    given: Parameters<typeof boundValues>[1],
  ): Promise<ReadCommand | undefined> {
    const values = boundValues(statement, given)
    return values.length === 0 ? statement.read : readPrepared(statement, values)
  }

  async function bind(message: Extract<FrontendMessage, { kind: 'bind' }>): Promise<void> {
    const statement = statements.require(message.statement)
    portals.makeRoomFor(message.portal)
    const { portal: name, parameters } = message
    const characters = parameters.reduce((sum, each) => sum + (each?.length ?? 0), name.length)
    requireSpace(characters)
    const bound = await bindValues(statement, message)
    portals.set(name, {
      text: statement.text,
      read: bound,
      formats: message.resultFormats,
      sent: 0,
      characters,
    })
    output.add(send.bindComplete())
  }

  async function describe({ target, name }: Extract<FrontendMessage, { kind: 'describe' | 'close' }>) {
    await countPreparation()
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

  /** @throws WireError if the session has no space for so many characters more */
  function requireSpace(characters: number): void {
    const ofStatements = statements.entries().map(([name, { text }]) => name.length + text.length)
    const ofPortals = portals.entries().map(([, portal]) => portal.characters)
    if ([...ofStatements, ...ofPortals].reduce((sum, each) => sum + each, characters) > MOST_CHARACTERS)
      throw new WireError(
        '54000',
        `Prepared statements and portals have at most ${MOST_CHARACTERS} characters.`,
      )
  }

  /** True for the error of a wait that ended because the client has disconnected. */
  function hasLeft(error: unknown): boolean {
    return left.aborted && error === left.reason
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
    endPreparation()
    if (status === 'I') endPortals(hasFailed)
    hasFailed = false
    output.add(send.ready(status))
    await output.flush()
  }

  /** Reports an error, and skips what follows it. @throws the error if the session ends with it */
  async function reportError(thrown: unknown): Promise<void> {
    const error = hasLeft(thrown) ? stopped('cancelled') : thrown
    const { report, isFatal, code } = describeError(error, text)
    if (code !== undefined) logFailure(error, code, parts.logger)
    noteUnknownFunction(error, parts.logger)
    output.add(send.report(report))
    if (status === 'T') status = 'E'
    skipping = true
    hasFailed = true
    if (isFatal) throw error
  }

  async function serve(): Promise<void> {
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
  }

  return {
    async run() {
      try {
        await serve()
      } finally {
        endPreparation()
      }
    },
    cancel: () => stop('cancelled'),
    end() {
      ending = true
      inbox.end()
    },
    waitingValues: () =>
      [sending, ...portals.entries().map(([, portal]) => portal)].reduce(
        (sum, portal) =>
          sum + (portal?.result !== undefined && hasRowsLeft(portal) ? valuesIn(portal.result) : 0),
        0,
      ),
  }
}

/** The number of values of a result. Rows that were fetched stay with those after them. */
function valuesIn(result: Result): number {
  return result.kind === 'rows' ? result.rows.length * result.columns.length : 0
}

function hasRowsLeft({ result, sent, scrolls }: Portal): boolean {
  return result?.kind === 'rows' && (scrolls ? result.rows.length > 0 : sent < result.rows.length)
}

function requireSupported(read: ReadCommand | undefined): void {
  if (read?.command.kind === 'refused') throw new Refusal(...read.command.refused)
}

/** Requires a question, of data or of the catalogue. EXECUTE and FETCH of themselves would not end. */
function requireQuery(command: Command | undefined): SimpleCommand {
  if (command?.kind === 'question' || command?.kind === 'catalogue') return command
  throw notQuery()
}

function notQuery(): WireError {
  return new WireError('0A000', 'FETCH and EXECUTE take a SELECT statement.')
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

function endsTransaction(command: Command): boolean {
  return (
    command.kind === 'transaction' &&
    (command.act === 'commit' || command.act === 'rollback' || command.act === 'rollback-to')
  )
}

function stopped(as: 'cancelled' | 'timed out'): WireError {
  const what = as === 'cancelled' ? 'was cancelled' : 'took longer than statement_timeout'
  return new WireError(
    '57014',
    `The statement ${what}. If it was paid for, its repeat replays the answer at no cost.`,
  )
}

function overQuota(kind: 'rate-limited' | 'too-many'): WireError {
  return kind === 'rate-limited'
    ? new WireError('53400', 'You have sent too many statements. Nothing was charged. Retry later.')
    : new WireError('53300', 'You have too many requests under way. Nothing was charged. Retry later.')
}
