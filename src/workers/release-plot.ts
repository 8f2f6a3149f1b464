import type { CellLabel } from '../planner/grouping.ts'
import type { AccuracyReport, Result } from '../planner/report-kinds.ts'
import { MOST_CELLS, MOST_PANELS, type NoisyTablePlot, type Plot } from '../plots/plot.ts'
import { refuseField } from '../privacy/refusal.ts'

/*
 * Plots of stored releases: from the document alone, which is public once it is paid for. A release with several values of
 * different units has several panels.
 */

/** The document of an answer, or a part of that of a batch. */
interface AnswerDocument {
  readonly kind: string
  readonly result: Result
  readonly accuracy: AccuracyReport
  readonly question?: Question
}

type Question = Readonly<Record<string, unknown>>

interface BatchDocument {
  readonly dataset: string
  readonly answers: readonly AnswerDocument[]
  readonly question?: { readonly queries?: readonly Question[] }
}

/** The document of an opened session. */
interface SessionDocument {
  readonly dataset: string
  readonly threshold: number
  readonly positives: number
  readonly of?: 'rows' | 'people'
  readonly accuracy: {
    readonly confidence: number
    readonly margins: readonly { readonly questions: number; readonly margin: number }[]
  }
}

/**
 * Returns the panels that show a release.
 * @param stored the stored document of an answer, a batch or a session
 * @throws Refusal `query-does-not-fit` for a release with too many panels.
 */
export function plotsOfRelease(stored: string): readonly Plot[] {
  const document: object = JSON.parse(stored)
  const panels = 'answers' in document ? panelsOfBatch(document as BatchDocument) : panelsOfOne(document)
  if (panels.length <= MOST_PANELS) return panels
  const rule = `must need at most ${MOST_PANELS} panels to be drawn; this release needs ${panels.length}: ask for smaller batches`
  throw refuseField('query-does-not-fit', 'id', rule)
}

function panelsOfOne(document: object): readonly Plot[] {
  if ('threshold' in document) return [panelOfSession(document as SessionDocument)]
  return panelsOfAnswer(document as AnswerDocument & { readonly dataset: string })
}

function panelsOfBatch({ dataset, answers, question }: BatchDocument): readonly Plot[] {
  return answers.flatMap((answer, place) => {
    const asked = question?.queries?.[place]
    return panelsOfAnswer({ ...answer, dataset, ...(asked === undefined ? {} : { question: asked }) })
  })
}

/** The counts that a session answers correctly are those outside the interval about its threshold. */
function panelOfSession({ dataset, threshold, positives, of = 'rows', accuracy }: SessionDocument): Plot {
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
    cells: accuracy.margins.map(({ questions, margin }) => ({
      key: [String(questions)],
      value: threshold,
      halfWidth: margin,
    })),
    confidence: accuracy.confidence,
    notes: [`The session ends after ${positives} answers "above"`],
  }
}

type Answered = AnswerDocument & { readonly dataset: string }

function panelsOfAnswer(answer: Answered): readonly Plot[] {
  const { result, accuracy } = answer
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
  const { title, notes } = headingOf(answer, name)
  const times = typeof all[0]?.shown === 'string'
  const cells = largest(all)
  const scale = times ? (stated.unit === 'days' ? MILLISECONDS_PER_DAY : 1000) : 1
  const table: NoisyTablePlot = {
    plot: 'noisy-table',
    title,
    name: `Noisy ${name}`,
    keys,
    cells: cells.map(({ key, shown, halfWidth }) => ({
      key,
      value: typeof shown === 'string' ? Date.parse(shown) : shown,
      halfWidth: halfWidth === null ? null : halfWidth * scale,
    })),
    confidence: stated.confidence,
    ...(times ? { times: true } : {}),
    ...(unit === undefined ? {} : { unit }),
    notes: [
      ...notes,
      ...(stated.unit === 'rows' || stated.unit === 'people'
        ? ofRanks(answer, name)
          ? [rankText(stated, 'The rank of each value is within', 'of the requested rank')]
          : []
        : []),
      ...(cells.length < all.length ? [`The ${cells.length} largest of ${all.length} values`] : []),
    ],
  }
  return table
}

const MILLISECONDS_PER_DAY = 86_400_000

/** Cells with the largest values, in their order. */
function largest(cells: readonly ShownCell[]): readonly ShownCell[] {
  if (cells.length <= MOST_CELLS) return cells
  const size = ({ shown }: ShownCell) => (typeof shown === 'number' ? Math.abs(shown) : 0)
  const kept = new Set(cells.toSorted((a, b) => size(b) - size(a)).slice(0, MOST_CELLS))
  return cells.filter((cell) => kept.has(cell))
}

/** The bar of a value: none, if its half-width is a number of rows or unknown. */
function barOf({ halfWidth, unit }: Stated): number | null {
  return unit === 'rows' || unit === 'people' ? null : halfWidth
}

const QUANTILES: readonly string[] = ['median', 'percentile', 'minimum', 'maximum']

function ofRanks({ kind }: AnswerDocument, name: string): boolean {
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

function headingOf(
  answer: Answered,
  name: string,
): Pick<NoisyTablePlot, 'title'> & { readonly notes: readonly string[] } {
  return { title: `Noisy ${name}: ${answer.dataset}`, notes: conditionOf(answer) }
}

/** The statistic of an answer in words. */
function subjectOf({ kind, question }: AnswerDocument): string {
  const { column, columns, p } = question ?? {}
  const words = kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const of = Array.isArray(columns)
    ? columns.filter((each) => typeof each === 'string').join(' and ')
    : nameOf(column)
  const which = typeof p === 'number' ? `${p}% ` : ''
  return of === '' ? `${which}${words}` : `${which}${words} of ${of}`
}

function unitOfCount({ question }: AnswerDocument): string {
  return question?.of === 'people' ? 'people' : 'rows'
}

function columnOf({ question }: AnswerDocument): string {
  const { column, candidates } = question ?? {}
  const name = nameOf(column) || nameOf((candidates as Question | undefined)?.column)
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
  if (label === null) return 'no value'
  return typeof label === 'object' ? `${label.lower} to ${label.upper}` : String(label)
}

/** The condition on rows in words. */
function conditionOf({ question }: AnswerDocument): readonly string[] {
  const where = question?.where
  return where === undefined ? [] : [`Rows with ${predicateText(where as Predicate)}`]
}

type Predicate =
  | { readonly op: 'and' | 'or'; readonly predicates: readonly Predicate[] }
  | { readonly op: 'not'; readonly predicate: Predicate }
  | {
      readonly op: string
      readonly column: string
      readonly value?: unknown
      readonly values?: readonly unknown[]
      readonly lower?: unknown
      readonly upper?: unknown
    }

function predicateText(predicate: Predicate): string {
  if ('predicates' in predicate) {
    const parts = predicate.predicates.map((part) =>
      'predicates' in part ? `(${predicateText(part)})` : predicateText(part),
    )
    return parts.join(` ${predicate.op} `)
  }
  if ('predicate' in predicate) return `not (${predicateText(predicate.predicate)})`
  const { column, op, value, values, lower, upper } = predicate
  switch (op) {
    case 'isNull':
      return `no ${column}`
    case 'in':
      return `${column} in ${values?.join(', ')}`
    case 'between':
      return `${column} from ${lower} to ${upper}`
    default:
      return `${column} ${op} ${value}`
  }
}
