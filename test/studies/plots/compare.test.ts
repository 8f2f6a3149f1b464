import { describe, expect, it } from 'vitest'
import { accuracy } from '../../../src/core/mechanisms/mechanism.ts'
import { calibrateGaussian } from '../../../src/core/mechanisms/noise/gaussian.ts'
import { calibrateGeometric } from '../../../src/core/mechanisms/noise/geometric.ts'
import { deltaFromWire, epsilonFromWire } from '../../../src/privacy/loss.ts'
import type { Sensitivity } from '../../../src/privacy/sensitivity.ts'
import { type Comparison, compareMechanisms, type Workload } from '../../../src/studies/plots/compare.ts'

const loss = (epsilon: number, delta: number) => ({
  epsilonNano: epsilonFromWire(epsilon, 'epsilon'),
  deltaAtto: deltaFromWire(delta, 'delta'),
})

const counts = (changes: Partial<Workload> = {}): Workload => ({
  loss: loss(1, 1e-5),
  statistics: 20,
  contribution: 1n,
  fractionDigits: 0,
  wholeNumbers: true,
  confidence: 0.95,
  ...changes,
})

const crossingOf = (workload: Workload, mechanism: string, against: string) =>
  compareMechanisms(workload).crossings.find(
    (crossing) => crossing.mechanism === mechanism && crossing.against === against,
  )

/** Row for this number of statistics. */
function rowOf(rows: Comparison['rows'], statistics: number) {
  const row = rows[statistics - 1]
  if (row === undefined) throw new Error('no such row')
  expect(row.statistics).toBe(statistics)
  return row
}

describe('at epsilon 1 and delta 1e-5', () => {
  const { rows, crossings, notApplicable } = compareMechanisms(counts())

  it('the analytic Gaussian wins from 7 statistics on by standard deviation', () => {
    // Known answer: one person in k statistics, Laplace against the analytic Gaussian.
    for (const against of ['laplace', 'geometric'])
      expect(crossingOf(counts(), 'analytic-gaussian', against)).toMatchObject({ standardDeviation: 7 })
    expect(rowOf(rows, 6).best.standardDeviation).toBe('geometric')
    expect(rowOf(rows, 7).best.standardDeviation).toBe('analytic-gaussian')
  })

  it('agrees with the closed forms of the continuous distributions, criterion by criterion', () => {
    // sigma of the analytic calibration (Balle and Wang 2018): 3.730631634815942; classic: sqrt(2 ln(1.25e5)). Laplace
    // of scale k: deviation sqrt(2) k, expected error k, half-width k ln 20; Gaussian: sigma, sigma sqrt(2 / pi), 1.96
    // sigma.
    const firstWith = (wins: (k: number) => boolean) => {
      for (let k = 1; ; k += 1) if (wins(k)) return k
    }
    for (const [mechanism, sigma] of [
      ['analytic-gaussian', 3.730631634815942],
      ['classic-gaussian', Math.sqrt(2 * Math.log(1.25e5))],
    ] as const)
      expect(crossingOf(counts({ statistics: 40 }), mechanism, 'laplace')).toEqual({
        mechanism,
        against: 'laplace',
        standardDeviation: firstWith((k) => sigma * Math.sqrt(k) < Math.SQRT2 * k),
        expectedAbsoluteError: firstWith((k) => sigma * Math.sqrt((k * 2) / Math.PI) < k),
        halfWidth: firstWith((k) => 1.959963984540054 * sigma * Math.sqrt(k) < k * Math.log(20)),
      })
  })

  it('gives the scale and the accuracy of the real calibrations', () => {
    const sensitivity: Sensitivity = { l0: 5n, l1: 5n, l2Squared: 5n, lInfinity: 1n }
    const { epsilonNano, deltaAtto } = loss(1, 1e-5)
    const { confidence: _, ...geometric } = accuracy(calibrateGeometric(sensitivity, epsilonNano), 0.95)
    const { confidence: __, ...analytic } = accuracy(
      calibrateGaussian(sensitivity, epsilonNano, deltaAtto, 'analytic'),
      0.95,
    )
    const { noise } = rowOf(rows, 5)
    expect(noise.geometric).toEqual({ scale: 5, ...geometric })
    expect(noise['analytic-gaussian']).toEqual({ scale: analytic.standardDeviation, ...analytic })
    expect(noise.laplace?.scale).toBe(5)
    expect(noise['classic-gaussian']?.scale).toBeCloseTo(Math.sqrt(5 * 2 * Math.log(1.25e5)), 5)
  })

  it('compares every mechanism in every row, and names the one with the smallest error', () => {
    expect(notApplicable).toEqual([])
    expect(crossings).toHaveLength(4)
    expect(rows).toHaveLength(20)
    for (const { noise, best } of rows) {
      expect(Object.keys(noise)).toEqual(['geometric', 'laplace', 'analytic-gaussian', 'classic-gaussian'])
      for (const criterion of ['standardDeviation', 'expectedAbsoluteError', 'halfWidth'] as const) {
        const least = Math.min(...Object.values(noise).map((each) => each[criterion]))
        expect(noise[best[criterion]]?.[criterion]).toBe(least)
      }
    }
  })

  it('a crossing holds from its row to the last', () => {
    // The half-width of geometric noise is a whole number, so it may be ahead, behind and ahead again.
    for (const epsilon of [0.3, 0.7, 0.9, 1]) {
      const workload = counts({ loss: loss(epsilon, 1e-5), statistics: 60 })
      const comparison = compareMechanisms(workload)
      for (const { mechanism, against, ...crossing } of comparison.crossings)
        for (const criterion of ['standardDeviation', 'expectedAbsoluteError', 'halfWidth'] as const) {
          const from = crossing[criterion] ?? 61
          const wins = comparison.rows.map(
            ({ noise }) => (noise[mechanism]?.[criterion] ?? 0) < (noise[against]?.[criterion] ?? 0),
          )
          expect(wins.slice(from - 1).every(Boolean)).toBe(true)
          if (from > 1) expect(wins[from - 2]).toBe(false)
        }
    }
  })
})

