import { describe, expect, test } from 'vitest'
import { release } from '../../src/answers/release.ts'
import { systemEntropy } from '../../src/core/mechanisms/samplers/entropy.ts'
import { keepProbability } from '../../src/core/mechanisms/selection/key-selection.ts'
import type { Plan } from '../../src/core/planner/plans/plan-kinds.ts'
import { keyCountMass, quantileMass } from '../core/mechanisms/selection/masses.ts'
import { kolmogorovTail, laplaceCumulative, normalCumulative } from '../distribution/goodness-of-fit.ts'
import {
  aggregateRows,
  countIndexesOf,
  referenceEngine,
  type StoredRow,
} from '../engines/reference-engine.ts'
import { distributionOf, noisyMaxLogMass, observe, selections } from './distributions.ts'
import { planner } from './examination.ts'
import { RIVALS, SOME_ROWS, titleOf, type Wire } from './queries.ts'
import { type Pair, tallPairs, widePairs } from './tiny-datasets.ts'
import { withSensitivitiesTooSmall } from './wrong-plans.ts'

/*
 * The draws of the service for a plan follow the distribution from which the privacy of the path was computed. If that
 * distribution has too many outcomes to examine all, the draws bound the amount by which the price can be exceeded.
 */

/** A test fails by chance less than once in this many runs, and a wrong distribution passes less often. */
const SIGNIFICANCE = 1e-20
const DRAWS = 4_000

const source = systemEntropy()

async function drawAll(plan: Plan, rows: readonly StoredRow[]) {
  const engine = referenceEngine(() => rows)
  const released = []
  for (let draw = 0; draw < DRAWS; draw += 1) released.push(await release(plan, engine, source))
  return released
}

/** Five rows of one kind, four of another and one of a third. */
const ROWS =
  tallPairs['add-remove'].at(-1)?.pairs.find(({ one }) => {
    const counts = [...new Set(one)].map((each) => one.filter((row) => row === each).length)
    return counts.join() === '5,4,1'
  })?.one ?? []

/**
 * Upper bound of the probability that the share of an outcome among this number of draws deviates this far (Chernoff).
 */
function shareTail(share: number, probability: number, draws: number): number {
  if (probability <= 0 || probability >= 1) return share === probability ? 1 : 0
  const part = (a: number, b: number) => (a === 0 ? 0 : a * Math.log(a / b))
  return 2 * Math.exp(-draws * (part(share, probability) + part(1 - share, 1 - probability)))
}

/** The least probable share of any outcome, under a distribution. */
function leastTail(outcomes: readonly string[], distribution: ReadonlyMap<string, number>): number {
  const counts = new Map<string, number>()
  for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  const tails = [...new Set([...distribution.keys(), ...counts.keys()])].map((outcome) =>
    shareTail((counts.get(outcome) ?? 0) / outcomes.length, distribution.get(outcome) ?? 0, outcomes.length),
  )
  return Math.min(...tails)
}

describe('sums and counts have the noise of their measurements', () => {
  test.each(
    (
      [
        { kind: 'count', mechanism: 'geometric' },
        { kind: 'sum', column: 'Balance', mechanism: 'laplace' },
        { kind: 'variance', column: 'Income', mechanism: 'laplace' },
        { kind: 'mean', column: 'Age', where: SOME_ROWS, mechanism: 'gaussian', delta: 1e-6 },
        { kind: 'histogram', column: 'Sex', mechanism: 'geometric' },
        {
          kind: 'groupBy',
          keys: ['Region'],
          statistics: [{ kind: 'count' }, { kind: 'standardDeviation', column: 'Age' }],
        },
      ] as const
    ).map((wire) => [titleOf(wire), wire] as const),
  )('%s', async (_, wire) => {
    const plan = planner({ ...wire, epsilon: 0.2 }, 'add-remove')(10)
    if (plan.kind !== 'additive') throw new Error('these are sums and counts')
    const truth = aggregateRows(plan.aggregate, ROWS)
    const released = await drawAll(plan, ROWS)
    for (const [statistic, { noise, fractionBits }] of plan.measurements.entries()) {
      for (const [cell, value] of (truth[statistic] ?? []).entries()) {
        const noises = released.map((each) => {
          if (each.kind !== 'additive') throw new Error('these are sums and counts')
          return (each.noisy[statistic]?.[cell] ?? 0n) - (value << BigInt(fractionBits))
        })
        const tail = (factor: number) =>
          kolmogorovTail(noises, (below) =>
            noise.kind === 'discrete-laplace'
              ? laplaceCumulative(
                  below,
                  (factor * Number(noise.scale.numerator)) / Number(noise.scale.denominator),
                )
              : normalCumulative(below, factor * Number(noise.sigma)),
          )
        expect(tail(1)).toBeGreaterThan(SIGNIFICANCE)
        for (const factor of [0.5, 2]) expect(tail(factor)).toBeLessThan(SIGNIFICANCE)
      }
    }
  })
})

