import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { query as querySchema } from '../../schemas/answers/query.ts'
import { WITHOUT_QUEUE } from '../../src/answers/admission.ts'
import { type AnswerDependencies, answer, answerBatch } from '../../src/answers/answer.ts'
import {
  longestDelayMs,
  nextRecordMs,
  nextReleaseMs,
  recordMarginMs,
  shownTime,
  systemClock,
} from '../../src/answers/release-time.ts'
import { createSparseVectorSessions } from '../../src/answers/session.ts'
import type { Dataset, Timing } from '../../src/core/dataset/dataset.ts'
import { createVersionUses } from '../../src/datasets/catalog/version-uses.ts'
import { EngineFailure } from '../../src/engines/engine.ts'
import type { LedgerEntry } from '../../src/ledger/contract/chain.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { people } from '../core/planner/neighbours/people.ts'
import { dependenciesOf, openPeopleLedger } from './counting.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'

let ledger: Ledger
beforeEach(async () => {
  ledger = await openPeopleLedger(100n)
})
afterEach(() => ledger.close())

const ARRIVED_MS = 1_000
const SLOTS: Timing = { slotMs: 50 }
const STRICT: Timing = { deadlineMs: 400 }
const count = querySchema.parse({ kind: 'count', epsilon: 1 })

/** Times of one request that analysts can observe: when its outcome is in the ledger, and when it is released. */
interface Observed {
  readonly recordedMs: number | undefined
  readonly leftMs: number
  readonly code: string
}

interface Conditions {
  readonly timing: Timing
  /** Time that the engine takes. */
  readonly engineMs: number
  readonly fails?: boolean
  /** Time that recording the outcome takes. */
  readonly recordMs?: number
}

/** Creates the dependencies of one request under a fake clock, and a note of when an outcome was recorded. */
function observedDependencies({ engineMs, fails = false, recordMs = 0 }: Conditions) {
  const clock = createFakeClock(ARRIVED_MS)
  let recordedMs: number | undefined
  const noting = <Arguments extends readonly unknown[], Result>(
    record: (...call: Arguments) => Promise<Result>,
  ) => {
    return async (...call: Arguments) => {
      recordedMs = clock.nowMs()
      clock.pass(recordMs)
      return record(...call)
    }
  }
  const noted = {
    ...ledger,
    recordAnswer: noting(ledger.recordAnswer),
    recordFailure: noting(ledger.recordFailure),
    openSession: noting(ledger.openSession),
    recordSessionAnswer: noting(ledger.recordSessionAnswer),
  }
  const aggregate = async () => {
    clock.pass(engineMs)
    if (fails) throw new EngineFailure()
    return [[100n]]
  }
  const dependencies = dependenciesOf(noted, aggregate, { admission: WITHOUT_QUEUE, clock })
  return { clock, dependencies, recordedMs: () => recordedMs }
}

let requests = 0

/** Kinds of requests that read data, or that cost something. */
const REQUESTS: Readonly<Record<string, (conditions: Conditions) => Promise<Observed>>> = {
  'a query': (conditions) => observe(conditions, (deps, caller) => answer(deps, { ...caller, query: count })),
  'a batch': (conditions) =>
    observe(conditions, (deps, caller) => answerBatch(deps, { ...caller, queries: [count] })),
  'a question of a session': async (conditions) => {
    const { dependencies } = observedDependencies({ ...conditions, engineMs: 0, fails: false })
    const session = { threshold: 50, positives: 2, epsilon: 1 }
    const opening = { ...callerOf('off'), request: session }
    const opened = await createSparseVectorSessions({
      ...dependencies,
      versionUses: createVersionUses(),
      registered: () => undefined,
    }).open(opening)
    const { id } = JSON.parse(opened.body)
    return observe(conditions, (deps, { dataset, ...caller }) =>
      createSparseVectorSessions({
        ...deps,
        versionUses: createVersionUses(),
        registered: () => dataset,
      }).ask({
        ...caller,
        session: id,
        where: { column: 'Age', op: '>=', value: 18 },
      }),
    )
  },
}

function callerOf(timing: Timing) {
  requests += 1
  const dataset: Dataset = { ...people('add-remove'), timing }
  return { principal: 'analyst', dataset, idempotencyKey: `request-${requests}`, arrivedAtMs: ARRIVED_MS }
}

async function observe(
  conditions: Conditions,
  send: (dependencies: AnswerDependencies, caller: ReturnType<typeof callerOf>) => Promise<unknown>,
): Promise<Observed> {
  const { clock, dependencies, recordedMs } = observedDependencies(conditions)
  const code = await send(dependencies, callerOf(conditions.timing)).then(
    () => 'answered',
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : 'failed'),
  )
  return { recordedMs: recordedMs(), leftMs: clock.nowMs(), code }
}

