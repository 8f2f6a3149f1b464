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