/** Names a release by one of few outcomes for each independent part. */
function outcomesOf(released: Awaited<ReturnType<typeof release>>): readonly string[] {
  switch (released.kind) {
    case 'noisy-max':
      return [released.selected.map(({ candidate }) => candidate).join()]
    case 'quantile':
      return released.indexes.map(String)
    case 'key-selection':
      return ['a', 'b'].map((key) => {
        const kept = released.keys.find((each) => each.key === key)
        return kept === undefined ? 'dropped' : `kept ${kept.noisyCount ?? ''}`
      })
    default:
      throw new Error('not one of few outcomes')
  }
}

/** The probabilities of the same outcomes. */
function distributionsOf(plan: Plan, rows: readonly StoredRow[]): readonly ReadonlyMap<string, number>[] {
  const distribution = distributionOf(plan, observe(plan, rows))
  if (distribution.kind !== 'outcomes') throw new Error('a distribution without outcomes')
  const names =
    plan.kind === 'noisy-max'
      ? selections(plan.measurement.candidates, plan.measurement.k).map((order) => order.join())
      : // All four ages occur, so each is a separate place.
        ['1', '2', '3', '4']
  return distribution.parts.map(
    (part) => new Map(part.map((logMass, place) => [names[place] ?? '', Math.exp(logMass)])),
  )
}

describe('choices follow the probabilities of their distribution', () => {
  test.each(
    (
      [
        ...['exponential', 'gumbel', 'laplace'].flatMap((noise) =>
          [1, 2].map((k) => ({
            kind: 'noisyMax',
            candidates: { column: 'Region' },
            noise,
            k,
            epsilon: k / 2,
          })),
        ),
        { kind: 'median', column: 'Age', epsilon: 1 },
        { kind: 'percentile', column: 'Age', p: [20, 75], where: SOME_ROWS, epsilon: 2 },
        { kind: 'minimum', column: 'Age', epsilon: 2 },
        { kind: 'maximum', column: 'Age', epsilon: 2 },
      ] as readonly Wire[]
    ).map((wire) => [titleOf(wire), wire] as const),
  )('%s', async (_, wire) => {
    const plan = planner(wire, 'add-remove')(10)
    const released = (await drawAll(plan, ROWS)).map(outcomesOf)
    const leastUnder = (claimed: Plan) => {
      const tails = distributionsOf(claimed, ROWS).map((distribution, part) =>
        leastTail(
          released.map((outcomes) => outcomes[part] ?? ''),
          distribution,
        ),
      )
      return Math.min(...tails)
    }
    expect(leastUnder(plan)).toBeGreaterThan(SIGNIFICANCE)
    expect(leastUnder(atEpsilon(wire, 3))).toBeLessThan(SIGNIFICANCE)
  })
})

function atEpsilon(wire: Wire, factor: number): Plan {
  return planner({ ...wire, epsilon: Number(wire.epsilon) * factor }, 'add-remove')(10)
}

test('on a large grid, the distribution is the mechanism’s own', () => {
  for (const kind of ['median', 'minimum', 'maximum']) {
    const plan = planner({ kind, column: 'Wealth', epsilon: 16 }, 'change-one')(10)
    if (plan.kind !== 'quantile') throw new Error('this is a quantile')
    const distribution = distributionOf(plan, observe(plan, ROWS))
    const [measurement] = plan.measurements
    if (distribution.kind !== 'outcomes' || measurement === undefined)
      throw new Error('one distribution for one quantile')
    // At the values that occur somewhere, and between them.
    const points = [0n, 1n, 5n, 6n, 100n, 101n, plan.column.upperIndex]
    const values = countIndexesOf(plan.counting, ROWS)
    const masses = points.map((point) => Math.log(quantileMass(measurement, values, point)))
    expect(distribution.parts[0]).toHaveLength(points.length)
    for (const [place, logMass] of masses.entries())
      expect(distribution.parts[0]?.[place]).toBeCloseTo(logMass, 9)
  }
})

