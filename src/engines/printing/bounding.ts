import type { Dataset } from '../../core/dataset/dataset.ts'
import type { Bounding, GroupKey, Predicate } from '../../core/planner/language/aggregate.ts'
import { columnNamed } from '../../core/planner/language/columns.ts'
import { columnsOf } from '../../core/planner/language/formula.ts'
import { quoteIdentifier } from '../dialect.ts'
import { PERSON_COLUMN, RANK_COLUMN } from '../person-rows.ts'
import { printDatasetRows, withDerived } from './derived.ts'
import type { PrintedCondition } from './predicates.ts'
import { type Printer, printValue } from './printer.ts'

/*
 * Bounding of each person's contribution. A person dataset has two columns beside the declared ones: the person, and
 * the rank of each row among that person's rows, from 1 without gaps. All choices follow from the person's own ranks
 * and cells. Names that begin with `sotto_` are reserved, so they differ from those of declared columns.
 */

/** Column of the person that a row belongs to. */
export const PERSON = quoteIdentifier(PERSON_COLUMN)
/** Column of the rank of a row among its person's rows. */
export const RANK = quoteIdentifier(RANK_COLUMN)

/**
 * Rows that a statement is computed from: the text after `FROM`, and the number of each row's cell, absent where there
 * is one cell only.
 */
export interface PrintedRows {
  readonly from: string
  readonly cell: string | undefined
  /** True if each person has at most one row in a cell. */
  readonly oneRowEach: boolean
}

/** The rows to bound, and public facts about their cells. */
export interface Unbounded {
  readonly conditions: readonly PrintedCondition[]
  readonly cell: string | undefined
  /** Largest number of cells in which one person can have rows; Infinity if unknown. */
  readonly cellsPerPerson: number
  /** True if the conditions hold for all rows of a person or for none, so that the ranks that remain have no gaps. */
  readonly wholePeople: boolean
  /** True if only the presence of people in cells is counted, not their rows. */
  readonly presenceOnly: boolean
  /** Number of values of a person among which {@link printFirstValues} chooses later; absent if it does not. */
  readonly valuesEach?: number
}

/** Limits that leave out rows. A limit that leaves out none is absent. */
interface Limits {
  /** Never together with the others. */
  readonly rows?: number
  readonly groups?: number
  readonly rowsPerGroup?: number
}

/**
 * Prints the rows that bounding leaves. Only limits that can leave out rows are printed, and only choices among rows
 * that conditions have thinned out need window functions. See decision 31.
 * @throws RangeError for a bounding that does not fit the dataset's privacy unit.
 */
