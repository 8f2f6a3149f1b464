import { stringify } from 'csv-stringify/sync'
import type { answer } from '../../../schemas/answers/answer.ts'
import { binText } from '../../core/planner/language/bin-text.ts'
import type { CellLabel } from '../../core/planner/language/grouping.ts'
import type { ColumnSet } from '../../core/workloads/column-sets.ts'
import { decodedIntegers } from '../../core/workloads/encoding.ts'
import { reconstructionBy, valuesFrom } from '../../core/workloads/values.ts'
import { entry, must } from '../../privacy/must.ts'
import { refuseField } from '../../privacy/refusal.ts'
import type { Wire } from '../../privacy/wire.ts'

/*
 * The tables of a stored release of marginals, estimated again from the integers that were measured. The document has everything
 * that it takes, so it works without the dataset, and gives the same digits every time.
 */

type MarginalsDocument = Extract<Wire<typeof answer>, { kind: 'marginals' }>

/** A table of a release. */
export interface ReleasedTable {
  readonly columns: readonly string[]
  readonly labels: readonly (readonly CellLabel[])[]
  readonly halfWidth: number
  /** In the order of the cross product of the labels, the last column's fastest. */
  readonly values: Float64Array
}

/** The tables of a release, and all of its columns. */
export interface ReleasedTables {
  readonly columns: readonly string[]
  readonly tables: readonly ReleasedTable[]
}

/**
 * Returns the tables of a stored release.
 * @param only names of the columns of the one table to return, separated by commas; default: all tables
 * @throws Refusal `query-does-not-fit` for a release of another kind, or a table that it does not have.
 */
export function tablesOfRelease(stored: string, only?: string): ReleasedTables {
  const { kind, result, noise, measured } = JSON.parse(stored) as MarginalsDocument
  if (kind !== 'marginals' || noise.mechanism !== 'marginals')
    throw refuseField('query-does-not-fit', 'id', 'must be a release of kind marginals')
  const names = result.columns.map(({ column }) => column)
  const setOf = (columns: readonly string[]): ColumnSet =>
    columns.reduce((set, name) => set | (1 << names.indexOf(name)), 0)
  const wanted = result.tables.filter(({ columns }) => only === undefined || isNamed(columns, only))
  if (wanted.length === 0) {
    const rule = `must be the columns of a table of the release, such as ${entry(result.tables, 0).columns.join(',')}`
    throw refuseField('query-does-not-fit', 'columns', rule)
  }
  const workload = {
    sizes: result.columns.map(({ labels }) => labels.length),
    tables: result.tables.map(({ columns }) => setOf(columns)),
  }
  const shares = noise.tables.map(({ columns, share, sensitivity }) => ({
    set: setOf(columns),
    share,
    sensitivity,
  }))
  const valuesOf = valuesFrom(
    reconstructionBy(shares, noise.distribution, workload),
    measured.map((integers) =>
      typeof integers === 'string' ? decodedIntegers(integers) : integers.map(BigInt),
    ),
    noise.tables.map(({ granularity }) => -Math.log2(granularity)),
  )
  const labelsOf = (name: string) =>
    must(result.columns.find(({ column }) => column === name)?.labels, 'the labels of a column')
  return {
    columns: names,
    tables: wanted.map(({ columns, halfWidth }) => ({
      columns,
      labels: columns.map(labelsOf),
      halfWidth,
      values: Float64Array.from(valuesOf(setOf(columns))),
    })),
  }
}

/** True if a text names these columns, in any order. The name of a column may contain commas itself. */
function isNamed(columns: readonly string[], text: string): boolean {
  const names = text.split(',')
  return (
    columns.join(',') === text ||
    (names.length === columns.length && columns.every((each) => names.includes(each)))
  )
}

/** Cells in a piece of a text that is sent. */
const CELLS_IN_A_PIECE = 5_000

/** Writes tables as JSON, in pieces. */
export function* tablesJson({ tables }: ReleasedTables): Generator<string> {
  yield '{"tables":['
  for (const [place, { columns, labels, halfWidth, values }] of tables.entries()) {
    yield `${place === 0 ? '' : ','}${JSON.stringify({ columns, labels, halfWidth }).slice(0, -1)},"values":[`
    for (let first = 0; first < values.length; first += CELLS_IN_A_PIECE)
      yield `${first === 0 ? '' : ','}${values.subarray(first, first + CELLS_IN_A_PIECE).join(',')}`
    yield ']}'
  }
  yield ']}'
}

/**
 * Writes tables as CSV (RFC 4180), in pieces: a row for each cell, with the table, a field for each column of the release that
 * is empty where the table lacks the column, the value and its half-width. Rows without a value of a column have `null`.
 */
export function* tablesCsv({ columns: all, tables }: ReleasedTables): Generator<string> {
  yield csvOf([['table', ...all, 'value', 'halfWidth']])
  for (const { columns, labels, halfWidth, values } of tables) {
    const texts = labels.map((each) => each.map(textOf))
    const places = all.map((name) => columns.indexOf(name))
    const name = columns.join(' and ')
    for (let first = 0; first < values.length; first += CELLS_IN_A_PIECE) {
      const rows = Array.from(values.subarray(first, first + CELLS_IN_A_PIECE), (value, offset) => {
        const key = keyOf(first + offset, texts)
        return [name, ...places.map((place) => (place === -1 ? '' : entry(key, place))), value, halfWidth]
      })
      yield csvOf(rows)
    }
  }
}

/** The labels of a cell by its place. */
function keyOf(cell: number, labels: readonly (readonly string[])[]): readonly string[] {
  let rest = cell
  return labels
    .toReversed()
    .map((own) => {
      const place = rest % own.length
      rest = (rest - place) / own.length
      return entry(own, place)
    })
    .reverse()
}

function textOf(label: CellLabel): string {
  if (label !== null && typeof label === 'object') return binText(label, String)
  return String(label)
}

function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  return stringify([...rows], { record_delimiter: 'windows', escape_formulas: true, quoted_match: /[\r\n]/ })
}