describe('keys are kept with the probabilities for their rows', () => {
  test.each([
    { kind: 'keySelection', column: 'Note', epsilon: 0.5, delta: 0.05 },
    { kind: 'keySelection', column: 'Note', epsilon: 0.5, delta: 0.05, counts: true },
  ])('counts: $counts', async (wire) => {
    const plan = planner(wire, 'add-remove')(10)
    const released = (await drawAll(plan, ROWS)).map(outcomesOf)
    const leastUnder = (claimed: Plan) => {
      if (claimed.kind !== 'key-selection') throw new Error('these are keys')
      const { measurement } = claimed
      const rows = observe(claimed, ROWS)
      const tails = ['a', 'b'].map((key, part) => {
        const count = rows.kind === 'texts' ? (rows.rowsWith.get(key) ?? 0) : 0
        const distribution = new Map([['dropped', 1 - keepProbability(measurement, count)]])
        if (measurement.mechanism === 'thresholded-geometric')
          for (let noisy = measurement.threshold; noisy < measurement.threshold + 200n; noisy += 1n)
            distribution.set(`kept ${noisy}`, keyCountMass(measurement, count, noisy))
        else distribution.set('kept ', keepProbability(measurement, count))
        return leastTail(
          released.map((outcomes) => outcomes[part] ?? ''),
          distribution,
        )
      })
      return Math.min(...tails)
    }
    expect(leastUnder(plan)).toBeGreaterThan(SIGNIFICANCE)
    expect(leastUnder(atEpsilon(wire, 3))).toBeLessThan(SIGNIFICANCE)
  })
})

/*
 * With gaps there are infinitely many outcomes. The change of a candidate's probability with its gap is bounded, which
 * suffices for one gap. For two gaps, outcomes are drawn.
 */

/**
 * Noise of scale s makes one gap at most exp(1 / s) times as likely as the next one. So between two gaps, the logarithm
 * of a ratio of probabilities exceeds its mean over both gaps by at most their distance / s, here 1 / 100. Gaps above
 * 50 scales have a probability below 1e-18.
 */
test.each(['add-remove', 'change-one'] as const)(
  'under %s, no gap spends more than the price, to within 0.01',
  (neighbours) => {
    const epsilon = 1
    const wire = { kind: 'noisyMax', candidates: { column: 'Sex' }, gap: true, epsilon }
    const planFor = planner(wire, neighbours)
    const distributions = new Map<string, readonly number[]>()
    let [largest, looked] = [0, 0]
    for (const { units, pairs } of widePairs[neighbours]) {
      const plan = planFor(units)
      if (plan.kind !== 'noisy-max') throw new Error('this is a choice')
      const { measurement } = plan
      const scale = measurement.scale.numerator
      const gaps = Array.from({ length: 5_200 }, (_, step) => (BigInt(step) * scale) / 100n)
      const distributionOfDataset = (dataset: readonly StoredRow[]) => {
        const scores = scoresOf(plan, dataset)
        const name = scores.join()
        const distribution =
          distributions.get(name) ??
          [[0], [1]].flatMap((order) => gaps.map((gap) => noisyMaxLogMass(measurement, scores, order, [gap])))
        distributions.set(name, distribution)
        return distribution
      }
      for (const { one, other } of pairs) {
        const [distribution, distributionOfOther] = [distributionOfDataset(one), distributionOfDataset(other)]
        if (distribution === distributionOfOther) continue
        looked += 1
        for (const [place, logMass] of distribution.entries())
          largest = Math.max(largest, Math.abs(logMass - (distributionOfOther[place] ?? Number.NaN)))
      }
    }
    expect(looked).toBeGreaterThan(10)
    expect(largest).toBeLessThanOrEqual(epsilon * (1 + 1e-9))
  },
)

