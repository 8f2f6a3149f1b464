import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RefusalCode } from '../../../src/privacy/problems.ts'
import * as analysis from '../../../src/studies/risk/analysis.ts'
import { analyse, type RiskAnalysis } from '../../../src/studies/risk/analysis.ts'
import * as bounds from '../../../src/studies/risk/bounds.ts'
import { curve, tightBoundAt, upperBoundAt } from '../../../src/studies/risk/bounds.ts'
import * as epsilons from '../../../src/studies/risk/epsilon-for-risk.ts'
import { epsilonForRisk } from '../../../src/studies/risk/epsilon-for-risk.ts'
import * as posteriors from '../../../src/studies/risk/posterior.ts'
import { posteriorAt } from '../../../src/studies/risk/posterior.ts'
import type { RiskQuery, RiskQuestion } from '../../../src/studies/risk/question.ts'
import { thrownRefusal } from '../../refusal.ts'
import { RISK_CONTRACT } from './contract.ts'
import { anyQuery, anyQuestion, anyWeights, withPrior } from './questions.ts'

describe('the contract', () => {
  it.each(RISK_CONTRACT)('$name', ({ check }) =>
    check({ ...analysis, ...bounds, ...posteriors, ...epsilons }),
  )
})

/*
 * Lee and Clifton 2011, "How Much Is Enough? Choosing epsilon for Differential Privacy", as replicated at
 * blog.openmined.org/choosing-epsilon. Page 333 of the paper has 0.3602 where 0.3062 is meant. The epsilons from the
 * tight bound were computed to 1e-12; the replication prints 0.52514977 and 0.43171997, the ends of a coarser search.
 */
describe.each([
  {
    universe: 'school years',
    values: [1, 2, 3, 4],
    bounded: 1,
    unbounded: 0.8333333333333334,
    posterior: [0.33898835, 0.4003158, 0.17987348, 0.08082237],
    tightBoundAtHalf: 0.3291788293012836,
    upperBoundEpsilon: 0.3378875900901369,
    tightBoundEpsilon: 0.5251496872695,
  },
  {
    universe: 'absence days',
    values: [1, 2, 3, 10],
    bounded: 3,
    unbounded: 2.8333333333333335,
    posterior: [0.61802372, 0.15816999, 0.12500781, 0.09879847],
    tightBoundAtHalf: 0.3476971459619019,
    upperBoundEpsilon: 0.38293926876882173,
    tightBoundEpsilon: 0.4317201195672,
  },
])('the mean of three of four pupils: $universe', (known) => {
  const { values, bounded, unbounded, posterior, tightBoundAtHalf, ...epsilons } = known

  it.each(['enumeration', 'structure', undefined] as const)('by %s', (way) => {
    const question: RiskQuestion = { universe: values, released: 3, query: { kind: 'mean' } }
    const found = analyse(way === undefined ? question : { ...question, way })
    expect(found.worlds).toBe(4)
    expect(found.largestPrior).toBe(0.25)
    expect(found.boundedSensitivity).toBeCloseTo(bounded, 14)
    expect(found.unboundedSensitivity).toBeCloseTo(unbounded, 14)
    expect(found.upperBoundHolds).toBe(true)
    expect(tightBoundAt(found, 0.5)).toBeCloseTo(tightBoundAtHalf, 14)
    const { upperBound, tightBound } = epsilonForRisk(found, 1 / 3)
    expect(upperBound).toEqual({ reached: true, epsilon: expect.closeTo(epsilons.upperBoundEpsilon, 14) })
    expect(tightBound).toEqual({ reached: true, epsilon: expect.any(Number), tolerance: 1e-12 })
    const shortBy = epsilons.tightBoundEpsilon - (tightBound.reached ? tightBound.epsilon : Number.NaN)
    expect(shortBy).toBeGreaterThan(-1e-13)
    expect(shortBy).toBeLessThan(1.1e-12)
    const { largest, confidence, worlds } = posteriorAt(found, 2, 2.20131)
    expect(largest).toBeCloseTo(Math.max(...posterior), 8)
    expect(confidence).toBeCloseTo(Math.max(...posterior) - 0.25, 8)
    if (way === 'structure') return
    expect(worlds?.map(({ positions }) => positions)).toEqual([
      [0, 1, 2],
      [0, 1, 3],
      [0, 2, 3],
      [1, 2, 3],
    ])
    for (const [place, expected] of posterior.entries())
      expect(worlds?.[place]?.posterior).toBeCloseTo(expected, 8)
  })
})

