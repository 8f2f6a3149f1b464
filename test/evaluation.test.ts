import seedrandom from 'seedrandom'
import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../schemas/query.ts'
import { declareDataset } from '../src/catalog/declaration.ts'
import { censusRegistration, generateCensus } from '../src/demo.ts'
import {
  type EvaluatedCandidates,
  type EvaluatedKeys,
  type EvaluatedNumbers,
  type Evaluation,
  evaluate,
  MAX_RUNS,
  MAX_SHOWN,
  MAX_WORK,
  requireExtent,
  requireSynthetic,
} from '../src/evaluation.ts'
import { systemEntropy } from '../src/mechanisms/entropy.ts'
import { keepProbability } from '../src/mechanisms/key-selection.ts'
import { noiseSampler } from '../src/mechanisms/mechanism.ts'
import { selectNoisyMax } from '../src/mechanisms/noisy-max.ts'
import { uniformFromWords } from '../src/mechanisms/uniform-integers.ts'
import type { UniformSource } from '../src/mechanisms/uniform-source.ts'
import { plan as planQuery } from '../src/planner/plan.ts'
import type { Plan } from '../src/planner/plan-kinds.ts'
import { accuracyReport, report } from '../src/planner/report.ts'
import { answerNumbers } from '../src/planner/truth.ts'
import { Refusal } from '../src/privacy/refusal.ts'
import { type Exact, letOut, readExact } from '../src/release.ts'
import { referenceEngine, type StoredRow } from './engines/reference-engine.ts'
import { scriptedSource } from './mechanisms/scripted-source.ts'
import { people } from './planner/people.ts'
import { planFor, planOf } from './planner/planned.ts'

/** The same uniform integers each time it is made. */
function taped(): UniformSource {
  const random = seedrandom('tape')
  return uniformFromWords({ next: () => random.int32() >>> 0 })
}

/** Draws that lead an experiment to the outcome that is wanted, which comes once in a few thousand times or more often. */
function tapeTo<Outcome>(wanted: Outcome, experiment: (source: UniformSource) => Outcome): readonly number[] {
  const source = taped()
  for (let attempt = 0; attempt < 100_000; attempt += 1) {
    const draws: number[] = []
    const below = (bound: number) => {
      const draw = source.below(bound)
      if (bound > 1) draws.push(draw)
      return draw
    }
    if (experiment({ below, belowBig: (bound) => BigInt(below(Number(bound))) }) === wanted) return draws
  }
  throw new Error(`no tape leads to ${wanted}`)
}

/** A source from which a plan's one statistic gets this noise, in output units, one after the other. */
function noiseOf(planned: Plan, noise: readonly number[]): UniformSource {
  const [measurement] = planned.release === 'estimates' ? planned.measurements : []
  if (measurement === undefined) throw new Error('sums and counts are asked for')
  const sample = (source: UniformSource) => noiseSampler(measurement.noise, source)()
  return scriptedSource(noise.flatMap((wanted) => tapeTo(BigInt(wanted), sample)))
}

const estimates = (...integers: readonly (readonly bigint[])[]): Exact => ({ release: 'estimates', integers })

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

function numbersOf(evaluation: Evaluation): EvaluatedNumbers {
  if ('values' in evaluation) return evaluation
  throw new Error('an answer made of numbers is asked for')
}
function candidatesOf(evaluation: Evaluation): EvaluatedCandidates {
  if ('candidates' in evaluation) return evaluation
  throw new Error('a selection of candidates is asked for')
}
function keysOf(evaluation: Evaluation): EvaluatedKeys {
  if ('keys' in evaluation) return evaluation
  throw new Error('a selection of keys is asked for')
}

/** An evaluation whose runs get these draws of noise, number by number. */
async function evaluated(wire: object, exact: Exact, noise: readonly number[], runs: number, shown = runs) {
  const planned = planOf({ mechanism: 'geometric', ...wire })
  const noiseSource = noiseOf(planned, noise)
  return numbersOf(await evaluate(planned, exact, { runs, shown, noiseSource }))
}

const census = declareDataset(censusRegistration, 'v1', undefined)
const SEXES = censusRegistration.columns[0].categories
const OCCUPATIONS = censusRegistration.columns[4].categories
const censusRows: readonly StoredRow[] = generateCensus().map((person) => ({
  Sex: SEXES.indexOf(person.sex),
  Age: BigInt(person.age),
  Occupation: OCCUPATIONS.indexOf(person.occupation),
}))
const planCensus = (wire: object) => planQuery(querySchema.parse(wire), census, { maxCells: 1000 })
const readCensus = (planned: Plan) =>
  readExact(
    planned,
    referenceEngine(() => censusRows),
  )

