import type { components } from 'sotto-client'
import { withFittingContribution } from './contribution.ts'

type Schemas = components['schemas']
export type Column = Schemas['Dataset']['columns'][number]
/** Public facts of a dataset on which the form depends. */
export type DatasetFacts = Pick<Schemas['Dataset'], 'columns' | 'privacyUnit'>

/** A question as the service reads it. Its fields depend on its kind. */
export type Question = Readonly<Record<string, unknown>>

/** Fields of a question that the form offers, besides the condition on rows and the price. */
export type FieldKind =
  | 'measured'
  | 'pair'
  | 'outcome'
  | 'predictors'
  | 'share'
  | 'grouping'
  | 'groupings'
  | 'statistics'
  | 'candidates'
  | 'percentages'
  | 'number'
  | 'text'
  | 'counted'
  | 'perPerson'
  | 'gap'
  | 'counts'
  | 'delta'

/** A kind of question: its name, and the fields that it needs. */
export interface KindEntry {
  readonly kind: string
  readonly title: string
  readonly fields: readonly FieldKind[]
  /** Types of the column that the kind measures. */
  readonly measures?: readonly Column['type'][]
}

const NUMBERS = ['integer', 'number'] as const
const ORDERED = ['integer', 'number', 'date', 'timestamp'] as const

/** Kinds of questions, in the order in which they are offered. */
export const KINDS: readonly KindEntry[] = [
  { kind: 'count', title: 'Count', fields: ['counted'] },
  { kind: 'histogram', title: 'Counts by a column', fields: ['grouping', 'counted'] },
  { kind: 'contingency', title: 'Counts by several columns', fields: ['groupings', 'counted'] },
  { kind: 'groupBy', title: 'Statistics by group', fields: ['groupings', 'statistics'] },
  { kind: 'mean', title: 'Mean', fields: ['measured', 'perPerson'], measures: ORDERED },
  { kind: 'sum', title: 'Sum', fields: ['measured'], measures: NUMBERS },
  { kind: 'median', title: 'Median', fields: ['measured', 'perPerson'], measures: ORDERED },
  {
    kind: 'percentile',
    title: 'Percentiles',
    fields: ['measured', 'perPerson', 'percentages'],
    measures: ORDERED,
  },
  {
    kind: 'minimum',
    title: 'Minimum (an extreme quantile)',
    fields: ['measured', 'perPerson'],
    measures: ORDERED,
  },
  {
    kind: 'maximum',
    title: 'Maximum (an extreme quantile)',
    fields: ['measured', 'perPerson'],
    measures: ORDERED,
  },
  { kind: 'proportion', title: 'Proportion', fields: ['share'] },
  { kind: 'variance', title: 'Variance', fields: ['measured'], measures: NUMBERS },
  { kind: 'standardDeviation', title: 'Standard deviation', fields: ['measured'], measures: NUMBERS },
  { kind: 'covariance', title: 'Covariance', fields: ['pair'] },
  { kind: 'correlation', title: 'Correlation', fields: ['pair'] },
  { kind: 'linearRegression', title: 'Linear regression', fields: ['outcome', 'predictors'] },
  { kind: 'topGroups', title: 'Largest groups', fields: ['groupings', 'number', 'counted'] },
  { kind: 'noisyMax', title: 'Most frequent', fields: ['candidates', 'number', 'gap', 'counted'] },
  { kind: 'countDistinct', title: 'Distinct values', fields: ['grouping'] },
  { kind: 'keySelection', title: 'Frequent texts', fields: ['text', 'counts', 'delta'] },
]

/** Statistics of groups that measure a column, and those that need none. */
export const GROUP_STATISTICS = [
  'count',
  'mean',
  'sum',
  'median',
  'percentile',
  'variance',
  'standardDeviation',
  'proportion',
  'countDistinct',
] as const

/** Values that replace the rows of a person, and their names. */
const PERSON_VALUES = [
  ['', 'of each row'],
  ['sum', 'sum of each person'],
  ['mean', 'mean of each person'],
  ['count', 'number of rows of each person'],
] as const

