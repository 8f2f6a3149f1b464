import { describe, expect, test } from 'vitest'
import { coverageReport } from '../../../../src/answers/documents/coverage.ts'
import { normalForm } from '../../../../src/core/planner/identity/normal-form.ts'
import { domainOf, measuredAccuracy } from '../../../../src/core/planner/report.ts'
import { estimatesOf, planFor, planOf, refusalOf } from '../planned.ts'

/*
 * A clamp narrows the bounds of a column for one question: sensitivity, half-width and domain follow it, and it is a part
 * of the question. That the integers are those of clamped values, and that no person moves them by more than the price,
 * is tested with every aggregate.
 */

const AGE = { lower: 20, upper: 80 }
const DAYS = { lower: '2024-02-01', upper: '2024-03-01' }

const halfWidthOf = (wire: object) => measuredAccuracy(planOf(wire)).halfWidth

describe('noise follows the clamp', () => {
  test.each<readonly [what: string, sensitivity: bigint, asked: object]>([
    ['a sum', 80n, { kind: 'sum', column: 'Age', clamp: AGE }],
    [
      'a sum of a column with both signs',
      200n,
      { kind: 'sum', column: 'Balance', clamp: { lower: -2, upper: 10 } },
    ],
    ['a mean', 60n, { kind: 'mean', column: 'Age', clamp: AGE }],
    ['a mean of dates', 29n, { kind: 'mean', column: 'Visited', clamp: DAYS }],
    ['a variance', 3600n, { kind: 'variance', column: 'Age', clamp: AGE }],
    [
      'a covariance',
      60n * 600n,
      {
        kind: 'covariance',
        columns: ['Age', 'Balance'],
        clamp: { Age: AGE, Balance: { lower: -20, upper: 10 } },
      },
    ],
    [
      'a sum in groups',
      80n,
      { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'sum', column: 'Age', clamp: AGE }] },
    ],
  ])('of %s', (_, sensitivity, asked) => {
    expect(estimatesOf(asked).measurements[0]?.sensitivity.lInfinity).toBe(sensitivity)
  })

  test('as a half-width does', () => {
    const mean = { kind: 'mean', column: 'Age', supposed: { rows: 50 } }
    const narrow = halfWidthOf({ ...mean, clamp: { lower: 40, upper: 52 } })
    expect(narrow).toBeCloseTo(Number(halfWidthOf(mean)) / 10, 1)
    expect(halfWidthOf({ kind: 'sum', column: 'Age', clamp: { lower: 0, upper: 12 } })).toBeLessThan(
      Number(halfWidthOf({ kind: 'sum', column: 'Age' })) / 9,
    )
  })

  test('and the domain of the answer', () => {
    const domain = (asked: object) => domainOf(planOf(asked))
    expect(domain({ kind: 'mean', column: 'Age', clamp: AGE })).toEqual({ value: AGE })
    expect(domain({ kind: 'mean', column: 'Visited', clamp: DAYS })).toEqual({
      value: { ...DAYS, temporal: true },
    })
    const positive = { kind: 'sum', column: 'Balance', clamp: { lower: 0, upper: 10 } }
    expect(domain(positive)).toEqual({ value: { lower: 0 } })
    expect(planOf({ ...positive, postprocess: { nonNegative: true } }).kind).toBe('additive')
  })

  test('and the grid of a quantile, which needs no declaration if it is small', () => {
    const median = planFor('quantile', planOf({ kind: 'median', column: 'Age', clamp: AGE }))
    expect(median.measurements[0]).toMatchObject({ lowerIndex: 20n, upperIndex: 80n })
    const groups = planFor(
      'groups',
      planOf({
        kind: 'groupBy',
        keys: [],
        statistics: [
          { kind: 'median', column: 'Age', clamp: AGE },
          { kind: 'percentile', column: 'Age', p: 90 },
        ],
      }),
    )
    // Two clamps of one column are two columns of values.
    expect(groups.quantiles.map(({ counting }) => counting.clamp)).toEqual([
      { lower: 20n, upper: 80n },
      undefined,
    ])
  })
})

