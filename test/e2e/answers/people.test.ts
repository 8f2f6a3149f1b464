import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  answer as answerSchema,
  batchAnswer as batchSchema,
  preview as previewSchema,
} from '../../../schemas/answers/answer.ts'
import { openedSession } from '../../../schemas/answers/sparse-vector.ts'
import { epsilonOf } from '../../balances.ts'
import { testService } from '../service.ts'

/*
 * Queries about people with several rows, over HTTP: each is previewed, answered near the truth, and states the
 * contribution of each person.
 */

const MAX_ROWS = 6
const REGIONS = ['N', 'E', 'S']
/** The visits of each patient: 1 to 6, with a cost of 1 to 50. */
const PATIENTS = Array.from({ length: 900 }, (_, patient) => ({
  region: REGIONS[patient % 3] ?? '',
  costs: Array.from(
    { length: 1 + (patient % MAX_ROWS) },
    (_unused, visit) => 1 + ((7 * patient + 11 * visit) % 50),
  ),
}))
/** Everyone has this diagnosis at the first visit, and one that nobody else has at the last. */
const diagnosisOf = (patient: number, visit: number) => (visit === 0 ? 'influenza' : `case ${patient}`)

const service = testService()
beforeAll(async () => {
  const rows = PATIENTS.flatMap(({ region, costs }, patient) =>
    costs.map((cost, visit) => `p${patient},${region},${visit + 1},${cost},${diagnosisOf(patient, visit)}`),
  )
  await writeFile(
    path.join(service.dataDirectory, 'visits.csv'),
    ['patient,Region,Visit,Cost,Diagnosis', ...rows, ''].join('\n'),
  )
  await register('visits', 'add-remove')
  await register('replaced', 'change-one')
})

async function register(id: string, neighbours: string) {
  await service
    .register({
      id,
      title: 'Visits',
      timing: 'off',
      source: { kind: 'file', path: 'visits.csv', format: 'csv' },
      columns: [
        { name: 'patient', type: 'identifier' },
        { name: 'Region', type: 'category', categories: REGIONS, constantPerPerson: true },
        { name: 'Visit', type: 'integer', lower: 1, upper: MAX_ROWS },
        { name: 'Cost', type: 'integer', lower: 0, upper: 100 },
        { name: 'Diagnosis', type: 'string', selectable: true },
      ],
      privacyUnit: { kind: 'person', column: 'patient', maxRows: MAX_ROWS },
      neighbours,
      budget: { epsilon: 1_000, delta: 1e-4 },
      separateBudget: 'the same visits under both kinds of neighbours',
    })
    .expect(201)
}

const send = (call: string, body: object) => service.as('analyst').post(`/v1/datasets/${call}`).send(body)

/** Previews a query and asks it. Both state the same cost, noise and contribution. */
async function ask(query: object, dataset: string) {
  const previewed = previewSchema.parse((await send(`${dataset}/queries/preview`, query).expect(200)).body)
  const answered = answerSchema.parse((await send(`${dataset}/queries`, query).expect(200)).body)
  expect(answered.cost).toEqual(previewed.cost)
  expect(answered.noise).toEqual(previewed.noise)
  expect(answered.contribution).toEqual(previewed.contribution)
  return answered
}

const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)
const mean = (numbers: readonly number[]) => total(numbers) / numbers.length
const visits = total(PATIENTS.map(({ costs }) => costs.length))
const bounded = (most: number) => total(PATIENTS.map(({ costs }) => Math.min(most, costs.length)))
const totals = PATIENTS.map(({ costs }) => total(costs))
const clamp = { rows: MAX_ROWS, perPerson: { lower: 0, upper: 60 } }
const clamped = total(totals.map((each) => Math.min(60, each)))

