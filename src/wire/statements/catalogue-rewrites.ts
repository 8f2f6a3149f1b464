import type {
  A_Expr,
  ColumnRef,
  FuncCall,
  Node,
  RangeFunction,
  SQLValueFunction,
  TypeCast,
} from 'libpg-query'
import {
  type ByKind,
  callByKind,
  eachPart,
  fieldsOf,
  lastName,
  nameOf,
  type Part,
} from '../../answers/sql/parsing/tree.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { BUILT_IN, OWN_FUNCTIONS, OWN_TABLES } from '../catalogue/functions.ts'
import { MACRO_PREFIX, OID_OF_PG_CLASS } from '../catalogue/names.ts'
import { RELATIONS } from '../catalogue/postgres-relations.ts'

/* PostgreSQL's syntax in the dialect of the evaluator of the catalogue. */

/** A rewrite changes the fields of a node, or returns the node that takes its place. */
const REWRITES: ByKind<[], Node | undefined> = {
  TypeCast: rewriteCast,
  FuncCall: rewriteCall,
  A_Expr: rewriteOperator,
  SQLValueFunction: rewriteValueFunction,
  RangeFunction: rewriteFunctionTable,
  ResTarget: (target) => {
    if (functionNameOf(target.val) === 'generate_series') target.val = call('unnest', target.val)
    return undefined
  },
  CollateClause: ({ arg }) => arg,
  ColumnRef: rewriteColumn,
}

/** Rewrites all nodes of a statement, each before those below it. */
export function rewriteNodes(tree: Node): void {
  eachPart(tree, (part) => {
    if (typeof part.aliasname === 'string') part.aliasname = unreserved(part.aliasname)
    for (let by = rewritten(part); by !== undefined; by = rewritten(part)) {
      for (const kind of Object.keys(part)) delete part[kind]
      Object.assign(part, by)
    }
  })
}

function rewritten(part: Part): Node | undefined {
  return callByKind(REWRITES, part as Node)
}

/** Shows the names of what the columns of a result refer to. Within a statement, they are numbers. */
export function showNames(tree: Node): void {
  for (const each of fieldsOf(tree, 'SelectStmt')?.targetList ?? []) {
    const target = fieldsOf(each, 'ResTarget')
    const cast = fieldsOf(target?.val, 'TypeCast')
    const isNamed = cast?.typeName?.arrayBounds === undefined && REGISTERED.has(typeNameOf(cast))
    if (target?.val !== undefined && (isNamed || isOfFunctions(target.val)))
      target.val = castTo('text', target.val)
  }
}

const text = (sval: string): Node => ({ String: { sval } })
const constant = (sval: string): Node => ({ A_Const: { sval: { sval } } })
const call = (name: string, ...args: readonly (Node | undefined)[]): Node => ({
  FuncCall: {
    funcname: [text(name)],
    args: args.filter((each) => each !== undefined),
    funcformat: 'COERCE_EXPLICIT_CALL',
  },
})
const castTo = (type: string, arg: Node): Node => ({
  TypeCast: { arg, typeName: { names: [text(type)], typemod: -1 } },
})

/** System columns. Only rows of pg_class have descriptions, which are found by the relation that the row is in. */
const SYSTEM_COLUMNS: ReadonlyMap<string, number> = new Map([
  ['tableoid', OID_OF_PG_CLASS],
  ['xmin', 1],
])

function rewriteColumn(column: ColumnRef): Node | undefined {
  const { fields = [] } = column
  const [table, ...others] = fields.length === 3 ? fields.slice(1) : fields
  const name = nameOf(table)
  if (name !== undefined && others.length > 0) column.fields = [text(unreserved(name)), ...others]
  const system = SYSTEM_COLUMNS.get(lastName(fields) ?? '')
  return system === undefined ? undefined : { A_Const: { ival: { ival: system } } }
}

