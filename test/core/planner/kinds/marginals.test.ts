import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import { readAggregate } from '../../../../src/answers/release.ts'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import type { MarginalsPlan } from '../../../../src/core/planner/plans/marginals.ts'
import { measuredReporter } from '../../../../src/core/planner/report.ts'
import { addedUp } from '../../../../src/core/workloads/reconstruction.ts'
import { entry } from '../../../../src/privacy/must.ts'
import { referenceEngine, type StoredRow } from '../../../engines/reference-engine.ts'
import { PERSON, RANK } from '../../../engines/reference-people.ts'
import { thrownRefusal } from '../../../refusal.ts'
import { rowOf, where } from '../arbitraries.ts'
import { patients, people } from '../neighbours/people.ts'
import { planFor } from '../planned.ts'

const LIMITS = { maxCells: 100_000 }

/** Tables that are too large to be read together, of columns with missing values and bins that leave rows out. */
const LARGE = {
  columns: [
    { column: 'Age', edges: Array.from({ length: 100 }, (_, edge) => edge + 3) },
    { column: 'Income', edges: Array.from({ length: 300 }, (_, edge) => 20 + edge * 1.5) },
    'Region',
    'Member',
  ],
  ways: [1, 2],
}

function planned(fields: object, dataset: Dataset): MarginalsPlan {
  const query = querySchema.parse({ kind: 'marginals', epsilon: 1, ...fields })
  return planFor('marginals', plan(query, dataset, LIMITS))
}

const exactOf = (wanted: MarginalsPlan, rows: readonly StoredRow[]) =>
  readAggregate(
    wanted,
    referenceEngine(() => rows),
  )

const rowsOf = (dataset: Dataset) =>
  fc
    .array(fc.tuple(rowOf(dataset), fc.integer({ min: 0, max: 3 })), { maxLength: 40 })
    // The first person has most of the rows.
    .map((rows) =>
      rows.map(
        ([row, person], rank): StoredRow => ({
          ...row,
          [PERSON]: person % 2 === 0 ? 0 : person,
          [RANK]: rank,
        }),
      ),
    )

