import { describe, expect, test } from 'vitest'
import { readState, stateParameters } from '../../../console/src/components/address/address-state.ts'
import {
  chartEnd,
  largestEpsilon,
  riskCurve,
  riskOfPrice,
  roundedDown,
} from '../../../console/src/pages/risk/one-of-many/one-of-many.ts'
import {
  CHOICES,
  INITIAL_STATE,
  type RiskState,
  statisticOf,
} from '../../../console/src/pages/risk/risk-state.ts'
import { oneOfManyStatement, universeStatement } from '../../../console/src/pages/risk/statement.ts'
import {
  allowedEpsilons,
  atEpsilons,
  epsilonsBetween,
  typicalQueries,
} from '../../../console/src/pages/risk/typical-queries.ts'
import { blindGuess, parseUniverse, SCHOOL } from '../../../console/src/pages/risk/universe/universe.ts'
import { MAX_BATCH_QUERIES, query } from '../../../schemas/answers/query.ts'
import { epsilonRequest } from '../../../schemas/studies/risk.ts'
import { informedAdversaryRisk } from '../../../src/privacy/informed-adversary.ts'
import { deltaFromWire, epsilonFromWire, lossOfReplacement } from '../../../src/privacy/loss.ts'

const stateOf = (parameters: URLSearchParams) => readState(INITIAL_STATE, CHOICES, parameters)
const parametersOf = (state: RiskState) => stateParameters(INITIAL_STATE, state)

describe('The risk of one candidate of many', () => {
  test('equals the risk that the service states in previews', () => {
    for (const neighbours of ['add-remove', 'change-one'] as const)
      for (const candidates of [2, 3, 10, 100_000])
        for (const delta of [0, 1e-9, 1e-5, 0.01])
          for (const epsilon of [0.001, 0.1, 0.549306144, 1, 5, 20]) {
            const loss = {
              epsilonNano: epsilonFromWire(epsilon, 'epsilon'),
              deltaAtto: deltaFromWire(delta, 'delta'),
            }
            expect(riskOfPrice(epsilon, { candidates, delta, neighbours })).toBeCloseTo(
              informedAdversaryRisk(lossOfReplacement(loss, neighbours), candidates),
              9,
            )
          }
  })

  test('is kept by the largest epsilon, and by no epsilon a little larger', () => {
    for (const neighbours of ['add-remove', 'change-one'] as const)
      for (const candidates of [2, 10, 1_000_000])
        for (const delta of [0, 1e-6])
          for (const risk of [0.55, 0.75, 0.99]) {
            const adversary = { candidates, delta, neighbours }
            const largest = largestEpsilon(risk, adversary) ?? Number.NaN
            expect(riskOfPrice(largest, adversary)).toBeLessThanOrEqual(risk)
            expect(riskOfPrice(largest + 2e-9, adversary)).toBeGreaterThan(risk)
          }
  })

  test('has the closed form of Lee and Clifton without a delta', () => {
    const largest = largestEpsilon(1 / 3, { candidates: 4, delta: 0, neighbours: 'change-one' }) ?? Number.NaN
    expect(largest).toBeCloseTo(Math.log((3 * (1 / 3)) / (2 / 3)), 8)
  })

  test('cannot be below that of a blind guess', () => {
    expect(largestEpsilon(0.49, { candidates: 2, delta: 0, neighbours: 'change-one' })).toBeUndefined()
    expect(largestEpsilon(0.1, { candidates: 10, delta: 0.01, neighbours: 'add-remove' })).toBeUndefined()
  })

  test('has a curve that rises from the blind guess to almost certainty', () => {
    for (const candidates of [2, 10, 1_000_000]) {
      const adversary = { candidates, delta: 0, neighbours: 'change-one' } as const
      const curve = riskCurve(chartEnd(adversary), adversary)
      expect(curve[0]).toEqual({ x: 0, y: 1 / candidates })
      expect(curve.at(-1)?.y).toBeGreaterThan(0.96)
    }
  })

  test('is stated with epsilons that are rounded down', () => {
    expect(roundedDown(0.54936, 4)).toBe(0.5493)
    expect(roundedDown(0.5493, 4)).toBe(0.5493)
    const choice = { ...INITIAL_STATE, epsilon: 0.5493 }
    expect(oneOfManyStatement(choice).at(-1)).toBe('The epsilon keeps the accepted risk.')
    expect(oneOfManyStatement({ ...choice, epsilon: 0.5494 }).at(-1)).toBe(
      'The epsilon exceeds the accepted risk.',
    )
  })
})

