import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import type { Plan } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { accuracyReport } from '../../../../src/core/planner/report.ts'
import { epsilonNano, epsilonNumber } from '../../../../src/privacy/loss.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { people } from '../neighbours/people.ts'
import { LIMITS, planOf, refusalOf } from '../planned.ts'

const gaussian = { mechanism: 'gaussian', delta: 1e-6 }
const classic = { ...gaussian, calibration: 'classic' }
const adult = { column: 'Age', op: '>=', value: 18 }
const predicates = ['a', 'b', 'c'].map((name, i) => ({
  name,
  where: { column: 'Age', op: '>', value: 30 * i },
}))
const age = { kind: 'mean', column: 'Age' }
const SUPPOSED_ROWS = 500
const supposed = { rows: SUPPOSED_ROWS }
const spread = { ...supposed, mean: 40, standardDeviation: 18 }
const groups = { kind: 'groupBy', keys: ['Sex', 'Region'] }

/**
 * Queries of every kind with one half-width, and the wanted half-width; over 500 supposed rows if it depends on them.
 */
const ASKED: readonly (readonly [string, object, number])[] = [
  ['a count', { kind: 'count' }, 20],
  ['a Laplace count', { kind: 'count', mechanism: 'laplace' }, 20],
  ['a Gaussian count', { kind: 'count', ...gaussian }, 20],
  ['a classic Gaussian count', { kind: 'count', ...classic }, 20],
  ['a filtered count', { kind: 'count', where: adult }, 3],
  ['a rounded count', { kind: 'count', mechanism: 'laplace', postprocess: { round: true } }, 7],
  ['a sum', { kind: 'sum', column: 'Age' }, 5_000],
  ['a real-valued sum', { kind: 'sum', column: 'Balance' }, 123.45],
  ['a mean', { ...age, supposed }, 2],
  ['a mean near one supposed', { ...age, supposed: { ...supposed, mean: 41.5 } }, 2],
  ['a Gaussian mean', { ...age, supposed, ...gaussian }, 2],
  ['a classic Gaussian mean', { ...age, supposed, ...classic }, 5],
  ['a variance', { kind: 'variance', column: 'Age', supposed }, 100],
  ['a Gaussian variance', { kind: 'variance', column: 'Age', supposed, ...gaussian }, 100],
  ['a variance near one supposed', { kind: 'variance', column: 'Age', supposed: spread }, 100],
  ['a standard deviation', { kind: 'standardDeviation', column: 'Income', supposed }, 40],
  [
    'a standard deviation near one supposed',
    { kind: 'standardDeviation', column: 'Age', supposed: spread },
    3,
  ],
  ['a proportion', { kind: 'proportion', of: adult, supposed }, 0.02],
  [
    'a filtered proportion',
    { kind: 'proportion', of: adult, supposed, where: { column: 'Region', op: 'isNull' } },
    0.02,
  ],
  ['distinct values', { kind: 'countDistinct', column: 'Region' }, 1],
  ['a histogram', { kind: 'histogram', column: 'Region' }, 9],
  ['a Gaussian table', { kind: 'contingency', columns: ['Region', 'Sex'], ...gaussian }, 9],
  ['counts of groups', { ...groups, statistics: [{ kind: 'count' }] }, 9],
  ['means of groups', { ...groups, statistics: [age], supposed }, 5],
  ['sums of groups', { ...groups, statistics: [{ kind: 'sum', column: 'Balance' }], ...gaussian }, 500],
  ['a noisy max', { kind: 'noisyMax', candidates: { column: 'Region' } }, 10],
  ['a noisy max of predicates', { kind: 'noisyMax', candidates: { predicates }, noise: 'gumbel' }, 10],
  ['the two best, with gaps', { kind: 'noisyMax', candidates: { predicates }, k: 2, gap: true }, 30],
  ['a median', { kind: 'median', column: 'Income' }, 12],
  ['a percentile', { kind: 'percentile', column: 'Age', p: 12.5 }, 3.25],
  ['percentiles', { kind: 'percentile', column: 'Balance', p: [90, 10, 33.33] }, 25],
  ['a minimum', { kind: 'minimum', column: 'Age' }, 8],
  ['a maximum', { kind: 'maximum', column: 'Balance' }, 40],
  ['keys with counts', { kind: 'keySelection', column: 'Note', counts: true, delta: 1e-8 }, 15],
]

