import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import seedrandom from 'seedrandom'
import { beforeAll, describe, expect, test } from 'vitest'
import { answer as answerSchema, preview as previewSchema } from '../../../schemas/answers/answer.ts'
import { dataset as datasetSchema } from '../../../schemas/datasets/dataset.ts'
import type { Interval } from '../../../src/core/dataset/dataset.ts'
import { epsilonOf } from '../../balances.ts'
import { testService } from '../service.ts'

/*
 * Flights of planes, of which some have far more than the dataset keeps: what is left out is measured, published, and stated
 * with every answer, so that a known total lies within what the answer states.
 */

const MAX_ROWS = 100
const ORIGINS = ['EWR', 'JFK', 'LGA']
const MOST = 2_500
const DISTANCE = 1_000

/** The flights of 1,200 made-up planes with 1 to 2,500 flights each. The busy planes fly in summer. */
const FLIGHTS = (() => {
  const random = seedrandom('flights')
  return Array.from({ length: 1_200 }, (_, plane) => {
    const flights = Math.max(1, Math.round(MOST / (1 + plane / 8)))
    return Array.from({ length: flights }, () => ({
      plane,
      origin: ORIGINS[Math.floor(3 * random() ** 1.5)] ?? '',
      month: flights > MAX_ROWS ? 6 + Math.floor(3 * random()) : 1 + Math.floor(12 * random()),
      distance: Math.round(DISTANCE * random()),
      late: random() < 0.3,
    }))
  }).flat()
})()

const service = testService()
const flights = (id: string, changes: object = {}) =>
  service.register({
    id,
    title: 'Flights',
    timing: 'off',
    source: { kind: 'file', path: `${id}.csv`, format: 'csv' },
    columns: [
      { name: 'plane', type: 'identifier' },
      { name: 'origin', type: 'category', categories: ORIGINS },
      { name: 'month', type: 'integer', lower: 1, upper: 12 },
      { name: 'distance', type: 'integer', lower: 0, upper: DISTANCE },
      { name: 'late', type: 'boolean' },
    ],
    privacyUnit: { kind: 'person', column: 'plane', maxRows: MAX_ROWS, plausibleRows: MOST },
    neighbours: 'add-remove',
    budget: { epsilon: 100_000 },
    ...changes,
  })
const deliver = (file: string, planes = 1_200) =>
  writeFile(
    path.join(service.dataDirectory, file),
    [
      'plane,origin,month,distance,late',
      ...FLIGHTS.filter(({ plane }) => plane < planes).map((flight) => Object.values(flight).join(',')),
      '',
    ].join('\n'),
  )
const facts = async (id: string) =>
  datasetSchema.parse((await service.as('custodian').get(`/v1/datasets/${id}`).expect(200)).body)
const spentOn = async (id: string) => {
  const { body } = await service.as('analyst').get(`/v1/datasets/${id}/budget`).expect(200)
  return epsilonOf(body.spent)
}

beforeAll(async () => {
  await deliver('flights.csv')
  await flights('flights').expect(201)
})

const planes = [...Map.groupBy(FLIGHTS, ({ plane }) => plane).values()].map((own) => own.length)
const leftOut = planes.reduce((sum, own) => sum + Math.max(0, own - MAX_ROWS), 0)
const contains = ({ lower, upper }: Interval, truth: number) => lower <= truth && truth <= upper

