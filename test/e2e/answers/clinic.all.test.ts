import { copyFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dateOf } from '../../../src/datasets/registration/sources/visits.ts'
import { commandsOf, openShell, readPage } from '../../documentation/pasted-page.ts'
import { withDuckDb } from '../../engines/fixture.ts'
import { folderForAll } from '../../folders.ts'
import { startTestService, type TestService } from '../service.ts'

/*
 * The questions about the clinic in examples/clinic.md, asked over HTTP and compared with the truth over the rows that
 * ingestion kept, which is computed here from the stored rows without the planner, the printer or the engine.
 */

const section = readPage('examples/clinic.md')
const questions = [...section.matchAll(/^```json visits\n([\s\S]*?)^```/gm)].map(([, json = '']) =>
  JSON.parse(json),
)

interface Row {
  readonly person: number
  readonly rank: number
  readonly quarter: string
  readonly month: string
  readonly region: string
  readonly diagnosis: string
  readonly day: number
  readonly age: number
  readonly cost: number
  readonly emergency: boolean
}

let service: TestService
const folder = folderForAll()
let rows: readonly Row[]
beforeAll(async () => {
  service = await startTestService()
  const shell = await openShell(service)
  try {
    const [registered] = await shell.run(commandsOf(section)[0] ?? '')
    expect(JSON.parse(registered ?? '')).toMatchObject({ id: 'clinic', privacyUnit: { maxRows: 50 } })
  } finally {
    await shell.close()
  }
  const { body } = await service.as('analyst').get('/v1/datasets/clinic')
  const categoriesOf = (name: string): readonly string[] =>
    body.columns.find((column: { name: string }) => column.name === name).categories
  const copy = path.join(folder.path, 'rows.duckdb')
  await copyFile(path.join(service.dataDirectory, 'datasets/clinic/1.duckdb'), copy)
  const stored = await withDuckDb(
    copy,
    'SELECT sotto_person, sotto_rank, visited, region, diagnosis, age, cost, emergency FROM rows',
  )
  rows = stored.map(([person, rank, visited, region, diagnosis, age, cost, emergency]) => {
    const day = Number(visited)
    const date = dateOf({ day: day - Date.UTC(2023, 0, 1) / 86_400_000 })
    return {
      person: Number(person),
      rank: Number(rank),
      month: date.slice(0, 7),
      quarter: `${date.slice(0, 4)}-Q${Math.ceil(Number(date.slice(5, 7)) / 3)}`,
      region: categoriesOf('region')[Number(region)] ?? '',
      diagnosis: categoriesOf('diagnosis')[Number(diagnosis)] ?? '',
      day,
      age: Number(age),
      cost: Number(cost) / 100,
      emergency: emergency === true,
    }
  })
}, 120_000)
afterAll(() => service.close())

