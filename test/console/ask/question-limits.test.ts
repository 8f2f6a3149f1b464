import { describe, expect, test } from 'vitest'
import type { Kind } from '../../../clients/kind-entry.ts'
import { KINDS } from '../../../console/src/api/kinds.ts'
import {
  columnsOf,
  fittingColumns,
  groupingOf,
  offeredKinds,
  questionOf,
  withFittingColumn,
} from '../../../console/src/pages/ask/kinds/kinds.ts'
import {
  nextStatistic,
  offeredStatistics,
  statisticFields,
  statisticOf,
} from '../../../console/src/pages/ask/kinds/statistics.ts'
import { isMisfit, tablesAsked } from '../../../console/src/pages/ask/kinds/weights.ts'
import { type Question, type Statistic, withField } from '../../../console/src/pages/ask/question/question.ts'
import {
  boundedBy,
  contributionChoices,
  contributionOf,
  initialClamp,
  withBound,
  withClamp,
  withFittingContribution,
  withLimit,
} from '../../../console/src/pages/ask/terms/contribution.ts'
import { query as querySchema } from '../../../schemas/answers/query.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { COLUMNS, type KnownDataset, knownDataset, PEOPLE, ROWS } from './question-datasets.ts'

/** Says why the service refuses a question; undefined if it answers it. */
function refusalOf(question: object, { dataset }: KnownDataset): string | undefined {
  const parsed = querySchema.safeParse({ epsilon: 1, ...question })
  if (!parsed.success) return parsed.error.message
  try {
    plan(parsed.data, dataset, { maxCells: 10_000 })
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error.message
    throw error
  }
}

/** Columns of every type, and free text that may not be released. */
const MORE = knownDataset([...COLUMNS, { name: 'note', type: 'string', nullable: true }], {
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 50 },
})

/** Questions on which the offered bounds depend, besides the first of each kind. */
const VARIANTS: readonly Question[] = [
  { kind: 'groupBy', keys: [], statistics: [{ kind: 'sum', column: 'cost' }] },
  { kind: 'groupBy', keys: ['Region'], statistics: [{ kind: 'sum', column: 'cost' }] },
  {
    kind: 'groupBy',
    keys: ['Region'],
    statistics: [
      { kind: 'sum', column: 'cost' },
      { kind: 'sum', column: 'age' },
    ],
  },
  { kind: 'groupBy', keys: ['Region'], statistics: [{ kind: 'median', column: 'age' }] },
  { kind: 'mean', column: 'cost', perPerson: 'sum' },
  { kind: 'median', column: 'age', perPerson: 'mean' },
  { kind: 'percentile', column: 'day', perPerson: 'count', p: [50] },
  { kind: 'minimum', column: 'age', perPerson: 'sum' },
  { kind: 'countDistinct', column: 'diagnosis' },
  { kind: 'countDistinct', column: 'Region' },
  {
    kind: 'noisyMax',
    candidates: {
      predicates: ['a', 'b'].map((name) => ({ name, where: { column: 'urgent', op: '=', value: true } })),
    },
  },
]
const ALL = Object.keys(KINDS) as Kind[]
const ASKED = [...ALL.map((kind) => questionOf(kind, PEOPLE.facts)), ...VARIANTS]

