import { beforeAll, describe, expect, test } from 'vitest'
import type { components } from '../../../clients/typescript/src/schema.ts'
import { sqlOf } from '../../../console/src/pages/answers/code/question-as-sql.ts'
import {
  type ConditionGroup,
  groupOf,
  predicateOf,
} from '../../../console/src/pages/ask/conditions/conditions.ts'
import { questionOf } from '../../../console/src/pages/ask/kinds/kinds.ts'
import {
  type ColumnTest,
  type Predicate,
  priceOf,
  type Question,
  withField,
  withPrice,
} from '../../../console/src/pages/ask/question/question.ts'
import { readQuestion } from '../../../console/src/pages/ask/question/read-question.ts'
import { QUERY_KINDS, query as querySchema } from '../../../schemas/answers/query.ts'
import { loadParser } from '../../../src/answers/sql/parsing/parser.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { queryOf, visits } from '../../answers/sql/translated.ts'
import { QUESTIONS, UNUSUAL_QUESTIONS } from './question-examples.ts'

/** Columns of every type, as the service describes them to the console. */
const FACTS = {
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 5 },
  columns: [
    { name: 'patient', type: 'identifier', nullable: false },
    { name: 'age', type: 'integer', lower: 0, upper: 120, nullable: false },
    { name: 'Region', type: 'category', categories: ['north', "the 'south'"], nullable: false },
    { name: 'cost', type: 'number', lower: 0, upper: 1_000, step: 0.5, nullable: true },
    { name: 'day', type: 'date', lower: '2024-01-01', upper: '2024-12-31', nullable: false },
    { name: 'urgent', type: 'boolean', nullable: true },
    { name: 'diagnosis', type: 'string', selectable: true, nullable: false },
  ],
} as unknown as Pick<components['schemas']['Dataset'], 'columns' | 'privacyUnit'>

describe('the form', () => {
  test.each(QUERY_KINDS)('begins with a question that the service accepts: %s', (kind) => {
    const parsed = querySchema.safeParse(withPrice(questionOf(kind, FACTS), { by: 'epsilon', epsilon: 0.1 }))
    expect(parsed.error).toBeUndefined()
  })

  test('keeps the rows and the price when the kind changes, and the mechanism only within a kind', () => {
    const before: Question = {
      kind: 'sum',
      column: 'cost',
      where: { column: 'age', op: '>', value: 3 },
      epsilon: 0.5,
      mechanism: 'laplace',
    }
    expect(questionOf('median', FACTS, before)).toEqual({
      kind: 'median',
      column: 'age',
      where: before.where,
      epsilon: 0.5,
    })
    expect(questionOf('sum', FACTS, before)).toMatchObject({ mechanism: 'laplace' })
  })

  test('begins with a column of numbers, whichever column is first', () => {
    const datesFirst = { ...FACTS, columns: FACTS.columns.toReversed() }
    for (const kind of ['mean', 'sum', 'median', 'variance', 'minimum'] as const)
      expect(questionOf(kind, datesFirst)).toMatchObject({ column: 'cost' })
  })

  test('divides a column of numbers into bins that end at its bounds', () => {
    expect(questionOf('histogram', { ...FACTS, columns: FACTS.columns.slice(1, 2) })).toEqual({
      kind: 'histogram',
      column: { column: 'age', edges: [0, 24, 48, 72, 96, 120] },
    })
  })
})

