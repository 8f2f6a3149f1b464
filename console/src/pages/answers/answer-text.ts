import { binText } from '../../../../src/core/planner/language/bin-text.ts'
import type { Schemas } from '../../api/schemas.ts'
import { formatCount, formatEstimate, formatHalfWidth } from '../../format/number.ts'
import { formatMinute, formatTime } from '../../format/time.ts'
import { listed } from './question-text.ts'

/** Stored document of a release: an answer, a batch, or the opening of a session. */
export type StoredDocument = Schemas['ListedRelease']['answer']
/** Answer to a question or a batch, stored or from made-up rows. */
export type AnswerDocument =
  | Schemas['Answer']
  | Schemas['BatchAnswer']
  | Schemas['DummyAnswer']
  | Schemas['DummyBatchAnswer']
/** Answer to one query, on its own or of a batch. */
export type AnswerPart = Pick<
  Schemas['BatchAnswer']['answers'][number],
  'result' | 'accuracy' | 'noise' | 'domain' | 'measured' | 'coverage'
>

/** Returns the values of an answer before post-processing; `undefined` without any, as for tables with what they follow from. */
export function measuredReport({
  measured,
}: AnswerPart): Pick<AnswerPart, 'result' | 'accuracy'> | undefined {
  return measured === undefined || Array.isArray(measured) ? undefined : measured
}

type Label = Schemas['SelectionResult']['selected'][number]['candidate']

/** Describes an answer in a line: `2,531 ± 30`. */
export function answerText(document: StoredDocument | AnswerDocument): string {
  if ('answers' in document) return listed(document.answers.map(partText), '; ')
  if ('result' in document) return partText(document)
  return 'opened'
}

/** Describes how old the rows of a live table can be, and until when a repeat is free. Empty for other rows. */
export function freshnessText({
  debitedAt,
  replaysUntil,
}: Pick<Schemas['BatchAnswer'], 'debitedAt' | 'replaysUntil'>): string {
  return [
    debitedAt === undefined ? '' : `The rows are those of ${formatMinute(debitedAt)} UTC or later.`,
    replaysUntil === undefined ? '' : `A repeat is free until ${formatMinute(replaysUntil)} UTC.`,
  ]
    .filter(Boolean)
    .join(' ')
}

/** Describes an answer to one query in a line. */
export function partText({ result, accuracy }: Pick<AnswerPart, 'result' | 'accuracy'>): string {
  if ('value' in result) return `${valueText(result.value)}${halfWidthText(accuracy)}`
  if ('cells' in result) return `${cellsText(result.cells)}${halfWidthText(accuracy)}`
  if ('groups' in result) return groupsText(result.groups)
  if ('coefficients' in result)
    return listed(
      result.coefficients.map(({ column, value }) => `${column}: ${valueText(value)}`),
      ', ',
    )
  if ('selected' in result)
    return listed(
      result.selected.map(({ candidate }) => labelText(candidate)),
      ', ',
    )
  if ('percentiles' in result)
    return listed(
      result.percentiles.map(({ p, value }) => `${p}%: ${valueText(value)}`),
      ', ',
    )
  if ('tables' in result) return formatCount(result.tables.length, 'table')
  return `${formatCount(result.keys.length, 'value')}: ${listed(
    result.keys.map(({ key }) => key),
    ', ',
  )}`
}

/** The statistics of a single group, or the number of groups. */
function groupsText(groups: Schemas['GroupsResult']['groups']): string {
  const [only, ...others] = groups
  if (only === undefined || others.length > 0) return formatCount(groups.length, 'group')
  const estimates = Object.entries(only.values).map(
    ([name, { value, halfWidth, unit }]) =>
      `${name}: ${valueText(value)}${halfWidthText({ halfWidth, unit })}`,
  )
  return listed(estimates, ', ')
}

/** Most cells whose values are written out. */
const MOST_CELLS = 3

function cellsText(cells: Schemas['TableResult']['cells']): string {
  if (cells.length > MOST_CELLS) return formatCount(cells.length, 'cell')
  return cells
    .map(({ key, value }) => `${Object.values(key).map(labelText).join(' ')}: ${valueText(value)}`)
    .join(', ')
}

/** Formats a value in the unit of a column: a number, a date or a timestamp. */
export function valueText(value: number | string): string {
  return typeof value === 'number' ? formatEstimate(value) : formatTime(value)
}

interface EstimateBound {
  readonly halfWidth: number | null
  readonly unit?: string | undefined
}

/** Formats a half-width as the end of a value. That of a quantile is a number of rows. */
function halfWidthText({ halfWidth, unit }: EstimateBound): string {
  if (halfWidth === null) return ''
  const shown = formatHalfWidth(halfWidth)
  if (unit === 'rows' || unit === 'people') return ` (rank ± ${shown} ${unit})`
  return unit === undefined ? ` ± ${shown}` : ` ± ${shown} ${unit}`
}

/** Formats the label of a cell: a category, a boolean, a period or a bin. */
export function labelText(label: Label): string {
  if (label === null) return 'missing'
  if (typeof label === 'object') return binText(label, valueText)
  return String(label)
}
