import type { Node } from 'libpg-query'
import { deparseSync } from 'pgsql-deparser'
import { parseText } from '../../answers/sql/parsing/parser.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { BUILT_IN, OWN_FUNCTIONS, OWN_TABLES } from '../catalogue/functions.ts'
import { MACRO_PREFIX, OID_OF_PG_CLASS, SCHEMAS } from '../catalogue/names.ts'
import { RELATIONS } from '../catalogue/postgres-relations.ts'
import { eachNode } from './parameters.ts'

type Fields = Record<string, unknown>

/** True for a statement that names no table, or only those of the catalogue. */
export function isAboutCatalogue(tree: Node): boolean {
  const own = ownTables(tree)
  return tablesIn(tree).every(
    ({ schemaname, relname = '' }) =>
      schemaname === 'pg_catalog' ||
      schemaname === 'information_schema' ||
      (schemaname === undefined && (own.has(relname) || relname.startsWith('pg_'))),
  )
}

interface Table {
  schemaname?: string
  readonly relname?: string
}

function tablesIn(tree: Node): readonly Table[] {
  const tables: Table[] = []
  eachNode(tree, ({ RangeVar: table }) => {
    if (table !== undefined) tables.push(table as Table)
  })
  return tables
}

/** Names of the common table expressions of a statement. */
function ownTables(tree: Node): ReadonlySet<string> {
  const own = new Set<string>()
  eachNode(tree, ({ CommonTableExpr: named }) => {
    const { ctename } = (named ?? {}) as { readonly ctename?: string }
    if (ctename !== undefined) own.add(ctename)
  })
  return own
}

/** Parts of PostgreSQL's syntax that a statement about the catalogue can do without. */
const REFUSED: readonly string[] = [
  ...['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt'],
  ...['intoClause', 'lockingClause', 'XmlExpr', 'JsonFuncExpr'],
]

/**
 * Writes a statement about the catalogue in the dialect of its evaluator. It names relations and functions of the catalogue
 * only.
 * @throws Refusal `sql-not-supported`
 */
export function catalogueSql(tree: Node): string {
  nameColumns(tree)
  showNames(tree)
  const own = ownTables(tree)
  for (const table of tablesIn(tree)) {
    if (table.schemaname === undefined && own.has(table.relname ?? '')) continue
    table.schemaname =
      table.schemaname === 'information_schema' ? SCHEMAS.information_schema : SCHEMAS.pg_catalog
  }
  eachNode(tree, (node) => {
    if (typeof node.aliasname === 'string') node.aliasname = unreserved(node.aliasname)
    for (const [kind, rewrite] of Object.entries(REWRITES)) {
      const fields = node[kind]
      if (typeof fields === 'object' && fields !== null) rewrite(node, fields as Fields)
    }
    for (const kind of REFUSED)
      if (node[kind] !== undefined)
        throw new Refusal('sql-not-supported', 'This syntax is not supported about the catalogue.')
  })
  eachNode(tree, requirePlainNames)
  const printed = deparseSync(tree)
  requireAllowed(printed)
  return printed
}

/** The printer does not quote names of these kinds. */
function requirePlainNames({
  CommonTableExpr,
  JoinExpr,
  NamedArgExpr,
  WindowDef,
  over,
  windowClause,
}: Fields) {
  const windows = [over, ...((windowClause ?? []) as readonly Fields[]).map(({ WindowDef }) => WindowDef)]
  const names = [CommonTableExpr, JoinExpr, NamedArgExpr, WindowDef, ...windows].flatMap((fields) => {
    const { ctename, alias, name, refname } = (fields ?? {}) as Fields
    const { aliasname, colnames = [] } = (alias ?? {}) as { readonly aliasname?: string; colnames?: Node[] }
    return [ctename, name, refname, aliasname, ...colnames.map(nameOf)]
  })
  for (const each of names)
    if (typeof each === 'string' && (!/^[a-z_][a-z0-9_]*$/i.test(each) || /^(duckdb|sqlite)_/i.test(each)))
      throw new Refusal('sql-not-supported', `The name "${each}" is not supported about the catalogue.`)
}

