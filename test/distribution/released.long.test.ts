import { describe, expect, test } from 'vitest'
import { addNoise } from '../../src/core/mechanisms/measurement.ts'
import { accuracy as accuracyOf } from '../../src/core/mechanisms/mechanism.ts'
import { systemEntropy } from '../../src/core/mechanisms/samplers/entropy.ts'
import { reporter } from '../../src/core/planner/report.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { estimatesOf } from '../core/planner/planned.ts'

const DRAWS = 20_000
/** Number of standard errors that the mean of this many draws exceeds by chance with a probability below 1e-20. */
const LIMIT = 9.5

const source = systemEntropy()
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * Errors of released values, drawn along the whole path from the aggregate's integers, and the stated accuracy.
 *
 * @param integers the one cell of each statistic, or all its cells
 */
function draw(
  wire: object,
  integers: readonly (bigint | readonly bigint[])[],
  truth: number,
  neighbours: Neighbours,
  rows = 100,
) {
  const planned = estimatesOf({ epsilon: 0.5, ...wire }, neighbours, rows)
  const errors: number[] = []
  let covered = 0
  let stated = { halfWidth: 0, expectedAbsoluteError: 0 }
  for (let index = 0; index < DRAWS; index += 1) {
    const noisy = planned.measurements.map((measurement, statistic) =>
      addNoise(measurement, [integers[statistic] ?? 0n].flat(), source),
    )
    const { result, accuracy } = reporter(planned)({ kind: 'additive', noisy })
    const value = 'value' in result ? result.value : Number.NaN
    const { halfWidth, expectedAbsoluteError } = accuracy
    if (halfWidth === null || expectedAbsoluteError === null) throw new Error('an answer states its accuracy')
    stated = { halfWidth, expectedAbsoluteError }
    errors.push(Number(value) - truth)
    if (Math.abs(Number(value) - truth) <= halfWidth * (1 + 1e-12)) covered += 1
  }
  return { errors, covered: covered / DRAWS, stated }
}

/** Distance of the mean of values from the expected value, in standard errors. */
function deviation(values: readonly number[], expected: number): number {
  const spread = Math.sqrt(mean(values.map((value) => (value - expected) ** 2)) / values.length)
  return Math.abs(mean(values) - expected) / spread
}

const gaussian = { mechanism: 'gaussian', delta: 1e-6 }

describe('each cell of a table has independent noise', () => {
  const CELLS = 8
  test.each([{ mechanism: 'geometric' }, { mechanism: 'laplace' }, gaussian])('%j', (wire) => {
    const table = { kind: 'contingency', columns: ['Region', 'Sex'], epsilon: 0.5, ...wire }
    const [measurement] = estimatesOf(table).measurements
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
        // Noise shared by two cells would make them agree completely.
        expect(Math.abs(mean(values) - (1 - expected)) / spread).toBeGreaterThan(LIMIT)
      }
    }
  })
})

/** Share of draws by which a 95% interval may fall short by chance. */
const SLACK = LIMIT * Math.sqrt((0.95 * 0.05) / DRAWS)

