import { beforeAll, describe, expect, test } from 'vitest'
import type { components } from '../../clients/typescript/src/schema.ts'
import { sqlOf } from '../../console/src/pages/answers/question-as-sql.ts'
import { type ConditionGroup, groupOf, wholePredicateOf } from '../../console/src/pages/ask/conditions.ts'
import { KINDS, questionOf } from '../../console/src/pages/ask/kinds.ts'
import {
  priceOf,
  queriesOf,
  readQuestion,
  withField,
  withPrice,
} from '../../console/src/pages/ask/question.ts'
import { QUERY_KINDS, query as querySchema } from '../../schemas/query.ts'
import { plan } from '../../src/planner/plan.ts'
import { loadParser } from '../../src/sql/parser.ts'
import { queryOf, visits } from '../sql/translated.ts'
import { QUESTIONS } from './question-examples.ts'

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
  test('offers every kind that the service answers, and no other', () => {
    expect(KINDS.map(({ kind }) => kind).sort()).toEqual([...QUERY_KINDS].sort())
  })

  test.each(KINDS.map(({ kind }) => kind))('begins with a question that the service accepts: %s', (kind) => {
    const parsed = querySchema.safeParse(withPrice(questionOf(kind, FACTS), { by: 'epsilon', epsilon: 0.1 }))
    expect(parsed.error).toBeUndefined()
  })

  test('keeps the rows and the price when the kind changes, and the mechanism only within a kind', () => {
    const before = {
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

  test('divides a column of numbers into bins that end at its bounds', () => {
    expect(questionOf('histogram', { ...FACTS, columns: FACTS.columns.slice(1, 2) })).toEqual({
      kind: 'histogram',
      column: { column: 'age', edges: [0, 24, 48, 72, 96, 120] },
    })
  })
})

describe('a condition', () => {
  const young = { column: 'age', op: '<', value: 30 }
  const north = { column: 'Region', op: 'in', values: ['north'] }
  const test1 = { kind: 'test', test: young } as const
  const test2 = { kind: 'test', test: north } as const
  const either = { op: 'or', predicates: [young, north] }
  const anyOfBoth = { combine: 'any', parts: [test1, test2], isList: true } as const

  test.each<[unknown, ConditionGroup]>([
    [undefined, { combine: 'all', parts: [] }],
    [young, { combine: 'all', parts: [test1] }],
    [either, anyOfBoth],
    [
      { op: 'not', predicate: young },
      { combine: 'not-all', parts: [test1] },
    ],
    [
      { op: 'not', predicate: either },
      { combine: 'none', parts: [test1, test2], isList: true },
    ],
    [
      { op: 'not', predicate: { op: 'not', predicate: young } },
      { combine: 'not-all', parts: [{ kind: 'group', group: { combine: 'not-all', parts: [test1] } }] },
    ],
    [
      { op: 'and', predicates: [young, either, { op: 'and', predicates: [north] }] },
      {
        combine: 'all',
        parts: [
          test1,
          { kind: 'group', group: anyOfBoth },
          { kind: 'group', group: { combine: 'all', parts: [test2], isList: true } },
        ],
        isList: true,
      },
    ],
  ])('is a group, and becomes itself again: %j', (predicate, group) => {
    expect(groupOf(predicate)).toEqual(group)
    expect(wholePredicateOf(group)).toEqual(predicate)
  })

  test('of every question that the service accepts becomes itself again', () => {
    for (const { where } of QUESTIONS) {
      const group = groupOf(where)
      expect(group).toBeDefined()
      expect(group && wholePredicateOf(group)).toEqual(where)
    }
  })

  test('loses groups without a part, and a list of the whole condition that has one part', () => {
    const empty = { kind: 'group', group: { combine: 'any', parts: [], isList: true } } as const
    expect(wholePredicateOf({ combine: 'any', parts: [test1, empty], isList: true })).toEqual(young)
    expect(wholePredicateOf({ combine: 'any', parts: [test1], isList: true })).toEqual(young)
    expect(wholePredicateOf({ combine: 'all', parts: [empty] })).toBeUndefined()
  })

  test.each([
    ['age > 3'],
    [{ op: 'and', predicates: [] }],
    [{ op: 'not' }],
    [{ op: 'xor', predicates: [young] }],
  ])('that is none is left to JSON: %j', (predicate) => {
    expect(groupOf(predicate)).toBeUndefined()
  })
})

describe('a price', () => {
  test('is an epsilon of at most 9 digits, or a half-width that keeps its confidence', () => {
    const question = { kind: 'count', accuracy: { halfWidth: 5, confidence: 0.99 } }
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

test('a text that is no question says why', () => {
  expect(readQuestion('{"kind": "count"}')).toEqual({ question: { kind: 'count' } })
  expect(readQuestion('[1]')).toHaveProperty('error')
  expect(readQuestion('{"column": "age"}')).toEqual({ error: 'must have a kind' })
  expect(readQuestion('{')).toHaveProperty('error')
  expect(queriesOf({ queries: [{ kind: 'count' }] })).toEqual([{ kind: 'count' }])
  expect(withField({ kind: 'count', where: 1 }, 'where', undefined)).toEqual({ kind: 'count' })
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
