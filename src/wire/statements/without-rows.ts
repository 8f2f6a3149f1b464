import type { Node, SelectStmt } from 'libpg-query'
import { allOf, fieldsOf, lastName } from '../../answers/sql/parsing/tree.ts'

/**
 * Takes apart a statement that has no rows whatever the data: one with `LIMIT 0`, or with a condition such as `0 = 1`. Tools ask
 * it for the columns of a table or of a statement.
 * @returns the statement without that clause, which has the same columns; undefined for another statement
 */
export function withoutRows(tree: Node): Node | undefined {
  const select = fieldsOf(structuredClone(tree), 'SelectStmt')
  if (select === undefined) return undefined
  const isCut = constantOf(select.limitCount) === 0
  const isFalse = isNever(select.whereClause)
  if (!isCut && !(isFalse && !aggregatesAll(select))) return undefined
  if (isFalse) delete select.whereClause
  delete select.limitCount
  delete select.limitOffset
  select.limitOption = 'LIMIT_OPTION_DEFAULT'
  return { SelectStmt: select }
}

/** True if a statement may have a row for no rows of its tables, as `SELECT COUNT(*)` has. */
function aggregatesAll({ targetList, groupClause, havingClause }: SelectStmt): boolean {
  if (groupClause !== undefined) return allOf(groupClause, 'GroupingSet').length > 0
  return havingClause !== undefined || allOf(targetList, 'FuncCall').length > 0
}

/** True for a condition of constants that does not hold, alone or beside others. */
function isNever(condition: Node | undefined): boolean {
  if (constantOf(condition) === false) return true
  const joined = fieldsOf(condition, 'BoolExpr')
  if (joined !== undefined) return joined.boolop === 'AND_EXPR' && (joined.args ?? []).some(isNever)
  const compared = fieldsOf(condition, 'A_Expr')
  if (compared?.kind !== 'AEXPR_OP') return false
  const [left, right] = [constantOf(compared.lexpr), constantOf(compared.rexpr)]
  if (typeof left !== 'number' || typeof right !== 'number') return false
  const operator = lastName(compared.name)
  return operator === '=' ? left !== right : operator === '<>' && left === right
}

const NUMERIC: readonly string[] = ['int2', 'int4', 'int8', 'numeric', 'float4', 'float8']

/** The value of a number, also of one that is cast to a type of numbers, or a truth value. The parser omits 0 and false. */
function constantOf(node: Node | undefined): number | boolean | undefined {
  const cast = fieldsOf(node, 'TypeCast')
  if (NUMERIC.includes(lastName(cast?.typeName?.names) ?? '')) return constantOf(cast?.arg)
  const { ival, fval, boolval } = fieldsOf(node, 'A_Const') ?? {}
  if (ival !== undefined) return ival.ival ?? 0
  if (fval !== undefined) return Number(fval.fval)
  return boolval === undefined ? undefined : (boolval.boolval ?? false)
}
