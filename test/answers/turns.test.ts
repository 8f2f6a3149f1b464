import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { query as querySchema } from '../../schemas/answers/query.ts'
import { createAdmission, readingInTurns } from '../../src/answers/admission.ts'
import { answer, answerBatch, type Question } from '../../src/answers/answer.ts'
import type { Aggregate } from '../../src/core/planner/language/aggregate.ts'
import { plan } from '../../src/core/planner/plan.ts'
import type { Engine } from '../../src/engines/engine.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { deltaAtto, epsilonNano } from '../../src/privacy/loss.ts'
import { epsilonSpent } from '../balances.ts'
import { people } from '../core/planner/neighbours/people.ts'
import { aggregating, dependenciesOf, openPeopleLedger } from './counting.ts'

/* Attacks on the queue in front of the engine. The engine is a stub that answers when the test says so. */

let ledger: Ledger
beforeEach(async () => {
  ledger = await openPeopleLedger(1000n)
})
afterEach(() => ledger.close())

const dataset = people('add-remove')
const count = (age: number) =>
  querySchema.parse({ kind: 'count', where: { column: 'Age', op: '>=', value: age }, epsilon: 1 })

/** A question that no other question repeats. */
function ask(principal: string, number: number): Question {
  return { principal, dataset, query: count(0), idempotencyKey: `${principal}-${number}` }
}

const QUIET_AGE = 99n
/** The question of an analyst who asks only one. */
const QUIET: Question = { principal: 'quiet', dataset, query: count(Number(QUIET_AGE)) }

/** An engine whose reads end when the test says so. */
function controlledEngine() {
  const reads: (() => void)[] = []
  const begun: Aggregate[] = []
  const read = (_dataset: unknown, aggregate: Aggregate) => {
    begun.push(aggregate)
    const { promise, resolve } = Promise.withResolvers<bigint[][]>()
    reads.push(() => resolve([[100n]]))
    return promise
  }
  return {
    engine: aggregating(read),
    /** The number of reads under way. */
    reading: () => reads.length,
    /** The number of reads that began before the read of {@link QUIET}; -1 if that has not begun. */
    begunBeforeQuiet: () =>
      begun.findIndex(({ where }) => where?.kind === 'index-between' && where.lower === QUIET_AGE),
    /** Ends the read that began first. */
    endRead: () => reads.shift()?.(),
  }
}

function setUp(
  {
    places,
    requestsPerPlace = 1,
    turns = places,
    maxWaiting = 1_000,
    maxWaitMs = 600_000,
    scanOf = () => undefined,
  }: {
    places: number
    requestsPerPlace?: number
    turns?: number
    maxWaiting?: number
    maxWaitMs?: number
    scanOf?: NonNullable<Engine['scanOf']>
  },
  over: Partial<Ledger> = {},
) {
  const controlled = controlledEngine()
  const admission = createAdmission({ places, requestsPerPlace, turns, maxWaiting, maxWaitMs })
  const engine = { ...controlled.engine, scanOf }
  const changes = { engine, admission, leaseMs: 600_000 }
  const dependencies = dependenciesOf({ ...ledger, ...over }, engine.aggregate, changes)
  return { ...controlled, admission, dependencies }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate()
}

const spent = async () => {
  const budget = await ledger.budget('people')
  return budget === undefined ? undefined : epsilonSpent(budget)
}

test('a flood of one analyst: another analyst waits for no more than one of its queries', async () => {
  const { dependencies, reading, endRead, admission, begunBeforeQuiet } = setUp({ places: 1 })
  const flood = Array.from({ length: 64 }, (_, number) => answer(dependencies, ask('flooding', number)))
  await until(() => admission.counts().waiting === 63)
  const quiet = answer(dependencies, QUIET)
  await until(() => admission.counts().waiting === 64)
  for (let ended = 0; ended < 65; ended += 1) {
    await until(() => reading() === 1)
    endRead()
  }
  await Promise.all([...flood, quiet])
  expect(begunBeforeQuiet()).toBeLessThanOrEqual(2)
})

