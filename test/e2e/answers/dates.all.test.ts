import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import seedrandom from 'seedrandom'
import { beforeAll, describe, expect, test } from 'vitest'
import { testService } from '../service.ts'

const DAY_MS = 86_400_000

/** A made-up visit: an instant of arrival in 2023 and 2024, mostly on working days, and a date of discharge or none. */
interface Visit {
  readonly arrivedMs: number
  readonly discharged: string | null
  readonly ward: 'A' | 'B'
}

const random = seedrandom('visits')
const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
const visits: readonly Visit[] = Array.from({ length: 4000 }, () => {
  const first = Date.UTC(2023, 0, 1)
  let arrivedMs = first + Math.floor(random() * 730 * 86_400) * 1000
  if ([0, 6].includes(new Date(arrivedMs).getUTCDay()) && random() < 0.8) arrivedMs -= 3 * DAY_MS
  arrivedMs = Math.max(arrivedMs, first)
  const stay = random() < 0.1 ? null : Math.floor(random() * 10)
  return {
    arrivedMs,
    discharged: stay === null ? null : dateOf(arrivedMs + stay * DAY_MS),
    ward: random() < 0.3 ? 'B' : 'A',
  }
})

const columns = [
  {
    name: 'arrived',
    type: 'timestamp',
    lower: '2023-01-01T00:00:00Z',
    upper: '2024-12-31T23:59:59Z',
    rankable: { maxValues: 4_000 },
  },
  { name: 'discharged', type: 'date', lower: '2023-01-01', upper: '2025-01-31', nullable: true },
  { name: 'ward', type: 'category', categories: ['A', 'B'] },
]

const service = testService()
beforeAll(async () => {
  const lines = visits.map(
    ({ arrivedMs, discharged, ward }) =>
      // Written with an offset of two hours, as a source in another time zone would.
      `${new Date(arrivedMs + 2 * 3_600_000).toISOString().slice(0, 19)}+02:00,${discharged ?? ''},${ward}`,
  )
  await writeFile(
    path.join(service.dataDirectory, 'visits.csv'),
    ['arrived,discharged,ward', ...lines, ''].join('\n'),
  )
  for (const neighbours of ['add-remove', 'change-one'])
    await service
      .register({
        id: neighbours === 'add-remove' ? 'visits' : 'visits-counted',
        title: 'Made-up visits',
        source: { kind: 'file', path: 'visits.csv', format: 'csv' },
        columns,
        privacyUnit: { kind: 'row' },
        neighbours,
        synthetic: true,
        budget: { epsilon: 100_000, delta: 1e-6 },
      })
      .expect(201)
})

/** Epsilon at which noise is below every rounding, except with a negligible probability. */
const EXACT = 900

async function ask(query: object, dataset = 'visits') {
  const preview = await service.as('analyst').post(`/v1/datasets/${dataset}/queries/preview`).send(query)
  expect(preview.status, JSON.stringify(preview.body)).toBe(200)
  const { body } = await service.ask(dataset, query).expect(200)
  expect(body.accuracy.unit).toBe(preview.body.accuracy.unit)
  return body
}

