import type { Kind } from './query.ts'
import type { components } from './schema.ts'
import { amountText, estimateText, printable, printableAnswer, printableRow } from './text.ts'

type Schemas = components['schemas']

/** Document of an answer, as the service sends it. */
export type AnswerDocument = Schemas['Answer'] | Schemas['DummyAnswer']
/** Document of a batch, as the service sends it. */
export type BatchDocument = Schemas['BatchAnswer'] | Schemas['DummyBatchAnswer']
/** Privacy loss: epsilon and delta, or rho where the dataset counts its budget in rho. */
export type Amount = Schemas['PrivacyLoss'] | Schemas['Rho']
/** Category, boolean, period, bin, or null for the rows without a value. Only the last bin has `upperIncluded`. */
export type CellLabel = Schemas['SelectionResult']['selected'][number]['candidate']

/** A noisy value. With its confidence, it differs from the true value by at most the half-width. `String` shows both. */
export interface Estimate<Value = number | string> {
  /** Number; ISO 8601 text in UTC for a column of dates or timestamps. */
  readonly value: Value
  /** Null if no bound is known. */
  readonly halfWidth: number | null
  /** Unit of the half-width, if it is not that of the value. For quantiles, the rank is within this number of rows. */
  readonly unit?: 'rows' | 'people' | 'days' | 'seconds'
  /** Where the true value lies: the half-width around the measured value, cut at what the declaration makes impossible. */
  readonly interval?: { readonly lower: Value; readonly upper: Value }
  /** Probability with which half-width and interval hold. */
  readonly confidence: number
}

/** Facts that every answer has. `String(answer)` shows them after the values. */
interface Facts {
  /** Identifies the release. Undefined for an answer of a batch, and for one from made-up rows. */
  readonly id: string | undefined
  readonly dataset: string
  readonly datasetVersion: string
  /** Probability with which the half-widths hold. */
  readonly confidence: number
  /** Half-width that all values share; null if each has its own, or none is known. */
  readonly halfWidth: number | null
  /** Unit of the half-width, if it is not that of the value. */
  readonly unit?: NonNullable<Estimate['unit']>
  /** What the half-widths cover and what not, in words. */
  readonly coverage: string
  /** Amount that was charged when the answer was first given. For made-up rows, what it would cost. */
  readonly price: Amount
  /** Budget of the dataset just after the answer was first given. `dataset.budget()` returns that of now. */
  readonly budgetLeft: Amount
  /** From which answers this one follows; absent for one with noise of its own. */
  readonly inference?: {
    /** In words. */
    readonly statement: string
    /** Ids of the releases. */
    readonly releases: readonly string[]
  }
  /** True if a stored answer was sent, at no cost. */
  readonly replayed: boolean
  /** True if the answer was computed from made-up rows. */
  readonly dummy: boolean
  /** Document of the service: for an answer of a batch, its part of the batch. */
  readonly raw: AnswerDocument | BatchDocument['answers'][number]
}

/** Answer that is one value. */
export interface ValueAnswer<K extends Kind, Value> extends Facts {
  readonly kind: K
  readonly value: Value
  /** Where the true value lies; absent for the quantiles, whose half-width is about a rank. */
  readonly interval?: NonNullable<Estimate<Value>['interval']>
}

/** A row for each cell or group: its label in each key column, and its statistics by name. */
export interface Row<Name extends string = string, Value = number | string> {
  readonly key: Readonly<Record<string, CellLabel>>
  readonly values: Readonly<Record<Name, Estimate<Value>>>
}

/** Answer with a noisy count for each cell. */
export interface TableAnswer<K extends Kind> extends Facts {
  readonly kind: K
  readonly rows: readonly Row<'count', number>[]
  /** Clamps for a next question; present for `bounds`. */
  readonly clamps?: Schemas['Clamps']
  /** Bounds `rows` for the contribution of a next question; present for `contributionProfile`. */
  readonly contributions?: Schemas['WeighedContributions']
}

/** Answer with statistics for each group. */
export interface GroupsAnswer<Name extends string = string> extends Facts {
  readonly kind: 'groupBy'
  readonly rows: readonly Row<Name>[]
}

/** Coefficients of a linear regression. */
export interface RegressionAnswer extends Facts {
  readonly kind: 'linearRegression'
  readonly intercept: Estimate<number>
  /** Coefficients by predictor. */
  readonly coefficients: Readonly<Record<string, Estimate<number>>>
  readonly ridge: number
}

/** Candidates with the largest counts. The counts are not released. */
export interface SelectionAnswer extends Facts {
  readonly kind: 'noisyMax'
  /** Best first. */
  readonly selected: readonly { readonly candidate: CellLabel; readonly gap?: number }[]
}

/** Percentiles of a column. */
export interface PercentilesAnswer extends Facts {
  readonly kind: 'percentile'
  readonly percentiles: readonly { readonly p: number; readonly value: number | string }[]
}

