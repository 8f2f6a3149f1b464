import type {
  DeclareCursorStmt,
  DiscardStmt,
  FetchStmt,
  Node,
  PrepareStmt,
  TransactionStmt,
  VariableSetStmt,
} from 'libpg-query'
import { MAX_SQL_LENGTH } from '../../../schemas/answers/sql.ts'
import { parseText, readSelect } from '../../answers/sql/parsing/parser.ts'
import { allOf, type ByKind, callByKind, fieldsOf, lastName, nameOf } from '../../answers/sql/parsing/tree.ts'
import { defined } from '../../privacy/defined.ts'
import { must } from '../../privacy/must.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { catalogueSql, isAboutCatalogue } from './catalogue-statement.ts'
import type { Command, ReadCommand, RefusalParts, SimpleCommand, TransactionAct } from './command.ts'
import { readValuesOfColumn } from './declared-values.ts'
import { bindParameters, dropPlainCasts, type Literal, parametersIn } from './parameters.ts'
import { withoutRows } from './without-rows.ts'

/** Largest length of a text of statements. Tools read the catalogue by long statements. */
export const MAX_TEXT_LENGTH = 16_384

/**
 * Reads the statements of a text. A statement that is not supported is read as its refusal.
 * @param values values of the parameters
 * @throws Refusal `invalid-request` if the text is no SQL
 * @throws ParserFailure for a text that the parser failed on
 */
export function readCommands(text: string, values: readonly Literal[] = []): readonly ReadCommand[] {
  if (text.length > MAX_TEXT_LENGTH)
    throw new Refusal('sql-not-supported', `A statement has at most ${MAX_TEXT_LENGTH} characters.`)
  if (/^[\s;]*$/.test(text)) return []
  return parseText(text).map((node, place) => {
    bindParameters(node, values)
    const prepare = fieldsOf(node, 'PrepareStmt')
    if (prepare === undefined) return readNode(text, node)
    // The parameters are those of the statement that it prepares.
    return { command: readPrepare(text, prepare, place), parameters: [], tables: [] }
  })
}

function readNode(text: string, node: Node): ReadCommand {
  const facts = { parameters: parametersIn(node), tables: tablesIn(node) }
  return { ...facts, command: orRefused(() => readCommand(text, node)) }
}

/** Reads a command; one that is refused is read as its refusal. */
function orRefused<Read extends Command>(read: () => Read) {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { kind: 'refused', refused: partsOf(error) } as const
  }
}

function readPrepare(text: string, { name = '', argtypes = [], query }: PrepareStmt, place: number): Command {
  const prepared = readNode(text, must(query, 'the statement of PREPARE'))
  const types = argtypes.map((type) => lastName(fieldsOf(type, 'TypeName')?.names) ?? '')
  return { kind: 'prepare', name, types, place, prepared }
}

function tablesIn(tree: Node): readonly string[] {
  return allOf(tree, 'RangeVar').flatMap(({ relname }) => relname ?? [])
}

function partsOf({ code, message, errors, facts }: Refusal): RefusalParts {
  return [code, message, errors, facts]
}

function readCommand(text: string, node: Node): Command {
  const command = 'SelectStmt' in node ? readQuery(text, node) : callByKind(COMMANDS, node, text)
  if (command !== undefined) return command
  const [kind = ''] = Object.keys(node)
  const instead = kind === 'CopyStmt' ? WITHOUT_COPY : WHAT_IS
  throw new Refusal('sql-not-supported', `${nameOfStatement(kind)} is not supported. ${instead}`)
}

const COMMANDS: ByKind<[text: string], Command> = {
  VariableSetStmt: readSet,
  VariableShowStmt: ({ name = '' }) => ({ kind: 'show', name }),
  TransactionStmt: readTransaction,
  DiscardStmt: readDiscard,
  UnlistenStmt: () => ({ kind: 'discard', tag: 'UNLISTEN', all: false }),
  DeallocateStmt: ({ name }) => defined({ kind: 'deallocate', name }),
  ExecuteStmt: ({ name = '', params = [] }) => ({ kind: 'execute', name, values: params.map(requireValue) }),
  DeclareCursorStmt: readDeclare,
  FetchStmt: readFetch,
  ClosePortalStmt: ({ portalname: name }) => defined({ kind: 'close', name }),
}

