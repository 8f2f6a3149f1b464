import { expect } from 'vitest'
import type { ExactAggregate } from '../../src/answers/release.ts'
import { keepProbability } from '../../src/mechanisms/key-selection.ts'
import { selectNoisyMax } from '../../src/mechanisms/noisy-max.ts'
import type { UniformSource } from '../../src/mechanisms/samplers/uniform-source.ts'
import type { CellLabel } from '../../src/planner/grouping.ts'
import { accuracyReport } from '../../src/planner/report.ts'
import { scriptedSource } from '../mechanisms/scripted-source.ts'
import { planFor, planOf } from '../planner/planned.ts'
import {
  candidatesOf,
  type EvaluationModule,
  estimates,
  evaluated,
  keysOf,
  meanOf,
  noiseOf,
  numbersOf,
  planCensus,
  taped,
  tapeTo,
} from './evaluated.ts'

/** An evaluation computed by hand: the actual source passes, and every mutant fails one. */
export interface ContractTest {
  readonly name: string
  readonly check: (module: EvaluationModule) => Promise<void>
}

/** Of answers made of numbers. */
export const NUMBER_CONTRACT: readonly ContractTest[] = [
  {
    name: 'a table and its errors are those of a published example',
    async check(module) {
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
        await module.evaluate(planned, estimates(truth), { runs: 1, shown: 1, noiseSource }),
      )
      expect(shown[0]?.values.map(({ noisy }) => noisy)).toEqual([139, 146, 147, 167, 100, 94, 107, 94, 2, 7])
      expect(shown[0]?.values.map(({ absoluteError }) => absoluteError)).toEqual([
        2, 2, 1, 3, 1, 3, 1, 3, 1, 0,
      ])
      const relative = [
        0.014599, 0.013514, 0.006757, 0.018293, 0.010101, 0.032967, 0.009434, 0.030928, 0.333333, 0,
      ]
      for (const [cell, error] of relative.entries())
        expect(shown[0]?.values[cell]?.relativeError).toBeCloseTo(error, 6)
      expect(shown[0]?.totals).toEqual([{ totalAbsoluteError: 17, relativeTotalErrorPercent: 1.7 }])
      expect(values[1]).toMatchObject({ key: { Occupation: 'Statistician', Sex: 'F' }, truth: 148 })
      expect(totals[0]?.totalAbsoluteError).toMatchObject({ value: 17, standardError: null })
      expect(totals[0]?.relativeTotalErrorPercent).toEqual({ value: 1.7, standardError: null })
    },
  },
  {
    name: 'a count over several runs',
    async check(module) {
      const { values, totals, ...rest } = await evaluated(
        { kind: 'count' },
        estimates([10n]),
        [1, -3, 0, 4],
        4,
        { shown: 2, module },
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
            values: [{ noisy: 11, halfWidth: 3, absoluteError: 1, relativeError: 0.1 }],
            totals: [{ totalAbsoluteError: 1, relativeTotalErrorPercent: 10 }],
          },
          {
            values: [{ noisy: 7, halfWidth: 3, absoluteError: 3, relativeError: 0.3 }],
            totals: [{ totalAbsoluteError: 3, relativeTotalErrorPercent: 30 }],
          },
        ],
      })
    },
  },
  {
    name: 'nothing is divided by a truth of 0',
    async check(module) {
      const { values, totals, shown } = await evaluated(
        { kind: 'histogram', column: 'Sex', postprocess: { nonNegative: true } },
        estimates([0n, 0n]),
        [2, -1],
        1,
        { module },
      )
      expect(shown[0]).toEqual({
        values: [
          { key: { Sex: 'M' }, noisy: 2, halfWidth: 3, absoluteError: 2, relativeError: null },
          { key: { Sex: 'F' }, noisy: 0, halfWidth: 3, absoluteError: 0, relativeError: null },
        ],
        totals: [{ totalAbsoluteError: 2, relativeTotalErrorPercent: null }],
      })
      expect(values[0]).toMatchObject({
        truth: 0,
        meanRelativeError: null,
        bias: { value: 2, theoretical: null },
      })
      expect(totals[0]?.relativeTotalErrorPercent).toEqual({ value: null, standardError: null })
    },
  },
  {
    name: 'what was never negative is compared with the truth as it is',
    async check(module) {
      const { values } = await evaluated(
        { kind: 'count', postprocess: { nonNegative: true } },
        estimates([1n]),
        [-3, -1],
        2,
        { module },
      )
      expect(values[0]).toMatchObject({ truth: 1, meanAbsoluteError: { value: 1 }, bias: { value: -1 } })
    },
  },
  {
    name: 'a truth below 0 has a size like any other',
    async check(module) {
      const wire = { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'sum', column: 'Balance' }] }
      const options = { runs: 5, shown: 1, noiseSource: taped() }
      // Steps of 0.05; and Laplace noise has binary places below them.
      const evaluation = await module.evaluate(
        planOf({ ...wire, mechanism: 'laplace' }),
        estimates([-1_000n, 600n]),
        options,
      )
      const { values, totals, shown } = numbersOf(evaluation)
      expect(values.map(({ truth }) => truth)).toEqual([-50, 30])
      const sizes = values.map(({ meanAbsoluteError }) => meanAbsoluteError.value ?? Number.NaN)
      expect(values[0]?.meanRelativeError).toBeCloseTo((sizes[0] ?? Number.NaN) / 50, 10)
      expect(shown[0]?.values[0]?.relativeError).toBe((shown[0]?.values[0]?.absoluteError ?? Number.NaN) / 50)
      expect(totals[0]?.relativeTotalErrorPercent.value).toBeCloseTo(
        (100 * (sizes[0] ?? 0) + 100 * (sizes[1] ?? 0)) / 80,
        10,
      )
    },
  },
  {
    name: 'each statistic of groups has a total of its own, and a mean of no rows has no truth',
    async check(module) {
      const planned = planOf({
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Age' }],
        mechanism: 'geometric',
      })
      // Two men of 50 and 40 (half steps from 60: -20 - 40), and no women.
      const exact = estimates([2n, 0n], [-60n, 0n])
      const { values, totals, shown } = numbersOf(
        await module.evaluate(planned, exact, { runs: 50, shown: 1, noiseSource: taped() }),
      )
      expect(values.map(({ key, statistic, truth }) => [key, statistic, truth])).toEqual([
        [{ Sex: 'M' }, 'count', 2],
        [{ Sex: 'M' }, 'mean_Age', 45],
        [{ Sex: 'F' }, 'count', 0],
        [{ Sex: 'F' }, 'mean_Age', null],
      ])
      expect(values[3]).toMatchObject({
        meanAbsoluteError: { value: null, standardError: null, theoretical: null, theoreticalBound: null },
        meanRelativeError: null,
        bias: { value: null, standardError: null, theoretical: null },
        standardDeviation: null,
        withinHalfWidth: null,
      })
      // A bound over two rows: the expected error of the sum less 60 times the count, at half the epsilon each. A row moves
      // the sum by 120 half steps. For Laplace variables of scales a and b it is (a^2 + a b + b^2) / (a + b).
      const [a, b] = [0.25 / Math.tanh(1 / 480), 30 / Math.tanh(1 / 4)]
      expect(values[1]?.meanAbsoluteError).toMatchObject({
        theoretical: null,
        theoreticalBound: expect.closeTo((a ** 2 + a * b + b ** 2) / (a + b) / 2, 9),
      })
      expect(shown[0]?.values[3]).toMatchObject({ absoluteError: null, relativeError: null })
      expect(shown[0]?.values[3]?.noisy).not.toBeNull()
      expect(totals.map(({ statistic }) => statistic)).toEqual(['count', 'mean_Age'])
      const [count, mean] = totals
      const sum = (values[0]?.meanAbsoluteError.value ?? 0) + (values[2]?.meanAbsoluteError.value ?? 0)
      expect(count?.totalAbsoluteError.value).toBeCloseTo(sum, 10)
      expect(count?.totalAbsoluteError.theoretical).toBeCloseTo(
        2 * (values[0]?.meanAbsoluteError.theoretical ?? 0),
        10,
      )
      expect(mean?.totalAbsoluteError).toEqual(values[1]?.meanAbsoluteError)
      expect(JSON.stringify([values, totals])).not.toMatch(/NaN|Infinity/)
    },
  },
]