describe('properties', () => {
  const anyBelief = fc
    .tuple(anyQuestion(8), fc.option(anyWeights))
    .map(([question, weights]) => (weights === null ? question : withPrior(question, weights)))
  const anyEpsilon = fc.double({ min: 0, max: 50, noNaN: true })

  it('the risk grows with epsilon, from the prior', () => {
    fc.assert(
      fc.property(anyBelief, fc.array(anyEpsilon, { minLength: 2, maxLength: 10 }), (question, epsilons) => {
        const found = analyse(question)
        const points = curve(found, [0, ...epsilons.sort((a, b) => a - b)])
        expect(points[0]?.upperBound).toBeCloseTo(found.largestPrior, 12)
        expect(points[0]?.tightBound).toBeCloseTo(found.largestPrior, 12)
        for (const [place, { upperBound, tightBound }] of points.entries()) {
          const before = points[place - 1]
          expect(upperBound).toBeGreaterThanOrEqual((before?.upperBound ?? 0) * (1 - 1e-14))
          expect(tightBound).toBeGreaterThanOrEqual((before?.tightBound ?? 0) * (1 - 1e-14))
          if (found.upperBoundHolds) expect(tightBound).toBeLessThanOrEqual(upperBound * (1 + 1e-12))
        }
      }),
    )
  })

  it('no posterior exceeds the tight bound, and the answer of some world reaches it', () => {
    const anyResponse = fc.double({ min: -2000, max: 2000, noNaN: true })
    fc.assert(
      fc.property(anyBelief, anyEpsilon, fc.array(anyResponse), (question, epsilon, responses) => {
        const found = analyse(question)
        const most = tightBoundAt(found, epsilon)
        for (const response of responses)
          expect(posteriorAt(found, epsilon, response).largest).toBeLessThanOrEqual(most * (1 + 1e-9))
        const own = found.answers.map(({ answer }) => posteriorAt(found, epsilon, answer).largest)
        expect(Math.max(...own)).toBeCloseTo(most, 9)
      }),
    )
  })

  it('the order of people does not matter', () => {
    fc.assert(
      fc.property(anyQuestion(8), (question) => {
        const { enumerated: _, ...found } = analyse(question)
        const { enumerated: __, ...reversed } = analyse({
          ...question,
          universe: [...question.universe].reverse(),
        })
        expect(reversed).toEqual(found)
      }),
    )
  })

  const about = (found: RiskAnalysis) => ({
    bounded: found.boundedSensitivity,
    unbounded: found.unboundedSensitivity,
    spread: found.largestDifference,
    worlds: found.answers.map(({ worlds }) => worlds),
  })

  it('shifting all values changes only the answers', () => {
    // Except for a sum, where a person who joins adds their whole value; counts compare with a fixed value.
    const moved = anyQuery.filter(({ kind }) => kind !== 'sum' && kind !== 'count')
    fc.assert(
      fc.property(anyQuestion(8, moved), fc.integer({ min: -1e9, max: 1e9 }), (question, by) => {
        const universe = question.universe.map((value) => (Math.round(value * 1000) + by * 1000) / 1000)
        expect(about(analyse({ ...question, universe }))).toEqual(about(analyse(question)))
      }),
    )
  })

  it('doubled values double the differences of answers, and quadruple those of variances', () => {
    const scaled = anyQuery.filter(({ kind }) => kind !== 'count')
    fc.assert(
      fc.property(anyQuestion(8, scaled), (question) => {
        const factor = question.query.kind === 'variance' ? 4 : 2
        const { bounded, unbounded, spread, worlds } = about(analyse(question))
        const twice = about(analyse({ ...question, universe: question.universe.map((value) => 2 * value) }))
        expect(twice.bounded).toBeCloseTo(factor * bounded, 6)
        expect(twice.unbounded).toBeCloseTo(factor * unbounded, 6)
        expect(twice.spread).toBeCloseTo(factor * spread, 6)
        expect(twice.worlds).toEqual(worlds)
      }),
    )
  })

  it('with reversed values, a minimum is a maximum and percentile p is 100 - p', () => {
    const mirrored = (query: RiskQuery): RiskQuery => {
      if (query.kind === 'minimum') return { kind: 'maximum' }
      if (query.kind === 'maximum') return { kind: 'minimum' }
      return query.kind === 'percentile' ? { kind: 'percentile', p: (1000 - 10 * query.p) / 10 } : query
    }
    const ranked = anyQuery.filter(({ kind }) =>
      ['minimum', 'maximum', 'median', 'percentile'].includes(kind),
    )
    fc.assert(
      fc.property(anyQuestion(9, ranked), (question) => {
        const universe = question.universe.map((value) => -value)
        const found = about(analyse({ ...question, way: 'structure' }))
        const other = about(
          analyse({ ...question, universe, query: mirrored(question.query), way: 'structure' }),
        )
        expect({ ...other, worlds: [...other.worlds].reverse() }).toEqual(found)
      }),
    )
  })
})

