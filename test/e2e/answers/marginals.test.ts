import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { connect } from 'sotto-client'
import { beforeAll, describe, expect, test } from 'vitest'
import { answer as answerSchema, preview as previewSchema } from '../../../schemas/answers/answer.ts'
import { tablesOfRelease } from '../../../schemas/answers/releases.ts'
import { entry } from '../../../src/privacy/must.ts'
import { testService } from '../service.ts'

const ROWS = 400
const CPS_SIZES = [50, 100, 7, 4, 2]
const names = CPS_SIZES.map((_, place) => `c${place}`)

const service = testService({ SOTTO_MAX_CELLS: '2000' })
beforeAll(async () => {
  const lines = Array.from({ length: ROWS }, (_, row) =>
    CPS_SIZES.map((size, place) => (row * (place + 3)) % size).join(','),
  )
  await writeFile(path.join(service.dataDirectory, 'cps.csv'), [names.join(','), ...lines, ''].join('\n'))
  const registration = {
    title: 'Population survey',
    timing: 'off',
    source: { kind: 'file', path: 'cps.csv', format: 'csv' },
    columns: names.map((name, place) => ({
      name,
      type: 'integer',
      lower: 0,
      upper: (CPS_SIZES[place] ?? 0) - 1,
    })),
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
    budget: { epsilon: 1000, delta: 1e-6 },
  }
  await service.register({ ...registration, id: 'cps', accounting: 'zcdp' }).expect(201)
})

/** A column with a bin for each number. */
const numbered = (place: number) => ({
  column: `c${place}`,
  edges: Array.from({ length: entry(CPS_SIZES, place) + 1 }, (_, edge) => edge).map((edge, _, { length }) =>
    edge === length - 1 ? edge - 1 : edge,
  ),
})
const all = names.map((_, place) => numbered(place))
const small = [2, 3, 4].map(numbered)

const post = (call: string, body: object) => service.as('analyst').post(`/v1/datasets/cps/${call}`).send(body)
const preview = async (query: object) => {
  const { body } = await post('queries/preview', { kind: 'marginals', ...query })
  return previewSchema.parse(body)
}

async function ask(query: object) {
  const answer = answerSchema.parse((await post('queries', { kind: 'marginals', ...query }).expect(200)).body)
  if (answer.kind !== 'marginals') throw new Error('tables were asked for')
  return answer
}

const tablesOf = async (id: string, query = '') =>
  service.as('analyst').get(`/v1/releases/${id}/tables${query}`)