const WHAT_IS =
  'Send SELECT, SET, SHOW, RESET, BEGIN, COMMIT or ROLLBACK: rows can neither be changed nor copied.'
const WITHOUT_COPY =
  'Ask by SELECT: from ADBC with the option adbc.postgresql.use_copy=false, from Polars and pandas through psycopg or SQLAlchemy.'

/** `CreateStmt` -> `CREATE`, `CopyStmt` -> `COPY`. */
function nameOfStatement(kind: string): string {
  const [first = 'This statement'] = /^[A-Z][a-z]+/.exec(kind) ?? []
  return first.toUpperCase()
}

function readQuery(text: string, node: Node): SimpleCommand {
  const setting = readSetConfig(node)
  if (setting !== undefined) return setting
  if (isAboutCatalogue(node)) return { kind: 'catalogue', sql: catalogueSql(node) }
  const columns = withoutRows(node)
  if (columns !== undefined) return readWithoutRows(text, columns)
  const values = readValuesOfColumn(node)
  if (values === undefined) return readQuestion(text, node)
  const { sql, column } = values
  const otherwise = orRefused(() => readQuestion(text, node))
  return { kind: 'catalogue', sql, values: { tables: tablesIn(node), column, otherwise } }
}

function readWithoutRows(text: string, node: Node): SimpleCommand {
  const described = orRefused(
    (): SimpleCommand => ({ kind: 'catalogue', sql: catalogueSql(structuredClone(node)) }),
  )
  const command = {
    kind: 'without-rows',
    tables: tablesIn(node),
    question: orRefused(() => readQuestion(text, node)),
  } as const
  return described.kind === 'catalogue' ? { ...command, sql: described.sql } : command
}

function readQuestion(text: string, node: Node): SimpleCommand {
  if (text.length > MAX_SQL_LENGTH)
    throw new Refusal('sql-not-supported', `A question has at most ${MAX_SQL_LENGTH} characters.`)
  dropPlainCasts(node)
  withoutSchema(node)
  return { kind: 'question', tables: tablesIn(node), statement: readSelect(text, node) }
}

/** Takes the schema off the names of tables and columns. All datasets are in one. */
function withoutSchema(tree: Node): void {
  for (const table of allOf(tree, 'RangeVar'))
    if (table.schemaname === SCHEMA) {
      delete table.schemaname
      delete table.catalogname
    }
  for (const column of allOf(tree, 'ColumnRef')) {
    const { fields = [] } = column
    if (fields.length === 3 && nameOf(fields[0]) === SCHEMA) column.fields = fields.slice(1)
  }
}

const SCHEMA = 'public'

/** `SELECT set_config(name, value, is_local)`. */
function readSetConfig(node: Node): SimpleCommand | undefined {
  const [only, second] = fieldsOf(node, 'SelectStmt')?.targetList ?? []
  const call = fieldsOf(fieldsOf(only, 'ResTarget')?.val, 'FuncCall')
  if (second !== undefined || lastName(call?.funcname) !== 'set_config') return undefined
  const [name, value, local] = (call?.args ?? []).map(constantText)
  if (name === undefined || value === undefined)
    throw new Refusal('sql-not-supported', 'set_config takes constants.')
  return { kind: 'set', name, values: [value], local: local === 'true', returns: true }
}

function readSet({ kind, name = '', args = [], is_local: local = false }: VariableSetStmt): Command {
  switch (kind) {
    case 'VAR_RESET_ALL':
      return { kind: 'reset-all' }
    case 'VAR_RESET':
    case 'VAR_SET_DEFAULT':
      return { kind: 'set', name, local }
    case 'VAR_SET_MULTI':
      // SET TRANSACTION and SET SESSION CHARACTERISTICS. All transactions only read.
      return { kind: 'set', name: 'transaction_isolation', values: ['read committed'], local }
    case 'VAR_SET_VALUE':
      return { kind: 'set', name, values: args.map(requireConstant), local }
    default:
      throw new Refusal('sql-not-supported', 'This form of SET is not supported.')
  }
}