test('a flood of one analyst leaves half of the places: another analyst does not wait at all', async () => {
  const { dependencies, reading, endRead, admission } = setUp({ places: 4 })
  const flood = Array.from({ length: 64 }, (_, number) => answer(dependencies, ask('flooding', number)))
  await until(() => admission.counts().waiting === 62)
  expect(admission.counts().running).toBe(2)
  const quiet = answer(dependencies, ask('quiet', 0))
  await until(() => reading() === 3)
  // The queries of the flood that wait have not been charged.
  expect(await spent()).toBe(3)
  let isDone = false
  const all = Promise.all([...flood, quiet]).finally(() => {
    isDone = true
  })
  await until(() => {
    endRead()
    return isDone
  })
  await all
  expect(await spent()).toBe(65)
})

test('a flood of one analyst is charged ahead of the engine for half of the turns only, and yields to another', async () => {
  const { dependencies, reading, endRead, admission, begunBeforeQuiet } = setUp({ places: 1, turns: 8 })
  const flood = Array.from({ length: 64 }, (_, number) => answer(dependencies, ask('flooding', number)))
  await until(() => admission.counts().waiting === 63)
  expect(await spent()).toBe(4)
  const quiet = answer(dependencies, QUIET)
  await until(() => admission.counts().waiting === 64)
  for (let ended = 0; ended < 65; ended += 1) {
    await until(() => reading() === 1)
    endRead()
  }
  await Promise.all([...flood, quiet])
  expect(begunBeforeQuiet()).toBeLessThanOrEqual(2)
})

test('attack: queries of many analysts for a database that stalls do not hold up queries of other datasets', async () => {
  const { dependencies, reading, endRead, admission } = setUp({ places: 4 })
  const source = { kind: 'table', connection: 'stalled', table: 'public.people', mode: 'live' } as const
  const stalled = { ...dataset, source }
  const asking = Array.from({ length: 40 }, (_, number) =>
    answer(dependencies, { ...ask(`analyst-${number % 10}`, number), dataset: stalled }),
  )
  await until(() => reading() === 4 && admission.counts().waiting === 36)
  const ofFile = answer(dependencies, ask('quiet', 0))
  const elsewhere = { ...source, connection: 'working' }
  const ofOtherConnection = answer(dependencies, {
    ...ask('quiet', 1),
    dataset: { ...dataset, source: elsewhere },
  })
  await until(() => reading() === 6)
  let isDone = false
  const all = Promise.all([...asking, ofFile, ofOtherConnection]).finally(() => {
    isDone = true
  })
  await until(() => {
    endRead()
    return isDone
  })
  await all
})

test('a client that leaves while it waits is removed from the queue and charged nothing', async () => {
  const { dependencies, reading, endRead, admission } = setUp({ places: 1 })
  const first = answer(dependencies, ask('ada', 0))
  await until(() => reading() === 1)
  const leaving = new AbortController()
  const second = answer(dependencies, { ...ask('ada', 1), givenUp: leaving.signal })
  await until(() => admission.counts().waiting === 1)
  leaving.abort()
  await expect(second).rejects.toMatchObject({ code: 'unavailable' })
  expect(admission.counts().waiting).toBe(0)
  endRead()
  await first
  expect(await spent()).toBe(1)
})

test('a query that the queue turns away costs nothing, and says when to retry', async () => {
  const { dependencies, reading, endRead } = setUp({ places: 1, maxWaiting: 1, maxWaitMs: 20 })
  const first = answer(dependencies, ask('ada', 0))
  await until(() => reading() === 1)
  const refused = [1, 2].map((number) => answer(dependencies, ask('ada', number)))
  const turnedAway = { status: 'rejected', reason: { code: 'unavailable', facts: { retryAfterSeconds: 2 } } }
  expect(await Promise.allSettled(refused)).toMatchObject([turnedAway, turnedAway])
  endRead()
  await first
  expect(await spent()).toBe(1)
})

test('replays need no place', async () => {
  const { dependencies, reading, endRead } = setUp({ places: 1 })
  const stored = answer(dependencies, ask('ada', 0))
  await until(() => reading() === 1)
  endRead()
  await stored
  const running = answer(dependencies, ask('ben', 0))
  await until(() => reading() === 1)
  expect(await answer(dependencies, ask('ada', 0))).toMatchObject({ replayed: true })
  endRead()
  await running
})

