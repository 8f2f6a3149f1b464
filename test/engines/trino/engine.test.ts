import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import type { Aggregate } from '../../../src/core/planner/language/aggregate.ts'
import type { TableDataset, TableEngine, TableName } from '../../../src/engines/tables/table-engine.ts'
import { openTrinoEngine } from '../../../src/engines/trino/engine.ts'
import { column, datasetOf } from '../fixture.ts'
import {
  answer,
  type FakeCoordinator,
  type Handler,
  type ReceivedRequest,
  startFakeCoordinator,
} from './fake-coordinator.ts'

const table: TableDataset & { readonly table: TableName } = {
  dataset: datasetOf([column.integer('age', 0n, 120n)]),
  table: { schema: 'default', name: 'people' },
  columns: [{ name: 'age', type: 'integer', notNull: false }],
  unit: { kind: 'row' },
}
const { dataset } = table
const counted: Aggregate = {
  groupBy: [],
  statistics: [{ kind: 'count' }],
  bounding: { kind: 'one-row-each' },
}

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

/** A coordinator whose table has these columns, and an engine with the table open. */
async function start(
  handleQuery: Handler,
  {
    columns = [['age', 'integer', 'YES', 1]],
    statementTimeoutMs = 60_000,
    connections = 2,
  }: {
    readonly columns?: readonly (readonly unknown[])[]
    readonly statementTimeoutMs?: number
    readonly connections?: number
  } = {},
): Promise<{ readonly coordinator: FakeCoordinator; readonly engine: TableEngine }> {
  const coordinator = await startFakeCoordinator((request, response) => {
    if (request.body.includes('information_schema')) answer(response, { data: columns })
    else if (request.method === 'DELETE') answer(response, {}, 204)
    else handleQuery(request, response)
  })
  const limits = { connections, statementTimeoutMs, registrationTimeoutMs: 60_000 }
  const engine = openTrinoEngine(coordinator.connection({ limits }))
  engine.open(table)
  open.unshift(coordinator)
  return { coordinator, engine }
}

const rows =
  (...data: readonly (readonly unknown[])[]) =>
  (_: ReceivedRequest, response: ServerResponse) =>
    answer(response, { data })

/** Says that the page is not there yet, for as long as it is asked. */
const never: Handler = ({ headers }, response) =>
  void setTimeout(() => answer(response, { nextUri: `http://${headers.host}/v1/statement/queued/1` }), 10)

async function classOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'answered',
    (error: unknown) => (error instanceof Error ? error.name : error),
  )
}

describe('an aggregate', () => {
  test('has the integers of the result', async () => {
    const { engine, coordinator } = await start(rows(['12']))
    expect(await engine.aggregate(dataset, counted)).toEqual([[12n]])
    expect(coordinator.received.at(-1)?.body).toContain('"default"."people"')
    await engine.close()
  })

  test.each([
    ['a number', [12]],
    ['a text that is no integer', ['1.5']],
    ['NULL', [null]],
    ['too many columns', ['1', '2']],
  ])('with %s as its result fails', async (_, row) => {
    const { engine } = await start(rows(row))
    expect(await classOf(engine.aggregate(dataset, counted))).toBe('EngineFailure')
    await engine.close()
  })

  test('never relies on NOT NULL, which a connector claims and nothing enforces', async () => {
    const { engine, coordinator } = await start(rows(['12']), { columns: [['age', 'integer', 'NO', 1]] })
    const required = datasetOf(
      [column.integer('age', 0n, 120n, { nullable: false, invalidValue: { kind: 'refuse' } })],
      'required',
    )
    const columns = [{ name: 'age', type: 'integer', notNull: true }]
    engine.open({ ...table, dataset: required, columns })
    expect(await engine.aggregate(required, counted)).toEqual([[12n]])
    expect(coordinator.received.at(-1)?.body).toContain('"age" IS NOT NULL')
    await engine.close()
  })

  test('with more rows than cells fails', async () => {
    const { engine } = await start(rows(['1'], ['1']))
    expect(await classOf(engine.aggregate(dataset, counted))).toBe('EngineFailure')
    await engine.close()
  })
})