async function ask(place: number) {
  const { status, body } = await service.ask('clinic', questions[place])
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

/** The rows of lowest rank of each person. */
function bounded(most: number, among: readonly Row[] = rows): readonly Row[] {
  const byPerson = Map.groupBy(among, ({ person }) => person)
  return [...byPerson.values()].flatMap((own) => own.toSorted((a, b) => a.rank - b.rank).slice(0, most))
}

/** The rows of lowest rank in each of the groups of lowest rank of each person. */
function boundedInGroups(
  groups: number,
  rowsPerGroup: number,
  groupOf: (row: Row) => string,
): readonly Row[] {
  const byPerson = Map.groupBy(rows, ({ person }) => person)
  return [...byPerson.values()].flatMap((own) => {
    const byGroup = [
      ...Map.groupBy(
        own.toSorted((a, b) => a.rank - b.rank),
        groupOf,
      ).values(),
    ]
    return byGroup.slice(0, groups).flatMap((group) => group.slice(0, rowsPerGroup))
  })
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

interface Estimate {
  readonly value: number
  readonly halfWidth: number
}

/** Errors as multiples of their stated half-widths. */
const errors: number[] = []

/** A half-width holds with 95% confidence; seven of them are exceeded by Laplace noise once in 10^9 values. */
function expectNear(truth: number, { value, halfWidth }: Estimate): void {
  errors.push(Math.abs(value - truth) / halfWidth)
  expect(Math.abs(value - truth), `${value} for ${truth}`).toBeLessThan(7 * halfWidth)
}

/** The half-width of a quantile is a number of ranks. */
function expectNearRank(share: number, value: number, values: readonly number[], halfWidth: number): void {
  const below = values.filter((each) => each < value).length
  const upTo = values.filter((each) => each <= value).length
  const rank = share * values.length
  expect(Math.max(0, below - rank, rank - upTo), `the rank of ${value}`).toBeLessThan(3 * halfWidth)
}

function countsBy(among: readonly Row[], cellOf: (row: Row) => string): ReadonlyMap<string, readonly Row[]> {
  return Map.groupBy(among, cellOf)
}

const people = (among: readonly Row[] = []) => new Set(among.map(({ person }) => person)).size

describe('ten questions about a clinic', () => {
  test('the page asks ten', () => {
    expect(questions).toHaveLength(10)
    expect(rows.length).toBe(195_620)
  })

  test('visits in each month', async () => {
    const { result, accuracy } = await ask(0)
    const truth = countsBy(bounded(10), ({ month }) => month)
    expect(result.cells).toHaveLength(24)
    for (const { key, value } of result.cells)
      expectNear(truth.get(key.visited)?.length ?? 0, { value, halfWidth: accuracy.halfWidth })
  })

  test('visits and patients in each quarter and region', async () => {
    const { result } = await ask(1)
    const cellOf = ({ quarter, region }: Row) => `${quarter} ${region}`
    const truth = countsBy(boundedInGroups(4, 2, cellOf), cellOf)
    expect(result.groups).toHaveLength(40)
    for (const { key, values } of result.groups) {
      const cell = truth.get(`${key.visited} ${key.region}`)
      expectNear(cell?.length ?? 0, values.count)
      expectNear(people(cell), values.count_people)
    }
  })

  test('mean cost', async () => {
    const { result, accuracy } = await ask(2)
    const truth = mean(bounded(5).map(({ cost }) => cost))
    expectNear(truth, { value: result.value, halfWidth: accuracy.halfWidth })
    expect(accuracy.halfWidth).toBeLessThan(2)
  })

  test('quantiles of cost in each region', async () => {
    const { result } = await ask(3)
    expect(result.groups).toHaveLength(5)
    for (const { key, values } of result.groups) {
      const costs = bounded(5)
        .filter(({ region }) => region === key.region)
        .map(({ cost }) => cost)
      expect(Object.keys(values)).toEqual(['percentile_25_cost', 'median_cost', 'percentile_75_cost'])
      for (const [place, share] of [0.25, 0.5, 0.75].entries()) {
        const { value, halfWidth } = Object.values(values as Record<string, Estimate>)[place] ?? expect.fail()
        expectNearRank(share, value, costs, halfWidth)
      }
    }
  })

  test('the most frequent diagnoses', async () => {
    const { result, accuracy } = await ask(4)
    const truth = countsBy(rows, ({ diagnosis }) => diagnosis)
    expect(result.cells).toHaveLength(3)
    for (const { key, value } of result.cells)
      expectNear(people(truth.get(key.diagnosis)), { value, halfWidth: accuracy.halfWidth })
    const largest = [...truth].sort(([, a], [, b]) => people(b) - people(a)).slice(0, 3)
    expect(result.cells.map(({ key }: { key: { diagnosis: string } }) => key.diagnosis)).toEqual(
      largest.map(([diagnosis]) => diagnosis),
    )
  })

  test('visits of a patient', async () => {
    const { result, accuracy } = await ask(5)
    expectNear(rows.length / people(rows), { value: result.value, halfWidth: accuracy.halfWidth })
  })

  test('visits of the busiest tenth', async () => {
    const { result, accuracy } = await ask(6)
    const visits = [...Map.groupBy(rows, ({ person }) => person).values()].map(({ length }) => length)
    expectNearRank(0.9, result.value, visits, accuracy.halfWidth)
    expect(accuracy.unit).toBe('people')
  })

  test('patients who came as an emergency', async () => {
    const { result, accuracy } = await ask(7)
    const truth = people(rows.filter(({ emergency }) => emergency))
    expectNear(truth, { value: result.value, halfWidth: accuracy.halfWidth })
    expect(accuracy.halfWidth).toBeLessThan(40)
  })

  test('the trend of costs, and their correlation with age', async () => {
    const kept = bounded(2)
    const [days, ages, costs] = [
      kept.map(({ day }) => day),
      kept.map(({ age }) => age),
      kept.map(({ cost }) => cost),
    ]
    const product = (a: readonly number[], b: readonly number[]) => {
      const [meanOfA, meanOfB] = [mean(a), mean(b)]
      return mean(a.map((value, place) => (value - meanOfA) * ((b[place] ?? 0) - meanOfB)))
    }
    const determinant = product(days, days) * product(ages, ages) - product(days, ages) ** 2
    const trend =
      (product(days, costs) * product(ages, ages) - product(ages, costs) * product(days, ages)) / determinant
    const perYear =
      (product(ages, costs) * product(days, days) - product(days, costs) * product(days, ages)) / determinant
    const regression = await ask(8)
    expectNear(trend, regression.result.coefficients[0])
    expectNear(perYear, regression.result.coefficients[1])

    const { result, accuracy } = await ask(9)
    const truth = product(ages, costs) / Math.sqrt(product(ages, ages) * product(costs, costs))
    expectNear(truth, { value: result.value, halfWidth: accuracy.halfWidth })
  })

  test('half-widths hold as often as they say', () => {
    // Of about 110 independent values, 6 exceed a half-width of 95% confidence on average, 30 once in 10^12 runs.
    expect(errors.length).toBeGreaterThan(100)
    expect(errors.filter((error) => error > 1).length).toBeLessThan(30)
  })
})
