import type {
  A_Const,
  A_Expr,
  CaseExpr,
  ColumnRef,
  FuncCall,
  Node,
  SelectStmt,
  TypeCast,
  TypeName,
  WindowDef,
} from 'libpg-query'
import { defined } from '../../../privacy/defined.ts'
import { entry, must } from '../../../privacy/must.ts'
import { type Refusal, refuseField } from '../../../privacy/refusal.ts'
import { refusePart } from '../place.ts'
import { FRAMES } from './frames.ts'
import { intervalOf } from './interval.ts'
import type {
  ArithmeticOperator,
  Call,
  CastType,
  ComparisonOperator,
  Expression,
  Select,
  SortKey,
  Subquery,
  TableJoin,
  TableName,
  Target,
  ValueType,
  Window,
} from './statement.ts'
import { type ByKind, callByKind, type FieldsOf, fieldsOf, type NodeKind, nameOf } from './tree.ts'

/**
 * Translates a syntax tree to a statement of the closed language.
 * @param tree a tree of allowed syntax, so that its depth is bounded
 * @throws Refusal `sql-not-supported` for meanings that the language does not have
 */
export function readStatement(text: string, tree: SelectStmt): Select {
  return readSelect(tree, (at, rule) => refusePart(text, at, 'sql-not-supported', rule))
}

/** Creates the refusal of a part. */
type Refuse = (at: number | undefined, rule: string) => Refusal

function readSelect(tree: SelectStmt, refuse: Refuse): Select {
  const optional = (node: Node | undefined) => node && read(node, refuse)
  // The parser leaves out fields whose value is empty or 0, as protobuf does.
  const { targetList = [], fromClause = [], groupClause = [], sortClause = [] } = tree
  const { whereClause, havingClause, limitCount, limitOffset } = tree
  const [where, having, limit, offset] = [whereClause, havingClause, limitCount, limitOffset].map(optional)
  return defined({
    targets: targetList.map((node) => readTarget(node, refuse)),
    ...readTables(fromClause, refuse),
    named: Object.fromEntries((tree.withClause?.ctes ?? []).map((node) => readNamed(node, refuse))),
    groupBy: groupClause.map((node) => read(node, refuse)),
    orderBy: sortClause.map((node) => readSortKey(node, refuse)),
    where,
    having,
    limit,
    offset,
  })
}

/** Reads a SELECT of WITH. */
function readNamed(node: Node, refuse: Refuse): readonly [string, Subquery] {
  const { ctename = '', ctequery, location: at = 0 } = partOf(node, 'CommonTableExpr')
  return [ctename, readSubquery(ctequery, at, ctename, refuse)]
}

function readSubquery(
  node: Node | undefined,
  at: number,
  alias: string | undefined,
  refuse: Refuse,
): Subquery {
  const tree = fieldsOf(node, 'SelectStmt')
  if (tree === undefined) throw refuse(at, 'only SELECT is supported.')
  return defined({ select: readSelect(tree, refuse), at, alias })
}

/** The fields of a node of the only kind that the grammar has at its place. */
function partOf<Kind extends NodeKind>(node: Node | undefined, kind: Kind): FieldsOf<Kind> {
  return must(fieldsOf(node, kind), kind)
}

function readTarget(node: Node, refuse: Refuse): Target {
  const { val, name: alias } = partOf(node, 'ResTarget')
  return defined({ expression: read(val, refuse), alias })
}

const ONE_TABLE = 'A statement reads one dataset: FROM names the dataset of the path.'