describe('by hand', () => {
  test('a table and its errors are those of a published example', async () => {
    // The true table, what was published of it (Laplace noise, rounded) and the errors in a public notebook,
    // "Implementing Laplace for epsilon-DP"; the same noise in whole numbers leads to the same table.
    const truth = [137n, 148n, 148n, 164n, 99n, 91n, 106n, 97n, 3n, 7n]
    const noise = [2, -2, -1, 3, 1, 3, 1, -3, -1, 0]
    const planned = planCensus({
      kind: 'contingency',
      columns: ['Occupation', 'Sex'],
      mechanism: 'geometric',
      epsilon: 0.5,
      postprocess: { nonNegative: true },
    })
    const noiseSource = noiseOf(planned, noise)
    const { values, totals, shown } = numbersOf(
      await evaluate(planned, estimates(truth), { runs: 1, shown: 1, noiseSource }),
    )
    expect(shown[0]?.values.map(({ noisy }) => noisy)).toEqual([139, 146, 147, 167, 100, 94, 107, 94, 2, 7])
    expect(shown[0]?.values.map(({ absoluteError }) => absoluteError)).toEqual([2, 2, 1, 3, 1, 3, 1, 3, 1, 0])
    const relative = [
      0.014599, 0.013514, 0.006757, 0.018293, 0.010101, 0.032967, 0.009434, 0.030928, 0.333333, 0,
    ]
    for (const [cell, error] of relative.entries())
      expect(shown[0]?.values[cell]?.relativeError).toBeCloseTo(error, 6)
    expect(shown[0]?.totals).toEqual([{ totalAbsoluteError: 17, relativeTotalErrorPercent: 1.7 }])
    expect(values[1]).toMatchObject({ key: { Occupation: 'Statistician', Sex: 'F' }, truth: 148 })
    expect(totals[0]?.totalAbsoluteError).toMatchObject({ value: 17, standardError: null })
    expect(totals[0]?.relativeTotalErrorPercent).toEqual({ value: 1.7, standardError: null })
  })

  test('a count over several runs', async () => {
    const { values, totals, ...rest } = await evaluated(
      { kind: 'count' },
      estimates([10n]),
      [1, -3, 0, 4],
      4,
      2,
    )
    // Errors 1, -3, 0, 4: their mean is 1/2 and the sum of squares about it 25; of the sizes 2 and 10.
    const standardError = (squares: number) => Math.sqrt(squares / 3 / 4)
    const q = Math.exp(-1)
    const absolute = {
      value: 2,
      standardError: expect.closeTo(standardError(10), 12),
      // E|Y| = 2 q / (1 - q^2) of discrete Laplace noise with q = exp(-epsilon).
      theoretical: expect.closeTo((2 * q) / (1 - q * q), 12),
      theoreticalBound: null,
    }
    expect(values).toEqual([
      {
        truth: 10,
        meanAbsoluteError: absolute,
        meanRelativeError: 0.2,
        bias: { value: 0.5, standardError: expect.closeTo(standardError(25), 12), theoretical: 0 },
        standardDeviation: expect.closeTo(Math.sqrt(25 / 3), 12),
        // 2 q^(h + 1) / (1 + q) is at most 0.05 from h = 3 on.
        withinHalfWidth: 0.75,
      },
    ])
    expect(totals).toEqual([
      {
        totalAbsoluteError: absolute,
        relativeTotalErrorPercent: { value: 20, standardError: expect.closeTo(10 * standardError(10), 12) },
      },
    ])
    expect(rest).toEqual({
      runs: 4,
      confidence: 0.95,
      shown: [
        {
          values: [{ noisy: 11, absoluteError: 1, relativeError: 0.1 }],
          totals: [{ totalAbsoluteError: 1, relativeTotalErrorPercent: 10 }],
        },
        {
          values: [{ noisy: 7, absoluteError: 3, relativeError: 0.3 }],
          totals: [{ totalAbsoluteError: 3, relativeTotalErrorPercent: 30 }],
        },
      ],
    })
  })

  test('nothing is divided by a truth of 0', async () => {
    const { values, totals, shown } = await evaluated(
      { kind: 'histogram', column: 'Sex', postprocess: { nonNegative: true } },
      estimates([0n, 0n]),
      [2, -1],
      1,
    )
    expect(shown[0]).toEqual({
      values: [
        { key: { Sex: 'M' }, noisy: 2, absoluteError: 2, relativeError: null },
        { key: { Sex: 'F' }, noisy: 0, absoluteError: 0, relativeError: null },
      ],
      totals: [{ totalAbsoluteError: 2, relativeTotalErrorPercent: null }],
    })
    expect(values[0]).toMatchObject({
      truth: 0,
      meanRelativeError: null,
      bias: { value: 2, theoretical: null },
    })
    expect(totals[0]?.relativeTotalErrorPercent).toEqual({ value: null, standardError: null })
  })

  test('what was never negative is compared with the truth as it is', async () => {
    const { values } = await evaluated(
      { kind: 'count', postprocess: { nonNegative: true } },
      estimates([1n]),
      [-3, -1],
      2,
    )
    expect(values[0]).toMatchObject({ truth: 1, meanAbsoluteError: { value: 1 }, bias: { value: -1 } })
  })

  test('each statistic of groups has a total of its own, and a mean of no rows has no truth', async () => {
    const planned = planOf({
      kind: 'groupBy',
      keys: ['Sex'],
      statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Age' }],
      mechanism: 'geometric',
    })
    // Two men of 50 and 40 (half steps from 60: -20 - 40), and no women.
    const exact = estimates([2n, 0n], [-60n, 0n])
    const { values, totals, shown } = numbersOf(
      await evaluate(planned, exact, { runs: 50, shown: 1, noiseSource: taped() }),
    )
    expect(values.map(({ key, statistic, column, truth }) => [key, statistic, column, truth])).toEqual([
      [{ Sex: 'M' }, 'count', undefined, 2],
      [{ Sex: 'M' }, 'mean', 'Age', 45],
      [{ Sex: 'F' }, 'count', undefined, 0],
      [{ Sex: 'F' }, 'mean', 'Age', null],
    ])
    expect(values[3]).toMatchObject({
      meanAbsoluteError: { value: null, standardError: null, theoretical: null, theoreticalBound: null },
      meanRelativeError: null,
      bias: { value: null, standardError: null, theoretical: null },
      standardDeviation: null,
      withinHalfWidth: null,
    })
    // A bound over two rows: (E|sum| + 60 E|count|) / 2, at half the epsilon each; a row moves the sum by 120 half steps.
    expect(values[1]?.meanAbsoluteError).toMatchObject({
      theoretical: null,
      theoreticalBound: expect.closeTo((0.5 / Math.sinh(1 / 240) + 60 / Math.sinh(1 / 2)) / 2, 9),
    })
    expect(shown[0]?.values[3]).toMatchObject({ absoluteError: null, relativeError: null })
    expect(shown[0]?.values[3]?.noisy).not.toBeNull()
    expect(totals.map(({ statistic, column }) => [statistic, column])).toEqual([
      ['count', undefined],
      ['mean', 'Age'],
    ])
    const [count, mean] = totals
    const sum = (values[0]?.meanAbsoluteError.value ?? 0) + (values[2]?.meanAbsoluteError.value ?? 0)
    expect(count?.totalAbsoluteError.value).toBeCloseTo(sum, 10)
    expect(count?.totalAbsoluteError.theoretical).toBeCloseTo(
      2 * (values[0]?.meanAbsoluteError.theoretical ?? 0),
      10,
    )
    expect(mean?.totalAbsoluteError).toEqual(values[1]?.meanAbsoluteError)
    expect(JSON.stringify([values, totals])).not.toMatch(/NaN|Infinity/)
  })

  test.each([
    // Of a public number of rows the noise of one sum or count is all there is; but means and shares are cut.
    [{ kind: 'mean', column: 'Age' }, -3_000n, 45, null],
    [{ kind: 'proportion', of: { column: 'Age', op: '<', value: 18 } }, 30n, 0.3, null],
    [{ kind: 'count', postprocess: { round: true } }, 30n, 30, null],
    [{ kind: 'sum', column: 'Age' }, 30n, 30, 0],
  ])('of a public number of rows: %j', async (wire, integer, truth, bias) => {
    const planned = planOf({ ...wire, mechanism: 'geometric', epsilon: 0.5 }, 'change-one')
    const stated = accuracyReport(planned).expectedAbsoluteError
    const { values } = numbersOf(
      await evaluate(planned, estimates([integer]), { runs: 1, shown: 0, noiseSource: taped() }),
    )
    expect(stated).toBeGreaterThan(0)
    expect(values[0]).toMatchObject({
      truth,
      meanAbsoluteError: { theoretical: stated, theoreticalBound: null },
      bias: { theoretical: bias },
    })
  })

  test('of a private number, there is a bound with as many rows as there are', async () => {
    const wire = { kind: 'proportion', of: { column: 'Age', op: '<', value: 18 }, mechanism: 'geometric' }
    const planned = planOf(wire)
    const { values } = numbersOf(
      await evaluate(planned, estimates([60n, 20n]), { runs: 1, shown: 0, noiseSource: taped() }),
    )
    expect(values[0]).toMatchObject({
      truth: 0.25,
      // E|Y| over 80 rows.
      meanAbsoluteError: { theoretical: null, theoreticalBound: expect.closeTo(1 / Math.sinh(1) / 80, 12) },
      bias: { theoretical: null },
    })
  })

  test('a truth is not rounded, and where there is none there is no total', async () => {
    const wire = { kind: 'mean', column: 'Age', postprocess: { round: true } }
    const of = async (integers: readonly (readonly bigint[])[]) =>
      numbersOf(
        await evaluate(planOf(wire), estimates(...integers), { runs: 3, shown: 1, noiseSource: taped() }),
      )
    // Two people of 30 and 31: 60 and 58 half steps below the middle.
    expect((await of([[-118n], [2n]])).values[0]?.truth).toBe(30.5)
    const { totals, shown } = await of([[0n], [0n]])
    expect(totals).toEqual([
      {
        totalAbsoluteError: { value: null, standardError: null, theoretical: null, theoreticalBound: null },
        relativeTotalErrorPercent: { value: null, standardError: null },
      },
    ])
    expect(shown[0]?.totals).toEqual([{ totalAbsoluteError: null, relativeTotalErrorPercent: null }])
  })

  describe('quantiles', () => {
    // Rows at 20, 30, 30, 40, 90: of the 5 rows 2.5 lie at or below the median, 1 at or below the 20th percentile.
    const exact: Exact = {
      release: 'quantiles',
      values: { indexes: Float64Array.of(20, 30, 40, 90), counts: Float64Array.of(1, 2, 1, 1) },
    }
    const truthsOf = async (wire: object, read = exact) =>
      numbersOf(
        await evaluate(planOf({ column: 'Age', ...wire }), read, { runs: 1, shown: 1, noiseSource: taped() }),
      ).values.map(({ truth }) => truth)

    test('the truth is the least value that so many rows lie at or below', async () => {
      expect(await truthsOf({ kind: 'median' })).toEqual([30])
      const p = [90, 20, 20.01, 60, 60.01, 80, 0.01, 99.99]
      expect(await truthsOf({ kind: 'percentile', p })).toEqual([90, 20, 30, 30, 40, 40, 20, 90])
    })

    test('that of extremes is what their rank says, from either end', async () => {
      // At an epsilon of 20 over 121 points, P(distance > 0) <= 120 exp(-10) = 0.005: rank 1.
      expect(await truthsOf({ kind: 'minimum', epsilon: 20 })).toEqual([20])
      expect(await truthsOf({ kind: 'maximum', epsilon: 20 })).toEqual([90])
      const ranks = [2, 4, 5, 6].map(async (rank) => {
        const truths = ['minimum', 'maximum'].map(async (kind) => {
          const planned = planOf({ kind, column: 'Age' })
          if (planned.release !== 'quantiles') throw new Error('a quantile is asked for')
          const target = kind === 'minimum' ? BigInt(rank) : BigInt(-rank)
          const measurements = planned.measurements.map((each) => ({
            ...each,
            score: { ...each.score, target },
          }))
          const options = { runs: 1, shown: 0, noiseSource: taped() }
          return numbersOf(await evaluate({ ...planned, measurements }, exact, options)).values[0]?.truth
        })
        return Promise.all(truths)
      })
      expect(await Promise.all(ranks)).toEqual([
        [30, 40],
        [40, 30],
        [90, 20],
        [90, 20],
      ])
    })

    test('nobody has no median', async () => {
      const nobody: Exact = {
        release: 'quantiles',
        values: { indexes: new Float64Array(), counts: new Float64Array() },
      }
      expect(await truthsOf({ kind: 'median' }, nobody)).toEqual([null])
      expect(await truthsOf({ kind: 'maximum' }, nobody)).toEqual([null])
    })

    test('errors are in values and in rows, and the half-width is about the rows', async () => {
      const planned = planOf({ kind: 'median', column: 'Age', epsilon: 0.1 })
      const { values, shown } = numbersOf(
        await evaluate(planned, exact, { runs: 300, shown: 100, noiseSource: taped() }),
      )
      // Rows below and at or below a value, against 2.5.
      const rankErrorOf = (value: number) => {
        const rows = [20, 30, 30, 40, 90]
        const below = rows.filter((row) => row < value).length
        const atOrBelow = rows.filter((row) => row <= value).length
        return Math.max(0, below - 2.5, 2.5 - atOrBelow)
      }
      const shownValues = shown.map(({ values: [value] }) => value)
      expect(new Set(shownValues.map((value) => value?.rankErrorRows)).size).toBeGreaterThan(3)
      for (const value of shownValues) {
        expect(value?.rankErrorRows).toBe(rankErrorOf(value?.noisy ?? Number.NaN))
        expect(value?.absoluteError).toBe(Math.abs((value?.noisy ?? Number.NaN) - 30))
      }
      // No rank can be off by more than 2.5, and far more is stated at so small an epsilon.
      expect(values[0]).toMatchObject({ withinHalfWidth: 1, meanAbsoluteError: { theoretical: null } })
      const sharp = planOf({ kind: 'median', column: 'Age', epsilon: 20 })
      const sharper = await evaluate(sharp, exact, { runs: 300, shown: 0, noiseSource: taped() })
      expect(numbersOf(sharper).values[0]).toMatchObject({ truth: 30, rankErrorRows: { value: 0 } })
    })
  })

  test('a selection tells who won, and by how many rows it was wrong', async () => {
    const planned = planFor('noisy-max', planOf({ kind: 'noisyMax', candidates: { column: 'Sex' } }))
    const scores = [5n, 3n]
    const winner = (source: UniformSource) =>
      selectNoisyMax(planned.measurement, scores, source)[0]?.candidate
    const noiseSource = scriptedSource([0, 1, 0, 0].flatMap((wanted) => tapeTo(wanted, winner)))
    const exact: Exact = { release: 'noisy-max', scores }
    expect(await evaluate(planned, exact, { runs: 4, shown: 2, noiseSource })).toEqual({
      runs: 4,
      confidence: 0.95,
      candidates: [
        // Permute-and-flip visits each first half of the time, and takes the one that is 2 behind with exp(-2).
        {
          candidate: 'M',
          truth: 5,
          won: 3,
          selected: 3,
          probabilityToWin: expect.closeTo(1 - Math.exp(-2) / 2, 9),
        },
        {
          candidate: 'F',
          truth: 3,
          won: 1,
          selected: 1,
          probabilityToWin: expect.closeTo(Math.exp(-2) / 2, 9),
        },
      ],
      // 0, 2, 0, 0.
      shortfallRows: { value: 0.5, standardError: 0.5 },
      // With 95 % confidence not more than 2 are missing, as exp(-3) / 2 is below 0.05.
      withinHalfWidth: 1,
      shown: [{ selected: [{ candidate: 'M' }] }, { selected: [{ candidate: 'F' }] }],
    })
  })

  test('of several selected, each is compared with the best that was left', async () => {
    const wire = { kind: 'noisyMax', candidates: { column: 'Region' }, k: 3, noise: 'gumbel', epsilon: 0.1 }
    const planned = planFor('noisy-max', planOf(wire))
    const exact: Exact = { release: 'noisy-max', scores: [4n, 9n, 2n, 7n] }
    const options = { runs: 100, shown: 100, noiseSource: taped() }
    const { candidates, shortfallRows, withinHalfWidth, shown } = candidatesOf(
      await evaluate(planned, exact, options),
    )
    const rowsOf = new Map(
      planned.candidates.map((candidate, place) => [candidate, [4, 9, 2, 7][place] ?? 0]),
    )
    const shortfalls = shown.map((result) => {
      const chosen = 'selected' in result ? result.selected.map(({ candidate }) => candidate) : []
      expect(new Set(chosen).size).toBe(3)
      const missing = chosen.map((candidate, rank) => {
        const left = planned.candidates.filter((other) => !chosen.slice(0, rank).includes(other))
        return Math.max(...left.map((other) => rowsOf.get(other) ?? 0)) - (rowsOf.get(candidate) ?? 0)
      })
      return Math.max(...missing)
    })
    expect(new Set(shortfalls).size).toBeGreaterThan(3)
    expect(shortfallRows.value).toBeCloseTo(meanOf(shortfalls), 10)
    expect(withinHalfWidth).toBe(1)
    expect(candidates.reduce((sum, { won }) => sum + won, 0)).toBe(100)
    expect(candidates.reduce((sum, { selected }) => sum + selected, 0)).toBe(300)
    for (const { candidate, won, selected, probabilityToWin } of candidates) {
      const lists = shown.map((result) => ('selected' in result ? result.selected : []))
      expect(won).toBe(lists.filter(([first]) => first?.candidate === candidate).length)
      expect(selected).toBe(lists.flat().filter((each) => each.candidate === candidate).length)
      expect(probabilityToWin).toBeNull()
    }
  })

  test('a selection of keys tells how often each appeared, and how far off its counts were', async () => {
    const wire = { kind: 'keySelection', column: 'Note', counts: true, epsilon: 1, delta: 1e-3 }
    const planned = planFor('key-selection', planOf(wire))
    const exact: Exact = {
      release: 'key-selection',
      texts: { texts: ['rare', 'flu', 'cold'], counts: Float64Array.of(1, 20, 7) },
    }
    const { keys, distinctKeys, shown } = keysOf(
      await evaluate(planned, exact, { runs: 100, shown: 100, noiseSource: taped() }),
    )
    expect(distinctKeys).toBe(3)
    expect(keys.map(({ key, truth }) => [key, truth])).toEqual([
      ['flu', 20],
      ['cold', 7],
      ['rare', 1],
    ])
    for (const { key, truth, appeared, probabilityToAppear, meanAbsoluteError, bias } of keys) {
      const errors = shown.flatMap((result) =>
        'keys' in result
          ? result.keys.filter((each) => each.key === key).map(({ count }) => (count ?? Number.NaN) - truth)
          : [],
      )
      expect(appeared).toBe(errors.length)
      expect(probabilityToAppear).toBe(keepProbability(planned.measurement, truth))
      expect(bias?.value ?? 0).toBeCloseTo(errors.length === 0 ? 0 : meanOf(errors), 10)
      if (errors.length > 0) expect(meanAbsoluteError?.value).toBeCloseTo(meanOf(errors.map(Math.abs)), 10)
    }
    const [flu, cold, rare] = keys
    expect(flu?.appeared).toBe(100)
    expect(cold?.appeared).toBeGreaterThan(10)
    expect(cold?.appeared).toBeLessThan(90)
    // One in a thousand, so hardly ever; without a run there is no error.
    expect(rare).toMatchObject({ appeared: 0, meanAbsoluteError: { value: null, standardError: null } })
  })

  test('keys without counts have no errors, and of many only the largest are reported', async () => {
    const planned = planOf({ kind: 'keySelection', column: 'Note', epsilon: 1, delta: 1e-3 })
    const texts = Array.from({ length: 1_500 }, (_, position) => `key ${position}`)
    const counts = Float64Array.from(texts, (_, position) => 1 + (position % 100))
    const exact: Exact = { release: 'key-selection', texts: { texts, counts } }
    const { keys, distinctKeys } = keysOf(
      await evaluate(planned, exact, { runs: 3, shown: 1, noiseSource: taped() }),
    )
    expect(distinctKeys).toBe(1_500)
    expect(keys).toHaveLength(1_000)
    expect(keys[0]).toEqual({ key: 'key 1099', truth: 100, appeared: 3, probabilityToAppear: 1 })
    expect(Math.min(...keys.map(({ truth }) => truth))).toBe(34)
  })
})

