import { describe, expect, test } from 'vitest'
import { sessionReport } from '../../src/answers/documents/session.ts'
import type { Dataset } from '../../src/core/dataset/dataset.ts'
import type { SparseVectorMeasurement } from '../../src/core/mechanisms/selection/sparse-vector.ts'
import type { Aggregate } from '../../src/core/planner/language/aggregate.ts'
import { planPredicate, widestBounding } from '../../src/core/planner/language/predicate.ts'
import { planSession, priceOfSession } from '../../src/core/planner/session.ts'
import { amountNumbers } from '../../src/privacy/accounting.ts'
import { epsilonFromWire, epsilonNumber, NO_LOSS } from '../../src/privacy/loss.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import { rational } from '../../src/privacy/rational.ts'
import { epsilonOf } from '../balances.ts'
import { aggregateRows, type StoredRow } from '../engines/reference-engine.ts'
import { atLeast, atMost, massAt, sumOverIntegers } from './integer-sums.ts'
import { asked, RIVALS } from './queries.ts'
import {
  MOST_ROWS,
  type Pairs,
  peoplePairs,
  tallPairs,
  tallPeoplePairs,
  tinyDataset,
  tinyPeople,
  widePairs,
} from './tiny-datasets.ts'

/*
 * Sessions of the sparse vector technique, on the grid that production uses: the distribution of whole sequences of
 * answers to counts of neighbouring datasets, from the scales that the measurement publishes.
 */

/** Below, or above with a gap in output units. */
type Answer = 'below' | bigint

/**
 * The logarithm of the probability of these answers: the sum over all noises r of the threshold, given which the
 * answers are independent. A question is below where its value and noise stay below r, and above with a gap if they are
 * r + gap.
 *
 * @param values how far each question's is above the threshold, in rows.
 */
function logMass(
  { thresholdScale, questionScale, fractionBits }: SparseVectorMeasurement,
  values: readonly bigint[],
  answers: readonly Answer[],
): number {
  const scale = rational(questionScale, 1n)
  const factors = answers.map((answer, question) => {
    const value = (values[question] ?? 0n) << BigInt(fractionBits)
    return answer === 'below' ? atMost(value + 1n, scale) : massAt(value - answer, scale)
  })
  return Math.log(sumOverIntegers([massAt(0n, rational(thresholdScale, 1n)), ...factors]))
}

/** Every sequence of answers up to the last positive or the last question, with a few gaps each. */
function allAnswers(
  { positives, fractionBits, questionScale }: SparseVectorMeasurement,
  questions: number,
): readonly (readonly Answer[])[] {
  const unit = 1n << BigInt(fractionBits)
  const choices = ['below', 0n, unit / 2n, unit, 20n * questionScale] as const
  const extended = (answers: readonly Answer[]): readonly (readonly Answer[])[] => {
    const found = answers.filter((answer) => answer !== 'below').length
    if (answers.length === questions || found === positives) return [answers]
    return choices.flatMap((choice) => extended([...answers, choice]))
  }
  return extended([])
}

/** Counts of {@link RIVALS} that are compared with a threshold, and the examined answers. */
interface Session {
  readonly questions: readonly string[]
  readonly threshold: bigint
  readonly answersOf: (measurement: SparseVectorMeasurement) => readonly (readonly Answer[])[]
}

/** Different questions, one of them twice. */
const MIXED: Session = {
  questions: ['older', 'men', 'east', 'older'],
  threshold: 1n,
  answersOf: (measurement) => allAnswers(measurement, 4),
}

/**
 * Many unlikely answers below push the noise of the threshold up; each answer above then needs a high noise of its
 * own. With many rows the questions in turn lie far above the threshold and at it.
 */
const UNLIKELY = (positives: number): Session => ({
  questions: [...new Array<string>(6).fill('older'), ...new Array<string>(positives).fill('men')],
  threshold: 1n,
  answersOf: ({ fractionBits }) =>
    [0n, 1n].map((gap) => [
      ...new Array<Answer>(6).fill('below'),
      ...new Array<Answer>(positives).fill(gap << BigInt(fractionBits)),
    ]),
})

/** The datasets whose units are examined, and their pairs of neighbours. */
interface Units {
  readonly name: string
  readonly datasetOf: (neighbours: Neighbours) => Dataset
  readonly wide: Record<Neighbours, readonly Pairs[]>
  readonly tall: Record<Neighbours, readonly Pairs[]>
}

const ROWS: Units = {
  name: 'rows',
  datasetOf: (neighbours) => tinyDataset(neighbours, 3),
  wide: widePairs,
  tall: tallPairs,
}
const PEOPLE: Units = {
  name: 'people with several rows',
  datasetOf: (neighbours) => tinyPeople(neighbours, 3, MOST_ROWS),
  wide: peoplePairs,
  tall: tallPeoplePairs,
}

/** Differences between the questions' counts and the threshold. */
function valuesOf(
  { questions, threshold }: Session,
  { datasetOf }: Units,
): (rows: readonly StoredRow[]) => readonly bigint[] {
  const query = asked({ kind: 'noisyMax', candidates: RIVALS, epsilon: 1 })
  if (query.kind !== 'noisyMax' || !('predicates' in query.candidates))
    throw new Error('these are predicates')
  const { predicates } = query.candidates
  // Predicates mean the same under either kind of neighbours.
  const dataset = datasetOf('add-remove')
  const statistics = questions.map((question) => {
    const asking = predicates.find(({ name }) => name === question)
    if (asking === undefined) throw new Error(`no question asks for ${question}`)
    return { kind: 'count' as const, where: planPredicate(asking.where, dataset, 'where') }
  })
  const aggregate: Aggregate = { groupBy: [], statistics, bounding: widestBounding(dataset) }
  return (rows) => aggregateRows(aggregate, rows).map(([count = 0n]) => count - threshold)
}

