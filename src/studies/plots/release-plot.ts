import type { answer, batchAnswer } from '../../../schemas/answers/answer.ts'
import type { QueryPredicate } from '../../../schemas/answers/query.ts'
import type { openedSession } from '../../../schemas/answers/sparse-vector.ts'
import { type ReleasedTable, tablesOfRelease } from '../../answers/documents/tables.ts'
import { binText } from '../../core/planner/language/bin-text.ts'
import type { CellLabel } from '../../core/planner/language/grouping.ts'
import type { AccuracyReport, MeasuredTables, Result } from '../../core/planner/report-kinds.ts'
import { defined } from '../../privacy/defined.ts'
import { entry } from '../../privacy/must.ts'
import { refuseField } from '../../privacy/refusal.ts'
import type { Wire } from '../../privacy/wire.ts'
import { MOST_CELLS, MOST_PANELS, type Plot } from './plot.ts'
import { type SeriesAnswer, type SeriesColumn, seriesOf, type TimeSeries } from './time-series.ts'

/*
 * Plots of stored releases: from the document alone, which is public once it is paid for. A release with several values of
 * different units has several panels.
 */

/** The document of an answer, or a part of that of a batch with the dataset of the whole, and the columns of that. */
type Answered = Pick<Wire<typeof answer>, 'dataset' | 'kind' | 'result' | 'accuracy'> & {
  readonly measured?: SeriesAnswer['measured'] | MeasuredTables
  readonly question?: Readonly<Record<string, unknown>> | undefined
  readonly columns: readonly SeriesColumn[]
}

/**
 * Returns the panels that show a release.
 * @param stored the stored document of an answer, a batch or a session
 * @param columns columns that the dataset declares, as far as they are known
 * @param table names of the columns of the one table of marginals to draw, separated by commas; default: the first tables
 * @throws Refusal `query-does-not-fit` for a release with too many panels or without any, or a table that it does not have.
 */
export function plotsOfRelease(
  stored: string,
  columns: readonly SeriesColumn[],
  table?: string,
): readonly Plot[] {
  const document: object = JSON.parse(stored)
  const panels =
    table === undefined ? panelsOf(document, columns) : panelsOfTable(document as Answered, stored, table)
  if (panels.length === 0)
    throw refuseField(
      'query-does-not-fit',
      'columns',
      'must name a table: all together are too large to draw',
    )
  if (panels.length <= MOST_PANELS) return panels
  const rule = `must need at most ${MOST_PANELS} panels to be drawn; this release needs ${panels.length}: ask for smaller batches`
  throw refuseField('query-does-not-fit', 'id', rule)
}

function panelsOf(document: object, columns: readonly SeriesColumn[]): readonly Plot[] {
  if ('threshold' in document) return [panelOfSession(document as Wire<typeof openedSession>)]
  if (!('answers' in document)) return panelsOfAnswer({ ...(document as Answered), columns })
  const { dataset, answers, question } = document as Wire<typeof batchAnswer>
  return answers.flatMap((answer, place) =>
    panelsOfAnswer({ ...answer, dataset, question: question?.queries[place], columns }),
  )
}

/** The counts that a session answers correctly are those outside the interval about its threshold. */
function panelOfSession(session: Wire<typeof openedSession>): Plot {
  const { dataset, threshold, positives, of = 'rows', accuracy } = session
  return {
    plot: 'noisy-table',
    title: `Session about a threshold: ${dataset}`,
    name: 'Count',
    wording: {
      subtitle: `All questions are answered correctly if each count is outside, with ${percent(accuracy)} confidence`,
      legend: 'threshold',
    },
    keys: ['questions'],
    unit: of,
    cells: accuracy.halfWidths.map(({ questions, halfWidth }) => ({
      key: [String(questions)],
      value: threshold,
      halfWidth,
    })),
    confidence: accuracy.confidence,
    notes: [`The session ends after ${positives} answers "above"`],
  }
}

