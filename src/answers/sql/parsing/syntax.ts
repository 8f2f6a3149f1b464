import { refusePart } from '../place.ts'
import { FRAMES } from './frames.ts'
import { advice, KEYWORDS } from './syntax-advice.ts'

/*
 * The allow-list of PostgreSQL's syntax tree. A node whose kind is missing here, or that has a field or a value which
 * is missing here, is refused. The parser omits fields that have their default: false, 0, an empty text or list.
 */

/** Allowed content of a field: nodes of any allowed kind, a structure of one kind, plain data, or one of some values. */
type Content =
  | 'nodes'
  | 'data'
  | { readonly structure: string }
  | { readonly oneOf: readonly (string | number | boolean)[] }

const structure = (kind: string): Content => ({ structure: kind })
const oneOf = (...values: readonly (string | number | boolean)[]): Content => ({ oneOf: values })
const NODES = 'nodes'
const DATA = 'data'

const SYNTAX: Readonly<Record<string, Readonly<Record<string, Content>>>> = {
  SelectStmt: {
    targetList: NODES,
    fromClause: NODES,
    whereClause: NODES,
    groupClause: NODES,
    havingClause: NODES,
    sortClause: NODES,
    limitCount: NODES,
    limitOffset: NODES,
    limitOption: oneOf('LIMIT_OPTION_DEFAULT', 'LIMIT_OPTION_COUNT'),
    op: oneOf('SETOP_NONE'),
    withClause: structure('WithClause'),
  },
  WithClause: { ctes: NODES, location: DATA },
  CommonTableExpr: {
    ctename: DATA,
    ctematerialized: oneOf('CTEMaterializeDefault', 'CTEMaterializeAlways', 'CTEMaterializeNever'),
    ctequery: NODES,
    location: DATA,
  },
  RangeSubselect: { subquery: NODES, alias: structure('Alias') },
  ResTarget: { name: DATA, val: NODES, location: DATA },
  RangeVar: {
    // The names that the PostgreSQL protocol shows for the databases and the schema of all datasets.
    catalogname: oneOf('sotto', 'sotto_dummy'),
    schemaname: oneOf('public'),
    relname: DATA,
    inh: oneOf(true),
    relpersistence: oneOf('p'),
    alias: structure('Alias'),
    location: DATA,
  },
  Alias: { aliasname: DATA },
  JoinExpr: {
    jointype: oneOf('JOIN_INNER', 'JOIN_LEFT'),
    larg: NODES,
    rarg: NODES,
    usingClause: NODES,
    quals: NODES,
    rtindex: DATA,
  },
  SortBy: {
    node: NODES,
    sortby_dir: oneOf('SORTBY_DEFAULT', 'SORTBY_ASC', 'SORTBY_DESC'),
    sortby_nulls: oneOf('SORTBY_NULLS_DEFAULT', 'SORTBY_NULLS_FIRST', 'SORTBY_NULLS_LAST'),
    location: DATA,
  },
  ColumnRef: { fields: NODES, location: DATA },
  A_Star: {},
  A_Const: {
    ival: structure('Integer'),
    fval: structure('Float'),
    boolval: structure('Boolean'),
    sval: structure('String'),
    isnull: DATA,
    location: DATA,
  },
  Integer: { ival: DATA },
  Float: { fval: DATA },
  Boolean: { boolval: DATA },
  String: { sval: DATA },
  TypeCast: { arg: NODES, typeName: structure('TypeName'), location: DATA },
  TypeName: { names: NODES, typmods: NODES, typemod: oneOf(-1), location: DATA },
  A_ArrayExpr: { elements: NODES, list_start: DATA, list_end: DATA, location: DATA },
  FuncCall: {
    funcname: NODES,
    args: NODES,
    agg_order: NODES,
    agg_within_group: DATA,
    agg_star: DATA,
    agg_distinct: DATA,
    agg_filter: NODES,
    over: structure('WindowDef'),
    funcformat: oneOf('COERCE_EXPLICIT_CALL', 'COERCE_SQL_SYNTAX'),
    location: DATA,
  },
  WindowDef: {
    partitionClause: NODES,
    orderClause: NODES,
    frameOptions: oneOf(...FRAMES.keys()),
    startOffset: NODES,
    endOffset: NODES,
    location: DATA,
  },
  CaseExpr: { arg: NODES, args: NODES, defresult: NODES, location: DATA },
  CaseWhen: { expr: NODES, result: NODES, location: DATA },
  CoalesceExpr: { args: NODES, location: DATA },
  SQLValueFunction: {
    op: oneOf(
      'SVFOP_CURRENT_DATE',
      'SVFOP_CURRENT_TIMESTAMP',
      'SVFOP_CURRENT_TIMESTAMP_N',
      'SVFOP_LOCALTIMESTAMP',
      'SVFOP_LOCALTIMESTAMP_N',
    ),
    typmod: DATA,
    location: DATA,
  },
  A_Expr: {
    kind: oneOf(
      'AEXPR_OP',
      'AEXPR_IN',
      'AEXPR_BETWEEN',
      'AEXPR_NOT_BETWEEN',
      'AEXPR_DISTINCT',
      'AEXPR_NOT_DISTINCT',
      'AEXPR_LIKE',
      'AEXPR_ILIKE',
      'AEXPR_NULLIF',
    ),
    name: NODES,
    lexpr: NODES,
    rexpr: NODES,
    rexpr_list_start: DATA,
    rexpr_list_end: DATA,
    location: DATA,
  },
  MinMaxExpr: { op: oneOf('IS_GREATEST', 'IS_LEAST'), args: NODES, location: DATA },
  List: { items: NODES },
  BoolExpr: { boolop: oneOf('AND_EXPR', 'OR_EXPR', 'NOT_EXPR'), args: NODES, location: DATA },
  NullTest: { arg: NODES, nulltesttype: oneOf('IS_NULL', 'IS_NOT_NULL'), location: DATA },
  BooleanTest: {
    arg: NODES,
    booltesttype: oneOf('IS_TRUE', 'IS_NOT_TRUE', 'IS_FALSE', 'IS_NOT_FALSE', 'IS_UNKNOWN', 'IS_NOT_UNKNOWN'),
    location: DATA,
  },
}

