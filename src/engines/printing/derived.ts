import type { QueryableColumn } from '../../core/dataset/dataset.ts'
import { type Branch, type Formula, inputsOf, type Term } from '../../core/planner/language/formula.ts'
import { must } from '../../privacy/must.ts'
import type { RelationNeeds } from '../dialect.ts'
import { printBinSearch } from './group-keys.ts'
import { printPredicate } from './predicates.ts'
import { ANY_TYPE, columnOf, type Printer, printColumn, printValueOf } from './printer.ts'

/** Prints the relation of the dataset's rows, with the derived columns that the statement uses. */
export function printDatasetRows(printer: Printer, needs?: RelationNeeds): string {
  const { dataset, dialect, parameters } = printer
  return withDerived(
    printer,
    dialect.relation(dataset, (bound) => parameters.push(bound), needs),
  )
}

/**
 * Prints rows with the derived columns of a statement beside their own. Each is computed once for a row: in a relation around
 * those of the columns from which it is computed.
 */
export function withDerived(printer: Printer, relation: string): string {
  const { derived } = printer
  let [rows, computed] = [relation, derived.slice(0, 0)]
  while (computed.length < derived.length) {
    const known = computed
    const next = derived.filter((column) => !known.includes(column) && isComputable(printer, column, known))
    const columns = next.map(
      (column) => `${printFormula(printer, column)} AS ${printValueOf(printer, column)}`,
    )
    rows = `(SELECT *, ${columns.join(', ')} FROM ${rows}) AS sotto_derived`
    computed = [...computed, ...next]
  }
  return rows
}

function isComputable(printer: Printer, column: QueryableColumn, known: readonly QueryableColumn[]): boolean {
  return inputsOf(formulaOf(column)).every((name) => {
    const input = columnOf(printer, name, ANY_TYPE)
    return input.formula === undefined || known.some((each) => each.name === input.name)
  })
}

function formulaOf({ formula }: QueryableColumn): Formula {
  return must(formula, 'the formula of a derived column')
}

function printFormula(printer: Printer, column: QueryableColumn): string {
  const formula = formulaOf(column)
  switch (formula.kind) {
    case 'sum':
      return printSum(printer, formula)
    case 'steps':
      return printSteps(printer, formula)
    case 'holds': {
      const { dialect } = printer
      return `(NOT ${dialect.isNotTrue(printPredicate(printer, formula.predicate))})`
    }
    case 'case': {
      const type = column.type === 'category' ? 'INTEGER' : 'BIGINT'
      const print = (branch: Branch) => `CAST(${printBranch(printer, branch)} AS ${type})`
      const cases = formula.cases.map(
        ({ when, branch }) => `WHEN ${printPredicate(printer, when)} THEN ${print(branch)}`,
      )
      const otherwise = formula.otherwise === undefined ? '' : ` ELSE ${print(formula.otherwise)}`
      return `CASE ${cases.join(' ')}${otherwise} END`
    }
  }
}

/** Counted from the lowest value, so that no dividend is negative and the quotient is the floor. */
function printSum(
  printer: Printer,
  { terms, offset, divisor, lowest, cycle }: Extract<Formula, { kind: 'sum' }>,
): string {
  const start = divisor === 1n && cycle === undefined ? 0n : lowest
  const added = offset - start * divisor
  const products = terms.map((term) => printTerm(printer, term))
  const dividend = `(${[...products, ...(added === 0n ? [] : [printLiteral(added)])].join(' + ')})`
  const quotient = divisor === 1n ? dividend : printer.dialect.quotient(dividend, printLiteral(divisor))
  if (cycle === undefined) return start === 0n ? quotient : `(${quotient} + ${printLiteral(start)})`
  const { length, plus } = cycle
  const place = ((start % length) + length) % length
  return `((${quotient} + ${printLiteral(place)}) % ${printLiteral(length)} + ${printLiteral(plus)})`
}

function printSteps(
  printer: Printer,
  { column, edges, plus, factor }: Extract<Formula, { kind: 'steps' }>,
): string {
  const { dialect } = printer
  const index = printColumn(printer, column, ANY_TYPE)
  const interval =
    dialect.edgesBelow === undefined || dialect.element === undefined || edges.length < LEAST_EDGES_IN_LIST
      ? printBinSearch(index, edges.map(printLiteral), (place) => printLiteral(must(plus[place], 'an entry')))
      : dialect.element(plus.map(Number), dialect.edgesBelow(index, edges))
  return factor === 0n
    ? `CASE WHEN ${index} IS NOT NULL THEN CAST(${interval} AS BIGINT) END`
    : `(${printTerm(printer, { column, factor })} + ${interval})`
}

/** A search among fewer edges takes no longer than looking the entry up. */
const LEAST_EDGES_IN_LIST = 16

function printBranch(printer: Printer, branch: Branch): string {
  return typeof branch === 'bigint' ? String(branch) : printTerm(printer, branch)
}

function printTerm(printer: Printer, { column, factor }: Term): string {
  const index = printColumn(printer, column, ANY_TYPE)
  return factor === 1n ? index : `${printLiteral(factor)} * ${index}`
}

/** An integer as a literal of 64 bits: two expressions of the same integers are one. */
function printLiteral(integer: bigint): string {
  return `CAST(${integer} AS BIGINT)`
}