test('a reading is accepted unless its statement is longer than Trino permits', async () => {
  const { engine, coordinator } = await start(rows(['1']))
  const accepts = (values: number) => {
    const indexes = Array.from({ length: values }, (_, value) => BigInt(value))
    const where = { kind: 'index-in', column: 'age', indexes } as const
    return engine.accepts?.(dataset, { method: 'aggregate', aggregate: { ...counted, where } })
  }
  expect(accepts(1_000)).toBe(true)
  expect(accepts(100_000)).toBe(false)
  // The query itself fails, as every query of a dataset that is closed.
  await engine.closeDataset(dataset)
  expect(accepts(100_000)).toBe(true)
  expect(coordinator.received).toEqual([])
  await engine.close()
})

describe('the class of a failure', () => {
  test('no server: unavailable', async () => {
    const { engine, coordinator } = await start(rows(['1']))
    await coordinator.close()
    open.splice(0)
    expect(await classOf(engine.aggregate(dataset, counted))).toBe('EngineUnavailable')
    expect(await engine.reachable()).toBe(false)
    await engine.close()
  })

  test.each([401, 403])('a login that is refused with the status %i: unavailable', async (status) => {
    const coordinator = await startFakeCoordinator((_, response) => answer(response, {}, status))
    open.push(coordinator)
    const engine = openTrinoEngine(coordinator.connection())
    engine.open(table)
    expect(await classOf(engine.aggregate(dataset, counted))).toBe('EngineUnavailable')
    expect(await engine.reachable()).toBe(false)
    await engine.close()
  })

  test('a failure of the query, or a login refused after the first statement: failure', async () => {
    const { engine } = await start((_, response) => answer(response, { error: { message: 'secret' } }))
    const error = await engine.aggregate(dataset, counted).catch((each: unknown) => each)
    expect(error).toMatchObject({ name: 'EngineFailure', message: 'the aggregate could not be computed' })
    await engine.close()
    const later = await start((_, response) => answer(response, {}, 401))
    expect(await classOf(later.engine.aggregate(dataset, counted))).toBe('EngineFailure')
    await later.engine.close()
  })

  test('a worker that is gone: interrupted, once for all queries that were under way', async () => {
    const { engine } = await start((_, response) =>
      answer(response, { error: { errorName: 'REMOTE_HOST_GONE' } }),
    )
    const failures = [1, 2].map(() => classOf(engine.aggregate(dataset, counted)))
    expect((await Promise.all(failures)).toSorted()).toEqual(['EngineInterrupted', 'EngineUnavailable'])
    expect(await classOf(engine.aggregate(dataset, counted))).toBe('EngineInterrupted')
    await engine.close()
  })

  test.each(['QUERY_QUEUE_FULL', 'SERVER_SHUTTING_DOWN'])(
    '%s: unavailable, for the first statement and for a later one',
    async (errorName) => {
      const refuse: Handler = (_, response) => answer(response, { error: { errorName } })
      const { engine } = await start(refuse)
      expect(await classOf(engine.aggregate(dataset, counted))).toBe('EngineUnavailable')
      await engine.close()
      const coordinator = await startFakeCoordinator(refuse)
      open.push(coordinator)
      const full = openTrinoEngine(coordinator.connection())
      full.open(table)
      expect(await classOf(full.aggregate(dataset, counted))).toBe('EngineUnavailable')
      await full.close()
    },
  )

  test('a query that takes too long: timeout, and it is cancelled', async () => {
    const { engine, coordinator } = await start(never, { statementTimeoutMs: 200 })
    expect(await classOf(engine.aggregate(dataset, counted))).toBe('EngineTimeout')
    await expect.poll(() => coordinator.received.some(({ method }) => method === 'DELETE')).toBe(true)
    await engine.close()
  })

  test('a server that accepts no statement in time: unavailable', async () => {
    const coordinator = await startFakeCoordinator(() => undefined)
    open.push(coordinator)
    const limits = { connections: 1, statementTimeoutMs: 100, registrationTimeoutMs: 100 }
    const engine = openTrinoEngine(coordinator.connection({ limits }))
    engine.open(table)
    expect(await classOf(engine.aggregate(dataset, counted))).toBe('EngineUnavailable')
    // The place is free again.
    expect(await classOf(engine.aggregate(dataset, counted))).toBe('EngineUnavailable')
    await engine.close()
  })

  test.each([
    ['is gone', []],
    ['has another type', [['age', 'bigint', 'YES', 1]]],
    ['must not be NULL any more', [['age', 'integer', 'NO', 1]]],
  ])('a column that %s: the table changed, whatever becomes of the query', async (_, columns) => {
    const failed: Handler = (_, response) => answer(response, { error: { message: 'no such column' } })
    for (const handleQuery of [rows(['1']), failed, never]) {
      const { engine, coordinator } = await start(handleQuery, { columns })
      expect(await classOf(engine.aggregate(dataset, counted))).toBe('TableChanged')
      const isCancelled = () => coordinator.received.some(({ method }) => method === 'DELETE')
      if (handleQuery === never) await expect.poll(isCancelled).toBe(true)
      await engine.close()
    }
  })

  test('an answer is not given before the columns were compared', async () => {
    const compared = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    const coordinator = await startFakeCoordinator(async ({ body }, response) => {
      if (!body.includes('information_schema')) {
        answer(response, { data: [['1']] })
        answered.resolve()
        return
      }
      await compared.promise
      answer(response, { data: [] })
    })
    open.push(coordinator)
    const engine = openTrinoEngine(coordinator.connection())
    engine.open(table)
    const outcome = classOf(engine.aggregate(dataset, counted))
    await answered.promise
    compared.resolve()
    expect(await outcome).toBe('TableChanged')
    await engine.close()
  })

  test('a further column of the table is no change', async () => {
    const columns = [
      ['other', 'integer', 'YES', 2],
      ['age', 'integer', 'YES', 1],
    ]
    const { engine } = await start(rows(['1']), { columns })
    expect(await classOf(engine.aggregate(dataset, counted))).toBe('answered')
    await engine.close()
  })
})