describe.each(['add-remove', 'change-one'] as const)('under %s', (neighbours) => {
  const region = { kind: 'countDistinct', column: 'Region' }
  const cases: readonly (readonly [string, object, bigint, number])[] = [
    ['a geometric count', { kind: 'count', mechanism: 'geometric' }, 1000n, 1000],
    ['a Laplace count', { kind: 'count', mechanism: 'laplace' }, 1000n, 1000],
    ['a Gaussian count', { kind: 'count', ...gaussian }, 1000n, 1000],
    ['a classic Gaussian count', { kind: 'count', ...gaussian, calibration: 'classic' }, 1000n, 1000],
    ['a geometric sum', { kind: 'sum', column: 'Age', mechanism: 'geometric' }, 4567n, 4567],
    ['a Laplace sum in steps', { kind: 'sum', column: 'Balance', mechanism: 'laplace' }, -4567n, -228.35],
    ['a Gaussian sum in steps', { kind: 'sum', column: 'Balance', ...gaussian }, -4567n, -228.35],
    ['a geometric count of distinct values', { ...region, mechanism: 'geometric' }, 2n, 2],
    ['a Laplace count of distinct values', { ...region, mechanism: 'laplace' }, 2n, 2],
    ['a Gaussian count of distinct values', { ...region, ...gaussian }, 2n, 2],
  ]
  test.each(cases)('%s has the stated error, no less and no more', (_name, wire, integer, truth) => {
    expectAsStated(draw(wire, [integer], truth, neighbours))
  })

  const man = { column: 'Sex', op: '=', value: 'M' }
  const noises = [{ mechanism: 'geometric' }, { mechanism: 'laplace' }, gaussian]

  test.each(noises)('the interval of a filtered mean covers the true value with %j', (noise) => {
    // 400 people of 33 on average: (2 * 33 - 120) half steps each.
    const { covered } = draw(
      { kind: 'mean', column: 'Age', where: man, ...noise },
      [-54n * 400n, 400n],
      33,
      neighbours,
    )
    expect(covered).toBeGreaterThan(0.95 - SLACK)
  })

  // 10,000 people of 33 on average with a variance of 400: in half steps from the middle -54, its square 2916 and the
  // variance 1600. The number of people is large enough that the remaining noise in a square or a quotient is far
  // below the effect under test.
  const ROWS = 10_000
  const moments = [4516n, -54n, 1n].map((each) => each * BigInt(ROWS))
  const filters = neighbours === 'add-remove' ? [{}] : [{}, { where: man }]
  const estimates = filters.flatMap((filter) => {
    // With a public number of rows a proportion is one count; otherwise a table of the rows that satisfy it and the
    // rows that do not.
    const oneCount = neighbours === 'change-one' && !('where' in filter)
    const shares: readonly (bigint | readonly bigint[])[] = oneCount ? [4_000n] : [[6_000n, 4_000n]]
    const of = { column: 'Age', op: '<', value: 18 }
    return [
      ...noises.flatMap((noise) => [
        { wire: { kind: 'variance', column: 'Age', ...noise, ...filter }, integers: moments, truth: 400 },
        { wire: { kind: 'proportion', of, ...noise, ...filter }, integers: shares, truth: 0.4 },
      ]),
      { wire: { kind: 'standardDeviation', column: 'Age', ...filter }, integers: moments, truth: 20 },
    ]
  })
  test.each(estimates.map((asked) => [JSON.stringify(asked.wire), asked] as const))(
    'values are centred at the true value, and their intervals cover it: %s',
    (_text, { wire, integers, truth }) => {
      const { errors, covered, stated } = draw(wire, integers, truth, neighbours, ROWS)
      expect(deviation(errors, 0)).toBeLessThan(LIMIT)
      for (const bias of [-0.3, 0.3])
        expect(deviation(errors, bias * stated.expectedAbsoluteError)).toBeGreaterThan(LIMIT)
      expect(covered).toBeGreaterThan(0.95 - SLACK)
      // The stated error is a first-order bound: errors of parts are added as if they never cancelled.
      const error = mean(errors.map(Math.abs))
      expect(error).toBeLessThan(1.1 * stated.expectedAbsoluteError)
      expect(error).toBeGreaterThan(0.5 * stated.expectedAbsoluteError)
    },
  )

  test('rounding keeps the stated accuracy true', () => {
    const wire = { kind: 'count', mechanism: 'laplace', postprocess: { round: true } }
    const { covered } = draw(wire, [1000n], 1000, neighbours)
    expect(covered).toBeGreaterThan(0.95 - SLACK)
  })
})

test.each([
  ['geometric', { mechanism: 'geometric' }],
  ['Laplace', { mechanism: 'laplace' }],
  ['Gaussian', gaussian],
])('a %s proportion of a public number of rows has the stated error, no less and no more', (_name, noise) => {
  const wire = { kind: 'proportion', of: { column: 'Age', op: '<', value: 18 }, ...noise }
  expectAsStated(draw(wire, [400n], 0.4, 'change-one', 1000))
})

function expectAsStated({ errors, covered, stated }: ReturnType<typeof draw>) {
  const sizes = errors.map(Math.abs)
  const expected = stated.expectedAbsoluteError
  expect(deviation(sizes, expected)).toBeLessThan(LIMIT)
  // The same draws would reveal a scale that is 30% too small or too large.
  for (const wrong of [expected * 0.7, expected * 1.3]) expect(deviation(sizes, wrong)).toBeGreaterThan(LIMIT)
  expect(covered).toBeGreaterThan(0.95 - SLACK)
  // Whole numbers cannot meet the confidence exactly; otherwise a half-width that covers much more is too wide.
  expect(covered).toBeLessThan(0.98 + SLACK)
}
