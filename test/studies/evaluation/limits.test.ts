import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../schemas/answers/query.ts'
import { MAX_RUNS, MAX_SHOWN } from '../../../schemas/studies/evaluation.ts'
import { plan as planQuery } from '../../../src/core/planner/plan.ts'
import type { ExactAggregate, Plan } from '../../../src/core/planner/plans/plan-kinds.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { evaluate } from '../../../src/studies/evaluation/evaluation.ts'
import { costOf } from '../../../src/studies/evaluation/kinds.ts'
import {
  type EvaluationSize,
  MAX_WORK,
  requireEvaluationLimits,
} from '../../../src/studies/evaluation/limits.ts'
import { people } from '../../core/planner/neighbours/people.ts'
import { planOf } from '../../core/planner/planned.ts'
import { estimates, numbersOf, taped } from './evaluated.ts'

const requireLimits = (plan: Plan, size: EvaluationSize, exact?: ExactAggregate) =>
  requireEvaluationLimits([costOf(plan, exact, 1)], size)

describe('an evaluation is refused', () => {
  const refusalOf = (task: () => unknown) => {
    try {
      task()
    } catch (error) {
      if (error instanceof Refusal) return { code: error.code, errors: error.errors }
      throw error
    }
    return undefined
  }

  test('but not one count at the limits of a request', () => {
    const planned = planOf({ kind: 'count' })
    expect(refusalOf(() => requireLimits(planned, { runs: MAX_RUNS, shown: MAX_SHOWN }))).toBeUndefined()
  })

  test('for too many runs of a large table, before data is read', () => {
    const edges = Array.from({ length: 101 }, (_, edge) => edge)
    const planned = planOf({ kind: 'contingency', columns: [{ column: 'Age', edges }, 'Region'] })
    const most = MAX_WORK / (400 * 3)
    expect(refusalOf(() => requireLimits(planned, { runs: most, shown: 1 }))).toBeUndefined()
    expect(refusalOf(() => requireLimits(planned, { runs: most + 1, shown: 1 }))).toEqual({
      code: 'invalid-request',
      errors: [{ field: 'runs', rule: `must be at most ${most} for this query` }],
    })
  })

  test.each([
    [
      { kind: 'median', column: 'Age' },
      {
        kind: 'quantile',
        values: {
          indexes: Float64Array.from({ length: 100_000 }, (_, position) => position),
          counts: new Float64Array(100_000).fill(1),
        },
      } satisfies ExactAggregate,
    ],
    [
      { kind: 'keySelection', column: 'Note', delta: 0.01 },
      {
        kind: 'key-selection',
        texts: {
          texts: Array.from({ length: 100_000 }, (_, position) => `${position}`),
          counts: new Float64Array(100_000).fill(1),
        },
      } satisfies ExactAggregate,
    ],
  ])('for too many runs of the data that was read: %j', async (wire, exact) => {
    const planned = planOf(wire)
    const extent = { runs: MAX_RUNS, shown: 1 }
    expect(refusalOf(() => requireLimits(planned, extent))).toBeUndefined()
    expect(refusalOf(() => requireLimits(planned, extent, exact))?.errors[0]?.rule).toMatch(
      /^must be at most \d{3,4} /,
    )
    await expect(evaluate({ plan: planned, exact }, { ...extent, noiseSource: taped() })).rejects.toThrow(
      Refusal,
    )
  })

  test('for more runs in full than fit in memory', () => {
    const edges = Array.from({ length: 251 }, (_, edge) => Number((edge / 5 - 50).toFixed(1)))
    const table = planOf({ kind: 'contingency', columns: [{ column: 'Balance', edges }, 'Region'] })
    const refused = refusalOf(() => requireLimits(table, { runs: 100, shown: 100 }))
    expect(refused?.errors[0]).toMatchObject({ field: 'shown' })
    const most = Number(/\d+/.exec(refused?.errors[0]?.rule ?? '')?.[0])
    expect(refusalOf(() => requireLimits(table, { runs: 100, shown: most }))).toBeUndefined()
  })

  test('for a table whose true values alone are too long', () => {
    const edges = Array.from({ length: 1001 }, (_, edge) => Number((edge / 20 - 50).toFixed(2)))
    const kinds = ['sum', 'mean', 'variance', 'standardDeviation']
    const statistics = ['Age', 'Income'].flatMap((column) => kinds.map((kind) => ({ kind, column })))
    const query = { kind: 'groupBy', keys: [{ column: 'Balance', edges }, 'Region'], statistics, epsilon: 1 }
    const planned = planQuery(querySchema.parse(query), people('add-remove'), { maxCells: 4_000 })
    expect(refusalOf(() => requireLimits(planned, { runs: 1, shown: 0 }))).toMatchObject({
      code: 'query-does-not-fit',
      errors: [{ field: 'query' }],
    })
  })
})