describe('a clamp is a part of the question', () => {
  const normal = (asked: object) => normalForm(planOf(asked))
  const sum = { kind: 'sum', column: 'Age' }

  test('and none if it equals the declared bounds', () => {
    expect(normal({ ...sum, clamp: AGE })).toEqual({ ...normal(sum), clamp: AGE })
    expect(normal({ ...sum, clamp: { lower: 0, upper: 120 } })).toEqual(normal(sum))
    const pair = { kind: 'covariance', columns: ['Age', 'Visited'] }
    expect(normal({ ...pair, clamp: { Age: { lower: 0, upper: 120 } } })).toEqual(normal(pair))
    expect(normal({ ...pair, clamp: { Visited: DAYS, Age: AGE } })).toEqual(
      normal({ ...pair, clamp: { Age: AGE, Visited: DAYS } }),
    )
  })

  test('whatever the spelling of its ends', () => {
    const mean = { kind: 'mean', column: 'Visited' }
    expect(normal({ ...mean, clamp: DAYS })).toEqual({ ...normal(mean), clamp: DAYS })
  })

  test('that the answer states, and not if it changes nothing', () => {
    const statement = (asked: object) => coverageReport(planOf(asked)).statement
    expect(statement({ ...sum, clamp: AGE })).toContain('clamps Age to 20 and 80')
    expect(statement({ ...sum, clamp: { lower: 0, upper: 120 } })).toBe(statement(sum))
    expect(
      statement({ kind: 'covariance', columns: ['Age', 'Visited'], clamp: { Visited: DAYS } }),
    ).toContain('clamps Visited to 2024-02-01 and 2024-03-01')
  })

  test('with the same sums as a mean beside it only if that has the same clamp', () => {
    const statistics = (clamp: object) =>
      estimatesOf({
        kind: 'groupBy',
        keys: [],
        statistics: [
          { ...sum, clamp: AGE },
          { kind: 'mean', column: 'Age', clamp },
        ],
      }).aggregate.statistics.length
    expect(statistics(AGE)).toBe(2)
    expect(statistics({ lower: 20, upper: 79 })).toBe(3)
  })
})

describe('a clamp that does not fit is refused by its field', () => {
  test.each<readonly [what: string, asked: object, field: string, rule: string]>([
    [
      'below the bounds',
      { kind: 'sum', column: 'Age', clamp: { lower: -1, upper: 80 } },
      'clamp.lower',
      'within the declared bounds of Age, 0 and 120',
    ],
    [
      'above the bounds',
      { kind: 'mean', column: 'Visited', clamp: { lower: '2024-02-01', upper: '2024-04-11' } },
      'clamp.upper',
      '2024-01-20 and 2024-04-10',
    ],
    [
      'with equal ends',
      { kind: 'variance', column: 'Age', clamp: { lower: 5, upper: 5 } },
      'clamp.upper',
      'greater than lower',
    ],
    [
      'with reversed ends',
      { kind: 'median', column: 'Age', clamp: { lower: 50, upper: 5 } },
      'clamp.upper',
      'greater than lower',
    ],
    [
      'off the grid',
      { kind: 'sum', column: 'Income', clamp: { lower: 10, upper: 20.25 } },
      'clamp.upper',
      'multiple of the step of Income, 0.5',
    ],
    [
      'of another type',
      { kind: 'sum', column: 'Age', clamp: { lower: '2024-02-01', upper: 80 } },
      'clamp.lower',
      'must be a number',
    ],
    [
      'of a column of dates',
      { kind: 'mean', column: 'Visited', clamp: { lower: 3, upper: 5 } },
      'clamp.lower',
      'existing date',
    ],
    [
      'in a statistic of groups',
      {
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: [{ kind: 'count' }, { kind: 'sum', column: 'Age', clamp: { lower: 3, upper: 121 } }],
      },
      'statistics.1.clamp.upper',
      'within the declared bounds',
    ],
    [
      'of another column',
      { kind: 'correlation', columns: ['Age', 'Income'], clamp: { Balance: AGE } },
      'clamp.Balance',
      'a column of the query',
    ],
    [
      'of a boolean',
      { kind: 'correlation', columns: ['Age', 'Member'], clamp: { Member: { lower: 0, upper: 1 } } },
      'clamp.Member',
      'is boolean',
    ],
    [
      'of one column of a regression',
      {
        kind: 'linearRegression',
        outcome: 'Income',
        predictors: ['Age'],
        clamp: { Age: { lower: 5, upper: 500 } },
      },
      'clamp.Age.upper',
      'within the declared bounds',
    ],
  ])('%s', (_, asked, field, rule) => {
    const { code, errors } = refusalOf(asked)
    expect(code).toBe('query-does-not-fit')
    expect(errors[0]?.field).toBe(field)
    expect(errors[0]?.rule).toContain(rule)
  })
})
