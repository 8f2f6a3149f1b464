import type { ColumnRule, Kind, KindEntry, KindField, KindFields } from '../../../../../clients/kind-entry.ts'
import { KINDS } from '../../../api/kinds.ts'
import type { Column, DatasetFacts } from '../../datasets/dataset.ts'
import {
  type Candidates,
  type ColumnTest,
  fieldValue,
  type Grouping,
  type Question,
  withField,
} from '../question/question.ts'
import { withFittingContribution } from '../terms/contribution.ts'

/** Returns the columns that fit a rule. */
export function columnsOf({ types, selectable }: ColumnRule, { columns }: DatasetFacts): readonly Column[] {
  return columns.filter(
    (column) =>
      types.includes(column.type) &&
      (selectable === undefined || column.type !== 'string' || Boolean(column.selectable)),
  )
}

/** Returns the columns that a field takes. They depend on the value of each person, if there is one. */
export function fittingColumns(
  { columns = { types: [] } }: KindField,
  fields: KindFields,
  asked: object,
  dataset: DatasetFacts,
): readonly Column[] {
  const rule = fields.perPerson?.personColumns?.[String(fieldValue(asked, 'perPerson'))]
  return columnsOf(rule ?? columns, dataset)
}

/** Returns columns in the order in which they are proposed for a statistic of numbers: numbers before dates. */
export function numbersFirst(columns: readonly Column[]): readonly Column[] {
  const isNumber = ({ type }: Column) => type === 'integer' || type === 'number'
  return columns.some(({ type }) => type === 'category')
    ? columns
    : columns.toSorted((one, other) => Number(isNumber(other)) - Number(isNumber(one)))
}

/** Returns a question with another column if its own does not fit its value of each person. */
export function withFittingColumn<Asked extends object>(
  asked: Asked,
  fields: KindFields,
  dataset: DatasetFacts,
): Asked {
  if (fields.column === undefined) return asked
  const columns = fittingColumns(fields.column, fields, asked, dataset)
  const fits = columns.some(({ name }) => name === fieldValue(asked, 'column'))
  return fits ? asked : withField(asked, 'column', numbersFirst(columns)[0]?.name)
}

/** Returns the columns on which conditions can be put. */
export function conditionColumns(dataset: DatasetFacts): readonly Column[] {
  return dataset.columns.filter(({ type }) => type !== 'identifier')
}

/** Returns the kinds that fit a dataset's privacy unit and its columns. */
export function offeredKinds(dataset: DatasetFacts): readonly (readonly [Kind, KindEntry])[] {
  return (Object.entries(KINDS) as [Kind, KindEntry][]).filter(
    ([, { fields, ofPeople }]) =>
      (ofPeople === undefined || dataset.privacyUnit.kind === 'person') && hasColumnsFor(fields, dataset),
  )
}

/** True if the required fields of a question or a statistic can be filled. They name different columns. */
export function hasColumnsFor(fields: KindFields, dataset: DatasetFacts): boolean {
  let named = 0
  return Object.values(fields).every(({ type, optional, least = 1, columns }) => {
    if (optional) return true
    switch (type) {
      case 'column':
      case 'columns':
      case 'grouping':
      case 'groupings':
        named += least
        return columns === undefined || columnsOf(columns, dataset).length >= named
      case 'condition':
      case 'candidates':
        return conditionColumns(dataset).length > 0
      default:
        return true
    }
  })
}

const BINS = 5

/** Returns a column as a grouping: as it is, in bins of equal width, or by year. */
export function groupingOf(column: Column): Grouping {
  switch (column.type) {
    case 'integer': {
      const width = Math.max(1, Math.ceil((column.upper - column.lower) / BINS))
      return binned(column, (bin) => column.lower + bin * width)
    }
    case 'number': {
      const steps = Math.max(1, Math.ceil((column.upper - column.lower) / column.step / BINS))
      return binned(column, (bin) => Number((column.lower + bin * steps * column.step).toPrecision(12)))
    }
    case 'date':
    case 'timestamp':
      return { column: column.name, by: 'year' }
    default:
      return column.name
  }
}

function binned(
  { name, upper }: Extract<Column, { upper: number }>,
  edgeOf: (bin: number) => number,
): Grouping {
  const edges = Array.from({ length: BINS }, (_, bin) => edgeOf(bin)).filter((edge) => edge < upper)
  return { column: name, edges: [...edges, upper] }
}

/** Fields that a question keeps when its kind changes, and those that it keeps within a kind. */
const KEPT = ['where', 'epsilon', 'accuracy', 'contribution']

/**
 * Returns a question of a kind that the service accepts as it is, from the first columns that fit. It keeps the condition
 * and the price of the question before.
 */
export function questionOf(kind: Kind, dataset: DatasetFacts, before?: Question): Question {
  const names = kind === before?.kind ? [...KEPT, 'mechanism'] : KEPT
  const kept = Object.entries(before ?? {}).filter(([name]) => names.includes(name))
  const fields = initialFields(KINDS[kind].fields, dataset)
  return withFittingContribution({ kind, ...fields, ...Object.fromEntries(kept) } as Question, dataset)
}

/**
 * Returns the first values of the required fields of a question or a statistic.
 * @param preferred name of a column that is taken if it fits
 */
export function initialFields(fields: KindFields, dataset: DatasetFacts, preferred?: unknown): object {
  const named = new Set<string>()
  const taken = ({ columns, least = 1 }: KindField) => {
    const free =
      columns === undefined
        ? []
        : numbersFirst(columnsOf(columns, dataset)).filter(({ name }) => !named.has(name))
    const first = free.filter(({ name }) => name === preferred)
    const chosen = [...new Set([...first, ...free])].slice(0, Math.max(1, least))
    for (const { name } of chosen) named.add(name)
    return chosen
  }
  const required = Object.entries(fields).filter(([, { optional }]) => optional === undefined)
  return Object.fromEntries(required.map(([name, field]) => [name, initialValue(field, taken, dataset)]))
}

function initialValue(
  field: KindField,
  taken: (field: KindField) => readonly Column[],
  dataset: DatasetFacts,
): unknown {
  switch (field.type) {
    case 'column':
      return taken(field)[0]?.name
    case 'columns':
      return taken(field).map(({ name }) => name)
    case 'grouping':
      return taken(field).map(groupingOf)[0]
    case 'groupings':
      return taken(field).map(groupingOf)
    case 'condition':
      return initialCondition(dataset)
    case 'statistics':
      return [{ kind: 'count' }]
    case 'candidates': {
      const [first] = taken(field).map(groupingOf)
      return first === undefined ? initialCandidates(dataset) : { column: first }
    }
    default:
      return field.initial
  }
}

/** Returns two named conditions as the candidates of a selection. */
export function initialCandidates(dataset: DatasetFacts): Candidates {
  const where = initialCondition(dataset)
  return {
    predicates: [
      { name: 'first', where },
      { name: 'second', where: { op: 'not', predicate: where } },
    ],
  }
}

/** Returns a condition on the first column that can have one; without such a column, one that the service refuses. */
export function initialCondition(dataset: DatasetFacts): ColumnTest {
  const [column] = conditionColumns(dataset)
  return column === undefined ? { column: '', op: 'isNull' } : conditionOn(column)
}

/** Returns a condition on a column, with its first declared value. */
export function conditionOn(column: Column): ColumnTest {
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