describe('queries that are evaluated together', () => {
  const together = (plans: readonly Plan[], size: EvaluationSize) => () =>
    requireEvaluationLimits(
      plans.map((planned) => costOf(planned, undefined, plans.length)),
      size,
      'queries',
    )

  test('share the limit on work', () => {
    const count = planOf({ kind: 'count' })
    const table = planOf({
      kind: 'histogram',
      column: { column: 'Age', edges: Array.from({ length: 121 }, (_, age) => age) },
    })
    const [ofCount, ofTable] = [count, table].map((planned) => costOf(planned, undefined, 2).work)
    const most = Math.floor(MAX_WORK / ((ofCount ?? 0) + 2 * (ofTable ?? 0)))
    expect(most).toBeLessThan(MAX_RUNS)
    const plans = [table, count, table]
    expect(together(plans, { runs: most, shown: 0 })).not.toThrow()
    expect(together(plans, { runs: most + 1, shown: 0 })).toThrow(
      `runs: must be at most ${most} for these queries`,
    )
  })

  test('share the characters for runs that are shown, and for keys', () => {
    const keys = planOf({ kind: 'keySelection', column: 'Note', delta: 0.01 })
    const edges = Array.from({ length: 151 }, (_, edge) => Number((edge / 5 - 50).toFixed(1)))
    const table = planOf({ kind: 'contingency', columns: [{ column: 'Balance', edges }, 'Region'] })
    expect(together([table], { runs: 100, shown: 90 })).not.toThrow()
    expect(together([table, table, keys, keys], { runs: 100, shown: 90 })).toThrow('shown: must be at most')
    expect(together([table, table, keys, keys], { runs: 100, shown: 1 })).not.toThrow()
    expect(together(Array(100).fill(keys), { runs: 100, shown: 100 })).not.toThrow()
  })

  test('are refused together if their report is too long', () => {
    const edges = Array.from({ length: 251 }, (_, edge) => Number((edge / 5 - 50).toFixed(1)))
    const table = planOf({ kind: 'contingency', columns: [{ column: 'Balance', edges }, 'Region'] })
    expect(together(Array(10).fill(table), { runs: 1, shown: 0 })).not.toThrow()
    expect(together(Array(100).fill(table), { runs: 1, shown: 0 })).toThrow('queries: has too many cells')
  })
})

test('a report is never longer than its estimate', async () => {
  // Noise and values have many digits, so that every number is as long as a double can be.
  const planned = planOf({
    kind: 'groupBy',
    keys: ['Sex'],
    statistics: [
      { kind: 'mean', column: 'Balance' },
      { kind: 'standardDeviation', column: 'Income' },
    ],
    mechanism: 'laplace',
    epsilon: 1e-6,
  })
  const exact = estimates([-123n, 77n], [7n, 3n], [1_234n, 77n], [12n, 7n], [3n, 1n])
  const evaluation = numbersOf(
    await evaluate({ plan: planned, exact }, { runs: 9, shown: 9, noiseSource: taped() }),
  )
  // The estimates for each number, in src/studies/evaluation/numbers.ts.
  for (const value of evaluation.values) expect(JSON.stringify(value).length).toBeLessThan(700)
  for (const total of evaluation.totals) expect(JSON.stringify(total).length).toBeLessThan(700)
  for (const { values, totals } of evaluation.shown)
    for (const each of [...values, ...totals]) expect(JSON.stringify(each).length).toBeLessThan(250 + 30)
})
