import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LinearForm } from '../../../src/core/inference/linear-forms.ts'
import { bestWeights, type Weights } from '../../../src/core/inference/weights.ts'
import { cases } from '../../cases.ts'
import { leastVariance, type SmallSystem } from './systems.ts'

const UNKNOWNS = 5

const coefficient = fc.constantFrom(0, 0, 0, 1, 1, 1, -1, 2, 7, 120)
const row = fc.array(coefficient, { minLength: UNKNOWNS, maxLength: UNKNOWNS })
const variance = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(1e3, 1e6, 1e9))

/** Systems whose target follows in most cases: a combination of the rows. */
const systems: fc.Arbitrary<SmallSystem> = fc
  .array(fc.record({ row, variance, factor: fc.integer({ min: -2, max: 2 }) }), {
    minLength: 1,
    maxLength: 9,
  })
  .chain((measured) => {
    const combination = Array.from({ length: UNKNOWNS }, (_, place) =>
      measured.reduce((sum, { row, factor }) => sum + factor * (row[place] ?? 0), 0),
    )
    return fc.record({
      rows: fc.constant(measured.map(({ row }) => row)),
      variances: fc.constant(measured.map(({ variance }) => variance)),
      target: fc.oneof({ weight: 9, arbitrary: fc.constant(combination) }, row),
    })
  })

const formOf = (coefficients: readonly number[]): LinearForm =>
  new Map(coefficients.flatMap((value, place) => (value === 0 ? [] : [[place, BigInt(value)] as const])))

function weightsOf({ rows, variances, target }: SmallSystem): Weights | undefined {
  const form = formOf(target)
  const measurements = { forms: rows.map(formOf), variances, sizes: rows.map(() => 1) }
  return bestWeights(measurements, [form], { left: 1e6 })(form)
}

function expectBest(system: SmallSystem): void {
  const best = leastVariance(system)
  const weights = weightsOf(system)
  if (weights === undefined || best === undefined) {
    expect(weights === undefined).toBe(best === undefined)
    return
  }
  const { numerators, denominator } = weights
  expect(denominator > 0n).toBe(true)
  // The identity is exact, coefficient by coefficient.
  for (const [unknown, wanted] of system.target.entries()) {
    let sum = 0n
    for (const [place, weight] of numerators) sum += weight * BigInt(system.rows[place]?.[unknown] ?? 0)
    expect(sum).toBe(BigInt(wanted) * denominator)
  }
  let variance = 0
  for (const [place, weight] of numerators)
    variance += (Number(weight) / Number(denominator)) ** 2 * (system.variances[place] ?? 0)
  expect(variance).toBeGreaterThanOrEqual(best * (1 - 1e-9))
  expect(variance).toBeLessThanOrEqual(best * (1 + 1e-6))
}

test('weights have the least variance of dense least squares in exact rationals', () => {
  fc.assert(fc.property(systems, expectBest), { numRuns: cases(10_000) })
})

test('weights of systems that are hard for floating point', () => {
  expectBest({
    rows: [
      [0, 0, 1, 0, 0],
      [1, -1, 0, 1, 0],
      [1, 1, 120, 1, -1],
      [1, 1, 0, 0, 0],
      [1, -1, 0, 0, 1],
    ],
    variances: [1e9, 1e3, 1e3, 1, 1e3],
    target: [0, 0, 1, 0, 0],
  })
  expectBest({
    rows: [
      [0, 0, -1, 0, 0],
      [1, 0, -1, 0, 0],
      [120, 0, 0, 0, 0],
      [0, 1, 0, 0, 0],
      [120, 1, 0, 0, 0],
    ],
    variances: [1e9, 1, 1, 1, 1],
    target: [120, 1, 0, 0, 0],
  })
  expectBest({
    rows: [
      [0, 120, 0, 0, 0],
      [0, 0, 0, 0, 1],
      [0, -1, 120, 0, 0],
      [0, 120, 0, 120, 0],
      [0, 120, 0, 0, 0],
      [0, 0, 0, 7, 7],
      [0, 0, 1, 0, 120],
    ],
    variances: [1e9, 1e6, 1, 1e9, 1e6, 1, 1],
    target: [0, -120, 0, 0, 0],
  })
})
