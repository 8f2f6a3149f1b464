import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, test } from 'vitest'
import { type GroupingColumn, query as querySchema } from '../../../../schemas/answers/query.ts'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import { type DatasetDeclaration, declareDataset } from '../../../../src/core/dataset/declaration.ts'
import { dateText, instantText, parseDate, parseInstant } from '../../../../src/core/dataset/iso-time.ts'
import { normalForm } from '../../../../src/core/planner/identity/normal-form.ts'
import {
  type Period,
  parsePeriod,
  periodAt,
  periodName,
  startOf,
} from '../../../../src/core/planner/language/calendar.ts'
import { planGrouping } from '../../../../src/core/planner/language/grouping.ts'
import { planPredicate } from '../../../../src/core/planner/language/predicate.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { LIMITS } from '../planned.ts'

const DECLARATION: DatasetDeclaration = {
  id: 'visits',
  title: 'Visits',
  source: { kind: 'file', path: 'visits.csv', format: 'csv' },
  columns: [
    {
      name: 'visited',
      type: 'date',
      lower: '2023-11-15',
      upper: '2024-12-31',
      step: 1,
      dateFormat: 'YYYY-MM-DD',
      nullable: true,
    },
    {
      name: 'arrived',
      type: 'timestamp',
      lower: '2024-02-28T22:00:00Z',
      upper: '2024-03-01T02:00:00Z',
      step: 60,
      timeZone: 'Europe/Berlin',
      dateFormat: 'YYYY-MM-DD',
      nullable: false,
    },
    {
      name: 'fortnight',
      type: 'date',
      lower: '1970-01-01',
      upper: '2024-12-19',
      step: 14,
      dateFormat: 'YYYY-MM-DD',
      nullable: false,
    },
    {
      name: 'ever',
      type: 'timestamp',
      lower: '0001-01-01T00:00:00Z',
      upper: '9999-12-31T00:00:00Z',
      step: 3600,
      timeZone: 'UTC',
      dateFormat: 'YYYY-MM-DD',
      nullable: false,
    },
    { name: 'age', type: 'integer', lower: 0, upper: 120, step: 1, nullable: false },
    { name: 'sex', type: 'category', categories: ['F', 'M'], nullable: false },
  ],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  synthetic: true,
  accounting: 'basic',
  sharing: false,
  timing: 'off',
  failureLimit: 3,
  queryLimits: {},
}
const visits: Dataset = declareDataset(DECLARATION, '1')

const labelsOf = (grouping: GroupingColumn) => planGrouping(grouping, visits, 'column').labels

/** The errors of a query that cannot be planned. */
function errorsOf(wire: object) {
  try {
    plan(querySchema.parse({ epsilon: 1, ...wire }), visits, LIMITS)
  } catch (error) {
    if (error instanceof Refusal) return error.errors
    throw error
  }
  throw new Error('nothing was refused')
}