/** Returns the values that can replace the rows of a person; sums and means only of numbers. */
export function personValues(
  columns: readonly Column[],
): readonly (readonly [value: string, title: string])[] {
  const hasNumbers = columns.some(({ type }) => type === 'integer' || type === 'number')
  return PERSON_VALUES.filter(([value]) => hasNumbers || (value !== 'sum' && value !== 'mean'))
}

/**
 * Returns the columns of which a person can have a value: numbers for a sum or mean, any for the number of rows.
 * @param types types of the column that the kind measures without a value per person
 */
export function valueColumns(
  perPerson: unknown,
  dataset: DatasetFacts,
  types: readonly Column['type'][],
): readonly Column[] {
  if (perPerson === 'count') return dataset.columns.filter(({ type }) => type !== 'identifier')
  return measuredColumns(dataset, perPerson === undefined ? types : NUMBERS)
}

/** Returns the entry of a kind. */
export function entryOf(kind: unknown): KindEntry | undefined {
  return KINDS.find((entry) => entry.kind === kind)
}

/** Returns the columns that a kind may measure. */
export function measuredColumns(
  { columns }: DatasetFacts,
  types: readonly Column['type'][],
): readonly Column[] {
  return columns.filter(({ type }) => types.includes(type))
}

/** Returns the columns that count as numbers in products: numbers, booleans, dates and timestamps. */
export function factorColumns(dataset: DatasetFacts): readonly Column[] {
  return measuredColumns(dataset, [...ORDERED, 'boolean'])
}

/** Returns the columns by which rows can be grouped. */
export function groupingColumns(dataset: DatasetFacts): readonly Column[] {
  return measuredColumns(dataset, ['category', 'boolean', ...ORDERED])
}

/** Returns the columns on which conditions can be put. */
export function conditionColumns(dataset: DatasetFacts): readonly Column[] {
  return dataset.columns.filter(({ type }) => type !== 'identifier')
}

/** Returns the columns of free text whose values may be released or counted. */
export function selectableColumns(dataset: DatasetFacts): readonly Column[] {
  return dataset.columns.filter((column) => column.type === 'string' && Boolean(column.selectable))
}

/** Returns the columns whose values can be counted. */
export function countableColumns(dataset: DatasetFacts): readonly Column[] {
  return [...groupingColumns(dataset), ...selectableColumns(dataset)]
}

/** Returns the kinds that a dataset has the columns for. */
export function offeredKinds(dataset: DatasetFacts): readonly KindEntry[] {
  return KINDS.filter(({ fields, measures }) =>
    fields.every((field) => {
      switch (field) {
        case 'measured':
          return measuredColumns(dataset, measures ?? []).length > 0
        case 'pair':
        case 'outcome':
          return factorColumns(dataset).length > 1
        case 'text':
          return selectableColumns(dataset).length > 0
        case 'share':
          return conditionColumns(dataset).length > 0
        default:
          return true
      }
    }),
  ).filter(({ kind }) => kindHasGroups(kind, dataset))
}

/** True unless a kind needs more columns to group by than a dataset has. */
function kindHasGroups(kind: string, dataset: DatasetFacts): boolean {
  const columns = groupingColumns(dataset).length
  switch (kind) {
    case 'histogram':
    case 'topGroups':
      return columns > 0
    case 'contingency':
      return columns > 1
    case 'noisyMax':
      return conditionColumns(dataset).length > 0
    case 'countDistinct':
      return countableColumns(dataset).length > 0
    default:
      return true
  }
}

const BINS = 5

/** Returns a column as a grouping: as it is, in bins of equal width, or by year. */
export function groupingOf(column: Column): unknown {
  switch (column.type) {
    case 'integer': {
      const width = Math.max(1, Math.ceil((column.upper - column.lower) / BINS))
      const edges = Array.from({ length: BINS }, (_, bin) => column.lower + bin * width)
      return { column: column.name, edges: [...edges.filter((edge) => edge < column.upper), column.upper] }
    }
    case 'number': {
      const steps = Math.max(1, Math.ceil((column.upper - column.lower) / column.step / BINS))
      const edges = Array.from({ length: BINS }, (_, bin) =>
        rounded(column.lower + bin * steps * column.step),
      )
      return { column: column.name, edges: [...edges.filter((edge) => edge < column.upper), column.upper] }
    }
    case 'date':
    case 'timestamp':
      return { column: column.name, by: 'year' }
    default:
      return column.name
  }
}