export function printBoundedRows(printer: Printer, bounding: Bounding, unbounded: Unbounded): PrintedRows {
  const { dataset } = printer
  const limits = limitsOf(bounding, dataset, unbounded)
  const { cell, wholePeople, valuesEach = Number.POSITIVE_INFINITY } = unbounded
  // A person with as few rows keeps all of them: a row is in one group, and has one value.
  const unorderedUpTo = Math.min(maxRowsOf(dataset), ...Object.values(limits), valuesEach)
  const { relation, conditions } = printSelection(printer, unbounded.conditions, unorderedUpTo)
  if (limits.rows !== undefined && wholePeople)
    conditions.push(`${RANK} <= ${printValue(printer, BigInt(limits.rows), 'integer')}`)
  const from = `${relation}${conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`}`
  const oneRowEach = maxRowsOf(dataset) === 1 || limits.rows === 1 || limits.rowsPerGroup === 1
  if (limits.rows !== undefined)
    return { from: wholePeople ? from : printFirstRows(printer, from, limits.rows), cell, oneRowEach }
  if (limits.groups === undefined && limits.rowsPerGroup === undefined) return { from, cell, oneRowEach }
  if (cell === undefined) throw new RangeError('groups need cells')
  return { from: printFirstGroups(printer, from, cell, limits), cell: CELL, oneRowEach }
}

/** Prints the relation to select from, and the conditions that it does not check itself. */
function printSelection(
  printer: Printer,
  conditions: readonly PrintedCondition[],
  unorderedUpTo: number,
): { readonly relation: string; readonly conditions: string[] } {
  const { dataset, dialect } = printer
  const selected = dialect.selectRows?.(
    dataset,
    conditions.map(({ predicate }) => predicate),
  )
  const remaining =
    selected === undefined ? conditions : conditions.filter((_, place) => selected.remaining.includes(place))
  return {
    relation:
      selected === undefined
        ? printDatasetRows(printer, { unorderedUpTo })
        : withDerived(printer, selected.relation),
    conditions: remaining.map(({ sql }) => sql),
  }
}

/**
 * Prints rows of which each person has one for each of at most `groups` values of an expression.
 * @throws RangeError for an invalid number of groups.
 */
export function printFirstValues(printer: Printer, from: string, value: string, groups: number): string {
  return printFirstGroups(printer, from, value, { groups: requireLimit(groups), rowsPerGroup: 1 })
}

/**
 * True if a bounding leaves out no rows, whatever the condition.
 * @param oneCell true if all rows are in one cell
 * @throws RangeError for a bounding that does not fit the dataset's privacy unit.
 */
export function keepsAllRows(bounding: Bounding, dataset: Dataset, oneCell: boolean): boolean {
  const cellsPerPerson = oneCell ? 1 : Number.POSITIVE_INFINITY
  const limits = limitsOf(bounding, dataset, { cellsPerPerson, presenceOnly: false })
  return limits.rows === undefined && limits.groups === undefined && limits.rowsPerGroup === undefined
}

/** Largest number of rows of one person. */
export function maxRowsOf({ privacyUnit }: Dataset): number {
  return privacyUnit.kind === 'row' ? 1 : privacyUnit.maxRows
}

/** True if a predicate has the same value in all rows of a person. */
export function isConstantPredicate(predicate: Predicate, dataset: Dataset): boolean {
  return columnsOf(predicate).every((column) => isConstantColumn(column, dataset))
}

/** True if all rows of a person have the same value in a column. */
export function isConstantColumn(name: string, dataset: Dataset): boolean {
  return dataset.privacyUnit.kind === 'row' || columnNamed(dataset, name)?.constantPerPerson === true
}

/** True if the rows that are in no cell of a key, if any, are all rows of some people. */
export function keepsWholePeople(key: GroupKey, dataset: Dataset): boolean {
  switch (key.kind) {
    case 'predicate':
    case 'rows-of-person':
      return true
    case 'category':
    case 'boolean':
      return key.nullCell || isPresentInWholePeople(key.column, dataset)
    case 'bins':
      return isConstantColumn(key.column, dataset)
  }
}

/** True if the rows where a column is NULL, if any, are all rows of some people. */
export function isPresentInWholePeople(column: string, dataset: Dataset): boolean {
  return columnNamed(dataset, column)?.nullable === false || isConstantColumn(column, dataset)
}

/** True if all rows of a person are in the same cell of a key. */
export function isConstantKey(key: GroupKey, dataset: Dataset): boolean {
  if (key.kind === 'rows-of-person') return true
  return key.kind === 'predicate'
    ? isConstantPredicate(key.predicate, dataset)
    : isConstantColumn(key.column, dataset)
}

function limitsOf(
  bounding: Bounding,
  dataset: Dataset,
  { cellsPerPerson, presenceOnly }: Pick<Unbounded, 'cellsPerPerson' | 'presenceOnly'>,
): Limits {
  const maxRows = maxRowsOf(dataset)
  if ((bounding.kind === 'one-row-each') !== (dataset.privacyUnit.kind === 'row'))
    throw new RangeError('the bounding does not fit the privacy unit')
  switch (bounding.kind) {
    case 'one-row-each':
      return {}
    case 'rows': {
      const rows = requireLimit(bounding.rows)
      return rows >= maxRows || (presenceOnly && cellsPerPerson === 1) ? {} : { rows }
    }
    case 'groups': {
      const [groups, rowsPerGroup] = [requireLimit(bounding.groups), requireLimit(bounding.rowsPerGroup)]
      const rows = rowsPerGroup < maxRows && !presenceOnly ? rowsPerGroup : undefined
      if (cellsPerPerson === 1) return rows === undefined ? {} : { rows }
      if (groups >= Math.min(cellsPerPerson, maxRows)) return rows === undefined ? {} : { rowsPerGroup: rows }
      // The first row of each group is enough to know who is in it.
      if (presenceOnly) return { groups, rowsPerGroup: 1 }
      return rows === undefined ? { groups } : { groups, rowsPerGroup: rows }
    }
  }
}

function requireLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit < 2 ** 31) return limit
  throw new RangeError('a limit on rows or groups must be a whole number above 0')
}

const PLACE = quoteIdentifier('sotto_place')
const CELL = quoteIdentifier('sotto_cell')
const FIRST = quoteIdentifier('sotto_first')
const GROUP = quoteIdentifier('sotto_group')
const PLACE_IN_GROUP = quoteIdentifier('sotto_place_in_group')

/**
 * Prints the `rows` rows of lowest rank of each person. Ranks of one person differ, so that rank() numbers rows as
 * row_number() does. DuckDB computes a condition on row_number() by lists of rows for all people in memory, which it cannot
 * move to the temporary folder: the statement would fail for the number of people.
 */
function printFirstRows(printer: Printer, from: string, rows: number): string {
  const places = `rank() OVER (PARTITION BY ${PERSON} ORDER BY ${RANK}) AS ${PLACE}`
  return `(SELECT *, ${places} FROM ${from}) AS sotto_rows WHERE ${PLACE} <= ${printLimit(printer, rows)}`
}

/** Prints the rows of lowest rank in the groups of lowest rank of each person. */
function printFirstGroups(
  printer: Printer,
  from: string,
  cell: string,
  { groups, rowsPerGroup }: Pick<Limits, 'groups' | 'rowsPerGroup'>,
): string {
  // One order for both functions, so that rows are sorted once. The lowest rank so far is the lowest rank of the group.
  const inGroup = `PARTITION BY ${PERSON}, ${CELL} ORDER BY ${RANK}`
  const columns: string[] = []
  if (rowsPerGroup !== undefined) columns.push(`rank() OVER (${inGroup}) AS ${PLACE_IN_GROUP}`)
  // The lowest rank of a single row is its own.
  if (groups !== undefined && rowsPerGroup !== 1) columns.push(`min(${RANK}) OVER (${inGroup}) AS ${FIRST}`)
  const placed = `(SELECT *, ${columns.join(', ')} FROM (SELECT *, ${cell} AS ${CELL} FROM ${from}) AS sotto_cells) AS sotto_placed`
  const kept =
    rowsPerGroup === undefined
      ? placed
      : `${placed} WHERE ${PLACE_IN_GROUP} <= ${printLimit(printer, rowsPerGroup)}`
  if (groups === undefined) return kept
  const order = rowsPerGroup === 1 ? RANK : FIRST
  const numbered = `SELECT *, dense_rank() OVER (PARTITION BY ${PERSON} ORDER BY ${order}) AS ${GROUP} FROM ${kept}`
  return `(${numbered}) AS sotto_groups WHERE ${GROUP} <= ${printLimit(printer, groups)}`
}

function printLimit(printer: Printer, limit: number): string {
  return printValue(printer, BigInt(limit), 'bigint')
}