describe.each(['visits', 'replaced'])('of %s', (dataset) => {
  test.each<readonly [query: object, truth: number, contribution: object]>([
    [{ kind: 'count' }, visits, { rows: 6, factor: 6 }],
    [{ kind: 'count', of: 'people' }, PATIENTS.length, { rows: 6, factor: 1 }],
    [{ kind: 'count', contribution: { rows: 2 } }, bounded(2), { rows: 2, factor: 2 }],
    [
      { kind: 'count', of: 'people', where: { column: 'Visit', op: '>=', value: 4 } },
      PATIENTS.filter(({ costs }) => costs.length >= 4).length,
      { rows: 6, factor: 1 },
    ],
    [{ kind: 'sum', column: 'Cost' }, total(totals), { rows: 6, factor: 6 }],
    [{ kind: 'sum', column: 'Cost', contribution: clamp }, clamped, { ...clamp, factor: 0.6 }],
    [{ kind: 'mean', column: 'Cost', contribution: clamp }, clamped / visits, { ...clamp, factor: 6 }],
    [{ kind: 'mean', column: 'Visit', perPerson: 'count' }, visits / PATIENTS.length, { rows: 6, factor: 1 }],
    [
      { kind: 'mean', column: 'Cost', perPerson: 'mean' },
      mean(PATIENTS.map(({ costs }) => Math.floor(mean(costs) + 0.5))),
      { rows: 6, factor: 1 },
    ],
    [{ kind: 'mean', column: 'Cost', perPerson: 'sum' }, mean(totals), { rows: 6, factor: 6 }],
  ])('%j is near %d', async (query, truth, contribution) => {
    const answered = await ask({ ...query, epsilon: 1 }, dataset)
    const { result, accuracy } = answered
    if (!('value' in result) || accuracy.halfWidth === null) throw new Error('one value was asked for')
    // Fifteen half-widths: the noise exceeds them with a probability below 1e-18.
    expect(Math.abs(Number(result.value) - truth)).toBeLessThan(15 * accuracy.halfWidth)
    expect(accuracy.halfWidth).toBeLessThan(truth / 4)
    const replaced = dataset === 'replaced'
    if (replaced)
      expect(answered.contribution).toMatchObject({ rows: expect.any(Number), factor: expect.any(Number) })
    else expect(answered.contribution).toEqual(contribution)
  })

  test('a table counts people and rows, within the groups of each person', async () => {
    const { result } = await ask(
      {
        kind: 'groupBy',
        keys: ['Region'],
        statistics: [
          { kind: 'count' },
          { kind: 'count', of: 'people' },
          { kind: 'mean', column: 'Cost', perPerson: 'sum' },
        ],
        contribution: { groups: 1, rowsPerGroup: MAX_ROWS },
        epsilon: 10,
      },
      dataset,
    )
    if (!('groups' in result)) throw new Error('groups were asked for')
    for (const { key, values } of result.groups) {
      const own = PATIENTS.filter(({ region }) => region === key.Region)
      const truths = {
        count: total(own.map(({ costs }) => costs.length)),
        count_people: own.length,
        mean_perPerson_sum_Cost: mean(own.map(({ costs }) => total(costs))),
      }
      expect(Object.keys(values)).toEqual(Object.keys(truths))
      for (const [name, truth] of Object.entries(truths)) {
        const { value, halfWidth } = values[name] ?? { value: Number.NaN, halfWidth: 0 }
        expect(Math.abs(Number(value) - truth), name).toBeLessThan(15 * halfWidth)
      }
    }
  })

  test('quantiles of people, and the best of candidates by people', async () => {
    const { result, accuracy } = await ask(
      { kind: 'median', column: 'Cost', perPerson: 'sum', epsilon: 5 },
      dataset,
    )
    if (!('value' in result)) throw new Error('one value was asked for')
    expect(accuracy.unit).toBe('people')
    const below = totals.filter((each) => each < Number(result.value)).length
    expect(Math.abs(below - PATIENTS.length / 2)).toBeLessThan(100)
    const best = await ask(
      {
        kind: 'noisyMax',
        of: 'people',
        candidates: {
          predicates: [1, 6].map((visit) => ({
            name: `visit ${visit}`,
            where: { column: 'Visit', op: '=', value: visit },
          })),
        },
        epsilon: 5,
      },
      dataset,
    )
    expect(best.result).toEqual({ selected: [{ candidate: 'visit 1' }] })
    expect(best.accuracy.unit).toBe('people')
  })

  test('the keys of many people, none of which identifies one', async () => {
    const { result, accuracy } = await ask(
      { kind: 'keySelection', column: 'Diagnosis', counts: true, epsilon: 5, delta: 1e-9 },
      dataset,
    )
    if (!('keys' in result)) throw new Error('keys were asked for')
    expect(result.keys.map(({ key }) => key)).toEqual(['influenza'])
    expect(Math.abs((result.keys[0]?.count ?? 0) - PATIENTS.length)).toBeLessThan(100)
    expect(accuracy.peopleToAppear).toBeGreaterThan(1)
  })

  test('a session counts people', async () => {
    const request = { threshold: 500, positives: 1, epsilon: 5, of: 'people' }
    const opened = await send(`${dataset}/sparse-vector-sessions`, request).expect(201)
    expect(openedSession.parse(opened.body)).toMatchObject({
      of: 'people',
      contribution: { rows: 6, factor: 1 },
    })
    const { body } = await service
      .as('analyst')
      .post(`/v1/sparse-vector-sessions/${opened.body.id}/questions`)
      .send({ where: { column: 'Visit', op: '>=', value: 1 } })
      .expect(200)
    expect(body.above).toBe(true)
    // 900 people made 3,150 visits.
    expect(Math.abs(500 + body.gap - PATIENTS.length)).toBeLessThan(100)
  })
})