const askFor = (wire: object, halfWidth: number, confidence = 0.95) => ({
  ...wire,
  accuracy: { halfWidth, confidence },
})
/** Epsilons that are found have at most four significant digits. */
const spacingOf = (nano: bigint) => 10n ** BigInt(Math.max(0, `${nano}`.length - 4))
const halfWidthOf = (planned: Plan) => accuracyReport(planned).halfWidth ?? Number.NaN

describe.each(['add-remove', 'change-one'] as const)('under %s', (neighbours) => {
  const atEpsilon = (wire: object, nano: bigint) =>
    planOf({ ...wire, epsilon: epsilonNumber(epsilonNano(nano)) }, neighbours, SUPPOSED_ROWS)

  test.each(ASKED)('%s has the requested accuracy, at the least epsilon', (_name, wire, halfWidth) => {
    const planned = planOf(askFor(wire, halfWidth), neighbours, SUPPOSED_ROWS)
    const { epsilonNano, deltaAtto } = planned.loss
    expect(halfWidthOf(planned)).toBeLessThanOrEqual(halfWidth)
    expect(epsilonNano % spacingOf(epsilonNano)).toBe(0n)
    expect(halfWidthOf(atEpsilon(wire, epsilonNano - spacingOf(epsilonNano)))).toBeGreaterThan(halfWidth)
    // It is the plan at that epsilon and has its exact cost, with delta only if it is used.
    expect(atEpsilon(wire, epsilonNano)).toEqual({ ...planned, query: expect.anything() })
    const usesDelta = 'mechanism' in wire && wire.mechanism === 'gaussian'
    expect(deltaAtto).toBe(usesDelta ? 10n ** 12n : planned.kind === 'key-selection' ? 10n ** 10n : 0n)
  })

  test('for any half-width and confidence, every epsilon from the least one on meets the target, and none below', () => {
    let [met, refused] = [0, 0]
    fc.assert(
      fc.property(
        fc.constantFrom(...ASKED),
        fc.double({ min: -4, max: 7, noNaN: true }),
        fc.constantFrom(1e-9, 0.5, 0.9, 0.99, 0.999999999),
        fc.double({ min: 0, max: 1, noNaN: true }),
        ([, wire], magnitude, confidence, between) => {
          const halfWidth = 10 ** magnitude
          const sure = { ...wire, accuracy: { halfWidth, confidence } }
          let planned: Plan
          try {
            planned = planOf(sure, neighbours, SUPPOSED_ROWS)
          } catch (error) {
            if (!(error instanceof Refusal)) throw error
            expect(error.errors[0]?.field).toBe('accuracy.halfWidth')
            refused += 1
            return
          }
          met += 1
          const least = planned.loss.epsilonNano
          expect(halfWidthOf(planned)).toBeLessThanOrEqual(halfWidth)
          const at = (nano: bigint) => halfWidthOf({ ...atEpsilon(wire, nano), confidence } as Plan)
          const largest = 'calibration' in wire ? 10n ** 9n : 10n ** 12n
          const above = least + BigInt(Math.floor(Number(largest - least) * between ** 8))
          expect(at(above)).toBeLessThanOrEqual(halfWidth)
          const below = BigInt(Math.floor(Number(least) * (1 - between ** 8)))
          if (below >= 3n && below <= least - spacingOf(least)) expect(at(below)).toBeGreaterThan(halfWidth)
          // The least epsilon also has the least rho.
          if (planned.rho !== undefined)
            expect(atEpsilon(wire, above).rho).toBeGreaterThanOrEqual(Number(planned.rho))
        },
      ),
      { numRuns: 300 },
    )
    expect(Math.min(met, refused)).toBeGreaterThan(10)
  })
})

