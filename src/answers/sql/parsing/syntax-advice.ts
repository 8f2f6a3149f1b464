const ONE_TABLE = 'A statement reads the one dataset of the path: FROM names it, and nothing else.'
const CONDITIONS = 'Conditions compare a column with constants.'
const NO_SUBQUERIES = `subqueries are not supported. ${ONE_TABLE}`
const NO_PATTERNS =
  'patterns are not supported. List the values: column IN (...). GET /v1/datasets/{dataset} shows the declared categories.'
const NO_JOINS = `only JOIN and LEFT JOIN of tables are supported. ${ONE_TABLE}`
const NO_SETS =
  'UNION, INTERSECT and EXCEPT are not supported. Send each SELECT by itself, or several queries as a batch.'
const NO_WRITES = 'only SELECT is supported. The service never changes data.'
const NO_NAMED_WINDOWS = 'names of windows are not supported. Write the window in OVER (...) itself.'
const NO_GROUPING_SETS =
  'GROUPING SETS, ROLLUP and CUBE are not supported. Send one statement for each set of groups.'

/**
 * Rules and advice for syntax that is not supported: by kind of node, by kind and field, and by kind, field and value.
 * What is missing here is described in general words.
 */
const ADVICE: Readonly<Record<string, string>> = {
  A_ArrayExpr: 'arrays are supported only as the second argument of width_bucket.',
  A_Indirection: 'subscripts and fields of values are not supported. Use a column.',
  'A_Const.bsval': 'bit strings are not supported. Use a number, a text, TRUE or FALSE.',
  'A_Expr.kind=AEXPR_SIMILAR': `SIMILAR TO is not supported: ${NO_PATTERNS}`,
  'A_Expr.kind=AEXPR_OP_ANY': 'ANY is not supported. Write column IN (...).',
  'A_Expr.kind=AEXPR_OP_ALL': 'ALL is not supported. Write column NOT IN (...), or comparisons with AND.',
  'A_Expr.kind=AEXPR_BETWEEN_SYM':
    'BETWEEN SYMMETRIC is not supported. Write BETWEEN with the smaller value first.',
  'A_Expr.kind=AEXPR_NOT_BETWEEN_SYM':
    'BETWEEN SYMMETRIC is not supported. Write NOT BETWEEN with the smaller value first.',
  'Alias.colnames': `names for the columns of a table are not supported. Use the names of the dataset's columns.`,
  CollateClause: 'COLLATE is not supported. Texts are compared by their characters. Leave it out.',
  CurrentOfExpr: 'CURRENT OF is not supported.',
  'FuncCall.func_variadic': 'VARIADIC is not supported.',
  GroupingFunc: NO_GROUPING_SETS,
  GroupingSet: NO_GROUPING_SETS,
  'JoinExpr.isNatural': NO_JOINS,
  'JoinExpr.jointype=JOIN_FULL': NO_JOINS,
  'JoinExpr.jointype=JOIN_RIGHT': NO_JOINS,
  JsonFuncExpr: 'JSON functions are not supported.',
  MultiAssignRef: NO_WRITES,
  NamedArgExpr: 'named arguments are not supported. Give the arguments by position.',
  ParamRef: 'parameters are not supported. Write the value into the statement.',
  RangeFunction: `functions in FROM are not supported. ${ONE_TABLE}`,
  RangeTableFunc: `functions in FROM are not supported. ${ONE_TABLE}`,
  RangeTableSample: 'TABLESAMPLE is not supported. Answers are about all rows of the dataset. Leave it out.',
  'RangeSubselect.lateral': `LATERAL is not supported. ${ONE_TABLE}`,
  'RangeVar.catalogname': 'FROM names the dataset alone, or "public" and the dataset.',
  'RangeVar.schemaname': 'FROM names the dataset alone, or "public" and the dataset.',
  RowExpr: `rows of values are not supported. ${CONDITIONS}`,
  SQLValueFunction: 'current times and users are not supported, except now() and CURRENT_DATE.',
  'SelectStmt.distinctClause':
    'SELECT DISTINCT is not supported. Use GROUP BY, or COUNT(DISTINCT column). GET /v1/datasets/{dataset} shows the ' +
    'declared categories.',
  'SelectStmt.groupDistinct': 'DISTINCT is not supported in GROUP BY. Leave it out.',
  'SelectStmt.intoClause': `INTO is not supported: ${NO_WRITES}`,
  'SelectStmt.larg': NO_SETS,
  'SelectStmt.limitOption=LIMIT_OPTION_WITH_TIES': 'WITH TIES is not supported. Write LIMIT.',
  'SelectStmt.lockingClause': 'row locks (FOR UPDATE, FOR SHARE) are not supported. Leave the clause out.',
  'SelectStmt.op=SETOP_EXCEPT': NO_SETS,
  'SelectStmt.op=SETOP_INTERSECT': NO_SETS,
  'SelectStmt.op=SETOP_UNION': NO_SETS,
  'SelectStmt.rarg': NO_SETS,
  'SelectStmt.all': NO_SETS,
  'SelectStmt.valuesLists': 'VALUES is not supported. Write SELECT ... FROM the dataset.',
  'WindowDef.frameOptions':
    'the frame of a window is ROWS, or RANGE between its ends and the current row, without EXCLUDE.',
  'WindowDef.name': NO_NAMED_WINDOWS,
  'WindowDef.refname': NO_NAMED_WINDOWS,
  'WithClause.recursive': `recursion is not supported. ${ONE_TABLE}`,
  'SelectStmt.windowClause': NO_NAMED_WINDOWS,
  SetToDefault: 'DEFAULT is not supported.',
  'SortBy.useOp': 'ORDER BY ... USING is not supported. Write ASC or DESC.',
  'SortBy.sortby_dir=SORTBY_USING': 'ORDER BY ... USING is not supported. Write ASC or DESC.',
  SubLink: NO_SUBQUERIES,
  'TypeName.arrayBounds': 'array types are not supported.',
  'TypeName.setof': 'types of sets are not supported.',
  XmlExpr: 'XML is not supported.',
  XmlSerialize: 'XML is not supported.',
}

