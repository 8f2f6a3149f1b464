import { describe, expect, test } from 'vitest'
import { Problem } from '../../../clients/typescript/src/sotto.ts'
import {
  confidenceOf,
  curveEpsilons,
  epsilonAt,
  epsilonRange,
  halfWidthAt,
  halfWidthsOf,
  permittedPoints,
  reasonOfFailure,
  withConfidence,
} from '../../../console/src/pages/ask/price/half-widths.ts'

const problem = (errors: readonly { readonly field: string; readonly rule: string }[]) =>
  new Problem({
    type: 'about:blank',
    title: 'Query does not fit the dataset',
    status: 422,
    code: 'query-does-not-fit',
    detail: 'The detail.',
    requestId: 'x',
    errors: [...errors],
  })

describe('the epsilons of the curve', () => {
  test.each([
    [{}, undefined, [0.001, 10]],
    [{ minEpsilon: 0.01, maxEpsilon: 1 }, undefined, [0.01, 1]],
    [{ minEpsilon: 50 }, undefined, [50, 500]],
    [{ maxEpsilon: 0.0005 }, undefined, [0.0005, 0.0005]],
    [{ minEpsilon: 0.3, maxEpsilon: 0.3 }, undefined, [0.3, 0.3]],
    [{}, { kind: 'count' as const, calibration: 'classic' as const }, [0.001, 1]],
  ])('stay within the limits %j of a dataset and %j', (queryLimits, question, [lower, upper]) => {
    const range = epsilonRange({ queryLimits }, question)
    expect(range).toEqual({ lower, upper })
    const epsilons = curveEpsilons(range)
    expect([epsilons[0], epsilons.at(-1)]).toEqual([lower, upper])
    expect([...epsilons].sort((one, other) => one - other)).toEqual(epsilons)
    expect(epsilons.length).toBeLessThanOrEqual(19)
  })
})

describe('half-widths of previews', () => {
  const known = (halfWidth: number) => ({ confidence: 0.95, halfWidth })
  const unknown = { confidence: 0.95, halfWidth: null, reason: 'depends on the number of rows' }

  test('are points; those of 0 have no place on a logarithmic scale', () => {
    expect(halfWidthsOf([0.1, 1, 10], [known(30), known(3), known(0)] as never)).toEqual({
      kind: 'line',
      points: [
        { x: 0.1, y: 30 },
        { x: 1, y: 3 },
      ],
    })
  })

  test('of several statistics are those of the first that is known', () => {
    const estimates = (halfWidth: number) => ({
      confidence: 0.95,
      halfWidth: null,
      estimates: { mean_age: { halfWidth: null, reason: 'depends' }, count: { halfWidth } },
    })
    expect(halfWidthsOf([0.1, 1], [estimates(30), estimates(3)] as never)).toMatchObject({
      statistic: 'count',
      points: [{ y: 30 }, { y: 3 }],
    })
  })

  test('that are unknown say why', () => {
    expect(halfWidthsOf([0.1, 1], [unknown, unknown] as never)).toEqual({
      kind: 'absent',
      reason: 'The half-width depends on the number of rows.',
    })
    expect(halfWidthsOf([0.1, 1], [known(0), known(0)] as never)).toEqual({
      kind: 'absent',
      reason: 'The answer is exact: its half-width is 0.',
    })
    expect(halfWidthsOf([0.3], [known(9)] as never)).toMatchObject({ kind: 'absent' })
  })

  test('are limited to the epsilons before the first that a dataset refuses', () => {
    expect(permittedPoints(problem([{ field: 'queries.7.epsilon', rule: 'must leave a half-width' }]))).toBe(
      7,
    )
    expect(permittedPoints(problem([{ field: 'queries.0.epsilon', rule: 'must be larger' }]))).toBeUndefined()
    expect(permittedPoints(problem([{ field: 'queries.0.column', rule: 'is unknown' }]))).toBeUndefined()
    expect(permittedPoints(new Error('lost'))).toBeUndefined()
  })

  test('say why a preview failed, in the words of the question', () => {
    expect(reasonOfFailure(problem([{ field: 'queries.0.column', rule: 'must be numeric' }]))).toBe(
      'column must be numeric.',
    )
    expect(reasonOfFailure(problem([]))).toBe('The detail.')
    expect(reasonOfFailure(new Error('lost'))).toBe('The service did not answer.')
  })
})

describe('a point of the curve', () => {
  // Half-widths of 10 / epsilon, and a step as that of whole numbers.
  const points = [0.01, 0.1, 1].map((x) => ({ x, y: 10 / x }))

  test('lies on the line between its neighbours on logarithmic scales', () => {
    expect(halfWidthAt(points, 0.1)).toBe(100)
    expect(halfWidthAt(points, 0.05)).toBeCloseTo(200, 9)
    expect(halfWidthAt(points, 0.001)).toBeUndefined()
    expect(halfWidthAt(points, 2)).toBeUndefined()
    expect(epsilonAt(points, 200)).toBeCloseTo(0.05, 9)
    expect(epsilonAt(points, 1_000)).toBe(0.01)
    expect(epsilonAt(points, 2_000)).toBeUndefined()
    expect(epsilonAt(points, 1)).toBeUndefined()
  })

  test('has the smallest epsilon where half-widths are equal', () => {
    const steps = [
      { x: 1, y: 4 },
      { x: 2, y: 2 },
      { x: 3, y: 2 },
      { x: 4, y: 1 },
    ]
    expect(epsilonAt(steps, 2)).toBe(2)
  })
})

test('a confidence is stated only if it is not the usual one', () => {
  const question = { kind: 'count', accuracy: { halfWidth: 5 } } as const
  expect(confidenceOf(question)).toBe(0.95)
  const surer = withConfidence(question, 0.99)
  expect(surer).toEqual({ kind: 'count', accuracy: { halfWidth: 5, confidence: 0.99 } })
  expect(confidenceOf(surer)).toBe(0.99)
  expect(withConfidence(surer, 0.95)).toEqual(question)
})