function rounded(value: number): number {
  return Number(value.toPrecision(12))
}

/** Fields that a question keeps when its kind changes. */
const KEPT = ['where', 'epsilon', 'accuracy', 'contribution', 'mechanism']

/**
 * Returns a question of a kind that the service accepts as it is, from the first columns that fit. It keeps the condition
 * and the price of the question before.
 */
export function questionOf(kind: string, dataset: DatasetFacts, before: Question = {}): Question {
  const entry = entryOf(kind)
  const kept = Object.fromEntries(KEPT.flatMap((name) => (name in before ? [[name, before[name]]] : [])))
  const fields = entry?.fields.map((field) => initialField(field, entry, dataset)) ?? []
  const { mechanism: _, ...withoutMechanism } = kept
  const question = {
    kind,
    ...Object.assign({}, ...fields),
    ...(kind === before.kind ? kept : withoutMechanism),
  }
  return withFittingContribution(question, dataset)
}

function initialField(field: FieldKind, entry: KindEntry, dataset: DatasetFacts): Question {
  const factors = factorColumns(dataset).map(({ name }) => name)
  const groupings = groupingColumns(dataset)
  const [first] = groupings
  const second = groupings.find((column) => column !== first)
  switch (field) {
    case 'measured':
      return { column: measuredColumns(dataset, entry.measures ?? [])[0]?.name }
    case 'pair':
      return { columns: factors.slice(0, 2) }
    case 'outcome':
      return { outcome: factors[0] }
    case 'predictors':
      return { predictors: factors.slice(1, 2) }
    case 'share':
      return { of: initialCondition(dataset) }
    case 'grouping': {
      const [countable] = entry.kind === 'countDistinct' ? countableColumns(dataset) : groupings
      return { column: countable && groupingOf(countable) }
    }
    case 'groupings': {
      const chosen = [first, entry.kind === 'contingency' ? second : undefined]
      const listed = chosen.flatMap((column) => (column === undefined ? [] : [groupingOf(column)]))
      return entry.kind === 'contingency' ? { columns: listed } : { keys: listed }
    }
    case 'statistics':
      return { statistics: [{ kind: 'count' }] }
    case 'candidates':
      return {
        candidates: first === undefined ? initialCandidates(dataset) : { column: groupingOf(first) },
      }
    case 'percentages':
      return { p: [25, 50, 75] }
    case 'text':
      return { column: selectableColumns(dataset)[0]?.name }
    case 'delta':
      return { delta: 0.000001 }
    case 'number':
    case 'counted':
    case 'perPerson':
    case 'gap':
    case 'counts':
      return {}
  }
}

/** Returns two named conditions as the candidates of a selection. */
export function initialCandidates(dataset: DatasetFacts): Question {
  const where = initialCondition(dataset)
  return {
    predicates: [
      { name: 'first', where },
      { name: 'second', where: { op: 'not', predicate: where } },
    ],
  }
}

/** Returns a condition on the first column that can have one. */
export function initialCondition(dataset: DatasetFacts): Question {
  const [column] = conditionColumns(dataset)
  return column === undefined ? {} : conditionOn(column)
}

/** Returns a condition on a column, with its first declared value. */
export function conditionOn(column: Column): Question {
  switch (column.type) {
    case 'category':
      return { column: column.name, op: 'in', values: column.categories.slice(0, 1) }
    case 'boolean':
      return { column: column.name, op: '=', value: true }
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp':
      return { column: column.name, op: '>=', value: column.lower }
    case 'string':
      return { column: column.name, op: '=', value: '' }
    case 'identifier':
      return { column: column.name, op: 'isNull' }
  }
}
