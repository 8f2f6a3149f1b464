import { beforeAll, describe, expect, test } from 'vitest'
import { loadParser } from '../../../src/answers/sql/parsing/parser.ts'
import { normalForm } from '../../../src/core/planner/identity/normal-form.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { noiseReport, reporter } from '../../../src/core/planner/report.ts'
import { datasetOf } from '../../engines/fixture.ts'
import { COLUMNS, meaningOf, queriesOf, queryOf, refusalOf, translated, visits } from './translated.ts'

beforeAll(loadParser)

const select = (values: string, rest = '') => `SELECT ${values} FROM visits ${rest}`
const stated = (asked: ReturnType<typeof queryOf>) => ({
  noise: noiseReport(plan(asked, visits, { maxCells: 100 })),
})
const AGES = { column: 'age', op: '>', value: 3 }

describe('aggregates', () => {
  test.each([
    ['COUNT(*)', { kind: 'count' }],
    ['count(Visits)', { kind: 'count' }],
    ['COUNT(DISTINCT patient)', { kind: 'count', of: 'people' }],
    ['COUNT(age)', { kind: 'count', where: { op: 'not', predicate: { column: 'age', op: 'isNull' } } }],
    ['COUNT(DISTINCT Region)', { kind: 'countDistinct', column: 'Region' }],
    [
      "COUNT(DISTINCT date_trunc('month', day))",
      { kind: 'countDistinct', column: { column: 'day', by: 'month' } },
    ],
    ['SUM(cost)', { kind: 'sum', column: 'cost' }],
    ['AVG("age")', { kind: 'mean', column: 'age' }],
    ['SUM(cost * -2.5 + age)', { kind: 'sum', column: 'age - 2.5 * cost' }],
    ['AVG(age / 2.0)', { kind: 'mean', column: '0.5 * age' }],
    ['SUM(LEAST(Visits - age, 5))', { kind: 'sum', column: 'Visits - age', clamp: { lower: -20, upper: 5 } }],
    [
      "AVG(CASE WHEN Region = 'North' AND NOT age > 3 THEN cost ELSE 0 END)",
      { kind: 'mean', column: "case when (Region = 'North' and age <= 3) then cost else 0 end" },
    ],
    ['AVG(COALESCE(age, 0))', { kind: 'mean', column: 'coalesce(age, 0)' }],
    ['AVG(EXTRACT(HOUR FROM seen))', { kind: 'mean', column: 'hour(seen)' }],
    ['var_pop(AGE)', { kind: 'variance', column: 'age' }],
    ['STDDEV_POP(visits.age)', { kind: 'standardDeviation', column: 'age' }],
    ['MIN(day)', { kind: 'minimum', column: 'day' }],
    ['MAX(cost)', { kind: 'maximum', column: 'cost' }],
    ['percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)', { kind: 'median', column: 'cost' }],
    ['percentile_disc(0.07) WITHIN GROUP (ORDER BY cost)', { kind: 'percentile', column: 'cost', p: 7 }],
    [
      'percentile_cont(.9999) WITHIN GROUP (ORDER BY cost DESC)',
      { kind: 'percentile', column: 'cost', p: 0.01 },
    ],
    ['percentile_cont(0) WITHIN GROUP (ORDER BY cost)', { kind: 'minimum', column: 'cost' }],
    ['percentile_cont(1.0) WITHIN GROUP (ORDER BY cost)', { kind: 'maximum', column: 'cost' }],
    [
      'SUM(LEAST(GREATEST(cost, -1), 4.5))',
      { kind: 'sum', column: 'cost', clamp: { lower: -1, upper: 4.5 } },
    ],
    [
      'SUM(greatest(least(cost, 4.5), -1))',
      { kind: 'sum', column: 'cost', clamp: { lower: -1, upper: 4.5 } },
    ],
    ['AVG(LEAST(12, age))', { kind: 'mean', column: 'age', clamp: { lower: 0, upper: 12 } }],
    [
      "MAX(GREATEST(day, DATE '2024-02-01'))",
      { kind: 'maximum', column: 'day', clamp: { lower: '2024-02-01', upper: '2024-03-05' } },
    ],
    [
      'percentile_cont(0.5) WITHIN GROUP (ORDER BY LEAST(cost, 4))',
      { kind: 'median', column: 'cost', clamp: { lower: -5, upper: 4 } },
    ],
    [
      'percentile_cont(0.25) WITHIN GROUP (ORDER BY LEAST(age, 8)), percentile_cont(0.75) WITHIN GROUP (ORDER BY LEAST(age, 8))',
      { kind: 'percentile', column: 'age', p: [25, 75], clamp: { lower: 0, upper: 8 } },
    ],
    [
      'COVAR_POP(LEAST(age, 9), cost)',
      { kind: 'covariance', columns: ['age', 'cost'], clamp: { age: { lower: 0, upper: 9 } } },
    ],
    [
      'REGR_SLOPE(GREATEST(cost, 0), age), REGR_INTERCEPT(GREATEST(cost, 0), age)',
      {
        kind: 'linearRegression',
        outcome: 'cost',
        predictors: ['age'],
        clamp: { cost: { lower: 0, upper: 5 } },
      },
    ],
    [
      'COUNT(*), SUM(LEAST(age, 9))',
      {
        kind: 'groupBy',
        keys: [],
        statistics: [{ kind: 'count' }, { kind: 'sum', column: 'age', clamp: { lower: 0, upper: 9 } }],
      },
    ],
    ['CORR(age, cost)', { kind: 'correlation', columns: ['age', 'cost'] }],
    ['COVAR_POP(age, cost)', { kind: 'covariance', columns: ['age', 'cost'] }],
    ['REGR_SLOPE(cost, age)', { kind: 'linearRegression', outcome: 'cost', predictors: ['age'] }],
    [
      'REGR_SLOPE(cost, age), REGR_INTERCEPT(cost, age)',
      { kind: 'linearRegression', outcome: 'cost', predictors: ['age'] },
    ],
    [
      'percentile_cont(0.25) WITHIN GROUP (ORDER BY age), percentile_cont(0.75) WITHIN GROUP (ORDER BY age)',
      { kind: 'percentile', column: 'age', p: [25, 75] },
    ],
    [
      'COUNT(*), AVG(age), AVG(age), COUNT(DISTINCT patient), percentile_cont(0.5) WITHIN GROUP (ORDER BY age)',
      {
        kind: 'groupBy',
        keys: [],
        statistics: [
          { kind: 'count' },
          { kind: 'mean', column: 'age' },
          { kind: 'count', of: 'people' },
          { kind: 'median', column: 'age' },
        ],
      },
    ],
    [
      'COUNT(age), SUM(age)',
      {
        kind: 'groupBy',
        keys: [],
        statistics: [{ kind: 'count' }, { kind: 'sum', column: 'age' }],
        where: { op: 'not', predicate: { column: 'age', op: 'isNull' } },
      },
    ],
  ])('%s', (values, query) => {
    expect(meaningOf(select(values))).toEqual(query)
  })
})

