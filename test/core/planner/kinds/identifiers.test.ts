import { describe, expect, test } from 'vitest'
import { QUERY_KINDS, query as querySchema } from '../../../../schemas/answers/query.ts'
import { planPredicate } from '../../../../src/core/planner/language/predicate.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import type { Refusal } from '../../../../src/privacy/refusal.ts'
import { thrownRefusal } from '../../../refusal.ts'
import { patients } from '../neighbours/people.ts'
import { LIMITS } from '../planned.ts'

/*
 * No query can use an identifier, in any field that names a column.
 */

const DATASET = patients('add-remove')
const ID = 'Patient'
const SOME = { column: 'Age', op: '>=', value: 30 }
const OF_ID = { column: ID, op: '=', value: 'p1' }

/** Queries that name the identifier, by the field that does. */
const QUERIES: readonly (readonly [
  field: string,
  wire: { readonly kind: string; readonly [field: string]: unknown },
])[] = [
  ['column', { kind: 'sum', column: ID }],
  ['column', { kind: 'mean', column: ID }],
  ...(['sum', 'count', 'mean'] as const).flatMap((perPerson) =>
    ['mean', 'median'].map((kind) => ['column', { kind, column: ID, perPerson }] as const),
  ),
  ['column', { kind: 'variance', column: ID }],
  ['column', { kind: 'standardDeviation', column: ID }],
  ['columns.0', { kind: 'covariance', columns: [ID, 'Age'] }],
  ['columns.1', { kind: 'covariance', columns: ['Age', ID] }],
  ['columns.1', { kind: 'correlation', columns: ['Age', ID] }],
  ['outcome', { kind: 'linearRegression', outcome: ID, predictors: ['Age'] }],
  ['predictors.0', { kind: 'linearRegression', outcome: 'Age', predictors: [ID] }],
  ['of.column', { kind: 'proportion', of: OF_ID }],
  ['where.column', { kind: 'contributionProfile', where: OF_ID }],
  ['column', { kind: 'countDistinct', column: ID }],
  ['column', { kind: 'histogram', column: ID }],
  ['column', { kind: 'bounds', column: ID }],
  ['column', { kind: 'cumulativeCounts', column: ID }],
  ['column.column', { kind: 'histogram', column: { column: ID, edges: [0, 1] } }],
  ['column.column', { kind: 'histogram', column: { column: ID, by: 'year' } }],
  ['columns.1', { kind: 'contingency', columns: ['Sex', ID] }],
  ['keys.0', { kind: 'groupBy', keys: [ID], statistics: [{ kind: 'count' }] }],
  ...(['sum', 'mean', 'variance', 'standardDeviation'] as const).map(
    (kind) =>
      [
        'statistics.0.column',
        { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind, column: ID }] },
      ] as const,
  ),
  [
    'statistics.0.column',
    { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'countDistinct', column: ID }] },
  ],
  [
    'statistics.0.of.column',
    { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'proportion', of: OF_ID }] },
  ],
  ['statistics.0.column', { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'median', column: ID }] }],
  [
    'statistics.0.column',
    { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'percentile', column: ID, p: 50 }] },
  ],
  ['keys.0', { kind: 'topGroups', keys: [ID] }],
  ['columns.0', { kind: 'marginals', columns: [ID], ways: 1 }],
  ['candidates.column', { kind: 'noisyMax', candidates: { column: ID } }],
  [
    'candidates.predicates.1.where.column',
    {
      kind: 'noisyMax',
      candidates: {
        predicates: [
          { name: 'some', where: SOME },
          { name: 'one', where: OF_ID },
        ],
      },
    },
  ],
  ['column', { kind: 'median', column: ID }],
  ['column', { kind: 'percentile', column: ID, p: 50 }],
  ['column', { kind: 'minimum', column: ID }],
  ['column', { kind: 'maximum', column: ID }],
  ['column', { kind: 'keySelection', column: ID, delta: 1e-6 }],
  ['where.column', { kind: 'count', where: OF_ID }],
]

/** Predicates that name the identifier, by the field that does. */
const PREDICATES: readonly (readonly [field: string, where: object])[] = [
  ...(['=', '!=', '<', '<=', '>', '>='] as const).map(
    (op) => ['where.column', { column: ID, op, value: 'p1' }] as const,
  ),
  ['where.column', { column: ID, op: 'in', values: ['p1'] }],
  ['where.column', { column: ID, op: 'between', lower: 1, upper: 2 }],
  ['where.column', { column: ID, op: 'isNull' }],
  ['where.predicate.column', { op: 'not', predicate: OF_ID }],
  ['where.predicates.1.column', { op: 'and', predicates: [SOME, OF_ID] }],
  ['where.predicates.0.column', { op: 'or', predicates: [OF_ID, SOME] }],
]

const RULE = `must not be ${ID}: queries cannot use an identifier`

function refusalOf(wire: object): Refusal {
  return thrownRefusal(() => plan(querySchema.parse({ epsilon: 1, ...wire }), DATASET, LIMITS))
}

describe('an identifier is refused', () => {
  test.each(QUERIES)('in %s of %j', (field, wire) => {
    const { code, errors } = refusalOf(wire)
    expect([code, errors]).toEqual(['query-does-not-fit', [{ field, rule: RULE }]])
  })

  test.each(PREDICATES)('in %s: %j', (field, where) => {
    for (const wire of [
      { kind: 'count', where },
      { kind: 'median', column: 'Age', where },
      { kind: 'noisyMax', candidates: { column: 'Sex' }, where },
      { kind: 'keySelection', column: 'Note', delta: 1e-6, where },
    ])
      expect(refusalOf(wire).errors).toEqual([{ field, rule: RULE }])
  })

  test('in the question of a session', () => {
    const { where } = querySchema.parse({ kind: 'count', epsilon: 1, where: OF_ID })
    if (where === undefined) throw new Error('a predicate was given')
    expect(() => planPredicate(where, DATASET, 'where')).toThrow(RULE)
  })

  test('in every kind of query that names a column', () => {
    expect(new Set(QUERIES.map(([, { kind }]) => kind))).toEqual(new Set(QUERY_KINDS))
  })

  test('and is not listed among the columns of a dataset', () => {
    const [error] = refusalOf({ kind: 'sum', column: 'Agee' }).errors
    expect(error?.rule).toMatch(/it has Age, /)
    expect(error?.rule).not.toContain(ID)
  })
})
