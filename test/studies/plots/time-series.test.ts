import { describe, expect, test } from 'vitest'
import { type SeriesAnswer, type SeriesColumn, seriesOf } from '../../../src/studies/plots/time-series.ts'

const ends = (series: ReturnType<typeof seriesOf>[number] | undefined) =>
  series?.lines[0]?.points.map(({ around }) => around)

const columns: readonly SeriesColumn[] = [
  { name: 'day', type: 'date', lower: '2024-01-11', upper: '2024-02-20' },
  { name: 'at', type: 'timestamp', lower: '2024-01-01T00:00:00Z', upper: '2024-01-01T03:00:00Z' },
  { name: 'age', type: 'integer', lower: 0, upper: 100 },
]

const day = (text: string) => Date.parse(text)

function counts(keys: readonly object[], values: readonly number[], further: object = {}): SeriesAnswer {
  const cells = keys.map((key, place) => ({ key, value: values[place] }))
  return { result: { cells }, accuracy: { halfWidth: 10 }, ...further }
}

const byMonth = { kind: 'histogram', column: { column: 'day', by: 'month' } }

describe('The time series of an answer', () => {
  test('lies in the middle of each period, within the declared range', () => {
    const part = counts([{ day: '2024-01' }, { day: '2024-02' }, { day: null }], [4, 50, 9])
    const [series] = seriesOf(part, byMonth, columns)
    expect([series?.from, series?.to]).toEqual([day('2024-01-11'), day('2024-02-21')])
    // A count is never negative, so its band is not either.
    expect(series?.lines[0]?.points).toEqual([
      {
        period: '2024-01',
        at: (day('2024-01-11') + day('2024-02-01')) / 2,
        value: 4,
        around: [0, 14],
      },
      {
        period: '2024-02',
        at: (day('2024-02-01') + day('2024-02-21')) / 2,
        value: 50,
        around: [40, 60],
      },
    ])
  })

  test.each([
    [[18, 65, 120], 'age', [18, 65, 120]],
    [['2024-01-31', '2024-02-20'], undefined, [day('2024-01-31'), day('2024-02-20')]],
  ])('of cumulative counts is a curve through the edges %j', (edges, over, places) => {
    const groups = edges.map((upper, place) => ({
      key: { age: { lower: 0, upper } },
      values: { count: { value: 10 * place, interval: { lower: 0, upper: 10 * place + 5 } } },
    }))
    const part = { result: { groups }, accuracy: { halfWidth: 5 } }
    const question = { kind: 'cumulativeCounts', column: { column: 'age', edges: [0, ...edges] } }
    const [series, ...others] = seriesOf(part, question, columns)
    expect(others).toEqual([])
    expect(series).toMatchObject({ name: 'count', from: places[0], to: places.at(-1), omitted: 0 })
    expect(series?.over).toBe(over)
    expect(series?.lines[0]?.points).toEqual(
      edges.map((edge, place) => ({
        period: String(edge),
        at: places[place],
        value: 10 * place,
        around: [0, 10 * place + 5],
      })),
    )
    // Counts of the same cells that are not added up are no curve.
    expect(seriesOf(part, { ...question, kind: 'groupBy', keys: [question.column] }, columns)).toEqual([])
  })

  test('has a line for each combination of the other keys, and at most six', () => {
    const wards = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    const keys = ['2024-01', '2024-02'].flatMap((month) => wards.map((ward) => ({ ward, day: month })))
    const question = { kind: 'contingency', columns: ['ward', { column: 'day', by: 'month' }] }
    const [series] = seriesOf(
      counts(
        keys,
        keys.map((_, place) => 10 + (place % 7)),
      ),
      question,
      columns,
    )
    expect(series?.lines.flatMap(({ labels }) => labels)).toEqual(['b', 'c', 'd', 'e', 'f', 'g'])
    expect(series?.omitted).toBe(1)
  })

  test('has a chart for each statistic, whose bands end where the column does', () => {
    const groups = ['2024-W03', '2024-W04'].map((week, place) => ({
      key: { day: week },
      values: {
        mean_age: { value: 95 - place, halfWidth: 10, interval: { lower: 85 - place, upper: 100 } },
        median_age: { value: 40, halfWidth: 12, unit: 'rows' },
      },
    }))
    const statistics = [
      { kind: 'mean', column: 'age' },
      { kind: 'median', column: 'age' },
    ]
    const question = { kind: 'groupBy', keys: [{ column: 'day', by: 'week' }], statistics }
    const part = {
      result: { groups },
      accuracy: { halfWidth: null },
    } as const
    const [mean, median] = seriesOf(part, question, columns)
    expect(mean?.from).toBe(day('2024-01-15'))
    expect(ends(mean)).toEqual([
      [85, 100],
      [84, 100],
    ])
    expect(ends(median)).toEqual([undefined, undefined])
  })

  test.each([
    ['year', ['2023', '2024'], '2024-01-11'],
    ['quarter', ['2023-Q4', '2024-Q1'], '2024-01-11'],
    ['day', ['2024-02-01', '2024-02-02'], '2024-02-01'],
  ])('is drawn for periods of a %s', (by, names, from) => {
    const question = { kind: 'histogram', column: { column: 'day', by } }
    const [series] = seriesOf(
      counts(
        names.map((name) => ({ day: name })),
        [1, 2],
      ),
      question,
      columns,
    )
    expect(new Date(series?.to ?? 0).getUTCFullYear()).toBe(2024)
    expect(series?.lines[0]?.points.at(-1)?.at).toBeGreaterThan(day(from))
  })

  test('is drawn for hours', () => {
    const question = { kind: 'histogram', column: { column: 'at', by: 'hour' } }
    const part = counts([{ at: '2024-01-01T00Z' }, { at: '2024-01-01T01Z' }], [1, 2])
    expect(seriesOf(part, question, columns)[0]?.to).toBe(day('2024-01-01T02:00:00Z'))
  })

  test('surrounds the values as they were measured', () => {
    const keys = [{ day: '2024-01' }, { day: '2024-02' }]
    const measured = counts(keys, [-4, 50])
    const [series] = seriesOf(counts(keys, [0, 50], { measured }), byMonth, columns)
    expect(series?.lines[0]?.points[0]).toMatchObject({ value: 0, around: [0, 6] })
  })

  test('is absent without consecutive periods', () => {
    const weekdays = { kind: 'histogram', column: { column: 'day', by: 'dayOfWeek' } }
    expect(seriesOf(counts([{ day: 'Monday' }, { day: 'Tuesday' }], [1, 2]), weekdays, columns)).toEqual([])
    expect(seriesOf(counts([{ day: '2024-01' }], [1]), byMonth, columns)).toEqual([])
    expect(seriesOf(counts([{ age: 'x' }], [1]), { kind: 'histogram', column: 'age' }, columns)).toEqual([])
  })
})
