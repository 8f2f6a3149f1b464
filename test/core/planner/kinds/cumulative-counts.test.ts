import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import { queryShown } from '../../../../src/answers/documents/postprocessing.ts'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import { systemEntropy } from '../../../../src/core/mechanisms/samplers/entropy.ts'
import { normalForm } from '../../../../src/core/planner/identity/normal-form.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { noisesOf, quantileOf } from '../../../../src/core/planner/plans/cumulative-curve.ts'
import { planKindOf } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { sensitivitiesOfHaarNodes } from '../../../../src/core/planner/price/stability.ts'
import { accuracyReport, noiseReport, reporter } from '../../../../src/core/planner/report.ts'
import { haarNodes, levelsFor } from '../../../../src/core/workloads/ordered.ts'
import { entry } from '../../../../src/privacy/must.ts'
import { seriesOf } from '../../../../src/studies/plots/time-series.ts'
import { patients, people } from '../neighbours/people.ts'
import { planFor, planOf, refusalOf } from '../planned.ts'

const AGES = { kind: 'cumulativeCounts', column: 'Age' }
const curveOf = (wire: object, ...others: readonly ['add-remove' | 'change-one'] | []) =>
  planFor('cumulative', planOf({ ...AGES, ...wire }, ...others))

/** A dataset whose ages have 1,024 values. */
const wide = (neighbours: 'add-remove' | 'change-one'): Dataset => {
  const dataset = people(neighbours)
  const columns = dataset.columns.map((column) =>
    column.name === 'Age' && column.type === 'integer' ? { ...column, upperIndex: 1_023n } : column,
  )
  return { ...dataset, columns, accounting: 'zcdp' }
}

test.each([
  ['add-remove', 3.553, 8.24],
  // Level by level it would be 6.53.
  ['change-one', 4.448, 10.17],
] as const)('1,024 cumulative counts at rho = 1/2: the error under %s', (neighbours, error, width) => {
  const query = querySchema.parse({ ...AGES, epsilon: 4.5, delta: 1e-6 })
  const planned = planFor('cumulative', plan(query, wide(neighbours), { maxCells: 5_000 }))
  const rho = Number(planned.rho) / 1e12
  const { rootMeanSquaredError = Number.NaN, halfWidth } = accuracyReport(planned)
  // Errors are proportional to 1 / root(rho).
  expect(rootMeanSquaredError * Math.sqrt(rho / 0.5)).toBeCloseTo(error, 2)
  expect((halfWidth ?? Number.NaN) * Math.sqrt(rho / 0.5)).toBeCloseTo(width, 1)
})

describe('no neighbours cost more than the moves that are priced, and some cost as much', () => {
  const noises = ['gaussian', 'laplace'] as const
  /** What a change of the cells costs, at these prices of the levels. */
  const costOf = (change: readonly bigint[], prices: readonly number[], noise: (typeof noises)[number]) =>
    haarNodes(change).reduce(
      (sum, nodes, level) =>
        sum +
        entry(prices, level) *
          nodes.reduce(
            (all, node) => all + (noise === 'gaussian' ? Number(node) ** 2 : Math.abs(Number(node))),
            0,
          ),
      0,
    )
  /** All contributions of at most this number of rows. */
  const contributions = (cells: number, rows: number): readonly (readonly bigint[])[] =>
    cells === 0
      ? [[]]
      : Array.from({ length: rows + 1 }, (_, here) =>
          contributions(cells - 1, rows - here).map((others) => [BigInt(here), ...others]),
        ).flat()

  test.each([
    ['rows', 'add-remove', 1, {}],
    ['rows', 'change-one', 1, {}],
    ['people with two rows', 'add-remove', 2, { contribution: { rows: 2 } }],
    ['people with two rows', 'change-one', 2, { contribution: { rows: 2 } }],
    ['people in one group', 'change-one', 2, { contribution: { groups: 1, rowsPerGroup: 2 } }],
  ] as const)('%s, %s', (_, neighbours, rows, wire) => {
    const dataset = rows === 1 ? people(neighbours) : patients(neighbours)
    for (const cells of [1, 2, 3, 5, 8]) {
      const edges = Array.from({ length: cells + 1 }, (_each, place) => place)
      const query = querySchema.parse({ ...AGES, ...wire, column: { column: 'Age', edges }, epsilon: 1 })
      const { aggregate } = planFor('cumulative', plan(query, dataset, { maxCells: 100 }))
      const { moves } = sensitivitiesOfHaarNodes(aggregate, levelsFor(cells), dataset)
      const own = contributions(cells, rows)
      const others = neighbours === 'add-remove' ? own.slice(0, 1) : own
      // Other prices have other worst neighbours.
      for (const prices of [
        [1, 1, 1, 1],
        [9, 1, 1, 1],
        [1, 2, 9, 1],
        [1, 1, 3, 9],
      ])
        for (const noise of noises) {
          const priced = moves.map((move) =>
            move.reduce(
              (sum, { l1, l2Squared }, level) =>
                sum + entry(prices, level) * Number(noise === 'gaussian' ? l2Squared : l1),
              0,
            ),
          )
          const costs = own.flatMap((one) =>
            others.map((other) =>
              costOf(
                one.map((count, cell) => count - entry(other, cell)),
                prices,
                noise,
              ),
            ),
          )
          expect(Math.max(...costs)).toBe(Math.max(...priced))
        }
    }
  })
})

