import { randomUUID } from 'node:crypto'
import { DEFAULT_SIZE } from '../../../schemas/datasets/dummy.ts'
import {
  answerStatement,
  askParsed,
  columnsBeforehand,
  practiseStatement,
  rowsOfStatement,
} from '../../answers/sql/asked-statement.ts'
import type { ResultColumn } from '../../answers/sql/rows/result.ts'
import type { Dataset } from '../../core/dataset/dataset.ts'
import { requireBalances } from '../../http/access/permitted-datasets.ts'
import { mayUse, type Principal } from '../../http/access/principal.ts'
import { defined } from '../../privacy/defined.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { WireError } from '../errors.ts'
import type { WireParts } from '../parts.ts'
import type { Report, WireColumn } from '../protocol/backend.ts'
import type { Command, DeclaredValues, SimpleCommand } from '../statements/command.ts'
import type { WireValue } from '../values/encode.ts'
import { columnOfCells, OID, wireColumn } from '../values/oids.ts'
import { priceNotice } from './price-notice.ts'
import { spelled } from './setting-table.ts'
import type { SessionState } from './state.ts'

/** The result of a statement. */
export type Result =
  | {
      readonly kind: 'rows'
      readonly columns: readonly WireColumn[]
      readonly rows: readonly (readonly WireValue[])[]
      /** Tag of the end, without the number of rows. */
      readonly tag: string
      readonly notices: readonly Report[]
    }
  | { readonly kind: 'done'; readonly tag: string; readonly notices: readonly Report[] }

/** The run of one statement. */
export interface Run {
  /** The text with the statement. */
  readonly text: string
  readonly arrivedAtMs: number
  /** Aborted once the client has disconnected or has cancelled the statement. */
  readonly givenUp: AbortSignal
}

/** Executes a statement. Only a question about rows may cost anything. */
export async function execute(
  parts: WireParts,
  state: SessionState,
  command: SimpleCommand,
  run: Run,
): Promise<Result> {
  switch (command.kind) {
    case 'question':
      return answerQuestion(parts, state, command, run)
    case 'catalogue': {
      const principal = await state.principal()
      const otherwise = unlessDeclared(parts, principal, command.values)
      if (otherwise !== undefined) return execute(parts, state, otherwise, run)
      const found = await state.catalogue(principal, { sql: command.sql, describes: false }, run.givenUp)
      return { kind: 'rows', ...found, tag: 'SELECT', notices: [] }
    }
    case 'without-rows': {
      const columns = (await columnsOfCommand(parts, state, command, run)) ?? []
      return { kind: 'rows', columns, rows: [], tag: 'SELECT', notices: [] }
    }
    case 'set': {
      const { name, values, local, returns } = command
      const value = values?.join(', ')
      if (local && state.status() === 'I' && !returns)
        return done('SET', [warning('25P01', 'SET LOCAL has an effect within a transaction only.')])
      state.report(state.settings.set(name, value, local))
      return returns ? oneRow('set_config', value ?? '') : done('SET')
    }
    case 'show':
      return show(parts, state, command.name)
    case 'reset-all':
      state.report(state.settings.reset())
      return done('RESET')
    case 'transaction':
      return transaction(state, command)
    case 'discard':
      if (command.all) {
        state.report(state.settings.reset())
        state.deallocate(undefined)
        state.close(undefined)
      }
      return done(command.tag)
    case 'deallocate':
      state.deallocate(command.name)
      return done(command.name === undefined ? 'DEALLOCATE ALL' : 'DEALLOCATE')
    case 'close':
      state.close(command.name)
      return done(command.name === undefined ? 'CLOSE CURSOR ALL' : 'CLOSE CURSOR')
    case 'refused':
      throw new Refusal(...command.refused)
  }
}