describe('a dataset that is closed', () => {
  test('its queries are cancelled, and later ones are unavailable', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    const { engine, coordinator } = await start((request, response) => {
      resolve()
      never(request, response)
    })
    const answered = classOf(engine.aggregate(dataset, counted))
    await asked
    await engine.closeDataset(dataset)
    expect(await answered).toBe('EngineUnavailable')
    await expect.poll(() => coordinator.received.some(({ method }) => method === 'DELETE')).toBe(true)
    expect(await classOf(engine.aggregate(dataset, counted))).toBe('EngineUnavailable')
    await engine.close()
  })
})

test('no more statements run at a time than the connection permits', async () => {
  let [running, most] = [0, 0]
  const { engine } = await start(
    (_, response) => {
      running += 1
      most = Math.max(most, running)
      setTimeout(() => {
        running -= 1
        answer(response, { data: [['1']] })
      }, 20)
    },
    { connections: 2 },
  )
  await Promise.all(Array.from({ length: 6 }, () => engine.aggregate(dataset, counted)))
  expect(most).toBe(2)
  await engine.close()
})

test('a long count of values is read page by page', async () => {
  let page = 0
  const { engine } = await start(({ headers }, response) => {
    page += 1
    const nextUri = `http://${headers.host}/v1/statement/executing/${page}`
    answer(response, { data: [[page, 2.0]], ...(page < 5 ? { nextUri } : {}) })
  })
  const counts = await engine.countIndexes(dataset, { column: 'age', bounding: { kind: 'one-row-each' } })
  expect(counts).toEqual({
    indexes: Float64Array.of(1, 2, 3, 4, 5),
    counts: Float64Array.of(2, 2, 2, 2, 2),
  })
  await engine.close()
})

test('rows are read in batches, and the signal stops the reading', async () => {
  const { engine, coordinator } = await start(({ headers }, response) =>
    answer(response, { data: [['1'], [null]], nextUri: `http://${headers.host}/v1/statement/executing/1` }),
  )
  const abort = new AbortController()
  let batches = 0
  const read = async () => {
    for await (const batch of engine.read(table, abort.signal)) {
      expect(batch).toEqual([['1'], [null]])
      batches += 1
      if (batches === 3) abort.abort(new RangeError('stopped'))
    }
  }
  await expect(read()).rejects.toThrow('stopped')
  expect(batches).toBe(3)
  await expect.poll(() => coordinator.received.some(({ method }) => method === 'DELETE')).toBe(true)
  await engine.close()
})

test('a signal ends the description of a table, and its place is free', async () => {
  const coordinator = await startFakeCoordinator((request, response) => {
    if (request.method === 'DELETE') answer(response, {}, 204)
  })
  const limits = { connections: 1, statementTimeoutMs: 60_000, registrationTimeoutMs: 60_000 }
  const engine = openTrinoEngine(coordinator.connection({ limits }))
  open.unshift(coordinator)
  const leaving = new AbortController()
  const reason = new Error('left')
  const described = [0, 1].map(() => engine.describe(table.table, leaving.signal))
  leaving.abort(reason)
  for (const each of described) await expect(each).rejects.toBe(reason)
})