/** Reads the tables of FROM: one, or one to which others are joined one after the other. */
function readTables([node, second]: readonly Node[], refuse: Refuse): Pick<Select, 'from' | 'joins'> {
  if (node === undefined) throw refuseField('sql-not-supported', 'sql', `FROM is missing. ${ONE_TABLE}`)
  if (second !== undefined) {
    const at = fieldsOf(second, 'RangeVar')?.location
    throw refuse(at, `tables are joined by JOIN, not by a comma. ${ONE_TABLE}`)
  }
  const inFrom = fieldsOf(node, 'RangeSubselect')
  if (inFrom !== undefined) {
    const { subquery, alias } = inFrom
    const at = firstPlace(subquery)
    if (at === undefined) throw refuse(undefined, 'a SELECT in FROM must name columns.')
    return { from: readSubquery(subquery, at, alias?.aliasname, refuse), joins: [] }
  }
  const joins: TableJoin[] = []
  let left: Node | undefined = node
  for (let join = fieldsOf(left, 'JoinExpr'); join !== undefined; join = fieldsOf(left, 'JoinExpr')) {
    const { larg, rarg, jointype, usingClause = [], quals } = join
    const table = readTable(rarg, refuse)
    const [using, other] = usingClause.map(nameOf)
    if (other !== undefined || (using === undefined && quals === undefined))
      throw refuse(table.at, 'a join needs ON with one comparison, or USING with one column.')
    const on = quals && read(quals, refuse)
    joins.unshift(defined({ table, left: jointype === 'JOIN_LEFT', using, on }))
    left = larg
  }
  return { from: readTable(left, refuse), joins }
}

/** The place of the first expression of a SELECT, which has none itself. */
function firstPlace(node: Node | undefined): number | undefined {
  return fieldsOf(fieldsOf(node, 'SelectStmt')?.targetList?.[0], 'ResTarget')?.location
}

function readTable(node: Node | undefined, refuse: Refuse): TableName {
  const table = fieldsOf(node, 'RangeVar')
  if (table === undefined) {
    const at = firstPlace(fieldsOf(node, 'RangeSubselect')?.subquery)
    throw refuse(at, `a subquery is not supported in a join. ${ONE_TABLE}`)
  }
  const { relname: name = '', location: at = 0, alias } = table
  if (table.inh !== true) throw refuse(at, `ONLY is not supported. ${ONE_TABLE}`)
  return defined({ name, at, alias: alias?.aliasname })
}

function readSortKey(node: Node, refuse: Refuse): SortKey {
  const { node: value, sortby_dir: direction, sortby_nulls: nulls } = partOf(node, 'SortBy')
  const descending = direction === 'SORTBY_DESC'
  const nullsFirst = nulls === 'SORTBY_NULLS_FIRST' || (descending && nulls !== 'SORTBY_NULLS_LAST')
  return { expression: read(value, refuse), descending, nullsFirst }
}

/** Reads an expression. Recursion is bounded, because {@link readStatement} takes trees of bounded depth only. */
function read(node: Node | undefined, refuse: Refuse): Expression {
  const expression = callByKind(EXPRESSIONS, node, refuse)
  if (expression !== undefined) return expression
  throw refuse(undefined, 'this syntax is not supported here.')
}

function readAll(nodes: readonly Node[] | undefined, refuse: Refuse): readonly Expression[] {
  return (nodes ?? []).map((node) => read(node, refuse))
}

/** The readers of expressions, by kind of node. */
const EXPRESSIONS: ByKind<[refuse: Refuse], Expression> = {
  ColumnRef: readColumn,
  A_Const: readConstant,
  TypeCast: readCast,
  FuncCall: readCall,
  A_Expr: readOperation,
  BoolExpr({ boolop, args, location: at = 0 }, refuse) {
    const [first, ...others] = readAll(args, refuse)
    if (boolop === 'NOT_EXPR') return { kind: 'not', part: must(first, 'a condition'), at }
    return { kind: boolop === 'AND_EXPR' ? 'and' : 'or', parts: [must(first, 'a condition'), ...others], at }
  },
  NullTest: ({ arg, nulltesttype, location: at = 0 }, refuse) =>
    negatedIf(nulltesttype === 'IS_NOT_NULL', { kind: 'isNull', value: read(arg, refuse), at }),
  BooleanTest({ arg, booltesttype = 'IS_TRUE', location: at = 0 }, refuse) {
    const is = booltesttype.endsWith('TRUE') ? 'true' : booltesttype.endsWith('FALSE') ? 'false' : 'unknown'
    const value = read(arg, refuse)
    return negatedIf(booltesttype.startsWith('IS_NOT'), { kind: 'truth', is, value, at })
  },
  MinMaxExpr: ({ op, args, location }, refuse) =>
    callOf(op === 'IS_LEAST' ? 'least' : 'greatest', readAll(args, refuse), location),
  CaseExpr: readCase,
  CoalesceExpr: ({ args, location }, refuse) => callOf('coalesce', readAll(args, refuse), location),
  SQLValueFunction: ({ op, location }) =>
    callOf(op === 'SVFOP_CURRENT_DATE' ? 'current_date' : 'now', [], location),
  A_ArrayExpr: ({ elements, location: at = 0 }, refuse) => ({
    kind: 'array',
    elements: readAll(elements, refuse),
    at,
  }),
}

