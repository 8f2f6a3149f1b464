import type { Node, ResTarget } from 'libpg-query'
import { allOf, type ByKind, callByKind, fieldsOf, lastName, nameOf } from '../../answers/sql/parsing/tree.ts'

/* The names that PostgreSQL gives to columns of a SELECT list without an alias, as its function FigureColname does. */

/** Gives the columns of all SELECT lists their names. */
export function nameColumns(tree: Node): void {
  for (const { targetList = [] } of allOf(tree, 'SelectStmt'))
    for (const target of targetList.flatMap((each) => fieldsOf(each, 'ResTarget') ?? [])) {
      const name = columnName(target)
      if (name !== undefined) target.name = name
    }
}

/**
 * Groups by the column of the result where a table has its name too: the evaluator would take the name for the rows of the
 * table. The columns of the result have their names.
 */
export function groupByColumns(tree: Node): void {
  for (const { targetList = [], groupClause = [], fromClause } of allOf(tree, 'SelectStmt')) {
    const tables = new Set(
      allOf(fromClause, 'RangeVar').map(({ alias, relname }) => alias?.aliasname ?? relname),
    )
    for (const subselect of allOf(fromClause, 'RangeSubselect')) tables.add(subselect.alias?.aliasname)
    for (const [place, group] of groupClause.entries()) {
      const { fields = [] } = fieldsOf(group, 'ColumnRef') ?? {}
      const name = fields.length === 1 ? nameOf(fields[0]) : undefined
      const target = targetList.find((each) => fieldsOf(each, 'ResTarget')?.name === name)
      const value = target && fieldsOf(target, 'ResTarget')?.val
      if (name !== undefined && tables.has(name) && value !== undefined)
        groupClause[place] = structuredClone(value)
    }
  }
}

/** Name of a column of a SELECT list; undefined for `*`. */
function columnName({ name, val }: ResTarget): string | undefined {
  if (name !== undefined) return name
  const column = fieldsOf(val, 'ColumnRef')
  return column === undefined ? (figured(val)?.name ?? '?column?') : lastName(column.fields)
}

/** A name that follows from an expression. One that is not firm gives way to the name of a cast around it. */
interface Figured {
  readonly name: string
  readonly isFirm: boolean
}

const firm = (name: string): Figured => ({ name, isFirm: true })

function unlessFirm(inner: Figured | undefined, name: string): Figured {
  return inner?.isFirm ? inner : { name, isFirm: false }
}

/** The name that follows from an expression; undefined without one. */
function figured(expression: Node | undefined): Figured | undefined {
  return callByKind(NAMES, expression)
}

const NAMES: ByKind<[], Figured | undefined> = {
  ColumnRef: ({ fields }) => firm(lastName(fields) ?? ''),
  FuncCall: ({ funcname }) => firm(lastName(funcname) ?? ''),
  TypeCast: ({ arg, typeName }) => unlessFirm(figured(arg), lastName(typeName?.names) ?? ''),
  CaseExpr: ({ defresult }) => unlessFirm(figured(defresult), 'case'),
  CollateClause: ({ arg }) => figured(arg),
  CoalesceExpr: () => firm('coalesce'),
  MinMaxExpr: ({ op }) => firm(op === 'IS_LEAST' ? 'least' : 'greatest'),
  A_Expr: ({ kind }) => (kind === 'AEXPR_NULLIF' ? firm('nullif') : undefined),
  A_ArrayExpr: () => firm('array'),
  SQLValueFunction: ({ op = '' }) => firm(op.replace('SVFOP_', '').toLowerCase()),
  SubLink: ({ subLinkType, subselect }) => {
    if (subLinkType === 'EXISTS_SUBLINK') return firm('exists')
    if (subLinkType === 'ARRAY_SUBLINK') return firm('array')
    const [first] = fieldsOf(subselect, 'SelectStmt')?.targetList ?? []
    const name = columnName(fieldsOf(first, 'ResTarget') ?? {})
    return name === undefined ? undefined : firm(name)
  },
  A_Indirection: ({ arg, indirection = [] }) => {
    const field = indirection.map(nameOf).findLast((name) => name !== undefined)
    return field === undefined ? figured(arg) : firm(field)
  },
}