describe('conditions', () => {
  const missing = (column: string) => ({ column, op: 'isNull' })
  const not = (predicate: object) => ({ op: 'not', predicate })
  test.each([
    ['age > 3', AGES],
    ['3 < age', AGES],
    ['age > Visits', { column: 'age - Visits', op: '>', value: 0 }],
    ['NOT Visits >= visits.age + 1', { column: 'Visits - age - 1', op: '<', value: 0 }],
    ['EXTRACT(HOUR FROM seen) >= 22', { column: 'hour(seen)', op: 'between', lower: 22, upper: 23 }],
    ['NOT (age <= 3)', AGES],
    ['NOT age <= +3 IS TRUE', not({ column: 'age', op: '<=', value: 3 })],
    ['(age > 3) IS TRUE', AGES],
    ['NOT NOT (age > 3)', AGES],
    ['age <> 3', { column: 'age', op: '!=', value: 3 }],
    ['age IN (3)', { column: 'age', op: '=', value: 3 }],
    ['age IN (1, 2)', { column: 'age', op: 'in', values: [1, 2] }],
    [
      'age NOT IN (1, 2)',
      { op: 'and', predicates: [not({ column: 'age', op: 'in', values: [1, 2] }), not(missing('age'))] },
    ],
    ['age BETWEEN 1 AND 5', { column: 'age', op: 'between', lower: 1, upper: 5 }],
    [
      'age NOT BETWEEN 1 AND 5',
      {
        op: 'or',
        predicates: [
          { column: 'age', op: '<', value: 1 },
          { column: 'age', op: '>', value: 5 },
        ],
      },
    ],
    ['age IS NULL', missing('age')],
    ['age IS NOT NULL', not(missing('age'))],
    ['age IS NOT DISTINCT FROM NULL', missing('age')],
    ['age IS DISTINCT FROM 3', not({ column: 'age', op: '=', value: 3 })],
    ['member', { column: 'member', op: '=', value: true }],
    ['NOT member', { column: 'member', op: '=', value: false }],
    ['member IS UNKNOWN', missing('member')],
    ['member IS NOT UNKNOWN', not(missing('member'))],
    ['member IS NOT FALSE', not({ column: 'member', op: '=', value: false })],
    ["Region = 'O''Hara'", { column: 'Region', op: '=', value: "O'Hara" }],
    ["Region = U&'\\004Eorth'", { column: 'Region', op: '=', value: 'North' }],
    ['Region = $$North$$', { column: 'Region', op: '=', value: 'North' }],
    ['cost = -1.50', { column: 'cost', op: '=', value: -1.5 }],
    ['cost < 1e1', { column: 'cost', op: '<', value: 10 }],
    ["day >= DATE '2024-02-01'", { column: 'day', op: '>=', value: '2024-02-01' }],
    ["day >= '2024-02-01'::date", { column: 'day', op: '>=', value: '2024-02-01' }],
    ["seen < '2024-03-01 12:00'", { column: 'seen', op: '<', value: '2024-03-01T12:00Z' }],
    [
      "seen < TIMESTAMPTZ '2024-03-01 12:00:00+02'",
      { column: 'seen', op: '<', value: '2024-03-01T12:00:00+02:00' },
    ],
    ["seen < TIMESTAMP '2024-03-01'", { column: 'seen', op: '<', value: '2024-03-01' }],
    ['age > 3 -- a comment', AGES],
    [
      "date_trunc('month', day) = '2024-02-01'",
      { column: 'day', op: 'between', lower: '2024-02-01', upper: '2024-02-29' },
    ],
    ['EXTRACT(year FROM day) < 2024', { op: 'and', predicates: [missing('day'), not(missing('day'))] }],
    ["Region LIKE '%o%th'", { column: 'Region', op: 'in', values: ['North', 'South'] }],
    ["Region NOT ILIKE '_o%'", { column: 'Region', op: '=', value: "O'Hara" }],
    [
      'FLOOR(age / 4.0) IN (0, 2)',
      {
        op: 'or',
        predicates: [
          { column: 'age', op: 'between', lower: 0, upper: 3 },
          { column: 'age', op: 'between', lower: 8, upper: 11 },
        ],
      },
    ],
    // The time is 2026-11-27 21:30:15.25 UTC.
    ["day >= now() - interval '30 days'", { column: 'day', op: '>', value: '2026-10-28' }],
    ["day >= now() - (30 || ' days')::interval", { column: 'day', op: '>', value: '2026-10-28' }],
    ["age > ' 3'", AGES],
    ['day < CURRENT_DATE - 1', { column: 'day', op: '<', value: '2026-11-26' }],
    [
      "day >= date_trunc('month', now() - interval '9 months')",
      { column: 'day', op: '>=', value: '2026-02-01' },
    ],
    [
      "seen > now() - '1 hour 30 minutes'::interval",
      { column: 'seen', op: '>', value: '2026-11-27T20:00:15Z' },
    ],
    [
      "seen >= TO_TIMESTAMP('2024-02-28 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')",
      { column: 'seen', op: '>=', value: '2024-02-28T00:00:00Z' },
    ],
    [
      "seen >= TIMESTAMP '2024-03-31 00:00:00.25' - interval '1 month'",
      { column: 'seen', op: '>=', value: '2024-02-29T00:00:00.25Z' },
    ],
    [
      "seen < to_timestamp('1969-12-31 23:59:59.5', 'YYYY-MM-DD HH24:MI:SS.US') + interval '1 second'",
      { column: 'seen', op: '<', value: '1970-01-01T00:00:00.5Z' },
    ],
    ["day > DATE '2024-03-31' - interval '1 month'", { column: 'day', op: '>', value: '2024-02-29' }],
    [
      '(age > 3 OR (member OR age IS NULL)) AND NOT (age > 5 OR member)',
      {
        op: 'and',
        predicates: [
          { op: 'or', predicates: [AGES, { column: 'member', op: '=', value: true }, missing('age')] },
          { column: 'age', op: '<=', value: 5 },
          { column: 'member', op: '=', value: false },
        ],
      },
    ],
  ])('%s', (condition, where) => {
    expect(meaningOf(select('COUNT(*)', `WHERE ${condition}`))).toEqual({ kind: 'count', where })
  })
})