function negatedIf(isNegated: boolean, part: Expression): Expression {
  return isNegated ? { kind: 'not', part, at: part.at } : part
}

function callOf(name: string, parts: readonly Expression[], at = 0): Call {
  return { kind: 'call', name, star: false, distinct: false, arguments: parts, at }
}

/** CASE x WHEN a THEN ... is CASE WHEN x = a THEN ... */
function readCase({ arg, args = [], defresult, location: at = 0 }: CaseExpr, refuse: Refuse): Expression {
  const subject = arg && read(arg, refuse)
  const whens = args.map((node) => {
    const { expr, result } = partOf(node, 'CaseWhen')
    const test = read(expr, refuse)
    const condition: Expression =
      subject === undefined ? test : { kind: 'comparison', op: '=', left: subject, right: test, at: test.at }
    return { condition, result: read(result, refuse) }
  })
  return defined({ kind: 'case', whens, otherwise: defresult && read(defresult, refuse), at })
}

/** The schema of all datasets in the PostgreSQL protocol. */
const SCHEMA = 'public'

function readColumn({ fields = [], location: at = 0 }: ColumnRef, refuse: Refuse): Expression {
  const parts = fields.length > 2 && nameOf(fields.at(-3)) === SCHEMA ? fields.slice(-2) : fields
  const [first, second, third] = parts
  if (third !== undefined)
    throw refuse(at, 'a column is named by its name, or by the name of the table and its own.')
  const table = second && (nameOf(first) ?? '')
  const last = second ?? first
  if (fieldsOf(last, 'A_Star') !== undefined) return defined({ kind: 'star', table, at })
  return defined({ kind: 'column', table, name: nameOf(last) ?? '', at })
}

function readConstant(constant: A_Const, refuse: Refuse): Expression {
  const { ival, fval, boolval, sval, isnull, location: at = 0 } = constant
  if (isnull === true) return { kind: 'null', at }
  // The parser omits 0, false and the empty text.
  if (ival !== undefined) return { kind: 'number', text: String(ival.ival ?? 0), at }
  if (fval !== undefined) return { kind: 'number', text: decimal(fval.fval ?? '', at, refuse), at }
  if (boolval !== undefined) return { kind: 'boolean', value: boolval.boolval ?? false, at }
  return { kind: 'text', value: must(sval, 'a constant').sval ?? '', at }
}

/** Completes a decimal such as `.5` or `5.`. PostgreSQL also has hexadecimal numbers and underscores between digits. */
function decimal(text: string, at: number, refuse: Refuse): string {
  const plain = text
    .replaceAll('_', '')
    .replace(/^(-?)\./, '$10.')
    .replace(/\.(?=e|$)/i, '')
  if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(plain)) return plain
  throw refuse(at, 'numbers must be decimal, such as 12.5.')
}

const CAST_TYPES: readonly string[] = ['date', 'timestamp', 'timestamptz'] satisfies CastType[]

function isCastType(name: string): name is CastType {
  return CAST_TYPES.includes(name)
}

/** The types of casts by their names in PostgreSQL. */
const VALUE_TYPES: ReadonlyMap<string, ValueType> = new Map([
  ['date', 'date'],
  ['timestamp', 'timestamp'],
  ['timestamptz', 'timestamp'],
  ['int2', 'integer'],
  ['int4', 'integer'],
  ['int8', 'integer'],
  ['float4', 'number'],
  ['float8', 'number'],
  ['numeric', 'number'],
  ['text', 'text'],
  ['varchar', 'text'],
  ['bool', 'boolean'],
])

