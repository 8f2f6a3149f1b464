import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { answer as answerSchema, preview as previewSchema } from '../../../schemas/answers/answer.ts'
import { testService } from '../service.ts'

const service = testService()

/** Waiting times of patients, who have up to 40 rows: row i is that of patient floor(root(i)). Some times are missing. */
const visits = Array.from({ length: 2_000 }, (_, row) => ({
  patient: `p${Math.floor(Math.sqrt(row))}`,
  minutes: row % 7 === 3 ? undefined : (row * row * 31) % 1_024,
  urgent: row % 3 === 0,
}))

beforeAll(async () => {
  const lines = visits.map(({ patient, minutes = '', urgent }) => `${patient},${minutes},${urgent}`)
  await writeFile(
    path.join(service.dataDirectory, 'waits.csv'),
    ['patient,minutes,urgent', ...lines, ''].join('\n'),
  )
  const register = (facts: object) =>
    service
      .register({
        title: 'Waiting times',
        timing: 'off',
        source: { kind: 'file', path: 'waits.csv', format: 'csv' },
        neighbours: 'add-remove',
        budget: { epsilon: 20_000, delta: 1e-4 },
        separateBudget: 'one table in several forms',
        ...facts,
      })
      .expect(201)
  const minutes = { name: 'minutes', type: 'integer', lower: 0, upper: 1_023, nullable: true }
  const urgent = { name: 'urgent', type: 'boolean' }
  const text = { name: 'patient', type: 'string' }
  await register({ id: 'rows', columns: [text, minutes, urgent], privacyUnit: { kind: 'row' } })
  await register({
    id: 'rho',
    columns: [text, minutes, urgent],
    privacyUnit: { kind: 'row' },
    accounting: 'zcdp',
  })
  await register({
    id: 'people',
    columns: [{ name: 'patient', type: 'identifier' }, minutes, urgent],
    privacyUnit: { kind: 'person', column: 'patient', maxRows: 100 },
  })
})

const WAITS = { kind: 'cumulativeCounts', column: 'minutes' }

async function ask(query: object, dataset = 'rows') {
  const { body } = await service.as('analyst').post(`/v1/datasets/${dataset}/queries`).send(query).expect(200)
  return answerSchema.parse(body)
}

const groupsOf = ({ result }: Awaited<ReturnType<typeof ask>>) => {
  if (!('groups' in result)) throw new Error('groups are shown')
  return result.groups.map(({ key, values }) => ({
    span: key.minutes as { lower: number; upper: number; upperIncluded?: true },
    value: Number(values.count?.value),
    halfWidth: values.count?.halfWidth ?? Number.NaN,
  }))
}

/** At an epsilon of 1,000 the noise is far below 1/2: rounded, each count is the exact number of rows. */
test.each([
  ['each value', 'rows', {}],
  ['urgent rows', 'rows', { where: { column: 'urgent', op: '=', value: true } }],
  ['edges', 'rows', { column: { column: 'minutes', edges: [10, 100, 101, 1_000] } }],
  ['rows of people', 'people', { column: { column: 'minutes', edges: [0, 512, 1_023] } }],
])('counts agree with the rows: %s', async (_, dataset, wire) => {
  for (const { span, value, halfWidth } of groupsOf(
    await ask({ ...WAITS, ...wire, epsilon: 1_000 }, dataset),
  )) {
    const { lower, upper, upperIncluded = false } = span
    const truth = visits.filter(
      ({ minutes = -1, urgent }) =>
        minutes >= lower &&
        (upperIncluded ? minutes <= upper : minutes < upper) &&
        (!('where' in wire) || urgent),
    ).length
    expect(halfWidth).toBeLessThan(dataset === 'people' ? 2 : 0.1)
    expect(Math.abs(value - truth)).toBeLessThan(dataset === 'people' ? 20 : 0.5)
  }
})

test('the preview of 1,024 counts at rho = 1/2 states an error of 3.7 or less', async () => {
  const { body } = await service
    .as('analyst')
    .post('/v1/datasets/rho/queries/preview')
    .send({ ...WAITS, epsilon: 4.88, delta: 1e-6 })
    .expect(200)
  const { price, accuracy } = previewSchema.parse(body)
  expect(price).toEqual({ rho: expect.closeTo(0.5, 2) })
  expect('rho' in price && price.rho).toBeLessThan(0.5)
  expect(accuracy.rootMeanSquaredError).toBeLessThan(3.7)
})

