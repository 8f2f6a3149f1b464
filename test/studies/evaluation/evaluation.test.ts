import { describe, expect, test } from 'vitest'
import { readAggregate, releaseAggregate } from '../../../src/answers/release.ts'
import { systemEntropy } from '../../../src/core/mechanisms/samplers/entropy.ts'
import type { ExactAggregate, Plan } from '../../../src/core/planner/plans/plan-kinds.ts'
import { censusRegistration } from '../../../src/datasets/registration/demo.ts'
import { generatePopulation } from '../../../src/datasets/registration/sources/population.ts'
import { evaluate, evaluateBatch } from '../../../src/studies/evaluation/evaluation.ts'
import type { Evaluation } from '../../../src/studies/evaluation/report.ts'
import { planOf } from '../../core/planner/planned.ts'
import { referenceEngine, type StoredRow } from '../../engines/reference-engine.ts'
import { candidatesOf, estimates, KINDS, keysOf, numbersOf, planCensus, taped } from './evaluated.ts'

test.each(KINDS)(
  '%s: a structured clone of the input gives the same evaluation',
  async (_name, wire, exact) => {
    const planned = planOf(wire)
    const options = { runs: 20, shown: 2 }
    const here = await evaluate({ plan: planned, exact }, { ...options, noiseSource: taped() })
    const copy = structuredClone({ planned, exact })
    expect(
      await evaluate({ plan: copy.planned, exact: copy.exact }, { ...options, noiseSource: taped() }),
    ).toEqual(here)
  },
)

test('a structured clone of a selection gives the same evaluation', async () => {
  const where = { column: 'Age', op: '>=', value: 30 }
  const selections: readonly (readonly [object, ExactAggregate])[] = [
    [
      {
        kind: 'noisyMax',
        candidates: {
          predicates: [
            { name: 'a', where },
            { name: 'b', where },
          ],
        },
      },
      { kind: 'noisy-max', scores: [3n, 2n] },
    ],
    [
      { kind: 'keySelection', column: 'Note', delta: 0.01, where },
      { kind: 'key-selection', texts: { texts: ['a', 'b'], counts: Float64Array.of(3, 4) } },
    ],
  ]
  for (const [wire, exact] of selections) {
    const planned = planOf(wire)
    const copy = structuredClone({ planned, exact })
    const options = { runs: 20, shown: 20 }
    const [here, there] = [
      await evaluate({ plan: planned, exact }, { ...options, noiseSource: taped() }),
      await evaluate({ plan: copy.planned, exact: copy.exact }, { ...options, noiseSource: taped() }),
    ]
    expect(there).toEqual(here)
  }
})

test('a batch is evaluated query by query, each under its own plan', async () => {
  const reads = [
    { wire: { kind: 'count', epsilon: 2 }, exact: estimates([7n]) },
    { wire: { kind: 'histogram', column: 'Region' }, exact: estimates([9n, 8n, 0n, 7n]) },
    {
      wire: { kind: 'keySelection', column: 'Note', delta: 0.01 },
      exact: { kind: 'key-selection', texts: { texts: ['a', 'b'], counts: Float64Array.of(3, 4) } } as const,
    },
  ].map(({ wire, exact }) => ({ plan: planOf(wire), exact, price: { epsilon: 1, delta: 0 } }))
  const facts = {
    dataset: 'people',
    datasetVersion: '1',
    disjoint: [],
    sumOfPrices: { epsilon: 4, delta: 0.01 },
    cost: { epsilon: 3, delta: 0.01 },
  }
  const progress: number[] = []
  const options = { runs: 500, shown: 3, noiseSource: systemEntropy() }
  const { evaluations, ...rest } = await evaluateBatch(
    { reads, facts },
    { ...options, onProgress: (runsDone) => progress.push(runsDone), nowMs: fixedSteps(60) },
  )
  expect(rest).toEqual(facts)
  expect(progress).toEqual(Array.from({ length: 250 }, (_, time) => 2 * (time + 1)))
  expect(evaluations.map(({ kind, runs, price }) => [kind, runs, price])).toEqual(
    ['count', 'histogram', 'keySelection'].map((kind) => [kind, 500, { epsilon: 1, delta: 0 }]),
  )
  const [count, table, keys] = evaluations
  if (count === undefined || table === undefined || keys === undefined) throw new Error('three are evaluated')
  expect([count, table, keys].map(({ shown }) => shown.length)).toEqual([3, 3, 3])
  const errorsOf = (evaluation: Evaluation) =>
    numbersOf(evaluation).values.map(({ meanAbsoluteError: { value, standardError } }) => [
      value,
      standardError,
    ])
  // 2 q / (1 - q^2) with q = exp(-epsilon); a deviation of 8 standard errors occurs once in 1e15.
  const expected = [2, 1, 1, 1, 1].map((epsilon) => 1 / Math.sinh(epsilon))
  for (const [place, [value, standardError]] of [...errorsOf(count), ...errorsOf(table)].entries())
    expect(Math.abs((value ?? Number.NaN) - (expected[place] ?? 0))).toBeLessThan(8 * (standardError ?? 0))
  expect(keysOf(keys).keys.map(({ key }) => key)).toEqual(['b', 'a'])
})