describe('a condition', () => {
  const young: ColumnTest = { column: 'age', op: '<', value: 30 }
  const north: ColumnTest = { column: 'Region', op: 'in', values: ['north'] }
  const either: Predicate = { op: 'or', predicates: [young, north] }

  test.each<[Predicate | undefined, ConditionGroup]>([
    [undefined, { combine: 'all', parts: [], isList: false }],
    [young, { combine: 'all', parts: [young], isList: false }],
    [either, { combine: 'any', parts: [young, north], isList: true }],
    [
      { op: 'not', predicate: young },
      { combine: 'not-all', parts: [young], isList: false },
    ],
    [
      { op: 'not', predicate: either },
      { combine: 'none', parts: [young, north], isList: true },
    ],
    [
      { op: 'not', predicate: { op: 'not', predicate: young } },
      { combine: 'not-all', parts: [{ op: 'not', predicate: young }], isList: false },
    ],
    [
      { op: 'and', predicates: [young, either, { op: 'and', predicates: [north] }] },
      { combine: 'all', parts: [young, either, { op: 'and', predicates: [north] }], isList: true },
    ],
  ])('is a group, and becomes itself again: %j', (predicate, group) => {
    expect(groupOf(predicate)).toEqual(group)
    expect(predicateOf(group)).toEqual(predicate)
  })

  test('of every question that the service accepts becomes itself again', () => {
    for (const question of QUESTIONS) {
      const where = question.where as Predicate | undefined
      expect(predicateOf(groupOf(where))).toEqual(where)
    }
  })

  test('is kept as a list of one part only for a group that was just begun', () => {
    const begun = { combine: 'any', parts: [young], isList: true } as const
    expect(predicateOf(begun)).toEqual({ op: 'or', predicates: [young] })
    expect(predicateOf({ ...begun, isList: false })).toEqual(young)
  })
})

describe('a price', () => {
  test('is an epsilon of at most 9 digits, or a half-width that keeps its confidence', () => {
    const question: Question = { kind: 'count', accuracy: { halfWidth: 5, confidence: 0.99 } }
    expect(priceOf(question)).toEqual({ by: 'accuracy', halfWidth: 5 })
    expect(withPrice(question, { by: 'accuracy', halfWidth: 7 })).toEqual({
      kind: 'count',
      accuracy: { halfWidth: 7, confidence: 0.99 },
    })
    expect(withPrice(question, { by: 'epsilon', epsilon: 0.1 + 0.2 })).toEqual({
      kind: 'count',
      epsilon: 0.3,
    })
  })

  test('is the usual one for a question without', () => {
    expect(priceOf({ kind: 'count' })).toEqual({ by: 'epsilon', epsilon: 0.1 })
  })
})

describe('a text', () => {
  test('that is no question says why', () => {
    expect(readQuestion('{"kind": "count"}')).toEqual({ question: { kind: 'count' } })
    expect(readQuestion('[]')).toHaveProperty('error')
    expect(readQuestion('{"column": "age"}')).toEqual({ error: 'must have a kind' })
    expect(readQuestion('{"kind": "toString"}')).toEqual({ error: 'has an unknown kind: toString' })
    expect(readQuestion('{')).toHaveProperty('error')
    expect(readQuestion('{"queries": [{"kind": "count"}]}')).toEqual({
      queries: [{ kind: 'count' }],
      terms: {},
    })
  })

  test.each<[object, string]>([
    [{ kind: 'mean' }, 'needs another column'],
    [{ kind: 'contingency', columns: 'Region' }, 'needs another columns'],
    [{ kind: 'histogram', column: { by: 'year' } }, 'needs another column'],
    [{ kind: 'groupBy', keys: [], statistics: [{ kind: 'noisyMax' }] }, 'needs another statistics'],
    [{ kind: 'noisyMax', candidates: { predicates: [{ name: 'a' }] } }, 'needs another candidates'],
    [{ kind: 'count', accuracy: { confidence: 0.9 } }, 'needs another accuracy'],
    [{ kind: 'count', contribution: 3 }, 'needs another contribution'],
    [{ kind: 'count', where: 'age > 3' }, 'needs another where'],
    [{ kind: 'count', where: { op: 'and', predicates: [] } }, 'needs another where'],
    [{ kind: 'count', where: { op: 'not' } }, 'needs another where'],
    [{ kind: 'count', where: { op: 'xor', predicates: [{ column: 'age' }] } }, 'needs another where'],
  ])('with a field that the form cannot show names it: %j', (question, error) => {
    expect(readQuestion(JSON.stringify(question))).toEqual({ error })
  })

  test('of every question that the service accepts is read', () => {
    for (const question of [...QUESTIONS, ...UNUSUAL_QUESTIONS])
      expect(readQuestion(JSON.stringify(question))).toEqual({ question })
  })

  test('may lose a field', () => {
    const count: Question = { kind: 'count', epsilon: 1 }
    expect(withField(count, 'epsilon', undefined)).toEqual({ kind: 'count' })
  })
})