describe('all tables of some of the columns', () => {
  test('a preview states the figures of the best weights', async () => {
    const { accuracy, cost } = await preview({ columns: all, ways: [1, 2, 3], rho: 0.5 })
    expect(cost).toEqual({ rho: expect.closeTo(0.5, 2) })
    // The optimum of any Gaussian noise is 2.275.
    expect(accuracy.rootMeanSquaredError).toBeGreaterThan(2.27)
    expect(accuracy.rootMeanSquaredError).toBeLessThan(2.34)
    const pure = await preview({ columns: all, ways: [1, 2, 3], epsilon: 1 })
    expect(pure.accuracy.rootMeanSquaredError).toBeLessThan(9.3)
  })

  test('an accuracy is reached at the least price, in rho where budgets are', async () => {
    const { accuracy, cost } = await preview({ columns: all, ways: 2, accuracy: { halfWidth: 20 } })
    expect(accuracy.halfWidth).toBeLessThanOrEqual(20)
    expect(accuracy.halfWidth).toBeGreaterThan(19.9)
    if (!('rho' in cost)) throw new Error('the budget is in rho')
    // Three quarters of it do not.
    const cheaper = await preview({
      columns: all,
      ways: 2,
      rho: Number((cost.rho * 0.75).toFixed(9)),
      objective: 'largest',
    })
    expect(cheaper.accuracy.halfWidth).toBeGreaterThan(22)
  })

  test('tables agree with each other, are near the truth, and are replayed', async () => {
    const query = { columns: small, ways: [1, 2, 3], rho: 2 }
    const answer = await ask(query)
    const { result, measured } = answer
    const values = (...columns: string[]) =>
      result.tables.find((table) => table.columns.join() === columns.join())?.values ?? []
    for (const [cell, value] of values('c2').entries())
      expect(
        values('c2', 'c4')
          .slice(2 * cell, 2 * cell + 2)
          .reduce((sum, each) => sum + each, 0),
      ).toBeCloseTo(value, 9)
    const truths = Array.from({ length: 7 }, () => 0)
    for (let row = 0; row < ROWS; row += 1) truths[(row * 5) % 7] = entry(truths, (row * 5) % 7) + 1
    const [first] = result.tables
    for (const [cell, value] of values('c2').entries())
      expect(Math.abs(value - entry(truths, cell))).toBeLessThan(6 * (first?.rootMeanSquaredError ?? 0))
    expect(measured.flat().every(Number.isInteger)).toBe(true)
    const again = await ask({ ...query, columns: [...small], objective: 'total' })
    expect(again.id).toBe(answer.id)
    expect(again.cost).toEqual({ rho: 0 })
    expect(again.measured).toEqual(measured)
    const { tables } = tablesOfRelease.content['application/json'].schema.parse(
      (await tablesOf(answer.id)).body,
    )
    expect(tables.map(({ values: each }) => each)).toEqual(result.tables.map(({ values: each }) => each))
  })

  test('an answer with too many cells has its tables at an address of their own', async () => {
    const { id, result, measured } = await ask({ columns: all, ways: 2, rho: 1 })
    expect(result.tables.every(({ values }) => values === undefined)).toBe(true)
    expect(measured.every((table) => typeof table === 'string')).toBe(true)
    const one = await tablesOf(id, '?columns=c4,c3')
    expect(one.body.tables).toMatchObject([{ columns: ['c3', 'c4'], values: expect.any(Array) }])
    const csv = (await tablesOf(id, '?format=csv')).text.trimEnd().split('\r\n')
    expect(csv).toHaveLength(1 + result.tables.reduce((sum, { cells }) => sum + cells, 0))
    expect(csv[0]).toBe('table,c0,c1,c2,c3,c4,value,halfWidth')
    const sum = one.body.tables[0].values.reduce((total: number, value: number) => total + value, 0)
    expect(Math.abs(sum - ROWS)).toBeLessThan(60)
    expect((await tablesOf(id, '?columns=c9')).body.errors[0].field).toBe('columns')
    const plot = (query: string) => service.as('analyst').get(`/v1/releases/${id}/plot${query}`)
    const picture = await plot('?columns=c3,c4').expect(200)
    // A cell as the table states it: `[3, 3], [1, 1]: 12.34 ± 5.67 rows.`
    expect(String(picture.body).match(/\): \S+ ± \S+ rows\./g)?.length).toBe(4)
    expect((await plot('').expect(422)).body.errors[0]).toMatchObject({ field: 'columns' })
    expect((await plot('?columns=c9').expect(422)).body.errors[0]).toMatchObject({ field: 'columns' })
  })

  test('the client reads all tables, also those that are too large for the answer', async () => {
    const client = connect(service.url, service.keyOf('analyst'))
    const answer = await client.dataset('cps').marginals(all, 2, { rho: 1 })
    expect(String(answer)).toContain('c0 and c1: 5000 cells')
    const { tables } = await client.tables(answer)
    const table = tables.find(({ columns }) => columns.join() === 'c3,c4')
    expect(table?.rows).toHaveLength(8)
    expect(table?.rows?.[0]?.key).toEqual({ c3: { lower: 0, upper: 1 }, c4: { lower: 0, upper: 1 } })
  })

  test.each([
    [{ ways: 6 }, 'ways', 'must be at most 5'],
    [{ ways: [2, 7] }, 'ways.1', 'must be at most 5'],
    [{ ways: [2, 2] }, 'ways.1', 'must not repeat'],
    [{ ways: 0 }, 'ways', 'at least 1'],
    [{ columns: [] }, 'columns', ''],
    [{ columns: [numbered(2), numbered(2)] }, 'columns.1', 'must not repeat'],
    [{ objective: 'smallest' }, 'objective', 'total'],
    [{ weights: [1, 1, 1, -1, 1, 1, 1, 1, 1, 1] }, 'weights.3', 'at least 0'],
    [{ weights: [1] }, 'weights', 'must be 10 numbers'],
    [{ weights: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0] }, 'weights', 'must not all be 0'],
    [{ epsilon: 1 }, 'rho', 'must not be given together'],
    [{ rho: 1e-13 }, 'rho', '12 fractional digits'],
    [{ contribution: { groups: 1 } }, 'contribution', 'person'],
  ])('%j is refused by its field', async (changes, field, rule) => {
    const { body } = await post('queries', { kind: 'marginals', columns: all, ways: 2, rho: 1, ...changes })
    expect(body.errors[0]).toMatchObject({ field: expect.stringContaining(field) })
    expect(body.errors[0].rule).toContain(rule)
  })
})