/** Requires that a printed statement, as it will be read, names relations and functions of the evaluator's catalogue only. */
function requireAllowed(printed: string): void {
  const [tree, second] = parseText(printed)
  const refuse = () => new Refusal('sql-not-supported', 'This syntax is not supported about the catalogue.')
  if (tree === undefined || second !== undefined || !('SelectStmt' in tree)) throw refuse()
  const own = ownTables(tree)
  const schemas: readonly string[] = Object.values(SCHEMAS)
  for (const { schemaname, relname = '' } of tablesIn(tree))
    if (schemaname === undefined ? !own.has(relname) : !schemas.includes(schemaname)) throw refuse()
  eachNode(tree, ({ FuncCall: called }) => {
    const name = nameOf((((called ?? {}) as Fields).funcname as Node[] | undefined)?.at(-1))
    if (called !== undefined && !isOfEvaluator(name ?? '')) throw refuse()
  })
}

function isOfEvaluator(name: string): boolean {
  return (
    name.startsWith(MACRO_PREFIX) || OF_EVALUATOR.includes(name) || BUILT_IN.has(name) || name === 'btrim'
  )
}

/** Gives the columns of all SELECT lists the names that PostgreSQL gives them. */
function nameColumns(tree: Node): void {
  eachNode(tree, ({ SelectStmt: select }) => {
    const { targetList = [] } = (select ?? {}) as { readonly targetList?: readonly Fields[] }
    for (const { ResTarget: target } of targetList as readonly { readonly ResTarget?: Fields }[])
      if (target !== undefined && target.name === undefined) {
        const name = columnName(target.val)
        if (name !== undefined) target.name = name
      }
  })
}

/** Columns whose values are OIDs of functions, which PostgreSQL shows as names. */
const OF_FUNCTIONS: ReadonlySet<string> = new Set(
  [...RELATIONS.matchAll(/(\w+) regproc\b/g)].map(([, name = '']) => name),
)

/** True for a column of OIDs of functions. */
function isOfFunctions(expression: unknown): boolean {
  const { ColumnRef: column } = (expression ?? {}) as { readonly ColumnRef?: { readonly fields?: Node[] } }
  return OF_FUNCTIONS.has(nameOf(column?.fields?.at(-1)) ?? '')
}

/** Shows the names of what the columns of a result refer to. Within a statement, they are numbers. */
function showNames(tree: Node): void {
  const { SelectStmt: select } = tree as { readonly SelectStmt?: { readonly targetList?: readonly Fields[] } }
  for (const { ResTarget: target } of (select?.targetList ?? []) as readonly { ResTarget?: Fields }[]) {
    const { TypeCast: cast } = (target?.val ?? {}) as { readonly TypeCast?: Fields }
    const { arrayBounds } = (cast?.typeName ?? {}) as Fields
    const isNamed = arrayBounds === undefined && typeNameOf(cast) in REGISTERED
    if (target !== undefined && (isNamed || isOfFunctions(target.val)))
      target.val = castTo('text', target.val)
  }
}

/** Name of the column of an expression; undefined for `*`. */
function columnName(expression: unknown): string | undefined {
  const { ColumnRef: column } = (expression ?? {}) as { readonly ColumnRef?: { readonly fields: Node[] } }
  return column === undefined ? (figured(expression)?.name ?? '?column?') : nameOf(column.fields.at(-1))
}

/** A name that PostgreSQL derives from an expression. One that is not firm gives way to the name of a cast round it. */
interface Figured {
  readonly name: string
  readonly isFirm: boolean
}

/** Derives the name of an expression as PostgreSQL's FigureColname does; undefined without one. */
function figured(expression: unknown): Figured | undefined {
  const [[kind, fields] = ['', {}]] = Object.entries((expression ?? {}) as Readonly<Record<string, Fields>>)
  const firm = (name: string) => ({ name, isFirm: true })
  const unless = (inner: Figured | undefined, name: string) =>
    inner?.isFirm ? inner : { name, isFirm: false }
  switch (kind) {
    case 'ColumnRef':
      return firm(nameOf((fields.fields as Node[]).at(-1)) ?? '')
    case 'FuncCall':
      return firm(nameOf((fields.funcname as Node[]).at(-1)) ?? '')
    case 'TypeCast':
      return unless(figured(fields.arg), nameOf(((fields.typeName as Fields).names as Node[]).at(-1)) ?? '')
    case 'CaseExpr':
      return unless(figured(fields.defresult), 'case')
    case 'CollateClause':
      return figured(fields.arg)
    case 'CoalesceExpr':
      return firm('coalesce')
    case 'MinMaxExpr':
      return firm(fields.op === 'IS_LEAST' ? 'least' : 'greatest')
    case 'A_Expr':
      return fields.kind === 'AEXPR_NULLIF' ? firm('nullif') : undefined
    case 'A_ArrayExpr':
      return firm('array')
    case 'SQLValueFunction':
      return firm(String(fields.op).replace('SVFOP_', '').toLowerCase())
    case 'SubLink': {
      const { SelectStmt: select } = (fields.subselect ?? {}) as { readonly SelectStmt?: Fields }
      const [first] = (select?.targetList ?? []) as readonly { readonly ResTarget?: Fields }[]
      if (fields.subLinkType === 'EXISTS_SUBLINK') return firm('exists')
      if (fields.subLinkType === 'ARRAY_SUBLINK') return firm('array')
      const name = (first?.ResTarget?.name as string | undefined) ?? columnName(first?.ResTarget?.val)
      return name === undefined ? undefined : firm(name)
    }
    case 'A_Indirection': {
      const field = ((fields.indirection ?? []) as Node[]).map(nameOf).findLast((name) => name !== undefined)
      return field === undefined ? figured(fields.arg) : firm(field)
    }
    default:
      return undefined
  }
}