test('the probabilities of all gaps add up to that of the selection', () => {
  const scores = [3n, 1n, 0n, 2n, 1n]
  for (const [k, order] of [
    [1, [3]],
    [2, [1, 0]],
  ] as const) {
    const wire = { kind: 'noisyMax', candidates: RIVALS, noise: 'laplace', k, epsilon: 6 }
    const plan = planner(wire, 'change-one')(3)
    if (plan.kind !== 'noisy-max') throw new Error('this is a choice')
    const { measurement } = plan
    // By Simpson's rule, from corner to corner of the distribution.
    const quarter = (1n << BigInt(measurement.fractionBits)) / 4n
    const steps = Array.from({ length: 97 }, (_, step) => step)
    const weight = (step: number) => (step === 0 || step === 96 ? 1 : step % 2 === 1 ? 4 : 2) / 3
    const gapTuples = k === 1 ? steps.map((step) => [step]) : steps.flatMap((a) => steps.map((b) => [a, b]))
    const sum = gapTuples.reduce((total, tuple) => {
      const gaps = tuple.map((step) => BigInt(step) * quarter)
      const weights = tuple.reduce((product, step) => product * weight(step) * Number(quarter), 1)
      return total + weights * Math.exp(noisyMaxLogMass(measurement, scores, order, gaps))
    }, 0)
    expect(sum / Math.exp(noisyMaxLogMass(measurement, scores, order))).toBeCloseTo(1, 2)
  }
})

/**
 * Log-ratio of the probabilities of outcomes drawn for one dataset, in that dataset and in a neighbour.
 */
async function drawnLosses(plan: Plan, { one, other }: Pair): Promise<readonly number[]> {
  if (plan.kind !== 'noisy-max') throw new Error('this is a choice')
  const { measurement } = plan
  const [scores, scoresOfOther] = [scoresOf(plan, one), scoresOf(plan, other)]
  return (await drawAll(plan, one)).map((released) => {
    if (released.kind !== 'noisy-max') throw new Error('this is a choice')
    const order = released.selected.map(({ candidate }) => candidate)
    const gaps = released.selected.map(({ gap = 0n }) => gap)
    return (
      noisyMaxLogMass(measurement, scores, order, gaps) -
      noisyMaxLogMass(measurement, scoresOfOther, order, gaps)
    )
  })
}

describe.each(['add-remove', 'change-one'] as const)('two gaps under %s', (neighbours) => {
  const epsilon = 6
  const plan = planner({ kind: 'noisyMax', candidates: RIVALS, k: 2, gap: true, epsilon }, neighbours)(3)
  // Three rows that the last two candidates count, and the neighbour without one of them.
  const pair = tallPairs[neighbours]
    .flatMap(({ pairs }) => pairs)
    .find(({ one, other }) => {
      const names = [one, other].map((rows) => scoresOf(plan, rows).join()).sort()
      return names.join(' ') === (neighbours === 'add-remove' ? '0,0,0,2,2 0,0,0,3,3' : '0,0,0,3,3 1,1,1,2,2')
    })
  if (pair === undefined) throw new Error('there is such a pair')
  const bothWays = [pair, { one: pair.other, other: pair.one }]

  test('no draw spends more than the price', async () => {
    // A delta of 1.2% would have been detected, except with a probability below 1e-20 (Clopper and Pearson).
    expect((1 - 0.012) ** DRAWS).toBeLessThan(SIGNIFICANCE)
    for (const each of bothWays)
      expect(Math.max(...(await drawnLosses(plan, each)))).toBeLessThanOrEqual(epsilon + 1e-9)
  })

  test('with half the sensitivity, the delta at the price is above 0 by more than chance', async () => {
    const [wrong] = withSensitivitiesTooSmall(plan)
    if (wrong === undefined) throw new Error('there is a mistake to make')
    const deltas: number[] = []
    for (const each of bothWays) {
      const excesses = (await drawnLosses(wrong.plan, each)).map((loss) =>
        Math.max(0, -Math.expm1(epsilon - loss)),
      )
      deltas.push(excesses.reduce((sum, excess) => sum + excess, 0) / DRAWS)
    }
    // A mean of numbers between 0 and 1 (Hoeffding).
    const halfWidth = Math.sqrt(-Math.log(SIGNIFICANCE) / (2 * DRAWS))
    expect(Math.max(...deltas) - halfWidth).toBeGreaterThan(0)
  })
})

function scoresOf(plan: Plan, rows: readonly StoredRow[]): readonly bigint[] {
  if (plan.kind !== 'noisy-max') throw new Error('this is a choice')
  return aggregateRows(plan.aggregate, rows).flat()
}