describe('marginals', () => {
  test.each([
    { of: 'rows', dataset: people('add-remove'), contribution: {} },
    { of: 'people', dataset: patients('add-remove'), contribution: { contribution: { rows: 2 } } },
  ])(
    'measured tables of $of agree on the exact integers, and estimates without noise are exact',
    async ({ dataset, contribution }) => {
      const conditions = fc.option(where, { nil: undefined })
      await fc.assert(
        fc.asyncProperty(rowsOf(dataset), conditions, async (rows, condition) => {
          const wanted = planned(
            { ...LARGE, ...contribution, ...(condition && { where: condition }) },
            dataset,
          )
          expect(wanted.scans.length).toBeGreaterThan(1)
          const { sizes, measured } = wanted.reconstruction
          const exact = await exactOf(wanted, rows)
          const tableOf = new Map(measured.map((set, place) => [set, entry(exact.integers, place)]))
          for (const [one, first] of tableOf)
            for (const [other, second] of tableOf)
              expect(addedUp(first, one, one & other, sizes)).toEqual(
                addedUp(second, other, one & other, sizes),
              )
          const noisy = wanted.measurements.map(({ fractionBits }, place) =>
            entry(exact.integers, place).map((integer) => integer << BigInt(fractionBits)),
          )
          const { result } = measuredReporter(wanted)({ kind: 'marginals', noisy })
          if (!('tables' in result)) throw new Error('tables were asked for')
          for (const [place, { set }] of wanted.tables.entries()) {
            const source = measured.find((each) => (each & set) === set) ?? 0
            const truth = addedUp(tableOf.get(source) ?? [], source, set, sizes)
            expect(result.tables[place]?.values).toEqual(truth.map(Number))
          }
        }),
        { numRuns: 12 },
      )
    },
  )

  test.each(['add-remove', 'change-one'] as const)(
    'no person moves a measured table by more than its sensitivity (%s)',
    async (neighbours) => {
      const dataset = patients(neighbours)
      const wanted = planned(
        { columns: ['Sex', 'Region', 'Member'], ways: [1, 2], contribution: { rows: 2 } },
        dataset,
      )
      let reached = false
      await fc.assert(
        fc.asyncProperty(rowsOf(dataset), async (rows) => {
          const without = rows.filter((row) => row[PERSON] !== 0)
          const there =
            neighbours === 'add-remove' ? without : [...without, { ...rows[0], [PERSON]: 0, [RANK]: 0 }]
          if (rows.every((row) => row[PERSON] !== 0)) return
          const [before, after] = [await exactOf(wanted, rows), await exactOf(wanted, there as StoredRow[])]
          for (const [place, { sensitivity }] of wanted.measurements.entries()) {
            const moved = entry(before.integers, place).map(
              (value, cell) => value - entry(entry(after.integers, place), cell),
            )
            const squares = moved.reduce((sum, each) => sum + each * each, 0n)
            expect(squares <= sensitivity.l2Squared).toBe(true)
            reached ||= squares === sensitivity.l2Squared
          }
        }),
        // Some of these rows reach it.
        { numRuns: 60, seed: 1 },
      )
      expect(reached || neighbours === 'change-one').toBe(true)
    },
  )

  test('the price is the sum of the shares', () => {
    const byEpsilon = planned({ ...LARGE, epsilon: 0.7 }, people('add-remove'))
    expect(byEpsilon.loss).toEqual({ epsilonNano: 700_000_000n, deltaAtto: 0n })
    const byDelta = planned({ ...LARGE, epsilon: 0.7, delta: 1e-6 }, people('add-remove'))
    expect(byDelta.shape).toBe('gaussian')
    expect(byDelta.loss).toEqual({ epsilonNano: 700_000_000n, deltaAtto: 1_000_000_000_000n })
  })

  test('more budget is never worse, and weights and confidence do what they say', () => {
    const widths = [0.1, 0.5, 2].map((epsilon) =>
      planned({ ...LARGE, epsilon }, people('add-remove')).tables.map(({ halfWidth }) => halfWidth),
    )
    for (const [table, width] of entry(widths, 0).entries())
      expect(entry(entry(widths, 1), table)).toBeLessThan(width)
    const wide = planned(
      { ...LARGE, epsilon: undefined, accuracy: { halfWidth: 50, confidence: 0.99 } },
      people('add-remove'),
    )
    expect(Math.max(...wide.tables.map(({ halfWidth }) => halfWidth))).toBeLessThanOrEqual(50)
  })

  test('people are bounded once for all tables, by rows after one condition, and never by groups of a table', () => {
    const people = patients('add-remove')
    const where = { column: 'Age', op: '>=', value: 18 }
    const workload = { columns: ['Sex', 'Region', 'Member'], ways: [1, 2] }
    const { scans } = planned({ ...workload, where, contribution: { rows: 2 } }, people)
    for (const { aggregate } of scans) {
      expect(aggregate.bounding).toEqual({ kind: 'rows', rows: 2 })
      expect(aggregate.where).toEqual(entry(scans, 0).aggregate.where)
    }
    for (const contribution of [{ groups: 1 }, { groups: 2, rowsPerGroup: 3 }]) {
      const { errors } = thrownRefusal(() => planned({ ...workload, contribution }, people))
      expect(errors).toEqual([{ field: 'contribution.groups', rule: expect.any(String) }])
    }
  })

  test('a live table is read once or not at all', () => {
    const live = {
      ...people('add-remove'),
      source: { kind: 'table', mode: 'live', connection: 'warehouse', table: 'people' },
    } as Dataset
    const { message } = thrownRefusal(() => planned(LARGE, live))
    expect(message).toContain('columns')
    expect(planned({ columns: ['Sex', 'Region', 'Member'], ways: [1, 2, 3] }, live).scans).toHaveLength(1)
  })
})