describe.each(Object.entries(REQUESTS))('%s that takes longer because of one row', (_name, request) => {
  test.each([
    ['slots', SLOTS, 37.5, 50],
    ['a deadline', STRICT, 380, 400],
  ] as const)(
    'is recorded and leaves at the same instants under %s',
    async (_timing, timing, record, release) => {
      const expected = { recordedMs: ARRIVED_MS + record, leftMs: ARRIVED_MS + release, code: 'answered' }
      for (const engineMs of [0, 5, 25, 37])
        expect(await request({ timing, engineMs }), `${engineMs} ms`).toEqual(expected)
    },
  )

  test('is recorded and released later with timing off', async () => {
    const left = async (engineMs: number) => (await request({ timing: 'off', engineMs })).leftMs
    expect([await left(5), await left(25)]).toEqual([ARRIVED_MS + 5, ARRIVED_MS + 25])
  })

  test('fails at the same instants', async () => {
    for (const engineMs of [1, 36]) {
      const { leftMs, code } = await request({ timing: SLOTS, engineMs, fails: true })
      expect([leftMs, code]).toEqual([ARRIVED_MS + 50, 'failed'])
    }
  })

  test('is released at the next multiple if it takes longer than the first', async () => {
    for (const engineMs of [38, 87])
      expect(await request({ timing: SLOTS, engineMs })).toEqual({
        recordedMs: ARRIVED_MS + 87.5,
        leftMs: ARRIVED_MS + 100,
        code: 'answered',
      })
    expect(await request({ timing: STRICT, engineMs: 1_000 })).toMatchObject({ leftMs: ARRIVED_MS + 1_200 })
  })

  test('is released at the next multiple if recording it takes longer than the margin', async () => {
    const observed = await request({ timing: SLOTS, engineMs: 5, recordMs: 13 })
    expect(observed).toMatchObject({ recordedMs: ARRIVED_MS + 37.5, leftMs: ARRIVED_MS + 100 })
  })
})

describe('outcomes that read no data are released at a release instant', () => {
  test('the opening of a session', async () => {
    const observed = await observe({ timing: SLOTS, engineMs: 0 }, (deps, caller) =>
      createSparseVectorSessions({
        ...deps,
        versionUses: createVersionUses(),
        registered: () => caller.dataset,
      }).open({
        ...caller,
        request: { threshold: 50, positives: 2, epsilon: 1 },
      }),
    )
    expect(observed).toEqual({ recordedMs: ARRIVED_MS + 37.5, leftMs: ARRIVED_MS + 50, code: 'answered' })
  })

  test('a denial, a replay, a repeat of a request in progress, and a key of another request', async () => {
    const conditions = { timing: SLOTS, engineMs: 5 }
    const expensive = querySchema.parse({ kind: 'count', epsilon: 500 })
    const denied = await observe(conditions, (deps, caller) => answer(deps, { ...caller, query: expensive }))
    expect(denied).toMatchObject({ leftMs: ARRIVED_MS + 50, code: 'budget-insufficient' })

    const caller = { ...callerOf(SLOTS), query: count }
    await answer(observedDependencies(conditions).dependencies, caller)
    const replay = observedDependencies(conditions)
    expect((await answer(replay.dependencies, caller)).replayed).toBe(true)
    expect(replay.clock.nowMs()).toBe(ARRIVED_MS + 50)

    const reused = observedDependencies(conditions)
    const other = querySchema.parse({ kind: 'count', epsilon: 2 })
    await expect(answer(reused.dependencies, { ...caller, query: other })).rejects.toMatchObject({
      code: 'idempotency-key-reused',
    })
    expect(reused.clock.nowMs()).toBe(ARRIVED_MS + 50)

    const again = { ...callerOf(SLOTS), query: count }
    const first = observedDependencies(conditions)
    const repeat = observedDependencies(conditions)
    const { aggregate } = first.dependencies.engine
    first.dependencies.engine.aggregate = async (...call) => {
      await expect(answer(repeat.dependencies, again)).rejects.toMatchObject({ code: 'query-in-flight' })
      return aggregate(...call)
    }
    await answer(first.dependencies, again)
    expect(repeat.clock.nowMs()).toBe(ARRIVED_MS + 50)
  })

  test('a refusal that depends on the request alone is sent at once', async () => {
    const unknown = querySchema.parse({ kind: 'sum', column: 'Shoe size', epsilon: 1 })
    const refused = await observe({ timing: SLOTS, engineMs: 5 }, (deps, caller) =>
      answer(deps, { ...caller, query: unknown }),
    )
    expect(refused).toEqual({ recordedMs: undefined, leftMs: ARRIVED_MS, code: 'query-does-not-fit' })
  })
})