/** A clock that advances by this many milliseconds whenever it is read. */
function fixedSteps(stepMs: number): () => number {
  let nowMs = 0
  return () => (nowMs += stepMs)
}

test('progress is reported at most ten times a second', async () => {
  let nowMs = 0
  const progress: number[] = []
  await evaluate(
    { plan: planOf({ kind: 'count' }), exact: estimates([1n]) },
    {
      runs: 100,
      shown: 0,
      noiseSource: taped(),
      onProgress: (runsDone) => progress.push(runsDone),
      // The clock is read once before the first run and once after each, and advances by 30 ms.
      nowMs: () => (nowMs += 30),
    },
  )
  expect(progress).toEqual(Array.from({ length: 25 }, (_, time) => 4 * (time + 1)))
})

test('data read for another kind of plan is refused', async () => {
  const exact: ExactAggregate = { kind: 'noisy-max', scores: [1n] }
  const options = { runs: 1, shown: 0, noiseSource: taped() }
  await expect(evaluate({ plan: planOf({ kind: 'count' }), exact }, options)).rejects.toThrow(RangeError)
  await expect(releaseAggregate(planOf({ kind: 'count' }), exact, taped())).rejects.toThrow(RangeError)
})

const SEXES = censusRegistration.columns[0].categories
const OCCUPATIONS = censusRegistration.columns[4].categories
const censusRows: readonly StoredRow[] = [...generatePopulation(censusRegistration.source)].map((person) => ({
  Sex: SEXES.indexOf(person.sex),
  Age: BigInt(person.age),
  Occupation: OCCUPATIONS.indexOf(person.occupation),
}))

const readCensus = (planned: Plan) =>
  readAggregate(
    planned,
    referenceEngine(() => censusRows),
  )

