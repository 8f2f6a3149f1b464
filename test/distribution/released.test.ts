import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../schemas/query.ts'
import { systemEntropy } from '../../src/mechanisms/entropy.ts'
import { accuracy as accuracyOf, addNoise } from '../../src/mechanisms/mechanism.ts'
import { plan } from '../../src/planner/plan.ts'
import { report } from '../../src/planner/report.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { people } from '../planner/people.ts'

const DRAWS = 20_000
/** Standard errors beyond which a mean of so many draws is not by chance: below 1e-20. */
const LIMIT = 9.5

const source = systemEntropy()
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/** Errors of what leaves, drawn along the whole path from the aggregate's integers, and what was stated about them. */
function draw(wire: object, integers: readonly bigint[], truth: number, neighbours: Neighbours) {
  const planned = plan(querySchema.parse({ epsilon: 0.5, ...wire }), people(neighbours), { maxCells: 10 })
  const errors: number[] = []
  let covered = 0
  let stated = { halfWidth: 0, expectedAbsoluteError: 0 }
  for (let index = 0; index < DRAWS; index += 1) {
    const noisy = planned.measurements.map((measurement, statistic) =>
      addNoise(measurement, [integers[statistic] ?? 0n], source),
    )
    const { result, accuracy } = report(planned, noisy)
    const value = 'value' in result ? result.value : (result.cells[0]?.value ?? Number.NaN)
    const { halfWidth, expectedAbsoluteError } = accuracy
    if (halfWidth === null || expectedAbsoluteError === null) throw new Error('an answer states its accuracy')
    stated = { halfWidth, expectedAbsoluteError }
    errors.push(Math.abs(value - truth))
    if (Math.abs(value - truth) <= halfWidth * (1 + 1e-12)) covered += 1
  }
  return { errors, covered: covered / DRAWS, stated }
}

const gaussian = { mechanism: 'gaussian', delta: 1e-6 }

describe('each cell of a table has noise of its own', () => {
  const CELLS = 8
  test.each([{ mechanism: 'geometric' }, { mechanism: 'laplace' }, gaussian])('%j', (wire) => {
    const query = querySchema.parse({
      kind: 'contingency',
      columns: ['Region', 'Sex'],
      epsilon: 0.5,
      ...wire,
    })
    const [measurement] = plan(query, people('add-remove'), { maxCells: CELLS }).measurements
    if (measurement === undefined) throw new Error('a table has a measurement')
    const cells: number[][] = Array.from({ length: CELLS }, () => [])
    for (let index = 0; index < DRAWS / 4; index += 1) {
      const noisy = addNoise(measurement, new Array<bigint>(CELLS).fill(0n), source)
      for (const [cell, value] of noisy.entries())
        cells[cell]?.push(Number(value) / 2 ** measurement.fractionBits)
    }
    const { standardDeviation } = accuracyOf(measurement, 0.95)
    const products = (a: readonly number[], b: readonly number[]) =>
      a.map((value, index) => (value * (b[index] ?? 0)) / standardDeviation ** 2)
    for (const [first, a] of cells.entries()) {
      for (const [second, b] of cells.entries()) {
        const expected = first === second ? 1 : 0
        const values = products(a, b)
        const spread = Math.sqrt(mean(values.map((value) => (value - expected) ** 2)) / values.length)
        expect(Math.abs(mean(values) - expected) / spread, `cells ${first} and ${second}`).toBeLessThan(LIMIT)
        // Noise that two cells share would have them agree in full.
        expect(Math.abs(mean(values) - (1 - expected)) / spread).toBeGreaterThan(LIMIT)
      }
    }
  })
})

describe.each(['add-remove', 'change-one'] as const)('under %s', (neighbours) => {
  test.each([
    ['a geometric count', { kind: 'count', mechanism: 'geometric' }, [1000n], 1000],
    ['a Laplace count', { kind: 'count', mechanism: 'laplace' }, [1000n], 1000],
    ['a Gaussian count', { kind: 'count', ...gaussian }, [1000n], 1000],
    ['a classic Gaussian count', { kind: 'count', ...gaussian, calibration: 'classic' }, [1000n], 1000],
    ['a geometric sum', { kind: 'sum', column: 'Age', mechanism: 'geometric' }, [4567n], 4567],
    ['a Laplace sum in steps', { kind: 'sum', column: 'Balance', mechanism: 'laplace' }, [-4567n], -228.35],
    ['a Gaussian sum in steps', { kind: 'sum', column: 'Balance', ...gaussian }, [-4567n], -228.35],
  ])('%s errs as stated: no less, no more', (_name, wire, integers, truth) => {
    const { errors, covered, stated } = draw(wire, integers, truth, neighbours)
    const expected = stated.expectedAbsoluteError
    const spread = Math.sqrt(mean(errors.map((error) => (error - expected) ** 2)) / DRAWS)
    expect(Math.abs(mean(errors) - expected) / spread).toBeLessThan(LIMIT)
    // The same draws would give a scale away that is 30 % too small or too large.
    for (const wrong of [expected * 0.7, expected * 1.3]) {
      expect(Math.abs(mean(errors) - wrong) / spread).toBeGreaterThan(LIMIT)
    }
    const slack = LIMIT * Math.sqrt((0.95 * 0.05) / DRAWS)
    expect(covered).toBeGreaterThan(0.95 - slack)
    // Whole numbers cannot be hit exactly; otherwise a half-width that covers much more is too wide.
    expect(covered).toBeLessThan(0.98 + slack)
  })

  test.each([
    ['geometric', { kind: 'mean', column: 'Age', mechanism: 'geometric' }],
    ['Laplace', { kind: 'mean', column: 'Age', mechanism: 'laplace' }],
    ['Gaussian', { kind: 'mean', column: 'Age', ...gaussian }],
  ])('the interval of a filtered %s mean covers the truth', (_name, wire) => {
    const filter = { where: { column: 'Sex', op: '=', value: 'M' } }
    // 400 people of 33 on average: (2 * 33 - 120) half steps each.
    const { covered } = draw({ ...wire, ...filter }, [-54n * 400n, 400n], 33, neighbours)
    expect(covered).toBeGreaterThan(0.95 - LIMIT * Math.sqrt((0.95 * 0.05) / DRAWS))
  })

  test('rounding keeps what is stated true', () => {
    const wire = { kind: 'count', mechanism: 'laplace', postprocess: { round: true } }
    const { covered } = draw(wire, [1000n], 1000, neighbours)
    expect(covered).toBeGreaterThan(0.95 - LIMIT * Math.sqrt((0.95 * 0.05) / DRAWS))
  })
})