test('keys that are too long make room for others', async () => {
  const planned = planOf({ kind: 'keySelection', column: 'Note', epsilon: 1, delta: 1e-3 })
  const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(4_000_000)).concat('short')
  const exact: Exact = { release: 'key-selection', texts: { texts, counts: Float64Array.of(9, 8, 7, 6) } }
  const { keys, distinctKeys } = keysOf(
    await evaluate(planned, exact, { runs: 1, shown: 0, noiseSource: taped() }),
  )
  expect(keys.map(({ key }) => key.slice(0, 5))).toEqual(['aaaaa', 'bbbbb', 'short'])
  expect(distinctKeys).toBe(4)
})

describe('sums over runs', () => {
  const KINDS: readonly (readonly [string, object, Exact])[] = [
    ['a table', { kind: 'histogram', column: 'Region', mechanism: 'laplace' }, estimates([9n, 8n, 0n, 7n])],
    [
      'a variance',
      { kind: 'variance', column: 'Age', mechanism: 'gaussian', delta: 1e-6 },
      estimates([45_160_000n], [-540_000n], [10_000n]),
    ],
    [
      'a proportion',
      { kind: 'proportion', of: { column: 'Sex', op: '=', value: 'M' } },
      estimates([30n, 50n]),
    ],
    [
      'percentiles',
      { kind: 'percentile', column: 'Balance', p: [75, 25] },
      {
        release: 'quantiles',
        values: {
          indexes: Float64Array.from({ length: 100 }, (_, position) => position * 3 - 200),
          counts: new Float64Array(100).fill(2),
        },
      },
    ],
  ]

  test.each(KINDS)('%s: what is kept of runs is what the runs together tell', async (_name, wire, exact) => {
    const planned = planOf(wire)
    const runs = 200
    const evaluation = numbersOf(await evaluate(planned, exact, { runs, shown: 7, noiseSource: taped() }))
    const noiseSource = taped()
    const answers: (readonly { readonly value: number; readonly halfWidth: number | null }[])[] = []
    for (let run = 0; run < runs; run += 1)
      answers.push(answerNumbers(report(planned, await letOut(planned, exact, noiseSource))))

    expect(evaluation.shown).toHaveLength(7)
    for (const [run, { values }] of evaluation.shown.entries())
      expect(values.map(({ noisy }) => noisy)).toEqual(answers[run]?.map(({ value }) => value))
    const deviationOf = (values: readonly number[]) => {
      const mean = meanOf(values)
      return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1))
    }
    const close = (value: number) => expect.closeTo(value, 9)
    const truths = evaluation.values.map(({ truth }) => truth ?? Number.NaN)
    for (const [position, value] of evaluation.values.entries()) {
      const truth = truths[position] ?? Number.NaN
      const errors = answers.map((answer) => (answer[position]?.value ?? Number.NaN) - truth)
      const sizes = errors.map(Math.abs)
      expect(value.bias).toMatchObject({
        value: close(meanOf(errors)),
        standardError: close(deviationOf(errors) / Math.sqrt(runs)),
      })
      expect(value.meanAbsoluteError).toMatchObject({
        value: close(meanOf(sizes)),
        standardError: close(deviationOf(sizes) / Math.sqrt(runs)),
      })
      expect(value.standardDeviation).toBeCloseTo(deviationOf(errors), 9)
      if (truth === 0) expect(value.meanRelativeError).toBeNull()
      else expect(value.meanRelativeError).toBeCloseTo(meanOf(sizes) / Math.abs(truth), 9)
      if (planned.release === 'quantiles') continue
      const covered = answers.filter((answer, run) => (sizes[run] ?? 0) <= (answer[position]?.halfWidth ?? 0))
      expect(value.withinHalfWidth).toBeCloseTo(covered.length / runs, 9)
    }
    const sums = answers.map((answer) =>
      answer.reduce(
        (sum, { value }, position) => sum + Math.abs(value - (truths[position] ?? Number.NaN)),
        0,
      ),
    )
    const sumOfTruths = truths.reduce((sum, truth) => sum + Math.abs(truth), 0)
    expect(evaluation.totals).toEqual([
      expect.objectContaining({
        totalAbsoluteError: expect.objectContaining({
          value: close(meanOf(sums)),
          standardError: close(deviationOf(sums) / Math.sqrt(runs)),
        }),
        relativeTotalErrorPercent: {
          value: close((100 * meanOf(sums)) / sumOfTruths),
          standardError: close((100 * deviationOf(sums)) / Math.sqrt(runs) / sumOfTruths),
        },
      }),
    ])
  })

  test('errors that are small beside the truth keep their digits', async () => {
    const truth = 2n ** 52n
    const { values } = await evaluated({ kind: 'count' }, estimates([truth]), [1, 2, 1, 2], 4)
    expect(values[0]).toMatchObject({
      truth: 2 ** 52,
      bias: { value: 1.5 },
      standardDeviation: Math.sqrt(1 / 3),
    })
  })

  test.each(KINDS)('%s: a thread that gets a copy finds the same', async (_name, wire, exact) => {
    const planned = planOf(wire)
    const options = { runs: 20, shown: 2 }
    const here = await evaluate(planned, exact, { ...options, noiseSource: taped() })
    const copy = structuredClone({ planned, exact })
    expect(await evaluate(copy.planned, copy.exact, { ...options, noiseSource: taped() })).toEqual(here)
  })

  test('so do threads that select', async () => {
    const where = { column: 'Age', op: '>=', value: 30 }
    const selections: readonly (readonly [object, Exact])[] = [
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
        { release: 'noisy-max', scores: [3n, 2n] },
      ],
      [
        { kind: 'keySelection', column: 'Note', delta: 0.01, where },
        { release: 'key-selection', texts: { texts: ['a', 'b'], counts: Float64Array.of(3, 4) } },
      ],
    ]
    for (const [wire, exact] of selections) {
      const planned = planOf(wire)
      const copy = structuredClone({ planned, exact })
      const options = { runs: 20, shown: 20 }
      const [here, there] = [
        await evaluate(planned, exact, { ...options, noiseSource: taped() }),
        await evaluate(copy.planned, copy.exact, { ...options, noiseSource: taped() }),
      ]
      expect(there).toEqual(here)
    }
  })

  test('progress is told at most ten times a second', async () => {
    let nowMs = 0
    const told: number[] = []
    await evaluate(planOf({ kind: 'count' }), estimates([1n]), {
      runs: 100,
      shown: 0,
      noiseSource: taped(),
      onProgress: (runsDone) => told.push(runsDone),
      // Once before the first run, and once after each: 30 ms.
      nowMs: () => (nowMs += 30),
    })
    expect(told).toEqual(Array.from({ length: 25 }, (_, time) => 4 * (time + 1)))
  })
})

