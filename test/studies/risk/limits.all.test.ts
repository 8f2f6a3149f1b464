import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { analyse, prepareAnalysis } from '../../../src/studies/risk/analysis.ts'
import { type ColumnsQuestion, epsilonOfColumns, riskOfColumns } from '../../../src/studies/risk/columns.ts'
import * as limits from '../../../src/studies/risk/limits.ts'
import type { RiskQuestion } from '../../../src/studies/risk/question.ts'
import { thrownRefusal } from '../../refusal.ts'

/** Functions with which every long computation starts. */
const begun = vi.hoisted(() => ({ subsets: 0, tables: 0 }))

vi.mock('../../../src/studies/risk/subsets.ts', async (importOriginal) => {
  const subsets = await importOriginal<typeof import('../../../src/studies/risk/subsets.ts')>()
  const counted = { ...subsets }
  counted.forEachSubset = (...args) => {
    begun.subsets += 1
    subsets.forEachSubset(...args)
  }
  counted.binomialsOf = (...args) => {
    begun.tables += 1
    return subsets.binomialsOf(...args)
  }
  return counted
})

beforeEach(() => {
  Object.assign(begun, { subsets: 0, tables: 0 })
})

const people = (count: number, value = (person: number) => person) =>
  Array.from({ length: count }, (_, person) => value(person))

function factsOf(question: RiskQuestion) {
  try {
    analyse(question)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'too-many-worlds') return error.facts
    throw error
  }
  return undefined
}

describe('a question that would take too long is refused before it starts', () => {
  it.each<[string, RiskQuestion, Record<string, unknown>]>([
    [
      'a universe',
      { universe: people(10_001), released: 1, query: { kind: 'mean' } },
      { counted: 'people', asked: 10_001, limit: limits.LARGEST_UNIVERSE },
    ],
    [
      'worlds that must all be enumerated',
      { universe: people(20), released: 10, query: { kind: 'variance' } },
      { counted: 'worlds', asked: 184_756, limit: limits.MOST_ENUMERATED_WORLDS },
    ],
    [
      'worlds that each have a prior',
      { universe: people(1000), released: 2, query: { kind: 'mean' }, prior: [1] },
      { counted: 'worlds', asked: 499_500, limit: limits.MOST_ENUMERATED_WORLDS, largestUniverse: 447 },
    ],
    [
      'neighbours that must all be enumerated',
      { universe: people(10_000), released: 9999, query: { kind: 'standardDeviation' } },
      {
        counted: 'values to read',
        asked: 499_980_000,
        limit: limits.MOST_ENUMERATED_VALUES,
        largestUniverse: 3162,
      },
    ],
    [
      'more worlds than can be counted',
      { universe: people(10_000), released: 5000, query: { kind: 'mean' } },
      { counted: 'worlds', asked: '1.591e3008', limit: '1.000e300' },
    ],
    [
      'sums',
      { universe: people(100, (person) => person ** 4), released: 50, query: { kind: 'sum' } },
      { counted: 'different sums', asked: expect.any(Number), limit: limits.MOST_ANSWERS },
    ],
    [
      'sums of fewer values',
      { universe: people(1000, (person) => person % 60), released: 500, query: { kind: 'mean' } },
      {
        counted: 'sums of as many or fewer values',
        asked: expect.any(Number),
        limit: limits.MOST_SUM_ADDITIONS / 1000,
      },
    ],
    [
      'pairs of values',
      { universe: people(10_000), released: 100, query: { kind: 'median' } },
      { counted: 'pairs', asked: 49_019_851, limit: limits.MOST_ANSWERS },
    ],
    [
      'a requested enumeration',
      { universe: people(20), released: 10, query: { kind: 'mean' }, way: 'enumeration' },
      { counted: 'worlds', asked: 184_756, limit: limits.MOST_ENUMERATED_WORLDS },
    ],
  ])('%s', (_, question, facts) => {
    expect(factsOf(question)).toEqual(facts)
    expect(begun).toEqual({ subsets: 0, tables: 0 })
  })

  it('accepted questions start with these functions', () => {
    analyse({ universe: people(4), released: 3, query: { kind: 'variance' } })
    expect(begun.subsets).toBeGreaterThan(0)
    expect(begun.tables).toBe(0)
    analyse({ universe: people(30), released: 15, query: { kind: 'median' } })
    expect(begun.tables).toBeGreaterThan(0)
  })

  it('a question at the limit is accepted, and one above it is refused', () => {
    const question = (size: number): RiskQuestion => ({
      universe: people(size),
      released: 2,
      query: { kind: 'variance' },
      changed: 2,
    })
    const { largestUniverse = 0 } = (factsOf(question(200)) ?? {}) as { largestUniverse?: number }
    expect(largestUniverse).toBeGreaterThan(50)
    // Accepted without the long computation.
    expect(() => prepareAnalysis(question(largestUniverse))).not.toThrow()
    expect(factsOf(question(largestUniverse + 1))).toMatchObject({ counted: 'values to read' })
  })
})