test('notes say which time now() is, and that the statement is another question later', () => {
  const { notes } = translated(select('COUNT(*)', "WHERE seen > now() - interval '1 day'"))
  expect(notes[0]).toMatch(/^now\(\) is 2026-11-27T21:30:15Z\. .*another question/)
})

test('a computed time is of a year with four digits', () => {
  for (const time of [
    "DATE '9999-12-31' + 1",
    "now() + interval '300000 years'",
    "DATE '0001-01-01' - interval '1 second'",
  ])
    expect(refusalOf(select('COUNT(*)', `WHERE seen > ${time}`)).errors[0]?.rule).toContain('1 to 9999')
})

test('a number that is cast to a decimal is divided by as one', () => {
  const queryOf = (divisor: string) => translated(select('COUNT(*)', `WHERE age / ${divisor} > 1`)).query
  for (const divisor of ['CAST(10 AS float)', "'10'::numeric", "CAST('10' AS double precision)"])
    expect(queryOf(divisor)).toEqual(queryOf('10.0'))
  expect(queryOf("'10'::int")).toEqual(queryOf('10'))
  expect(queryOf('10')).not.toEqual(queryOf('10.0'))
})

test('date_trunc has two arguments', () => {
  for (const third of ["interval '1 day'", "'Europe/Berlin'"])
    expect(() => translated(select('COUNT(*)', `GROUP BY date_trunc('week', day, ${third})`))).toThrow(
      /date_trunc has a unit and a column/,
    )
})

describe('several queries', () => {
  const kindsOf = (sql: string) => queriesOf(select(sql)).map(({ kind }) => kind)
  test.each([
    ['COUNT(*), COUNT(age)', ['count', 'count']],
    ['COUNT(*), AVG(age), COUNT(age), SUM(age)', ['count', 'groupBy']],
    ['SUM(age), SUM(LEAST(age, 3))', ['sum', 'sum']],
    ['COUNT(*), MIN(age), CORR(age, cost), STDDEV(cost)', ['correlation', 'groupBy', 'minimum']],
    ['COUNT(*) FILTER (WHERE age > 3), SUM(cost) FILTER (WHERE NOT age <= 3)', ['groupBy']],
    [
      'COUNT(*) FILTER (WHERE age > 3 AND member), COUNT(*) FILTER (WHERE member AND NOT age <= 3)',
      ['count'],
    ],
    ['AVG(CASE WHEN member THEN 1 ELSE 0 END)', ['proportion']],
    [
      'AVG(CASE WHEN member THEN 1 ELSE 0 END), AVG(CASE WHEN age > 3 THEN 1 ELSE 0 END), COUNT(*)',
      ['groupBy'],
    ],
  ])('%s', (values, kinds) => {
    expect(kindsOf(values)).toEqual(kinds)
  })

  test.each([
    ['COUNT(*), COUNT(*) FILTER (WHERE age > 3)', 'WHERE NOT age <= 3'],
    ['COUNT(*), SUM(cost) FILTER (WHERE age > 3 OR member)', 'WHERE age > 3'],
    ['SUM(cost), SUM(cost) FILTER (WHERE Visits >= 0)', ''],
    [
      "COUNT(*) FILTER (WHERE Region = 'North'), COUNT(*) FILTER (WHERE Region <> 'South')",
      "WHERE Region <> 'O''Hara'",
    ],
  ])('%s %s is one query, of the same rows', (values, rest) => {
    expect(queriesOf(select(values, rest))).toHaveLength(1)
  })

  test.each([
    ['AVG(CASE WHEN member THEN Visits - age END)', { kind: 'mean', column: 'Visits - age' }],
    ['MAX(CASE WHEN member THEN cost * 2 END)', { kind: 'maximum', column: '2 * cost' }],
    ["COUNT(CASE WHEN member THEN 'x' END)", { kind: 'count' }],
  ])('%s keeps its aggregate and its values', (value, expected) => {
    expect(queriesOf(select(value))).toMatchObject([{ ...expected, where: { column: 'member' } }])
  })

  test.each([
    'COUNT(DISTINCT CASE WHEN member THEN 1 END)',
    'SUM(DISTINCT CASE WHEN member THEN 5 END)',
    'COUNT(CASE WHEN member THEN NULL END)',
  ])('%s is refused', (value) => {
    expect(refusalOf(select(value)).code).toBe('sql-not-supported')
  })

  test('attack: short texts do not mean large expressions', () => {
    const doubled = Array.from(
      { length: 25 },
      (_, place) => `w${place + 1} AS (SELECT x + x AS x FROM w${place})`,
    )
    const sql = `WITH w0 AS (SELECT age AS x FROM visits), ${doubled.join(', ')} SELECT AVG(x) FROM w25`
    expect(refusalOf(sql).errors[0]?.rule).toContain('parts')
    expect(refusalOf(select(`AVG(cost${'/1'.repeat(60)})`)).code).toBe('sql-not-supported')
  })

  test('a SELECT of WITH does not see those after it', () => {
    const later = 'WITH a AS (SELECT * FROM visits), visits AS (SELECT * FROM visits WHERE age > 3)'
    expect(queriesOf(`${later} SELECT COUNT(*) FROM a`)).toEqual([
      expect.not.objectContaining({ where: expect.anything() }),
    ])
  })

  test('are the same in any order of their aggregates', () => {
    const forms = (sql: string) =>
      queriesOf(sql).map((query) => normalForm(plan(query, visits, { maxCells: 1_000 })))
    const parts = ['COUNT(*)', 'SUM(age) FILTER (WHERE age > 3)', "COUNT(*) FILTER (WHERE Region LIKE 'N%')"]
    const sql = (values: readonly string[], keys: string) => select(values.join(', '), `GROUP BY ${keys}`)
    const one = forms(sql(parts, 'member, Visits'))
    expect(one).toHaveLength(3)
    expect(forms(sql(parts.toReversed(), 'member, Visits'))).toEqual(one)
  })

  test('are at most as many as a batch has', () => {
    const filters = Array.from({ length: 101 }, (_, place) => `age=${place % 20} AND cost<${place / 20}`)
    const many = filters.map((filter) => `COUNT(*)FILTER(WHERE ${filter})`)
    expect(refusalOf(select(many.join())).errors[0]?.rule).toContain('100')
  })
})