function readCast({ arg, typeName, location = -1 }: TypeCast, refuse: Refuse): Expression {
  const names = (typeName?.names ?? []).map((part) => nameOf(part) ?? '')
  const value = read(arg, refuse)
  const at = location >= 0 ? location : (typeName?.location ?? value.at)
  const [schema = '', name = schema] = names
  const ofPostgres = names.length === 1 || (names.length === 2 && schema === 'pg_catalog')
  const precision = readPrecision(typeName, at, refuse)
  if (ofPostgres && name === 'interval' && value.kind === 'text') {
    const interval = intervalOf(value.value, precision[0])
    if (interval !== undefined) return { kind: 'interval', ...interval, at }
    throw refuse(at, "an interval is a number and a unit, such as '30 days'.")
  }
  const type = ofPostgres ? VALUE_TYPES.get(name) : undefined
  if (type === undefined)
    throw refuse(at, 'casts are to dates, timestamps, integers, decimals, texts and booleans.')
  if (precision.length > 0 && name !== 'numeric')
    throw refuse(at, 'only NUMERIC has a precision here. Leave it out.')
  const bare = value.kind === 'text' && value.type === undefined
  if (bare && isCastType(name)) return { ...value, type: name }
  if (bare && type === 'text') return value
  const typed = (text: string) => (type === 'number' && /^-?\d+$/.test(text) ? `${text}.0` : text)
  if (bare && (type === 'number' || type === 'integer') && precision.length === 0)
    return { kind: 'number', text: typed(decimal(value.value, value.at, refuse)), at: value.at }
  const isWhole = value.kind === 'number' && /^-?\d+$/.test(value.text)
  if (
    value.kind === 'number' &&
    precision.length === 0 &&
    (type === 'number' || (type === 'integer' && isWhole))
  )
    return { ...value, text: typed(value.text) }
  const digits = precision.length > 0 ? (precision[1] ?? 0) : undefined
  return defined({ kind: 'cast', type, digits, value, at })
}

/** The numbers in the brackets of a type. */
function readPrecision(typeName: TypeName | undefined, at: number, refuse: Refuse): readonly number[] {
  return (typeName?.typmods ?? []).map((node) => {
    const constant = fieldsOf(node, 'A_Const')?.ival
    if (constant !== undefined) return constant.ival ?? 0
    throw refuse(at, 'the precision of a type is a whole number.')
  })
}

/** Functions that the grammar writes with their own syntax, and that PostgreSQL's parser qualifies with a schema. */
const GRAMMAR_FUNCTIONS: readonly string[] = ['extract']

function readCall(call: FuncCall, refuse: Refuse): Call {
  const { funcname = [], args = [], agg_order: order = [], location: at = 0 } = call
  const names = funcname.map((part) => nameOf(part) ?? '')
  const ofGrammar = call.funcformat === 'COERCE_SQL_SYNTAX'
  const name = entry(names, names.length - 1)
  if (ofGrammar ? !GRAMMAR_FUNCTIONS.includes(name) : names.length !== 1) {
    const rule = ofGrammar ? 'this function is not supported.' : 'names of schemas are not supported.'
    throw refuse(at, `${rule} docs/sql.md lists the functions that are.`)
  }
  const withinGroup = call.agg_within_group === true
  if (order.length > 0 && !withinGroup)
    throw refuse(at, 'ORDER BY within an aggregate has no effect on the answer. Leave it out.')
  if (name === 'date_trunc' && args.length > 2)
    throw refuse(at, 'date_trunc has a unit and a column. Other time zones than UTC are not supported.')
  const [key, second] = order.map((node) => readSortKey(node, refuse))
  if (second !== undefined) throw refuse(at, 'WITHIN GROUP orders by one column.')
  return defined({
    kind: 'call',
    name,
    star: call.agg_star ?? false,
    distinct: call.agg_distinct ?? false,
    arguments: readAll(args, refuse),
    withinGroup: key && { value: key.expression, descending: key.descending },
    filter: call.agg_filter && read(call.agg_filter, refuse),
    over: call.over && readWindow(call.over, at, refuse),
    at,
  })
}

/** Most rows of a frame before or after the current one, so that computing it stays quick. */
const MOST_DISTANT = 366

function readWindow(window: WindowDef, at: number, refuse: Refuse): Window {
  const { partitionClause, orderClause = [], frameOptions = 0, startOffset, endOffset } = window
  const { unit, start, end } = must(FRAMES.get(frameOptions), 'an allowed frame')
  const distance = (sign: number | undefined, node: Node | undefined): number | undefined => {
    if (node === undefined || sign === undefined) return sign
    const rows = fieldsOf(node, 'A_Const')?.ival
    if (rows !== undefined && (rows.ival ?? 0) <= MOST_DISTANT) return sign * (rows.ival ?? 0)
    throw refuse(window.location ?? at, `a frame has whole numbers of rows, at most ${MOST_DISTANT}.`)
  }
  return {
    partitionBy: readAll(partitionClause, refuse),
    orderBy: orderClause.map((node) => readSortKey(node, refuse)),
    frame: defined({ unit, start: distance(start.sign, startOffset), end: distance(end.sign, endOffset) }),
  }
}

