import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { loadParser } from '../../../src/answers/sql/parsing/parser.ts'
import type { Cell } from '../../../src/answers/sql/rows/row-values.ts'
import { cases } from '../../cases.ts'
import { translated } from './translated.ts'

/* Windows over the groups of an answer, against a database that computes them over the same released rows. */

const STATEMENTS = cases(150)

const REGIONS = ['North', 'South', "O'Hara", null]
const MONTHS = ['2024-01', '2024-02', '2024-03', null]
const MEMBERS = [true, false, null]

/** Released values of groups: many are equal, and some negative. */
const GROUPS = REGIONS.flatMap((Region) =>
  MONTHS.flatMap((day) => MEMBERS.map((member) => ({ Region, day, member }))),
).map((key, place) => ({
  key,
  values: {
    count: { value: ((place * 7) % 9) - 2, halfWidth: 1 },
    sum_Visits: { value: ((place * 5) % 13) / 4, halfWidth: 1 },
  },
}))

let database: DuckDBConnection
beforeAll(async () => {
  await loadParser()
  database = await (await DuckDBInstance.create(':memory:')).connect()
  await database.run(`SET default_null_order = 'NULLS_LAST_ON_ASC_FIRST_ON_DESC'`)
  const literal = (cell: Cell) =>
    cell === null ? 'NULL' : typeof cell === 'string' ? `'${cell.replaceAll("'", "''")}'` : String(cell)
  const rows = GROUPS.map(({ key, values }) => {
    const month = key.day === null ? null : `${key.day}-01`
    return [key.Region, month, key.member, values.count.value, values.sum_Visits.value].map(literal).join()
  })
  await database.run(
    `CREATE TABLE groups AS SELECT a AS r, CAST(b AS DATE) AS m, c AS p, d::DOUBLE AS n, e::DOUBLE AS s
     FROM (VALUES ${rows.map((row) => `(${row})`).join()}) AS t(a, b, c, d, e)`,
  )
})

/** The groups, by the names of the columns of the database. */
const GROUPED = `SELECT Region AS r, date_trunc('month', day) AS m, member AS p, COUNT(*) AS n, SUM(Visits) AS s
  FROM visits GROUP BY 1, 2, 3`

/** The rows that a statement over these groups has. */
function ownRows(sql: string): readonly (readonly Cell[])[] {
  const { rowsOf, columnsOf, query } = translated(sql)
  const columns = columnsOf({ noise: { mechanism: 'combined', neighbours: 'add-remove' }, round: false })
  const halfWidths = columns.map(({ halfWidthColumn }) => halfWidthColumn)
  const cells = GROUPS.map(({ key, values }) => ({ key, value: values.count.value }))
  const result = query.kind === 'groupBy' ? { groups: GROUPS } : { cells }
  const rows = rowsOf({ result, accuracy: { halfWidth: null } })
  return rows.map((cells) => cells.filter((_, place) => !halfWidths.includes(columns[place]?.name)))
}

/** Rows without an order, and with numbers as they are shown. */
function shown(rows: readonly (readonly unknown[])[]): readonly string[] {
  const cell = (value: unknown) => {
    if (value === null || typeof value === 'boolean') return String(value)
    if (typeof value === 'bigint' || typeof value === 'number') return Number(value).toFixed(6)
    return String(value).slice(0, 10)
  }
  return rows.map((cells) => cells.map(cell).join('|')).sort()
}

const direction = fc.constantFrom('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST')
const order = (values: readonly string[]) =>
  fc
    .tuple(fc.subarray([...values], { minLength: 1 }), fc.array(direction, { minLength: 9, maxLength: 9 }))
    .map(([keys, directions]) => keys.map((key, place) => `${key}${directions[place]}`).join())
