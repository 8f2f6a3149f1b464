import fc from 'fast-check'
import { expect } from 'vitest'
import type { RiskQuestion, Way } from '../../../src/studies/risk/question.ts'
import { naiveAnalysis, naiveLargestRisk, naivePosterior, naiveTightBound, naiveUpperBound } from './naive.ts'
import {
  anyQueryOfRows,
  anyQuestion,
  anyRows,
  anyStructuredQuery,
  anyWeights,
  questionAbout,
  withPrior,
} from './questions.ts'

export type Risk = typeof import('../../../src/studies/risk/analysis.ts') &
  typeof import('../../../src/studies/risk/bounds.ts') &
  typeof import('../../../src/studies/risk/posterior.ts') &
  typeof import('../../../src/studies/risk/epsilon-for-risk.ts')

/** Modules under test, by their path below src/. */
export const RISK_MODULES = [
  'studies/risk/analysis.ts',
  'studies/risk/bounds.ts',
  'studies/risk/posterior.ts',
  'studies/risk/epsilon-for-risk.ts',
]

/** A property that the source has and that every mutant breaks. */
export interface ContractTest {
  readonly name: string
  readonly check: (risk: Risk) => void
}

const sample = <Value>(arbitrary: fc.Arbitrary<Value>, count: number) =>
  fc.sample(arbitrary, { numRuns: count, seed: 20110 })

/** The last ones are about people with several rows. */
const STRUCTURED: readonly RiskQuestion[] = [
  ...sample(anyQuestion(7, anyStructuredQuery), 150),
  ...sample(questionAbout(anyRows, 7, anyQueryOfRows), 100),
]
const ANY = sample(anyQuestion(7), 150)
const BELIEVED = sample(fc.tuple(anyQuestion(6), anyWeights), 80).map(([question, weights]) =>
  withPrior(question, weights),
)
const LARGER = sample(anyQuestion(13, anyStructuredQuery), 40)

/** Builds its message only on failure, because it is called some hundred thousand times. */
function close(found: number, expected: number, what: () => string): void {
  if (Math.abs(found - expected) <= 1e-9 * Math.max(1, Math.abs(expected))) return
  expect.fail(`${what()}: ${found} for ${expected}`)
}

const toText = (question: RiskQuestion) => JSON.stringify(question)

const naiveAnalyses = new Map<RiskQuestion, ReturnType<typeof naiveAnalysis>>()

/** Computed once for all tests of the contract. */
function definitions(question: RiskQuestion): ReturnType<typeof naiveAnalysis> {
  const known = naiveAnalyses.get(question) ?? naiveAnalysis(question)
  naiveAnalyses.set(question, known)
  return known
}

/** Checks the sensitivities and the distribution of answers, by one method. */
function checkAnalysis({ analyse }: Risk, question: RiskQuestion, way: Way): void {
  const naive = definitions(question)
  const found = analyse({ ...question, way })
  const what = (figure: string) => () => `${figure} by ${way} of ${toText(question)}`
  for (const figure of ['boundedSensitivity', 'unboundedSensitivity', 'largestDifference'] as const)
    close(found[figure], naive[figure], what(figure))
  expect(found.worlds).toBe(naive.answers.length)
  expect(found.ways.sensitivities).toBe(way)
  expect(found.ways.answers).toBe(question.prior === undefined ? way : 'enumeration')
  let [worlds, mass] = [0, 0]
  for (const [index, one] of found.answers.entries()) {
    const alike = naive.answers.flatMap((answer, world) =>
      Math.abs(answer - one.answer) < 1e-9 ? [naive.prior[world] ?? 0] : [],
    )
    expect(one.worlds, what(`worlds of ${one.answer}`)()).toBe(alike.length)
    close(one.mass / found.totalMass, sumOf(alike), what('mass'))
    close(one.largestMass / found.totalMass, Math.max(...alike), what('largest mass'))
    close(one.aboveLeast, one.answer - (found.answers[0]?.answer ?? 0), what('above least'))
    if (index > 0) expect(one.answer).toBeGreaterThan(found.answers[index - 1]?.answer ?? 0)
    worlds += one.worlds
    mass += one.mass
  }
  expect(worlds).toBe(naive.answers.length)
  close(mass, found.totalMass, what('total mass'))
  close(found.largestPrior, Math.max(...naive.prior), what('largest prior'))
}

