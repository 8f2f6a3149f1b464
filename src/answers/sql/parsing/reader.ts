import type {
  A_Const,
  A_Expr,
  CaseExpr,
  ColumnRef,
  FuncCall,
  Node,
  SelectStmt,
  SortBy,
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

type KindOfNode<Kind extends string> = Node extends infer Each
  ? Each extends { [K in Kind]: infer Fields }
    ? Fields
    : never
  : never

/**
 * Translates a syntax tree to a statement of the closed language.
 * @param tree a tree of allowed syntax, so that its depth is bounded
 * @throws Refusal `sql-not-supported` for meanings that the language does not have
 */
export function readStatement(text: string, tree: SelectStmt): Select {
  return readSelect({ text, refuse: (at, rule) => refusePart(text, at, 'sql-not-supported', rule) }, tree)
}

function readSelect(reader: Reader, tree: SelectStmt): Select {
  const optional = (node: Node | undefined) => (node === undefined ? undefined : readExpression(reader, node))
  // The parser leaves out fields whose value is empty or 0, as protobuf does.
  const { targetList = [], fromClause = [], groupClause = [], sortClause = [] } = tree
  const { whereClause, havingClause, limitCount, limitOffset, withClause } = tree
  const [where, having, limit, offset] = [whereClause, havingClause, limitCount, limitOffset].map(optional)
  return defined({
    targets: targetList.map((node) => readTarget(reader, node)),
    ...readTables(reader, fromClause),
    named: Object.fromEntries((withClause?.ctes ?? []).map((node) => readNamed(reader, node))),
    groupBy: groupClause.map((node) => readExpression(reader, node)),
    orderBy: sortClause.map((node) => readSortKey(reader, node)),
    where,
    having,
    limit,
    offset,
  })
}

/** Reads a SELECT of WITH. */
function readNamed(reader: Reader, node: Node): readonly [string, Subquery] {
  const { ctename = '', ctequery, location: at = 0 } = fieldsOf(node, 'CommonTableExpr') ?? {}
  return [ctename, readSubquery(reader, ctequery, at, ctename)]
}

function readSubquery(reader: Reader, node: Node | undefined, at: number, alias?: string): Subquery {
  const tree = fieldsOf(node, 'SelectStmt')
  if (tree === undefined) throw reader.refuse(at, 'only SELECT is supported.')
  return defined({ select: readSelect(reader, tree), at, alias })
}

interface Reader {
  readonly text: string
  readonly refuse: (at: number | undefined, rule: string) => Refusal
}

/** Returns the fields of a node of one kind; undefined for a node of another kind. */
function fieldsOf<Kind extends string>(node: Node | undefined, kind: Kind): KindOfNode<Kind> | undefined {
  return (node as Readonly<Record<string, KindOfNode<Kind>>> | undefined)?.[kind]
}

function textOf(node: Node | undefined): string {
  return fieldsOf(node, 'String')?.sval ?? ''
}

function readTarget(reader: Reader, node: Node): Target {
  const target = fieldsOf(node, 'ResTarget')
  if (target?.val === undefined) throw reader.refuse(target?.location, 'an expression is missing.')
  const expression = readExpression(reader, target.val)
  return defined({ expression, alias: target.name })
}

const ONE_TABLE = 'A statement reads one dataset: FROM names the dataset of the path.'

/** Reads the tables of FROM: one, or one to which others are joined one after the other. */
function readTables(reader: Reader, [node, second]: readonly Node[]): Pick<Select, 'from' | 'joins'> {
  if (node === undefined) throw refuseField('sql-not-supported', 'sql', `FROM is missing. ${ONE_TABLE}`)
  if (second !== undefined) {
    const at = fieldsOf(second, 'RangeVar')?.location
    throw reader.refuse(at, `tables are joined by JOIN, not by a comma. ${ONE_TABLE}`)
  }
  const inFrom = fieldsOf(node, 'RangeSubselect')
  if (inFrom !== undefined) {
    const { subquery, alias } = inFrom
    const at = firstPlace(subquery)
    if (at === undefined) throw reader.refuse(undefined, 'a SELECT in FROM must name columns.')
    return { from: readSubquery(reader, subquery, at, alias?.aliasname), joins: [] }
  }
  const joins: TableJoin[] = []
  let left = node
  for (let join = fieldsOf(left, 'JoinExpr'); join !== undefined; join = fieldsOf(left, 'JoinExpr')) {
    const { larg, rarg, jointype, usingClause, quals } = join
    const table = readTable(reader, rarg)
    const using = usingClause?.map(textOf)
    if (
      larg === undefined ||
      (using !== undefined && using.length > 1) ||
      (using === undefined && quals === undefined)
    )
      throw reader.refuse(table.at, 'a join needs ON with one comparison, or USING with one column.')
    const on = quals === undefined ? undefined : readExpression(reader, quals)
    joins.unshift(defined({ table, left: jointype === 'JOIN_LEFT', using: using?.[0], on }))
    left = larg
  }
  return { from: readTable(reader, left), joins }
}

/** The place of the first expression of a SELECT, which has none itself. */
function firstPlace(node: Node | undefined): number | undefined {
  return fieldsOf(fieldsOf(node, 'SelectStmt')?.targetList?.[0], 'ResTarget')?.location
}

function readTable(reader: Reader, node: Node | undefined): TableName {
  const table = fieldsOf(node, 'RangeVar')
  if (table === undefined) {
    const at = firstPlace(fieldsOf(node, 'RangeSubselect')?.subquery)
    throw reader.refuse(at, `a subquery is not supported in a join. ${ONE_TABLE}`)
  }
  const { relname: name = '', location: at = 0, alias } = table
  if (table.inh !== true) throw reader.refuse(at, `ONLY is not supported. ${ONE_TABLE}`)
  return defined({ name, at, alias: alias?.aliasname })
}

function readSortKey(reader: Reader, node: Node): SortKey {
  const key: SortBy | undefined = fieldsOf(node, 'SortBy')
  if (key?.node === undefined) throw reader.refuse(key?.location, 'ORDER BY needs an expression.')
  const descending = key.sortby_dir === 'SORTBY_DESC'
  const nullsFirst =
    key.sortby_nulls === 'SORTBY_NULLS_FIRST' || (descending && key.sortby_nulls !== 'SORTBY_NULLS_LAST')
  return { expression: readExpression(reader, key.node), descending, nullsFirst }
}

/** Reads an expression. Recursion is bounded, because {@link readStatement} takes trees of bounded depth only. */
function readExpression(reader: Reader, node: Node | undefined): Expression {
  const read = (part: Node | undefined) => readExpression(reader, part)
  const column = fieldsOf(node, 'ColumnRef')
  if (column !== undefined) return readColumn(reader, column)
  const constant = fieldsOf(node, 'A_Const')
  if (constant !== undefined) return readConstant(reader, constant)
  const cast = fieldsOf(node, 'TypeCast')
  if (cast !== undefined) return readCast(reader, cast)
  const call = fieldsOf(node, 'FuncCall')
  if (call !== undefined) return readCall(reader, call)
  const operation = fieldsOf(node, 'A_Expr')
  if (operation !== undefined) return readOperation(reader, operation)
  const combination = fieldsOf(node, 'BoolExpr')
  if (combination !== undefined) {
    const { boolop, args = [], location: at = 0 } = combination
    if (boolop === 'NOT_EXPR') return { kind: 'not', part: read(args[0]), at }
    return { kind: boolop === 'AND_EXPR' ? 'and' : 'or', parts: args.map(read), at }
  }
  const nullTest = fieldsOf(node, 'NullTest')
  if (nullTest !== undefined) {
    const { arg, nulltesttype, location: at = 0 } = nullTest
    return { kind: 'isNull', negated: nulltesttype === 'IS_NOT_NULL', value: read(arg), at }
  }
  const truthTest = fieldsOf(node, 'BooleanTest')
  if (truthTest !== undefined) {
    const { arg, booltesttype = 'IS_TRUE', location: at = 0 } = truthTest
    const is = booltesttype.endsWith('TRUE') ? 'true' : booltesttype.endsWith('FALSE') ? 'false' : 'unknown'
    return { kind: 'truth', is, negated: booltesttype.startsWith('IS_NOT'), value: read(arg), at }
  }
  const extreme = fieldsOf(node, 'MinMaxExpr')
  if (extreme !== undefined) {
    const { op, args = [], location: at = 0 } = extreme
    const name = op === 'IS_LEAST' ? 'least' : 'greatest'
    return callOf(name, args.map(read), at)
  }
  const cases = fieldsOf(node, 'CaseExpr')
  if (cases !== undefined) return readCase(reader, cases)
  const coalesced = fieldsOf(node, 'CoalesceExpr')
  if (coalesced !== undefined) {
    const { args = [], location: at = 0 } = coalesced
    return callOf('coalesce', args.map(read), at)
  }
  const clock = fieldsOf(node, 'SQLValueFunction')
  if (clock !== undefined)
    return callOf(clock.op === 'SVFOP_CURRENT_DATE' ? 'current_date' : 'now', [], clock.location ?? 0)
  const array = fieldsOf(node, 'A_ArrayExpr')
  if (array !== undefined)
    return { kind: 'array', elements: (array.elements ?? []).map(read), at: array.location ?? 0 }
  throw reader.refuse(undefined, 'this syntax is not supported here.')
}

function callOf(name: string, parts: readonly Expression[], at: number): Call {
  return { kind: 'call', name, star: false, distinct: false, arguments: parts, at }
}

/** CASE x WHEN a THEN ... is CASE WHEN x = a THEN ... */
function readCase(reader: Reader, { arg, args = [], defresult, location: at = 0 }: CaseExpr): Expression {
  const subject = arg && readExpression(reader, arg)
  const whens = args.map((node) => {
    const { expr, result } = fieldsOf(node, 'CaseWhen') ?? {}
    const test = readExpression(reader, expr)
    const condition: Expression =
      subject === undefined ? test : { kind: 'comparison', op: '=', left: subject, right: test, at: test.at }
    return { condition, result: readExpression(reader, result) }
  })
  return defined({ kind: 'case', whens, otherwise: defresult && readExpression(reader, defresult), at })
}

/** The schema of all datasets in the PostgreSQL protocol. */
const SCHEMA = 'public'

function readColumn(reader: Reader, { fields = [], location: at = 0 }: ColumnRef): Expression {
  const parts = fields.length > 2 && textOf(fields.at(-3)) === SCHEMA ? fields.slice(-2) : fields
  const [first, second, third] = parts
  if (first === undefined || third !== undefined)
    throw reader.refuse(at, 'a column is named by its name, or by the name of the table and its own.')
  const table = second === undefined ? undefined : textOf(first)
  const last = second ?? first
  if (fieldsOf(last, 'A_Star') !== undefined) return defined({ kind: 'star', table, at })
  return defined({ kind: 'column', table, name: textOf(last), at })
}

function readConstant(reader: Reader, constant: A_Const): Expression {
  const { ival, fval, boolval, sval, isnull, location: at = 0 } = constant
  if (isnull === true) return { kind: 'null', at }
  // The parser omits 0, false and the empty text.
  if (ival !== undefined) return { kind: 'number', text: String(ival.ival ?? 0), at }
  if (fval !== undefined) return { kind: 'number', text: decimal(reader, fval.fval ?? '', at), at }
  if (boolval !== undefined) return { kind: 'boolean', value: boolval.boolval ?? false, at }
  if (sval !== undefined) return { kind: 'text', value: sval.sval ?? '', at }
  throw reader.refuse(at, 'this constant is not supported.')
}

/** Completes a decimal such as `.5` or `5.`. PostgreSQL also has hexadecimal numbers and underscores between digits. */
function decimal(reader: Reader, text: string, at: number): string {
  const plain = text
    .replaceAll('_', '')
    .replace(/^(-?)\./, '$10.')
    .replace(/\.(?=e|$)/i, '')
  if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(plain)) return plain
  throw reader.refuse(at, 'numbers must be decimal, such as 12.5.')
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

function readCast(reader: Reader, { arg, typeName, location = -1 }: TypeCast): Expression {
  const names = (typeName?.names ?? []).map(textOf)
  const value = readExpression(reader, arg)
  const at = location >= 0 ? location : (typeName?.location ?? value.at)
  const [schema = '', name = schema] = names
  const ofPostgres = names.length === 1 || (names.length === 2 && schema === 'pg_catalog')
  const precision = readPrecision(reader, typeName, at)
  if (ofPostgres && name === 'interval' && value.kind === 'text') {
    const interval = intervalOf(value.value, precision[0])
    if (interval !== undefined) return { kind: 'interval', ...interval, at }
    throw reader.refuse(at, "an interval is a number and a unit, such as '30 days'.")
  }
  const type = ofPostgres ? VALUE_TYPES.get(name) : undefined
  if (type === undefined)
    throw reader.refuse(at, 'casts are to dates, timestamps, integers, decimals, texts and booleans.')
  if (precision.length > 0 && name !== 'numeric')
    throw reader.refuse(at, 'only NUMERIC has a precision here. Leave it out.')
  const bare = value.kind === 'text' && value.type === undefined
  if (bare && isCastType(name)) return { ...value, type: name }
  if (bare && type === 'text') return value
  if (bare && (type === 'number' || type === 'integer') && precision.length === 0)
    return { kind: 'number', text: decimal(reader, value.value, value.at), at: value.at }
  const isWhole = value.kind === 'number' && /^-?\d+$/.test(value.text)
  if (
    value.kind === 'number' &&
    precision.length === 0 &&
    (type === 'number' || (type === 'integer' && isWhole))
  )
    return value
  const digits = precision.length > 0 ? (precision[1] ?? 0) : undefined
  return defined({ kind: 'cast', type, digits, value, at })
}

/** The numbers in the brackets of a type. */
function readPrecision(reader: Reader, typeName: TypeName | undefined, at: number): readonly number[] {
  return (typeName?.typmods ?? []).map((node) => {
    const constant = fieldsOf(node, 'A_Const')?.ival
    if (constant !== undefined) return constant.ival ?? 0
    throw reader.refuse(at, 'the precision of a type is a whole number.')
  })
}

/** Functions that the grammar writes with their own syntax, and that PostgreSQL's parser qualifies with a schema. */
const GRAMMAR_FUNCTIONS: readonly string[] = ['extract']

function readCall(reader: Reader, call: FuncCall): Call {
  const { funcname = [], args = [], agg_order: order = [], location: at = 0 } = call
  const names = funcname.map(textOf)
  const ofGrammar = call.funcformat === 'COERCE_SQL_SYNTAX'
  const name = entry(names, names.length - 1)
  if (ofGrammar ? !GRAMMAR_FUNCTIONS.includes(name) : names.length !== 1) {
    const rule = ofGrammar ? 'this function is not supported.' : 'names of schemas are not supported.'
    throw reader.refuse(at, `${rule} docs/sql.md lists the functions that are.`)
  }
  const withinGroup = call.agg_within_group === true
  if (order.length > 0 && !withinGroup)
    throw reader.refuse(at, 'ORDER BY within an aggregate has no effect on the answer. Leave it out.')
  const [key, second] = order.map((node) => readSortKey(reader, node))
  if (second !== undefined) throw reader.refuse(at, 'WITHIN GROUP orders by one column.')
  return defined({
    kind: 'call',
    name,
    star: call.agg_star ?? false,
    distinct: call.agg_distinct ?? false,
    arguments: args.map((node) => readExpression(reader, node)),
    withinGroup: key && { value: key.expression, descending: key.descending },
    filter: call.agg_filter && readExpression(reader, call.agg_filter),
    over: call.over && readWindow(reader, call.over, at),
    at,
  })
}

/** Most rows of a frame before or after the current one, so that computing it stays quick. */
const MOST_DISTANT = 366

function readWindow(reader: Reader, window: WindowDef, at: number): Window {
  const { partitionClause = [], orderClause = [], frameOptions = 0, startOffset, endOffset } = window
  const { unit, start, end } = must(FRAMES.get(frameOptions), 'an allowed frame')
  const distance = (sign: number | undefined, node: Node | undefined): number | undefined => {
    if (node === undefined || sign === undefined) return sign
    const rows = fieldsOf(node, 'A_Const')?.ival
    if (rows !== undefined && (rows.ival ?? 0) <= MOST_DISTANT) return sign * (rows.ival ?? 0)
    throw reader.refuse(window.location ?? at, `a frame has whole numbers of rows, at most ${MOST_DISTANT}.`)
  }
  return {
    partitionBy: partitionClause.map((node) => readExpression(reader, node)),
    orderBy: orderClause.map((node) => readSortKey(reader, node)),
    frame: defined({ unit, start: distance(start.sign, startOffset), end: distance(end.sign, endOffset) }),
  }
}

const COMPARISONS: readonly string[] = ['=', '!=', '<', '<=', '>', '>='] satisfies ComparisonOperator[]

function isComparison(name: string): name is ComparisonOperator {
  return COMPARISONS.includes(name)
}

function readOperation(reader: Reader, operation: A_Expr): Expression {
  const { kind, name = [], lexpr, rexpr, location: at = 0 } = operation
  const [operator = '', qualified] = name.map(textOf)
  const read = (part: Node | undefined) => readExpression(reader, part)
  const list = () => (fieldsOf(rexpr, 'List')?.items ?? []).map(read)
  if (qualified !== undefined) throw reader.refuse(at, 'OPERATOR(...) is not supported. Write the operator.')
  switch (kind) {
    case 'AEXPR_IN':
      return { kind: 'in', negated: operator === '<>', value: read(lexpr), list: list(), at }
    case 'AEXPR_BETWEEN':
    case 'AEXPR_NOT_BETWEEN': {
      const [lower, upper] = list()
      if (lower === undefined || upper === undefined) throw reader.refuse(at, 'BETWEEN needs two values.')
      return { kind: 'between', negated: kind === 'AEXPR_NOT_BETWEEN', value: read(lexpr), lower, upper, at }
    }
    case 'AEXPR_DISTINCT':
    case 'AEXPR_NOT_DISTINCT':
      return {
        kind: 'distinct',
        negated: kind === 'AEXPR_NOT_DISTINCT',
        left: read(lexpr),
        right: read(rexpr),
        at,
      }
    case 'AEXPR_LIKE':
    case 'AEXPR_ILIKE':
      return {
        kind: 'like',
        negated: operator.startsWith('!'),
        anyCase: kind === 'AEXPR_ILIKE',
        value: read(lexpr),
        pattern: read(rexpr),
        at,
      }
    case 'AEXPR_NULLIF':
      return callOf('nullif', [read(lexpr), read(rexpr)], at)
    default:
      return readOperator(reader, operator, operation)
  }
}

function readOperator(reader: Reader, name: string, { lexpr, rexpr, location: at = 0 }: A_Expr): Expression {
  const right = readExpression(reader, rexpr)
  // The parser spells `!=` as `<>`.
  const op = name === '<>' ? '!=' : name
  if (lexpr !== undefined && isComparison(op))
    return { kind: 'comparison', op, left: readExpression(reader, lexpr), right, at }
  // The parser joins a minus with the number after it, and leaves a plus.
  if (lexpr === undefined && right.kind === 'number' && op === '+') return { ...right, signed: true, at }
  if (lexpr === undefined && right.kind === 'number' && op === '-') {
    const text = right.text.startsWith('-') ? right.text.slice(1) : `-${right.text}`
    return { ...right, text, signed: true, at }
  }
  if (isArithmetic(name)) {
    const left: Expression =
      lexpr === undefined ? { kind: 'number', text: '0', at } : readExpression(reader, lexpr)
    return { kind: 'arithmetic', op: name, left, right, at }
  }
  throw reader.refuse(at, `the operator ${name} is not supported.`)
}

const ARITHMETIC: readonly string[] = ['+', '-', '*', '/'] satisfies ArithmeticOperator[]

function isArithmetic(name: string): name is ArithmeticOperator {
  return ARITHMETIC.includes(name)
}