/** Largest depth of nodes below a statement. Functions that recurse over an allowed tree rely on it. */
const MAX_DEPTH = 60

/** A node of the tree under examination. */
interface Visit {
  readonly kind: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly depth: number
  /** The node above it, which has a place if this one has none. */
  readonly above?: Visit
}

/** A keyword in capital letters, or another token of a statement, with its byte offset. */
export interface Token {
  readonly name: string
  readonly start: number
}

/**
 * Requires that a tree consists of allowed syntax only. It does not recurse, so trees of every depth are examined.
 * @param root a node, such as `{"SelectStmt": {...}}`
 * @param tokens tokens of the statement, read only for a refusal
 * @throws Refusal `sql-not-supported` with the clause, its place and advice
 */
export function requireAllowedSyntax(statement: string, root: unknown, tokens: () => readonly Token[]): void {
  const refuse = (key: string, at: number | undefined, rule = advice(key)) => {
    const place = Object.hasOwn(KEYWORDS, key) ? placeOfKeyword(key, tokens()) : undefined
    return refusePart(statement, place ?? at, 'sql-not-supported', rule)
  }
  const waiting: Visit[] = [nodeOf(root, 0)]
  for (let visit = waiting.pop(); visit !== undefined; visit = waiting.pop()) {
    const { kind, fields, depth } = visit
    const allowed = Object.hasOwn(SYNTAX, kind) ? SYNTAX[kind] : undefined
    if (allowed === undefined) {
      // A statement of another kind begins at its first keyword, which has no node.
      const at = visit.above === undefined ? tokens()[0]?.start : placeOf(visit)
      throw refuse(kind, at)
    }
    if (depth > MAX_DEPTH)
      throw refuse(kind, placeOf(visit), `expressions must be nested at most ${MAX_DEPTH} levels deep`)
    for (const [name, value] of Object.entries(fields)) {
      const content = Object.hasOwn(allowed, name) ? allowed[name] : undefined
      if (content === undefined) throw refuse(`${kind}.${name}`, startOf(value) ?? placeOf(visit))
      if (content === NODES) {
        for (const node of [value].flat()) waiting.push(nodeOf(node, depth + 1, visit))
      } else if (content !== DATA && 'structure' in content) {
        waiting.push({ kind: content.structure, fields: recordOf(value), depth: depth + 1, above: visit })
      } else if (content === DATA) {
        if (typeof value === 'object') throw refuse(`${kind}.${name}`, placeOf(visit))
      } else if (!content.oneOf.some((each) => each === value)) {
        throw refuse(`${kind}.${name}=${value}`, placeOf(visit))
      }
    }
  }
}

/** Returns the byte offset of the keyword that begins a refused clause. */
function placeOfKeyword(key: string, tokens: readonly Token[]): number | undefined {
  const keyword = KEYWORDS[key]
  const found = tokens.find(
    ({ name }, place) =>
      name === keyword?.name &&
      (keyword.after === undefined || tokens[place - 1]?.name === keyword.after) &&
      (keyword.before === undefined || tokens[place + 1]?.name === keyword.before),
  )
  return found?.start
}

/** Returns the byte offset of a node, or of the closest node above it that has one. */
function placeOf(visit: Visit): number {
  let each: Visit | undefined = visit
  while (each !== undefined) {
    const start = startOf(each.fields)
    if (start !== undefined) return start
    each = each.above
  }
  return 0
}

/** Splits a node into its kind and its fields. */
function nodeOf(node: unknown, depth: number, above?: Visit): Visit {
  const place = above === undefined ? {} : { above }
  const [only, ...others] = Object.entries(recordOf(node))
  if (only === undefined || others.length > 0) return { kind: 'unknown', fields: {}, depth, ...place }
  return { kind: only[0], fields: recordOf(only[1]), depth, ...place }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {}
}

/** Returns the smallest byte offset in a part of a tree; undefined if it has none. The parser omits an offset of 0. */
function startOf(part: unknown): number | undefined {
  let least: number | undefined
  const waiting: unknown[] = [part]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null) continue
    for (const [name, value] of Object.entries(next)) {
      if (name === 'location' && typeof value === 'number' && value >= 0)
        least = Math.min(least ?? value, value)
      else waiting.push(value)
    }
  }
  return least
}