describe('the upper bound', () => {
  it('does not hold where worlds are farther apart than neighbours', () => {
    const found = analyse({ universe: [0, 0, 1, 1], released: 2, query: { kind: 'sum' } })
    expect(found).toMatchObject({ boundedSensitivity: 1, unboundedSensitivity: 1, largestDifference: 2 })
    expect(found.upperBoundHolds).toBe(false)
    expect(posteriorAt(found, 3, 0).largest).toBeCloseTo(1 / (1 + 4 * Math.exp(-3) + Math.exp(-6)), 14)
    expect(upperBoundAt(found, 3)).toBeCloseTo(1 / (1 + 5 * Math.exp(-3)), 14)
    expect(posteriorAt(found, 3, 0).largest).toBeGreaterThan(upperBoundAt(found, 3) + 0.03)
  })
})

describe('exactness', () => {
  it('worlds whose sums of decimals are equal share an answer', () => {
    const { answers } = analyse({ universe: [0.1, 0.2, 0.3, 0], released: 2, query: { kind: 'sum' } })
    // 0.1 + 0.2 is 0.30000000000000004 in doubles, and 0.3 + 0 is not.
    expect(answers.map(({ answer, worlds }) => [answer, worlds])).toEqual([
      [0.1, 1],
      [0.2, 1],
      [0.3, 2],
      [0.4, 1],
      [0.5, 1],
    ])
  })

  it('equal answers differ by 0 although their roots are rounded', () => {
    const found = analyse({
      universe: [0.3, 0.3, 0.3, 0.3],
      released: 3,
      query: { kind: 'standardDeviation' },
    })
    expect(found).toMatchObject({ boundedSensitivity: 0, unboundedSensitivity: 0, largestDifference: 0 })
    const spread = analyse({ universe: [0, 0, 1, 1, 1e9], released: 4, query: { kind: 'variance' } })
    expect(spread.answers.map(({ worlds }) => worlds)).toEqual([1, 2, 2])
  })

  it('small differences far from 0 are kept', () => {
    const universe = [1, 2, 3, 10].map((value) => 1e15 + value)
    const found = analyse({ universe, released: 3, query: { kind: 'mean' } })
    expect(found.boundedSensitivity).toBe(3)
    expect(found.answers.map(({ aboveLeast }) => aboveLeast)).toEqual([0, 7 / 3, 8 / 3, 3])
    expect(tightBoundAt(found, 0.5)).toBeCloseTo(0.3476971459619019, 14)
  })

  it('no result is NaN, regardless of the size of the numbers', () => {
    const extreme = [0, 5e-324, 1e-300, 1, 745, 1e6, 1e308]
    fc.assert(
      fc.property(
        anyQuestion(6),
        anyWeights,
        fc.constantFrom('e-30', '', 'e26'),
        (question, weights, unit) => {
          const universe = question.universe.map((value) => Number(`${Math.round(value)}${unit}`))
          const found = analyse(withPrior({ ...question, universe }, weights))
          for (const epsilon of extreme) {
            for (const response of [-1e308, -1e-300, 0, 1, 1e30, 1e308]) {
              const { largest, confidence, worlds } = posteriorAt(found, epsilon, response)
              expect(largest).toBeGreaterThan(0)
              expect(largest).toBeLessThanOrEqual(1)
              expect(confidence).not.toBeNaN()
              expect(worlds?.every(({ posterior }) => posterior >= 0 && posterior <= 1)).toBe(true)
            }
            for (const bound of [upperBoundAt(found, epsilon), tightBoundAt(found, epsilon)])
              expect(bound >= found.largestPrior * (1 - 1e-12) && bound <= 1).toBe(true)
          }
        },
      ),
    )
  })
})