test('distinct values of free text, each person with some of them', async () => {
  const query = { kind: 'countDistinct', column: 'Diagnosis', contribution: { groups: 2 }, epsilon: 5 }
  const { result, accuracy, contribution } = await ask(query, 'visits')
  if (!('value' in result) || accuracy.halfWidth === null) throw new Error('one value was asked for')
  const own = PATIENTS.filter(({ costs }) => costs.length > 1).length
  expect(Math.abs(Number(result.value) - (1 + own))).toBeLessThan(15 * accuracy.halfWidth)
  expect(contribution).toEqual({ groups: 2, rowsPerGroup: 1, factor: 2 })
})

test('a batch shares a price between regions, which separate people, and not between visits', async () => {
  const count = (where: object) => ({ kind: 'count', of: 'people', where, epsilon: 0.1 })
  const byRegion = REGIONS.map((value) => count({ column: 'Region', op: '=', value }))
  const byVisit = REGIONS.map((_, visit) => count({ column: 'Visit', op: '=', value: visit + 1 }))
  const priceOf = async (queries: object[]) => {
    const { body } = await send('visits/queries/batch', { queries }).expect(200)
    return epsilonOf(batchSchema.parse(body).cost)
  }
  expect(await priceOf(byRegion)).toBe(0.1)
  expect(await priceOf(byVisit)).toBeCloseTo(0.3, 9)
})

test.each<readonly [query: object, field: string]>([
  [{ kind: 'count', contribution: { rows: MAX_ROWS + 1 } }, 'contribution.rows'],
  [{ kind: 'count', contribution: { rows: 0 } }, 'contribution.rows'],
  [{ kind: 'count', contribution: { rows: 1_000_001 } }, 'contribution.rows'],
  [{ kind: 'count', contribution: { groups: 1 } }, 'contribution.groups'],
  [{ kind: 'count', contribution: { perPerson: { lower: 0, upper: 1 } } }, 'contribution.perPerson'],
  [
    { kind: 'sum', column: 'Cost', contribution: { perPerson: { lower: 2, upper: 1 } } },
    'contribution.perPerson.upper',
  ],
  [{ kind: 'histogram', column: 'patient' }, 'column'],
  [{ kind: 'count', where: { column: 'patient', op: '=', value: 'p1' } }, 'where.column'],
])('a query that does not fit names the field and costs nothing: %j', async (query, field) => {
  const spent = async () =>
    (await service.as('custodian').get('/v1/datasets/visits/budget').expect(200)).body.spent
  const before = await spent()
  const { status, body } = await send('visits/queries', { ...query, epsilon: 1 })
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
  expect(body.errors.map((error: { readonly field: string }) => error.field)).toEqual([field])
  expect(await spent()).toEqual(before)
})
