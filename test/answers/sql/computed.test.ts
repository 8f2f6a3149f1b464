import { beforeAll, expect, test } from 'vitest'
import { rowsOfStatement } from '../../../src/answers/sql/asked-statement.ts'
import { loadParser } from '../../../src/answers/sql/parsing/parser.ts'
import { accuracy } from '../../../src/core/mechanisms/mechanism.ts'
import { halfWidthBound, noiseOf } from '../../../src/core/mechanisms/noise/combined-noise.ts'
import type { AdditivePlan } from '../../../src/core/planner/additive/shape.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { noiseReport, reporter } from '../../../src/core/planner/report.ts'
import { entry, must } from '../../../src/privacy/must.ts'
import { translatedAll, visits } from './translated.ts'

/* Half-widths of computed values, from the integers that answers store. */

beforeAll(loadParser)

const LIMITS = { maxCells: 1_000 }

/** Answers a statement with these noisy integers: a list for each query, with those of each of its statistics. */
function answered(
  sql: string,
  integers: readonly (readonly (readonly bigint[])[])[],
  terms = {},
  facts = {},
) {
  const translation = translatedAll(sql, { epsilon: 0.1, mechanism: 'geometric', ...terms })
  const plans = translation.asked.map((query) => {
    const planned = plan(query, visits, LIMITS)
    if (planned.kind !== 'additive') throw new Error('sums and counts are planned')
    return planned
  })
  const answers = plans.map((planned, place) => {
    const noisy = entry(integers, place)
    const report = reporter(planned)({ kind: 'additive', noisy })
    return {
      ...report,
      ...facts,
      noise: noiseReport(planned),
      integers: noisy.map((cells) => cells.map(String)),
    }
  })
  const document = answers.length === 1 ? answers[0] : { answers }
  const asked = { dataset: visits, queries: translation.asked, translation }
  return { plans, ...rowsOfStatement(asked, JSON.stringify(document), LIMITS) }
}

const halfWidthOf = ({ measurements }: AdditivePlan, confidence: number, statistic = 0) =>
  accuracy(entry(measurements, statistic), confidence).halfWidth

test('of a difference are those of both counts at half of the remaining probability', () => {
  const sql = 'SELECT COUNT(*) FILTER (WHERE member) - COUNT(*) FILTER (WHERE NOT member) AS d FROM visits'
  const { plans, rows, columns } = answered(sql, [[[70n]], [[100n]]])
  const ofFirst = entry(translatedAll(sql).queries, 0).where as { readonly value: boolean }
  const difference = ofFirst.value ? 70 - 100 : 100 - 70
  expect(rows).toEqual([[difference, 2 * halfWidthOf(entry(plans, 0), 0.975)]])
  expect(columns.map(({ name }) => name)).toEqual(['d', 'd_half_width'])
})

test('of a quotient reach to its farther end', () => {
  const sql =
    'SELECT ROUND(COUNT(*) FILTER (WHERE member) * 100.0 / 5000, 1) AS one, COUNT(*) / COUNT(*) FILTER (WHERE member) AS two FROM visits'
  const { plans, rows } = answered(sql, [[[9_000n]], [[90_000n]]])
  const [few, many] = JSON.stringify(entry(plans, 0).query).includes('member')
    ? [9_000, 90_000]
    : [90_000, 9_000]
  const [alone, joint] = [halfWidthOf(entry(plans, 0), 0.95), halfWidthOf(entry(plans, 0), 0.975)]
  const [[one, oneHalfWidth, two, twoHalfWidth] = []] = rows
  expect(one).toBe((few * 100) / 5_000)
  expect(oneHalfWidth).toBeCloseTo(Number((((few + alone) * 100) / 5_000).toFixed(1)) - Number(one), 9)
  expect(two).toBe(many / few)
  expect(twoHalfWidth).toBeCloseTo((many + joint) / (few - joint) - many / few, 9)
})