/** System columns. Only rows of pg_class have descriptions, which are found by the relation that the row is in. */
const SYSTEM_COLUMNS: ReadonlyMap<string, number> = new Map([
  ['tableoid', OID_OF_PG_CLASS],
  ['xmin', 1],
])

type Rewrite = (node: Fields, fields: Fields) => void

const REWRITES: Readonly<Record<string, Rewrite>> = {
  TypeCast: rewriteCast,
  FuncCall: rewriteCall,
  A_Expr: rewriteOperator,
  SQLValueFunction: rewriteValueFunction,
  RangeFunction: rewriteFunctionTable,
  ResTarget: (_, target) => {
    if (functionNameOf(target.val) === 'generate_series') target.val = call('unnest', target.val)
  },
  CollateClause: (node, { arg }) => replace(node, arg),
  ColumnRef: (node, column) => {
    const fields = (column.fields ?? []) as Node[]
    const [table, ...others] = fields.length === 3 ? fields.slice(1) : fields
    const name = nameOf(table)
    if (name !== undefined && others.length > 0) column.fields = [text(unreserved(name)), ...others]
    const system = SYSTEM_COLUMNS.get(nameOf(fields.at(-1)) ?? '')
    if (system !== undefined) replace(node, { A_Const: { ival: { ival: system } } })
  },
}

/** The name of a table, or another one for a word that the evaluator reserves and PostgreSQL does not. */
function unreserved(name: string): string {
  return /^(at|describe|lambda|pivot|qualify|show|summarize|unpivot)$/.test(name) ? `${name}_` : name
}

/** Puts another node in the place of one. The visit goes on below it. */
function replace(node: Fields, by: unknown): void {
  for (const kind of Object.keys(node)) delete node[kind]
  Object.assign(node, by)
  for (const [kind, rewrite] of Object.entries(REWRITES)) {
    const fields = node[kind]
    if (typeof fields === 'object' && fields !== null) rewrite(node, fields as Fields)
  }
}

const text = (sval: string) => ({ String: { sval } })
const constant = (sval: string) => ({ A_Const: { sval: { sval } } })
const call = (name: string, ...args: readonly unknown[]) => ({
  FuncCall: { funcname: [text(name)], args, funcformat: 'COERCE_EXPLICIT_CALL' },
})