describe('a question as SQL', () => {
  beforeAll(loadParser)

  test.each([
    [{ kind: 'count' }],
    [{ kind: 'count', where: { column: 'age', op: '>=', value: 65 } }],
    [{ kind: 'mean', column: 'age', where: { column: 'Region', op: 'in', values: ['North', "O'Hara"] } }],
    [
      {
        kind: 'standardDeviation',
        column: 'cost',
        where: { column: 'age', op: 'between', lower: 3, upper: 60 },
      },
    ],
    [{ kind: 'correlation', columns: ['age', 'cost'] }],
    [{ kind: 'minimum', column: 'age', where: { column: 'age', op: '!=', value: 5 } }],
    [{ kind: 'count', of: 'people' }],
    [{ kind: 'histogram', column: 'Region', of: 'people' }],
    [{ kind: 'histogram', column: { column: 'day', by: 'month' } }],
    [{ kind: 'histogram', column: { column: 'seen', by: 'hour' } }],
    [{ kind: 'contingency', columns: ['Region', { column: 'day', by: 'week' }] }],
    [
      {
        kind: 'groupBy',
        keys: [{ column: 'day', by: 'month' }],
        statistics: [
          { kind: 'count', of: 'people' },
          { kind: 'mean', column: 'cost' },
        ],
      },
    ],
    [
      {
        kind: 'groupBy',
        keys: ['Region'],
        statistics: [{ kind: 'count' }, { kind: 'sum', column: 'cost' }],
        where: {
          op: 'or',
          predicates: [
            { column: 'age', op: '<', value: 9 },
            { column: 'age', op: 'isNull' },
          ],
        },
      },
    ],
  ])('is translated back to a question with the same plan: %j', (question) => {
    const sql = sqlOf(question, 'visits', 'patient')
    const limits = { maxCells: 1_000 }
    const original = plan(querySchema.parse({ ...question, epsilon: 1 }), visits, limits)
    expect(plan(queryOf(sql ?? ''), visits, limits)).toEqual(original)
  })

  test('quotes names and texts', () => {
    const where = { column: 'a "b"', op: '=', value: "it's" }
    expect(sqlOf({ kind: 'count', where }, 'd')).toBe(`SELECT COUNT(*)\nFROM "d"\nWHERE "a ""b""" = 'it''s'`)
  })

  // SQL's NOT leaves rows without a value out, and a statement has no people, periods or further options.
  test.each([
    [{ kind: 'count', where: { op: 'not', predicate: { column: 'age', op: '=', value: 3 } } }],
    [{ kind: 'count', of: 'people' }],
    [{ kind: 'histogram', column: { column: 'age', edges: [0, 10] } }],
    [{ kind: 'histogram', column: { column: 'day', by: 'month', from: '2024-02' } }],
    [{ kind: 'histogram', column: { column: 'day', by: 'dayOfWeek' } }],
    [{ kind: 'mean', column: 'cost', perPerson: 'sum' }],
    [{ kind: 'noisyMax', candidates: { column: 'Region' } }],
    [{ kind: 'groupBy', keys: [], statistics: [{ kind: 'mean', column: 'cost' }] }],
    [{ kind: 'groupBy', keys: ['Region'], statistics: [{ kind: 'count' }] }],
  ])('is not offered where SQL would ask something else: %j', (question) => {
    expect(sqlOf(question, 'visits')).toBeUndefined()
  })
})
