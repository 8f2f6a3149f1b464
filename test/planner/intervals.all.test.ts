import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { NumericColumn } from '../../src/catalog/dataset.ts'
import { accuracy as accuracyOf } from '../../src/mechanisms/mechanism.ts'
import type { Estimate } from '../../src/planner/additive.ts'
import type { Aggregate, Statistic } from '../../src/planner/aggregate.ts'
import type { AdditivePlan } from '../../src/planner/kinds/additive.ts'
import { planPredicate } from '../../src/planner/predicate.ts'
import { accuracyReport, report } from '../../src/planner/report.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { aggregateRows, type StoredRow } from '../engines/reference-engine.ts'
import { grouping, groupStatistic, numeric, rowOf, where } from './arbitraries.ts'
import { people } from './people.ts'
import { estimatesOf } from './planned.ts'

/** Few rows that differ, or more that are alike, as the hardest are. */
function rowsOf(kind: Neighbours): fc.Arbitrary<readonly StoredRow[]> {
  const row = rowOf(people(kind))
  const alike = fc.tuple(row, fc.integer({ min: 1, max: 200 }))
  return fc.oneof(
    fc.array(row, { minLength: 1, maxLength: 20 }),
    fc
      .array(alike, { minLength: 1, maxLength: 2 })
      .map((parts) => parts.flatMap(([same, times]) => new Array<StoredRow>(times).fill(same))),
  )
}

const query: fc.Arbitrary<object> = fc
  .record(
    {
      asked: fc.oneof(
        fc.constant({ kind: 'count' }),
        { weight: 6, arbitrary: fc.record({ kind: kinds(), column: numeric }) },
        { weight: 3, arbitrary: fc.record({ kind: fc.constant('proportion'), of: where }) },
        fc.record({ kind: fc.constantFrom('countDistinct', 'histogram'), column: grouping }),
        {
          weight: 2,
          arbitrary: fc.record({
            kind: fc.constant('groupBy'),
            keys: grouping.map((key) => [key]),
            statistics: fc.uniqueArray(groupStatistic, {
              minLength: 1,
              maxLength: 3,
              selector: (statistic) => JSON.stringify(statistic),
            }),
          }),
        },
      ),
      epsilon: fc.constantFrom(0.1, 1, 5, 30),
      mechanism: fc.constantFrom(
        {},
        { mechanism: 'laplace' },
        { mechanism: 'gaussian', delta: 1e-6 },
        { mechanism: 'gaussian', delta: 0.01 },
      ),
      filter: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, fc.record({ where })),
      round: fc.boolean(),
      nonNegative: fc.boolean(),
    },
    { requiredKeys: ['asked', 'epsilon', 'mechanism', 'filter'] },
  )
  .map(({ asked, epsilon, mechanism, filter, round = false, nonNegative = false }) => {
    const below = JSON.stringify(asked).includes('Balance')
    return {
      ...asked,
      epsilon,
      ...mechanism,
      ...filter,
      postprocess: { round, nonNegative: nonNegative && !below },
    }
  })

function kinds() {
  return fc.constantFrom('sum', 'mean', 'variance', 'standardDeviation')
}

/** Error of a noisy statistic as a share of its half-width, often at the ends. */
const share = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(-1, 1) },
  fc.double({ min: -1, max: 1, noNaN: true }),
)
/** One for each cell of up to 8 statistics of up to 8 cells. */
const shares = fc.array(share, { minLength: 64, maxLength: 64 })

/** The statistics of an estimate, and how many parts it has: each may miss by as large a share of what it may miss by. */
function partsOf(estimate: Estimate): { readonly places: ReadonlySet<number>; readonly parts: number } {
  const rows = 'rows' in estimate && typeof estimate.rows === 'object' ? estimate.rows : undefined
  const count = rows?.kind === 'noisy' ? [rows.statistic] : []
  const of = (places: readonly number[], parts = places.length) => ({ places: new Set(places), parts })
  switch (estimate.kind) {
    case 'count':
    case 'count-distinct':
    case 'sum':
    case 'proportion':
      return of([estimate.statistic])
    case 'proportion-of-cells':
      return of([estimate.statistic], 2)
    case 'sum-from-middle':
    case 'mean':
      return of([estimate.sum, ...count])
    case 'variance':
    case 'standard-deviation':
      return of([estimate.squares, estimate.sum, ...count])
  }
}

