import { describe, expect, test } from 'vitest'
import { csvOf, tableOf } from '../../console/src/pages/answers/answer-table.ts'
import { boundOfNormal, errorDensity } from '../../console/src/pages/ask/sketch.ts'

const accuracy = { confidence: 0.95, halfWidth: 12, expectedAbsoluteError: 4 } as const
type Part = Parameters<typeof tableOf>[0]

describe('an answer as a table', () => {
  test('of cells has their keys, counts and the half-width that they share', () => {
    const part = {
      accuracy,
      result: {
        cells: [
          { key: { Sex: 'F', Age: { lower: 0, upper: 18 } }, value: 1_234 },
          { key: { Sex: null, Age: { lower: 18, upper: 65 } }, value: -3 },
        ],
      },
    } as Part
    const table = tableOf(part)
    expect(table?.columns.map(({ title }) => title)).toEqual(['Sex', 'Age', 'count', '±'])
    expect(table?.rows.map((row) => row.map(({ shown }) => shown))).toEqual([
      ['F', '0 to 18', '1,234', '12'],
      ['missing', '18 to 65', '-3', '12'],
    ])
  })

  test('of groups has a half-width for each statistic, with the unit that differs from that of the value', () => {
    const part = {
      accuracy: {
        ...accuracy,
        estimates: { median_Age: { halfWidth: 40, expectedAbsoluteError: null, unit: 'rows' } },
      },
      result: {
        groups: [
          {
            key: { Sex: 'F' },
            values: {
              mean_Age: { value: 41.23456, halfWidth: 0.31 },
              median_Age: { value: 41, halfWidth: 40, unit: 'rows' },
            },
          },
        ],
      },
    } as unknown as Part
    const table = tableOf(part)
    expect(table?.columns.map(({ title }) => title)).toEqual(['Sex', 'mean_Age', '±', 'median_Age', '± rows'])
    expect(table?.rows[0]?.map(({ shown }) => shown)).toEqual(['F', '41.23', '0.31', '41', '40'])
    expect(table?.rows[0]?.map(({ value }) => value)).toEqual(['F', 41.23456, 0.31, 41, 40])
  })

  test('is not made of one value', () => {
    expect(tableOf({ accuracy, result: { value: 3 } } as Part)).toBeUndefined()
  })

  test('as CSV keeps values exact, quotes texts and starts no formula', () => {
    const part = {
      accuracy,
      result: { keys: [{ key: 'flu, "type A"', count: 10.123456789 }, { key: '=1+1' }], truncated: false },
    } as Part
    const table = tableOf(part)
    expect(table && csvOf(table)).toBe('value,count,±\r\n"flu, ""type A""",10.123456789,12\r\n\'=1+1,,\r\n')
  })
})

describe('a sketch of the error', () => {
  test.each(['laplace', 'gaussian'])('has the stated probability within the half-width: %s', (mechanism) => {
    const points = errorDensity(mechanism, 30, 0.95)
    const massOf = (within: number) =>
      points.filter(({ x }) => Math.abs(x) <= within).reduce((sum, { y }) => sum + y, 0)
    expect(massOf(30) / massOf(60)).toBeCloseTo(0.95, 1)
    expect(points[40]).toEqual({ x: 0, y: 1 })
  })

  // NIST Engineering Statistics Handbook, table of the normal distribution.
  test.each([
    [0.95, 1.959964],
    [0.99, 2.575829],
    [0.5, 0.67449],
  ])('the normal bound for %d is %d', (confidence, bound) => {
    expect(boundOfNormal(confidence)).toBeCloseTo(bound, 5)
  })
})