/** Of truths. */
export const TRUTH_CONTRACT: readonly ContractTest[] = [
  {
    name: 'of a private number, there is a bound with as many rows as there are',
    async check(module) {
      const wire = { kind: 'proportion', of: { column: 'Age', op: '<', value: 18 }, mechanism: 'geometric' }
      const planned = planOf(wire)
      const { values } = numbersOf(
        await module.evaluate(planned, estimates([60n, 20n]), { runs: 1, shown: 0, noiseSource: taped() }),
      )
      expect(values[0]).toMatchObject({
        truth: 0.25,
        // E|Y| over 80 rows.
        meanAbsoluteError: { theoretical: null, theoreticalBound: expect.closeTo(1 / Math.sinh(1) / 80, 12) },
        bias: { theoretical: null },
      })
    },
  },
  {
    name: 'a truth is not rounded, and where there is none there is no total',
    async check(module) {
      const wire = { kind: 'mean', column: 'Age', postprocess: { round: true } }
      const of = async (integers: readonly (readonly bigint[])[]) =>
        numbersOf(
          await module.evaluate(planOf(wire), estimates(...integers), {
            runs: 3,
            shown: 1,
            noiseSource: taped(),
          }),
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
    },
  },
]

// Rows at 20, 30, 30, 40, 90: of the 5 rows 2.5 lie at or below the median, 1 at or below the 20th percentile.
const quantiles: ExactAggregate = {
  kind: 'quantile',
  values: { indexes: Float64Array.of(20, 30, 40, 90), counts: Float64Array.of(1, 2, 1, 1) },
}

async function trueQuantilesOf(module: EvaluationModule, wire: object, exact = quantiles) {
  const planned = planOf({ column: 'Age', ...wire })
  const options = { runs: 1, shown: 1, noiseSource: taped() }
  return numbersOf(await module.evaluate(planned, exact, options)).values.map(({ truth }) => truth)
}

/** Of quantiles. */
export const QUANTILE_CONTRACT: readonly ContractTest[] = [
  {
    name: 'the truth is the least value that so many rows lie at or below',
    async check(module) {
      expect(await trueQuantilesOf(module, { kind: 'median' })).toEqual([30])
      const p = [90, 20, 20.01, 60, 60.01, 80, 0.01, 99.99]
      expect(await trueQuantilesOf(module, { kind: 'percentile', p })).toEqual([
        90, 20, 30, 30, 40, 40, 20, 90,
      ])
    },
  },
  {
    name: 'that of extremes is what their rank says, from either end',
    async check(module) {
      // At an epsilon of 20 over 121 points, P(distance > 0) <= 120 exp(-10) = 0.005: rank 1.
      expect(await trueQuantilesOf(module, { kind: 'minimum', epsilon: 20 })).toEqual([20])
      expect(await trueQuantilesOf(module, { kind: 'maximum', epsilon: 20 })).toEqual([90])
      const ranks = [2, 4, 5, 6].map(async (rank) => {
        const truths = ['minimum', 'maximum'].map(async (kind) => {
          const planned = planOf({ kind, column: 'Age' })
          if (planned.kind !== 'quantile') throw new Error('a quantile is asked for')
          const target = kind === 'minimum' ? BigInt(rank) : BigInt(-rank)
          const measurements = planned.measurements.map((each) => ({
            ...each,
            score: { ...each.score, target },
          }))
          const options = { runs: 1, shown: 0, noiseSource: taped() }
          return numbersOf(await module.evaluate({ ...planned, measurements }, quantiles, options)).values[0]
            ?.truth
        })
        return Promise.all(truths)
      })
      expect(await Promise.all(ranks)).toEqual([
        [30, 40],
        [40, 30],
        [90, 20],
        [90, 20],
      ])
    },
  },
  {
    name: 'nobody has no median',
    async check(module) {
      const nobody: ExactAggregate = {
        kind: 'quantile',
        values: { indexes: new Float64Array(), counts: new Float64Array() },
      }
      expect(await trueQuantilesOf(module, { kind: 'median' }, nobody)).toEqual([null])
      expect(await trueQuantilesOf(module, { kind: 'maximum' }, nobody)).toEqual([null])
    },
  },
  {
    name: 'errors are in values and in rows, and the half-width is about the rows',
    async check(module) {
      const planned = planOf({ kind: 'median', column: 'Age', epsilon: 0.1 })
      const { values, shown } = numbersOf(
        await module.evaluate(planned, quantiles, { runs: 300, shown: 100, noiseSource: taped() }),
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
      const sharper = await module.evaluate(sharp, quantiles, { runs: 300, shown: 0, noiseSource: taped() })
      expect(numbersOf(sharper).values[0]).toMatchObject({ truth: 30, rankErrorRows: { value: 0 } })
    },
  },
  {
    name: 'a value between the two in the middle has the right rank, however far off it is',
    async check(module) {
      const planned = planFor('quantile', planOf({ kind: 'median', column: 'Age', epsilon: 20 }))
      const exact: ExactAggregate = {
        kind: 'quantile',
        values: { indexes: Float64Array.of(20, 90), counts: Float64Array.of(1, 1) },
      }
      const options = { runs: 50, shown: 0, noiseSource: taped() }
      const [value] = numbersOf(await module.evaluate(planned, exact, options)).values
      expect(value).toMatchObject({ truth: 20, rankErrorRows: { value: 0 }, withinHalfWidth: 1 })
      expect(value?.meanAbsoluteError.value).toBeGreaterThan(20)
    },
  },
]

/** Of selections among candidates. */
export const CANDIDATE_CONTRACT: readonly ContractTest[] = [
  {
    name: 'a selection tells who won, and by how many rows it was wrong',
    async check(module) {
      const planned = planFor('noisy-max', planOf({ kind: 'noisyMax', candidates: { column: 'Sex' } }))
      const scores = [5n, 3n]
      const winner = (source: UniformSource) =>
        selectNoisyMax(planned.measurement, scores, source)[0]?.candidate
      const noiseSource = scriptedSource([0, 1, 0, 0].flatMap((wanted) => tapeTo(wanted, winner)))
      const exact: ExactAggregate = { kind: 'noisy-max', scores }
      expect(await module.evaluate(planned, exact, { runs: 4, shown: 2, noiseSource })).toEqual({
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
    },
  },
  {
    name: 'of several selected, each is compared with the best that was left',
    async check(module) {
      const wire = { kind: 'noisyMax', candidates: { column: 'Region' }, k: 3, noise: 'gumbel', epsilon: 0.1 }
      const planned = planFor('noisy-max', planOf(wire))
      const exact: ExactAggregate = { kind: 'noisy-max', scores: [4n, 9n, 2n, 7n] }
      const options = { runs: 100, shown: 100, noiseSource: taped() }
      const { candidates, shortfallRows, withinHalfWidth, shown } = candidatesOf(
        await module.evaluate(planned, exact, options),
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
    },
  },
  {
    name: 'the error of each gap is measured against the lead that the selected candidate truly has',
    async check(module) {
      const k = 2
      const wire = {
        kind: 'noisyMax',
        candidates: { column: 'Region' },
        k,
        noise: 'laplace',
        gap: true,
        epsilon: 0.5,
      }
      // A small confidence makes the half-width small enough for errors on either side of it.
      const planned = { ...planFor('noisy-max', planOf(wire)), confidence: 0.05 }
      const rows = [4, 9, 2, 7]
      const exact: ExactAggregate = { kind: 'noisy-max', scores: rows.map(BigInt) }
      const options = { runs: 100, shown: 100, noiseSource: taped() }
      const { gaps, shown } = candidatesOf(await module.evaluate(planned, exact, options))
      const errors = shown.map((result) => {
        const selected = 'selected' in result ? result.selected : []
        const rowsOf = (candidate: CellLabel | undefined) =>
          rows[planned.candidates.indexOf(candidate ?? null)] ?? Number.NaN
        const left = planned.candidates.filter(
          (each) => !selected.some(({ candidate }) => candidate === each),
        )
        const rivals = [rowsOf(selected[1]?.candidate), Math.max(...left.map(rowsOf))]
        return selected.map(
          ({ candidate, gap = Number.NaN }, rank) => gap - (rowsOf(candidate) - (rivals[rank] ?? Number.NaN)),
        )
      })
      // Noise changes the order often, so that some true gaps are negative.
      expect(
        new Set(
          shown.map((result) => JSON.stringify('selected' in result ? result.selected[0]?.candidate : 0)),
        ).size,
      ).toBe(4)
      for (const rank of [0, 1]) {
        const each = errors.map((ofRun) => ofRun[rank] ?? Number.NaN)
        const mean = meanOf(each)
        expect(gaps?.ranks[rank]).toMatchObject({
          rank: rank + 1,
          meanAbsoluteError: { value: expect.closeTo(meanOf(each.map(Math.abs)), 9), theoretical: null },
          bias: { value: expect.closeTo(mean, 9) },
          standardDeviation: expect.closeTo(
            Math.sqrt(each.reduce((sum, error) => sum + (error - mean) ** 2, 0) / 99),
            9,
          ),
        })
      }
      const halfWidth = accuracyReport(planned).gapHalfWidth ?? Number.NaN
      expect(gaps?.halfWidth).toBe(halfWidth)
      const within = errors.filter((ofRun) => ofRun.every((error) => Math.abs(error) <= halfWidth))
      expect(gaps?.withinHalfWidth).toBe(within.length / 100)
      expect(within.length).toBeGreaterThan(5)
      expect(within.length).toBeLessThan(95)
      // Noise of scale k / epsilon = 4 on 4 candidates: 4 (2 (1 + 1/2 + 1/3 + 1/4) - 1).
      expect(gaps?.ranks[0]?.meanAbsoluteError.theoreticalBound).toBeCloseTo(4 * (25 / 6 - 1), 6)
      const without = planOf({ ...wire, gap: false })
      expect(
        candidatesOf(await module.evaluate(without, exact, { ...options, runs: 1, noiseSource: taped() })),
      ).not.toHaveProperty('gaps')
    },
  },
]

/** Of selections of keys. */
export const KEY_CONTRACT: readonly ContractTest[] = [
  {
    name: 'a selection of keys tells how often each appeared, and how far off its counts were',
    async check(module) {
      const wire = { kind: 'keySelection', column: 'Note', counts: true, epsilon: 1, delta: 1e-3 }
      const planned = planFor('key-selection', planOf(wire))
      const exact: ExactAggregate = {
        kind: 'key-selection',
        texts: { texts: ['rare', 'flu', 'cold'], counts: Float64Array.of(1, 20, 7) },
      }
      const { keys, distinctKeys, shown } = keysOf(
        await module.evaluate(planned, exact, { runs: 100, shown: 100, noiseSource: taped() }),
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
    },
  },
  {
    name: 'keys without counts have no errors, and of many only the largest are reported',
    async check(module) {
      const planned = planOf({ kind: 'keySelection', column: 'Note', epsilon: 1, delta: 1e-3 })
      const texts = Array.from({ length: 1_500 }, (_, position) => `key ${position}`)
      const counts = Float64Array.from(texts, (_, position) => 1 + (position % 100))
      const exact: ExactAggregate = { kind: 'key-selection', texts: { texts, counts } }
      const { keys, distinctKeys } = keysOf(
        await module.evaluate(planned, exact, { runs: 3, shown: 1, noiseSource: taped() }),
      )
      expect(distinctKeys).toBe(1_500)
      expect(keys).toHaveLength(1_000)
      expect(keys[0]).toEqual({ key: 'key 1099', truth: 100, appeared: 3, probabilityToAppear: 1 })
      expect(Math.min(...keys.map(({ truth }) => truth))).toBe(34)
    },
  },
]