describe('bounds on what each person contributes', () => {
  test.each(ASKED.map((question) => [question]))('are offered if the service takes them: %j', (question) => {
    const choices = contributionChoices(question, PEOPLE.facts)
    const takes = (contribution: object) => refusalOf({ ...question, contribution }, PEOPLE) === undefined
    expect(takes({ rows: 2 })).toBe(choices !== undefined)
    expect(takes({ groups: 2 })).toBe(choices?.groups === true)
    expect(takes({ groups: 2, rowsPerGroup: 2 })).toBe(choices?.groups === true && choices.rowsPerGroup)
    expect(takes({ perPerson: { lower: 0, upper: 10 } })).toBe(choices?.clamped !== undefined)
  })

  test.each(ASKED.map((question) => [question]))(
    'begin with values that the service takes: %j',
    (question) => {
      const choices = contributionChoices(question, PEOPLE.facts)
      if (choices === undefined) return
      const bounded = [
        question,
        withBound(question, 'rows', choices),
        ...(choices.groups ? [withBound(question, 'groups', choices)] : []),
        ...(choices.clamped === undefined ? [] : [withClamp(question, initialClamp(question, choices))]),
      ]
      expect(bounded.map((each) => refusalOf(each, PEOPLE))).toEqual(bounded.map(() => undefined))
    },
  )

  test('are absent where rows are protected', () => {
    expect(contributionChoices({ kind: 'count' }, ROWS.facts)).toBeUndefined()
  })

  test('replace each other, and leave the clamp', () => {
    const choices = { maxRows: 50, groups: true, rowsPerGroup: true, clamped: undefined }
    const clamped: Question = {
      kind: 'sum',
      column: 'cost',
      contribution: { rows: 3, perPerson: { lower: 0, upper: 9 } },
    }
    expect(boundedBy(clamped)).toBe('rows')
    const grouped = withLimit(withBound(clamped, 'groups', choices), 'rowsPerGroup', 4)
    expect(boundedBy(grouped)).toBe('groups')
    expect(contributionOf(grouped)).toEqual({
      groups: 25,
      rowsPerGroup: 4,
      perPerson: { lower: 0, upper: 9 },
    })
    expect(contributionOf(withLimit(grouped, 'rowsPerGroup', 1))).not.toHaveProperty('rowsPerGroup')
    expect(withBound(withClamp(grouped, undefined), 'dataset', choices)).toEqual({
      kind: 'sum',
      column: 'cost',
    })
  })

  test('that do not fit another kind are left out', () => {
    const histogram: Question = {
      kind: 'histogram',
      column: 'Region',
      contribution: { groups: 4, rowsPerGroup: 2 },
      epsilon: 0.1,
    }
    expect(contributionOf(questionOf('contingency', PEOPLE.facts, histogram))).toEqual(histogram.contribution)
    expect(questionOf('count', PEOPLE.facts, histogram)).not.toHaveProperty('contribution')
    expect(contributionOf(questionOf('keySelection', PEOPLE.facts, histogram))).toEqual({ groups: 4 })
    const clamped: Question = {
      kind: 'sum',
      column: 'cost',
      contribution: { rows: 3, perPerson: { lower: 0, upper: 9 } },
    }
    expect(contributionOf(questionOf('mean', PEOPLE.facts, clamped))).toEqual(clamped.contribution)
    expect(contributionOf(questionOf('median', PEOPLE.facts, clamped))).toEqual({ rows: 3 })
    expect(withFittingContribution(clamped, ROWS.facts)).not.toHaveProperty('contribution')
  })
})

describe('the statistics of groups', () => {
  test('that the form adds are accepted, up to the largest number', () => {
    const listed: Statistic[] = [{ kind: 'count' }]
    while (listed.length < 8) {
      const next = nextStatistic(listed, PEOPLE.facts)
      if (next === undefined) break
      listed.push(next)
      expect(refusalOf({ kind: 'groupBy', keys: ['Region'], statistics: listed }, PEOPLE)).toBeUndefined()
    }
    expect(listed).toHaveLength(8)
  })

  test('begin with one that the service accepts', () => {
    const offered = offeredStatistics(PEOPLE.facts)
    expect([...offered].sort()).toEqual(ALL.filter((kind) => KINDS[kind].statistic !== undefined).sort())
    for (const kind of offered) {
      const statistics = [statisticOf(kind, PEOPLE.facts, { kind: 'mean', column: 'day' })]
      expect([kind, refusalOf({ kind: 'groupBy', keys: [], statistics }, PEOPLE)]).toEqual([kind, undefined])
    }
  })
})

/** Every field of a kind or of a statistic that names one column, and a question that states it. */
const COLUMN_FIELDS = ALL.flatMap((kind) => {
  const { fields, statistic = {} } = KINDS[kind]
  const question = questionOf(kind, PEOPLE.facts)
  const withColumn = (name: string, column: unknown) => withField(question, name, column)
  const inGroups = (name: string, column: unknown) => ({
    kind: 'groupBy',
    keys: [],
    statistics: [withField(statisticOf(kind as Statistic['kind'], PEOPLE.facts), name, column)],
  })
  return [
    ...Object.entries(fields).map(([name, field]) => ({ kind, name, field, ask: withColumn })),
    ...Object.entries(statistic).map(([name, field]) => ({ kind, name, field, ask: inGroups })),
  ].filter(({ field: { type } }) => type === 'column' || type === 'grouping')
})