describe('what maxRows leaves out', () => {
  test('is measured at publication, for a hundredth of the budget, and is public', async () => {
    const { coverage, leftOut: price, privacyUnit } = await facts('flights')
    if (coverage === undefined) throw new Error('the coverage is unknown')
    expect(price).toEqual({ epsilon: 1_000 })
    expect(privacyUnit).toMatchObject({ plausibleRows: MOST })
    expect(await spentOn('flights')).toBe(1_000)
    const share = 1 - leftOut / FLIGHTS.length
    expect(share).toBeLessThan(0.75)
    expect(contains(coverage.shareRead, share)).toBe(true)
    expect(coverage.shareRead.upper - coverage.shareRead.lower).toBeLessThan(0.25)
    expect(contains(coverage.rowsLeftOut, leftOut)).toBe(true)
    expect(contains(coverage.people, planes.length)).toBe(true)
    expect(coverage.peopleBeyond).toMatchObject({ value: planes.filter((own) => own > MAX_ROWS).length })
    expect(coverage.implausiblePeople).toMatchObject({ value: 0 })
    const { body } = await service.as('analyst').get('/v1/datasets/flights/versions').expect(200)
    expect(body.versions[0].coverage).toEqual(coverage)
  })

  test('is measured once: neither a start nor a request for it is charged again', async () => {
    const { coverage } = await facts('flights')
    const entry = path.join(service.dataDirectory, 'datasets', 'flights', 'dataset.json')
    // As it is if the process ended between the publication and the measurement.
    const stored = JSON.parse(await readFile(entry, 'utf8'))
    for (const version of stored.versions) delete version.coverage
    await writeFile(entry, JSON.stringify(stored))
    await service.restart()
    await expect.poll(async () => (await facts('flights')).coverage).toEqual(coverage)
    const { body } = await service.as('custodian').post('/v1/datasets/flights/coverage').expect(200)
    expect(body.coverage).toEqual(coverage)
    await service.as('analyst').post('/v1/datasets/flights/coverage').expect(403)
    expect(await spentOn('flights')).toBe(1_000)
  })

  test('answers an analyst who asks for the same profile, without a charge', async () => {
    const { coverage } = await facts('flights')
    const profile = { kind: 'contributionProfile', epsilon: 0.1, delta: 0, use: 'free' }
    const { body } = await service.ask('flights', profile).expect(200)
    // Other rows make other numbers of rows.
    await service.ask('flights', { ...profile, where: { column: 'late', op: '=', value: true } }).expect(422)
    expect(body.cost).toMatchObject({ epsilon: 0 })
    const people = body.result.cells.reduce((sum: number, { value }: { value: number }) => sum + value, 0)
    expect(Math.abs(people - planes.length)).toBeLessThan(5)
    const parents = body.inference.releases.map(({ id }: { id: string }) => id)
    expect(parents).toEqual([coverage?.release])
    await service.as('analyst').get(`/v1/releases/${coverage?.release}`).expect(200)
    const { body: verified } = await service
      .as('auditor')
      .get('/v1/datasets/flights/ledger/verification')
      .expect(200)
    expect(verified).toMatchObject({ sound: true })
    expect(await spentOn('flights')).toBe(1_000)
  })
})

/** The range of true values that an answer states: its margin, and each row left out at its least and its most. */
interface Stated {
  readonly value: number
  readonly halfWidth: number
  readonly rowsLeftOut: number
  /** What one row can add. */
  readonly most: number
}

function containsTotal({ value, halfWidth, rowsLeftOut, most }: Stated, truth: number): boolean {
  return value - halfWidth <= truth && truth <= value + halfWidth + rowsLeftOut * most
}

const ask = async (query: object) =>
  answerSchema.parse((await service.ask('flights', query).expect(200)).body)
const count = (condition: (flight: (typeof FLIGHTS)[number]) => boolean) => FLIGHTS.filter(condition).length
const MONTHS = Array.from({ length: 12 }, (_, month) => month + 1)

