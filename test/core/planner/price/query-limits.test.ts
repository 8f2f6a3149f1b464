import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import { planQueries } from '../../../../src/core/planner/batch.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { type Plan, planKindOf } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { reporter } from '../../../../src/core/planner/report.ts'
import { planSession } from '../../../../src/core/planner/session.ts'
import { epsilonFromWire } from '../../../../src/privacy/loss.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { patients, people } from '../neighbours/people.ts'
import { LIMITS } from '../planned.ts'

interface Declared {
  readonly minEpsilon?: number
  readonly maxEpsilon?: number
  readonly minHalfWidth?: number
}

function limited(
  { minEpsilon, maxEpsilon, minHalfWidth }: Declared,
  dataset = people('add-remove'),
): Dataset {
  return {
    ...dataset,
    queryLimits: {
      ...(minEpsilon === undefined ? {} : { minEpsilonNano: epsilonFromWire(minEpsilon, 'least') }),
      ...(maxEpsilon === undefined ? {} : { maxEpsilonNano: epsilonFromWire(maxEpsilon, 'most') }),
      ...(minHalfWidth === undefined ? {} : { minHalfWidth }),
    },
  }
}

/** The field and the rule of a refusal; `undefined` for a task that is not refused. */
function refusal(task: () => unknown): string | undefined {
  try {
    task()
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    expect(error.code).toBe('query-does-not-fit')
    return error.errors.map(({ field, rule }) => `${field}: ${rule}`).join()
  }
}

async function refusedBatch(...[queries, dataset]: [Parameters<typeof planQueries>[0], Dataset]) {
  const settled = await planQueries(queries, dataset, LIMITS).then(
    () => () => undefined,
    (error: unknown) => () => {
      throw error
    },
  )
  return refusal(settled)
}

const leastHalfWidthRows = (query: Plan) => planKindOf(query).leastHalfWidthRows(query)
const planned = (wire: object, dataset: Dataset) => plan(querySchema.parse(wire), dataset, LIMITS)
const refused = (wire: object, dataset: Dataset) => refusal(() => planned(wire, dataset))

/** A query of each kind of plan. */
const KINDS = [
  { kind: 'count' },
  { kind: 'linearRegression', outcome: 'Age', predictors: ['Member'] },
  { kind: 'median', column: 'Age' },
  { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'median', column: 'Age' }, { kind: 'count' }] },
  { kind: 'noisyMax', candidates: { column: 'Region' } },
  { kind: 'keySelection', column: 'Note', delta: 1e-6 },
  { kind: 'topGroups', keys: ['Sex'], k: 1 },
  { kind: 'marginals', columns: ['Sex', 'Region'], ways: [1, 2] },
]

describe('a least and a largest epsilon', () => {
  const within = limited({ minEpsilon: 0.5, maxEpsilon: 2 })

  test.each(KINDS)('bound every kind of query: $kind', (query) => {
    for (const epsilon of [0.5, 1, 2]) expect(refused({ ...query, epsilon }, within)).toBeUndefined()
    expect(refused({ ...query, epsilon: 0.499999999 }, within)).toBe(
      'epsilon: must be at least 0.5, as the dataset declares for each query',
    )
    expect(refused({ ...query, epsilon: 2.000000001 }, within)).toBe(
      'epsilon: must be at most 2, as the dataset declares for each query',
    )
  })

  test('bound the epsilon that a requested accuracy needs', () => {
    const count = (halfWidth: number) => ({ kind: 'count', accuracy: { halfWidth, confidence: 0.95 } })
    expect(refused(count(3), within)).toBeUndefined()
    expect(refused(count(100), within)).toMatch(
      /^accuracy.halfWidth: needs an epsilon of 0.0\d+, which must be at least 0.5, as the dataset declares/,
    )
    expect(refused(count(0.5), within)).toMatch(
      /^accuracy.halfWidth: needs an epsilon of \d[.\d]*, which must be at most 2, as the dataset declares/,
    )
  })

  test('bound the epsilon, and not the rho, under zcdp', () => {
    const zcdp: Dataset = { ...within, accounting: 'zcdp' }
    expect(refused({ kind: 'count', epsilon: 0.5 }, zcdp)).toBeUndefined()
    expect(refused({ kind: 'count', epsilon: 0.4 }, zcdp)).toMatch(/^epsilon: must be at least 0.5/)
    const gaussian = { kind: 'count', mechanism: 'gaussian', delta: 1e-9 }
    expect(refused({ ...gaussian, epsilon: 0.5 }, zcdp)).toBeUndefined()
    expect(refused({ ...gaussian, epsilon: 2.5 }, zcdp)).toMatch(/^epsilon: must be at most 2/)
  })

  test('bound each query of a batch, whatever the price of all', async () => {
    const batch = (...epsilons: number[]) =>
      epsilons.map((epsilon) => querySchema.parse({ kind: 'count', epsilon }))
    expect(await refusedBatch(batch(1, 2, 0.5), within)).toBeUndefined()
    expect(await refusedBatch(batch(1, 0.4, 0.4), within)).toMatch(/^queries.1.epsilon: must be at least 0.5/)
  })

  test('bound sessions', () => {
    const session = (epsilon: number) => () => planSession({ threshold: 10, positives: 2, epsilon }, within)
    expect(refusal(session(0.5))).toBeUndefined()
    expect(refusal(session(0.4))).toMatch(/^epsilon: must be at least 0.5/)
    expect(refusal(session(3))).toMatch(/^epsilon: must be at most 2/)
  })
})