const partition = fc.subarray(['r', 'p', 'm']).map((keys) => (keys.length > 0 ? `PARTITION BY ${keys} ` : ''))
/** Frames of rows need an order without equals, to be the same in every database. */
const rowsFrame = fc.constantFrom(
  'ROWS UNBOUNDED PRECEDING',
  'ROWS 2 PRECEDING',
  'ROWS BETWEEN 2 PRECEDING AND CURRENT ROW',
  'ROWS BETWEEN 1 PRECEDING AND 3 FOLLOWING',
  'ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING',
  'ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING',
  'ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING',
)
const rangeFrame = fc.constantFrom(
  '',
  'RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW',
  'RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING',
  'RANGE BETWEEN CURRENT ROW AND CURRENT ROW',
  'ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING',
)
const total = fc.constantFrom(
  'SUM(n)',
  'AVG(s)',
  'MIN(s)',
  'MAX(n)',
  'COUNT(*)',
  'COUNT(NULLIF(p, TRUE))',
  'SUM(n / NULLIF(s, 0))',
  'MAX(m)',
  'MIN(r)',
)
const placed = fc.constantFrom(
  'LAG(n)',
  'LEAD(s, 2)',
  'LAG(n, 3, -1)',
  'LEAD(r, 1, r)',
  'LAG(n, -1)',
  'FIRST_VALUE(n)',
  'LAST_VALUE(s)',
  'ROW_NUMBER()',
)
const ranked = fc.constantFrom('RANK()', 'DENSE_RANK()')
const over = (name: fc.Arbitrary<string>, ...parts: readonly fc.Arbitrary<string>[]) =>
  fc.tuple(name, partition, ...parts).map(([call, ...rest]) => `${call} OVER (${rest.join('')})`)
const ordered = (keys: fc.Arbitrary<string>) => keys.map((text) => `ORDER BY ${text} `)
const withTies = ordered(order(['r', 'm', 'n']))
const unique = ordered(order(['n', 's', 'p']).map((keys) => `${keys}, r, m, p`))
const window = fc.oneof(
  over(total),
  over(total, withTies, rangeFrame),
  over(total, unique, rowsFrame),
  over(placed, unique),
  over(ranked, withTies),
)
const statement = fc
  .tuple(
    fc.array(window, { minLength: 4, maxLength: 6 }),
    fc.constantFrom('', '', 'WHERE n > 1', 'WHERE n > 0 AND p IS NOT NULL', 'WHERE m IS NULL'),
    fc.option(fc.constantFrom('w0 > 2', 'w0 IS NOT NULL AND n > 0', 'w0 = n'), { nil: undefined, freq: 3 }),
  )
  .map(([windows, where, outer]) => (source: string) => {
    const named = windows.map((each, place) => `${each} AS w${place}`)
    const sql = `SELECT r, m, p, n, ${named.join(', ')}, n - COALESCE(SUM(s) OVER (), 0) FROM ${source} AS t ${where}`
    const isNumber = !/^(?:MAX\(m\)|MIN\(r\)|LEAD\(r)/.test(windows[0] ?? '')
    return outer === undefined || !isNumber ? sql : `SELECT r, m, p, w0, n FROM (${sql}) AS u WHERE ${outer}`
  })

test('windows are those of a database over the released rows', async () => {
  let rows = 0
  for (const sql of fc.sample(statement, { seed: 20_261_128, numRuns: STATEMENTS })) {
    const found = ownRows(sql(`(${GROUPED})`))
    const expected = (await database.runAndReadAll(sql('groups'))).getRows()
    expect(shown(found), sql('groups')).toEqual(shown(expected))
    rows += found.length
  }
  expect(rows).toBeGreaterThan(10 * STATEMENTS)
})

test('windows beside the aggregates of one SELECT see the groups that HAVING keeps', () => {
  const sql = (rest: string) =>
    `SELECT Region, member, day, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY Region) AS t, RANK() OVER (ORDER BY COUNT(*) DESC) AS k
     FROM (SELECT Region, date_trunc('month', day) AS day, member, Visits FROM visits) AS v GROUP BY 1, 3, 2 ${rest}`
  const rows = ownRows(
    sql('HAVING COUNT(*) > 4 ORDER BY k, t LIMIT 2').replace('AS k', 'AS k, SUM(Visits) AS s'),
  )
  const kept = GROUPS.filter(({ values }) => values.count.value > 4)
  const totals = kept
    .filter(({ values }) => values.count.value === 6)
    .map(({ key }) =>
      kept
        .filter((each) => each.key.Region === key.Region)
        .reduce((sum, { values }) => sum + values.count.value, 0),
    )
  expect(rows.map(([, , , n, t, k]) => [n, t, k])).toEqual(
    totals
      .sort((a, b) => a - b)
      .slice(0, 2)
      .map((t) => [6, t, 1]),
  )
})
