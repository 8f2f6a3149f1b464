import type { Schemas } from '../../api/schemas.ts'
import { formatEstimate, formatHalfWidth } from '../../format/number.ts'
import { type AnswerPart, labelText, measuredReport, valueText } from './answer-text.ts'

type Bound = Pick<Schemas['Accuracy'], 'halfWidth' | 'unit'>

/** A cell of a table: what is shown, and the value itself for other programs. */
export interface AnswerCell {
  readonly shown: string
  readonly value: string | number | null
}

interface AnswerColumn {
  readonly title: string
  readonly isNumber: boolean
  /** True for values that the next column has the half-widths of. */
  readonly isEstimate?: boolean
}

/** An answer as a table: a row for each cell, group, percentile, coefficient or key. */
export interface AnswerTable {
  readonly columns: readonly AnswerColumn[]
  readonly rows: readonly (readonly AnswerCell[])[]
}

/**
 * Returns an answer as a table, or undefined if it is one value or has several tables. Post-processed values have the measured ones and their
 * half-widths beside them.
 */
export function tableOf(part: AnswerPart): AnswerTable | undefined {
  const shown = tableOfReport(part)
  const measured = measuredReport(part)
  const before = measured === undefined ? undefined : tableOfReport(measured)
  return shown === undefined || before === undefined ? shown : withMeasured(shown, before)
}

/** Puts the estimates of a table of the same form beside those of a table. */
function withMeasured(shown: AnswerTable, before: AnswerTable): AnswerTable {
  /** Inserts after each pair of an estimate and its half-width those of before. */
  const merged = <Item>(items: readonly Item[], measured: readonly Item[]) =>
    items.flatMap((item, place) => {
      const isBound = shown.columns[place - 1]?.isEstimate === true
      return isBound ? [item, ...measured.slice(place - 1, place + 1)] : [item]
    })
  const titled = before.columns.map((column) =>
    column.isEstimate === true ? { ...column, title: `${column.title}, measured` } : column,
  )
  return table(
    merged(shown.columns, titled),
    shown.rows.map((row, place) => merged(row, before.rows[place] ?? [])),
  )
}

function tableOfReport({
  result,
  accuracy,
}: Pick<AnswerPart, 'result' | 'accuracy'>): AnswerTable | undefined {
  if ('value' in result || 'tables' in result) return undefined
  if ('cells' in result)
    return table(
      [...keyTitles(result.cells[0]?.key), ...estimates('count', accuracy)],
      result.cells.map(({ key, value }) => [...keyCells(key), estimate(value, accuracy), bound(accuracy)]),
    )
  if ('groups' in result) return groupsTable(result, accuracy)
  if ('coefficients' in result)
    return table(
      [text('coefficient'), ...estimates('value', accuracy)],
      [{ column: 'intercept', ...result.intercept }, ...result.coefficients].map((each) => [
        plain(each.column),
        estimate(each.value, each),
        bound(each),
      ]),
    )
  if ('percentiles' in result)
    return table(
      [...numbers('percentile'), ...estimates('value', accuracy)],
      result.percentiles.map(({ p, value }) => [estimate(p, {}), estimate(value, {}), bound(accuracy)]),
    )
  if ('selected' in result)
    return table(
      [text('selected'), ...numbers('gap')],
      result.selected.map(({ candidate, gap }) => [
        plain(labelText(candidate)),
        gap === undefined ? EMPTY : estimate(gap, accuracy),
      ]),
    )
  return table(
    [text('value'), ...estimates('count', accuracy)],
    result.keys.map(({ key, count }) => [
      plain(key),
      count === undefined ? EMPTY : estimate(count, accuracy),
      count === undefined ? EMPTY : bound(accuracy),
    ]),
  )
}

function groupsTable({ groups }: Schemas['GroupsResult'], accuracy: Schemas['Accuracy']): AnswerTable {
  const names = Object.keys(groups[0]?.values ?? {})
  const boundOf = (name: string) => ({ ...accuracy.estimates?.[name] })
  return table(
    [...keyTitles(groups[0]?.key), ...names.flatMap((name) => estimates(name, boundOf(name)))],
    groups.map(({ key, values }) => [
      ...keyCells(key),
      ...names.flatMap((name) => {
        const each = values[name]
        return each === undefined ? [EMPTY, EMPTY] : [estimate(each.value, each), bound(each)]
      }),
    ]),
  )
}

/** Returns the values of an answer as CSV: its table, or a line with its one value and half-width. */
export function csvOfPart(part: AnswerPart): string {
  const rows = tableOf(part) ?? lineOf(part)
  const measured = measuredReport(part)
  if (measured === undefined || !('value' in part.result)) return csvOf(rows)
  return csvOf(withMeasured(rows, lineOf(measured)))
}

/** Returns an answer with one value as a table of one line. */
function lineOf({ result, accuracy }: Pick<AnswerPart, 'result' | 'accuracy'>): AnswerTable {
  if (!('value' in result)) throw new TypeError('an answer is a value or a table')
  return table(estimates('value', accuracy), [[estimate(result.value, accuracy), bound(accuracy)]])
}

/** Returns a table as CSV (RFC 4180), with values as they were released. */
export function csvOf({ columns, rows }: AnswerTable): string {
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => row.map(({ value }) => value))]
  return lines.map((line) => `${line.map(csvCell).join(',')}\r\n`).join('')
}

function csvCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  // A leading sign would make a formula of a text.
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const EMPTY: AnswerCell = { shown: '', value: null }

function table(columns: AnswerTable['columns'], rows: AnswerTable['rows']): AnswerTable {
  return { columns, rows }
}

function text(title: string) {
  return { title, isNumber: false }
}

function numbers(...titles: readonly string[]) {
  return titles.map((title) => ({ title, isNumber: true }))
}

/** Columns of values and of their half-widths. */
function estimates(title: string, of: Partial<Bound>): AnswerColumn[] {
  return [{ title, isNumber: true, isEstimate: true }, ...numbers(boundTitle(of))]
}

type Key = Schemas['TableResult']['cells'][number]['key']

function keyTitles(key: Key | undefined) {
  return Object.keys(key ?? {}).map(text)
}

function keyCells(key: Key): readonly AnswerCell[] {
  return Object.values(key).map((label) => plain(labelText(label)))
}

function plain(value: string): AnswerCell {
  return { shown: value, value }
}

function estimate(value: number | string, { halfWidth, unit }: Partial<Bound>): AnswerCell {
  const isOfValue = unit === undefined && halfWidth !== null
  return {
    shown:
      typeof value === 'number' ? formatEstimate(value, isOfValue ? halfWidth : undefined) : valueText(value),
    value,
  }
}

function bound({ halfWidth }: Partial<Bound>): AnswerCell {
  if (halfWidth === null || halfWidth === undefined) return EMPTY
  return { shown: formatHalfWidth(halfWidth), value: halfWidth }
}

/** Title of a column of half-widths. That of a quantile is a number of rows. */
function boundTitle({ unit }: Partial<Bound>): string {
  return unit === undefined ? '±' : `± ${unit}`
}
