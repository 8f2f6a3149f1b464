import { describe, expect, test } from 'vitest'
import { csvOf, csvOfPart, tableOf } from '../../../console/src/pages/answers/answer-table.ts'
import type { AnswerDocument } from '../../../console/src/pages/answers/answer-text.ts'
import { heatOf, tableAnswer } from '../../../console/src/pages/answers/marginals.ts'
import { askedProcessing, offeredProcessing } from '../../../console/src/pages/answers/processing.ts'
import { boundOfNormal, errorDensity } from '../../../console/src/pages/ask/sketch.ts'

const accuracy = { confidence: 0.95, halfWidth: 12, expectedAbsoluteError: 4 } as const
const coverage = { statement: 'The half-width covers noise only.' }
const noise = {
  mechanism: 'geometric',
  neighbours: 'add-remove',
  scale: 4,
  sensitivity: 1,
  granularity: 1,
} as const
type Part = Parameters<typeof tableOf>[0]

describe('an answer as a table', () => {
  test('of cells has their keys, counts and the half-width that they share', () => {
    const part = {
      accuracy,
      coverage,
      noise,
      result: {
        cells: [
          { key: { Sex: 'F', Age: { lower: 0, upper: 18 } }, value: 1_234 },
          { key: { Sex: null, Age: { lower: 18, upper: 65, upperIncluded: true } }, value: -3 },
        ],
      },
    } as Part
    const table = tableOf(part)
    expect(table?.columns.map(({ title }) => title)).toEqual(['Sex', 'Age', 'count', '±'])
    expect(table?.rows.map((row) => row.map(({ shown }) => shown))).toEqual([
      ['F', '[0, 18)', '1,234', '12'],
      ['missing', '[18, 65]', '-3', '12'],
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

  test('of marginals has the cells of one table, with the half-width of that table', () => {
    const labels = [
      { column: 'Sex', labels: ['F', 'M'] },
      { column: 'Age', labels: [{ lower: 0, upper: 18 }, { lower: 18, upper: 65 }, null] },
    ]
    const chosen = { columns: ['Sex', 'Age'], cells: 6, halfWidth: 3, rootMeanSquaredError: 1.5 }
    const values = [10, 20, 30, 40, -50, 60.25]
    const part = { accuracy, result: { columns: labels, tables: [chosen] } } as unknown as Part
    const answer = tableAnswer(part, { columns: labels, tables: [chosen] }, chosen, values)
    if (answer === undefined) throw new Error('the table has values')
    expect(csvOfPart(answer)).toBe(
      'Sex,Age,count,±\r\n' +
        'F,"[0, 18)",10,3\r\nF,"[18, 65)",20,3\r\nF,missing,30,3\r\n' +
        'M,"[0, 18)",40,3\r\nM,"[18, 65)",-50,3\r\nM,missing,60.25,3\r\n',
    )
    expect(tableAnswer(part, { columns: labels, tables: [chosen] }, chosen, undefined)).toBeUndefined()
    expect(heatOf(answer)).toMatchObject({
      title: 'Age by Sex',
      across: ['F', 'M'],
      rows: [
        { label: '[0, 18)', values: [10, 40] },
        { label: '[18, 65)', values: [20, -50] },
        { label: 'missing', values: [30, 60.25] },
      ],
    })
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

describe('a post-processed answer', () => {
  const rounded = { ...accuracy, halfWidth: 12.5 }

  test('of groups has the measured values beside the others', () => {
    const groups = (value: number, halfWidth: number) => ({
      groups: [
        { key: { Sex: 'F' }, values: { n: { value, halfWidth }, m: { value: 2 * value, halfWidth } } },
      ],
    })
    const estimates = { n: { halfWidth: 3 }, m: { halfWidth: 3 } }
    const part = {
      accuracy: { ...rounded, estimates },
      result: groups(10, 3.5),
      measured: { accuracy: { ...accuracy, estimates }, result: groups(10.25, 3) },
    } as unknown as Part
    const table = tableOf(part)
    expect(table && csvOf(table)).toBe(
      'Sex,n,±,"n, measured",±,m,±,"m, measured",±\r\nF,10,3.5,10.25,3,20,3.5,20.5,3\r\n',
    )
  })

  test('of one value has the measured one in its CSV', () => {
    const part = {
      accuracy: rounded,
      result: { value: 0 },
      measured: { accuracy, result: { value: -2.5 } },
    } as Part
    expect(csvOfPart(part)).toBe('value,±,"value, measured",±\r\n0,12.5,-2.5,12\r\n')
  })

  const documentOf = (document: object) => document as unknown as AnswerDocument

  test.each([
    [{ value: { whole: true, lower: 0 } }, { round: true, nonNegative: true }],
    [
      { n: { lower: 0 }, correlation: { lower: -1, upper: 1 } },
      { round: true, nonNegative: false },
    ],
    [{ mean_day: { temporal: true } }, { round: false, nonNegative: false }],
    [
      { mean_day: { temporal: true }, n: { lower: 0 } },
      { round: true, nonNegative: true },
    ],
    [undefined, { round: false, nonNegative: false }],
  ])('is offered by the facts about its values: %j', (domain, offered) => {
    expect(offeredProcessing(documentOf({ domain }))).toEqual(offered)
  })

  test('of a batch is offered if all answers with sums and counts allow it', () => {
    const answers = [{ domain: { value: { lower: 0 } } }, {}, { domain: { value: {} } }]
    expect(offeredProcessing(documentOf({ answers }))).toEqual({ round: true, nonNegative: false })
  })

  test('begins as the question asks for it', () => {
    const question = { kind: 'count', postprocess: { round: true } }
    expect(askedProcessing(documentOf({ question }))).toEqual({ round: true, nonNegative: false })
    const queries = [question, { kind: 'count' }]
    expect(askedProcessing(documentOf({ question: { queries } }))).toEqual({
      round: false,
      nonNegative: false,
    })
    expect(askedProcessing(documentOf({}))).toEqual({ round: false, nonNegative: false })
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