/** Frequent values of a text column. */
export interface KeysAnswer extends Facts {
  readonly kind: 'keySelection'
  readonly keys: readonly { readonly key: string; readonly count?: number }[]
  /** True if there were more keys than an answer may contain. */
  readonly truncated: boolean
}

/** Tables that agree with each other. */
export interface MarginalsAnswer extends Facts {
  readonly kind: 'marginals'
  readonly tables: readonly MarginalTable[]
}

/** A table of some of the columns. All of its cells have one half-width. */
export interface MarginalTable {
  readonly columns: readonly string[]
  /** Number of cells. */
  readonly cells: number
  readonly halfWidth: number
  /** Absent for an answer with too many cells: get them from `client.tables(id)`. */
  readonly rows?: readonly Row<'count', number>[]
}

/** Counts from the start of the first cell to the end of each cell, and quantiles and ranges of that curve. */
export interface CumulativeAnswer extends Facts {
  readonly kind: 'cumulativeCounts'
  readonly rows: readonly Row<'count', number>[]
  /** Only those that were asked for. The true quantile lies in the interval. */
  readonly percentiles?: NonNullable<Schemas['CumulativeResult']['percentiles']>
  /** Only those that were asked for, each with its half-width. */
  readonly ranges?: NonNullable<Schemas['CumulativeResult']['ranges']>
}

type NumberKind = Schemas['NumberAnswer']['kind']
type ColumnValueKind = Schemas['ValueAnswer']['kind']
type TableKind = Schemas['TableAnswer']['kind']

/** Answer to a query of a kind. */
export type Answer<K extends Kind = Kind> = K extends NumberKind
  ? ValueAnswer<K, number>
  : K extends ColumnValueKind
    ? ValueAnswer<K, number | string>
    : K extends TableKind
      ? TableAnswer<K>
      : K extends 'groupBy'
        ? GroupsAnswer
        : K extends 'linearRegression'
          ? RegressionAnswer
          : K extends 'noisyMax'
            ? SelectionAnswer
            : K extends 'percentile'
              ? PercentilesAnswer
              : K extends 'marginals'
                ? MarginalsAnswer
                : K extends 'cumulativeCounts'
                  ? CumulativeAnswer
                  : KeysAnswer

type Content = Pick<Schemas['Answer'], 'kind' | 'result'>
type Asked = { readonly [field: string]: unknown }

/** Returns a document of the service as an answer. */
export function readAnswer(document: AnswerDocument, replayed: boolean, asked?: Asked): Answer {
  const { dataset, datasetVersion, accuracy, budget } = document
  const dummy = 'dummy' in document
  const facts: Facts = {
    ...accuracyOf(accuracy),
    coverage: document.coverage.statement,
    id: dummy ? undefined : document.id,
    dataset,
    datasetVersion,
    price: priceOf(document),
    budgetLeft: budget.remaining,
    ...inferenceOf(document.inference),
    replayed,
    dummy,
    raw: document,
  }
  return printableAnswer({ ...facts, ...valuesOf(document, accuracy, document.question ?? asked) } as Answer)
}

function inferenceOf(inference: Schemas['Answer']['inference']): Pick<Facts, 'inference'> {
  if (inference === undefined) return {}
  const { statement, releases } = inference
  const ids = releases.map(({ id }) => id).filter((id) => id !== 'this')
  return { inference: { statement, releases: [...new Set(ids)] } }
}

/**
 * Writes the ways to an answer that a preview offers as a line: `free: 2,531 ± 20 from 2 answers; top up: epsilon 0.07; fresh:
 * epsilon 0.1`.
 */
export function offersText({ offers: { free, topUp, fresh } }: Schemas['Preview']): string {
  const price = `fresh: ${amountText(fresh.price)}`
  if ('reason' in free) return `free: ${free.reason}; ${price}`
  const { result, accuracy, releases } = free
  const values =
    'value' in result ? estimateText({ ...accuracyOf(accuracy), value: result.value }) : 'its values'
  const from = `${releases.length} answer${releases.length === 1 ? '' : 's'}`
  return `free: ${values} from ${from}; top up: ${topUpText(topUp)}; ${price}`
}

function topUpText(topUp: Schemas['Offers']['topUp']): string {
  if (topUp === undefined) return 'nothing lacks'
  if ('reason' in topUp) return topUp.reason
  return topUp.epsilon === 0 ? 'nothing lacks' : amountText(topUp.price)
}

/** Answers to several queries that were charged together. */
export interface Batch<Answers = readonly Answer[]> {
  readonly id: string | undefined
  readonly answers: Answers
  readonly price: Amount
  readonly budgetLeft: Amount
  readonly replayed: boolean
  readonly dummy: boolean
  readonly raw: BatchDocument
}

