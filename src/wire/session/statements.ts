import { mayUse, type Principal } from '../../http/access/principal.ts'
import { must } from '../../privacy/must.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { WireError } from '../errors.ts'
import type { WireParts } from '../parts.ts'
import type { WireColumn } from '../protocol/backend.ts'
import type { Command, FetchCommand, ReadCommand, SimpleCommand } from '../statements/command.ts'
import type { Literal } from '../statements/parameters.ts'
import { OID } from '../values/oids.ts'
import type { CountedRuns } from './counted-runs.ts'
import { moveCursor } from './cursors.ts'
import { columnsOfCommand, done, type Result, requireAskable } from './execute.ts'
import {
  boundValues,
  hasRowsLeft,
  type Portal,
  type Prepared,
  type PreparedStatement,
  parameterTypesOf,
  placeholders,
  typeNamed,
} from './portals.ts'
import type { SessionState } from './state.ts'

/** What the statements of a session need of it. */
export interface StatementParts {
  readonly prepared: Prepared
  readonly runs: CountedRuns
  /** Aborted once the client has disconnected. */
  readonly left: AbortSignal
  /** Is called before another statement than the client's latest runs, so that errors have no place in that. */
  forgetText(): void
}

const MOST_SUSPENDED = 4

/** Creates what reads and runs the statements of a session, also those about its other statements. */
export function createStatements(
  parts: WireParts,
  state: SessionState,
  { prepared, runs, left, forgetText }: StatementParts,
) {
  const { statements, portals } = prepared
  const { principal } = state

  /** Runs a statement of a text. Those about other statements of the session run these. */
  async function run(command: Command, source: string): Promise<Result> {
    requireLiveTransaction(command)
    switch (command.kind) {
      case 'prepare': {
        const { name, place, types } = command
        statements.makeRoomFor(name)
        prepared.requireSpace(name.length + source.length)
        const statement = await prepare({ text: source, place }, command.prepared, types.map(typeNamed))
        if (statement.read !== undefined) await columnsOf(statement.read.command, source)
        statements.set(name, statement)
        return done('PREPARE')
      }
      case 'execute': {
        const { name, values } = command
        const statement = statements.require(name)
        const parameters = values.map((value) => (value === null ? null : Buffer.from(value)))
        const bound = await bindValues(statement, { parameters, parameterFormats: [] })
        forgetText()
        return runs.run(requireQuery(bound?.command), statement.text)
      }
      case 'declare':
        return declare(command, source)
      case 'fetch':
        return fetch(command)
      default:
        return runs.run(command, source)
    }
  }

  async function declare(
    { name, query, holds, scrolls }: Extract<Command, { kind: 'declare' }>,
    source: string,
  ): Promise<Result> {
    if (state.status() === 'I' && !holds)
      throw new WireError('25P01', 'A cursor needs a transaction, in which it ends.', {
        hint: 'Send BEGIN first, or declare it WITH HOLD.',
      })
    portals.makeRoomFor(name)
    const characters = name.length + source.length
    prepared.requireSpace(characters)
    await columnsOf(query, source)
    const read = { command: query, parameters: [], tables: [] }
    const ends = holds ? 'on-rollback' : 'on-end'
    const createdAtMs = Date.now()
    portals.set(name, { text: source, read, formats: [], sent: 0, characters, createdAtMs, scrolls, ends })
    return done('DECLARE CURSOR')
  }

  async function fetch(command: FetchCommand): Promise<Result> {
    const portal = portals.require(command.name)
    const query = requireQuery(portal.read?.command)
    forgetText()
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
    const caller = await principal()
    if (portal.result !== undefined) {
      requireStillPermitted(portal, command, caller)
      return { result: portal.result, notices: [] }
    }
    const isQuery = command.kind === 'question' || command.kind === 'catalogue'
    if (isQuery && portals.entries().filter(([, each]) => hasRowsLeft(each)).length >= MOST_SUSPENDED)
      throw new WireError('54000', `A session has at most ${MOST_SUSPENDED} portals with rows to send.`)
    portal.result = await run(command, portal.text)
    portal.openedBy = caller
    return { result: portal.result, notices: portal.result.notices }
  }

  /** Rows that wait in a portal are sent only to those who may still have them. */
  function requireStillPermitted({ openedBy }: Portal, command: Command, caller: Principal): void {
    if (command.kind === 'question') requireAskable(parts, caller, command.tables)
    if (command.kind === 'catalogue' && caller.datasets?.join() !== openedBy?.datasets?.join())
      throw new WireError('42501', 'The datasets that you may use have changed. Send the statement again.')
  }

  /** Describes the columns of the rows of a statement; undefined if it has none. */
  async function columnsOf(command: Command, source: string): Promise<readonly WireColumn[] | undefined> {
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

  /** Reads the statements of a text, with values of their parameters. */
  async function read(text: string, values: readonly Literal[] = []): Promise<readonly ReadCommand[]> {
    await runs.countPreparation()
    const { name } = await principal()
    return parts.commandPool.run(
      'commands',
      { text, values },
      { timeoutMs: 5_000, givenUp: left, principal: name },
    )
  }

  /** Prepares a statement, and requires that it is supported. */
  async function prepare(
    source: Pick<PreparedStatement, 'text' | 'place'>,
    first: ReadCommand | undefined,
    statedTypes: readonly number[],
  ): Promise<PreparedStatement> {
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

  /** Reads a prepared statement with the values of a message. */
  async function bindValues(
    statement: PreparedStatement,
    given: Parameters<typeof boundValues>[1],
  ): Promise<ReadCommand | undefined> {
    const values = boundValues(statement, given)
    return values.length === 0 ? statement.read : readPrepared(statement, values)
  }

  /** @throws WireError unless a failed transaction may run the statement, or none has failed */
  function requireLiveTransaction(command: Command): void {
    if (state.status() === 'E' && !endsTransaction(command))
      throw new WireError('25P02', 'The transaction has failed. Statements are ignored until ROLLBACK.')
  }

  return { read, run, open, columnsOf, prepare, bindValues, requireLiveTransaction }
}

function requireSupported(read: ReadCommand | undefined): void {
  if (read?.command.kind === 'refused') throw new Refusal(...read.command.refused)
}

/** Requires a question, of data or of the catalogue. EXECUTE and FETCH of themselves would not end. */
function requireQuery(command: Command | undefined): SimpleCommand {
  switch (command?.kind) {
    case 'question':
    case 'catalogue':
    case 'without-rows':
      return command
    default:
      throw notQuery()
  }
}

function notQuery(): WireError {
  return new WireError('0A000', 'FETCH and EXECUTE take a SELECT statement.')
}

function endsTransaction(command: Command): boolean {
  return (
    command.kind === 'transaction' &&
    (command.act === 'commit' || command.act === 'rollback' || command.act === 'rollback-to')
  )
}