describe('on the demo census', () => {
  const RUNS = 1_000
  const of60OrMore = { column: 'Age', op: '>=', value: 60 }
  const countWith = async (noise: object, runs = RUNS) => {
    const planned = planCensus({ kind: 'count', where: of60OrMore, epsilon: 0.1, ...noise })
    const exact = await readCensus(planned)
    const { values } = numbersOf(
      await evaluate(planned, exact, { runs, shown: 1, noiseSource: systemEntropy() }),
    )
    const [value] = values
    if (value === undefined) throw new Error('a count is one number')
    return { ...value, counted: censusRows.filter(({ Age }) => typeof Age === 'bigint' && Age >= 60n).length }
  }
  /** Standard errors beyond which a mean of so many runs is not by chance: below 2e-20, even of Laplace noise. */
  const LIMIT = 10.5

  // sigma = sqrt(2 ln(1.25 / delta)) / epsilon = 43.44, and E|Y| = sigma sqrt(2 / pi); Laplace noise errs by 1 / epsilon.
  test.each([
    ['classic Gaussian', { mechanism: 'gaussian', calibration: 'classic', delta: 1e-4 }, 34.66],
    ['Laplace', { mechanism: 'laplace' }, 10],
  ])('a filtered count with %s noise errs as the theory says', async (_name, noise, expected) => {
    const { truth, counted, meanAbsoluteError, bias } = await countWith(noise)
    expect(truth).toBe(counted)
    expect(meanAbsoluteError.theoretical).toBeCloseTo(expected, 1)
    const { value, standardError } = meanAbsoluteError
    const deviation = (wanted: number) => Math.abs((value ?? 0) - wanted) / (standardError ?? 0)
    // The standard error is a sample's own, but of a thousand runs it is right to a few per cent.
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
      await evaluate(planned, await readCensus(planned), {
        runs: RUNS,
        shown: 1,
        noiseSource: systemEntropy(),
      }),
    )
    expect(values).toHaveLength(10)
    expect(values.reduce((sum, { truth }) => sum + (truth ?? 0), 0)).toBe(100_000)
    expect(values[9]?.key).toEqual({ Occupation: 'Unicorn Wrangler', Sex: 'F' })
    expect(shown[0]?.values.every(({ noisy }) => Number.isInteger(noisy) && (noisy ?? -1) >= 0)).toBe(true)
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
      await evaluate(planned, await readCensus(planned), {
        runs: 100,
        shown: 0,
        noiseSource: systemEntropy(),
      }),
    )
    expect(candidates.map(({ candidate }) => candidate)).toEqual(OCCUPATIONS)
    expect(candidates.reduce((sum, { won }) => sum + won, 0)).toBe(100)
    expect(candidates.reduce((sum, { probabilityToWin }) => sum + (probabilityToWin ?? 0), 0)).toBeCloseTo(
      1,
      8,
    )
    // The two that 30 % have share nearly all the wins.
    expect((candidates[0]?.won ?? 0) + (candidates[1]?.won ?? 0)).toBe(100)
  })
})