describe('on the demo census', () => {
  const RUNS = 1_000
  const of60OrMore = { column: 'Age', op: '>=', value: 60 }
  const countWith = async (noise: object, runs = RUNS) => {
    const planned = planCensus({ kind: 'count', where: of60OrMore, epsilon: 0.1, ...noise })
    const exact = await readCensus(planned)
    const { values } = numbersOf(
      await evaluate({ plan: planned, exact }, { runs, shown: 1, noiseSource: systemEntropy() }),
    )
    const [value] = values
    if (value === undefined) throw new Error('a count is one number')
    return { ...value, counted: censusRows.filter(({ Age }) => typeof Age === 'bigint' && Age >= 60n).length }
  }
  /** Standard errors that a mean of this many runs exceeds with a probability below 2e-20, also for Laplace noise. */
  const LIMIT = 10.5

  // sigma = sqrt(2 ln(1.25 / delta)) / epsilon = 43.44, and E|Y| = sigma sqrt(2 / pi); the expected absolute error of
  // Laplace noise is 1 / epsilon.
  test.each([
    ['classic Gaussian', { mechanism: 'gaussian', calibration: 'classic', delta: 1e-4 }, 34.66],
    ['Laplace', { mechanism: 'laplace' }, 10],
  ])('a filtered count with %s noise has the error that theory predicts', async (_name, noise, expected) => {
    const { truth, counted, meanAbsoluteError, bias } = await countWith(noise)
    expect(truth).toBe(counted)
    expect(meanAbsoluteError.theoretical).toBeCloseTo(expected, 1)
    const { value, standardError } = meanAbsoluteError
    const deviation = (wanted: number) => Math.abs((value ?? 0) - wanted) / (standardError ?? 0)
    // The standard error is estimated from the sample; with a thousand runs it is accurate to a few percent.
    expect(deviation(expected)).toBeLessThan(LIMIT)
    const precise = await countWith(noise, 10 * RUNS)
    const precisely = (wanted: number) =>
      Math.abs((precise.meanAbsoluteError.value ?? 0) - wanted) /
      (precise.meanAbsoluteError.standardError ?? 0)
    expect(precisely(expected)).toBeLessThan(LIMIT)
    for (const wrong of [0.7, 1.3]) expect(precisely(wrong * expected)).toBeGreaterThan(LIMIT)
    expect(Math.abs(bias.value ?? Number.NaN) / (bias.standardError ?? 0)).toBeLessThan(LIMIT)
    expect(bias.theoretical).toBe(0)
    expect(precise.withinHalfWidth).toBeGreaterThan(0.95 - LIMIT * Math.sqrt((0.95 * 0.05) / (10 * RUNS)))
    expect(precise.withinHalfWidth).toBeLessThan(0.98)
  })

  test.each([
    ['Laplace', { mechanism: 'laplace', epsilon: 0.5, postprocess: { round: true, nonNegative: true } }, 2],
    ['geometric', { mechanism: 'geometric', epsilon: 1 }, 1 / Math.sinh(1)],
  ])('the table of Occupation by Sex with %s noise', async (_name, noise, each) => {
    const planned = planCensus({ kind: 'contingency', columns: ['Occupation', 'Sex'], ...noise })
    const { values, totals, shown } = numbersOf(
      await evaluate(
        { plan: planned, exact: await readCensus(planned) },
        {
          runs: RUNS,
          shown: 1,
          noiseSource: systemEntropy(),
        },
      ),
    )
    expect(values).toHaveLength(10)
    expect(values.reduce((sum, { truth }) => sum + Number(truth), 0)).toBe(100_000)
    expect(values[9]?.key).toEqual({ Occupation: 'Unicorn Wrangler', Sex: 'F' })
    expect(shown[0]?.values.every(({ noisy }) => Number.isInteger(noisy) && Number(noisy) >= 0)).toBe(true)
    const [total] = totals
    expect(total?.totalAbsoluteError.theoretical).toBeCloseTo(10 * each, 6)
    const { value, standardError } = total?.totalAbsoluteError ?? {}
    const deviation = (wanted: number) => Math.abs((value ?? 0) - wanted) / (standardError ?? 0)
    // No cell is near 0, and rounding to whole numbers adds little: E|round(Y)| of Laplace noise of scale 2 is 1.9793.
    const rounded = each === 2 ? 1 / (2 * Math.sinh(1 / 4)) : each
    expect(deviation(10 * rounded)).toBeLessThan(LIMIT)
    for (const wrong of [7, 13]) expect(deviation(wrong * each)).toBeGreaterThan(LIMIT)
    expect(total?.relativeTotalErrorPercent.value).toBeCloseTo((value ?? Number.NaN) / 1000, 10)
  })

  test('report noisy max over the occupations, a hundred times', async () => {
    const wire = { kind: 'noisyMax', candidates: { column: 'Occupation' }, noise: 'laplace', epsilon: 0.001 }
    const planned = planCensus(wire)
    const { candidates } = candidatesOf(
      await evaluate(
        { plan: planned, exact: await readCensus(planned) },
        {
          runs: 100,
          shown: 0,
          noiseSource: systemEntropy(),
        },
      ),
    )
    expect(candidates.map(({ candidate }) => candidate)).toEqual(OCCUPATIONS)
    expect(candidates.reduce((sum, { won }) => sum + won, 0)).toBe(100)
    expect(candidates.reduce((sum, { probabilityToWin }) => sum + (probabilityToWin ?? 0), 0)).toBeCloseTo(
      1,
      8,
    )
    // Two candidates have 30% each, and win nearly always.
    expect((candidates[0]?.won ?? 0) + (candidates[1]?.won ?? 0)).toBe(100)
  })
})
