import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { query as querySchema } from '../../../schemas/answers/query.ts'
import { loadParser, parseStatement } from '../../../src/answers/sql/parsing/parser.ts'
import { translate } from '../../../src/answers/sql/translation.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { cases } from '../../cases.ts'
import { codePoint } from '../../code-point.ts'
import { broken, comparable, statement } from './grammar.ts'
import { visits } from './translated.ts'

beforeAll(loadParser)

/** Codes of refusals that a statement may cause. */
const CODES: readonly string[] = ['invalid-request', 'sql-not-supported', 'query-does-not-fit']
const STATEMENTS = cases(10_000)

/** Returns `translated`, or the code of the refusal. Throws every other error. */
function outcomeOf(sql: string): string {
  const refused = (error: unknown): string => {
    if (!(error instanceof Refusal)) throw new Error(`${sql}: ${String(error)}`, { cause: error })
    return error.code
  }
  try {
    const { queries, refusalOf } = translate(sql, parseStatement(sql), visits, 0)
    for (const query of queries) {
      const parsed = querySchema.safeParse({ ...query, epsilon: 1 })
      // The conditions of the grammar are not deep or long enough for another rule of the schema.
      if (!parsed.success) {
        expect(parsed.error.issues.map(({ path }) => path[0])).toEqual(['where'])
        return 'invalid-request'
      }
      try {
        plan(parsed.data, visits, { maxCells: 10_000 })
      } catch (error) {
        const code = refused(error)
        const placed = refusalOf(error as Refusal)
        // The refusal names the place in the statement.
        expect(placed.errors[0]?.field, sql).toBe('sql')
        expect(placed.facts.line, sql).toBeGreaterThan(0)
        expect(sql.split('\n')[Number(placed.facts.line) - 1], sql).toContain(placed.facts.text)
        return code
      }
    }
    return 'translated'
  } catch (error) {
    return refused(error)
  }
}

test('random statements are translated or refused', () => {
  const outcomes = new Map<string, number>()
  const statements = fc.oneof(
    comparable,
    { weight: 2, arbitrary: statement },
    { weight: 2, arbitrary: broken },
    fc.string({ maxLength: 200, unit: codePoint }).map((text) => text.replaceAll('\0', '')),
  )
  for (const sql of fc.sample(statements, { seed: 1_123, numRuns: STATEMENTS })) {
    const outcome = outcomeOf(sql)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  expect([...outcomes.values()].reduce((sum, each) => sum + each, 0)).toBe(STATEMENTS)
  expect([...outcomes.keys()].filter((code) => code !== 'translated' && !CODES.includes(code))).toEqual([])
  // Every outcome is frequent.
  for (const outcome of ['translated', ...CODES])
    expect(outcomes.get(outcome), outcome).toBeGreaterThan(STATEMENTS / 50)
})
