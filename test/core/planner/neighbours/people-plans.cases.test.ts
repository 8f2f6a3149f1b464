import fc from 'fast-check'
import { expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { type Plan, planKindOf } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { priceOf } from '../../../../src/core/planner/price/price.ts'
import { accuracyReport, noiseReport } from '../../../../src/core/planner/report.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { cases, describeOnce } from '../../../cases.ts'
import { LIMITS } from '../planned.ts'
import { patients, people } from './people.ts'

/*
 * Any query about people is planned within its price, or refused by a field: mechanisms accept every sensitivity that
 * follows from a contribution.
 */

const grouping = fc.constantFrom(
  'Sex',
  'Region',
  'Member',
  { column: 'Age', edges: [0, 30, 60, 120] },
  { column: 'Age', edges: [0, 120] },
)
const counted = fc.constantFrom({}, { of: 'people' }, { of: 'rows' })
const column = fc.constantFrom('Age', 'Balance', 'Income')
const value = fc.constantFrom({}, { perPerson: 'sum' }, { perPerson: 'count' }, { perPerson: 'mean' })
const elders = { column: 'Age', op: '>', value: 64 }

const statistic = fc.oneof(
  fc.record({ kind: fc.constant('count') }),
  counted.map((of) => ({ kind: 'count', ...of })),
  fc.tuple(column, value).map(([name, perPerson]) => ({ kind: 'mean', column: name, ...perPerson })),
  fc.record({ kind: fc.constantFrom('sum', 'variance', 'standardDeviation', 'median'), column }),
  fc.record({ kind: fc.constant('countDistinct'), column: grouping }),
  fc.constant({ kind: 'proportion', of: elders }),
)

const wire = fc.oneof(
  counted.map((of) => ({ kind: 'count', ...of })),
  fc.record({ kind: fc.constantFrom('sum', 'variance', 'standardDeviation'), column }),
  fc
    .tuple(fc.constantFrom('mean', 'median', 'minimum', 'maximum'), column, value)
    .map(([kind, name, perPerson]) => ({ kind, column: name, ...perPerson })),
  fc.tuple(grouping, counted).map(([each, of]) => ({ kind: 'histogram', column: each, ...of })),
  fc
    .tuple(grouping, grouping, counted)
    .map(([one, other, of]) => ({ kind: 'contingency', columns: [one, other], ...of })),
  fc.record({
    kind: fc.constant('groupBy'),
    keys: fc.uniqueArray(grouping, { minLength: 1, maxLength: 2 }),
    statistics: fc.array(statistic, { minLength: 1, maxLength: 4 }),
  }),
  fc
    .tuple(grouping, counted)
    .map(([each, of]) => ({ kind: 'noisyMax', candidates: { column: each }, ...of })),
  fc.tuple(grouping, counted).map(([each, of]) => ({ kind: 'topGroups', keys: [each], k: 1, ...of })),
  grouping.map((each) => ({ kind: 'marginals', columns: [each], ways: 1 })),
  fc.constantFrom(
    { kind: 'keySelection', column: 'Note', delta: 1e-6, counts: true },
    { kind: 'keySelection', column: 'Note', delta: 1e-6, counts: false },
    { kind: 'countDistinct', column: 'Note' },
    { kind: 'countDistinct', column: 'Region' },
    { kind: 'contributionProfile' },
    { kind: 'contributionProfile', where: elders },
    { kind: 'covariance', columns: ['Age', 'Income'] },
    { kind: 'correlation', columns: ['Age', 'Balance'] },
    { kind: 'linearRegression', outcome: 'Age', predictors: ['Balance', 'Income'] },
    { kind: 'proportion', of: elders },
  ),
)

const some = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 4 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_000_000 }) },
)
const bounds = fc.oneof(
  fc.record({ rows: some }),
  fc.record({ groups: some }),
  fc.record({ groups: some, rowsPerGroup: some }),
)
const clamp = fc.record({
  perPerson: fc.record({
    lower: fc.integer({ min: -100, max: 100 }),
    upper: fc.integer({ min: -100, max: 5_000 }),
  }),
})
const mechanism = fc.constantFrom(
  {},
  { mechanism: 'laplace' },
  { delta: 1e-9 },
  // The least delta leaves least room for the grid of the noise.
  { mechanism: 'gaussian', delta: 1e-18 },
)
const dataset = fc
  .tuple(
    fc.constantFrom('add-remove' as const, 'change-one' as const),
    fc.constantFrom(1, 2, 7, 1_000, 1_000_000),
  )
  .map(([neighbours, maxRows]) => patients(neighbours, maxRows))