describe('groups', () => {
  const steps = (lower: number, upper: number) =>
    Array.from({ length: upper - lower + 1 }, (_, place) => lower + place)
  const SATURDAYS = {
    column: 'seen',
    edges: ['2024-02-27T00:00:00Z', '2024-03-02T00:00:00Z', '2024-03-02T23:00:00Z'],
  }
  test.each([
    ['Region', 'Region'],
    ['age', { column: 'age', edges: [...steps(0, 20), 20] }],
    ['day', { column: 'day', by: 'day' }],
    ["date_trunc('MONTH', day)", { column: 'day', by: 'month' }],
    ["date_trunc('hour', seen)", { column: 'seen', by: 'hour' }],
    ['EXTRACT(YEAR FROM day)', { column: 'day', by: 'year' }],
    ["date_part('dow', day)", { column: 'day', by: 'dayOfWeek' }],
    ["date_part('DAY', day)", { column: 'day(day)', edges: [...steps(1, 31), 31] }],
    ['EXTRACT(month FROM day)', { column: 'day', by: 'monthOfYear' }],
    ['width_bucket(age, 0, 20, 2)', { column: 'age', edges: [0, 10, 20, 20] }],
    ['width_bucket(age, 5, 15, 2)', { column: 'age', edges: [0, 5, 10, 15, 20] }],
    ['width_bucket(age, -10, 30, 4)', { column: 'age', edges: [0, 10, 20, 20] }],
    ['width_bucket(age, ARRAY[7.5])', { column: 'age', edges: [0, 8, 20] }],
    ['FLOOR(age / 8.0) * 8', { column: 'age', edges: [0, 8, 16, 20] }],
    ['age / 8 * 8', { column: 'age', edges: [0, 8, 16, 20] }],
    ['10 - CEIL(cost / 2.5)', { column: 'cost', edges: [-5, -4.75, -2.25, 0.25, 2.75, 5] }],
    [
      'floor(extract(epoch from seen)/172800)*172800',
      {
        column: 'seen',
        edges: [
          '2024-02-27T00:00:00Z',
          '2024-02-29T00:00:00Z',
          '2024-03-02T00:00:00Z',
          '2024-03-02T23:00:00Z',
        ],
      },
    ],
    ["CAST(date_trunc('month', day) AS date)", { column: 'day', by: 'month' }],
    ["date_trunc('month', CAST(CAST(day AS date) AS timestamp))", { column: 'day', by: 'month' }],
    ["date_trunc('hour', CAST(seen AS timestamptz))", { column: 'seen', by: 'hour' }],
    ['CAST(seen AS date)', { column: 'seen', by: 'day' }],
    ['DATE(seen)', { column: 'seen', by: 'day' }],
    ['day::date', { column: 'day', by: 'day' }],
    ['EXTRACT(month FROM CAST(seen AS date))', { column: 'seen', by: 'monthOfYear' }],
    ["date_trunc('week', seen + interval '2 days') - interval '2 days'", SATURDAYS],
    [
      "CAST(date_trunc('week', CAST(seen + interval '2 days' AS date)) AS date) + interval '-2 days'",
      SATURDAYS,
    ],
    ['upper(Region)', 'Region'],
    ['width_bucket(cost, -2, 2, 3)', { column: 'cost', edges: [-5, -2, -0.5, 0.75, 2, 5] }],
  ])('by %s', (key, column) => {
    expect(meaningOf(select(`${key}, COUNT(*)`, `GROUP BY ${key}`))).toEqual({ kind: 'histogram', column })
  })

  test('are the same by expression, name and place', () => {
    const query = {
      kind: 'groupBy',
      keys: ['Region', { column: 'day', by: 'month' }],
      statistics: [{ kind: 'mean', column: 'cost' }],
    }
    const values = "Region, date_trunc('month', day) AS m, AVG(cost)"
    for (const keys of ["Region, date_trunc('month', day)", 'region, m', '1, 2', '"Region", M, 1'])
      expect(meaningOf(select(values, `GROUP BY ${keys}`)), keys).toEqual(query)
  })

  test('of two columns with a count alone are a contingency table', () => {
    expect(meaningOf(select('COUNT(*)', 'GROUP BY Region, member'))).toEqual({
      kind: 'contingency',
      columns: ['Region', 'member'],
    })
  })

  test('need the aggregates of HAVING and ORDER BY as well', () => {
    expect(
      meaningOf(select('Region', 'GROUP BY 1 HAVING COUNT(*) > 10 ORDER BY AVG(cost) DESC')),
    ).toMatchObject({ statistics: [{ kind: 'count' }, { kind: 'mean', column: 'cost' }] })
  })

  test('keep the columns apart whose names differ in the case of letters', () => {
    const [, region] = COLUMNS
    const dataset = datasetOf(
      [...COLUMNS.slice(1), { ...region, name: 'REGION' } as (typeof COLUMNS)[0]],
      'visits',
    )
    const meaning = (key: string) => meaningOf(`SELECT ${key}, COUNT(*) FROM visits GROUP BY 1`, dataset)
    expect(meaning('"REGION"')).toMatchObject({ column: 'REGION' })
    expect(meaning('"Region"')).toMatchObject({ column: 'Region' })
    expect(() => meaning('region')).toThrow('double quotes')
  })
})