const COMPARISONS: readonly string[] = ['=', '!=', '<', '<=', '>', '>='] satisfies ComparisonOperator[]

function isComparison(name: string): name is ComparisonOperator {
  return COMPARISONS.includes(name)
}

function readOperation(operation: A_Expr, refuse: Refuse): Expression {
  const { kind = '', name = [], lexpr, rexpr, location: at = 0 } = operation
  const [operator = '', qualified] = name.map(nameOf)
  if (qualified !== undefined) throw refuse(at, 'OPERATOR(...) is not supported. Write the operator.')
  const left = () => read(lexpr, refuse)
  const list = () => readAll(fieldsOf(rexpr, 'List')?.items, refuse)
  switch (kind) {
    case 'AEXPR_IN':
      return negatedIf(operator === '<>', { kind: 'in', value: left(), list: list(), at })
    case 'AEXPR_BETWEEN':
    case 'AEXPR_NOT_BETWEEN': {
      const ends = list()
      const [lower, upper] = [entry(ends, 0), entry(ends, 1)]
      return negatedIf(kind === 'AEXPR_NOT_BETWEEN', { kind: 'between', value: left(), lower, upper, at })
    }
    case 'AEXPR_DISTINCT':
    case 'AEXPR_NOT_DISTINCT': {
      const sides = { left: left(), right: read(rexpr, refuse) }
      return negatedIf(kind === 'AEXPR_DISTINCT', { kind: 'same', ...sides, at })
    }
    case 'AEXPR_LIKE':
    case 'AEXPR_ILIKE': {
      const sides = { value: left(), pattern: read(rexpr, refuse) }
      const anyCase = kind === 'AEXPR_ILIKE'
      return negatedIf(operator.startsWith('!'), { kind: 'like', anyCase, ...sides, at })
    }
    case 'AEXPR_NULLIF':
      return callOf('nullif', [left(), read(rexpr, refuse)], at)
    default:
      return readOperator(operator, operation, refuse)
  }
}

function readOperator(name: string, { lexpr, rexpr, location: at = 0 }: A_Expr, refuse: Refuse): Expression {
  const right = read(rexpr, refuse)
  // The parser spells `!=` as `<>`.
  const op = name === '<>' ? '!=' : name
  if (lexpr !== undefined && isComparison(op))
    return { kind: 'comparison', op, left: read(lexpr, refuse), right, at }
  // The parser joins a minus with the number after it, and leaves a plus.
  if (lexpr === undefined && right.kind === 'number' && op === '+') return { ...right, signed: true, at }
  if (lexpr === undefined && right.kind === 'number' && op === '-') {
    const text = right.text.startsWith('-') ? right.text.slice(1) : `-${right.text}`
    return { ...right, text, signed: true, at }
  }
  if (op === '||' && lexpr !== undefined) return concatenated(read(lexpr, refuse), right, at, refuse)
  if (isArithmetic(name)) {
    const left: Expression = lexpr === undefined ? { kind: 'number', text: '0', at } : read(lexpr, refuse)
    return { kind: 'arithmetic', op: name, left, right, at }
  }
  throw refuse(at, `the operator ${name} is not supported.`)
}

/** Joins two constants, as in `(7 || ' day')::interval`. */
function concatenated(left: Expression, right: Expression, at: number, refuse: Refuse): Expression {
  const texts = [left, right].map((part) => {
    if (part.kind === 'number') return part.text
    return part.kind === 'text' && part.type === undefined ? part.value : undefined
  })
  if (!texts.includes(undefined)) return { kind: 'text', value: texts.join(''), at }
  throw refuse(at, 'the operator || joins constants only.')
}

const ARITHMETIC: readonly string[] = ['+', '-', '*', '/'] satisfies ArithmeticOperator[]

function isArithmetic(name: string): name is ArithmeticOperator {
  return ARITHMETIC.includes(name)
}