describe('questions over the whole table', () => {
  test.each<readonly [query: object, most: number, truth: number]>([
    [{ kind: 'count' }, 1, FLIGHTS.length],
    [{ kind: 'count', where: { column: 'late', op: '=', value: true } }, 1, count(({ late }) => late)],
    [{ kind: 'count', where: { column: 'month', op: '=', value: 7 } }, 1, count(({ month }) => month === 7)],
    [{ kind: 'sum', column: 'distance' }, DISTANCE, FLIGHTS.reduce((sum, { distance }) => sum + distance, 0)],
    [{ kind: 'count', of: 'people' }, 0, planes.length],
    [{ kind: 'countDistinct', column: 'origin' }, 1, 3],
  ])('%j states the truth', async (query, most, truth) => {
    const { coverage } = await facts('flights')
    const { result, accuracy } = await ask({ ...query, epsilon: 50 })
    if (!('value' in result) || coverage === undefined || accuracy.halfWidth === null)
      throw new Error('one value was asked for')
    const stated = { value: Number(result.value), halfWidth: 3 * accuracy.halfWidth }
    expect(containsTotal({ ...stated, most, rowsLeftOut: coverage.rowsLeftOut.upper }, truth)).toBe(true)
  })

  test.each<readonly [query: object, truthOf: (key: Readonly<Record<string, unknown>>) => number]>([
    [{ kind: 'histogram', column: 'origin' }, ({ origin }) => count((flight) => flight.origin === origin)],
    [
      { kind: 'histogram', column: { column: 'month', edges: [...MONTHS, 12] } },
      ({ month }) => count((flight) => flight.month === (month as { lower: number }).lower),
    ],
    [
      { kind: 'contingency', columns: ['origin', 'late'] },
      ({ origin, late }) => count((flight) => flight.origin === origin && flight.late === late),
    ],
  ])('%j states the truth in every cell, with a warning and an offer', async (query, truthOf) => {
    const { coverage } = await facts('flights')
    const { result, accuracy, coverage: stated } = await ask({ ...query, epsilon: 50 })
    if (!('cells' in result) || coverage === undefined || accuracy.halfWidth === null)
      throw new Error('a table was asked for')
    const rowsLeftOut = coverage.rowsLeftOut.upper
    for (const { key, value } of result.cells)
      expect(
        containsTotal({ value, halfWidth: 3 * accuracy.halfWidth, rowsLeftOut, most: 1 }, truthOf(key)),
      ).toBe(true)
    expect(stated?.statement).toMatch(
      /^The half-width covers noise only: not the clamping of values to the bounds of their column\. About 4\d(\.\d)?% of the rows/,
    )
    expect(stated?.statement).toMatch(
      /beyond 100 per person and are not counted\..* In one group it can be nothing or most/,
    )
    expect(stated?.offer).toEqual({ kind: 'contributionProfile', epsilon: 1_000 })
  })

  test.each<readonly [query: object, bounds: readonly [number, number], truth: number]>([
    [
      { kind: 'mean', column: 'distance' },
      [0, DISTANCE],
      FLIGHTS.reduce((sum, { distance }) => sum + distance, 0) / FLIGHTS.length,
    ],
    [
      { kind: 'proportion', of: { column: 'late', op: '=', value: true } },
      [0, 1],
      count(({ late }) => late) / FLIGHTS.length,
    ],
    [
      { kind: 'mean', column: 'month' },
      [1, 12],
      FLIGHTS.reduce((sum, { month }) => sum + month, 0) / FLIGHTS.length,
    ],
  ])('%j describes the rows that count, and the others are bounded', async (query, [least, most], truth) => {
    const { coverage } = await facts('flights')
    const { result, accuracy, coverage: stated } = await ask({ ...query, epsilon: 50 })
    if (!('value' in result) || coverage === undefined || accuracy.halfWidth === null)
      throw new Error('one value was asked for')
    const ends = [-1, 1].map((sign) => Number(result.value) + sign * 3 * Number(accuracy.halfWidth))
    const mixed = (end: number, other: number) =>
      [coverage.shareRead.lower, coverage.shareRead.upper].map((share) => share * end + (1 - share) * other)
    expect(Math.min(...mixed(ends[0] ?? 0, least))).toBeLessThanOrEqual(truth)
    expect(Math.max(...mixed(ends[1] ?? 0, most))).toBeGreaterThanOrEqual(truth)
    expect(stated?.statement).toMatch(/The answer describes the rows that count, not all rows\.$/)
  })

  test('an offer says how many rows a part has', async () => {
    const where = { column: 'month', op: '=', value: 7 }
    const { coverage } = await ask({ kind: 'count', where, epsilon: 50 })
    if (coverage?.offer === undefined) throw new Error('the share of a part is offered')
    const { result } = await ask(coverage.offer)
    if (!('cells' in result)) throw new Error('a profile is a table')
    const ends = result.cells.map(({ key, value }) => {
      const [least = 0, most = least] = String(key.rows).match(/\d+/g)?.map(Number) ?? []
      return [least * value, most * value] as const
    })
    const [least, most] = [0, 1].map((end) => ends.reduce((sum, pair) => sum + (pair[end] ?? 0), 0))
    const truth = count(({ month }) => month === 7)
    expect(least).toBeLessThanOrEqual(truth)
    expect(most).toBeGreaterThanOrEqual(truth)
    expect(most).toBeLessThan(1.6 * truth)
  })

  test('a preview, a bound and a repeat state it as well', async () => {
    const query = { kind: 'sum', column: 'distance', contribution: { rows: 5 }, epsilon: 20 }
    const { body } = await service.as('analyst').post('/v1/datasets/flights/queries/preview').send(query)
    const previewed = previewSchema.parse(body).coverage
    expect(previewed?.statement).toMatch(/The bounds of the contribution leave out more rows than that/)
    expect((await ask(query)).coverage).toEqual(previewed)
    expect((await ask(query)).coverage).toEqual(previewed)
    const everyone = await ask({ kind: 'count', of: 'people', epsilon: 20 })
    expect(everyone.coverage.statement).toMatch(/\. Every person counts, whatever the number of rows\.$/)
    expect(everyone.coverage).not.toHaveProperty('shareRead')
  })
})