/** Describes the columns of the rows of a statement; undefined if it has none. It costs nothing and reads no data. */
export async function columnsOfCommand(
  parts: WireParts,
  state: SessionState,
  command: SimpleCommand,
  run: Omit<Run, 'arrivedAtMs'>,
): Promise<readonly WireColumn[] | undefined> {
  const { text, givenUp } = run
  switch (command.kind) {
    case 'question': {
      const principal = await state.principal()
      const dataset = requireTable(parts, principal, command.tables)
      // The price has no influence on the columns.
      const asking = { terms: { epsilon: 1 }, dataset, principal: principal.name }
      const asked = await askParsed(text, command.statement, asking)
      return shownColumns(state, columnsBeforehand(asked)).map(({ column }) => columnOfCells(column))
    }
    case 'catalogue': {
      const principal = await state.principal()
      const otherwise = unlessDeclared(parts, principal, command.values)
      if (otherwise !== undefined) return columnsOfCommand(parts, state, otherwise, run)
      return (await state.catalogue(principal, { sql: command.sql, describes: true }, givenUp)).columns
    }
    case 'without-rows':
      return columnsWithoutRows(parts, state, command, run)
    case 'show':
      return (await show(parts, state, command.name)).columns
    case 'set':
      return command.returns ? [wireColumn('set_config', OID.text)] : undefined
    case 'refused':
      throw new Refusal(...command.refused)
    default:
      return undefined
  }
}

/** Describes a statement without rows: as the question that it is otherwise, or by the declaration of its dataset. */
async function columnsWithoutRows(
  parts: WireParts,
  state: SessionState,
  { tables, question, sql }: Extract<Command, { kind: 'without-rows' }>,
  run: Omit<Run, 'arrivedAtMs'>,
): Promise<readonly WireColumn[] | undefined> {
  try {
    return await columnsOfCommand(parts, state, question, run)
  } catch (error) {
    if (!(error instanceof Refusal) || sql === undefined) throw error
    const principal = await state.principal()
    requireTable(parts, principal, tables)
    return (await state.catalogue(principal, { sql, describes: true }, run.givenUp)).columns
  }
}

/** Returns the command that a statement for the values of a column is otherwise; undefined if the values are declared. */
function unlessDeclared(
  parts: WireParts,
  principal: Principal,
  values: DeclaredValues | undefined,
): SimpleCommand | undefined {
  if (values === undefined) return undefined
  const { columns } = requireTable(parts, principal, values.tables)
  const [column, second] = columns.filter(({ name }) => [name, name.toLowerCase()].includes(values.column))
  return column?.type === 'category' && second === undefined ? undefined : values.otherwise
}

/** The columns that the session shows, each with its place in the rows. */
function shownColumns(state: SessionState, columns: readonly ResultColumn[]) {
  const halfWidths = new Set(columns.flatMap(({ halfWidthColumn }) => halfWidthColumn ?? []))
  return columns
    .map((column, place) => ({ column, place }))
    .filter(({ column }) => state.settings.showsHalfWidths() || !halfWidths.has(column.name))
}

async function answerQuestion(
  parts: WireParts,
  state: SessionState,
  { tables, statement }: Extract<Command, { kind: 'question' }>,
  { text, arrivedAtMs, givenUp }: Run,
): Promise<Result> {
  const principal = await state.principal()
  const dataset = requireAskable(parts, principal, tables)
  const asking = { terms: state.settings.terms(), dataset, principal: principal.name }
  const { asked, document } = await parts.versionUses.during(dataset, async () => {
    const asked = await askParsed(text, statement, asking)
    const caller = defined({
      principal: principal.name,
      arrivedAtMs,
      givenUp,
      requestId: randomUUID(),
      maxStoredBytes: principal.quota?.storedBytesPerDataset,
      spending: principal.spending === 'never' ? principal.spending : state.settings.spending(),
    })
    if (!state.isDummy) return { asked, document: await answerStatement(parts, asked, caller) }
    const balances = await requireBalances(parts.ledger, principal, dataset.id)
    const size = DEFAULT_SIZE
    return { asked, document: await practiseStatement(parts, asked, { ...caller, size }, balances) }
  })
  const { rows } = rowsOfStatement(asked, document.body, parts.limits)
  // Types must not depend on the noise, which is not settled before the answer: inference may change it.
  const shown = shownColumns(state, columnsBeforehand(asked))
  return {
    kind: 'rows',
    columns: shown.map(({ column }) => columnOfCells(column)),
    rows: rows.map((row) => shown.map(({ place }) => row[place] ?? null)),
    tag: 'SELECT',
    notices: state.isDummy ? [] : [await priceNotice(parts, principal, dataset, document)],
  }
}