test('are unknown where a divisor can be 0', () => {
  const sql =
    'SELECT COUNT(*) FILTER (WHERE member) / COUNT(*) AS q, 7 / NULLIF(COUNT(*), 3) AS r FROM visits'
  expect(answered(sql, [[[3n]], [[3n]]]).rows).toEqual([[1, null, null, null]])
})

test('of a total are those of all groups together', () => {
  const sql = 'SELECT Region, SUM(COUNT(*)) OVER () AS total FROM visits GROUP BY 1'
  const { plans, rows } = answered(sql, [[[10n, 20n, 30n, 40n]]])
  const noise = noiseOf(entry(entry(plans, 0).measurements, 0), 1)
  const together = halfWidthBound(1 - 0.95)(Array.from({ length: 4 }, () => ({ noise, weight: 1 })))
  const [first] = rows
  expect(first?.slice(0, 2)).toEqual(['North', 100])
  expect(first?.[2]).toBeCloseTo(together, 6)
  // Cutting at 0 makes no error larger, but the errors are no noises any more.
  const cut = answered(sql, [[[10n, 20n, 30n, -40n]]], { postprocess: { nonNegative: true } })
  expect(cut.rows[0]).toEqual(['North', 60, 4 * halfWidthOf(entry(cut.plans, 0), 1 - 0.05 / 4)])
})

test('of windows are those of their groups together', () => {
  const months = "date_trunc('month', day)"
  const over = `OVER (ORDER BY ${months} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)`
  const sql = `SELECT SUM(SUM(Visits)) ${over} AS s, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY ${months}) AS d, RANK() OVER (ORDER BY SUM(Visits)) AS k,
    ROW_NUMBER() OVER (ORDER BY ${months}) AS r FROM visits GROUP BY ${months} ORDER BY ${months}`
  const { plans, rows, columns } = answered(sql, [
    [
      [1n, 5n, 2n, 7n],
      [10n, 20n, 30n, 40n],
    ],
  ])
  const [{ measurements } = {}] = plans
  const noise = noiseOf(must(measurements?.[0], 'a sum'), 1)
  const both = halfWidthBound(0.05)([noise, noise].map((each) => ({ noise: each, weight: 1 })))
  const difference = 2 * halfWidthOf(entry(plans, 0), 0.975, 1)
  expect(columns.map(({ name }) => name)).toEqual([
    's',
    's_half_width',
    'd',
    'd_half_width',
    'k',
    'k_half_width',
    'r',
  ])
  expect(rows.map(([, , ...others]) => others)).toEqual([
    [null, null, 1, null, 1],
    [10, difference, 3, null, 2],
    [10, difference, 2, null, 3],
    [10, difference, 4, null, 4],
  ])
  expect(rows.map(([s]) => s)).toEqual([1, 6, 7, 9])
  expect(rows[2]?.[1]).toBeCloseTo(both, 6)
})

test('are unknown for values that are computed from answers which follow from several releases', () => {
  const sql = 'SELECT COUNT(*) FILTER (WHERE member) - COUNT(*) FILTER (WHERE NOT member) AS d FROM visits'
  expect(answered(sql, [[[70n]], [[100n]]], {}, { inference: {} }).rows[0]?.[1]).toBeNull()
})

test('are absent for values without noise', () => {
  const sql =
    'SELECT lower(Region) AS r, now() AS time, COUNT(*)::bigint AS n FROM visits GROUP BY lower(Region)'
  const { columns, rows } = answered(sql, [[[1n, 2n, 3n, 4n]]])
  expect(columns.map(({ name, type }) => [name, type])).toEqual([
    ['r', 'text'],
    ['time', 'timestamp'],
    ['n', 'integer'],
    ['n_half_width', 'number'],
  ])
  expect(rows.map((row) => row.slice(0, 3))).toEqual([
    ['north', '2026-11-27T21:30:15Z', 1],
    ['south', '2026-11-27T21:30:15Z', 2],
    ["o'hara", '2026-11-27T21:30:15Z', 3],
    [null, '2026-11-27T21:30:15Z', 4],
  ])
})