function rewriteCall(node: Fields, fields: Fields): void {
  const names = (fields.funcname ?? []) as Node[]
  const name = nameOf(names.at(-1)) ?? ''
  if (name === 'format') {
    replace(node, call('concat', ...formatted((fields.args ?? []) as readonly unknown[])))
    return
  }
  const [subject, separator] = (fields.args ?? []) as readonly Fields[]
  const pattern = name === 'substring' ? textOf(separator) : undefined
  if (pattern !== undefined) {
    const group = { A_Const: { ival: { ival: /\((?!\?)/.test(pattern) ? 1 : 0 } } }
    replace(node, call('nullif', call('regexp_extract', subject, separator, group), constant('')))
    return
  }
  if (name === 'array_to_string' && JSON.stringify(separator ?? null).length > LONGEST_SEPARATOR)
    throw new Refusal('sql-not-supported', 'The separator of array_to_string must be a short constant.')
  if (name.startsWith(MACRO_PREFIX) || OF_EVALUATOR.includes(name)) return
  if (OWN_FUNCTIONS.has(name) || OWN_TABLES.has(name)) fields.funcname = [text(MACRO_PREFIX + name)]
  else if (BUILT_IN.has(name)) {
    fields.funcname = [text(RENAMED.get(name) ?? name)]
    fields.funcformat = 'COERCE_EXPLICIT_CALL'
  } else
    throw new Refusal('sql-not-supported', `There is no function "${name}" about the catalogue.`, [], {
      unknownFunction: name,
    })
}

const RENAMED: ReadonlyMap<string, string> = new Map([
  ['btrim', 'trim'],
  ['extract', 'date_part'],
])

/** Length of a constant of some 20 characters as it is parsed. */
const LONGEST_SEPARATOR = 100

function functionNameOf(node: unknown): string | undefined {
  const { FuncCall: called } = (node ?? {}) as { readonly FuncCall?: { readonly funcname?: Node[] } }
  return nameOf(called?.funcname?.at(-1))
}

/** Functions that return rows. */
const TABLES: readonly string[] = ['generate_series', 'generate_subscripts', 'unnest']

/** The column of `generate_series(...) AS s` is named `s`. A function that returns one value is a table of one row. */
function rewriteFunctionTable(node: Fields, { alias, functions }: Fields): void {
  const named = alias as { readonly aliasname?: string; colnames?: readonly unknown[] } | undefined
  const [first] = (functions ?? []) as readonly { readonly List?: { readonly items?: readonly unknown[] } }[]
  const [called] = first?.List?.items ?? []
  const name = functionNameOf(called)
  if (name === undefined || OWN_TABLES.has(name) || name.startsWith(MACRO_PREFIX)) return
  if (!TABLES.includes(name)) {
    const target = { ResTarget: { name: named?.aliasname ?? name, val: called } }
    const subquery = {
      SelectStmt: { targetList: [target], limitOption: 'LIMIT_OPTION_DEFAULT', op: 'SETOP_NONE' },
    }
    delete node.RangeFunction
    node.RangeSubselect = { subquery, alias: named ?? { aliasname: name } }
    return
  }
  if (named?.aliasname !== undefined) named.colnames ??= [text(named.aliasname)]
}

/** The parts of a text that `format` puts together. */
function formatted([pattern, ...values]: readonly unknown[]): readonly unknown[] {
  const waiting = [...values]
  const quote = { '%s': undefined, '%I': 'quote_ident', '%L': 'quote_literal' } as const
  return (textOf(pattern) ?? '').split(/(%[sIL])/).map((part) => {
    if (part !== '%s' && part !== '%I' && part !== '%L') return constant(part)
    const value = waiting.shift() ?? constant('')
    const quoted = quote[part]
    return quoted === undefined ? value : call(quoted, value)
  })
}

/** Functions of the evaluator that stand for operators. */
const OF_EVALUATOR: readonly string[] = [
  'regexp_matches',
  'regexp_extract',
  'like_escape',
  'not_like_escape',
  'ilike_escape',
  'not_ilike_escape',
  'list_contains',
]

const VALUE_FUNCTIONS: Readonly<Record<string, string>> = {
  SVFOP_CURRENT_ROLE: 'current_user',
  SVFOP_CURRENT_USER: 'current_user',
  SVFOP_USER: 'current_user',
  SVFOP_SESSION_USER: 'current_user',
  SVFOP_CURRENT_CATALOG: 'current_database',
  SVFOP_CURRENT_SCHEMA: 'current_schema',
}

function rewriteValueFunction(node: Fields, { op = '' }: Fields): void {
  replace(node, call(VALUE_FUNCTIONS[String(op)] ?? 'now'))
}

/** LIKE as functions of the evaluator. There, a backslash means nothing unless it is stated. */
const LIKES: Readonly<Record<string, string>> = {
  '~~': 'like_escape',
  '!~~': 'not_like_escape',
  '~~*': 'ilike_escape',
  '!~~*': 'not_ilike_escape',
}

/** The pattern of LIKE, and its escape character. */
function patternOf(pattern: unknown): readonly unknown[] {
  const { FuncCall: escaped } = (pattern ?? {}) as { readonly FuncCall?: Fields }
  const isEscaped = nameOf(((escaped?.funcname ?? []) as Node[]).at(-1)) === 'like_escape'
  return isEscaped ? (escaped?.args as readonly unknown[]) : [pattern, constant('\\')]
}

function rewriteOperator(node: Fields, fields: Fields): void {
  const name = nameOf(((fields.name ?? []) as Node[]).at(-1)) ?? ''
  fields.name = [text(name)]
  const like = LIKES[name]
  if (like !== undefined) {
    replace(node, call(like, fields.lexpr, ...patternOf(fields.rexpr)))
    return
  }
  if (fields.kind === 'AEXPR_OP_ANY' && name === '=') {
    // The evaluator cannot join by ANY, which is a subquery there.
    replace(node, call('list_contains', listOf(fields.rexpr) ?? fields.rexpr, fields.lexpr))
    return
  }
  if (fields.kind !== 'AEXPR_OP') return
  const { lexpr, rexpr } = fields
  const isNegated = name.startsWith('!')
  if (!['~', '!~', '~*', '!~*'].includes(name)) return
  const flags = name.endsWith('*') ? [constant('i')] : []
  const match = call('regexp_matches', lexpr, rexpr, ...flags)
  replace(node, isNegated ? { BoolExpr: { boolop: 'NOT_EXPR', args: [match] } } : match)
}

/** Types of identifiers in the catalogue, with what they name. */
const REGISTERED: Readonly<Record<string, string>> = {
  regclass: 'class',
  regtype: 'type',
  regproc: 'function',
  regprocedure: 'function',
  regnamespace: 'namespace',
}

const TYPES: Readonly<Record<string, string>> = {
  ...{ name: 'varchar', char: 'varchar', bpchar: 'varchar', text: 'varchar', cstring: 'varchar' },
  ...{ int2vector: 'varchar', oidvector: 'varchar', regrole: 'varchar', xid: 'uinteger', oid: 'uinteger' },
  ...{
    information_schema: 'varchar',
    sql_identifier: 'varchar',
    character_data: 'varchar',
    yes_or_no: 'varchar',
  },
  ...{ cardinal_number: 'int4', timestamptz: 'timestamp', json: 'varchar', jsonb: 'varchar' },
}

function rewriteCast(node: Fields, fields: Fields): void {
  const typeName = (fields.typeName ?? {}) as Fields
  const name = typeNameOf(fields)
  const kind = REGISTERED[name]
  const isArray = Array.isArray(typeName.arrayBounds)
  if (kind !== undefined && !isArray) {
    replace(node, registered(kind, fields.arg))
    return
  }
  const { TypeCast: inner } = (fields.arg ?? {}) as { readonly TypeCast?: Fields }
  const named = REGISTERED[typeNameOf(inner)]
  if (TYPES[name] === 'varchar' && isOfFunctions(fields.arg)) {
    replace(node, shown('function', fields.arg))
    return
  }
  if (named !== undefined && TYPES[name] === 'varchar' && !isArray) {
    replace(node, shown(named, inner?.arg))
    return
  }
  const list = isArray ? listOf(fields.arg) : undefined
  if (list !== undefined) fields.arg = list
  typeName.names = [text(TYPES[name] ?? name)]
  delete typeName.typmods
  typeName.typemod = -1
}

function typeNameOf(cast: Fields | undefined): string {
  const { names } = (cast?.typeName ?? {}) as { readonly names?: readonly Node[] }
  return nameOf(names?.at(-1)) ?? ''
}

/** A column or a number is an OID, which is shown as a name. A text, or one that is put together, names something. */
function registered(kind: string, argument: unknown): unknown {
  return isOid(argument) ? shown(kind, argument) : oidOf(kind, argument)
}

function isOid(argument: unknown): boolean {
  const { ColumnRef: column, A_Const: given } = (argument ?? {}) as {
    readonly ColumnRef?: unknown
    readonly A_Const?: Fields
  }
  return column !== undefined || given?.ival !== undefined || given?.fval !== undefined
}

function oidOf(kind: string, argument: unknown): unknown {
  return isOid(argument) ? argument : call(`oid_of_${kind}`, castTo('varchar', argument))
}

function shown(kind: string, argument: unknown): unknown {
  const oid = oidOf(kind, argument)
  return kind === 'type'
    ? call('format_type', oid, { A_Const: { isnull: true } })
    : call(`name_of_${kind}`, oid)
}

function castTo(type: string, arg: unknown) {
  return { TypeCast: { arg, typeName: { names: [text(type)], typemod: -1 } } }
}

/** The text of a constant; undefined for another expression. */
function textOf(node: unknown): string | undefined {
  const { A_Const: given } = (node ?? {}) as {
    readonly A_Const?: { readonly sval?: { readonly sval?: string } }
  }
  return given?.sval?.sval
}

/** `'{a,b}'` as a list. */
function listOf(argument: unknown): unknown {
  const items = /^\{(.*)\}$/s.exec(textOf(argument) ?? '')?.[1]
  if (items === undefined) return undefined
  const elements = items === '' ? [] : items.split(',').map((each) => constant(each.replace(/^"|"$/g, '')))
  return { A_ArrayExpr: { elements } }
}

function nameOf(node: Node | undefined): string | undefined {
  return (node as { readonly String?: { readonly sval?: string } } | undefined)?.String?.sval
}