function panelsOfAnswer(answer: Answered): readonly Plot[] {
  const { result, accuracy, question = {}, columns } = answer
  const { measured, ...facts } = answer
  const series =
    'tables' in result
      ? []
      : seriesOf(
          measured === undefined || isTables(measured) ? facts : { ...facts, measured },
          question,
          columns,
        )
  if (series.length > 0) return series.map((each) => panelOfSeries(answer, each))
  if ('value' in result) {
    const cell = { key: [subjectOf(answer)], shown: result.value, halfWidth: barOf(accuracy) }
    return [tableOf(answer, ['statistic'], [cell], subjectOf(answer), accuracy)]
  }
  if ('cells' in result) {
    const keys = Object.keys(result.cells[0]?.key ?? {})
    const cells = result.cells.map(({ key, value }) => ({
      key: labelsOf(key),
      shown: value,
      halfWidth: barOf(accuracy),
    }))
    return [tableOf(answer, keys, cells, 'count', accuracy, unitOfCount(answer))]
  }
  if ('groups' in result) return panelsOfGroups(answer, result)
  if ('tables' in result) return panelsOfTables(answer, result)
  if ('intercept' in result)
    return [{ column: undefined, ...result.intercept }, ...result.coefficients].map(
      ({ column, value, halfWidth }) => {
        const name = column === undefined ? 'intercept' : `coefficient of ${column}`
        return tableOf(answer, ['coefficient'], [{ key: [name], shown: value, halfWidth }], name, accuracy)
      },
    )
  if ('percentiles' in result) {
    const cells = result.percentiles.map(({ p, value }) => ({
      key: [`${p}%`],
      shown: value,
      halfWidth: null,
    }))
    return [tableOf(answer, ['percentile'], cells, subjectOf(answer), accuracy)]
  }
  return [panelOfSelection(answer, result)]
}

function isTables(measured: NonNullable<Answered['measured']>): measured is MeasuredTables {
  return Array.isArray(measured)
}

/** The first tables, of an answer that has their values. */
function panelsOfTables(
  answer: Answered,
  { columns, tables }: Extract<Result, { tables: unknown }>,
): readonly Plot[] {
  return tables.slice(0, MOST_PANELS).flatMap(({ columns: names, values, halfWidth }) => {
    if (values === undefined) return []
    const labels = names.map((name) => columns.find(({ column }) => column === name)?.labels ?? [])
    return [panelOfCells(answer, { columns: names, labels, values, halfWidth })]
  })
}

/** Largest number of cells of a table of which the largest are drawn. */
const MOST_TABLE_CELLS = 100_000

/** One table of a stored answer of marginals, whether that has its values or not. */
function panelsOfTable(answer: Omit<Answered, 'columns'>, stored: string, table: string): readonly Plot[] {
  return tablesOfRelease(stored, table).tables.map((each) => {
    const cells = each.values.length
    if (cells <= MOST_TABLE_CELLS) return panelOfCells({ ...answer, columns: [] }, each)
    const rule = `must name a table of at most ${MOST_TABLE_CELLS} cells to be drawn; this has ${cells}`
    throw refuseField('query-does-not-fit', 'columns', rule)
  })
}

type ValuedTable = Omit<ReleasedTable, 'values'> & { readonly values: ArrayLike<number> }

/** The cells of a table in the order of the cross product of its labels. */
function panelOfCells(answer: Answered, { columns: names, labels, values, halfWidth }: ValuedTable): Plot {
  const keys = labels.reduce<readonly (readonly CellLabel[])[]>(
    (rows, own) => rows.flatMap((row) => own.map((label) => [...row, label])),
    [[]],
  )
  const cells = keys.map((key, cell) => ({
    key: key.map(labelText),
    shown: entry(values, cell),
    halfWidth,
  }))
  return tableOf(answer, names, cells, 'count', { ...answer.accuracy, halfWidth }, unitOfCount(answer))
}

function panelOfSeries(answer: Answered, { name, over, from, to, lines, omitted }: TimeSeries): Plot {
  const { accuracy, dataset } = answer
  const stated = accuracy.estimates?.[name] ?? accuracy
  return {
    plot: 'time-series',
    title: `Noisy ${name}: ${dataset}`,
    name,
    notes: [
      ...notesOf(answer, name, { ...stated, confidence: accuracy.confidence }),
      ...(omitted > 0
        ? [`The ${lines.length} lines with the largest values of ${lines.length + omitted}`]
        : []),
    ],
    ...defined({ over }),
    from,
    to,
    lines: lines.map(({ labels, points }) => ({ name: labels.map(labelText).join(' · '), points })),
    confidence: accuracy.confidence,
  }
}

