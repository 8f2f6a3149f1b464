import { describe, expect, it } from 'vitest'
import { epsilonNano } from '../../../../src/privacy/loss.ts'
import { selectMutants } from '../../../mutants/select-mutants.ts'
import {
  bind,
  COARSE,
  departureOf,
  importCopy,
  largestLoss,
  scenarios,
} from './sparse-vector-distributions.ts'

/** A bug, the text of the source that it replaces, and the replacement. */
type Mutant = readonly [bug: string, find: string, replace: string]

const selected = (mutants: readonly Mutant[]) =>
  selectMutants(import.meta.dirname, mutants, ([, find, replace]) => [
    { file: 'core/mechanisms/selection/sparse-vector.ts', find, replace },
  ])

describe('every mutant changes the distribution of whole sequences, or fails the verification', () => {
  const GAP = 'const gap = distance + questionNoise - thresholdNoise'
  const QUESTION_NOISE = 'discreteLaplaceSampler(rational(measurement.questionScale, 1n), source)()'

  it.each(
    selected([
      [
        'question noise that does not grow with the positives',
        '* BigInt(positives) * sensitivity',
        '* sensitivity',
      ],
      ['the halved scale for questions that are not monotonic', '(monotonic ? 1n : 2n)', '1n'],
      ['the halved scale for the wrong questions', 'monotonic ? 1n : 2n', 'monotonic ? 2n : 1n'],
      ['no noise on the questions', QUESTION_NOISE, '0n'],
      ['no noise on the threshold', GAP, 'const gap = distance + questionNoise'],
      [
        'fresh noise of the threshold for each question',
        GAP,
        'const gap = distance + questionNoise - drawThresholdNoise(measurement, source)',
      ],
      [
        'the noisy value released in place of the gap',
        '? { above: true, gap }',
        '? { above: true, gap: gap + thresholdNoise }',
      ],
      ['the gap released for answers below', ': { above: false }', ': { above: false, gap }'],
      [
        'continuing after the last positive',
        'positivesFound < measurement.positives',
        'positivesFound <= measurement.positives',
      ],
      [
        "question noise of the threshold's scale",
        'rational(measurement.questionScale, 1n)',
        'rational(measurement.thresholdScale, 1n)',
      ],
      [
        'the value not brought onto the grid of the noise',
        GAP,
        'const gap = distance * 2n + questionNoise - thresholdNoise',
      ],
      [
        'half of the noise on the questions',
        GAP,
        'const gap = distance + questionNoise / 2n - thresholdNoise',
      ],
    ]),
  )('%s costs more than the price', async (_, find, replace) => {
    const copy = await importCopy([COARSE, { find, replace }])
    const tooDear = scenarios.some((scenario) => {
      const { distribution, price } = bind(copy, scenario)
      return scenario.pairs.some((each) => largestLoss(distribution, each) > price * 1.001)
    })
    expect(tooDear).toBe(true)
  })

  it.each(
    selected([
      [
        "threshold noise of the question's scale",
        'rational(measurement.thresholdScale, 1n)',
        'rational(measurement.questionScale, 1n)',
      ],
      ['below where the value is above', 'gap >= 0n ?', 'gap < 0n ?'],
      ['above only where the gap is not 0', 'gap >= 0n ?', 'gap > 0n ?'],
      ['the value without the threshold', '(value - threshold) <<', 'value <<'],
      ['the threshold without the value', '(value - threshold) <<', '(threshold - value) <<'],
      ['another gap than was compared', '{ above: true, gap }', '{ above: true, gap: gap + 1n }'],
    ]),
  )("%s is another distribution than the formula's", async (_, find, replace) => {
    const copy = await importCopy([COARSE, { find, replace }])
    const departures = scenarios.map((scenario) => {
      const { distribution, measurement } = bind(copy, scenario)
      return departureOf(distribution, measurement)
    })
    expect(Math.max(...departures)).toBeGreaterThan(1e-3)
  })

  it.each(
    selected([
      [
        'a scale rounded down',
        'thresholdScale: divideRoundingUp(',
        'thresholdScale: -1n + divideRoundingUp(',
      ],
      [
        'the whole epsilon for each noise',
        'const questionEpsilonNano = epsilonNano - thresholdEpsilonNano',
        'const questionEpsilonNano = epsilonNano',
      ],
      [
        'a grid that only one scale has',
        'questionScale: divideRoundingUp(questionNano << BigInt(fractionBits)',
        'questionScale: divideRoundingUp(questionNano',
      ],
    ]),
  )("%s fails the calibration's own verification", async (_, find, replace) => {
    const copy = await importCopy([{ find, replace }])
    expect(() =>
      scenarios.map(({ shape, epsilonNano: epsilon }) =>
        copy.calibrateSparseVector(shape, epsilonNano(epsilon)),
      ),
    ).toThrow('verification')
  })
})