describe('the chosen method', () => {
  it.each<[string, Omit<RiskQuestion, 'universe'>, number, string, string]>([
    ['few worlds', { released: 3, query: { kind: 'mean' } }, 4, 'enumeration', 'enumeration'],
    [
      'many neighbours',
      { released: 6, query: { kind: 'median' }, changed: 3 },
      14,
      'structure',
      'enumeration',
    ],
    ['many worlds', { released: 12, query: { kind: 'median' } }, 24, 'structure', 'structure'],
    ['squares', { released: 9, query: { kind: 'variance' } }, 18, 'enumeration', 'enumeration'],
  ])('%s', (_, question, size, sensitivities, answers) => {
    expect(analyse({ ...question, universe: people(size) }).ways).toEqual({ sensitivities, answers })
  })

  it('a prior of many worlds, with the structure of the query', () => {
    const prior = people(1000, () => 1 / 1000)
    const question: RiskQuestion = { universe: people(1000), released: 999, query: { kind: 'mean' } }
    const [believed, uniform] = [analyse({ ...question, prior }), analyse(question)]
    expect(believed.ways).toEqual({ sensitivities: 'structure', answers: 'enumeration' })
    expect(believed.unboundedSensitivity).toBe(uniform.unboundedSensitivity)
    expect(believed.largestPrior).toBeCloseTo(uniform.largestPrior, 15)
  })
})

describe('columns of a question share the limits of work', () => {
  const together = (columns: number, values: readonly number[], rest: Omit<RiskQuestion, 'universe'>) => {
    const named = people(columns).map((column) => [`column ${column}`, values])
    return { ...rest, columns: Object.fromEntries(named) }
  }

  it.each<[string, readonly number[], Omit<RiskQuestion, 'universe'>, Record<string, unknown>]>([
    [
      'additions',
      people(720, (person) => person % 100),
      { released: 360, query: { kind: 'mean' } },
      {
        counted: 'sums of as many or fewer values',
        limit: Math.floor(limits.MOST_SUM_ADDITIONS / 8 / 720),
      },
    ],
    [
      'values to read',
      people(150),
      { released: 2, query: { kind: 'standardDeviation' } },
      { counted: 'values to read', limit: limits.MOST_ENUMERATED_VALUES / 8 },
    ],
    [
      'worlds',
      people(230),
      { released: 2, query: { kind: 'standardDeviation' } },
      { counted: 'worlds', limit: limits.MOST_ENUMERATED_WORLDS / 8 },
    ],
    [
      'different sums',
      people(30, (person) => person ** 3),
      { released: 11, query: { kind: 'sum' } },
      { counted: 'different sums', limit: limits.MOST_ANSWERS / 8 },
    ],
    [
      'pairs',
      people(450),
      { released: 2, query: { kind: 'median' } },
      { counted: 'pairs', limit: limits.MOST_ANSWERS / 8 },
    ],
  ])('%s', (_, universe, rest, facts) => {
    expect(() => prepareAnalysis({ universe, ...rest })).not.toThrow()
    const question = together(8, universe, rest)
    const refusal = thrownRefusal(() => riskOfColumns(question))
    expect(refusal).toMatchObject({ code: 'too-many-worlds', facts: { ...facts, column: 'column 0' } })
    expect(refusal.message).toContain('of each of 8 columns')
    expect(begun).toEqual({ subsets: 0, tables: 0 })
  })

  it('values read for queries with structure share the limit, too', () => {
    const question: RiskQuestion = { universe: people(60), released: 2, query: { kind: 'mean' } }
    expect(analyse(question).ways.sensitivities).toBe('enumeration')
    expect(analyse(question, 8).ways.sensitivities).toBe('structure')
    expect(analyse(question, 8)).toEqual({ ...analyse(question), ways: analyse(question, 8).ways })
  })

  it('a refused column prevents the computation of the columns before it', () => {
    const [good, bad] = [people(300, (person) => person % 2), people(300, (person) => person * Math.SQRT2)]
    const rest = { released: 150, query: { kind: 'mean' } } as const
    const asked = [riskOfColumns, (question: ColumnsQuestion) => epsilonOfColumns({ ...question, risk: 0.5 })]
    for (const ask of asked) {
      const refusal = thrownRefusal(() => ask({ ...rest, columns: { good, bad } }))
      expect(refusal).toMatchObject({ code: 'too-many-worlds', facts: { column: 'bad' } })
      expect(begun).toEqual({ subsets: 0, tables: 0 })
      ask({ ...rest, columns: { good } })
      expect(begun.tables).toBeGreaterThan(0)
      begun.tables = 0
    }
  })
})