/**
 * Returns the dataset of a question.
 * @throws WireError or Refusal if the principal may not ask it now
 */
export function requireAskable(
  parts: Pick<WireParts, 'catalog'>,
  principal: Principal,
  tables: readonly string[],
): Dataset {
  if (principal.role === 'analyst') return requireTable(parts, principal, tables)
  throw new Refusal('forbidden', `Questions need the role analyst. The key has the role ${principal.role}.`)
}

/** @throws WireError if there is no such dataset, or the principal may not use it */
function requireTable(
  { catalog }: Pick<WireParts, 'catalog'>,
  principal: Principal,
  tables: readonly string[],
): Dataset {
  const [table = ''] = tables
  for (const each of tables) {
    const entry = mayUse(principal, each) ? catalog.get(each) : undefined
    if (entry !== undefined) return entry.dataset
  }
  throw new WireError('42P01', `There is no dataset "${table}" that you may use.`, {
    hint: 'pg_catalog.pg_tables lists the datasets.',
  })
}

async function show(parts: WireParts, state: SessionState, name: string) {
  const { settings } = state
  if (name.toLowerCase() === 'all') {
    const columns = ['name', 'setting', 'description'].map((each) => wireColumn(each, OID.text))
    const rows = settings.all().map(([each, value]) => [each, value, ''])
    return { kind: 'rows', columns, rows, tag: 'SHOW', notices: [] } as const
  }
  if (name.toLowerCase() === 'sotto.accounting') return oneRow(name, await accountingOf(parts, state), 'SHOW')
  return oneRow(spelled(name), settings.show(name), 'SHOW')
}

/** The accounting of each dataset, such as `census: basic`. */
async function accountingOf({ catalog }: WireParts, state: SessionState): Promise<string> {
  const principal = await state.principal()
  const permitted = catalog.list().filter(({ dataset }) => mayUse(principal, dataset.id))
  return permitted.map(({ dataset: { id, accounting } }) => `${id}: ${accounting}`).join(', ')
}

function transaction(
  state: SessionState,
  { act, tag, savepoint }: Extract<Command, { kind: 'transaction' }>,
): Result {
  const status = state.status()
  switch (act) {
    case 'begin':
      if (status !== 'I') return done(tag, [warning('25001', 'There is a transaction in progress already.')])
      state.settings.begin()
      state.setStatus('T')
      return done(tag)
    case 'commit':
    case 'rollback': {
      if (status === 'I') return done(tag, [warning('25P01', 'There is no transaction in progress.')])
      const isRolledBack = act === 'rollback' || status === 'E'
      state.report(state.settings.end(isRolledBack))
      state.endTransaction(isRolledBack)
      return done(isRolledBack ? 'ROLLBACK' : tag)
    }
    case 'rollback-to':
      state.report(state.settings.rollBackTo(savepoint))
      if (status === 'E') state.setStatus('T')
      return done(tag)
    case 'savepoint':
      state.settings.save(savepoint)
      return done(tag)
    case 'release':
      state.settings.release(savepoint)
      return done(tag)
  }
}

/** The result of a statement without rows. */
export function done(tag: string, notices: readonly Report[] = []): Result {
  return { kind: 'done', tag, notices }
}

function oneRow(name: string, value: string, tag = 'SELECT') {
  const columns = [wireColumn(name, OID.text)]
  return { kind: 'rows', columns, rows: [[value]], tag, notices: [] } as const
}

function warning(code: string, message: string): Report {
  return { severity: 'WARNING', code, message }
}