/** The largest privacy loss that any sequence of answers shows on any pair of neighbours. */
function largestLoss(
  measurement: SparseVectorMeasurement,
  session: Session,
  units: Units,
  pairs: readonly Pairs[],
): number {
  const values = valuesOf(session, units)
  const answers = session.answersOf(measurement)
  const distributions = new Map<string, readonly number[]>()
  const distributionOf = (rows: readonly StoredRow[]) => {
    const counts = values(rows)
    const known = distributions.get(counts.join())
    const distribution = known ?? answers.map((each) => logMass(measurement, counts, each))
    distributions.set(counts.join(), distribution)
    return distribution
  }
  let largest = 0
  for (const { one, other } of pairs.flatMap((each) => each.pairs)) {
    const [distribution, distributionOfOther] = [distributionOf(one), distributionOf(other)]
    if (distribution === distributionOfOther) continue
    for (const [place, logarithm] of distribution.entries())
      largest = Math.max(largest, Math.abs(logarithm - (distributionOfOther[place] ?? Number.NaN)))
  }
  return largest
}

/** A probability here is a sum of hundreds of products that cancel only in part. Its error is below this. */
const ROUNDING = 1e-9

const KINDS = ['add-remove', 'change-one'] as const
const sessions = KINDS.flatMap((neighbours) =>
  [1, 2].flatMap((positives) => [
    ...[1, 10].map((epsilon) => ({ of: ROWS.name, units: ROWS, neighbours, positives, epsilon })),
    { of: PEOPLE.name, units: PEOPLE, neighbours, positives, epsilon: 30 },
  ]),
)

/** A session planned on a tiny dataset, with the noise that its preview publishes. */
function planned(
  neighbours: Neighbours,
  positives: number,
  epsilon: number,
  { datasetOf }: Units = ROWS,
): SparseVectorMeasurement {
  const session = planSession({ threshold: 1, positives, epsilon }, datasetOf(neighbours))
  const { noise } = sessionReport(session)
  // Exact: scales are whole numbers of grains below 2^53, and a grain is a power of two.
  const inGrains = (scale: number) => BigInt(scale / noise.granularity)
  return {
    positives,
    sensitivity: BigInt(noise.sensitivity),
    monotonic: noise.monotonic,
    fractionBits: -Math.log2(noise.granularity),
    thresholdScale: inGrains(noise.threshold.scale),
    questionScale: inGrains(noise.questions.scale),
    loss: {
      ...NO_LOSS,
      epsilonNano: epsilonFromWire(epsilonOf(amountNumbers(priceOfSession(session))), 'epsilon'),
    },
  }
}

/** The largest loss of both sessions. */
function lostBy(measurement: SparseVectorMeasurement, neighbours: Neighbours, units: Units = ROWS): number {
  return Math.max(
    largestLoss(measurement, MIXED, units, units.wide[neighbours]),
    largestLoss(measurement, UNLIKELY(measurement.positives), units, units.tall[neighbours]),
  )
}

test('the probabilities of all answers add up to 1', () => {
  const measurement = planned('change-one', 1, 1)
  const scale = rational(measurement.questionScale, 1n)
  for (const value of [-2n, 0n, 3n]) {
    const below = Math.exp(logMass(measurement, [value], ['below']))
    const above = sumOverIntegers([
      massAt(0n, rational(measurement.thresholdScale, 1n)),
      atLeast(value << BigInt(measurement.fractionBits), scale),
    ])
    expect(below + above).toBeCloseTo(1, 12)
  }
})

describe.each(sessions)(
  '$of under $neighbours, $positives positives, epsilon $epsilon',
  ({ units, neighbours, positives, epsilon }) => {
    const measurement = planned(neighbours, positives, epsilon, units)
    const price = epsilonNumber(measurement.loss.epsilonNano)

    test('a session spends its price and no more', () => {
      expect(price).toBe(epsilon)
      const lost = lostBy(measurement, neighbours, units)
      expect(lost).toBeLessThanOrEqual(price + ROUNDING)
      if (epsilon >= 10) expect(lost).toBeGreaterThan(price * (1 - 1e-9))
    })

    test.each([
      ['a threshold noise for half the sensitivity', { thresholdScale: measurement.thresholdScale / 2n }],
      ['a question noise for half the sensitivity', { questionScale: measurement.questionScale / 2n }],
    ])('%s is seen', (_, wrong) => {
      expect(lostBy({ ...measurement, ...wrong }, neighbours, units)).toBeGreaterThan(price * 1.05)
    })

    test('one positive more than was paid for is detected', () => {
      expect(lostBy({ ...measurement, positives: positives + 1 }, neighbours, units)).toBeGreaterThan(
        price * 1.05,
      )
    })
  },
)

test.each([1, 2])('treating counts as monotonic under change-one is detected: %d positives', (positives) => {
  const measurement = planned('add-remove', positives, 10)
  expect(lostBy(measurement, 'change-one')).toBeGreaterThan(10 * 1.05)
})

test('a session for one row of each person is detected where people have several', () => {
  const measurement = planned('add-remove', 1, 10, ROWS)
  expect(lostBy(measurement, 'add-remove', PEOPLE)).toBeGreaterThan(10 * 1.05)
})