describe('ISO 8601 texts', () => {
  const years = { min: -62_135_596_800, max: 253_402_300_799 }

  test('of any instant are read back and are those of a calendar library', () => {
    fc.assert(
      fc.property(fc.integer(years), (seconds) => {
        const text = instantText(BigInt(seconds))
        expect(text).toBe(Temporal.Instant.fromEpochMilliseconds(seconds * 1000).toString())
        expect(parseInstant(text)).toBe(BigInt(seconds) * 1_000_000_000n)
        const days = BigInt(Math.floor(seconds / 86_400))
        expect(parseDate(dateText(days))).toBe(days)
      }),
      { numRuns: 2_000 },
    )
  })

  test('with an offset and a fraction are those of a calendar library', () => {
    const digits = (length: number) =>
      fc.nat(10 ** length - 1).map((number) => `${number}`.padStart(length, '0'))
    fc.assert(
      fc.property(
        fc.integer(years),
        fc.integer({ min: 1, max: 9 }).chain(digits),
        fc.integer({ min: -1439, max: 1439 }),
        (seconds, fraction, minutes) => {
          const size = Math.abs(minutes)
          const two = (number: number) => String(number).padStart(2, '0')
          const offset = `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
          const text = `${instantText(BigInt(seconds)).slice(0, -1)}.${fraction}${offset}`
          expect(parseInstant(text)).toBe(Temporal.Instant.from(text).epochNanoseconds)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  test.each([
    '2024-02-30',
    '2023-02-29',
    '1900-02-29',
    '2024-04-31',
    '2024-00-01',
    '2024-13-01',
    '0000-01-01',
    '2024-1-1',
    '20240101',
    '2024-W01-1',
    ' 2024-01-01',
    '2024-01-01\n',
    '',
  ])('%j is no date', (text) => {
    expect(parseDate(text)).toBeUndefined()
    expect(parseInstant(text)).toBeUndefined()
  })

  test.each([
    '2024-01-01T24:00Z',
    '2024-01-01T23:60Z',
    '2024-01-01T23:59:60Z',
    '2024-01-01T5:00Z',
    '2024-01-01T05Z',
  ])('%j is no instant', (text) => expect(parseInstant(text)).toBeUndefined())
})

describe('periods', () => {
  const periods: readonly Period[] = ['year', 'quarter', 'month', 'week', 'day', 'hour']

  test.each(periods)(
    'every instant is in the %s that starts at or before it, and the next starts later',
    (period) => {
      fc.assert(
        fc.property(fc.integer({ min: -62_135_000_000, max: 253_400_000_000 }), (seconds) => {
          const number = periodAt(period, BigInt(seconds))
          expect(startOf(period, number)).toBeLessThanOrEqual(BigInt(seconds))
          expect(startOf(period, number + 1)).toBeGreaterThan(BigInt(seconds))
          expect(parsePeriod(period, periodName(period, number))).toBe(number)
        }),
        { numRuns: 1_000 },
      )
    },
  )

  test('weeks have the names of ISO 8601', () => {
    fc.assert(
      fc.property(fc.integer({ min: -719_000, max: 2_932_000 }), (days) => {
        const date = Temporal.PlainDate.from('1970-01-01').add({ days })
        const name = `${String(date.yearOfWeek).padStart(4, '0')}-W${String(date.weekOfYear).padStart(2, '0')}`
        expect(periodName('week', periodAt('week', BigInt(days) * 86_400n))).toBe(name)
      }),
      { numRuns: 2_000 },
    )
  })

  test.each<[Period, string]>([
    ['year', '24'],
    ['year', '2024-01'],
    ['quarter', '2024-Q0'],
    ['quarter', '2024-Q5'],
    ['quarter', '2024-q1'],
    ['quarter', '2024Q1'],
    ['month', '2024-13'],
    ['month', '2024-3'],
    ['week', '2024-W53'],
    ['week', '2024-W00'],
    ['week', '2024W09'],
    ['day', '2024-02-30'],
    ['hour', '2024-03-01T24Z'],
    ['hour', '2024-03-01T05'],
    ['hour', '2024-03-01'],
  ])('no %s has the name %j', (period, name) => {
    expect(parsePeriod(period, name)).toBeUndefined()
  })
})

describe('cells of the calendar', () => {
  test.each<[GroupingColumn, readonly (string | null)[]]>([
    [{ column: 'visited', by: 'year' }, ['2023', '2024', null]],
    [{ column: 'visited', by: 'quarter' }, ['2023-Q4', '2024-Q1', '2024-Q2', '2024-Q3', '2024-Q4', null]],
    [{ column: 'visited', by: 'month', to: '2024-02' }, ['2023-11', '2023-12', '2024-01', '2024-02', null]],
    [{ column: 'visited', by: 'month', from: '2024-11-30' }, ['2024-11', '2024-12', null]],
    [
      { column: 'visited', by: 'week', from: '2023-12-28', to: '2024-W02' },
      ['2023-W52', '2024-W01', '2024-W02', null],
    ],
    [
      { column: 'visited', by: 'day', from: '2024-02-28', to: '2024-03-01' },
      ['2024-02-28', '2024-02-29', '2024-03-01', null],
    ],
    [{ column: 'arrived', by: 'day' }, ['2024-02-28', '2024-02-29', '2024-03-01']],
    [
      { column: 'arrived', by: 'hour', to: '2024-02-29' },
      ['2024-02-28T22Z', '2024-02-28T23Z', '2024-02-29T00Z'],
    ],
    [
      { column: 'arrived', by: 'hour', from: '2024-02-29T23:30:00+01:00', to: '2024-02-29T23Z' },
      ['2024-02-29T22Z', '2024-02-29T23Z'],
    ],
    [
      { column: 'arrived', by: 'dayOfWeek' },
      ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'],
    ],
  ])('of %j', (grouping, names) => {
    expect(labelsOf(grouping)).toEqual(names)
  })

  test('a week of the year before begins a cycle at its own day', () => {
    const { key } = planGrouping({ column: 'visited', by: 'dayOfWeek', from: '2024-02-29' }, visits, 'column')
    // 29 February 2024 was a Thursday.
    expect(key).toMatchObject({ kind: 'bins', cycle: { length: 7, first: 3 } })
  })

  test('edges may be dates and times', () => {
    const edges = ['2024-01-01', '2024-07-01', '2024-12-31']
    expect(planGrouping({ column: 'visited', edges }, visits, 'column')).toEqual({
      column: 'visited',
      key: { kind: 'bins', column: 'visited', edges: [19_723n, 19_905n, 20_089n], nullCell: true },
      labels: [
        { lower: '2024-01-01', upper: '2024-07-01' },
        { lower: '2024-07-01', upper: '2024-12-31', upperIncluded: true },
        null,
      ],
    })
    const times = ['2024-02-29', '2024-02-29T12:00:30Z', '2024-02-29T14:00+01:00']
    expect(planGrouping({ column: 'arrived', edges: times }, visits, 'column').key).toMatchObject({
      edges: ['2024-02-29T00:00Z', '2024-02-29T12:01Z', '2024-02-29T13:01Z'].map(
        (text) => BigInt(Date.parse(text)) / 60_000n,
      ),
    })
  })

  test('queries that spell their edges in different ways have one identity and the same labels', () => {
    const spellings = [
      ['2024-02-29', '2024-02-29T13:00:30.000', '2024-03-01T00:00Z'],
      ['2024-02-29T00:00:00Z', '2024-02-29T14:00:30+01:00', '2024-02-29T19:00-05:00'],
    ]
    const labels = spellings.map((edges) => labelsOf({ column: 'arrived', edges }))
    expect(labels[0]).toEqual([
      { lower: '2024-02-29T00:00:00Z', upper: '2024-02-29T13:00:30Z' },
      { lower: '2024-02-29T13:00:30Z', upper: '2024-03-01T00:00:00Z', upperIncluded: true },
    ])
    expect(labels[1]).toEqual(labels[0])
    const [one, other] = spellings.map((edges) => {
      const wire = { kind: 'histogram', column: { column: 'arrived', edges }, epsilon: 1 }
      return normalForm(plan(querySchema.parse(wire), visits, LIMITS))
    })
    expect(other).toEqual(one)
  })
})

describe('comparisons with dates and times', () => {
  const planned = (op: string, value: string, column = 'visited') =>
    planPredicate({ column, op: op as '=', value }, visits, 'where')
  const between = (bounds: object, column = 'visited') => ({ kind: 'index-between', column, ...bounds })

  test('are comparisons of grid indexes', () => {
    // 1 January 2024 is day 19,723.
    expect(planned('=', '2024-01-01')).toEqual({ kind: 'index-in', column: 'visited', indexes: [19_723n] })
    expect(planned('<', '2024-01-01')).toEqual(between({ upper: 19_722n }))
    expect(planned('<=', '2024-01-01')).toEqual(between({ upper: 19_723n }))
    expect(planned('>', '2024-01-01')).toEqual(between({ lower: 19_724n }))
    expect(planned('>=', '2024-01-01')).toEqual(between({ lower: 19_723n }))
    expect(
      planPredicate(
        { column: 'visited', op: 'between', lower: '2024-01-01', upper: '2024-01-31' },
        visits,
        'where',
      ),
    ).toEqual(between({ lower: 19_723n, upper: 19_753n }))
  })

  test('beyond the bounds select the same rows as the bounds, as those of numbers do', () => {
    expect(planned('>=', '1900-01-01')).toEqual(between({ lower: 19_676n - 1n }))
    expect(planned('<', '9999-12-31')).toEqual(between({ upper: 20_088n }))
  })

  test('with times are rounded to the side on which no row is gained or lost', () => {
    const minute = BigInt(Date.parse('2024-02-29T12:00Z')) / 60_000n
    expect(planned('<', '2024-02-29T12:00:30Z', 'arrived')).toEqual(between({ upper: minute }, 'arrived'))
    expect(planned('>=', '2024-02-29T12:00:30Z', 'arrived')).toEqual(
      between({ lower: minute + 1n }, 'arrived'),
    )
    expect(planned('<=', '2024-02-29T12:00:00.000000001Z', 'arrived')).toEqual(
      between({ upper: minute }, 'arrived'),
    )
    // Times in queries are UTC, whatever the time zone of the source.
    expect(planned('>', '2024-02-29T12:00', 'arrived')).toEqual(between({ lower: minute + 1n }, 'arrived'))
    expect(planned('>', '2024-02-29T13:00+01:00', 'arrived')).toEqual(
      between({ lower: minute + 1n }, 'arrived'),
    )
  })
})

describe('refusals', () => {
  const by = (grouping: object) => ({
    kind: 'histogram',
    column: { column: 'visited', by: 'month', ...grouping },
  })
  const where = (comparison: object) => ({
    kind: 'count',
    where: { column: 'visited', op: '>=', ...comparison },
  })

  test.each<[string, object, string]>([
    ['31 February', where({ value: '2024-02-31' }), 'where.value: existing date'],
    ['29 February in a common year', where({ value: '2023-02-29' }), 'where.value: existing date'],
    ['a time for a date', where({ value: '2024-01-01T00:00:00Z' }), 'where.value: existing date'],
    ['a number for a date', where({ value: 19_723 }), 'where.value: ISO 8601 text'],
    ['a date for a number', where({ column: 'age', value: '2024-01-01' }), 'where.value: a number'],
    [
      'an end of a range that does not exist',
      {
        kind: 'count',
        where: { column: 'visited', op: 'between', lower: '2024-01-01', upper: '2024-06-31' },
      },
      'where.upper: existing date',
    ],
    [
      'a listed date that does not exist',
      { kind: 'count', where: { column: 'visited', op: 'in', values: ['2024-01-01', '2024-1-2'] } },
      'where.values.1: existing date',
    ],
    [
      'a time between two steps',
      where({ column: 'arrived', op: '=', value: '2024-02-29T12:00:30Z' }),
      'where.value: grid',
    ],
    [
      'a time that does not exist',
      where({ column: 'arrived', value: '2024-02-29T25:00Z' }),
      'where.value: existing',
    ],
    ['no division', { kind: 'histogram', column: 'visited' }, 'column: "by"'],
    ['hours of a date', by({ by: 'hour' }), 'column.by: hour'],
    ['months of a number', by({ column: 'age' }), 'column.by: dates or timestamps'],
    ['months of a category', by({ column: 'sex' }), 'column.by: dates or timestamps'],
    ['a start out of bounds', by({ from: '2023-10' }), 'column.from: "2023-11" to "2024-12"'],
    ['an end out of bounds', by({ to: '2025-01-01' }), 'column.to: within the bounds'],
    ['a start that does not exist', by({ from: '2024-02-31' }), 'column.from: existing date'],
    ['a start of another kind', by({ from: '2024-W09' }), 'column.from: such as "2024-12"'],
    ['reversed ends', by({ from: '2024-05', to: '2024-04' }), 'column.to: before from'],
    ['cells shorter than a step', by({ column: 'fortnight', by: 'week' }), 'column.by: shorter than a step'],
    ['days of a longer step in a cycle', by({ column: 'fortnight', by: 'dayOfWeek' }), 'column.by: shorter'],
    ['more cells than the limit', by({ column: 'ever', by: 'year' }), 'column.by: 9999 periods'],
    ['more periods than the limit', by({ column: 'ever', by: 'hour' }), 'column.by: from and to'],
    [
      'more cells than an answer may have',
      by({ column: 'fortnight', by: 'month', to: '2071-01' }),
      'column.to: bounds',
    ],
    [
      'edges that are reversed',
      { kind: 'histogram', column: { column: 'visited', edges: ['2024-05-01', '2024-04-01'] } },
      'column.edges.1: greater',
    ],
    [
      'edges out of bounds',
      { kind: 'histogram', column: { column: 'visited', edges: ['2023-11-14', '2024-04-01'] } },
      'column.edges.0: 2023-11-15 and 2024-12-31',
    ],
    [
      'an edge that is a number',
      { kind: 'histogram', column: { column: 'visited', edges: [19_700, 19_800] } },
      'column.edges.0: ISO 8601',
    ],
    ['a sum of dates', { kind: 'sum', column: 'visited' }, 'column: type date'],
    ['a variance of dates', { kind: 'variance', column: 'visited' }, 'column: type date'],
    [
      'a standard deviation of times',
      { kind: 'standardDeviation', column: 'arrived' },
      'column: type timestamp',
    ],
  ])('%s', (_, wire, expected) => {
    const [field, rule = ''] = expected.split(': ')
    expect(errorsOf(wire)).toEqual([{ field, rule: expect.stringContaining(rule) }])
  })

  test('a table with more cells than the limit', () => {
    const columns = [
      { column: 'visited', by: 'day' },
      { column: 'arrived', by: 'day' },
    ]
    expect(errorsOf({ kind: 'contingency', columns })).toEqual([
      { field: 'columns', rule: expect.stringContaining('1242 cells; at most 1000') },
    ])
  })
})
