import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { chargeId } from '../../../src/ledger/canonical.ts'
import { LedgerFault } from '../../../src/ledger/fault.ts'
import { StatementError } from '../../../src/ledger/postgres/connection.ts'
import { openPostgresLedger, type PostgresLedger } from '../../../src/ledger/postgres/ledger.ts'
import type { BatchOptions, Step } from '../../../src/ledger/postgres/store.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { isLongRun } from '../../reliability/rounds.ts'
import { type PostgresServer, postgresBinaries, startPostgresServer } from '../../servers/postgres-server.ts'
import { basic, chargeOf, expectConsistentLedger, historyOf, question, summed } from '../support.ts'

let server: PostgresServer

/** Opens a connection that no ledger uses. */
async function prompt(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'prompt' })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end().catch(() => {}))
  return client
}

async function opened(url: string, options: BatchOptions = {}): Promise<PostgresLedger> {
  const ledger = await openPostgresLedger({ url, ...options })
  onTestFinished(() => ledger.close())
  return ledger
}

/** Opens a ledger in a new database, with a budget of 1 for `census`. */
async function withCensus(on: PostgresServer = server): Promise<{ url: string; ledger: PostgresLedger }> {
  const url = await on.createDatabase()
  const ledger = await opened(url)
  await ledger.openBudget('census', summed('1'), 'carol')
  return { url, ledger }
}

/** Pauses a batch at the first occurrence of a step until it is resumed. */
function stopAt(step: Step) {
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  return {
    reached: reached.promise,
    goOn: () => goOn.resolve(),
    onStep: async (passed: Step) => {
      if (passed !== step) return
      reached.resolve()
      await goOn.promise
    },
  }
}

/** Terminates or cancels the statements of the ledgers' connections. */
async function signal(client: Client, how: 'pg_terminate_backend' | 'pg_cancel_backend'): Promise<void> {
  await client.query(`
    SELECT ${how}(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'sotto' AND state <> 'idle'`)
}

async function untilLedgerWaitsFor(client: Client, event: string): Promise<void> {
  const waits = `
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'sotto' AND wait_event = '${event}'`
  while ((await client.query(waits)).rowCount === 0) await sleep(5)
}

