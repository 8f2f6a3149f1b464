import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import type { TableEngine } from '../../../../src/engines/tables/table-engine.ts'
import { openTrinoEngine } from '../../../../src/engines/trino/engine.ts'
import type { Trino } from '../../../servers/trino.ts'
import { connectionTo } from '../fake-coordinator.ts'
import { COUNT_AND_SUM, lineItems, TINY_ANSWER } from '../slow-table.ts'

const [fast, slow] = [lineItems('tiny'), lineItems('sf1000')]

/** Far longer than any fault takes to be noticed. */
const LONG_MS = 300_000

function open({ url }: Trino, statementTimeoutMs = LONG_MS): TableEngine {
  const { hostname, port } = new URL(url)
  const limits = { connections: 2, statementTimeoutMs, registrationTimeoutMs: LONG_MS }
  const engine = openTrinoEngine(
    connectionTo(hostname, Number(port), { catalog: 'tpch', schema: 'tiny', limits }),
  )
  engine.open(fast)
  engine.open(slow)
  return engine
}

const classOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'answered',
    (error: unknown) => (error instanceof Error ? error.name : error),
  )

const RUNNING = `SELECT query_id FROM system.runtime.queries WHERE source = 'sotto' AND state = 'RUNNING' AND query LIKE '%sf1000%sotto_kept_rows%'`

/** Waits until a slow query runs, and returns its id. */
async function slowQuery({ query }: Trino): Promise<string> {
  for (;;) {
    const [row] = await query(RUNNING)
    if (typeof row?.[0] === 'string') return row[0]
    await sleep(100)
  }
}

/** Tests faults of queries and nodes. Both nodes run again after the last test. */
export function testFaults(trino: Trino): void {
  let engine: TableEngine
  beforeAll(() => {
    engine = open(trino)
  })
  const ask = () => engine.aggregate(slow.dataset, COUNT_AND_SUM)
  const expectAnswers = async () =>
    expect(await engine.aggregate(fast.dataset, COUNT_AND_SUM)).toEqual(TINY_ANSWER)

  test('a query that takes too long is cancelled', async () => {
    const impatient = open(trino, 5_000)
    const answered = classOf(impatient.aggregate(slow.dataset, COUNT_AND_SUM))
    expect(await answered).toBe('EngineTimeout')
    await expect.poll(() => trino.query(RUNNING)).toEqual([])
    await impatient.close()
    await expectAnswers()
  })

  test('a query that an administrator kills fails', async () => {
    const answered = classOf(ask())
    await trino.query(`CALL system.runtime.kill_query('${await slowQuery(trino)}', 'test')`)
    expect(await answered).toBe('EngineFailure')
    await expectAnswers()
  })

  test('the queries of a dataset that is withdrawn are cancelled', async () => {
    const answered = classOf(ask())
    await slowQuery(trino)
    await engine.closeDataset(slow.dataset)
    expect(await answered).toBe('EngineUnavailable')
    await expect.poll(() => trino.query(RUNNING)).toEqual([])
    engine.open(slow)
    await expectAnswers()
  })

  test('a worker that is killed makes its queries fail, and others run', async () => {
    const answered = classOf(ask())
    await slowQuery(trino)
    await trino.kill('worker')
    expect(await answered).toBe('EngineInterrupted')
    await expect.poll(() => classOf(engine.aggregate(fast.dataset, COUNT_AND_SUM))).toBe('answered')
  })

  test('a coordinator that stalls: the time limit holds', async () => {
    const impatient = open(trino, 10_000)
    let isOver = false
    const answered = classOf(impatient.aggregate(slow.dataset, COUNT_AND_SUM)).finally(() => {
      isOver = true
    })
    // On a slow machine the limit may end the query before it runs.
    await expect.poll(async () => isOver || (await trino.query(RUNNING)).length > 0).toBe(true)
    await trino.stop('coordinator')
    expect(await answered).toBe('EngineTimeout')
    await trino.resume('coordinator')
    await impatient.close()
    await expectAnswers()
  })

  test('a coordinator that is killed: the query fails, later ones find no server until both nodes are back', async () => {
    const answered = classOf(ask())
    await slowQuery(trino)
    await trino.kill('coordinator')
    expect(await answered).toBe('EngineInterrupted')
    expect(await classOf(engine.aggregate(fast.dataset, COUNT_AND_SUM))).toBe('EngineUnavailable')
    expect(await engine.reachable()).toBe(false)
    await trino.start()
    await expectAnswers()
    expect(await engine.reachable()).toBe(true)
    await engine.close()
  })
}
