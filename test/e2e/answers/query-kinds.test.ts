import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { answer as answerSchema, preview as previewSchema } from '../../../schemas/answers/answer.ts'
import { censusRegistration } from '../../../src/datasets/registration/demo.ts'
import { generatePopulation } from '../../../src/datasets/registration/sources/population.ts'
import { epsilonOf } from '../../balances.ts'
import { testService } from '../service.ts'

const people = [...generatePopulation(censusRegistration.source)]
const service = testService({ SOTTO_DEMO: 'true' })
beforeAll(async () => {
  const visits = [
    ...Array.from({ length: 1500 }, () => 'influenza'),
    ...Array.from({ length: 400 }, () => 'sprain'),
    ...Array.from({ length: 60 }, () => ''),
    ...Array.from({ length: 200 }, (_, index) => `rare disease ${index}`),
  ]
  await writeFile(
    path.join(service.dataDirectory, 'visits.csv'),
    ['Visit,Diagnosis', ...visits.map((text, visit) => `${visit},${text}`), ''].join('\n'),
  )
  await service
    .register({
      id: 'visits',
      title: 'Visits to a hospital',
      timing: 'off',
      source: { kind: 'file', path: 'visits.csv', format: 'csv' },
      columns: [
        { name: 'Visit', type: 'integer', lower: 0, upper: 10_000 },
        { name: 'Diagnosis', type: 'string', selectable: true, nullable: true },
      ],
      privacyUnit: { kind: 'row' },
      neighbours: 'change-one',
      budget: { epsilon: 20, delta: 1e-4 },
    })
    .expect(201)
})

/** Previews a query and asks it. Both must state the same cost and noise. */
async function ask(query: object, dataset = 'census') {
  const request = (call: string) => service.as('analyst').post(`/v1/datasets/${dataset}/${call}`).send(query)
  const previewed = previewSchema.parse((await request('queries/preview').expect(200)).body)
  const answered = answerSchema.parse((await request('queries').expect(200)).body)
  expect(answered.cost).toEqual(previewed.cost)
  expect(answered.noise).toEqual(previewed.noise)
  return answered
}