describe('large universes', () => {
  const universe = Array.from({ length: 1000 }, (_, person) => (person * 389) % 1000)

  it('a count has the hypergeometric distribution', () => {
    const query: RiskQuery = { kind: 'count', satisfying: { op: '<', value: 2 } }
    const found = analyse({ universe, released: 500, query })
    expect(found.ways).toEqual({ sensitivities: 'structure', answers: 'structure' })
    expect(found).toMatchObject({ boundedSensitivity: 1, unboundedSensitivity: 1, largestDifference: 2 })
    expect(found.upperBoundHolds).toBe(false)
    const parts = found.answers.map(({ worlds }) => worlds / found.worlds)
    const [neither, one, both] = parts
    expect(neither).toBeCloseTo((500 * 499) / (1000 * 999), 12)
    expect(one).toBeCloseTo((2 * 500 * 500) / (1000 * 999), 12)
    expect(both).toBeCloseTo((500 * 499) / (1000 * 999), 12)
  })

  it.each([
    ['median', 500],
    ['median', 501],
    ['minimum', 500],
    ['maximum', 999],
    ['sum', 998],
    ['mean', 3],
  ] as const)('every world has one answer: %s of %d', (kind, released) => {
    const found = analyse({ universe, released, query: { kind } })
    const counted = found.answers.reduce((sum, { worlds }) => sum + worlds, 0)
    expect(counted / found.worlds).toBeCloseTo(1, 12)
    expect(found.answers.every(({ worlds }) => worlds > 0)).toBe(true)
    expect(tightBoundAt(found, 0) * found.worlds).toBeCloseTo(1, 12)
  })

  it('ten thousand people without one are enumerated', () => {
    const large = Array.from({ length: 10_000 }, (_, person) => person % 101)
    const found = analyse({ universe: large, released: 9999, query: { kind: 'mean' } })
    expect(found.ways).toEqual({ sensitivities: 'structure', answers: 'enumeration' })
    expect(found.boundedSensitivity).toBeCloseTo(100 / 9999, 15)
    expect(found.enumerated?.answerOf).toHaveLength(10_000)
    // A list of who is in which world would be 99,990,000 numbers.
    expect(posteriorAt(found, 1, 50).worlds).toBeUndefined()
  })
})