describe('rows', () => {
  const groups = [
    {
      key: { Region: 'North' },
      values: { count: { value: 4, halfWidth: 2 }, mean_day: { value: '2024-02-01', halfWidth: 3 } },
    },
    {
      key: { Region: 'South' },
      values: { count: { value: 9, halfWidth: 2 }, mean_day: { value: '2024-02-03', halfWidth: 3 } },
    },
    {
      key: { Region: "O'Hara" },
      values: { count: { value: 4, halfWidth: 2 }, mean_day: { value: '2024-01-30', halfWidth: 3 } },
    },
    {
      key: { Region: null },
      values: { count: { value: -1, halfWidth: 2 }, mean_day: { value: '2024-03-05', halfWidth: 3 } },
    },
  ]
  const answer = { result: { groups }, accuracy: { halfWidth: null } }
  const namesOf = (rest: string) =>
    translated(select('Region, COUNT(*) AS n, AVG(day) AS "when"', `GROUP BY Region ${rest}`))
      .rowsOf(answer)
      .map(([name]) => name)

  test.each([
    ['', ['North', 'South', "O'Hara", null]],
    ['ORDER BY Region', ['North', "O'Hara", 'South', null]],
    ['ORDER BY Region DESC', [null, 'South', "O'Hara", 'North']],
    ['ORDER BY 1 DESC NULLS LAST', ['South', "O'Hara", 'North', null]],
    ['ORDER BY n DESC, Region', ['South', 'North', "O'Hara", null]],
    ['ORDER BY COUNT(*), 1 DESC', [null, "O'Hara", 'North', 'South']],
    ['ORDER BY "when" LIMIT 2', ["O'Hara", 'North']],
    ['ORDER BY "when" OFFSET 1 FETCH FIRST 2 ROWS ONLY', ['North', 'South']],
    ['LIMIT 0', []],
    ['LIMIT ALL', ['North', 'South', "O'Hara", null]],
    ['HAVING COUNT(*) > 3', ['North', 'South', "O'Hara"]],
    ['HAVING COUNT(*) NOT BETWEEN 0 AND 4', ['South', null]],
    ["HAVING AVG(day) >= '2024-02-01' AND COUNT(*) <> 9", ['North', null]],
    ["HAVING Region <> 'North'", ['South', "O'Hara"]],
    ["HAVING NOT (Region = 'North')", ['South', "O'Hara"]],
    ["HAVING Region IN ('North', NULL) OR Region IS NULL", ['North', null]],
    ["HAVING Region NOT IN ('North', NULL)", []],
    ['HAVING NOT (COUNT(*) IN (4, 9))', [null]],
    ['HAVING 4 < COUNT(*)', ['South']],
    // The name of an aggregate comes before the column of the same name.
    ['ORDER BY n DESC LIMIT 1', ['South']],
  ])('%s', (rest, names) => {
    expect(namesOf(rest)).toEqual(names)
  })

  const SUNDAYS = ['2024-01-21', '2024-01-28']
  test.each([
    ["date_trunc('day', seen)", "= '2024-02-29'", ['2024-02-29T00:00:00Z']],
    ["date_trunc('day', seen)", "= TIMESTAMPTZ '2024-02-29 01:00+01'", ['2024-02-29T00:00:00Z']],
    ["date_trunc('day', seen)", ">= '2024-03-01 00:00'", ['2024-03-01T00:00:00Z', '2024-03-02T00:00:00Z']],
    [
      "date_trunc('day', seen)",
      "NOT IN ('2024-02-27', '2024-02-28', '2024-02-29 00:00:00Z', '2024-03-01')",
      ['2024-03-02T00:00:00Z'],
    ],
    ["date_trunc('month', day)", "> '2024-01-31'", ['2024-02-01', '2024-03-01']],
    ['CAST(seen AS date)', "= '2024-02-29'", ['2024-02-29']],
    ["date_trunc('week', day + interval '1 day') - interval '1 day'", "< '2024-02-01'", SUNDAYS],
    [
      "CAST(date_trunc('day', day) + (-EXTRACT(dow FROM day) * interval '1 day') AS date)",
      "< '2024-02-01'",
      SUNDAYS,
    ],
    ['member', '> FALSE', [true]],
    ['EXTRACT(dow FROM day)', 'BETWEEN 5 AND 9.5', [5, 6]],
  ])('HAVING %s %s compares values of the type of the group', (key, comparison, values) => {
    const { asked, rowsOf } = translated(select(`${key}, COUNT(*)`, `GROUP BY 1 HAVING ${key} ${comparison}`))
    const planned = plan(asked, visits, { maxCells: 100 })
    if (planned.kind !== 'additive') throw new Error('counts are planned')
    const noisy = [planned.groupings[0]?.labels.map(() => 0n) ?? []]
    const kept = rowsOf(reporter(planned)({ kind: 'additive', noisy })).map(([value]) => value)
    expect(kept.toSorted()).toEqual(values)
  })

  test.each([
    ["Region IN ('North', 'South')", ['North', 'South']],
    ["Region <> 'North'", ['South', "O'Hara"]],
    ["Region IS DISTINCT FROM 'North'", ['South', "O'Hara", null]],
    ["Region IS NULL OR (Region = 'South' AND age > 3)", ['South', null]],
    ["Region = 'South' OR age > 3", ['North', 'South', "O'Hara", null]],
    ["NOT (Region = 'South' OR age > 3)", ['North', "O'Hara"]],
  ])('WHERE %s leaves out the groups that it excludes', (condition, names) => {
    const { rowsOf } = translated(select('Region, COUNT(*), AVG(day)', `WHERE ${condition} GROUP BY 1`))
    expect(rowsOf(answer).map(([name]) => name)).toEqual(names)
  })

  test.each([
    ["date_trunc('month', day)", "day > '2024-01-31' AND day < '2024-03-01'", ['2024-02-01']],
    ["date_trunc('month', day)", "day IN ('2024-01-31', '2024-03-01')", ['2024-01-01', '2024-03-01']],
    [
      "date_trunc('month', day)",
      "NOT day BETWEEN '2024-02-01' AND '2024-02-29'",
      ['2024-01-01', '2024-03-01'],
    ],
    ["date_trunc('month', day)", 'day IS NULL', [null]],
    ['width_bucket(age, 0, 20, 2)', 'age = 20 OR age < 5', [1, 3]],
    ['EXTRACT(month FROM day)', "day >= '2024-03-01'", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    ['member', 'NOT member', [false]],
  ])('the values of %s where %s', (key, condition, values) => {
    const { asked, rowsOf } = translated(select(`${key}, COUNT(*)`, `WHERE ${condition} GROUP BY 1`))
    const planned = plan(asked, visits, { maxCells: 100 })
    if (planned.kind !== 'additive') throw new Error('counts are planned')
    const noisy = [planned.groupings[0]?.labels.map(() => 0n) ?? []]
    expect(rowsOf(reporter(planned)({ kind: 'additive', noisy })).map(([value]) => value)).toEqual(values)
  })

  test('have notes on what is sorted and cut by noisy values', () => {
    const notesOf = (rest: string) =>
      translated(select('Region, COUNT(*)', `GROUP BY 1 ${rest}`)).notes.join(' ')
    expect(notesOf('ORDER BY 2')).toContain('ORDER BY')
    expect(notesOf('ORDER BY 1')).not.toContain('ORDER BY')
    expect(notesOf('HAVING COUNT(*) > 1 LIMIT 1')).toMatch(/HAVING.*LIMIT/)
  })

  test('are named by what was written, also in another spelling', () => {
    const sunday = "date_trunc('week', seen + interval '1 day') - interval '1 day'"
    const divided = 'CASE WHEN COUNT(*) = 0 THEN NULL ELSE COUNT(*) END'
    const { asked, columnsOf } = translated(select(`seen::date, ${divided}`, 'GROUP BY 1'))
    const named = columnsOf({ noise: stated(asked).noise, round: false }).map(({ name }) => name)
    expect(named).toEqual(['seen', 'case', 'case_half_width'])
    for (const [key, name] of [
      ['DATE(seen)', 'date'],
      ['DATE(day)', 'date'],
      ['CAST(day AS date)', 'day'],
      [sunday, 'column'],
    ]) {
      const keyed = translated(select(`${key}, COUNT(*)`, 'GROUP BY 1'))
      expect(keyed.columnsOf({ noise: stated(keyed.asked).noise, round: false })[0]?.name).toBe(name)
    }
    expect(translated(select('DATE(seen), COUNT(*)', 'GROUP BY 1 ORDER BY date')).asked).toBeDefined()
  })

  test('name the half-width of a quantile as one of ranks', () => {
    const median = 'percentile_cont(0.5) WITHIN GROUP (ORDER BY age)'
    const { asked, columnsOf } = translated(select(`${median} AS middle, AVG(age)`))
    const { noise } = stated(asked)
    expect(columnsOf({ noise, round: false }).map(({ name, unit }) => [name, unit])).toEqual([
      ['middle', undefined],
      ['middle_rank_half_width', 'rows'],
      ['avg', undefined],
      ['avg_half_width', undefined],
    ])
  })

  test('have a column for each half-width, and names that do not repeat', () => {
    const { asked, columnsOf, rowsOf } = translated(
      select('COUNT(*), COUNT(*), Region AS count, AVG(day)', 'GROUP BY 3'),
    )
    const { noise } = stated(asked)
    expect(columnsOf({ noise, round: false })).toEqual([
      { name: 'count', type: 'integer', halfWidthColumn: 'count_half_width' },
      { name: 'count_half_width', type: 'number' },
      { name: 'count_2', type: 'integer', halfWidthColumn: 'count_2_half_width' },
      { name: 'count_2_half_width', type: 'number' },
      { name: 'count_3', type: 'text' },
      { name: 'avg', type: 'date', halfWidthColumn: 'avg_half_width' },
      { name: 'avg_half_width', type: 'number', unit: 'days' },
    ])
    expect(rowsOf(answer)[0]).toEqual([4, 2, 4, 2, 'North', '2024-02-01', 3])
  })

  const median = 'percentile_cont(0.5) WITHIN GROUP (ORDER BY age)'
  test.each([
    ['COUNT(*)', {}, 'integer'],
    ['COUNT(*)', { mechanism: 'laplace' }, 'number'],
    ['COUNT(*)', { mechanism: 'laplace', postprocess: { round: true } }, 'integer'],
    ['COUNT(DISTINCT patient), SUM(Visits)', {}, 'integer'],
    ['COUNT(DISTINCT age)', {}, 'integer'],
    ['SUM(age)', {}, 'integer'],
    ['SUM(age)', { mechanism: 'laplace' }, 'number'],
    ['SUM(cost)', {}, 'number'],
    ['AVG(age)', {}, 'number'],
    ['AVG(age)', { postprocess: { round: true } }, 'integer'],
    ['AVG(day)', { postprocess: { round: true } }, 'date'],
    ['MAX(age)', {}, 'integer'],
    [median, {}, 'integer'],
    ['MAX(cost)', {}, 'number'],
    [`COUNT(*), ${median}`, {}, 'integer'],
  ])('of %s with %j are of type %s', (values, terms, type) => {
    const { asked, columnsOf } = translated(select(values), { epsilon: 1, ...terms })
    const round = 'postprocess' in terms
    const [column] = columnsOf({ noise: stated(asked).noise, round })
    expect(column?.type).toBe(type)
  })

  test('of one value, of percentiles and of a regression have half-widths', () => {
    const values = (sql: string, result: object, halfWidth: number | null) =>
      translated(select(sql)).rowsOf({ result, accuracy: { halfWidth } } as Parameters<
        ReturnType<typeof translated>['rowsOf']
      >[0])
    expect(values('COUNT(*)', { value: 7 }, 3)).toEqual([[7, 3]])
    const quartiles = [75, 25]
      .map((p) => `percentile_cont(${p / 100}) WITHIN GROUP (ORDER BY age)`)
      .join(', ')
    const percentiles = [
      { p: 75, value: 12 },
      { p: 25, value: 4 },
    ]
    expect(values(quartiles, { percentiles }, 30)).toEqual([[12, 30, 4, 30]])
    const regression = {
      intercept: { value: 1, halfWidth: null },
      coefficients: [{ column: 'age', value: 2, halfWidth: 0.5 }],
      ridge: 1,
    }
    expect(values('REGR_INTERCEPT(cost, age), REGR_SLOPE(cost, age)', regression, null)).toEqual([
      [1, null, 2, 0.5],
    ])
  })
})

/** Refused statements, with ▸ at the place that the refusal names, and what it advises. */
const REFUSED: Readonly<Record<string, readonly (readonly [marked: string, advice: string])[]>> = {
  'sql-not-supported': [
    ["SELECT COUNT(*) FROM visits WHERE Region ▸|| 'a' = 'b'", 'joins constants only'],
    ['▸SELECT COUNT(*) FROM (SELECT FROM visits) v', 'must name columns'],
    ['SELECT COUNT(*) FROM visits, ▸other', 'JOIN'],
    ['SELECT COUNT(*) FROM visits CROSS JOIN ▸other', 'ON'],
    ['SELECT COUNT(*) FROM visits FULL ▸JOIN other ON TRUE', 'LEFT JOIN'],
    ['SELECT COUNT(*) FROM visits NATURAL ▸JOIN other', 'LEFT JOIN'],
    ['SELECT ▸* FROM visits', 'COUNT(*)'],
    ['SELECT ▸age FROM visits', 'GROUP BY'],
    ['SELECT ▸DISTINCT age FROM visits', 'GROUP BY'],
    ["SELECT 'é𝄞' ▸|| Region, COUNT(*) FROM visits GROUP BY Region", 'operator ||'],
    ["SELECT COUNT(*) FROM visits WHERE note = 'é𝄞' AND age ▸% 2 = 1", 'operator %'],
    ['SELECT COUNT(*) FROM visits WHERE Region LIKE ▸Region', 'constant'],
    ['SELECT COUNT(*) FROM visits WHERE age = ▸NULL', 'IS NULL'],
    ['SELECT COUNT(*) FROM visits WHERE age IN (1, ▸NULL)', 'IS NULL'],
    ['SELECT COUNT(*) FROM visits WHERE Region ▸= note', 'with a constant'],
    ['SELECT COUNT(*) FROM visits WHERE age ▸IS DISTINCT FROM Visits', 'with a constant'],
    ['SELECT SUM(▸constructor(age, 1)) FROM visits', 'takes a column'],
    ['SELECT COUNT(*) FROM visits WHERE age ▸= age', 'both sides are the same, so this holds wherever'],
    ['SELECT COUNT(*) FROM visits WHERE age + Visits ▸>= Visits + age', 'Write IS NOT NULL'],
    ['SELECT COUNT(*) FROM visits WHERE UPPER(Region) ▸<> UPPER(Region)', 'this never holds. Leave it out'],
    ['SELECT COUNT(*) FROM visits WHERE age ▸= age * 2', 'computed from one column'],
    ['SELECT EXTRACT(▸century FROM day), COUNT(*) FROM visits GROUP BY 1', 'one of year'],
    ['SELECT COUNT(*) FROM visits WHERE (age ▸= 1) IS UNKNOWN', 'needs a column'],
    ['SELECT COUNT(*) FROM visits WHERE ▸EXISTS (SELECT 1)', 'subqueries'],
    ['SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT ▸3) v', 'Leave'],
    ['SELECT COUNT(*) FROM (SELECT age FROM visits) v WHERE ▸cost > 1', 'it has age'],
    ['SELECT ▸SUM(n) FROM (SELECT Region, COUNT(*) AS n FROM visits GROUP BY 1) v', 'again'],
    ['SELECT n FROM (SELECT Region, COUNT(*) AS n FROM visits GROUP BY 1 LIMIT ▸2) v WHERE n > 3', 'inner'],
    ['SELECT COUNT(*) FROM visits JOIN (SELECT ▸age FROM visits) v ON TRUE', 'join'],
    ['SELECT COUNT(*) FROM visits v, LATERAL ((VALUES (▸1))) w', 'LATERAL'],
    ['WITH x AS (SELECT age FROM visits) SELECT COUNT(*) FROM ▸x JOIN visits USING (age)', 'joined'],
    ['▸WITH RECURSIVE x AS (SELECT age FROM visits) SELECT COUNT(*) FROM x', 'recursion'],
    ['SELECT COUNT(*) FROM visits ▸UNION SELECT 1', 'batch'],
    ['SELECT COUNT(*) FROM visits ▸FOR UPDATE', 'Leave'],
    ['SELECT SUM(▸age) OVER () FROM visits', 'Rows themselves'],
    ['SELECT COUNT(*), ▸NTILE(4) OVER (ORDER BY COUNT(*)) FROM visits', 'DENSE_RANK'],
    [
      'SELECT ▸SUM(COUNT(*)) FILTER (WHERE member) OVER () FROM visits GROUP BY member',
      'within the window function',
    ],
    ['SELECT COUNT(*) FROM visits GROUP BY member HAVING ▸SUM(COUNT(*)) OVER () > 9', 'FROM (SELECT'],
    ['SELECT SUM(COUNT(*)) OVER ▸(GROUPS 1 PRECEDING) FROM visits', 'RANGE between'],
    ['SELECT SUM(COUNT(*)) OVER ▸(ROWS 367 PRECEDING) FROM visits', 'at most 366'],
    ['SELECT SUM(COUNT(*)) OVER w FROM visits ▸WINDOW w AS (PARTITION BY member)', 'itself'],
    ['SELECT LAG(COUNT(*), ▸0.5) OVER () FROM visits', 'whole number'],
    [
      `SELECT MIN(COUNT(*)) OVER (ORDER BY member ROWS BETWEEN 300 PRECEDING AND CURRENT ROW),
       ▸MAX(COUNT(*)) OVER (ORDER BY member ROWS BETWEEN CURRENT ROW AND 300 FOLLOWING) FROM visits GROUP BY member`,
      '400 rows together',
    ],
    [
      'SELECT n, ▸SUM(n) OVER () FROM (SELECT member, COUNT(*) AS n FROM visits GROUP BY 1 LIMIT 1) v',
      'cut or chosen',
    ],
    ['SELECT COUNT(*)▸::json FROM visits', 'casts are'],
    ["SELECT COUNT(*) FROM visits WHERE day > now() - 'x'▸::interval", 'interval'],
    ["SELECT COUNT(*) FROM visits WHERE day > ▸to_date('1 May', 'DD Mon')", 'formats'],
    ['SELECT COALESCE(age, 3), COUNT(*) FROM visits GROUP BY ▸COALESCE(age, 3)', 'several groups'],
    ['SELECT COUNT(DISTINCT age) FROM visits GROUP BY ▸DISTINCT member', 'Leave'],
    ['SELECT upper(▸note) FROM visits', 'GROUP BY'],
    ['SELECT ▸reverse(note) FROM visits', 'aggregates are'],
    ['SELECT SUM(age / ▸2) FROM visits', 'Write 2.0'],
    ['SELECT SUM(age + ▸sqrt(cost)) FROM visits', 'sqrt is not supported here'],
    ['SELECT SUM(▸LEAST(age, Visits)) FROM visits', 'a column and a constant'],
    ['SELECT SUM(▸LEAST(LEAST(age, 3), 5)) FROM visits', 'LEAST once'],
    ['SELECT ▸LEAST(age, 3) FROM visits', 'within an aggregate'],
    ['SELECT COUNT(*) FROM visits WHERE ▸LEAST(age, 3) > 1', 'not supported in conditions'],
    ['SELECT AVG(age), ▸MIN(age) FROM visits GROUP BY member', 'percentile_cont(0.01)'],
    ['SELECT Region, ▸CORR(age, cost) FROM visits GROUP BY 1', 'one statement for each group'],
    ['SELECT Region FROM visits GROUP BY ▸Region', 'COUNT(*)'],
    ['SELECT COUNT(*) FROM visits ORDER BY ▸2', 'SELECT list'],
    ['SELECT member, COUNT(*) FROM visits GROUP BY ▸+1', 'no sign'],
    ['SELECT COUNT(*) FROM visits HAVING ▸1 = 1', 'aggregates'],
    ['SELECT COUNT(*) FROM visits LIMIT ▸-1', 'at least 0'],
    ['SELECT COUNT(*) FROM visits; ▸SELECT 1', 'only one'],
    ['▸DROP TABLE visits', 'only SELECT'],
    [' ▸DELETE FROM visits WHERE age > 1', 'only SELECT'],
    ['SELECT COUNT(*) FROM visits WHERE age > ▸0.1000000000000000000001', '17'],
    ['SELECT COUNT(*) FROM ONLY ▸visits', 'ONLY'],
    ['SELECT COUNT(*) FROM ▸other.visits', '"public"'],
  ],
  'query-does-not-fit': [
    ['SELECT SUM(age ▸* cost) FROM visits', 'must multiply columns with constants only'],
    ['SELECT SUM(▸COALESCE(note, 1)) FROM visits', 'must have branches of one type'],
    ['SELECT COUNT(*) FROM visits GROUP BY age * 1000 ▸+ Visits', 'more than 1000 values'],
    ['SELECT member x, Region x, COUNT(*) FROM visits GROUP BY 1, 2 ORDER BY ▸x', 'own name'],
    ['SELECT member x, Region x, COUNT(*) FROM visits GROUP BY ▸x', 'own name'],
    ["SELECT COUNT(*) FROM visits HAVING COUNT(*) > ▸'3 4'", 'a number'],
    ["SELECT COUNT(*) FROM visits HAVING COUNT(*) > DATE ▸'2024-01-01'", 'a number'],
    ['SELECT SUM(▸Region) OVER (), COUNT(*) FROM visits GROUP BY Region', 'needs numbers'],
    ["SELECT LAG(COUNT(*), 1, ▸'0') OVER () FROM visits", 'of type number'],
    ['SELECT COUNT(*) FROM visits HAVING COUNT(*) IN (1, ▸TRUE)', 'a number'],
    ['SELECT COUNT(*) FROM visits GROUP BY Region HAVING Region > ▸COUNT(*)', 'compared'],
    ["SELECT COUNT(*) FROM visits GROUP BY day HAVING day = ▸'2024-02-01 10:00'", 'a date'],
    ['SELECT COUNT(*) FROM ▸other', '"visits"'],
    ['SELECT AVG(▸LEAST(member, TRUE)) FROM visits', 'numbers, dates or timestamps'],
    ['SELECT SUM(LEAST(age, ▸TRUE)) FROM visits', 'a number'],
    ['SELECT ▸SUM(LEAST(age, 99)) FROM visits', 'within the declared bounds'],
    ['SELECT COUNT(*) FROM visits WHERE ▸nothing = 1', 'Region, age'],
    ['SELECT COUNT(*) FROM visits WHERE ▸v.age = 1', '"visits"'],
    ["SELECT COUNT(*) FROM visits WHERE ▸patient = 'p'", 'identifier'],
    ['SELECT COUNT(▸patient) FROM visits', 'COUNT(DISTINCT patient)'],
    ["SELECT COUNT(*) FROM visits WHERE age = 1 OR Region = ▸'West'", 'declared category'],
    ['SELECT COUNT(*) FROM visits WHERE NOT (member OR age NOT IN (1, ▸0.5))', 'grid'],
    ["SELECT COUNT(*) FROM visits WHERE seen > DATE ▸'2024-02-29 13:00'", 'a time'],
    ["SELECT COUNT(*) FROM visits WHERE seen > TIMESTAMP ▸'2024-02-29 13:00+02'", 'a time'],
    ['SELECT COUNT(*) FROM visits WHERE age = ▸0.5', 'grid'],
    ["SELECT COUNT(*) FROM visits WHERE age = ▸'1x'", 'a number'],
    ["SELECT COUNT(*) FROM visits WHERE age = ▸''", 'a number'],
    ["SELECT COUNT(*) FROM visits WHERE day > ▸'2024-02-30'", "'2024-02-29'"],
    ["SELECT COUNT(*) FROM visits WHERE Region > ▸'A'", 'numbers'],
    ['SELECT COUNT(*) FROM visits GROUP BY ▸seen', 'date_trunc'],
    ['SELECT COUNT(*) FROM visits GROUP BY ▸note', 'free text'],
    ["SELECT COUNT(*) FROM visits WHERE ▸note LIKE 'a%'", 'free text'],
    ["SELECT COUNT(*) FROM visits WHERE Region ▸LIKE 'x%'", 'no declared value'],
    ['SELECT COUNT(*) FROM visits WHERE day = ▸now()', 'a date'],
    ['SELECT COUNT(*) FROM visits GROUP BY day, ▸EXTRACT(year FROM day)', 'repeat'],
  ],
  'invalid-request': [
    ['SELECT COUNT(*) FROM▸', 'syntax error'],
    ['SELECT COUNT(*)\n  FROM census▸-small', 'double quotes'],
    ['', 'SELECT'],
    ['-- nothing', 'SELECT'],
  ],
}

describe('refusals name the place and what to write instead', () => {
  describe.each(Object.entries(REFUSED))('%s', (code, rows) => {
    test.each(rows)('%s', (marked, advice) => {
      const refusal = refusalOf(marked.replace('▸', ''))
      expect(refusal.code).toBe(code)
      const [error, ...others] = refusal.errors
      expect(others).toEqual([])
      expect(error).toMatchObject({ field: 'sql', rule: expect.stringContaining(advice) })
      const before = marked.includes('▸') ? marked.split('▸')[0]?.split('\n') : undefined
      const [line, column] = [before?.length, before && [...(before.at(-1) ?? '')].length + 1]
      expect([refusal.facts.line, refusal.facts.column]).toEqual([line, column])
      if (line !== undefined) expect(error?.rule).toMatch(`line ${line}, column ${column}, at`)
    })
  })

  test('conditions that are nested too deeply', () => {
    const nested = (depth: number): string =>
      depth === 0 ? 'age = 1' : `(${nested(depth - 1)}) ${depth % 2 === 0 ? 'AND' : 'OR'} member`
    expect(refusalOf(select('COUNT(*)', `WHERE ${nested(20)}`)).code).toBe('invalid-request')
    expect(refusalOf(select('COUNT(*)', `WHERE ${nested(100)}`)).errors[0]?.rule).toContain('60 levels')
    expect(queryOf(select('COUNT(*)', `WHERE ${nested(10)}`)).kind).toBe('count')
  })
})