describe('A universe in text', () => {
  test('is read with one person in each line', () => {
    expect(parseUniverse(SCHOOL)).toEqual({
      valid: true,
      people: 4,
      universe: { school_year: [1, 2, 3, 4], absence_days: [1, 2, 3, 10] },
    })
    expect(parseUniverse(' visits \n\n3 1 10\n2\n')).toEqual({
      valid: true,
      people: 2,
      universe: { visits: [[3, 1, 10], 2] },
    })
  })

  test.each([
    ['', /name the columns/],
    ['a,a\n1,2\n3,4', /name of its own/],
    ['a\n1', /two people/],
    ['a,b\n1,2\n3', /Line 3 must have 2 values/],
    ['a\n1\nx', /Line 3: “x” is not a number/],
    ['a,b\n1,\n2,3', /Line 2/],
    ['a\n1\nInfinity', /Line 3/],
  ])('is refused with the line of the mistake: %j', (text, rule) => {
    expect(parseUniverse(text)).toEqual({ valid: false, rule: expect.stringMatching(rule) })
  })

  test('has a blind guess of one in all sets of people', () => {
    expect(blindGuess(4, 3)).toBe(1 / 4)
    expect(blindGuess(10, 5)).toBe(1 / 252)
    expect(blindGuess(3, 3)).toBe(1)
    expect(blindGuess(10_000, 5_000)).toBe(0)
  })

  test('and its statistics are requests that the service accepts', () => {
    const parsed = parseUniverse(SCHOOL)
    for (const kind of ['mean', 'count', 'percentile'] as const)
      expect(() =>
        epsilonRequest.parse({
          universe: parsed.valid ? parsed.universe : {},
          released: 3,
          risk: 0.3,
          query: statisticOf({ ...INITIAL_STATE, kind }),
        }),
      ).not.toThrow()
  })

  test('the statement names the largest epsilon of each column', () => {
    const sentences = universeStatement({
      people: 4,
      released: 3,
      changed: 1,
      statistic: 'mean',
      risk: 1 / 3,
      epsilon: 0.4318,
      columns: [
        { name: 'school_year', largest: 0.52515 },
        { name: 'absence_days', largest: 0.43172 },
        { name: 'constant', largest: Number.POSITIVE_INFINITY },
      ],
    })
    expect(sentences).toContain(
      'The largest epsilon for absence_days is 0.4317 by the tight bound of Lee and Clifton (2011).',
    )
    expect(sentences).toContain('Every epsilon keeps this risk for constant.')
    expect(sentences.at(-1)).toBe('Epsilon 0.4318 exceeds the accepted risk.')
  })
})

describe('The address of the page', () => {
  test('contains what differs from the initial state, and leads back to it', () => {
    expect(parametersOf(INITIAL_STATE).toString()).toBe('')
    const state = {
      ...INITIAL_STATE,
      adversary: 'universe',
      people: 'a\n1\n2',
      risk: 0.6,
      kind: 'sum',
    } as const
    expect(stateOf(parametersOf(state))).toEqual(state)
  })

  test('is read without its wrong parameters', () => {
    const parameters = new URLSearchParams({
      adversary: 'x',
      candidates: 'many',
      risk: '-1',
      kind: 'mode',
      other: '1',
    })
    expect(stateOf(parameters)).toEqual(INITIAL_STATE)
  })
})

describe('Typical questions', () => {
  const columns = [
    { name: 'born', nullable: false, type: 'date', lower: '1900-01-01', upper: '2020-01-01' },
    { name: 'Sex', nullable: false, type: 'category', categories: ['M', 'F'] },
    { name: 'smokes', nullable: false, type: 'boolean' },
    { name: 'Age', nullable: false, type: 'integer', lower: 0, upper: 120, step: 1 },
  ] as const
  const facts = { columns: structuredClone(columns) as never, privacyUnit: { kind: 'row' } } as const

  test('use the first columns that are fit for them, and are queries of the service', () => {
    const typical = typicalQueries(facts, 500)
    expect(typical.map(({ query: { kind } }) => kind)).toEqual([
      'count',
      'histogram',
      'contingency',
      'mean',
      'sum',
    ])
    for (const body of atEpsilons(typical, [0.1, 1])) expect(query.safeParse(body).error).toBeUndefined()
  })

  test('count people where people are protected', () => {
    const [count] = typicalQueries(
      { ...facts, privacyUnit: { kind: 'person', column: 'id', maxRows: 3 } },
      500,
    )
    expect(count).toMatchObject({ query: { kind: 'count', of: 'people' }, unit: 'people' })
  })

  test('are asked only at epsilons within the limits of the dataset', () => {
    expect(allowedEpsilons([0.1, 0.2, 0.5, 1], { minEpsilon: 0.2, maxEpsilon: 0.5 })).toEqual([0.2, 0.5])
    expect(allowedEpsilons([0.1, 1], {})).toEqual([0.1, 1])
  })

  test('fit into one batch at the epsilons of a curve, which increase', () => {
    const epsilons = epsilonsBetween(0.01, 10, 19)
    expect(5 * epsilons.length).toBeLessThanOrEqual(MAX_BATCH_QUERIES)
    expect(epsilons).toEqual([...new Set(epsilons)].toSorted((one, other) => one - other))
    expect([epsilons[0], epsilons.at(-1)]).toEqual([0.01, 10])
  })
})