/** Counts visits by the name of their cell. */
function countedBy(nameOf: (visit: Visit) => string | null): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const visit of visits) {
    const name = String(nameOf(visit))
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

/** Counts of the cells of an answer by their names. Empty cells are left out. */
function cellsOf(result: { readonly cells: readonly { readonly key: object; readonly value: number }[] }) {
  const named = result.cells.map(
    ({ key, value }) => [Object.values(key).map(String).join(' '), value] as const,
  )
  return Object.fromEntries(named.filter(([, value]) => value !== 0))
}

const iso = ({ arrivedMs }: Visit) => new Date(arrivedMs).toISOString()
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

describe('counts by the calendar', () => {
  test.each<[string, object, (visit: Visit) => string]>([
    ['years', { by: 'year' }, (visit) => iso(visit).slice(0, 4)],
    ['months', { by: 'month' }, (visit) => iso(visit).slice(0, 7)],
    ['days', { by: 'day' }, (visit) => iso(visit).slice(0, 10)],
    ['days of the week', { by: 'dayOfWeek' }, (visit) => DAYS[new Date(visit.arrivedMs).getUTCDay()] ?? ''],
  ])('%s', async (_, division, nameOf) => {
    const { result } = await ask({
      kind: 'histogram',
      column: { column: 'arrived', ...division },
      epsilon: EXACT,
    })
    expect(cellsOf(result)).toEqual(countedBy(nameOf))
  })

  test('a table of months and wards, with a cell for missing dates', async () => {
    const { result } = await ask({
      kind: 'contingency',
      columns: [{ column: 'discharged', by: 'month' }, 'ward'],
      epsilon: EXACT,
    })
    expect(cellsOf(result)).toEqual(
      countedBy(({ discharged, ward }) => `${discharged?.slice(0, 7) ?? null} ${ward}`),
    )
  })

  test('the busiest days of the week, and the number of days with a visit', async () => {
    const busiest = await ask({
      kind: 'noisyMax',
      candidates: { column: { column: 'arrived', by: 'dayOfWeek' } },
      k: 7,
      epsilon: EXACT,
    })
    const counts = countedBy((visit) => DAYS[new Date(visit.arrivedMs).getUTCDay()] ?? '')
    const selected = busiest.result.selected.map(({ candidate }: { readonly candidate: string }) => candidate)
    expect(selected.map((day: string) => counts[day])).toEqual(
      Object.values(counts).toSorted((a, b) => b - a),
    )
    const distinct = await ask({
      kind: 'countDistinct',
      column: { column: 'arrived', by: 'day' },
      epsilon: EXACT,
    })
    expect(distinct.result.value).toBe(Object.keys(countedBy((visit) => iso(visit).slice(0, 10))).length)
  })
})

describe('filters', () => {
  test.each<[string, object, (visit: Visit) => boolean]>([
    [
      'from a date on',
      { column: 'arrived', op: '>=', value: '2024-03-01' },
      (visit) => iso(visit) >= '2024-03-01',
    ],
    [
      'between two dates',
      { column: 'discharged', op: 'between', lower: '2023-12-24', upper: '2024-01-06' },
      ({ discharged }) => discharged !== null && discharged >= '2023-12-24' && discharged <= '2024-01-06',
    ],
    [
      'on listed dates',
      { column: 'discharged', op: 'in', values: ['2024-02-29', '2024-03-01'] },
      ({ discharged }) => discharged === '2024-02-29' || discharged === '2024-03-01',
    ],
    [
      'before a time with an offset',
      { column: 'arrived', op: '<', value: '2024-01-01T01:00:00+01:00' },
      (visit) => iso(visit) < '2024-01-01',
    ],
    ['on no date', { column: 'discharged', op: 'isNull' }, ({ discharged }) => discharged === null],
    ['far outside the bounds', { column: 'arrived', op: '<', value: '9999-12-31' }, () => true],
  ])('%s', async (_, where, holds) => {
    const { result } = await ask({ kind: 'count', where, epsilon: EXACT })
    expect(result.value).toBe(visits.filter(holds).length)
  })
})

const meanOf = (numbers: readonly number[]) =>
  numbers.reduce((sum, number) => sum + number, 0) / numbers.length
const meanArrivalMs = meanOf(visits.map(({ arrivedMs }) => arrivedMs))
const discharges = visits.flatMap(({ discharged }) => discharged ?? []).toSorted()

describe('statistics of dates are ISO 8601 texts', () => {
  test.each(['visits', 'visits-counted'])('a mean of timestamps over %s', async (dataset) => {
    const { result, accuracy } = await ask({ kind: 'mean', column: 'arrived', epsilon: EXACT }, dataset)
    expect(result.value).toMatch(/^2023-12-\d\dT\d\d:\d\d:\d\dZ$|^2024-01-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(accuracy.unit).toBe('seconds')
    expect(Math.abs(Date.parse(result.value) - meanArrivalMs) / 1000).toBeLessThanOrEqual(
      15 * accuracy.halfWidth,
    )
    // Two years are 63 million seconds.
    expect(accuracy.halfWidth).toBeLessThan(1_000)
  })

  test('a mean of dates is a date, and its half-width includes the rounding', async () => {
    const { result, accuracy } = await ask({ kind: 'mean', column: 'discharged', epsilon: EXACT })
    const mean = meanOf(discharges.map((text) => Date.parse(text)))
    expect(result.value).toMatch(/^202[34]-\d\d-\d\d$/)
    expect(accuracy).toMatchObject({ unit: 'days', halfWidth: expect.closeTo(0.5, 1) })
    expect(accuracy.halfWidth).toBeGreaterThan(0.5)
    expect(Math.abs(Date.parse(result.value) - mean) / DAY_MS).toBeLessThanOrEqual(accuracy.halfWidth)
  })

  test('quantiles, minimum and maximum', async () => {
    const at = (share: number) => discharges[Math.ceil(share * discharges.length) - 1] ?? ''
    const median = await ask({ kind: 'median', column: 'discharged', epsilon: EXACT })
    expect(median.result).toEqual({ value: at(0.5) })
    expect(median.accuracy.unit).toBe('rows')
    const { result } = await ask({ kind: 'percentile', column: 'discharged', p: [75, 25], epsilon: EXACT })
    expect(result.percentiles.map(({ p }: { readonly p: number }) => p)).toEqual([75, 25])
    const [upper, lower] = result.percentiles.map(({ value }: { readonly value: string }) => value)
    expect(Math.abs(Date.parse(upper) - Date.parse(at(0.75)))).toBeLessThanOrEqual(DAY_MS)
    expect(Math.abs(Date.parse(lower) - Date.parse(at(0.25)))).toBeLessThanOrEqual(DAY_MS)
    const first = await ask({ kind: 'minimum', column: 'arrived', epsilon: EXACT })
    expect(first.result.value).toMatch(/^2023-01-0\dT\d\d:\d\d:\d\dZ$/)
    const last = await ask({ kind: 'maximum', column: 'arrived', epsilon: EXACT })
    expect(last.result.value).toMatch(/^2024-12-\d\dT\d\d:\d\d:\d\dZ$/)
  })

  test('means in groups beside numbers state their own unit', async () => {
    const { result, accuracy } = await ask({
      kind: 'groupBy',
      keys: ['ward', { column: 'arrived', by: 'year' }],
      statistics: [{ kind: 'count' }, { kind: 'mean', column: 'discharged' }],
      postprocess: { nonNegative: true },
      epsilon: EXACT,
    })
    expect(accuracy.estimates.mean_discharged.unit).toBe('days')
    expect(accuracy.estimates.count.unit).toBeUndefined()
    expect(result.groups).toHaveLength(4)
    for (const { key, values } of result.groups) {
      const group = visits.filter((visit) => visit.ward === key.ward && iso(visit).startsWith(key.arrived))
      expect(values.count.value).toBe(group.length)
      const mean = meanOf(
        group.flatMap(({ discharged }) => (discharged === null ? [] : Date.parse(discharged))),
      )
      expect(Math.abs(Date.parse(values.mean_discharged.value) - mean) / DAY_MS).toBeLessThanOrEqual(
        values.mean_discharged.halfWidth,
      )
    }
  })

  test('an accuracy is asked for in days', async () => {
    const query = { kind: 'mean', column: 'discharged', accuracy: { halfWidth: 3 }, supposed: { rows: 3500 } }
    const { result, accuracy, cost } = await ask(query)
    expect(accuracy.halfWidth).toBeLessThan(4)
    expect(cost.epsilon).toBeLessThan(1)
    expect(result.value).toMatch(/^202\d-\d\d-\d\d$/)
  })

  test.each([
    ['a supposed mean', { kind: 'mean', column: 'discharged', supposed: { mean: 19_000 } }, 'supposed.mean'],
    ['a sum', { kind: 'sum', column: 'discharged' }, 'column'],
    [
      'a sum in groups',
      { kind: 'groupBy', keys: ['ward'], statistics: [{ kind: 'sum', column: 'arrived' }] },
      'statistics.0.column',
    ],
  ])('%s is refused', async (_, query, field) => {
    const { body } = await service.ask('visits', { ...query, epsilon: 1 }).expect(422)
    expect(body.errors).toMatchObject([{ field }])
  })
})

test('an evaluation shows dates and counts errors in days', async () => {
  const { body } = await service
    .as('analyst')
    .post('/v1/datasets/visits/evaluations')
    .send({ query: { kind: 'mean', column: 'discharged', epsilon: 0.5 }, runs: 400, shown: 1 })
    .expect(200)
  const [value] = body.values
  expect(value.truth).toBe(
    dateOf(Math.round(meanOf(discharges.map((text) => Date.parse(text))) / DAY_MS) * DAY_MS),
  )
  expect(value).toMatchObject({ meanRelativeError: null })
  // Of 400 runs 95% are within it at least; 88% are six standard errors below.
  expect(value.withinHalfWidth).toBeGreaterThan(0.88)
  expect(value.meanAbsoluteError.value).toBeGreaterThan(0)
  expect(body.totals[0].relativeTotalErrorPercent).toEqual({ value: null, standardError: null })
  expect(body.shown[0].values[0].noisy).toMatch(/^202\d-\d\d-\d\d$/)
})

describe('plots', () => {
  const plot = (query: object) =>
    service
      .as('analyst')
      .get('/v1/datasets/visits/plots/noisy-table')
      .query({ query: JSON.stringify(query) })

  test('show the names of periods and ranges', async () => {
    const months = await plot({ kind: 'histogram', column: { column: 'arrived', by: 'month' }, epsilon: 0.1 })
    expect([months.status, months.type]).toEqual([200, 'image/svg+xml'])
    expect(months.body.toString()).toContain('2024-02')
    const ranges = { column: 'discharged', edges: ['2023-01-01', '2024-02-29', '2025-01-31'] }
    const drawn = await plot({ kind: 'histogram', column: ranges, epsilon: 0.1 })
    expect(drawn.body.toString()).toContain('[2024-02-29, 2025-01-31]')
  })

  test('of dates as values are refused', async () => {
    const statistics = [{ kind: 'mean', column: 'discharged' }]
    const { body, status } = await plot({ kind: 'groupBy', keys: ['ward'], statistics, epsilon: 0.1 })
    expect(status).toBe(422)
    expect(body.errors).toEqual([{ field: 'query.statistics', rule: 'must be numbers to be drawn' }])
  })
})

test('the largest groups may be periods', async () => {
  const { result } = await ask({
    kind: 'topGroups',
    keys: [{ column: 'arrived', by: 'month' }],
    k: 3,
    epsilon: EXACT,
  })
  const counts = countedBy((visit) => iso(visit).slice(0, 7))
  const groups: readonly { readonly key: { readonly arrived: string } }[] = result.groups ?? result.cells
  expect(groups).toHaveLength(3)
  expect(groups.map(({ key }) => counts[key.arrived])).toEqual(
    Object.values(counts)
      .toSorted((a, b) => b - a)
      .slice(0, 3),
  )
})

test('disjoint periods in a batch cost as much as the most expensive', async () => {
  const year = (first: string, last: string) => ({
    kind: 'count',
    where: { column: 'arrived', op: 'between', lower: first, upper: last },
    epsilon: 0.25,
  })
  const { body } = await service
    .as('analyst')
    .post('/v1/datasets/visits/queries/batch/preview')
    .send({
      queries: [year('2023-01-01', '2023-12-31T23:59:59Z'), year('2024-01-01', '2024-12-31T23:59:59Z')],
    })
    .expect(200)
  expect(body.cost.epsilon).toBe(0.25)
})