test('other quantiles of an answer are a repeat, which costs nothing', async () => {
  const first = await ask({ ...WAITS, epsilon: 0.5, p: [50] })
  const again = await ask({ ...WAITS, epsilon: 0.5, p: [25, 75] })
  expect(again.id).toBe(first.id)
  expect(again.cost).toEqual({ epsilon: 0, delta: 0 })
  expect(groupsOf(again)).toEqual(groupsOf(first))
  const { result } = again
  if (!('groups' in result && 'percentiles' in result)) throw new Error('quantiles are shown')
  const [lower, upper] = result.percentiles ?? []
  expect(lower).toMatchObject({ p: 25 })
  expect(Number(lower?.interval.lower)).toBeLessThan(Number(lower?.interval.upper))
  expect(Number(lower?.value)).toBeLessThan(Number(upper?.value))
})

test('ranges of an answer are counts between its edges, with less noise than two counts, and cost nothing', async () => {
  const column = { column: 'minutes', edges: [0, 100, 101, 512, 1_023] }
  const ranges = [
    { lower: 0, upper: 100 },
    { lower: 101, upper: 1_023 },
  ]
  const first = await ask({ ...WAITS, column, epsilon: 1_000 })
  const { cost, result, id } = await ask({ ...WAITS, column, epsilon: 1_000, ranges })
  expect([id, cost]).toEqual([first.id, { epsilon: 0, delta: 0 }])
  if (!('groups' in result && 'ranges' in result)) throw new Error('ranges are shown')
  const truths = [[0, 100] as const, [101, 1_024] as const].map(
    ([lower, end]) => visits.filter(({ minutes = -1 }) => minutes >= lower && minutes < end).length,
  )
  const found = result.ranges ?? []
  expect(found.map(({ range }) => range)).toEqual([ranges[0], { ...ranges[1], upperIncluded: true }])
  expect(found.map(({ value }) => Math.round(value))).toEqual(truths)
  const [firstCell] = groupsOf(first)
  expect(found[0]).toMatchObject({
    value: firstCell?.value,
    halfWidth: expect.closeTo(firstCell?.halfWidth ?? 0, 6),
  })
})

test.each([
  ['an edge that there is not', {}, [{ lower: 0, upper: 5_000 }], 'ranges.0.upper'],
  [
    'an end before its start',
    {},
    [
      { lower: 0, upper: 1 },
      { lower: 7, upper: 3 },
    ],
    'ranges.1.upper',
  ],
  [
    'an empty range of bins',
    { column: { column: 'minutes', edges: [0, 9, 90] } },
    [{ lower: 9, upper: 9 }],
    'ranges.0.upper',
  ],
  [
    'a value that is no edge',
    { column: { column: 'minutes', edges: [0, 9, 90] } },
    [{ lower: 3, upper: 9 }],
    'ranges.0.lower',
  ],
])('a range is refused with %s', async (_, wire, ranges, field) => {
  const { body } = await service
    .as('analyst')
    .post('/v1/datasets/rows/queries')
    .send({ ...WAITS, ...wire, ranges, epsilon: 1 })
    .expect(422)
  expect(body).toMatchObject({ code: 'query-does-not-fit', errors: [{ field }] })
})

test('a count of a range follows from a paid curve as precisely as the range', async () => {
  const ranges = [{ lower: 200, upper: 743 }]
  const paid = await ask({ ...WAITS, epsilon: 0.25, delta: 1e-6, ranges }, 'rho')
  const where = { column: 'minutes', op: 'between', lower: 200, upper: 743 }
  const free = await ask({ kind: 'count', where, epsilon: 0.25, use: 'free' }, 'rho')
  expect(free.cost).toEqual({ rho: 0 })
  expect(free.inference?.releases.map(({ id }) => id)).toEqual([paid.id])
  const [range] = 'ranges' in paid.result ? (paid.result.ranges ?? []) : []
  expect(free.result).toEqual({ value: expect.closeTo(range?.value ?? Number.NaN, 6) })
  expect((free.accuracy.halfWidth ?? Number.NaN) / (range?.halfWidth ?? Number.NaN)).toBeCloseTo(1, 2)
})