describe('what is refused', () => {
  const refusalOf = (task: () => unknown) => {
    try {
      task()
    } catch (error) {
      if (error instanceof Refusal) return { code: error.code, errors: error.errors }
      throw error
    }
    return undefined
  }

  test('a dataset whose people are not made up', () => {
    const dataset = people('add-remove')
    expect(() => requireSynthetic(dataset)).not.toThrow()
    expect(refusalOf(() => requireSynthetic({ ...dataset, synthetic: false }))?.code).toBe('not-synthetic')
  })

  test.each([
    [{ runs: 0, shown: 0 }, 'runs', `must be a whole number from 1 to ${MAX_RUNS}`],
    [{ runs: 1.5, shown: 0 }, 'runs', `must be a whole number from 1 to ${MAX_RUNS}`],
    [{ runs: MAX_RUNS + 1, shown: 0 }, 'runs', `must be a whole number from 1 to ${MAX_RUNS}`],
    [{ runs: 1, shown: -1 }, 'shown', `must be a whole number from 0 to ${MAX_SHOWN}`],
    [{ runs: 1, shown: MAX_SHOWN + 1 }, 'shown', `must be a whole number from 0 to ${MAX_SHOWN}`],
  ])('%j', (extent, field, rule) => {
    const planned = planOf({ kind: 'count' })
    expect(refusalOf(() => requireExtent(planned, extent))).toEqual({
      code: 'invalid-request',
      errors: [{ field, rule }],
    })
    expect(refusalOf(() => requireExtent(planned, { runs: MAX_RUNS, shown: MAX_SHOWN }))).toBeUndefined()
  })

  test('more runs than a large table has room for, before anything is read', () => {
    const edges = Array.from({ length: 101 }, (_, edge) => edge)
    const planned = planOf({ kind: 'contingency', columns: [{ column: 'Age', edges }, 'Region'] })
    const most = MAX_WORK / (400 * 3)
    expect(refusalOf(() => requireExtent(planned, { runs: most, shown: 1 }))).toBeUndefined()
    expect(refusalOf(() => requireExtent(planned, { runs: most + 1, shown: 1 }))).toEqual({
      code: 'invalid-request',
      errors: [{ field: 'runs', rule: `must be at most ${most} for this query` }],
    })
  })

  test.each([
    [
      { kind: 'median', column: 'Age' },
      {
        release: 'quantiles',
        values: {
          indexes: Float64Array.from({ length: 100_000 }, (_, position) => position),
          counts: new Float64Array(100_000).fill(1),
        },
      } satisfies Exact,
    ],
    [
      { kind: 'keySelection', column: 'Note', delta: 0.01 },
      {
        release: 'key-selection',
        texts: {
          texts: Array.from({ length: 100_000 }, (_, position) => `${position}`),
          counts: new Float64Array(100_000).fill(1),
        },
      } satisfies Exact,
    ],
  ])('more runs than what was read has room for: %j', async (wire, exact) => {
    const planned = planOf(wire)
    const extent = { runs: MAX_RUNS, shown: 1 }
    expect(refusalOf(() => requireExtent(planned, extent))).toBeUndefined()
    expect(refusalOf(() => requireExtent(planned, extent, exact))?.errors[0]?.rule).toMatch(
      /^must be at most \d{3,4} /,
    )
    await expect(evaluate(planned, exact, { ...extent, noiseSource: taped() })).rejects.toThrow(Refusal)
  })

  test('more in full than fits in memory', () => {
    const edges = Array.from({ length: 251 }, (_, edge) => Number((edge / 5 - 50).toFixed(1)))
    const table = planOf({ kind: 'contingency', columns: [{ column: 'Balance', edges }, 'Region'] })
    const refused = refusalOf(() => requireExtent(table, { runs: 100, shown: 100 }))
    expect(refused?.errors[0]).toMatchObject({ field: 'shown' })
    const most = Number(/\d+/.exec(refused?.errors[0]?.rule ?? '')?.[0])
    expect(refusalOf(() => requireExtent(table, { runs: 100, shown: most }))).toBeUndefined()
  })

  test('a table of which not even the truths fit', () => {
    const edges = Array.from({ length: 1001 }, (_, edge) => Number((edge / 20 - 50).toFixed(2)))
    const kinds = ['sum', 'mean', 'variance', 'standardDeviation']
    const statistics = ['Age', 'Income'].flatMap((column) => kinds.map((kind) => ({ kind, column })))
    const query = { kind: 'groupBy', keys: [{ column: 'Balance', edges }, 'Region'], statistics, epsilon: 1 }
    const planned = planQuery(querySchema.parse(query), people('add-remove'), { maxCells: 4_000 })
    expect(refusalOf(() => requireExtent(planned, { runs: 1, shown: 0 }))).toMatchObject({
      code: 'query-does-not-fit',
      errors: [{ field: 'query' }],
    })
  })

  test('what was read for another plan', async () => {
    const exact: Exact = { release: 'noisy-max', scores: [1n] }
    const options = { runs: 1, shown: 0, noiseSource: taped() }
    await expect(evaluate(planOf({ kind: 'count' }), exact, options)).rejects.toThrow(RangeError)
    await expect(letOut(planOf({ kind: 'count' }), exact, taped())).rejects.toThrow(RangeError)
  })
})

test('a report is never longer than it was thought to be', async () => {
  // Noise of many digits on values of many digits: every number is as long as a double can be.
  const planned = planOf({
    kind: 'groupBy',
    keys: ['Sex'],
    statistics: [
      { kind: 'mean', column: 'Balance' },
      { kind: 'standardDeviation', column: 'Income' },
    ],
    mechanism: 'laplace',
    epsilon: 1e-6,
  })
  const exact = estimates([-123n, 77n], [7n, 3n], [1_234n, 77n], [12n, 7n], [3n, 1n])
  const evaluation = numbersOf(await evaluate(planned, exact, { runs: 9, shown: 9, noiseSource: taped() }))
  // What is set aside for each number, in src/evaluation.ts.
  for (const value of evaluation.values) expect(JSON.stringify(value).length).toBeLessThan(700)
  for (const total of evaluation.totals) expect(JSON.stringify(total).length).toBeLessThan(700)
  for (const { values, totals } of evaluation.shown)
    for (const each of [...values, ...totals]) expect(JSON.stringify(each).length).toBeLessThan(200 + 30)
})