/** A token of a statement that begins a clause. Names of columns may be the same word, so some have a token beside them. */
interface Keyword {
  readonly name: string
  readonly after?: string
  readonly before?: string
}

/** Keywords of refused clauses whose node has no place of its own. */
export const KEYWORDS: Readonly<Record<string, Keyword>> = {
  'JoinExpr.isNatural': { name: 'JOIN' },
  'JoinExpr.jointype=JOIN_FULL': { name: 'JOIN' },
  'JoinExpr.jointype=JOIN_RIGHT': { name: 'JOIN' },
  RangeTableSample: { name: 'TABLESAMPLE' },
  'SelectStmt.distinctClause': { name: 'DISTINCT' },
  'SelectStmt.groupDistinct': { name: 'DISTINCT', after: 'BY' },
  'SelectStmt.intoClause': { name: 'INTO' },
  'SelectStmt.limitOption=LIMIT_OPTION_WITH_TIES': { name: 'WITH', before: 'TIES' },
  'SelectStmt.lockingClause': { name: 'FOR' },
  'SelectStmt.op=SETOP_EXCEPT': { name: 'EXCEPT' },
  'SelectStmt.op=SETOP_INTERSECT': { name: 'INTERSECT' },
  'SelectStmt.op=SETOP_UNION': { name: 'UNION' },
  'SelectStmt.larg': { name: 'SELECT' },
  'SelectStmt.valuesLists': { name: 'VALUES' },
  'SelectStmt.windowClause': { name: 'WINDOW' },
  'WithClause.recursive': { name: 'WITH' },
  'FuncCall.func_variadic': { name: 'VARIADIC' },
}

/** Describes what is not supported, and what to write instead. */
export function advice(key: string): string {
  const known = ADVICE[key] ?? ADVICE[key.replace(/=.*$/s, '')]
  if (known !== undefined) return known
  if (!key.includes('.') && /Stmt$/.test(key)) return NO_WRITES
  return 'this syntax is not supported. docs/sql.md lists the clauses and functions that are.'
}