/** Terminates sessions that are idle in a transaction. */
const ENDS_SILENT = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'sotto' AND state = 'idle in transaction'`

const UNKNOWN = expect.objectContaining({ name: 'LedgerFault', kind: 'unknown' })

describe.skipIf(postgresBinaries() === undefined)('a ledger in PostgreSQL', () => {
  beforeAll(async () => {
    server = await startPostgresServer()
  })
  afterAll(() => server?.remove())

  test('commits concurrent calls together and answers each separately', async () => {
    const { ledger } = await withCensus()
    const before = ledger.statistics()
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 64 }, (_, n) => ledger.charge(question(`q${n}`, { price: basic('0.02') }))),
      ledger.charge(question('')),
      ledger.charge(question('NUL\0')),
      ledger.recordAnswer('lone \ud800', 1, 'answer'),
      ledger.grant('census', summed('1').granted, 'carol', ''),
    ])
    const kinds = outcomes.map((each) =>
      each.status === 'fulfilled' ? Object(each.value).kind : each.reason.name,
    )
    expect(kinds).toEqual([
      ...Array(50).fill('charged'),
      ...Array(14).fill('denied'),
      ...Array(4).fill('RangeError'),
    ])
    const after = ledger.statistics()
    expect(after.calls - before.calls).toBe(68)
    expect(after.commits - before.commits).toBe(1)
    await expectConsistentLedger(ledger)
  })

  test('uses the clock of the server', async () => {
    const { url, ledger } = await withCensus()
    const client = await prompt(url)
    vi.spyOn(Date, 'now').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    const [row] = (await client.query('SELECT clock_timestamp() AS now')).rows
    await ledger.charge(question('a', { leaseMs: 60_000 }))
    const [entry] = await ledger.entries('census', { limit: 1 })
    expect(Math.abs(Date.parse(entry?.at ?? '') - row.now.getTime())).toBeLessThan(2_000)
    const again = await ledger.charge(question('a'))
    if (again.kind !== 'in-flight') throw new Error(`the lease is not over, but the charge is ${again.kind}`)
    expect(again.retryAfterMs).toBeGreaterThan(50_000)
  })

  test('commits durably and reads committed rows under any settings of its database', async () => {
    const { url, ledger } = await withCensus()
    await ledger.close()
    const client = await prompt(url)
    const database = (await client.query('SELECT current_database() AS name')).rows[0].name
    for (const setting of [
      'synchronous_commit = off',
      `default_transaction_isolation = 'serializable'`,
      'default_transaction_read_only = on',
      'search_path = pg_temp',
      'enable_indexscan = off',
    ])
      await client.query(`ALTER DATABASE ${database} SET ${setting}`)
    await client.query(`
      CREATE TABLE public.seen (durable text, isolation text, patience text);
      CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.seen
        VALUES (current_setting('synchronous_commit'), current_setting('transaction_isolation'),
          current_setting('idle_in_transaction_session_timeout'));
        RETURN NULL;
      END $$;
      CREATE TRIGGER looks AFTER INSERT ON sotto.charges EXECUTE FUNCTION public.look()`)
    const options = encodeURIComponent('-c synchronous_commit=off -c lock_timeout=1')
    chargeOf(await (await opened(`${url}?options=${options}`)).charge(question('a')))
    expect((await client.query('SELECT * FROM public.seen')).rows).toEqual([
      { durable: 'on', isolation: 'read committed', patience: '5s' },
    ])
  })

  describe('of several replicas', () => {
    test('400 charges of 0.1 on a cap of 10: exactly 100 succeed', async () => {
      const { url, ledger } = await withCensus()
      await ledger.grant('census', summed('9').granted, 'carol', 'more')
      const replicas = [ledger, await opened(url), await opened(url)]
      const outcomes = await Promise.all(
        Array.from({ length: 400 }, async (_, n) => {
          await sleep(n % 7)
          return replicas[n % 3]?.charge(question(`q${n}`))
        }),
      )
      expect(outcomes.filter((outcome) => outcome?.kind === 'charged')).toHaveLength(100)
      expect(outcomes.filter((outcome) => outcome?.kind === 'denied')).toHaveLength(300)
      await expectConsistentLedger(ledger)
    })

    test('two that change the same datasets in another order do not deadlock', async () => {
      const { url, ledger } = await withCensus()
      const names = ['census', 'a', 'B', 'é', 'z']
      for (const name of names) await ledger.openBudget(name, summed('100'), 'carol')
      const other = await opened(url)
      const rounds = Array.from({ length: 20 }, (_, round) => round)
      const ask = async (replica: PostgresLedger, who: string, order: readonly string[]) => {
        for (const round of rounds) {
          const calls = order.map((dataset) =>
            replica.charge(question(`${who} ${round} ${dataset}`, { dataset, price: basic('0.01') })),
          )
          for (const outcome of await Promise.all(calls)) chargeOf(outcome)
        }
      }
      await Promise.all([ask(ledger, 'one', names), ask(other, 'other', names.toReversed())])
      await expectConsistentLedger(ledger)
      expect(server.log()).not.toContain('deadlock detected')
    })

    test('the second on a dataset waits for the first', async () => {
      const { url, ledger } = await withCensus()
      const stop = stopAt('locked')
      const first = await opened(url, { onStep: stop.onStep })
      const outcomes = [first.charge(question('a'))]
      await stop.reached
      outcomes.push(ledger.charge(question('b')))
      await untilLedgerWaitsFor(await prompt(url), 'transactionid')
      stop.goOn()
      const places = (await Promise.all(outcomes)).map((outcome) => chargeOf(outcome).event.sequence)
      expect(places).toEqual([2, 3])
    })

    test('one key on two datasets at once is charged once', async () => {
      const { url, ledger } = await withCensus()
      await ledger.openBudget('other', summed('1'), 'carol')
      const stop = stopAt('read')
      const slow = await opened(url, { onStep: stop.onStep })
      const neighbour = question('unrelated', { dataset: 'other' })
      const late = Promise.all([slow.charge(question('a', { dataset: 'other' })), slow.charge(neighbour)])
      await stop.reached
      chargeOf(await ledger.charge(question('a')).finally(stop.goOn))
      const [reused, unrelated] = await late
      expect(reused).toEqual({ kind: 'key-reused' })
      chargeOf(unrelated)
      expect((await ledger.budget('other'))?.spent).toEqual(basic('0.1'))
      await expectConsistentLedger(ledger)
    })

    test('one budget opened twice at once is opened once', async () => {
      const { url, ledger } = await withCensus()
      const stop = stopAt('locked')
      const slow = await opened(url, { onStep: stop.onStep })
      const late = slow.openBudget('new', summed('2'), 'carol')
      await stop.reached
      expect(await ledger.openBudget('new', summed('1'), 'carol')).toEqual({ kind: 'opened' })
      stop.goOn()
      expect(await late).toMatchObject({ kind: 'exists', budget: { cap: basic('1') } })
    })

    test.each(['begun', 'locked'] as const)(
      'a charge made while the answer to it was %s is found',
      async (step) => {
        const { url, ledger } = await withCensus()
        const stop = stopAt(step)
        const slow = await opened(url, { onStep: stop.onStep })
        const late = slow.recordAnswer(chargeId('ada', 'a'), 1, 'answer')
        await stop.reached
        chargeOf(await ledger.charge(question('a')))
        stop.goOn()
        expect(await late).toBe(true)
        await expectConsistentLedger(ledger)
      },
    )

    test('one that fails during a batch releases its locks and has changed nothing', async () => {
      const { url, ledger } = await withCensus()
      const stop = stopAt('written')
      const dying = await opened(url, { onStep: stop.onStep })
      const lost = dying.charge(question('a'))
      await stop.reached
      const waiting = ledger.charge(question('b'))
      // In production the server ends the session after the idle time limit.
      if (!isLongRun) await (await prompt(url)).query(ENDS_SILENT)
      expect(chargeOf(await waiting).event.sequence).toBe(2)
      stop.goOn()
      await expect(lost).rejects.toEqual(UNKNOWN)
      expect((await historyOf(ledger)).map(({ kind }) => kind)).toEqual(['opened', 'charged'])
      // The terminated replica continues, too.
      expect(chargeOf(await dying.charge(question('a'))).event.sequence).toBe(3)
    })
  })

  describe('an exclusive task', () => {
    /** Terminates the connection of the task that holds the lock. */
    async function loseLock(client: Client): Promise<void> {
      const holders = `
        SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
      expect((await client.query(holders)).rowCount).toBe(1)
    }

    test('runs after the one before it, while charges continue', async () => {
      const { url, ledger } = await withCensus()
      const replicas = [ledger, await opened(url)]
      const steps: string[] = []
      const names = ['a', 'b', 'c', 'd', 'e', 'f']
      const tasks = names.map((name, place) => {
        const replica = replicas[place % 2] ?? ledger
        return replica.exclusively(async (requireAlone) => {
          steps.push(name)
          chargeOf(await replica.charge(question(name)))
          await sleep(2)
          await requireAlone()
          steps.push(name)
          return name
        })
      })
      expect(await Promise.all(tasks)).toEqual(names)
      expect(steps.toSorted()).toEqual(names.flatMap((name) => [name, name]))
      for (let place = 0; place < steps.length; place += 2) expect(steps[place]).toBe(steps[place + 1])
    })

    test.each([
      ['a refusal', new Refusal('unknown-dataset', 'There is none.')],
      ['a fault', new LedgerFault('closed', 'the ledger is closed')],
      ['an error of a statement', new StatementError('lost', 'of another connection')],
      ['no error at all', 'a text'],
    ])('passes on %s unchanged, and admits the next task', async (_, thrown) => {
      const { url, ledger } = await withCensus()
      const other = await opened(url)
      const failing = ledger.exclusively(async (requireAlone) => {
        await requireAlone()
        throw thrown
      })
      const next = other.exclusively(async () => 'done')
      await expect(failing).rejects.toBe(thrown)
      expect(await next).toBe('done')
    })

    test('must not continue after its connection is lost, and another may start', async () => {
      const { url, ledger } = await withCensus()
      const [client, other] = [await prompt(url), await opened(url)]
      const begun = Promise.withResolvers<void>()
      const goOn = Promise.withResolvers<void>()
      let published = false
      const losing = ledger.exclusively(async (requireAlone) => {
        await requireAlone()
        begun.resolve()
        await goOn.promise
        await requireAlone()
        published = true
      })
      await begun.promise
      const next = other.exclusively(async (requireAlone) => {
        await requireAlone()
        return 'done'
      })
      await untilLedgerWaitsFor(client, 'advisory')
      await loseLock(client)
      expect(await next).toBe('done')
      goOn.resolve()
      await expect(losing).rejects.toEqual(UNKNOWN)
      expect(published).toBe(false)
      expect(await ledger.exclusively(async () => 'again')).toBe('again')
    })

    test('that does not call requireAlone is not interrupted', async () => {
      const { url, ledger } = await withCensus()
      const client = await prompt(url)
      const done = ledger.exclusively(async () => {
        await loseLock(client)
        return 'done'
      })
      expect(await done).toBe('done')
    })

    test('that waits too long for the lock is not started', async () => {
      const { url, ledger } = await withCensus()
      const [client, other] = [await prompt(url), await opened(url)]
      const [firstBegun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const first = ledger.exclusively(async (requireAlone) => {
        firstBegun.resolve()
        await goOn.promise
        await requireAlone()
        return 'done'
      })
      await firstBegun.promise
      let begun = false
      const late = other.exclusively(async () => {
        begun = true
      })
      const failed = expect(late).rejects.toEqual(UNKNOWN)
      // Instead of waiting for the time limit of the server.
      await untilLedgerWaitsFor(client, 'advisory')
      await signal(client, 'pg_cancel_backend')
      await failed
      goOn.resolve()
      expect(await first).toBe('done')
      expect(begun).toBe(false)
    })

    test('is refused once the ledger is closed', async () => {
      const { ledger } = await withCensus()
      await ledger.close()
      let begun = false
      const refused = ledger.exclusively(async () => {
        begun = true
      })
      await expect(refused).rejects.toEqual(new LedgerFault('closed', 'the ledger is closed'))
      expect(begun).toBe(false)
    })
  })

  describe('after a lost connection', () => {
    test.each(['begun', 'locked', 'read'] as const)('after %s: repeats the batch', async (step) => {
      const { url, ledger } = await withCensus()
      const client = await prompt(url)
      const stop = stopAt(step)
      const unlucky = await opened(url, { onStep: stop.onStep })
      const calls = [unlucky.charge(question('a')), unlucky.charge(question('b'))]
      await stop.reached
      await signal(client, 'pg_terminate_backend')
      stop.goOn()
      for (const outcome of await Promise.all(calls)) expect(chargeOf(outcome).attempt).toBe(1)
      await expectConsistentLedger(ledger)
      expect((await ledger.budget('census'))?.spent).toEqual(basic('0.2'))
    })

    test('on every attempt: reports it', async () => {
      const { url, ledger } = await withCensus()
      const client = await prompt(url)
      const unlucky = await opened(url, {
        onStep: async (step) => {
          if (step === 'read') await signal(client, 'pg_terminate_backend')
        },
      })
      await expect(unlucky.charge(question('a'))).rejects.toEqual(UNKNOWN)
      expect(await historyOf(ledger)).toHaveLength(1)
    })

    test('before the commit arrives: unknown, and not charged', async () => {
      const { url, ledger } = await withCensus()
      const client = await prompt(url)
      const stop = stopAt('written')
      const unlucky = await opened(url, { onStep: stop.onStep })
      const lost = unlucky.charge(question('a'))
      await stop.reached
      await signal(client, 'pg_terminate_backend')
      stop.goOn()
      await expect(lost).rejects.toEqual(UNKNOWN)
      expect(await historyOf(ledger)).toHaveLength(1)
      expect(chargeOf(await unlucky.charge(question('a'))).attempt).toBe(1)
    })

    describe('after the commit, before the reply', () => {
      let replicated: PostgresServer

      beforeAll(async () => {
        replicated = await startPostgresServer()
      })
      afterAll(() => replicated?.remove())

      // A commit that waits for a missing standby is already written.
      test.each(['pg_terminate_backend', 'pg_cancel_backend'] as const)(
        '%s: unknown, and charged once',
        async (how) => {
          const { url, ledger } = await withCensus(replicated)
          // A restart, because it is not visible when all processes have read a setting.
          const setStandby = async (name: string) => {
            await (await prompt(url)).query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
            await replicated.restart()
          }
          await setStandby('nobody')
          const client = await prompt(url)
          // The leases must outlast two restarts of the server.
          const a = question('a', { leaseMs: 3_600_000 })
          const b = question('b', { leaseMs: 3_600_000 })
          const calls = Promise.allSettled([ledger.charge(a), ledger.charge(b)])
          await untilLedgerWaitsFor(client, 'SyncRep')
          await signal(client, how)
          for (const settled of await calls) expect(settled).toEqual({ status: 'rejected', reason: UNKNOWN })
          await setStandby('')
          const again = await ledger.charge(a)
          expect(again.kind).toBe('in-flight')
          expect((await ledger.budget('census'))?.spent).toEqual(basic('0.2'))
          await expectConsistentLedger(ledger)
        },
      )
    })

    test('between two calls: reconnects', async () => {
      const { url, ledger } = await withCensus()
      const client = await prompt(url)
      await Promise.all([ledger.budget('census'), ledger.datasets(), ledger.head('census')])
      await client.query(`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'sotto'`)
      const answers = await Promise.all([
        ledger.budget('census'),
        ledger.datasets(),
        ledger.charge(question('a')),
      ])
      // Concurrent calls have no order: the budget may be read before the charge or after it.
      expect(answers).toMatchObject([{ granted: summed('1').granted }, ['census'], { kind: 'charged' }])
    })
  })

  test('three immediate stops under load: nothing is lost or charged twice', async () => {
    const own = await startPostgresServer()
    onTestFinished(() => own.remove())
    const { url, ledger } = await withCensus(own)
    await ledger.grant('census', summed('1000').granted, 'carol', 'more')
    const replicas = [ledger, await opened(url)]
    const acknowledged = new Set<string>()
    let asking = true
    const callers = Array.from({ length: 16 }, async (_, caller) => {
      for (let n = 0; asking; n += 1) {
        const asked = question(`${caller} ${n}`, { price: basic('0.01'), leaseMs: 1 })
        for (let acknowledgedNow = false; !acknowledgedNow; ) {
          try {
            const outcome = await replicas[caller % 2]?.charge(asked)
            if (outcome?.kind === 'charged') acknowledgedNow = true
            else expect(outcome?.kind).toBe('in-flight')
          } catch (error) {
            expect(error).toEqual(UNKNOWN)
          }
        }
        acknowledged.add(asked.idempotencyKey)
      }
    })
    const acknowledgedMore = async () => {
      for (const target = acknowledged.size + 20; acknowledged.size < target; ) await sleep(5)
    }
    for (let round = 0; round < 3; round += 1) {
      await acknowledgedMore()
      await own.stop('immediate')
      await own.start()
    }
    await acknowledgedMore()
    asking = false
    await Promise.all(callers)
    const client = await prompt(url)
    const { rows } = await client.query('SELECT idempotency_key AS key FROM sotto.charges')
    expect(new Set(rows.map(({ key }) => key))).toEqual(acknowledged)
    const { rows: events } = await client.query(
      `SELECT count(*)::integer AS charged FROM sotto.events WHERE canonical::json ->> 'kind' = 'charged'`,
    )
    expect(events[0].charged).toBe(acknowledged.size)
    await expectConsistentLedger(ledger)
  })

  test('reports an unavailable server, and continues once it is back', async () => {
    const own = await startPostgresServer()
    onTestFinished(() => own.remove())
    const { ledger } = await withCensus(own)
    await own.stop('fast')
    const now = performance.now.bind(performance)
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() * 20)
    const calls = [ledger.charge(question('a')), ledger.budget('census'), ledger.healthy()]
    expect(await Promise.allSettled(calls)).toMatchObject([
      {
        status: 'rejected',
        reason: { kind: 'unknown', message: expect.stringContaining('cannot be reached') },
      },
      { status: 'rejected', reason: { kind: 'unknown' } },
      { status: 'fulfilled', value: false },
    ])
    // The clock runs slowly, so that a slow start of the server does not exceed the time limit.
    clock.mockImplementation(() => now() / 20)
    const waiting = ledger.charge(question('b'))
    await own.start()
    chargeOf(await waiting)
    clock.mockRestore()
    expect(await ledger.healthy()).toBe(true)
    await expectConsistentLedger(ledger)
  })

  test('a locked dataset does not block the others', async () => {
    const { url, ledger } = await withCensus()
    await ledger.openBudget('held', summed('1'), 'carol')
    const [holder, client] = [await prompt(url), await prompt(url)]
    await holder.query(`BEGIN; SELECT FROM sotto.budgets WHERE dataset = 'held' FOR UPDATE`)
    const free = ledger.charge(question('free'))
    const held = ledger.charge(question('held', { dataset: 'held' }))
    const failed = expect(held).rejects.toEqual(UNKNOWN)
    // Instead of waiting for the time limit of the server.
    await untilLedgerWaitsFor(client, 'transactionid')
    await signal(client, 'pg_cancel_backend')
    chargeOf(await free)
    await untilLedgerWaitsFor(client, 'transactionid')
    await signal(client, 'pg_cancel_backend')
    await failed
    await holder.query('ROLLBACK')
    chargeOf(await ledger.charge(question('held', { dataset: 'held' })))
    await expectConsistentLedger(ledger)
  })

  test('a refused write fails only its call, and the error contains no values', async () => {
    const { url, ledger } = await withCensus()
    const client = await prompt(url)
    await client.query(`ALTER TABLE sotto.charges ADD CHECK (principal <> 'eve')`)
    const calls = Array.from({ length: 9 }, (_, n) =>
      ledger.charge(question(`q${n}`, { principal: n === 4 ? 'eve' : 'ada' })),
    )
    const settled = await Promise.allSettled(calls)
    expect(settled.map(({ status }) => status)).toEqual(
      settled.map((_, n) => (n === 4 ? 'rejected' : 'fulfilled')),
    )
    const refused: unknown = await calls[4]?.catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Error)
    expect(refused).not.toBeInstanceOf(LedgerFault)
    expect(String(refused)).toContain('violates check constraint')
    expect(JSON.stringify(refused) + String(Object(refused).cause)).not.toContain('eve')
    await expectConsistentLedger(ledger)
  })

  test('every column stores any Unicode text unchanged', async () => {
    const { ledger } = await withCensus()
    const text = 'a\\b"\'{},NULL \u0001\u2028\ufffd\ud83d\ude00é e\u0301'
    const asked = question(text, { principal: text, requestHash: text, request: text, datasetVersion: '7' })
    const { id } = chargeOf(await ledger.charge(asked))
    expect(await ledger.recordAnswer(id, 1, text)).toBe(true)
    expect(await ledger.charge(asked)).toEqual({ kind: 'answered', id, answer: text })
    expect(await ledger.release(id)).toEqual({ id, dataset: 'census', principal: text, answer: text })
    expect(await ledger.entries('census', { limit: 5, principal: text })).toHaveLength(2)
    expect(await ledger.lastDatasetVersion('census')).toBe(7)
    expect(await ledger.budget('NUL\0')).toBeUndefined()
    expect(await ledger.release('lone \ud800')).toBeUndefined()
    await expectConsistentLedger(ledger)
  })

  test('closing completes earlier calls and leaves no connection', async () => {
    const { url, ledger } = await withCensus()
    const asked = [ledger.charge(question('a')), ledger.charge(question('b'))]
    const reading = ledger.budget('census')
    const closing = [ledger.close(), ledger.close()]
    for (const outcome of await Promise.all(asked)) chargeOf(outcome)
    expect(await reading).toBeDefined()
    await Promise.all(closing)
    const closed = new LedgerFault('closed', 'the ledger is closed')
    await expect(ledger.charge(question('c'))).rejects.toEqual(closed)
    await expect(ledger.budget('census')).rejects.toEqual(closed)
    expect(await ledger.healthy()).toBe(false)
    const client = await prompt(url)
    const left = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'sotto'`
    await expect.poll(async () => (await client.query(left)).rowCount).toBe(0)
  })
})
