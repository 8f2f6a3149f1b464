import { expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import {
  type Dataset,
  isGrid,
  isQueryable,
  type QueryableColumn,
} from '../../../../src/core/dataset/dataset.ts'
import { groupStatistics } from '../../../../src/core/planner/kinds/group-by/statistics.ts'
import { questionKinds } from '../../../../src/core/planner/kinds/question-kinds.ts'
import { type ColumnRule, fits } from '../../../../src/core/planner/language/column-rules.ts'
import { PERSON_VALUE_COLUMNS } from '../../../../src/core/planner/language/person-value.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { patients, people } from '../neighbours/people.ts'
import { LIMITS } from '../planned.ts'

/*
 * Each kind states as data which columns its fields take, and forms offer these columns. The planner refuses exactly the
 * others, naming the field.
 */

/** A dataset with a column of each type, and free text with and without the declaration `selectable`. */
function everyColumn(dataset: Dataset): Dataset {
  const [note] = dataset.columns.filter((column) => column.type === 'string')
  if (note === undefined) throw new Error('the dataset has no free text')
  const { selectable: _, ...text } = note
  const { name: __, ...number } = dataset.columns.find(({ name }) => name === 'Age') ?? note
  const more = [
    { ...text, name: 'Text' },
    { ...number, name: 'Other' },
  ] as Dataset['columns']
  return { ...dataset, columns: [...dataset.columns, ...more] }
}

/** A column as a grouping: as it is, or in one bin. */
function asGrouping(column: QueryableColumn): unknown {
  if (!isGrid(column)) return column.name
  return column.type === 'date'
    ? { column: column.name, by: 'month' }
    : { column: column.name, edges: [10, 20] }
}

/** Fields of questions with a column in the field that is tested, and columns that fit in the others. */
const FIELDS: Readonly<Record<string, (column: QueryableColumn, kind: string) => object>> = {
  column: (column, kind) => ({
    column: ['histogram', 'countDistinct', 'cumulativeCounts'].includes(kind)
      ? asGrouping(column)
      : column.name,
  }),
  columns: (column, kind) => ({
    columns:
      kind === 'contingency' || kind === 'marginals'
        ? [asGrouping(column), { column: 'Other', edges: [10, 20] }]
        : [column.name, 'Other'],
  }),
  keys: (column) => ({ keys: [asGrouping(column)] }),
  outcome: (column) => ({ outcome: column.name, predictors: ['Other'] }),
  predictors: (column) => ({ predictors: [column.name], outcome: 'Other' }),
  candidates: (column) => ({ candidates: { column: asGrouping(column) } }),
}
const OTHERS: Readonly<Record<string, object>> = {
  groupBy: { statistics: [{ kind: 'count' }] },
  percentile: { p: 25 },
  keySelection: { delta: 1e-6 },
  marginals: { ways: 2 },
}

function refused(wire: object, dataset: Dataset): Refusal | undefined {
  try {
    plan(querySchema.parse({ epsilon: 1, ...wire }), dataset, LIMITS)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  return undefined
}

function expectRule(
  rule: ColumnRule,
  field: string,
  wireOf: (column: QueryableColumn) => object,
  dataset: Dataset,
) {
  for (const column of dataset.columns.filter(isQueryable)) {
    if (column.name === 'Other') continue
    const refusal = refused(wireOf(column), dataset)
    const what = `${field} with ${column.name}: ${refusal?.message}`
    if (fits(rule, column)) expect(refusal, what).toBeUndefined()
    else expect(refusal?.errors[0]?.field, what).toMatch(new RegExp(`^${field}`))
  }
}

test('the planner refuses exactly the columns that no field of a kind takes', () => {
  const dataset = everyColumn(people('add-remove'))
  for (const [kind, { columns }] of Object.entries(questionKinds))
    for (const [field, rule] of Object.entries(columns) as [string, ColumnRule][])
      expectRule(
        rule,
        field,
        (column) => ({ kind, ...OTHERS[kind], ...FIELDS[field]?.(column, kind) }),
        dataset,
      )
})

test('so it does for the statistics of groups', () => {
  const dataset = everyColumn(people('add-remove'))
  for (const [kind, { columns }] of Object.entries(groupStatistics))
    for (const [field, rule] of Object.entries(columns) as [string, ColumnRule][])
      expectRule(
        rule,
        `statistics.0.${field}`,
        (column) => {
          const statistic = { kind, ...OTHERS[kind], ...FIELDS[field]?.(column, kind) }
          return { kind: 'groupBy', keys: ['Sex'], statistics: [statistic] }
        },
        dataset,
      )
})

test('so it does for values per person', () => {
  const dataset = everyColumn(patients('add-remove'))
  for (const [perPerson, rule] of Object.entries(PERSON_VALUE_COLUMNS))
    for (const kind of ['mean', 'median'])
      expectRule(rule, 'column', ({ name: column }) => ({ kind, column, perPerson }), dataset)
})