describe('the mechanism', () => {
  const free = {
    supposed,
    kind: 'groupBy',
    keys: ['Sex'],
    statistics: [{ kind: 'variance', column: 'Age' }],
    delta: 0.01,
  }

  test('is by default the one that needs the least epsilon', () => {
    for (const halfWidth of [10, 100, 500]) {
      const epsilons = ['geometric', 'gaussian'].map((mechanism) => {
        const { loss } = planOf(askFor({ ...free, mechanism }, halfWidth))
        return loss.epsilonNano
      })
      const chosen = planOf(askFor(free, halfWidth)).loss.epsilonNano
      expect(epsilons.every((epsilon) => chosen <= epsilon)).toBe(true)
      expect(epsilons).toContain(chosen)
    }
  })

  test('is the one that costs the least rho if the budget is counted in rho', () => {
    const inRho = { ...people('add-remove', SUPPOSED_ROWS), accounting: 'zcdp' as const }
    const counted = (wire: object, halfWidth: number) =>
      plan(querySchema.parse(askFor(wire, halfWidth)), inRho, LIMITS)
    const wholes = { kind: 'count', delta: 1e-6 }
    const chosen = new Set<string>()
    for (const [wire, halfWidths] of [
      [wholes, [1, 3, 10, 50, 500]],
      [free, [10, 100, 500]],
    ] as const)
      for (const halfWidth of halfWidths) {
        const each = (['geometric', 'gaussian'] as const).map((mechanism) =>
          counted({ ...wire, mechanism }, halfWidth),
        )
        const [first, ...more] = each.toSorted((a, b) => Number((a.rho ?? 0n) - (b.rho ?? 0n)))
        const taken = counted(wire, halfWidth)
        expect(more.length).toBe(1)
        expect([taken.rho, taken.loss]).toEqual([first?.rho, first?.loss])
        if (taken.kind === 'additive') chosen.add(taken.measurements[0]?.mechanism ?? 'none')
      }
    expect([...chosen].sort()).toEqual(['gaussian', 'geometric'])
    // For a count to within 50: less than half the rho, at more than twice the epsilon.
    expect(counted(wholes, 50)).toMatchObject({ rho: 768_570_190n, loss: { epsilonNano: 145_900_000n } })
    expect(planOf(askFor(wholes, 50))).toMatchObject({
      rho: 1_758_915_449n,
      loss: { epsilonNano: 59_320_000n },
    })
    // Of two with the same cost, the one without delta.
    const tiny = { kind: 'count', delta: 1e-9 }
    expect(counted({ ...tiny, mechanism: 'gaussian' }, 1e300).rho).toBe(1n)
    expect(counted(tiny, 1e300)).toMatchObject({ rho: 1n, loss: { epsilonNano: 1n, deltaAtto: 0n } })
    // With a given epsilon, the mechanism with the smallest error is used, in either accounting.
    const given = querySchema.parse({ ...wholes, epsilon: 0.1 })
    expect(plan(given, inRho, LIMITS).rho).toBe(plan(given, { ...inRho, accounting: 'basic' }, LIMITS).rho)
  })

  test('is another one if the first cannot meet the target', () => {
    const wire = { kind: 'count', delta: 1e-6 }
    // Whole noise is 0 often enough at some epsilon; Gaussian noise never is.
    expect(refusalOf(askFor({ ...wire, mechanism: 'gaussian' }, 0.001)).errors[0]?.field).toBe(
      'accuracy.halfWidth',
    )
    expect(planOf(askFor(wire, 0.001)).loss.deltaAtto).toBe(0n)
  })
})

test('a target that every price meets costs the least possible price', () => {
  const least = (wire: object) => planOf(askFor(wire, 1e300)).loss.epsilonNano
  expect(least({ kind: 'count' })).toBe(1n)
  // The epsilon is divided into shares: those of a variance are 4/9, 3/9 and 2/9.
  expect(least({ kind: 'variance', column: 'Age', supposed })).toBe(9n)
  expect(least({ kind: 'percentile', column: 'Age', p: [25, 75] })).toBe(2n)
  expect(least({ kind: 'noisyMax', candidates: { column: 'Region' }, k: 2 })).toBe(2n)
  // Nothing is divided for one vector or one threshold.
  expect(least({ kind: 'variance', column: 'Age', supposed, ...gaussian })).toBe(1n)
  expect(least({ kind: 'keySelection', column: 'Note', counts: true, delta: 1e-8 })).toBe(1n)
})