const SELECTIONS = ['median', 'minimum', 'maximum', 'noisyMax', 'keySelection']

/** The plan of a query; `undefined` if it is refused, which names a field. */
function planned(
  query: { readonly kind: string },
  contribution: object | undefined,
  mechanisms: object,
  of: ReturnType<typeof patients>,
): Plan | undefined {
  const parsed = querySchema.safeParse({
    epsilon: 1,
    ...query,
    ...(SELECTIONS.includes(query.kind) ? {} : mechanisms),
    ...(contribution === undefined ? {} : { contribution }),
  })
  if (!parsed.success) return undefined
  try {
    return plan(parsed.data, of, LIMITS)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    expect(error.errors.length).toBeGreaterThan(0)
    return undefined
  }
}

test('is planned within its price, or refused by a field', () => {
  let plans = 0
  fc.assert(
    fc.property(
      wire,
      fc.option(fc.oneof(bounds, clamp), { nil: undefined }),
      mechanism,
      dataset,
      (...asked) => {
        const [query, contribution, mechanisms, of] = asked
        const each = planned(query, contribution, mechanisms, of)
        if (each === undefined) return
        plans += 1
        expect(priceOf(each, 'basic')).toMatchObject({ epsilonNano: each.loss.epsilonNano })
        expect(each.loss.epsilonNano <= 1_000_000_000n).toBe(true)
        expect(planKindOf(each).replacementLoss(each).epsilonNano <= 2n * each.loss.epsilonNano).toBe(true)
        expect(noiseReport(each).neighbours).toBe(of.neighbours)
        expect(accuracyReport(each).confidence).toBe(0.95)
        // A profile counts each person once, so nothing bounds it.
        if (query.kind === 'contributionProfile') expect(each.contribution).toBeUndefined()
        else expect(each.contribution?.factor).toBeGreaterThan(0)
      },
    ),
    { numRuns: cases(1_000) },
  )
  expect(plans).toBeGreaterThan(cases(50))
})

test('needs no more noise with a bound on the contribution than without', () => {
  let compared = 0
  fc.assert(
    fc.property(wire, bounds, mechanism, dataset, (query, contribution, mechanisms, of) => {
      const [bounded, unbounded] = [contribution, undefined].map((each) =>
        planned(query, each, mechanisms, of),
      )
      if (bounded?.contribution === undefined || unbounded?.contribution === undefined) return
      // The service chooses a mechanism by its error, and the factors of two mechanisms cannot be compared.
      if (noiseReport(bounded).mechanism !== noiseReport(unbounded).mechanism) return
      compared += 1
      expect(bounded.contribution.factor).toBeLessThanOrEqual(unbounded.contribution.factor * (1 + 1e-12))
    }),
    { numRuns: cases(1_000) },
  )
  expect(compared).toBeGreaterThan(cases(50))
})

describeOnce('a column with two values', () => {
  test.each([
    { kind: 'variance', column: 'Value' },
    { kind: 'correlation', columns: ['Value', 'Age'] },
    { kind: 'linearRegression', outcome: 'Age', predictors: ['Value'] },
  ])(
    'needs a sensitivity above 0, even if a replacement cannot move the squares of a column with two values',
    (wire) => {
      const two = {
        name: 'Value',
        type: 'integer',
        nullable: false,
        invalidValue: { kind: 'refuse' },
      } as const
      const column = { ...two, stepNano: 1_000_000_000n, lowerIndex: 1n, upperIndex: 2n }
      for (const of of [
        people('change-one'),
        ...[1, 2].map((rows) => patients('change-one', rows)),
        patients('add-remove'),
      ]) {
        const each = plan(
          querySchema.parse({ ...wire, epsilon: 1 }),
          { ...of, columns: [...of.columns, column] },
          LIMITS,
        )
        expect(each.loss.epsilonNano).toBe(1_000_000_000n)
        expect(planKindOf(each).replacementLoss(each).epsilonNano).toBeGreaterThan(0n)
        expect(Number.isFinite(each.contribution?.factor ?? 1)).toBe(true)
      }
    },
  )
})
