import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { MOST_TEXTS, MOST_VALUES } from '../../../src/core/dataset/value-limits.ts'
import { withDuckDb } from '../../engines/fixture.ts'
import { testService } from '../service.ts'

/*
 * Queries at the limits that declarations allow, and the attack on limits that the data decided: with a condition that
 * leaves as many values as fit, one more person made the query fail.
 */

// The machine may be slow; time limits are not the subject.
const service = testService({ SOTTO_QUERY_TIMEOUT_MS: '600000' })

/** Writes a Parquet file into the data folder. */
async function writeRows(name: string, select: string): Promise<object> {
  const file = path.join(service.dataDirectory, `${name}.parquet`)
  await withDuckDb(':memory:', `COPY (${select}) TO '${file}' (FORMAT parquet)`)
  return { kind: 'file', path: `${name}.parquet`, format: 'parquet' }
}

const register = (registration: object) =>
  service.register({
    title: 'Made-up rows',
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
    timing: 'off',
    budget: { epsilon: 1_000, delta: 1e-6 },
    ...registration,
  })

const ask = async (dataset: string, query: object, asker = service.as('analyst')) => {
  const { status, body } = await asker.post(`/v1/datasets/${dataset}/queries`).send(query)
  return { status, body }
}

/** Asks queries at the same time, in turn by two analysts, because one alone cannot take all places. */
const askTogether = (dataset: string, queries: readonly object[]) =>
  Promise.all(
    queries.map(async (query, place) => {
      const asker = place % 2 === 0 ? service.as('analyst') : service.asColleague()
      return (await ask(dataset, query, asker)).status
    }),
  )
const spent = async (dataset: string) =>
  (await service.as('analyst').get(`/v1/datasets/${dataset}/budget`).expect(200)).body.spent.epsilon

const id = { name: 'id', type: 'integer', lower: 0, upper: 2 ** 40 }

/** Two conditions that differ by one person, who is in the data. */
const pairAt = (threshold: number, target: number) => {
  const below = { column: 'id', op: '<', value: threshold }
  return [below, { op: 'or', predicates: [below, { column: 'id', op: '=', value: target }] }]
}

describe('whether a query succeeds tells nothing about a person', () => {
  test('without a declaration no condition makes a quantile succeed or fail', async () => {
    const source = await writeRows('wide', 'SELECT range AS id FROM range(1_000)')
    await register({ id: 'wide', source, columns: [id] }).expect(201)
    for (const where of [undefined, ...pairAt(1, 500), ...pairAt(MOST_VALUES, 500)]) {
      const { status, body } = await ask('wide', { kind: 'median', column: 'id', where, epsilon: 0.01 })
      expect([status, body.code, body.errors?.[0].field]).toEqual([422, 'query-does-not-fit', 'column'])
    }
    expect(await spent('wide')).toBe(0)
  })

  test('one value more than declared is refused at registration, and so is any larger declaration', async () => {
    const rankable = { maxValues: MOST_VALUES }
    const source = await writeRows('beyond', `SELECT range * 7 AS id FROM range(${MOST_VALUES + 1})`)
    const beyond = { id: 'beyond', source, columns: [{ ...id, rankable }] }
    const { body } = await register(beyond).expect(422)
    expect([body.code, body.errors[0].field]).toEqual(['source-does-not-fit', 'columns.0.rankable.maxValues'])
    expect(JSON.stringify(body)).not.toContain(String(MOST_VALUES + 1))
    await register({
      ...beyond,
      columns: [{ ...id, rankable: { maxValues: MOST_VALUES + 1 } }],
    }).expect(400)
  })
})

describe('at the declared maximum', () => {
  beforeAll(async () => {
    const text = `rpad((range % ${MOST_TEXTS})::VARCHAR || '-', 33, '\u{1F600}')`
    const source = await writeRows(
      'largest',
      `SELECT range * 7 AS id, range // 2 AS half, range % 2 = 0 AS flag, CASE WHEN range < 4 * ${MOST_TEXTS} THEN ${text} END AS text
       FROM range(${MOST_VALUES})`,
    )
    const columns = [
      { ...id, rankable: { maxValues: MOST_VALUES } },
      { name: 'half', type: 'integer', lower: 0, upper: 2 ** 40, rankable: { maxValues: MOST_VALUES / 2 } },
      { name: 'flag', type: 'boolean' },
      { name: 'text', type: 'string', nullable: true, selectable: { maxValues: MOST_TEXTS, maxLength: 33 } },
    ]
    await register({ id: 'largest', source, columns }).expect(201)
    const people = await writeRows(
      'people',
      `SELECT range AS person, range AS amount FROM range(${MOST_VALUES})`,
    )
    await register({
      id: 'people',
      source: people,
      columns: [
        { name: 'person', type: 'identifier' },
        { name: 'amount', type: 'integer', lower: 0, upper: 2 ** 30 },
      ],
      privacyUnit: { kind: 'person', column: 'person', maxRows: 4 },
    }).expect(201)
  })

  test('every condition gives the same success', async () => {
    for (const threshold of [1, 7 * (MOST_VALUES - 1), 7 * MOST_VALUES])
      for (const where of pairAt(threshold, 7 * (MOST_VALUES - 1))) {
        const query = { kind: 'median', column: 'id', where, epsilon: 0.01 }
        expect(await ask('largest', query)).toMatchObject({ status: 200, body: { kind: 'median' } })
      }
  })

  test('queries of every kind that reads values succeed, several at a time', async () => {
    const groups = { kind: 'groupBy', keys: ['flag'], statistics: [{ kind: 'median', column: 'half' }] }
    const keys = { kind: 'keySelection', column: 'text', delta: 1e-9 }
    const rounds = [
      [
        { kind: 'percentile', column: 'id', p: [5, 99], epsilon: 0.01 },
        { ...groups, epsilon: 0.01 },
        { ...keys, counts: true, epsilon: 0.01 },
        { ...keys, counts: false, epsilon: 0.01 },
      ],
      [
        { kind: 'maximum', column: 'id', epsilon: 0.01 },
        { ...groups, epsilon: 0.02 },
        { ...keys, counts: false, epsilon: 1 },
        { kind: 'countDistinct', column: 'text', epsilon: 0.02 },
      ],
    ]
    for (const queries of rounds) {
      expect(await askTogether('largest', queries)).toEqual([200, 200, 200, 200])
    }
  })

  test('keys of the largest answer are cut to fit', async () => {
    const keys = { kind: 'keySelection', column: 'text', counts: true, epsilon: 100, delta: 1e-9 }
    const { status, body } = await ask('largest', keys)
    expect([status, body.result.truncated, body.result.keys.length]).toEqual([200, true, 10_000])
  })

  test('values per person succeed, several at a time', async () => {
    const perPerson = { rows: 4, perPerson: { lower: 0, upper: MOST_VALUES - 1 } }
    const queries = [1, 2, 3, 4].map((part) => ({
      kind: 'median',
      column: 'amount',
      perPerson: part % 2 === 0 ? 'sum' : 'mean',
      where: { column: 'amount', op: '>=', value: part },
      contribution: perPerson,
      epsilon: 0.01,
    }))
    expect(await askTogether('people', queries)).toEqual([200, 200, 200, 200])
  })
})