/** One panel for each statistic. */
function panelsOfGroups(answer: Answered, { groups }: Extract<Result, { groups: unknown }>): readonly Plot[] {
  const { accuracy } = answer
  const statistics = Object.keys(groups[0]?.values ?? {})
  return statistics.map((statistic) => {
    const cells = groups.flatMap(({ key, values }) => {
      const found = values[statistic]
      if (found === undefined) return []
      const { value, halfWidth, unit } = found
      const labels = labelsOf(key)
      // The half-width of a quantile is a number of rows.
      const bar = unit === undefined ? halfWidth : null
      return [{ key: labels.length === 0 ? ['all rows'] : labels, shown: value, halfWidth: bar }]
    })
    const keys = Object.keys(groups[0]?.key ?? {})
    const stated = accuracy.estimates?.[statistic] ?? accuracy
    return tableOf(answer, keys.length === 0 ? ['group'] : keys, cells, statistic, {
      ...stated,
      confidence: accuracy.confidence,
    })
  })
}

function panelOfSelection(
  answer: Answered,
  result: Extract<Result, { selected: unknown } | { keys: unknown }>,
): Plot {
  const { accuracy, dataset } = answer
  const items =
    'selected' in result
      ? result.selected.map(({ candidate, gap }) => ({
          name: labelText(candidate),
          number: gap,
          halfWidth: accuracy.gapHalfWidth,
        }))
      : result.keys.map(({ key, count }) => ({
          name: key === '' ? '(empty text)' : key,
          number: count,
          halfWidth: accuracy.halfWidth,
        }))
  const name = 'selected' in result ? 'gap to the next candidate' : 'count'
  const cells = items.flatMap(({ name: key, number, halfWidth = null }) =>
    number === undefined ? [] : [{ key: [key], shown: number, halfWidth }],
  )
  if (cells.length > 0 && cells.length === items.length)
    return tableOf(answer, [columnOf(answer)], cells, name, accuracy, accuracy.unit ?? 'rows')
  const cutOff =
    'keys' in result && result.truncated ? ['Further keys were cut off at the limits of an answer.'] : []
  const appear = accuracy.peopleToAppear ?? accuracy.rowsToAppear
  return {
    plot: 'list',
    title: `${'selected' in result ? 'Selected candidates' : `Common values of ${columnOf(answer)}`}: ${dataset}`,
    items: items.slice(0, MOST_CELLS).map((item) => item.name),
    notes: [
      ...conditionOf(answer),
      ...('selected' in result
        ? ['Best first', rankText(accuracy, 'The count of each is within', 'of the best one left')]
        : [`A value of ${appear} ${accuracy.unit ?? 'rows'} appears, with ${percent(accuracy)} confidence`]),
      ...(items.length > MOST_CELLS ? [`The first ${MOST_CELLS} of ${items.length}.`] : []),
      ...cutOff,
    ],
  }
}

/** A value with its bar, as the answer shows it. */
interface ShownCell {
  readonly key: readonly string[]
  readonly shown: number | string
  readonly halfWidth: number | null
}

type Stated = Pick<AccuracyReport, 'halfWidth' | 'unit' | 'confidence'>

/** A table of values; of more than can be distinguished on a page, the largest. */
function tableOf(
  answer: Answered,
  keys: readonly string[],
  all: readonly ShownCell[],
  name: string,
  stated: Stated,
  unit?: string,
): Plot {
  const times = typeof all[0]?.shown === 'string'
  const cells = largest(all)
  const scale = times ? (stated.unit === 'days' ? MILLISECONDS_PER_DAY : 1000) : 1
  return defined({
    plot: 'noisy-table',
    title: `Noisy ${name}: ${answer.dataset}`,
    name: `Noisy ${name}`,
    keys,
    cells: cells.map(({ key, shown, halfWidth }) => ({
      key,
      value: typeof shown === 'string' ? Date.parse(shown) : shown,
      halfWidth: halfWidth === null ? null : halfWidth * scale,
    })),
    confidence: stated.confidence,
    times: times || undefined,
    unit,
    notes: [
      ...notesOf(answer, name, stated),
      ...(cells.length < all.length ? [`The ${cells.length} largest of ${all.length} values`] : []),
    ],
  })
}