describe('epsilon for a risk', () => {
  it('none is reached if all answers are equal', () => {
    const found = analyse({ universe: [1, 1, 1, 1], released: 2, query: { kind: 'mean' } })
    const { upperBound, tightBound } = epsilonForRisk(found, 0.5)
    expect(upperBound).toEqual({
      reached: false,
      largestRisk: 1 / 6,
      why: expect.stringContaining('same answer'),
    })
    expect(tightBound).toMatchObject({ reached: false, largestRisk: expect.closeTo(1 / 6, 15) })
  })

  it('the upper bound reaches none if worlds differ, but not from their neighbours', () => {
    const question: RiskQuestion = {
      universe: [0, 0, 1, 1],
      released: 2,
      changed: 2,
      query: { kind: 'variance' },
    }
    const found = analyse(question)
    expect(found).toMatchObject({ boundedSensitivity: 0, largestDifference: 0.25, upperBoundHolds: false })
    const { upperBound, tightBound } = epsilonForRisk(found, 0.3)
    expect(upperBound).toMatchObject({ reached: false, why: expect.stringContaining('does not hold') })
    expect(tightBound.reached).toBe(true)
  })

  it('none is reached if worlds share their answers', () => {
    const found = analyse({ universe: [1, 1, 2, 2], released: 2, query: { kind: 'minimum' } })
    expect(found.answers.map(({ worlds }) => worlds)).toEqual([5, 1])
    expect(epsilonForRisk(found, 0.999).tightBound.reached).toBe(true)
    const shared = analyse({ universe: [1, 1, 2, 2], released: 3, query: { kind: 'sum' } })
    expect(shared.answers.map(({ worlds }) => worlds)).toEqual([2, 2])
    const { upperBound, tightBound } = epsilonForRisk(shared, 0.5)
    expect(upperBound.reached).toBe(true)
    expect(tightBound).toMatchObject({
      reached: false,
      largestRisk: 0.5,
      why: expect.stringContaining('shares its answer'),
    })
    expect(epsilonForRisk(shared, 0.499).tightBound.reached).toBe(true)
  })

  it('a wider tolerance is respected', () => {
    const found = analyse({ universe: [1, 2, 3, 10], released: 3, query: { kind: 'mean' } })
    const { tightBound } = epsilonForRisk(found, 1 / 3, 0.01)
    const epsilon = tightBound.reached ? tightBound.epsilon : Number.NaN
    expect(epsilon).toBeLessThanOrEqual(0.4317201195672)
    expect(epsilon).toBeGreaterThan(0.4217)
    expect(tightBound.tolerance).toBe(0.01)
  })

  it('a prior that does not quite sum to 1 is divided by its sum', () => {
    const prior = [0.7, 0.1, 0.1, 0.0999999995]
    const { worlds } = posteriorAt(analyse({ ...PUPILS, prior }), 0, 0)
    const total = 0.9999999995
    for (const [index, world] of (worlds ?? []).entries()) {
      expect(world.prior).toBeCloseTo((prior[index] ?? 0) / total, 15)
      expect(world.prior).not.toBe(prior[index])
    }
    expect(worlds).toHaveLength(4)
  })

  it('a risk of at most the prior is refused', () => {
    const found = analyse({ universe: [1, 2, 3, 10], released: 3, query: { kind: 'mean' } })
    for (const asked of [0.25, 0.1, 1e-300]) {
      const refusal = thrownRefusal(() => epsilonForRisk(found, asked))
      expect(refusal.code).toBe('risk-below-prior')
      expect(refusal.errors).toEqual([{ field: 'risk', rule: expect.stringContaining('greater than 0.25') }])
      expect(refusal.facts).toEqual({ risk: asked, largestPrior: 0.25 })
    }
    expect(epsilonForRisk(found, 0.25 * (1 + 2 ** -50)).tightBound.reached).toBe(true)
    const believed = analyse({ ...PUPILS, prior: [0.7, 0.1, 0.1, 0.1] })
    expect(thrownRefusal(() => epsilonForRisk(believed, 0.7)).code).toBe('risk-below-prior')
    expect(epsilonForRisk(believed, 0.71).tightBound.reached).toBe(true)
  })
})

const PUPILS: RiskQuestion = { universe: [1, 2, 3, 10], released: 3, query: { kind: 'mean' } }

