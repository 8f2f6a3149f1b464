import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { analyse } from '../../../src/studies/risk/analysis.ts'
import { tightBoundAt, upperBoundAt } from '../../../src/studies/risk/bounds.ts'
import { epsilonForRisk } from '../../../src/studies/risk/epsilon-for-risk.ts'
import { posteriorAt } from '../../../src/studies/risk/posterior.ts'
import type { RiskQuestion } from '../../../src/studies/risk/question.ts'
import { installed } from '../../installed.ts'
import { anyQuestion, anyWeights, withPrior } from './questions.ts'

const PROGRAM = fileURLToPath(new URL('../../oracles/disclosure_risk.py', import.meta.url))

/** Result of the independent implementation, in its own terms. */
interface NeutralAnswer {
  readonly boundedSensitivity: number
  readonly unboundedSensitivity: number
  readonly largestDifference: number
  readonly answers: readonly number[]
  readonly positions: readonly (readonly number[])[]
  readonly posterior: readonly number[]
  readonly largest: number
  readonly upperBound: number
  readonly tightBound: number
  readonly upperBoundEpsilon: number | null
  readonly tightBoundEpsilon: number | null
  readonly largestRisk: number
}

interface Asked {
  readonly question: RiskQuestion
  readonly epsilon: number
  readonly response: number
  /** Position of the risk between the largest prior and 1. */
  readonly part: number
}

const anyAsked: fc.Arbitrary<Asked> = fc.record({
  question: fc
    .tuple(anyQuestion(8), fc.option(anyWeights))
    .map(([question, weights]) => (weights === null ? question : withPrior(question, weights))),
  epsilon: fc.integer({ min: 0, max: 4000 }).map((thousandths) => thousandths / 1000),
  response: fc.integer({ min: -5000, max: 5000 }).map((hundredths) => hundredths / 100),
  part: fc.integer({ min: 1, max: 99 }).map((hundredths) => hundredths / 100),
})

function close(found: number, expected: number, what: string): void {
  if (Math.abs(found - expected) <= 1e-9 * Math.max(1, Math.abs(expected))) return
  expect.fail(`${what}: ${found} for ${expected}`)
}

/** New universes in every run; a failure prints the question. */
const ROUNDS = 300

test.skipIf(!installed('python3'))('a neutral implementation agrees to 1e-9', () => {
  const asked = fc.sample(anyAsked, ROUNDS).flatMap((one) => {
    const analysis = analyse(one.question)
    const risk = analysis.largestPrior + one.part * (1 - analysis.largestPrior)
    return analysis.largestPrior > 0.999 ? [] : [{ ...one, analysis, risk }]
  })
  const input = asked.map(({ question, epsilon, response, risk }) => ({
    ...question,
    epsilon,
    response,
    risk,
  }))
  const { stdout, stderr, status } = spawnSync('python3', [PROGRAM], {
    input: JSON.stringify(input),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  expect(status, stderr).toBe(0)
  const answers: readonly NeutralAnswer[] = JSON.parse(stdout)
  expect(answers).toHaveLength(asked.length)
  expect(asked.length).toBeGreaterThan(ROUNDS / 2)
  for (const [place, { question, epsilon, response, risk, analysis }] of asked.entries()) {
    const neutral = answers[place]
    if (neutral === undefined) throw new Error('an answer is missing')
    const what = JSON.stringify({ question, epsilon, response, risk })
    for (const figure of ['boundedSensitivity', 'unboundedSensitivity', 'largestDifference'] as const)
      close(analysis[figure], neutral[figure], `${figure} of ${what}`)
    close(upperBoundAt(analysis, epsilon), neutral.upperBound, `upper bound of ${what}`)
    close(tightBoundAt(analysis, epsilon), neutral.tightBound, `tight bound of ${what}`)
    const { largest, worlds = [] } = posteriorAt(analysis, epsilon, response)
    close(largest, neutral.largest, `largest posterior of ${what}`)
    expect(worlds.map(({ positions }) => positions)).toEqual(neutral.positions)
    for (const [index, world] of worlds.entries()) {
      close(world.answer, neutral.answers[index] ?? Number.NaN, `answer ${index} of ${what}`)
      close(world.posterior, neutral.posterior[index] ?? Number.NaN, `posterior ${index} of ${what}`)
    }
    const { upperBound, tightBound } = epsilonForRisk(analysis, risk)
    expect(upperBound.reached, what).toBe(neutral.upperBoundEpsilon !== null)
    if (upperBound.reached)
      close(
        upperBound.epsilon,
        neutral.upperBoundEpsilon ?? Number.NaN,
        `epsilon of the upper bound of ${what}`,
      )
    // A risk that the bound only approaches may be reached or not in either implementation.
    if (Math.abs(risk - neutral.largestRisk) < 1e-12) continue
    expect(tightBound.reached, what).toBe(neutral.tightBoundEpsilon !== null)
    if (tightBound.reached)
      close(
        tightBound.epsilon,
        neutral.tightBoundEpsilon ?? Number.NaN,
        `epsilon of the tight bound of ${what}`,
      )
    else close(tightBound.largestRisk, neutral.largestRisk, `largest risk of ${what}`)
  }
})