function requireConstant(node: Node): string {
  const text = constantText(node)
  if (text === undefined) throw new Refusal('sql-not-supported', 'Settings and EXECUTE take constants.')
  return text
}

/** Text of a constant; undefined for another expression. The parser omits 0, false and the empty text. */
function constantText(node: Node): string | undefined {
  const cast = fieldsOf(node, 'TypeCast')
  if (cast?.arg !== undefined) return constantText(cast.arg)
  const { ival, fval, sval, boolval } = fieldsOf(node, 'A_Const') ?? {}
  if (ival !== undefined) return String(ival.ival ?? 0)
  if (fval !== undefined) return fval.fval ?? ''
  if (sval !== undefined) return sval.sval ?? ''
  return boolval && String(boolval.boolval ?? false)
}

const TRANSACTIONS: Readonly<Record<string, readonly [TransactionAct, string]>> = {
  TRANS_STMT_BEGIN: ['begin', 'BEGIN'],
  TRANS_STMT_START: ['begin', 'START TRANSACTION'],
  TRANS_STMT_COMMIT: ['commit', 'COMMIT'],
  TRANS_STMT_ROLLBACK: ['rollback', 'ROLLBACK'],
  TRANS_STMT_SAVEPOINT: ['savepoint', 'SAVEPOINT'],
  TRANS_STMT_RELEASE: ['release', 'RELEASE'],
  TRANS_STMT_ROLLBACK_TO: ['rollback-to', 'ROLLBACK'],
}

function readTransaction({
  kind = 'TRANS_STMT_BEGIN',
  savepoint_name: savepoint = '',
}: TransactionStmt): Command {
  const found = TRANSACTIONS[kind]
  if (found === undefined) throw new Refusal('sql-not-supported', 'Two-phase transactions are not supported.')
  const [act, tag] = found
  return { kind: 'transaction', act, tag, savepoint }
}

/** A value of EXECUTE. */
function requireValue(node: Node): string | null {
  return fieldsOf(node, 'A_Const')?.isnull ? null : requireConstant(node)
}

/** PostgreSQL's options of a cursor. */
const CURSOR = { binary: 0x01, scroll: 0x02, hold: 0x20 } as const

function readDeclare(
  { portalname: name = '', options = 0, query }: DeclareCursorStmt,
  text: string,
): Command {
  if (options & CURSOR.binary)
    throw new Refusal('sql-not-supported', 'BINARY cursors are not supported. Ask for binary rows of FETCH.')
  return {
    ...{ kind: 'declare', name, query: readQuery(text, must(query, 'the query of a cursor')) },
    ...{ holds: (options & CURSOR.hold) !== 0, scrolls: (options & CURSOR.scroll) !== 0 },
  }
}

function readFetch({ portalname: name = '', ismove: moves = false, ...to }: FetchStmt): Command {
  const { direction = 'FETCH_FORWARD', howMany = 0 } = to
  const fetch = { kind: 'fetch', name, moves } as const
  switch (direction) {
    case 'FETCH_ABSOLUTE':
      return { ...fetch, which: 'absolute', count: Number(howMany) }
    case 'FETCH_RELATIVE':
      return { ...fetch, which: 'relative', count: Number(howMany) }
    default: {
      const count = Number(howMany) * (direction === 'FETCH_BACKWARD' ? -1 : 1)
      // No rows from here on are the row here.
      return { ...fetch, which: count === 0 ? 'relative' : 'several', count }
    }
  }
}

function readDiscard({ target = 'DISCARD_ALL' }: DiscardStmt): Command {
  const what = target.replace('DISCARD_', '')
  return { kind: 'discard', tag: `DISCARD ${what}`, all: what === 'ALL' }
}
