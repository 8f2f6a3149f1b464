import { expect } from 'vitest'
import { planOf } from '../../../core/planner/planned.ts'
import {
  type ContractTest,
  contractTest,
  estimates,
  evaluated,
  noiseOf,
  numbersOf,
  planCensus,
  taped,
} from '../evaluated.ts'

/** Contract of answers made of numbers. */
export const NUMBER_CONTRACT: readonly ContractTest[] = [
  contractTest('a table and its errors match a published example', async (module) => {
    // The true table, the published table (Laplace noise, rounded) and the errors in a public notebook,
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
      await module.evaluate({ plan: planned, exact: estimates(truth) }, { runs: 1, shown: 1, noiseSource }),
    )
    expect(shown[0]?.values.map(({ noisy }) => noisy)).toEqual([139, 146, 147, 167, 100, 94, 107, 94, 2, 7])
    const measured = truth.map((value, cell) => Number(value) + (noise[cell] ?? Number.NaN))
    expect(shown[0]?.values.map((each) => each.measured)).toEqual(measured)
    expect(shown[0]?.values.map((each) => each.truth)).toEqual(truth.map(Number))
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
  }),
  contractTest('a count over several runs', async (module) => {
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
        // 2 q^(h + 1) / (1 + q) is at most 0.05 for h >= 3.
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
          values: [
            { truth: 10, measured: 11, noisy: 11, halfWidth: 3, absoluteError: 1, relativeError: 0.1 },
          ],
          totals: [{ totalAbsoluteError: 1, relativeTotalErrorPercent: 10 }],
        },
        {
          values: [{ truth: 10, measured: 7, noisy: 7, halfWidth: 3, absoluteError: 3, relativeError: 0.3 }],
          totals: [{ totalAbsoluteError: 3, relativeTotalErrorPercent: 30 }],
        },
      ],
    })
  }),
  contractTest('a truth of 0 gives no relative errors', async (module) => {
    const { values, totals, shown } = await evaluated(
      { kind: 'histogram', column: 'Sex', postprocess: { nonNegative: true } },
      estimates([0n, 0n]),
      [2, -1],
      1,
      { module },
    )
    expect(shown[0]).toEqual({
      values: [
        {
          key: { Sex: 'M' },
          truth: 0,
          measured: 2,
          noisy: 2,
          halfWidth: 3,
          absoluteError: 2,
          relativeError: null,
        },
        {
          key: { Sex: 'F' },
          truth: 0,
          measured: -1,
          noisy: 0,
          halfWidth: 3,
          absoluteError: 0,
          relativeError: null,
        },
      ],
      totals: [{ totalAbsoluteError: 2, relativeTotalErrorPercent: null }],
    })
    expect(values[0]).toMatchObject({
      truth: 0,
      meanRelativeError: null,
      bias: { value: 2, theoretical: null },
    })
    expect(totals[0]?.relativeTotalErrorPercent).toEqual({ value: null, standardError: null })
  }),
  contractTest('a clamped answer is compared with the true value', async (module) => {
    const { values } = await evaluated(
      { kind: 'count', postprocess: { nonNegative: true } },
      estimates([1n]),
      [-3, -1],
      2,
      { module },
    )
    expect(values[0]).toMatchObject({ truth: 1, meanAbsoluteError: { value: 1 }, bias: { value: -1 } })
  }),
  contractTest('relative errors use the absolute value of a negative truth', async (module) => {
    const wire = { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'sum', column: 'Balance' }] }
    const options = { runs: 5, shown: 1, noiseSource: taped() }
    // Steps of 0.05; and Laplace noise has binary places below them.
    const evaluation = await module.evaluate(
      { plan: planOf({ ...wire, mechanism: 'laplace' }), exact: estimates([-1_000n, 600n]) },
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
  }),
  contractTest(
    'each statistic of groups has its own total, and a mean of no rows has no truth',
    async (module) => {
      const planned = planOf({
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Age' }],
        mechanism: 'geometric',
      })
      // Two men of 50 and 40 (half steps from 60: -20 - 40), and no women.
      const exact = estimates([2n, 0n], [-60n, 0n])
      const { values, totals, shown } = numbersOf(
        await module.evaluate({ plan: planned, exact }, { runs: 50, shown: 1, noiseSource: taped() }),
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
      // A bound over two rows: the expected error of the sum less 60 times the count, at half the epsilon each. A row
      // moves the sum by 120 half steps. For Laplace variables of scales a and b it is (a^2 + a b + b^2) / (a + b).
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
  ),
]