/** The name of a table, or another one for a word that the evaluator reserves and PostgreSQL does not. */
function unreserved(name: string): string {
  return /^(at|describe|lambda|pivot|qualify|show|summarize|unpivot)$/.test(name) ? `${name}_` : name
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

const RENAMED: ReadonlyMap<string, string> = new Map([
  ['btrim', 'trim'],
  ['extract', 'date_part'],
])

/** True for a function that a rewritten statement may call. */
export function isOfEvaluator(name: string): boolean {
  return (
    name.startsWith(MACRO_PREFIX) || OF_EVALUATOR.includes(name) || BUILT_IN.has(name) || name === 'btrim'
  )
}

/** Length of a constant of some 20 characters as it is parsed. */
const LONGEST_SEPARATOR = 100

function rewriteCall(called: FuncCall): Node | undefined {
  const { args = [] } = called
  const name = lastName(called.funcname) ?? ''
  if (name === 'format') return call('concat', ...formatted(args))
  const [subject, separator] = args
  const pattern = name === 'substring' ? textOf(separator) : undefined
  if (pattern !== undefined) {
    const group: Node = { A_Const: { ival: { ival: /\((?!\?)/.test(pattern) ? 1 : 0 } } }
    return call('nullif', call('regexp_extract', subject, separator, group), constant(''))
  }
  if (name === 'array_to_string' && JSON.stringify(separator ?? null).length > LONGEST_SEPARATOR)
    throw new Refusal('sql-not-supported', 'The separator of array_to_string must be a short constant.')
  if (name.startsWith(MACRO_PREFIX) || OF_EVALUATOR.includes(name)) return undefined
  if (OWN_FUNCTIONS.has(name) || OWN_TABLES.has(name)) called.funcname = [text(MACRO_PREFIX + name)]
  else if (BUILT_IN.has(name)) {
    called.funcname = [text(RENAMED.get(name) ?? name)]
    called.funcformat = 'COERCE_EXPLICIT_CALL'
  } else
    throw new Refusal('sql-not-supported', `There is no function "${name}" about the catalogue.`, [], {
      unknownFunction: name,
    })
  return undefined
}

function functionNameOf(node: Node | undefined): string | undefined {
  return lastName(fieldsOf(node, 'FuncCall')?.funcname)
}

const QUOTES: Readonly<Record<string, string>> = { '%I': 'quote_ident', '%L': 'quote_literal' }

/** The parts of a text that `format` puts together. */
function formatted([pattern, ...values]: readonly Node[]): readonly Node[] {
  const waiting = [...values]
  return (textOf(pattern) ?? '').split(/(%[sIL])/).map((part) => {
    if (!/^%[sIL]$/.test(part)) return constant(part)
    const value = waiting.shift() ?? constant('')
    const quote = QUOTES[part]
    return quote === undefined ? value : call(quote, value)
  })
}

/** Functions that return rows. */
const TABLES: readonly string[] = ['generate_series', 'generate_subscripts', 'unnest']

/** The column of `generate_series(...) AS s` is named `s`. A function that returns one value is a table of one row. */
function rewriteFunctionTable({ alias, functions: [first] = [] }: RangeFunction): Node | undefined {
  const [called] = fieldsOf(first, 'List')?.items ?? []
  const name = functionNameOf(called)
  if (called === undefined || name === undefined || OWN_TABLES.has(name) || name.startsWith(MACRO_PREFIX))
    return undefined
  if (TABLES.includes(name)) {
    if (alias?.aliasname !== undefined) alias.colnames ??= [text(alias.aliasname)]
    return undefined
  }
  const target: Node = { ResTarget: { name: alias?.aliasname ?? name, val: called } }
  const subquery: Node = {
    SelectStmt: { targetList: [target], limitOption: 'LIMIT_OPTION_DEFAULT', op: 'SETOP_NONE' },
  }
  return { RangeSubselect: { subquery, alias: alias ?? { aliasname: name } } }
}

const VALUE_FUNCTIONS: Readonly<Record<string, string>> = {
  SVFOP_CURRENT_ROLE: 'current_user',
  SVFOP_CURRENT_USER: 'current_user',
  SVFOP_USER: 'current_user',
  SVFOP_SESSION_USER: 'current_user',
  SVFOP_CURRENT_CATALOG: 'current_database',
  SVFOP_CURRENT_SCHEMA: 'current_schema',
}

function rewriteValueFunction({ op = 'SVFOP_CURRENT_TIMESTAMP' }: SQLValueFunction): Node {
  return call(VALUE_FUNCTIONS[op] ?? 'now')
}

/** LIKE as functions of the evaluator. There, a backslash means nothing unless it is stated. */
const LIKES: Readonly<Record<string, string>> = {
  '~~': 'like_escape',
  '!~~': 'not_like_escape',
  '~~*': 'ilike_escape',
  '!~~*': 'not_ilike_escape',
}

/** The pattern of LIKE, and its escape character. */
function patternOf(pattern: Node | undefined): readonly (Node | undefined)[] {
  const escaped = functionNameOf(pattern) === 'like_escape' ? fieldsOf(pattern, 'FuncCall')?.args : undefined
  return escaped ?? [pattern, constant('\\')]
}

function rewriteOperator(operation: A_Expr): Node | undefined {
  const { kind, lexpr, rexpr } = operation
  const name = lastName(operation.name) ?? ''
  operation.name = [text(name)]
  const like = LIKES[name]
  if (like !== undefined) return call(like, lexpr, ...patternOf(rexpr))
  // The evaluator cannot join by ANY, which is a subquery there.
  if (kind === 'AEXPR_OP_ANY' && name === '=') return call('list_contains', listOf(rexpr) ?? rexpr, lexpr)
  const [, negation, , anyCase] = kind === 'AEXPR_OP' ? (/^(!?)(~)(\*?)$/.exec(name) ?? []) : []
  if (negation === undefined) return undefined
  const match = call('regexp_matches', lexpr, rexpr, anyCase === '' ? undefined : constant('i'))
  return negation === '' ? match : { BoolExpr: { boolop: 'NOT_EXPR', args: [match] } }
}

/** Types of identifiers in the catalogue, with what they name. */
const REGISTERED: ReadonlyMap<string, string> = new Map([
  ['regclass', 'class'],
  ['regtype', 'type'],
  ['regproc', 'function'],
  ['regprocedure', 'function'],
  ['regnamespace', 'namespace'],
])

/** Types that are texts for the evaluator. */
const TEXTS: readonly string[] = [
  ...['name', 'char', 'bpchar', 'text', 'cstring', 'int2vector', 'oidvector', 'regrole', 'json', 'jsonb'],
  ...['information_schema', 'sql_identifier', 'character_data', 'yes_or_no'],
]

/** Types that have another name for the evaluator. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ...TEXTS.map((name) => [name, 'varchar'] as const),
  ['xid', 'uinteger'],
  ['oid', 'uinteger'],
  ['cardinal_number', 'int4'],
  ['timestamptz', 'timestamp'],
])

function rewriteCast(cast: TypeCast): Node | undefined {
  const { arg, typeName = {} } = cast
  const name = typeNameOf(cast)
  const isArray = typeName.arrayBounds !== undefined
  const kind = REGISTERED.get(name)
  if (kind !== undefined && !isArray) return isOid(arg) ? shown(kind, arg) : oidOf(kind, arg)
  if (TEXTS.includes(name)) {
    if (isOfFunctions(arg)) return shown('function', arg)
    const inner = fieldsOf(arg, 'TypeCast')
    const named = REGISTERED.get(typeNameOf(inner))
    if (named !== undefined && !isArray) return shown(named, inner?.arg)
  }
  const list = isArray ? listOf(arg) : undefined
  if (list !== undefined) cast.arg = list
  const { typmods: _, ...others } = typeName
  cast.typeName = { ...others, names: [text(TYPES.get(name) ?? name)], typemod: -1 }
  return undefined
}

function typeNameOf(cast: TypeCast | undefined): string {
  return lastName(cast?.typeName?.names) ?? ''
}

/** A column or a number is an OID, which is shown as a name. A text, or one that is put together, names something. */
function isOid(argument: Node | undefined): boolean {
  const given = fieldsOf(argument, 'A_Const')
  return fieldsOf(argument, 'ColumnRef') !== undefined || (given?.ival ?? given?.fval) !== undefined
}

function oidOf(kind: string, argument: Node | undefined): Node | undefined {
  return argument === undefined || isOid(argument)
    ? argument
    : call(`oid_of_${kind}`, castTo('varchar', argument))
}

function shown(kind: string, argument: Node | undefined): Node {
  const oid = oidOf(kind, argument)
  return kind === 'type'
    ? call('format_type', oid, { A_Const: { isnull: true } })
    : call(`name_of_${kind}`, oid)
}

/** Columns whose values are OIDs of functions, which PostgreSQL shows as names. */
const OF_FUNCTIONS: ReadonlySet<string> = new Set(
  [...RELATIONS.matchAll(/(\w+) regproc\b/g)].map(([, name = '']) => name),
)

/** True for a column of OIDs of functions. */
function isOfFunctions(expression: Node | undefined): boolean {
  return OF_FUNCTIONS.has(lastName(fieldsOf(expression, 'ColumnRef')?.fields) ?? '')
}

/** The text of a constant; undefined for another expression. */
function textOf(node: Node | undefined): string | undefined {
  return fieldsOf(node, 'A_Const')?.sval?.sval
}

/** `'{a,b}'` as a list. */
function listOf(argument: Node | undefined): Node | undefined {
  const items = /^\{(.*)\}$/s.exec(textOf(argument) ?? '')?.[1]
  if (items === undefined) return undefined
  const elements =
    items === '' ? [] : items.split(',').map((each) => constant(each.trim().replace(/^"|"$/g, '')))
  return { A_ArrayExpr: { elements } }
}
