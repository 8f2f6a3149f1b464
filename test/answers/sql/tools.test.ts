import { beforeAll, expect, test } from 'vitest'
import { loadParser } from '../../../src/answers/sql/parsing/parser.ts'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { column, datasetOf } from '../../engines/fixture.ts'
import { STATEMENTS } from './tool-statements.ts'
import { queriesOf } from './translated.ts'

const required = { nullable: false, invalidValue: { kind: 'refuse' } } as const

const RANKABLE = { rankable: { maxValues: 1_000_000 } }

const census: Dataset = datasetOf(
  [
    column.category('Sex', ['M', 'F'], { nullable: false }),
    column.integer('Age', 0n, 120n, required),
    column.category('Married', ['M', 'W', 'S', 'D', 'N'], { nullable: false }),
    { ...column.integer('Earnings', 0n, 10_000_000n, required), ...RANKABLE },
    column.category('Occupation', [
      'Statistician',
      'Economist',
      'Geographer',
      'IT Specialist',
      'Unicorn Wrangler',
    ]),
    column.date('Joined', '2020-01-01', '2026-12-31'),
    column.timestamp('Seen', '2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z', { step: 60n }),
  ],
  'census',
)

beforeAll(loadParser)

const rows = Object.entries(STATEMENTS).flatMap(([tool, statements]) =>
  statements.map(([sql, outcome]) => [tool, sql, outcome] as const),
)

test.each(rows)('%s: %s', (_, sql, outcome) => {
  if (typeof outcome === 'number') {
    expect(queriesOf(sql, { epsilon: 1 }, census)).toHaveLength(outcome)
    return
  }
  const refused = (() => {
    try {
      return queriesOf(sql, { epsilon: 1 }, census)
    } catch (error) {
      return error
    }
  })()
  if (!(refused instanceof Refusal)) throw new Error('answered')
  expect(refused.code).toBe('sql-not-supported')
  expect(refused.errors[0]?.rule).toMatch(/line \d+, column \d+/)
  expect(refused.errors[0]?.rule).toContain(outcome)
})

test('groups by steps of a column with too many are those of the range in WHERE', () => {
  const edgesOf = (where: string) => {
    const sql = `SELECT floor(extract(epoch from "Seen")/60)*60 AS t, count(*) FROM census WHERE ${where} GROUP BY 1`
    return JSON.stringify(queriesOf(sql, { epsilon: 1 }, census))
  }
  const minutes = ['11:59', '12:00', '12:01', '12:02', '12:03'].map((time) => `"2026-11-20T${time}:00Z"`)
  const edges = `"edges":[${[...minutes, minutes.at(-1)].join()}]`
  const range = `"Seen" >= '2026-11-20T12:00:00Z' AND "Sex" = 'M' AND "Seen" < '2026-11-20 12:01:30Z'`
  expect(edgesOf(range)).toContain(edges)
  expect(edgesOf(`"Seen" BETWEEN '2026-11-20T12:00:00Z' AND '2026-11-20 12:01:59.5Z'`)).toContain(edges)
  // No row is in this range.
  expect(edgesOf(`"Seen" > '2026-11-20' AND "Seen" < '2026-11-10'`)).toMatch(/"edges":\["[^"]+","[^"]+"\]/)
  for (const where of ['"Age" > 5', `"Seen" > '2026-11-20' OR "Age" > 5`, `NOT "Seen" < '2026-11-29'`])
    expect(() => edgesOf(where)).toThrow(Refusal)
})

test('of each tool there are five statements at least, and 65 of all', () => {
  for (const [tool, statements] of Object.entries(STATEMENTS))
    expect(statements.length, tool).toBeGreaterThan(4)
  expect(rows).toHaveLength(65)
})