async function askForValue(query: object, dataset?: string) {
  const { result, accuracy } = await ask(query, dataset)
  if (!('value' in result)) throw new Error('one value was asked for')
  return { value: Number(result.value), halfWidth: accuracy.halfWidth ?? Number.NaN }
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
const variance = (values: readonly number[]) => {
  const middle = mean(values)
  return mean(values.map((value) => (value - middle) ** 2))
}
const ages = people.map(({ age }) => age)
const married = { column: 'Married', op: '=', value: 'M' }

describe('answers are within the stated accuracy', () => {
  test.each([
    ['a variance', { kind: 'variance', column: 'Age', epsilon: 0.1 }, variance(ages)],
    [
      'a standard deviation',
      { kind: 'standardDeviation', column: 'Age', epsilon: 0.1 },
      Math.sqrt(variance(ages)),
    ],
    [
      'a Gaussian one',
      { kind: 'standardDeviation', column: 'Age', epsilon: 0.1, delta: 1e-7, mechanism: 'gaussian' },
      Math.sqrt(variance(ages)),
    ],
    [
      'a proportion',
      { kind: 'proportion', of: married, epsilon: 0.1 },
      people.filter(({ married: status }) => status === 'M').length / people.length,
    ],
    ['a count of distinct values', { kind: 'countDistinct', column: 'Occupation', epsilon: 1 }, 5],
    [
      'a count of distinct bins, of which one is empty',
      { kind: 'countDistinct', column: { column: 'Age', edges: [0, 45, 110, 120] }, epsilon: 1 },
      2,
    ],
  ])('%s', async (_name, query, truth) => {
    const { value, halfWidth } = await askForValue(query)
    // Fifteen half-widths: the noise exceeds them with a probability below 1e-18.
    expect(Math.abs(value - truth)).toBeLessThan(15 * halfWidth)
    expect(halfWidth).toBeLessThan(Math.max(5, truth))
  })

  test('several statistics of each group, at the price of one group', async () => {
    const { result, cost } = await ask({
      kind: 'groupBy',
      keys: ['Sex', 'Married'],
      where: { column: 'Age', op: '>=', value: 30 },
      statistics: [
        { kind: 'count' },
        { kind: 'sum', column: 'Age' },
        { kind: 'mean', column: 'Age' },
        { kind: 'standardDeviation', column: 'Age' },
      ],
      epsilon: 1,
    })
    if (!('groups' in result)) throw new Error('groups were asked for')
    expect(cost).toEqual({ epsilon: 1, delta: 0 })
    expect(result.groups).toHaveLength(10)
    for (const { key, values } of result.groups) {
      const group = people
        .filter(({ age, sex, married: status }) => age >= 30 && sex === key.Sex && status === key.Married)
        .map(({ age }) => age)
      const truths = {
        count: group.length,
        sum_Age: group.length * mean(group),
        mean_Age: mean(group),
        standardDeviation_Age: Math.sqrt(variance(group)),
      }
      expect(Object.keys(values)).toEqual(Object.keys(truths))
      for (const [name, truth] of Object.entries(truths)) {
        const { value, halfWidth } = values[name] ?? { value: Number.NaN, halfWidth: 0 }
        expect(Math.abs(Number(value) - truth), `${JSON.stringify(key)} ${name}`).toBeLessThan(15 * halfWidth)
      }
    }
  })
})

describe('statistics of two columns', () => {
  const earnings = people.map((person) => person.earnings)
  const [ageMean, earningsMean] = [mean(ages), mean(earnings)]
  const covariance = mean(people.map((person) => (person.age - ageMean) * (person.earnings - earningsMean)))
  const columns = ['Age', 'Earnings']

  test('a covariance and a correlation are within the stated accuracy', async () => {
    const measured = await askForValue({ kind: 'covariance', columns, epsilon: 0.2 })
    expect(Math.abs(measured.value - covariance)).toBeLessThan(15 * measured.halfWidth)
    const correlation = covariance / Math.sqrt(variance(ages) * variance(earnings))
    const { value, halfWidth } = await askForValue({ kind: 'correlation', columns, epsilon: 0.8 })
    expect(Math.abs(value - correlation)).toBeLessThan(15 * halfWidth)
    expect(halfWidth).toBeLessThan(0.1)
  })

  test('a regression has an intercept and a slope', async () => {
    const wire = { kind: 'linearRegression', outcome: 'Earnings', predictors: ['Age'], epsilon: 0.5 }
    const { result } = await ask(wire)
    if (!('coefficients' in result)) throw new Error('a regression was asked for')
    const slope = covariance / variance(ages)
    const [found] = result.coefficients
    expect(result.coefficients.map(({ column }) => column)).toEqual(['Age'])
    expect(Math.abs((found?.value ?? Number.NaN) - slope)).toBeLessThan(15 * (found?.halfWidth ?? 0))
    const intercept = earningsMean - slope * ageMean
    expect(Math.abs(result.intercept.value - intercept)).toBeLessThan(15 * (result.intercept.halfWidth ?? 0))
    expect(result.ridge).toBeCloseTo(10, 3)
  })
})

describe('clamps', () => {
  const clampedTo = (upper: number) =>
    people.reduce((sum, { earnings }) => sum + Math.min(earnings, upper), 0)

  test('of a sum and a mean give those of the clamped values, at less noise', async () => {
    const clamp = { lower: 0, upper: 200_000 }
    const sum = await askForValue({ kind: 'sum', column: 'Earnings', clamp, epsilon: 0.2 })
    expect(Math.abs(sum.value - clampedTo(200_000))).toBeLessThan(8 * sum.halfWidth)
    expect(sum.halfWidth).toBeLessThan(3_100_000)
    const average = await askForValue({ kind: 'mean', column: 'Earnings', clamp, epsilon: 0.2 })
    expect(Math.abs(average.value - clampedTo(200_000) / people.length)).toBeLessThan(8 * average.halfWidth)
  })

  test('are found by a question whose next epsilon is chosen again for nothing', async () => {
    const wire = { kind: 'bounds', column: 'Earnings', nextEpsilon: 0.01, epsilon: 0.1 }
    const first = await ask(wire)
    const again = answerSchema.parse(
      (
        await service
          .as('analyst')
          .post('/v1/datasets/census/queries')
          .send({ ...wire, nextEpsilon: 1 })
          .expect(200)
      ).body,
    )
    expect(again.id).toBe(first.id)
    const clampsIn = ({ result }: typeof first) => ('cells' in result ? result.clamps : undefined)
    expect(clampsIn(first)?.nextEpsilon).toBe(0.01)
    expect(clampsIn(again)?.nextEpsilon).toBe(1)
    const upperOf = (answered: typeof first) => Number(clampsIn(answered)?.recommended.sum?.upper)
    expect(upperOf(again)).toBeGreaterThanOrEqual(upperOf(first))
    const { candidates = [] } = clampsIn(again) ?? {}
    for (const { upper, sum } of candidates.filter((each) => Number(each.upper) < 200_000)) {
      const cut = clampedTo(10_000_000) - clampedTo(Number(upper))
      expect(Number(sum?.bias) / cut).toBeGreaterThan(0.5)
      expect(Number(sum?.bias) / cut).toBeLessThan(2)
    }
  })

  test('beyond the declared bounds are refused by their field and cost nothing', async () => {
    const { body } = await service
      .as('analyst')
      .post('/v1/datasets/census/queries')
      .send({ kind: 'sum', column: 'Earnings', clamp: { lower: -1, upper: 5 }, epsilon: 0.1 })
      .expect(422)
    expect(body.errors[0].field).toBe('clamp.lower')
  })
})

describe('groups', () => {
  test('the largest groups come with their counts', async () => {
    const { result } = await ask({ kind: 'topGroups', keys: ['Married', 'Sex'], k: 2, epsilon: 0.2 })
    const countOf = (key: Readonly<Record<string, unknown>>) =>
      people.filter(({ married: status, sex }) => status === key.Married && sex === key.Sex).length
    if (!('cells' in result)) throw new Error('groups were asked for')
    expect(result.cells).toHaveLength(2)
    for (const { key, value } of result.cells) expect(Math.abs(value - countOf(key))).toBeLessThan(300)
    expect(result.cells.map(({ key }) => key.Married)).toEqual(['M', 'M'])
  })

  test('medians, percentiles and shares of each group are near the truth', async () => {
    const { result, cost } = await ask({
      kind: 'groupBy',
      keys: ['Sex'],
      statistics: [
        { kind: 'median', column: 'Earnings' },
        { kind: 'percentile', column: 'Age', p: 90 },
        { kind: 'proportion', of: married, name: 'married' },
      ],
      epsilon: 0.8,
    })
    if (!('groups' in result)) throw new Error('groups were asked for')
    expect(cost).toEqual({ epsilon: 0.8, delta: 0 })
    for (const { key, values } of result.groups) {
      const group = people.filter(({ sex }) => sex === key.Sex)
      const rankOf = (value: unknown, numbers: readonly number[]) =>
        numbers.filter((number) => number < Number(value)).length
      const { median_Earnings: median, percentile_90_Age: percentile, married: share } = values
      const earnings = group.map((person) => person.earnings)
      expect(Math.abs(rankOf(median?.value, earnings) - group.length / 2)).toBeLessThan(1500)
      expect(median?.unit).toBe('rows')
      const inRange = group.filter(({ age }) => age <= Number(percentile?.value)).length
      expect(inRange).toBeGreaterThan(0.88 * group.length)
      const truth = group.filter(({ married: status }) => status === 'M').length / group.length
      expect(Math.abs(Number(share?.value) - truth)).toBeLessThan(15 * (share?.halfWidth ?? 0))
    }
  })
})

describe('selections', () => {
  test.each(['laplace', 'exponential', 'gumbel'] as const)(
    'the largest category, with %s noise',
    async (noise) => {
      const { result } = await ask({
        kind: 'noisyMax',
        candidates: { column: 'Married' },
        noise,
        epsilon: 0.05,
      })
      // 14,000 rows ahead at a scale of 20 rows.
      expect(result).toEqual({ selected: [{ candidate: 'M' }] })
    },
  )

  test('the best of predicates, in order, with gaps', async () => {
    const atLeast = (value: number) => ({
      name: `at least ${value}`,
      where: { column: 'Age', op: '>=', value },
    })
    const { result } = await ask({
      kind: 'noisyMax',
      candidates: { predicates: [atLeast(60), atLeast(20), atLeast(40), atLeast(50)] },
      k: 2,
      gap: true,
      epsilon: 0.2,
    })
    const count = (least: number) => ages.filter((age) => age >= least).length
    const gaps = [count(20) - count(40), count(40) - count(50)]
    expect(result).toEqual({
      selected: [
        { candidate: 'at least 20', gap: expect.any(Number) },
        { candidate: 'at least 40', gap: expect.any(Number) },
      ],
    })
    if (!('selected' in result)) throw new Error('a selection was asked for')
    for (const [place, truth] of gaps.entries())
      expect(Math.abs((result.selected[place]?.gap ?? 0) - truth)).toBeLessThan(1000)
  })

  test.each([
    ['a median', { kind: 'median' }, 45, 45],
    ['a percentile', { kind: 'percentile', p: 97.5 }, 64, 66],
    ['a minimum, a few rows from the end', { kind: 'minimum' }, 0, 22],
    ['a maximum, likewise', { kind: 'maximum' }, 70, 120],
  ])('%s', async (_name, query, lowest, highest) => {
    const { value } = await askForValue({ ...query, column: 'Age', epsilon: 0.1 })
    expect(value).toBeGreaterThanOrEqual(lowest)
    expect(value).toBeLessThanOrEqual(highest)
  })

  test('the median of a wide grid', async () => {
    const { value } = await askForValue({ kind: 'median', column: 'Earnings', epsilon: 0.1 })
    const sorted = people.map(({ earnings }) => earnings).sort((a, b) => a - b)
    // 2,000 of 100,000 rows to either side, at a scale of 20 rows.
    expect(value).toBeGreaterThan(sorted[48_000] ?? 0)
    expect(value).toBeLessThan(sorted[52_000] ?? 0)
  })

  test('several percentiles, in the requested order and never decreasing', async () => {
    const { result, noise } = await ask({ kind: 'percentile', column: 'Age', p: [75, 25, 50], epsilon: 0.3 })
    if (!('percentiles' in result) || 'groups' in result) throw new Error('percentiles were asked for')
    expect(result.percentiles.map(({ p }) => p)).toEqual([75, 25, 50])
    const [upper, lower, middle] = result.percentiles.map(({ value }) => value)
    expect([lower, middle, upper]).toEqual([38, 45, 52])
    expect(noise).toMatchObject({ quantiles: [{ epsilon: 0.1 }, { epsilon: 0.1 }, { epsilon: 0.1 }] })
  })
})

describe('undeclared keys', () => {
  const query = { kind: 'keySelection', column: 'Diagnosis', epsilon: 1, delta: 1e-8 }

  test('common keys appear, rare keys do not', async () => {
    const { result, accuracy } = await ask(query, 'visits')
    expect(result).toEqual({ keys: [{ key: 'influenza' }, { key: 'sprain' }], truncated: false })
    expect(accuracy.rowsToAppear).toBeLessThan(100)
  })

  test('with their counts', async () => {
    const { result, cost } = await ask({ ...query, counts: true }, 'visits')
    if (!('keys' in result)) throw new Error('keys were asked for')
    expect(result.keys.map(({ key }) => key)).toEqual(['influenza', 'sprain'])
    expect(Math.abs((result.keys[0]?.count ?? 0) - 1500)).toBeLessThan(120)
    expect(cost).toEqual({ epsilon: 1, delta: 1e-8 })
  })
})

describe('accuracy first', () => {
  test('the smallest epsilon is found, previewed and charged', async () => {
    const wanted = { kind: 'count', accuracy: { halfWidth: 25, confidence: 0.99 }, use: 'fresh' }
    const { cost, accuracy } = await ask(wanted)
    expect(accuracy).toMatchObject({ confidence: 0.99, halfWidth: 25 })
    const at = async (epsilon: number) =>
      (
        await service
          .as('analyst')
          .post('/v1/datasets/census/queries/preview')
          .send({ kind: 'count', epsilon })
      ).body
    expect((await at(epsilonOf(cost))).noise.scale).toBeLessThan(
      (await at(Number((epsilonOf(cost) - 1e-9).toFixed(9)))).noise.scale,
    )
  })

  test('both epsilon and accuracy, or neither, are refused', async () => {
    const refusal = async (query: object) =>
      (await service.ask('census', query).expect(400)).body.errors[0].field
    expect(await refusal({ kind: 'count' })).toBe('epsilon')
    expect(await refusal({ kind: 'count', epsilon: 1, accuracy: { halfWidth: 5 } })).toBe('accuracy')
  })
})