test('an analyst who polls learns nothing before the record instant', async () => {
  const seen: {
    readonly nowMs: number
    readonly kinds: readonly LedgerEntry['kind'][]
    readonly stored: boolean
  }[] = []
  let id = ''
  const poll = async (clock: FakeClock) => {
    const entries = await ledger.entries('people', { limit: 10, principal: 'analyst' })
    id = entries.at(-1)?.chargeId ?? ''
    const stored = (await ledger.release(id)) !== undefined
    seen.push({ nowMs: clock.nowMs() - ARRIVED_MS, kinds: entries.map(({ kind }) => kind), stored })
  }
  const { dependencies } = observedDependencies({ timing: SLOTS, engineMs: 5 })
  // The fake clock polls while it stands still: after the computation, and after the record instant.
  const clock: FakeClock = createFakeClock(ARRIVED_MS, () => poll(clock))
  const { aggregate } = dependencies.engine
  const engine = {
    ...dependencies.engine,
    aggregate: async (...call: Parameters<typeof aggregate>) => {
      clock.pass(5)
      return aggregate(...call)
    },
  }
  await answer({ ...dependencies, engine, clock }, { ...callerOf(SLOTS), query: count })
  await poll(clock)
  expect(seen).toEqual([
    { nowMs: 5, kinds: ['charged'], stored: false },
    { nowMs: 37.5, kinds: ['answered', 'charged'], stored: true },
    { nowMs: 50, kinds: ['answered', 'charged'], stored: true },
  ])
})

test('the lease of an attempt includes the delay of its release', async () => {
  const leases: number[] = []
  const { dependencies } = observedDependencies({ timing: STRICT, engineMs: 5 })
  const charge: Ledger['charge'] = (request) => {
    leases.push(request.leaseMs)
    return ledger.charge(request)
  }
  const deps = { ...dependencies, ledger: { ...dependencies.ledger, charge } }
  await answer(deps, { ...callerOf(STRICT), query: count })
  await answerBatch(deps, { ...callerOf(STRICT), queries: [count, count] })
  expect(leases).toEqual([60_800, 120_800])
})

test('the answer of a session shows a time of the granularity of its slots', async () => {
  const { dependencies } = observedDependencies({ timing: SLOTS, engineMs: 5 })
  const caller = callerOf({ slotMs: 10_000 })
  const sessions = createSparseVectorSessions({
    ...dependencies,
    versionUses: createVersionUses(),
    registered: () => caller.dataset,
  })
  const request = { threshold: 50, positives: 2, epsilon: 1 }
  const opened = await sessions.open({ ...caller, request })
  const where = { column: 'Age', op: '>=', value: 18 } as const
  const { body } = await sessions.ask({ ...caller, session: JSON.parse(opened.body).id, where })
  expect(Date.parse(JSON.parse(body).answeredAt) % 10_000).toBe(0)
})

test('instants are whole periods after the arrival, never before now, and the next ones', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 10, max: 120_000 }),
      fc.integer({ min: 0, max: 2 ** 40 }),
      fc.integer({ min: 0, max: 10 ** 7 }),
      (periodMs, arrivedAtMs, elapsedMs) => {
        const nowMs = arrivedAtMs + elapsedMs
        const release = nextReleaseMs(periodMs, arrivedAtMs, nowMs)
        const record = nextRecordMs(periodMs, arrivedAtMs, nowMs)
        expect((release - arrivedAtMs) % periodMs).toBe(0)
        expect(release).toBeGreaterThanOrEqual(nowMs)
        expect(release === arrivedAtMs + periodMs || release - nowMs < periodMs).toBe(true)
        expect((record + recordMarginMs(periodMs) - arrivedAtMs) % periodMs).toBe(0)
        expect(record).toBeGreaterThanOrEqual(nowMs)
        expect(record).toBeGreaterThan(arrivedAtMs)
        expect(release + periodMs - nowMs).toBeLessThanOrEqual(longestDelayMs({ slotMs: periodMs }))
      },
    ),
  )
})

test('times are rounded down to the period', () => {
  const at = '2026-03-01T10:20:30.987Z'
  expect(shownTime(at, 'off')).toBe(at)
  expect(shownTime(at, { slotMs: 50 })).toBe('2026-03-01T10:20:30.950Z')
  expect(shownTime(at, { deadlineMs: 60_000 })).toBe('2026-03-01T10:20:00.000Z')
})

test('the clock of the process never ends a wait early', async () => {
  for (const precision of ['timer', 'exact'] as const)
    for (let round = 0; round < 20; round += 1) {
      const until = systemClock.nowMs() + 2.5 + round / 7
      await systemClock.waitUntil(until, precision)
      expect(systemClock.nowMs()).toBeGreaterThanOrEqual(until)
    }
})