describe('a least half-width', () => {
  test.each(KINDS)('bounds every kind of query: $kind', (query) => {
    const halfWidth = leastHalfWidthRows(planned({ ...query, epsilon: 1 }, people('add-remove')))
    expect(halfWidth).toBeGreaterThan(0)
    expect(refused({ ...query, epsilon: 1 }, limited({ minHalfWidth: halfWidth }))).toBeUndefined()
    expect(refused({ ...query, epsilon: 1 }, limited({ minHalfWidth: halfWidth * 1.001 }))).toMatch(
      /^epsilon: must leave a half-width of at least .* rows or people at a confidence of 0.95, .* this one has /,
    )
  })

  test('is the half-width that a count states', () => {
    const count = planned({ kind: 'count', epsilon: 0.3 }, people('add-remove'))
    if (count.kind !== 'additive') throw new Error('a count is a sum')
    const { accuracy } = reporter(count)({ kind: 'additive', noisy: [[0n]] })
    expect(leastHalfWidthRows(count)).toBe(accuracy.halfWidth)
  })

  test('of a sum is that of a count: the most that a row adds is one row', () => {
    const halfWidth = (wire: object, dataset: Dataset = people('add-remove')) =>
      leastHalfWidthRows(planned({ epsilon: 0.3, ...wire }, dataset))
    const count = halfWidth({ kind: 'count', mechanism: 'laplace' })
    expect(halfWidth({ kind: 'sum', column: 'Age', mechanism: 'laplace' }) / count).toBeCloseTo(1, 2)
    expect(halfWidth({ kind: 'sum', column: 'Balance', mechanism: 'laplace' }) / count).toBeCloseTo(1, 2)
    // A mean has two noisy statistics, each with half of the epsilon.
    expect(halfWidth({ kind: 'mean', column: 'Age', mechanism: 'laplace' }) / count).toBeCloseTo(2, 2)
    // Four rows of a person need four times the noise of one.
    const ofPatients = halfWidth({ kind: 'sum', column: 'Age', mechanism: 'laplace' }, patients('add-remove'))
    expect(ofPatients / count).toBeCloseTo(4, 2)
  })

  test('bounds requested accuracies, batches and sessions', async () => {
    const dataset = limited({ minHalfWidth: 10 })
    const count = (halfWidth: number) => ({ kind: 'count', accuracy: { halfWidth, confidence: 0.95 } })
    expect(refused(count(10), dataset)).toBeUndefined()
    expect(refused(count(9), dataset)).toMatch(
      /^accuracy.halfWidth: must leave a half-width of at least 10 rows/,
    )
    const narrow = querySchema.parse({ kind: 'count', epsilon: 5 })
    expect(await refusedBatch([narrow], dataset)).toMatch(/^queries.0.epsilon: must leave/)
    const session = (epsilon: number) => () => planSession({ threshold: 10, positives: 1, epsilon }, dataset)
    expect(refusal(session(0.2))).toBeUndefined()
    expect(refusal(session(20))).toMatch(/^epsilon: must leave a half-width of at least 10 rows/)
  })
})