test('a requested confidence is stated, and a higher one costs more', () => {
  const planned = [0.5, 0.95, 0.999].map((confidence) => planOf(askFor({ kind: 'count' }, 20, confidence)))
  expect(planned.map((plan) => accuracyReport(plan).confidence)).toEqual([0.5, 0.95, 0.999])
  const epsilons = planned.map(({ loss }) => loss.epsilonNano)
  expect(epsilons.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(epsilons)
  expect(new Set(epsilons).size).toBe(3)
})

test('the default confidence is 0.95', () => {
  const { loss, confidence } = planOf({ kind: 'median', column: 'Age', accuracy: { halfWidth: 12 } })
  expect(confidence).toBe(0.95)
  expect(loss).toEqual(planOf(askFor({ kind: 'median', column: 'Age' }, 12, 0.95)).loss)
})

describe('refusals', () => {
  const halfWidth = 5
  const refused: readonly (readonly [what: string, wire: object, error: string])[] = [
    ['both', { kind: 'count', epsilon: 1, accuracy: { halfWidth } }, 'invalid-request: accuracy'],
    ['neither', { kind: 'count', epsilon: undefined }, 'invalid-request: epsilon'],
    [
      'a half-width of 0',
      { kind: 'count', accuracy: { halfWidth: 0 } },
      'invalid-request: accuracy.halfWidth',
    ],
    ['one below 0', { kind: 'count', accuracy: { halfWidth: -1 } }, 'invalid-request: accuracy.halfWidth'],
    ...[0, 1, -0.5, 1.5, 1e-17, 1 - 2 ** -53].map(
      (confidence) =>
        [
          `a confidence of ${confidence}`,
          { ...age, supposed, accuracy: { halfWidth, confidence } },
          'invalid-request: accuracy.confidence',
        ] as const,
    ),
    [
      'more than the largest epsilon gives',
      { kind: 'sum', column: 'Balance', accuracy: { halfWidth: 0.01 } },
      'query-does-not-fit: accuracy.halfWidth',
    ],
    [
      'more than the classic calibration gives',
      { kind: 'count', ...classic, accuracy: { halfWidth: 1 } },
      'query-does-not-fit: accuracy.halfWidth',
    ],
    [
      'more than rounding allows',
      { ...age, postprocess: { round: true }, supposed: { rows: 1e12 }, accuracy: { halfWidth: 0.49 } },
      'query-does-not-fit: accuracy.halfWidth',
    ],
    [
      'a mean without supposed rows',
      { ...age, accuracy: { halfWidth } },
      'query-does-not-fit: supposed.rows',
    ],
    [
      'a proportion without supposed rows',
      { kind: 'proportion', of: adult, accuracy: { halfWidth } },
      'query-does-not-fit: supposed.rows',
    ],
    [
      'several statistics',
      { ...groups, statistics: [{ kind: 'count' }, age], accuracy: { halfWidth } },
      'query-does-not-fit: statistics',
    ],
    [
      'several statistics of supposed rows',
      { ...groups, statistics: [{ kind: 'count' }, age], supposed, accuracy: { halfWidth } },
      'query-does-not-fit: statistics',
    ],
    [
      'keys without counts',
      { kind: 'keySelection', column: 'Note', delta: 1e-8, accuracy: { halfWidth } },
      'query-does-not-fit: accuracy',
    ],
    // A query that does not fit at any epsilon is refused with its actual error.
    [
      'more selected candidates than there are',
      { kind: 'noisyMax', candidates: { column: 'Sex' }, k: 3, accuracy: { halfWidth } },
      'query-does-not-fit: k',
    ],
    [
      'gaussian without delta',
      { kind: 'count', mechanism: 'gaussian', accuracy: { halfWidth } },
      'mechanism-not-applicable: delta',
    ],
  ]
  test.each(refused)('%s', (_name, wire, error) => {
    const refusal = refusalOf(wire)
    expect(`${refusal.code}: ${refusal.errors[0]?.field}`).toBe(error)
    expect(refusal.errors[0]?.rule.length).toBeGreaterThan(5)
  })

  test('the refusal of a private number of rows states what to add', () => {
    const [error] = refusalOf({ ...age, accuracy: { halfWidth } }).errors
    const example = /"supposed": \{"rows": \d+\}/.exec(error?.rule ?? '')?.[0]
    const asked = { ...age, accuracy: { halfWidth }, ...JSON.parse(`{${example}}`) }
    expect(() => planOf(asked)).not.toThrow()
  })

  // JSON has no such numbers, but callers of the planner could pass them.
  test.each([
    ['accuracy.halfWidth', { halfWidth: Number.NaN, confidence: 0.95 }],
    ['accuracy.confidence', { halfWidth, confidence: Number.NaN }],
  ])('an %s that is not a number', (field, accuracy) => {
    const { query, dataset } = planOf({ kind: 'count' })
    const asked = { ...query, epsilon: undefined, accuracy }
    expect(() => plan(asked, dataset, LIMITS)).toThrow(`${field}: must be`)
  })
})