it('no crossing is reported beyond the last row', () => {
  const at = (statistics: number) => crossingOf(counts({ statistics }), 'analytic-gaussian', 'laplace')
  expect(at(6)).toMatchObject({ standardDeviation: null })
  expect(at(7)).toMatchObject({ standardDeviation: 7, expectedAbsoluteError: null })
  expect(crossingOf(counts({ loss: loss(0.001, 0.4) }), 'analytic-gaussian', 'laplace')).toMatchObject({
    standardDeviation: 1,
  })
})

it('the contribution scales every figure and moves no crossing of continuous distributions', () => {
  const [one, seven] = [counts(), counts({ contribution: 7n })].map((workload) => compareMechanisms(workload))
  expect(seven?.crossings.filter(({ against }) => against === 'laplace')).toEqual(
    one?.crossings.filter(({ against }) => against === 'laplace'),
  )
  const noise = seven?.rows[2]?.noise
  expect(noise?.geometric?.scale).toBe(21)
  for (const mechanism of ['laplace', 'analytic-gaussian', 'classic-gaussian'] as const)
    for (const figure of ['scale', 'standardDeviation', 'expectedAbsoluteError', 'halfWidth'] as const)
      expect(
        (noise?.[mechanism]?.[figure] ?? 0) / (one?.rows[2]?.noise[mechanism]?.[figure] ?? 0),
      ).toBeCloseTo(7, 9)
})

it('on a grid of 1e-9 the figures stay in the unit of the statistics', () => {
  const real = { wholeNumbers: false, fractionDigits: 9 }
  const { rows, notApplicable } = compareMechanisms(counts({ contribution: 2_500_000_000n, ...real }))
  expect(rows[1]?.noise.laplace?.scale).toBeCloseTo(5, 9)
  expect(rows[1]?.noise.laplace?.halfWidth).toBeCloseTo(5 * Math.log(20), 9)
  expect(rows[1]?.noise['analytic-gaussian']?.scale).toBeCloseTo(2.5 * 3.730631634815942 * Math.SQRT2, 5)
  expect(rows[1]?.noise.geometric).toBeUndefined()
  expect(notApplicable).toEqual([
    { mechanism: 'geometric', reason: 'geometric noise applies only to whole numbers' },
  ])
})

describe('mechanisms that do not apply are left out with a reason', () => {
  it('no Gaussian without a delta', () => {
    const { rows, crossings, notApplicable } = compareMechanisms(counts({ loss: loss(1, 0) }))
    expect(Object.keys(rows[0]?.noise ?? {})).toEqual(['geometric', 'laplace'])
    expect(crossings).toEqual([])
    expect(notApplicable.map(({ mechanism }) => mechanism)).toEqual(['analytic-gaussian', 'classic-gaussian'])
    for (const { reason } of notApplicable) expect(reason).toContain('delta: must be greater than 0')
  })

  it('no classic calibration above epsilon 1', () => {
    const { crossings, notApplicable } = compareMechanisms(counts({ loss: loss(1.000000001, 1e-5) }))
    expect(notApplicable).toEqual([
      { mechanism: 'classic-gaussian', reason: expect.stringContaining('epsilon above 1') },
    ])
    expect(crossings.map(({ mechanism, against }) => [mechanism, against])).toEqual([
      ['analytic-gaussian', 'geometric'],
      ['analytic-gaussian', 'laplace'],
    ])
  })

  it('Laplace alone', () => {
    const workload = counts({ loss: loss(1, 0), wholeNumbers: false, fractionDigits: 9 })
    for (const { best } of compareMechanisms(workload).rows)
      expect(new Set(Object.values(best))).toEqual(new Set(['laplace']))
  })
})

it('every figure is a finite number at the corners of the domain', () => {
  for (const epsilon of [1e-9, 1, 1000])
    for (const delta of [0, 1e-18, 0.999])
      for (const contribution of [1n, 10n ** 21n])
        for (const confidence of [1e-300, 0.95, 1 - 2 ** -53]) {
          const { rows } = compareMechanisms({
            loss: loss(epsilon, delta),
            statistics: 100,
            contribution,
            fractionDigits: 9,
            wholeNumbers: true,
            confidence,
          })
          const figures = Object.values(rows[99]?.noise ?? {}).flatMap((each) => Object.values(each))
          expect(figures.every((figure) => Number.isFinite(figure) && figure >= 0)).toBe(true)
        }
})