/** The condition on rows, and the error of quantiles. */
function notesOf(answer: Answered, name: string, stated: Stated): readonly string[] {
  const condition = conditionOf(answer)
  if (!(isOfRows(stated) && ofRanks(answer, name))) return condition
  return [...condition, rankText(stated, 'The rank of each value is within', 'of the requested rank')]
}

const MILLISECONDS_PER_DAY = 86_400_000

/** Cells with the largest values, in their order. */
function largest(cells: readonly ShownCell[]): readonly ShownCell[] {
  if (cells.length <= MOST_CELLS) return cells
  const size = ({ shown }: ShownCell) => (typeof shown === 'number' ? Math.abs(shown) : 0)
  const kept = new Set(cells.toSorted((a, b) => size(b) - size(a)).slice(0, MOST_CELLS))
  return cells.filter((cell) => kept.has(cell))
}

function isOfRows({ unit }: Stated): boolean {
  return unit === 'rows' || unit === 'people'
}

/** The bar of a value: none, if its half-width is a number of rows or unknown. */
function barOf(stated: Stated): number | null {
  return isOfRows(stated) ? null : stated.halfWidth
}

const QUANTILES: readonly string[] = ['median', 'percentile', 'minimum', 'maximum']

function ofRanks({ kind }: Answered, name: string): boolean {
  return QUANTILES.includes(kind) || name.startsWith('median') || name.startsWith('percentile')
}

function rankText({ halfWidth, unit = 'rows', ...stated }: Stated, before: string, after: string): string {
  return halfWidth === null
    ? ''
    : `${before} ${halfWidth} ${unit} ${after}, with ${percent(stated)} confidence`
}

function percent({ confidence }: Pick<Stated, 'confidence'>): string {
  return `${Number((confidence * 100).toPrecision(10))}%`
}

/** The statistic of an answer in words. */
function subjectOf({ kind, question }: Answered): string {
  const { column, columns, p } = question ?? {}
  const words = kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const of = Array.isArray(columns)
    ? columns.filter((each) => typeof each === 'string').join(' and ')
    : nameOf(column)
  const which = typeof p === 'number' ? `${p}% ` : ''
  return of === '' ? `${which}${words}` : `${which}${words} of ${of}`
}

function unitOfCount({ kind, question }: Answered): string {
  return kind === 'contributionProfile' || question?.of === 'people' ? 'people' : 'rows'
}

function columnOf({ question }: Answered): string {
  const { column, candidates } = question ?? {}
  const name = nameOf(column) || nameOf((candidates as { readonly column?: unknown } | undefined)?.column)
  return name === '' ? 'candidate' : name
}

function nameOf(column: unknown): string {
  if (typeof column === 'string') return column
  if (typeof column !== 'object' || column === null || !('column' in column)) return ''
  return typeof column.column === 'string' ? column.column : ''
}

function labelsOf(key: Readonly<Record<string, CellLabel>>): readonly string[] {
  return Object.values(key).map(labelText)
}

/** A label of a cell in words. */
export function labelText(label: CellLabel): string {
  if (label === null) return 'missing'
  return typeof label === 'object' ? binText(label, String) : String(label)
}

/** The condition on rows in words. */
function conditionOf({ question }: Answered): readonly string[] {
  const where = question?.where
  return where === undefined ? [] : [`Rows with ${predicateText(where as QueryPredicate)}`]
}

function predicateText(predicate: QueryPredicate): string {
  switch (predicate.op) {
    case 'and':
    case 'or': {
      const parts = predicate.predicates.map((part) =>
        part.op === 'and' || part.op === 'or' ? `(${predicateText(part)})` : predicateText(part),
      )
      return parts.join(` ${predicate.op} `)
    }
    case 'not':
      return `not (${predicateText(predicate.predicate)})`
    case 'isNull':
      return `${predicate.column} is missing`
    case 'in':
      return `${predicate.column} in ${predicate.values.join(', ')}`
    case 'between':
      return `${predicate.column} from ${predicate.lower} to ${predicate.upper}`
    default:
      return `${predicate.column} ${predicate.op} ${predicate.value}`
  }
}