/** Checks posterior and bounds at some epsilons and responses, by the method that the code chooses or by structure. */
function checkRisk(
  { analyse, posteriorAt, tightBoundAt, upperBoundAt }: Risk,
  question: RiskQuestion,
  way?: Way,
): void {
  const naive = definitions(question)
  const found = analyse(way === undefined ? question : { ...question, way })
  const [first = 0] = naive.answers
  for (const epsilon of [0, 0.3, 2]) {
    const what = (figure: string) => () => `${figure} at ${epsilon} of ${toText(question)}`
    const tightBound = tightBoundAt(found, epsilon)
    const upperBound = upperBoundAt(found, epsilon)
    close(tightBound, naiveTightBound(naive, epsilon), what('tight bound'))
    close(upperBound, naiveUpperBound(naive, epsilon), what('upper bound'))
    if (epsilon === 0) close(tightBound, found.largestPrior, what('tight bound without information'))
    if (found.upperBoundHolds) expect(tightBound).toBeLessThanOrEqual(upperBound * (1 + 1e-12))
    for (const response of [first, first + 0.37 * (found.unboundedSensitivity || 1), first - 5, first + 50]) {
      const posterior = naivePosterior(naive, epsilon, response)
      const { largest, confidence, worlds } = posteriorAt(found, epsilon, response)
      close(largest, Math.max(...posterior), what(`posterior after ${response}`))
      expect(largest).toBeLessThanOrEqual(tightBound * (1 + 1e-12))
      const confidences = posterior.flatMap((after, world) =>
        Math.abs(after - largest) < 1e-9 ? [largest - (naive.prior[world] ?? 0)] : [],
      )
      expect(confidences.some((one) => Math.abs(one - confidence) < 1e-9)).toBe(true)
      expect(worlds === undefined).toBe(found.enumerated === undefined)
      if (worlds === undefined) continue
      expect(worlds.map(({ positions }) => positions)).toEqual(naive.positions)
      close(sumOf(worlds.map((world) => world.posterior)), 1, what('sum of the posterior'))
      for (const [index, world] of worlds.entries()) {
        close(world.answer, naive.answers[index] ?? 0, what('answer'))
        close(world.prior, naive.prior[index] ?? 0, what('prior'))
        close(world.posterior, posterior[index] ?? 0, what(`posterior of world ${index} after ${response}`))
      }
    }
  }
}

/** Checks that at the epsilons of three risks the bounds equal those risks. */
function checkEpsilons({ analyse, epsilonForRisk, tightBoundAt }: Risk, question: RiskQuestion): void {
  const naive = definitions(question)
  const found = analyse(question)
  const likeliest = Math.max(...naive.prior)
  if (likeliest > 0.99) return
  const limit = naiveLargestRisk(naive)
  const risks = [0.1, 0.5, 0.9].map((part) => likeliest + part * (1 - likeliest))
  for (const risk of [...risks, likeliest + 0.5 * Math.max(limit - likeliest, 1e-3)]) {
    if (risk >= 1 || Math.abs(risk - limit) < 1e-6) continue
    const what = (figure: string) => () => `${figure} for the risk ${risk} of ${toText(question)}`
    const { upperBound, tightBound } = epsilonForRisk(found, risk)
    if (upperBound.reached) close(naiveUpperBound(naive, upperBound.epsilon), risk, what('upper bound'))
    else {
      expect(naive.boundedSensitivity).toBeLessThan(1e-9)
      close(upperBound.largestRisk, likeliest, what('largest risk'))
    }
    expect(tightBound.reached, what('reached')()).toBe(risk < limit)
    expect(tightBound.tolerance).toBe(1e-12)
    if (tightBound.reached) {
      expect(tightBoundAt(found, tightBound.epsilon)).toBeLessThanOrEqual(risk)
      expect(naiveTightBound(naive, tightBound.epsilon)).toBeLessThanOrEqual(risk * (1 + 1e-9))
      expect(naiveTightBound(naive, tightBound.epsilon + 1e-5)).toBeGreaterThan(risk)
    } else close(tightBound.largestRisk, limit, what('largest risk'))
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

export const RISK_CONTRACT: readonly ContractTest[] = [
  {
    name: 'enumeration agrees with the definitions',
    check: (risk) => {
      for (const question of [...ANY, ...BELIEVED]) checkAnalysis(risk, question, 'enumeration')
    },
  },
  {
    name: 'structure agrees with the definitions',
    check: (risk) => {
      for (const question of STRUCTURED) checkAnalysis(risk, question, 'structure')
      for (const question of BELIEVED)
        if (!['variance', 'standardDeviation'].includes(question.query.kind))
          checkAnalysis(risk, question, 'structure')
    },
  },
  {
    name: 'posterior and bounds agree with the definitions',
    check: (risk) => {
      for (const question of [...ANY, ...BELIEVED]) checkRisk(risk, question)
      for (const question of STRUCTURED) checkRisk(risk, question, 'structure')
    },
  },
  {
    name: 'at the epsilon of a risk the bound equals that risk',
    check: (risk) => {
      for (const question of [...ANY, ...BELIEVED]) checkEpsilons(risk, question)
    },
  },
  {
    name: 'structure and enumeration agree on larger universes',
    check: ({ analyse, tightBoundAt }) => {
      for (const question of LARGER) {
        const structured = analyse({ ...question, way: 'structure' })
        const enumerated = analyse({ ...question, changed: 1, way: 'enumeration' })
        expect(structured.answers, toText(question)).toEqual(enumerated.answers)
        if ((question.changed ?? 1) > 1) continue
        expect(structured.boundedSensitivity, toText(question)).toBe(enumerated.boundedSensitivity)
        expect(structured.unboundedSensitivity, toText(question)).toBe(enumerated.unboundedSensitivity)
        expect(tightBoundAt(structured, 0.7)).toBe(tightBoundAt(enumerated, 0.7))
      }
    },
  },
]