describe('neighbours that differ by several people', () => {
  it('are at most as many steps apart as people (group privacy)', () => {
    fc.assert(
      fc.property(anyQuestion(8), (question) => {
        const { changed = 1, query } = question
        const [group, one] = [analyse(question), analyse({ ...question, changed: 1 })]
        expect(group.boundedSensitivity).toBeLessThanOrEqual(changed * one.boundedSensitivity * (1 + 1e-12))
        if (query.kind === 'sum' || query.kind === 'count')
          expect(group.unboundedSensitivity).toBeLessThanOrEqual(changed * one.unboundedSensitivity)
      }),
    )
  })

  it('exist up to the number of people who can leave and join, and the refusal says why there are no more', () => {
    const six: RiskQuestion = { universe: [1, 2, 4, 8, 16, 32], released: 4, query: { kind: 'sum' } }
    expect(analyse({ ...six, changed: 2 })).toMatchObject({
      boundedSensitivity: 45,
      unboundedSensitivity: 48,
    })
    const refusal = thrownRefusal(() => analyse({ ...six, changed: 3 }))
    expect(refusal.errors).toEqual([
      {
        field: 'changed',
        rule:
          'must be a whole number from 1 to 2 here: neighbouring datasets exchange that many of the 4 people released for ' +
          'others, and 2 people can join',
      },
    ])
  })
})

describe('invalid questions', () => {
  it.each<[string, Partial<RiskQuestion>, string]>([
    ['no person released', { released: 0 }, 'released'],
    ['everybody released', { released: 4 }, 'released'],
    ['no person changed', { changed: 0 }, 'changed'],
    ['more changed than left out', { changed: 2 }, 'changed'],
    ['more changed than released', { released: 1, changed: 2 }, 'changed'],
    ['a universe of one', { universe: [1], released: 1 }, 'released'],
    ['an empty universe', { universe: [], released: 1 }, 'released'],
    ['a value that is not a number', { universe: [1, Number.NaN, 3, 4] }, 'universe.1'],
    ['an endless value', { universe: [1, 2, 3, Number.POSITIVE_INFINITY] }, 'universe.3'],
    ['a value with too many digits', { universe: [1e-31, 2, 3, 4] }, 'universe.0'],
    ['a value that is too large', { universe: [1, 2, 3, 1.1e30] }, 'universe.3'],
    ['a prior of too few worlds', { prior: [0.5, 0.5] }, 'prior'],
    ['a prior that is not 1', { prior: [0.25, 0.25, 0.25, 0.2] }, 'prior'],
  ])('%s', (_, part, field) => {
    const refusal = thrownRefusal(() => analyse({ ...PUPILS, ...part }))
    expect(refusal.code).toBe('invalid-request' satisfies RefusalCode)
    expect(refusal.errors.map((error) => error.field)).toEqual([field])
  })

  it('the structure of squares', () => {
    expect(() => analyse({ ...PUPILS, query: { kind: 'variance' }, way: 'structure' })).toThrow(RangeError)
  })
})

describe('numbers at the edge of doubles', () => {
  it('odds beyond the largest double still have an epsilon', () => {
    const universe = Array.from({ length: 1_000 }, (_, person) => person % 2)
    const query = { kind: 'count', satisfying: { op: '=', value: 1 } } as const
    const { upperBound } = epsilonForRisk(analyse({ universe, released: 490, query }), 0.9999999999999)
    expect(upperBound).toMatchObject({ reached: true, epsilon: expect.closeTo(719.2007, 3) })
  })

  it('answers that differ by less than the resolution of a double are distinguished', () => {
    const universe = [-1e15, -1e15, 1e15, 1e15 - 0.125]
    const analysis = analyse({ universe, released: 1, query: { kind: 'sum' } })
    const { tightBound } = epsilonForRisk(analysis, 0.6)
    if (!tightBound.reached) throw new Error('the answers differ')
    expect(Number.isFinite(tightBound.epsilon)).toBe(true)
    expect(tightBoundAt(analysis, tightBound.epsilon)).toBeLessThanOrEqual(0.6)
    expect(tightBoundAt(analysis, 1.001 * tightBound.epsilon)).toBeGreaterThan(0.6)
  })

  it('no belief is above 1', () => {
    const prior = [0.069078, 1e-250, 0.930922]
    const analysis = analyse({ universe: [0, 1, 3], released: 1, query: { kind: 'sum' }, prior })
    for (const { posterior } of posteriorAt(analysis, 141.6, 1).worlds ?? [])
      expect(posterior).toBeLessThanOrEqual(1)
  })
})