test.each(COLUMN_FIELDS.map((each) => [each.kind, each.name, each] as const))(
  'the service takes exactly the columns that the table of kinds names: %s, %s',
  (_, name, { field, ask }) => {
    const others = (column: string) => ({
      predictors: ['age', 'cost'].filter((each) => each !== column).slice(0, 1),
    })
    const fitting = columnsOf(field.columns ?? { types: [] }, MORE.facts)
    for (const column of MORE.facts.columns) {
      const value = field.type === 'grouping' ? groupingOf(column) : column.name
      const asked = { ...ask(name, value), ...(name === 'outcome' ? others(column.name) : {}) }
      expect([column.name, refusalOf(asked, MORE) === undefined]).toEqual([
        column.name,
        fitting.includes(column),
      ])
    }
  },
)

test.each(['day', 'age', 'diagnosis'])(
  'a mean of values per person keeps to columns that fit: %s',
  (column) => {
    const fields = statisticFields('mean')
    for (const perPerson of ['sum', 'mean', 'count', undefined]) {
      const asked = withField<object>({ kind: 'mean', column }, 'perPerson', perPerson)
      const statistics = [withFittingColumn(asked, fields, PEOPLE.facts)]
      expect(refusalOf({ kind: 'groupBy', keys: ['Region'], statistics }, PEOPLE)).toBeUndefined()
      for (const kind of ['mean', 'median'] as const) {
        const { column: field } = KINDS[kind].fields
        if (field === undefined) throw new Error('the kind measures a column')
        for (const { name } of fittingColumns(field, KINDS[kind].fields, asked, PEOPLE.facts)) {
          const question = { kind, column: name, ...(perPerson && { perPerson }), contribution: { rows: 3 } }
          expect([name, refusalOf(question, PEOPLE)]).toEqual([name, undefined])
        }
      }
    }
  },
)

const only = (...columns: readonly object[]) => knownDataset(columns)
const named = (name: string) => COLUMNS.filter((column) => column.name === name)

describe('a dataset with few columns', () => {
  test.each<[string, KnownDataset]>([
    ['one category', only(...named('Region'))],
    ['one number', only(...named('cost'))],
    ['one date', only(...named('day'))],
    ['one boolean', only(...named('urgent'))],
    ['one text', only(...named('diagnosis'))],
    ['one text that may not be released', only({ name: 'note', type: 'string', nullable: true })],
    ['no numbers', only(...named('Region'), ...named('urgent'), ...named('diagnosis'))],
    ['an identifier alone', only(...named('patient'))],
    [
      'one category with one value',
      only({ name: 'a', type: 'category', categories: ['x'], nullable: false }),
    ],
    [
      'a number with two values',
      only({ name: 'a', type: 'number', lower: 0, upper: 0.1, step: 0.1, nullable: false }),
    ],
    [
      'quotes, spaces and another direction',
      only(
        { name: `it's "a" name`, type: 'integer', lower: -5, upper: 5, step: 1, nullable: true },
        { name: 'שם', type: 'category', categories: ['אחת', '', 'a"b'], nullable: true },
      ),
    ],
  ])('offers only questions that the service accepts: %s', (_, known) => {
    for (const [kind] of offeredKinds(known.facts))
      expect([kind, refusalOf(questionOf(kind, known.facts), known)]).toEqual([kind, undefined])
  })
})

describe('weights of marginals', () => {
  const asked = {
    kind: 'marginals',
    columns: [
      'Region',
      'urgent',
      groupingOf(PEOPLE.facts.columns.find(({ name }) => name === 'age') as never),
    ],
    ways: [2, 1],
  } as const

  test('have the tables in the order in which the service takes them', () => {
    const names = tablesAsked(asked).map((columns) => columns.join())
    expect(names).toEqual(['Region,urgent', 'Region,age', 'urgent,age', 'Region', 'urgent', 'age'])
    const { data } = querySchema.safeParse({ ...asked, weights: [1, 1, 1, 1, 1, 100], epsilon: 1 })
    const planned = data && plan(data, PEOPLE.dataset, { maxCells: 10_000 })
    if (planned?.kind !== 'marginals') throw new Error('tables are planned')
    const errors = planned.tables.map(({ deviation }) => deviation)
    expect(Math.min(...errors)).toBe(errors[names.indexOf('age')])
  })

  test('of other tables do not fit, and too many tables are never listed', () => {
    expect(isMisfit([1, 2], asked)).toBe(true)
    expect(isMisfit([1, 1, 1, 1, 1, 2], asked)).toBe(false)
    const columns = Array.from({ length: 30 }, (_, place) => `c${place}`)
    expect(tablesAsked({ columns, ways: 15 })).toEqual([])
    expect(tablesAsked({ columns, ways: ['x', 31, 1.5] })).toEqual([])
  })
})