/** Returns a document of the service as answers. The price of each is what it would cost on its own. */
export function readBatch(document: BatchDocument, replayed: boolean, asked?: readonly Asked[]): Batch {
  const dummy = 'dummy' in document
  const shared = {
    dataset: document.dataset,
    datasetVersion: document.datasetVersion,
    budgetLeft: document.budget.remaining,
    replayed,
    dummy,
  }
  const questions = document.question?.queries ?? asked
  const answers = document.answers.map((part, place) =>
    printableAnswer({
      ...shared,
      ...accuracyOf(part.accuracy),
      coverage: part.coverage.statement,
      id: undefined,
      price: part.price,
      raw: part,
      ...valuesOf(part, part.accuracy, questions?.[place]),
    } as unknown as Answer),
  )
  return {
    ...shared,
    id: dummy ? undefined : document.id,
    price: priceOf(document),
    answers,
    raw: document,
  }
}

function priceOf(document: { readonly cost: Amount; readonly price?: Amount }): Amount {
  return document.price ?? document.cost
}

function accuracyOf({
  confidence,
  halfWidth,
  unit,
}: Schemas['Accuracy']): Pick<Facts, 'confidence' | 'halfWidth' | 'unit'> {
  return { confidence, halfWidth, ...(unit === undefined ? {} : { unit }) }
}

/** Returns the kind and the values of a document. A kind that this package does not know has its raw result only. */
function valuesOf(document: Content, accuracy: Schemas['Accuracy'], asked: Asked | undefined): object {
  const { kind, result } = document
  const { confidence } = accuracy
  const held = <Value extends Omit<Estimate, 'confidence'>>(estimate: Value) =>
    printable({ ...estimate, confidence })
  if ('cells' in result) {
    const { halfWidth } = accuracy
    // A count is never negative.
    const end = (uncut: number) => Math.max(0, uncut)
    const countOf = (value: number) =>
      halfWidth === null
        ? { value, halfWidth }
        : { value, halfWidth, interval: { lower: end(value - halfWidth), upper: end(value + halfWidth) } }
    const rows = result.cells.map(({ key, value }) =>
      printableRow({ key, values: { count: held(countOf(value)) } }),
    )
    const { clamps, contributions } = result
    return { kind, rows, ...(clamps && { clamps }), ...(contributions && { contributions }) }
  }
  if ('groups' in result) {
    const rows = result.groups.map(({ key, values }) => {
      const each = Object.entries(values).map(([name, estimate]) => [name, held(estimate)])
      return printableRow({ key, values: Object.fromEntries(each) })
    })
    const { percentiles, ranges } = result as Partial<Schemas['CumulativeResult']>
    return {
      kind,
      rows,
      ...(percentiles === undefined ? {} : { percentiles }),
      ...(ranges === undefined ? {} : { ranges }),
    }
  }
  if ('tables' in result) {
    const labelsOf = (name: string) => result.columns.find(({ column }) => column === name)?.labels ?? []
    const tables = result.tables.map(({ columns, cells, halfWidth, values }) => {
      const keys = columns.reduce<readonly Row['key'][]>(
        (each, name) => each.flatMap((key) => labelsOf(name).map((label) => ({ ...key, [name]: label }))),
        [{}],
      )
      const rowOf = (value: number, cell: number) => {
        const interval = { lower: Math.max(0, value - halfWidth), upper: Math.max(0, value + halfWidth) }
        return printableRow({
          key: keys[cell] ?? {},
          values: { count: held({ value, halfWidth, interval }) },
        })
      }
      return { columns, cells, halfWidth, ...(values === undefined ? {} : { rows: values.map(rowOf) }) }
    })
    return { kind, tables }
  }
  if ('coefficients' in result) {
    const byColumn = result.coefficients.map(({ column, ...estimate }) => [column, held(estimate)])
    return {
      ...result,
      kind,
      intercept: held(result.intercept),
      coefficients: Object.fromEntries(byColumn),
    }
  }
  if ('value' in result && accuracy.interval !== undefined)
    return { kind, ...result, interval: accuracy.interval }
  // One requested percentile is answered by its value alone.
  if (kind === 'percentile' && 'value' in result)
    return { kind, percentiles: [{ p: Number(asked?.p), value: result.value }] }
  // Values, selected candidates, and keys have the same names here and in the document.
  return { kind, ...result }
}

/**
 * Returns rows as flat records, for tables and charts: the keys, each statistic, and `<statistic>HalfWidth`. The half-width
 * of a quantile is a number of rows or people, in `<statistic>RankHalfWidth`.
 */
export function records(answer: {
  readonly rows: readonly Row[]
}): readonly Readonly<Record<string, CellLabel | number>>[] {
  return answer.rows.map(({ key, values }) => ({
    ...key,
    ...Object.fromEntries(
      Object.entries(values).flatMap(([name, { value, halfWidth, unit }]) => [
        [name, value],
        [`${name}${unit === 'rows' || unit === 'people' ? 'Rank' : ''}HalfWidth`, halfWidth],
      ]),
    ),
  }))
}