test('spans are those of edges, periods or values; rows without a value are in no cell', () => {
  const ofEdges = curveOf({ column: { column: 'Income', edges: [10, 100, 500] } })
  expect(ofEdges.cells.spans).toEqual([
    { lower: 10, upper: 100 },
    { lower: 10, upper: 500, upperIncluded: true },
  ])
  expect(ofEdges.aggregate.groupBy).toMatchObject([{ kind: 'bins', nullCell: false }])
  const ofPeriods = curveOf({ column: { column: 'Visited', by: 'month' } })
  expect(ofPeriods.cells.spans.at(-1)).toEqual({ lower: '2024-01', upper: '2024-04', upperIncluded: true })
  expect(curveOf({}).cells.spans[1]).toEqual({ lower: 0, upper: 1, upperIncluded: true })
})

test('counts by periods are a line over time, with its band', () => {
  const column = { column: 'Visited', by: 'month' }
  const planned = curveOf({ column })
  const noisy = haarNodes([5n, 7n, 0n, 2n]).map((nodes, level) =>
    nodes.map((node) => node << BigInt(entry(planned.measurements, level).fractionBits)),
  )
  const { result, accuracy } = reporter(planned)({ kind: 'cumulative', noisy })
  const [series] = seriesOf({ result, accuracy }, { column }, [])
  const points = series?.lines[0]?.points.map(({ period, value }) => [period, value])
  expect(points).toEqual([
    ['2024-01', 5],
    ['2024-02', 12],
    ['2024-03', 12],
    ['2024-04', 14],
  ])
  expect(series?.lines[0]?.points[0]?.around).toBeDefined()
})

test('any epsilon is divided among the levels, or is too small to be', () => {
  for (const neighbours of ['add-remove', 'change-one'] as const) {
    for (let nano = 10_001; nano < 4e9; nano = Math.ceil(nano * 1.37)) {
      const epsilon = nano / 1e9
      expect(
        curveOf({ column: { column: 'Age', edges: [0, 1, 2, 3, 9, 20] }, epsilon }, neighbours).loss,
      ).toEqual({
        epsilonNano: BigInt(nano),
        deltaAtto: 0n,
      })
    }
    expect(refusalOf({ ...AGES, epsilon: 9e-6 }, neighbours).errors).toMatchObject([{ field: 'epsilon' }])
  }
})

test('an accuracy is met at the least epsilon', () => {
  const met = curveOf({ accuracy: { halfWidth: 30 } })
  const halfWidth = accuracyReport(met).halfWidth ?? Number.NaN
  expect(halfWidth).toBeLessThanOrEqual(30)
  expect(halfWidth).toBeGreaterThan(29.8)
})