/** Release in which the parts of an estimate err by these shares of their half-widths, and everything else is exact. */
function releasedWith(
  planned: AdditivePlan,
  estimate: Estimate,
  rows: readonly StoredRow[],
  errors: readonly number[],
) {
  const { places, parts } = partsOf(estimate)
  const confidence = 1 - (1 - planned.confidence) / parts
  return aggregateRows(planned.aggregate, rows).map((cells, place) => {
    const measurement = planned.measurements[place]
    if (measurement === undefined) throw new Error('a statistic without a measurement')
    const bits = measurement.fractionBits
    const halfWidth = places.has(place) ? accuracyOf(measurement, confidence).halfWidth * 2 ** bits : 0
    return cells.map(
      (value, cell) =>
        (value << BigInt(bits)) + BigInt(Math.trunc((errors[8 * place + cell] ?? 0) * halfWidth)),
    )
  })
}

interface Truth {
  readonly value: number
  readonly rows: number
}

/** The true estimate of each cell, from plain counts, sums and squares; `undefined` where there is none, for want of rows. */
function truthsOf(
  planned: AdditivePlan,
  estimate: Estimate,
  rows: readonly StoredRow[],
): readonly (Truth | undefined)[] {
  const { query, dataset } = planned
  const aggregate: Aggregate = { ...planned.aggregate, groupBy: planned.groupings.map(({ key }) => key) }
  const measure = (...statistics: Statistic[]) => aggregateRows({ ...aggregate, statistics }, rows)
  switch (estimate.kind) {
    case 'count':
    case 'count-distinct': {
      const exact = aggregateRows(aggregate, rows)[estimate.statistic] ?? []
      return exact.map((value) => ({ value: Number(value), rows: 1 }))
    }
    case 'proportion':
    case 'proportion-of-cells': {
      if (query.kind !== 'proportion') throw new Error('a proportion of what?')
      const holding: Statistic = { kind: 'count', where: planPredicate(query.of, dataset, 'of') }
      const [[all = 0n] = [], [some = 0n] = []] = measure({ kind: 'count' }, holding)
      return [all === 0n ? undefined : { value: Number(some) / Number(all), rows: Number(all) }]
    }
    case 'sum':
    case 'sum-from-middle':
    case 'mean':
    case 'variance':
    case 'standard-deviation': {
      const { column } = estimate
      const plain = { column: column.name, factor: 1n, offset: 0n }
      const [counts = [], sums = [], squares = []] = measure(
        { kind: 'count', column: column.name },
        { kind: 'affine-sum', ...plain },
        { kind: 'affine-square-sum', ...plain },
      )
      return counts.map((count, cell) => {
        const value = momentOf(estimate.kind, column, count, sums[cell] ?? 0n, squares[cell] ?? 0n)
        return value === undefined ? undefined : { value, rows: Number(count) }
      })
    }
  }
}

function momentOf(
  kind: Estimate['kind'],
  { stepNano }: NumericColumn,
  count: bigint,
  sum: bigint,
  squares: bigint,
): number | undefined {
  const step = Number(stepNano) / 1e9
  if (kind === 'sum' || kind === 'sum-from-middle') return Number(sum) * step
  if (count === 0n) return undefined
  if (kind === 'mean') return (Number(sum) / Number(count)) * step
  const variance = (Number(squares * count - sum ** 2n) / Number(count) ** 2) * step ** 2
  return kind === 'variance' ? variance : Math.sqrt(variance)
}

