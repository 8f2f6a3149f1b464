import seedrandom from 'seedrandom'
import { beforeAll, expect, test } from 'vitest'
import { rowsOfStatement } from '../../../src/answers/sql/asked-statement.ts'
import { loadParser } from '../../../src/answers/sql/parsing/parser.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { noiseReport, reporter } from '../../../src/core/planner/report.ts'
import { noisyIntegers } from '../../core/planner/releases.ts'
import { translatedAll, visits } from './translated.ts'

/*
 * Half-widths of windows hold with the stated confidence, in every row, also where noise chooses the groups of a window. Noise
 * comes from a seeded source, so that every run counts the same. There are no rows, so that every true value is 0.
 */

const DRAWS = 300
/** A probability of failure of 0.05 leads to more failures than this about once in 1e6 runs. */
const MOST_FAILURES = 36
/** And to fewer than this, in the row that fails most often, hardly ever. */
const FEWEST_FAILURES = 6
const LIMITS = { maxCells: 1_000 }

beforeAll(loadParser)

/** Share of failures in the row that fails most often. */
function mostFailures(sql: string): number {
  const terms = { epsilon: 0.5, mechanism: 'geometric' }
  const translation = translatedAll(sql, terms)
  const { asked } = translation
  const plans = asked.map((query) => {
    const planned = plan(query, visits, LIMITS)
    if (planned.kind !== 'additive') throw new Error('sums and counts are planned')
    const draw = noisyIntegers(planned, [], seedrandom(sql))
    return { draw, report: reporter(planned), noise: noiseReport(planned) }
  })
  const failures = new Map<string, number>()
  for (let drawn = 0; drawn < DRAWS; drawn += 1) {
    const answers = plans.map(({ draw, report, noise }) => {
      const noisy = draw()
      return {
        ...report({ kind: 'additive', noisy }),
        noise,
        integers: noisy.map((cells) => cells.map(String)),
      }
    })
    const body = JSON.stringify(answers.length === 1 ? answers[0] : { answers })
    const { rows } = rowsOfStatement({ dataset: visits, queries: asked, translation }, body, LIMITS)
    for (const cells of rows) {
      const [value, halfWidth] = cells.slice(-2)
      if (value === null) continue
      expect(halfWidth, sql).not.toBeNull()
      const row = JSON.stringify(cells.slice(0, -2))
      failures.set(row, (failures.get(row) ?? 0) + Number(Math.abs(Number(value)) > Number(halfWidth)))
    }
  }
  return Math.max(...failures.values())
}

const MONTH = "date_trunc('month', day)"

test.each([
  ['Region, member', 'SUM(COUNT(*)) OVER (PARTITION BY Region)', ''],
  [MONTH, `SUM(COUNT(*)) OVER (ORDER BY ${MONTH})`, ''],
  [MONTH, `AVG(COUNT(*)) OVER (ORDER BY ${MONTH} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)`, ''],
  ['Region, member', 'SUM(SUM(Visits)) OVER (PARTITION BY member)', 'HAVING member = TRUE'],
  // Beside a mean the sum is made from a sum about the middle of the column and a count.
  ['Region, member', 'SUM(SUM(Visits)) OVER (PARTITION BY Region ORDER BY member)', 'ORDER BY AVG(Visits)'],
])('by %s: %s %s: failures are as many as stated', (keys, value, rest) => {
  const failed = mostFailures(`SELECT ${keys}, ${value} AS w FROM visits GROUP BY ${keys} ${rest}`)
  expect(failed).toBeLessThanOrEqual(MOST_FAILURES)
  expect(failed).toBeGreaterThanOrEqual(FEWEST_FAILURES)
})

test.each([
  [MONTH, `COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY ${MONTH})`, ''],
  ['Region, member', 'MAX(COUNT(*)) OVER ()', ''],
  ['Region, member', 'SUM(COUNT(*) + SUM(Visits)) OVER (PARTITION BY Region)', ''],
  ['Region, member', 'SUM(COUNT(*)) OVER ()', 'HAVING COUNT(*) > 0'],
  ['Region, member', 'SUM(COUNT(*)) OVER (ORDER BY COUNT(*) DESC)', ''],
  ['Region, member', 'FIRST_VALUE(COUNT(*)) OVER (ORDER BY COUNT(*) DESC)', ''],
])('by %s: %s %s: failures are no more than stated', (keys, value, rest) => {
  expect(
    mostFailures(`SELECT ${keys}, ${value} AS w FROM visits GROUP BY ${keys} ${rest}`),
  ).toBeLessThanOrEqual(MOST_FAILURES)
})