test.each([
  ['an order', { column: 'Sex' }, 'column'],
  ['periods that do not recur', { column: { column: 'Visited', by: 'dayOfWeek' } }, 'column.by'],
  ['a percentage', { p: [50, 100] }, 'p.1'],
])('needs %s', (_, wire, field) => {
  expect(refusalOf({ ...AGES, ...wire }).errors).toMatchObject([{ field }])
})

test('people are counted where each has one cell', () => {
  const asked = (wire: object) => () =>
    plan(querySchema.parse({ ...AGES, of: 'people', epsilon: 1, ...wire }), patients('add-remove'), {
      maxCells: 1_000,
    })
  expect(asked({})).toThrow(/constantPerPerson/)
  expect(asked({ contribution: { groups: 1 } })).not.toThrow()
})

test('percentages change only how a curve is shown: the question is the same', () => {
  expect(normalForm(curveOf({ p: [50] }))).toEqual(normalForm(curveOf({ p: [5, 95] })))
  expect(normalForm(curveOf({}))).not.toHaveProperty('p')
})

describe.each([
  ['Laplace', {}],
  ['Gaussian', { delta: 1e-6 }],
])('with %s noise', (_, price) => {
  const edges = Array.from({ length: 14 }, (_each, place) => 8 * place)
  const planned = curveOf({ column: { column: 'Age', edges }, ...price, epsilon: 0.5 })
  const counts = edges.slice(1).map((_each, cell) => BigInt(40 * (cell % 4)))
  const truths = counts.map((_each, cell) =>
    Number(counts.slice(0, cell + 1).reduce((sum, each) => sum + each, 0n)),
  )
  const draw = planKindOf(planned).release(planned, { kind: 'cumulative', nodes: haarNodes(counts) })
  const source = systemEntropy()
  const releaseOnce = () => {
    const steps = draw(source)
    for (;;) {
      const step = steps.next()
      if (step.done === true) return step.value
    }
  }
  const report = reporter(planned)
  const RUNS = 4_000
  const results = Array.from({ length: RUNS }, () => {
    const { result } = report(releaseOnce())
    if (!('groups' in result)) throw new Error('groups are shown')
    return result.groups.map(({ values }) => Number(values.count?.value))
  })

  test('each count is within its half-width as often as stated, and not much more often', () => {
    for (const [place, halfWidth] of planned.halfWidths.entries()) {
      const within = results.filter(
        (values) => Math.abs(entry(values, place) - entry(truths, place)) <= halfWidth,
      )
      // 95 % less and plus five standard deviations.
      expect(within.length / RUNS).toBeGreaterThan(0.932)
      expect(within.length / RUNS).toBeLessThan(0.968)
    }
    const squares = results.flatMap((values) =>
      values.map((value, place) => (value - entry(truths, place)) ** 2),
    )
    const error = Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length)
    expect(error / (accuracyReport(planned).rootMeanSquaredError ?? Number.NaN)).toBeCloseTo(1, 1)
  })

  test('the cell of a true quantile lies in the interval at least as often as stated', () => {
    const { spans } = planned.cells
    const noises = noisesOf(planned.measurements)
    for (const p of [10, 50, 90]) {
      const cell = truths.findIndex((truth) => truth >= (p / 100) * entry(truths, truths.length - 1))
      const held = results.slice(0, 200).filter((values) => {
        const { interval } = quantileOf({ spans, counts: values, noises, confidence: 0.95 }, p)
        return (
          Number(interval.lower) <= entry(edges, cell) && Number(interval.upper) >= entry(edges, cell + 1)
        )
      })
      expect(held.length / 200).toBeGreaterThan(0.9)
    }
  })

  test('a stored answer is shown with the quantiles that are asked for', () => {
    const document = { ...report(releaseOnce()), noise: noiseReport(planned) }
    const shown = queryShown(document, { kind: 'cumulativeCounts', p: [50, 90] })
    expect(shown).toMatchObject({ result: { percentiles: [{ p: 50 }, { p: 90 }] } })
    expect(queryShown(shown, { kind: 'cumulativeCounts' })).toEqual(document)
  })
})