test('a thousand repeats of a question in flight need neither places nor the ledger', async () => {
  let charges = 0
  const { dependencies, reading, endRead, admission } = setUp(
    { places: 1 },
    {
      charge: (request) => {
        charges += 1
        return ledger.charge(request)
      },
    },
  )
  const first = answer(dependencies, ask('ada', 0))
  await until(() => reading() === 1)
  const waiting = answer(dependencies, ask('ada', 1))
  await until(() => admission.counts().waiting === 1)
  for (let repeat = 0; repeat < 1_000; repeat += 1)
    await expect(answer(dependencies, ask('ada', repeat % 2))).rejects.toMatchObject({
      code: 'query-in-flight',
    })
  expect(charges).toBe(1)
  expect(admission.counts()).toEqual({ running: 1, waiting: 1 })
  endRead()
  await first
  await until(() => reading() === 1)
  endRead()
  await waiting
})

test('a key reused for another question in flight is still refused as reused', async () => {
  const { dependencies, reading, endRead } = setUp({ places: 4 })
  const first = answer(dependencies, ask('ada', 0))
  await until(() => reading() === 1)
  const reused = answer(dependencies, { ...ask('ada', 0), query: count(50) })
  await expect(reused).rejects.toMatchObject({ code: 'idempotency-key-reused' })
  endRead()
  await first
})

test('a batch of 100 takes turns query by query', async () => {
  const { dependencies, reading, endRead, admission, begunBeforeQuiet } = setUp({ places: 1, turns: 4 })
  const queries = Array.from({ length: 100 }, (_, place) => count(place % 50))
  const batch = answerBatch(dependencies, { principal: 'batching', dataset, queries })
  await until(() => reading() === 1)
  const quiet = answer(dependencies, QUIET)
  await until(() => admission.counts().waiting === 1)
  for (let ended = 0; ended < 101; ended += 1) {
    await until(() => reading() === 1)
    endRead()
  }
  await Promise.all([batch, quiet])
  expect(begunBeforeQuiet()).toBe(1)
})

test('the place is left before the answer is stored', async () => {
  const stores: (() => void)[] = []
  const { dependencies, reading, endRead } = setUp(
    { places: 1 },
    {
      recordAnswer: async (...call) => {
        await new Promise<void>((resolve) => stores.push(resolve))
        return ledger.recordAnswer(...call)
      },
    },
  )
  const both = [answer(dependencies, ask('ada', 0)), answer(dependencies, ask('ben', 0))]
  for (const stored of [1, 2]) {
    await until(() => reading() === 1)
    endRead()
    await until(() => stores.length === stored)
  }
  for (const store of stores) store()
  await Promise.all(both)
})

test('a failed query leaves its place', async () => {
  const { dependencies, engine, admission } = setUp({ places: 1 })
  const failing: Engine = { ...engine, aggregate: () => Promise.reject(new Error('no data')) }
  await expect(answer({ ...dependencies, engine: failing }, ask('ada', 0))).rejects.toThrow()
  expect(admission.counts()).toEqual({ running: 0, waiting: 0 })
})

test('a denied query leaves its place', async () => {
  const { dependencies, admission } = setUp({ places: 1 })
  await ledger.allot({
    dataset: 'people',
    analyst: 'ada',
    granted: { epsilonNano: epsilonNano(0n), deltaAtto: deltaAtto(0n) },
    principal: 'custodian',
    reason: 'test',
  })
  await expect(answer(dependencies, ask('ada', 0))).rejects.toMatchObject({ code: 'allotment-insufficient' })
  expect(admission.counts()).toEqual({ running: 0, waiting: 0 })
})

test('reads that are not charged take turns with answers', async () => {
  const { dependencies, engine, reading, endRead, admission, begunBeforeQuiet } = setUp({ places: 1 })
  const evaluating = readingInTurns(engine, admission, { principal: 'evaluating' })
  const planned = plan(count(0), dataset, { maxCells: 100 })
  if (planned.kind !== 'additive') throw new Error('a count is asked for')
  const reads = Array.from({ length: 10 }, () => evaluating.aggregate(dataset, planned.aggregate))
  await until(() => admission.counts().waiting === 9)
  const quiet = answer(dependencies, QUIET)
  await until(() => admission.counts().waiting === 10)
  for (let ended = 0; ended < 11; ended += 1) {
    await until(() => reading() === 1)
    endRead()
  }
  await Promise.all([...reads, quiet])
  expect(begunBeforeQuiet()).toBeLessThanOrEqual(2)
})

const oneScan = () => 'scan'