/** Largest possible error of an estimate. */
function widestOf(estimate: Estimate): number {
  switch (estimate.kind) {
    case 'count':
    case 'count-distinct':
    case 'sum':
    case 'sum-from-middle':
      return Number.POSITIVE_INFINITY
    case 'proportion':
    case 'proportion-of-cells':
      return 1
    case 'mean':
    case 'variance':
    case 'standard-deviation': {
      const { lowerIndex, upperIndex, stepNano } = estimate.column
      const range = (Number(upperIndex - lowerIndex) * Number(stepNano)) / 1e9
      return { mean: range, variance: range ** 2 / 4, 'standard-deviation': range / 2 }[estimate.kind]
    }
  }
}

/** The value of one estimate of one cell, and the half-width that goes with it. */
function shownIn({ result, accuracy }: ReturnType<typeof report>, place: number, cell: number) {
  if ('groups' in result) {
    const shown = Object.values(result.groups[cell]?.values ?? {})[place]
    return { value: shown?.value ?? Number.NaN, halfWidth: shown?.halfWidth ?? Number.NaN }
  }
  const halfWidth = accuracy.halfWidth ?? Number.NaN
  if ('cells' in result) return { value: result.cells[cell]?.value ?? Number.NaN, halfWidth }
  return { value: 'value' in result ? result.value : Number.NaN, halfWidth }
}

describe.each(['add-remove', 'change-one'] as const)('under %s', (kind) => {
  /** The largest error ever met, as a share of the half-width it was promised to keep within. */
  const largest = new Map<string, number>()

  test('while the noise keeps within its half-widths, estimates keep within theirs, before and after release', () => {
    fc.assert(
      fc.property(query, rowsOf(kind), shares, (wire, rows, errors) => {
        const planned = estimatesOf(wire, kind, rows.length)
        for (const [place, estimate] of planned.estimates.entries()) {
          const noisy = releasedWith(planned, estimate, rows, errors)
          const reported = report(planned, { kind: 'additive', noisy })
          for (const [cell, truth] of truthsOf(planned, estimate, rows).entries()) {
            if (truth === undefined) continue
            const { value, halfWidth } = shownIn(reported, place, cell)
            const before = accuracyReport(planned, truth.rows)
            const foreseen =
              Object.values(before.estimates ?? {})[place]?.halfWidth ?? before.halfWidth ?? Number.NaN
            const error = Math.abs(value - truth.value)
            const slack = 1e-9 * (1 + Math.abs(truth.value))
            expect(error, `${estimate.kind} ${value}, not ${truth.value}`).toBeLessThanOrEqual(
              halfWidth + slack,
            )
            expect(error, `${estimate.kind} ${value}, not ${truth.value}`).toBeLessThanOrEqual(
              foreseen + slack,
            )
            const rowCount = 'rows' in estimate && typeof estimate.rows === 'object' ? estimate.rows.kind : ''
            const name =
              `${planned.query.postprocess.round ? 'rounded ' : ''}${estimate.kind} ${rowCount}`.trim()
            // A half-width as wide as all that is possible says nothing, and keeps its promise for that.
            for (const [when, width] of [
              ['before', foreseen],
              ['after', halfWidth],
            ] as const)
              if (width > 0 && width < widestOf(estimate) / 2)
                largest.set(`${name} ${when}`, Math.max(largest.get(`${name} ${when}`) ?? 0, error / width))
          }
        }
      }),
      { numRuns: 6000 },
    )
  })

  // Half-widths that were 30 % smaller would not hold: none of these promises is empty.
  test('errors come near every half-width', () => {
    const counted = ['mean', 'variance', 'standard-deviation'].flatMap((name) =>
      kind === 'change-one' ? [`${name} noisy`, `${name} public`] : [`${name} noisy`],
    )
    const names = [
      'count',
      'sum',
      'count-distinct',
      'proportion-of-cells',
      ...(kind === 'change-one' ? ['proportion'] : []),
      ...counted,
    ]
    const promises = names.flatMap((name) => [`${name} before`, `${name} after`])
    // Half a unit more is so much of a share's half-width that it is as wide as all that is possible.
    const rounded = names.filter((name) => !name.startsWith('proportion'))
    for (const name of [...promises, ...rounded.map((name) => `rounded ${name} after`)])
      expect(largest.get(name) ?? 0, name).toBeGreaterThan(0.7)
  })
})