describe('a price for it', () => {
  test('can be declined, and answers say that the share is not known', async () => {
    await deliver('declined.csv', 300)
    await flights('declined', { leftOut: { epsilon: 0 } }).expect(201)
    expect(await spentOn('declined')).toBe(0)
    expect((await facts('declined')).coverage).toBeUndefined()
    const { body } = await service.ask('declined', { kind: 'count', epsilon: 1 }).expect(200)
    expect(body.coverage.statement).toMatch(
      /\. How many rows are beyond 100 per person and are not counted is not known\.$/,
    )
    const refused = await service.as('custodian').post('/v1/datasets/declined/coverage').expect(422)
    expect(refused.body.errors).toEqual([
      { field: 'dataset', rule: 'must declare a leftOut.epsilon above 0' },
    ])
  })

  test('that no longer fits leaves the coverage of a version unknown', async () => {
    await deliver('poor.csv', 310)
    await flights('poor', { budget: { epsilon: 1 }, leftOut: { epsilon: 0.6 } }).expect(201)
    await service.ask('poor', { kind: 'count', epsilon: 0.4 }).expect(200)
    await deliver('poor.csv', 311)
    const { body } = await service.as('custodian').post('/v1/datasets/poor/versions').send({}).expect(201)
    expect(body).toMatchObject({ version: '2' })
    expect(body.coverage).toBeUndefined()
    const refused = await service.as('custodian').post('/v1/datasets/poor/coverage').expect(403)
    expect(refused.body.code).toBe('budget-insufficient')
    expect(await spentOn('poor')).toBe(1)
  })

  test.each([
    ['leftOut', { privacyUnit: { kind: 'row' }, leftOut: { epsilon: 0.1 } }],
    ['leftOut.epsilon', { budget: { epsilon: 1 }, leftOut: { epsilon: 1.5 } }],
    ['leftOut.epsilon', { leftOut: { epsilon: -1 } }],
    [
      'privacyUnit.plausibleRows',
      { privacyUnit: { kind: 'person', column: 'plane', maxRows: 5, plausibleRows: 4 } },
    ],
  ])('is refused by its field where it does not fit: %s', async (field, changes) => {
    const { body } = await flights('refused', changes).expect(400)
    expect(body.errors).toMatchObject([{ field }])
  })
})