test('queries that wait for one scan are computed together, each under its own charge', async () => {
  const { dependencies, reading, endRead, admission } = setUp({
    places: 1,
    requestsPerPlace: 32,
    scanOf: oneScan,
  })
  const before = (await spent()) ?? 0
  const first = answer(dependencies, ask('ada', 0))
  await until(() => reading() === 1)
  const others = ['ada', 'ben', 'cy'].map((principal) => answer(dependencies, ask(principal, 1)))
  await until(() => admission.counts().waiting === 3)
  endRead()
  await until(() => reading() === 3)
  expect(admission.counts()).toEqual({ running: 3, waiting: 0 })
  for (let ended = 0; ended < 3; ended += 1) endRead()
  const answers = await Promise.all([first, ...others])
  expect(new Set(answers.map(({ body }) => JSON.parse(body).id)).size).toBe(4)
  expect(((await spent()) ?? 0) - before).toBe(4)
})

test('a flood of queries for one scan: another analyst is in the next scan', async () => {
  const { dependencies, reading, endRead, admission, begunBeforeQuiet } = setUp({
    places: 1,
    requestsPerPlace: 4,
    turns: 16,
    scanOf: oneScan,
  })
  const flood = Array.from({ length: 64 }, (_, number) => answer(dependencies, ask('flooding', number)))
  await until(() => reading() > 0 && admission.counts().running + admission.counts().waiting === 64)
  const begun = reading()
  const quiet = answer(dependencies, QUIET)
  await until(() => admission.counts().running + admission.counts().waiting === 65)
  let settled = 0
  for (const each of [...flood, quiet]) each.then(() => (settled += 1))
  while (settled < 65) {
    for (let left = reading(); left > 0; left -= 1) endRead()
    await setImmediate()
  }
  expect(begunBeforeQuiet()).toBeLessThan(begun + 4)
})

test('a failure of one query of a scan fails no other', async () => {
  const { dependencies, engine, admission } = setUp({
    places: 1,
    requestsPerPlace: 4,
    turns: 8,
    scanOf: oneScan,
  })
  const failing: Engine = {
    ...engine,
    scanOf: oneScan,
    aggregate: async (_dataset, { where }) => {
      await setImmediate()
      if (where?.kind === 'index-between' && where.lower === QUIET_AGE) throw new Error('no data')
      return [[100n]]
    },
  }
  const outcomes = await Promise.allSettled(
    [ask('ada', 0), QUIET, ask('ben', 0), ask('cy', 0)].map((question) =>
      answer({ ...dependencies, engine: failing }, question),
    ),
  )
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(admission.counts()).toEqual({ running: 0, waiting: 0 })
})

/** A dataset whose outcomes leave at the end of slots. */
const inSlots = { ...dataset, timing: { slotMs: 50 } } as const

test('attack: the debit of a request that waits does not show when a computation of its principal ended', async () => {
  const { dependencies, reading, endRead, admission } = setUp({ places: 4, turns: 2 })
  const recordInstant = Promise.withResolvers<void>()
  const timed = { ...dependencies, clock: { nowMs: () => 0, waitUntil: () => recordInstant.promise } }
  const before = (await spent()) ?? 0
  const both = [0, 1].map((number) => answer(timed, { ...ask('ada', number), dataset: inSlots }))
  await until(() => reading() === 1 && admission.counts().waiting === 1)
  const ofFirst = ((await spent()) ?? 0) - before
  endRead()
  await until(() => admission.counts().running === 0)
  for (let turn = 0; turn < 100; turn += 1) await setImmediate()
  expect({ spent: ((await spent()) ?? 0) - before, ...admission.counts() }).toEqual({
    spent: ofFirst,
    running: 0,
    waiting: 1,
  })
  recordInstant.resolve()
  await until(() => reading() === 1)
  endRead()
  await Promise.all(both)
})

test('attack: a request that leaves at once does not wait for a computation whose outcome leaves in slots', async () => {
  const { dependencies, reading, endRead } = setUp({ places: 1 })
  const slotted = answer(dependencies, { ...ask('ada', 0), dataset: inSlots })
  await until(() => reading() === 1)
  const atOnce = answer(dependencies, ask('ada', 1))
  await until(() => reading() === 2)
  endRead()
  endRead()
  await Promise.all([slotted, atOnce])
})
