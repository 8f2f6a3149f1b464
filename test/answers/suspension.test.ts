import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { query as querySchema } from '../../schemas/answers/query.ts'
import { createAdmission, WITHOUT_QUEUE } from '../../src/answers/admission.ts'
import { type AnswerDependencies, answer, answerBatch } from '../../src/answers/answer.ts'
import { mayDependOnData } from '../../src/answers/attempt.ts'
import { createSparseVectorSessions } from '../../src/answers/session.ts'
import type { Dataset } from '../../src/core/dataset/dataset.ts'
import { EntropyFailure } from '../../src/core/mechanisms/samplers/entropy.ts'
import { createVersionUses } from '../../src/datasets/catalog/version-uses.ts'
import { EngineFailure } from '../../src/engines/engine.ts'
import { LedgerFault } from '../../src/ledger/fault.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { Refusal } from '../../src/privacy/refusal.ts'
import { people } from '../core/planner/neighbours/people.ts'
import { dependenciesOf, openPeopleLedger } from './counting.ts'
import { createFakeClock } from './fake-clock.ts'

let ledger: Ledger
beforeEach(async () => {
  ledger = await openPeopleLedger(100n)
})
afterEach(() => ledger.close())

const dataset: Dataset = { ...people('add-remove'), timing: { slotMs: 50 }, failureLimit: 3 }
const clock = createFakeClock()
let reads = 0

/** Dependencies whose engine succeeds or fails with the error that `fate` returns. */
function dependencies(fate: () => Error | undefined, over: Partial<Ledger> = {}): AnswerDependencies {
  const aggregate = async () => {
    reads += 1
    const error = fate()
    if (error !== undefined) throw error
    return [[100n]]
  }
  return dependenciesOf({ ...ledger, ...over }, aggregate, { admission: WITHOUT_QUEUE, clock })
}

const works = dependencies.bind(undefined, () => undefined)
const timesOut = dependencies.bind(undefined, () => new EngineFailure('EngineTimeout'))

const count = (epsilon: number) => querySchema.parse({ kind: 'count', epsilon })
const codeOf = (sent: Promise<unknown>): Promise<string> =>
  sent.then(
    () => 'answered',
    (error: unknown) => (error instanceof Refusal ? error.code : 'failed'),
  )
const ask = (deps: AnswerDependencies, epsilon: number, principal = 'analyst') =>
  codeOf(answer(deps, { principal, dataset, query: count(epsilon) }))
const spent = async () => (await ledger.budget('people'))?.spent
const failures = async () => (await ledger.suspension('people'))?.failures

test('an analyst who steers queries to the time limit learns as many bits as the failure limit, and no more', async () => {
  // Each query fails if one person is in the data, and succeeds otherwise.
  const codes: string[] = []
  for (let bit = 1; bit <= 8; bit += 1) codes.push(await ask(timesOut(), bit / 1_000))
  const suspended = Array.from({ length: 5 }, () => 'dataset-suspended')
  expect(codes).toEqual(['failed', 'failed', 'failed', ...suspended])
  expect(await failures()).toBe(3)
})

test('repeats under the same charge count, too', async () => {
  const codes: string[] = []
  for (let repeat = 0; repeat < 5; repeat += 1) codes.push(await ask(timesOut(), 0.001))
  expect(codes).toEqual(['failed', 'failed', 'failed', 'dataset-suspended', 'dataset-suspended'])
})

test('failures of batches and of questions of sessions count', async () => {
  const sessionsOf = (deps: AnswerDependencies) =>
    createSparseVectorSessions({ ...deps, versionUses: createVersionUses(), registered: () => dataset })
  const request = { threshold: 50, positives: 2, epsilon: 1 }
  const opened = await sessionsOf(works()).open({ principal: 'analyst', dataset, request })
  const session = String(JSON.parse(opened.body).id)
  const asking = { principal: 'analyst', session, where: { column: 'Age', op: '>=', value: 18 } } as const
  const { body } = await sessionsOf(works()).ask({ ...asking, idempotencyKey: 'answered' })
  const failing = sessionsOf(timesOut())
  expect(await codeOf(failing.ask(asking))).toBe('failed')
  const batch = { principal: 'analyst', dataset, queries: [count(1), count(2)] }
  expect(await codeOf(answerBatch(timesOut(), batch))).toBe('failed')
  expect(await codeOf(failing.ask(asking))).toBe('failed')

  expect((await ledger.suspension('people'))?.counted).toMatchObject([
    { principal: 'analyst', chargeId: session, errorClass: 'EngineTimeout' },
    { errorClass: 'EngineTimeout' },
    { chargeId: session },
  ])
  const readsBefore = reads
  const working = sessionsOf(works())
  const outcomes = [
    codeOf(working.ask(asking)),
    codeOf(answerBatch(works(), batch)),
    codeOf(working.open({ principal: 'other', dataset, request })),
    ask(works(), 1, 'other'),
  ]
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['dataset-suspended']))
  expect(reads).toBe(readsBefore)
  // What was answered before is replayed.
  expect(await working.ask({ ...asking, idempotencyKey: 'answered' })).toEqual({ body, replayed: true })
})

test('a question that waited for its turn while the dataset was suspended reads no data', async () => {
  const admission = createAdmission({ places: 1, turns: 1, maxWaiting: 10, maxWaitMs: 60_000 })
  const sessions = createSparseVectorSessions({
    ...works(),
    admission,
    versionUses: createVersionUses(),
    registered: () => dataset,
  })
  const request = { threshold: 50, positives: 2, epsilon: 1 }
  const opened = await sessions.open({ principal: 'analyst', dataset, request })
  const session = String(JSON.parse(opened.body).id)
  const turn = await admission.enter({ principal: 'other', periodMs: 50 })
  const waiting = codeOf(
    sessions.ask({ principal: 'analyst', session, where: { column: 'Age', op: '>=', value: 18 } }),
  )
  while (admission.counts().waiting === 0) await setImmediate()
  for (const epsilon of [1, 2, 3]) await ask(timesOut(), epsilon)
  const readsBefore = reads
  turn.leave()
  expect(await waiting).toBe('dataset-suspended')
  expect(reads).toBe(readsBefore)
  expect(admission.mustWait({ principal: 'analyst', periodMs: 50 })).toBe(false)
})

test('a suspended dataset charges nothing, answers at a release instant, and is resumed by its custodian', async () => {
  expect(await ask(works(), 0.5)).toBe('answered')
  for (const epsilon of [1, 2, 3]) await ask(timesOut(), epsilon)
  const before = await spent()
  const arrivedAtMs = clock.nowMs()
  const readsBefore = reads
  expect(await ask(works(), 4)).toBe('dataset-suspended')
  expect(await ask(works(), 1)).toBe('dataset-suspended')
  expect(clock.nowMs()).toBe(arrivedAtMs + 100)
  expect([await spent(), reads]).toEqual([before, readsBefore])
  // An earlier answer is replayed.
  expect(await ask(works(), 0.5)).toBe('answered')

  expect(await ledger.resume('people', 'custodian', 'the time limit was raised')).toEqual({ kind: 'resumed' })
  expect(await ask(works(), 1)).toBe('answered')
  expect(await spent()).toEqual(before)
  for (const epsilon of [5, 6]) expect(await ask(timesOut(), epsilon)).toBe('failed')
  expect(await ask(works(), 7)).toBe('answered')
})

describe('failures that every request meets do not count', () => {
  test.each([
    ['an engine without connections', new EngineFailure('EngineUnavailable')],
    ['a ledger that stopped', new LedgerFault('stopped', 'the disk is full')],
    ['a source of randomness that failed', new EntropyFailure(undefined)],
    ['a stopping service', new Refusal('unavailable', 'The service is stopping.')],
  ])('%s', async (_name, error) => {
    for (const epsilon of [1, 2, 3, 4])
      await ask(
        dependencies(() => error),
        epsilon,
      )
    expect(await failures()).toBe(0)
    expect(await ask(works(), 5)).toBe('answered')
    expect(mayDependOnData(error)).toBe(false)
  })

  test('an answer that cannot be stored', async () => {
    const full = works({ recordAnswer: () => Promise.reject(new Error('the disk is full')) })
    for (const epsilon of [1, 2, 3, 4]) expect(await ask(full, epsilon)).toBe('failed')
    expect(await failures()).toBe(0)
  })

  test('but a time limit, a memory limit and an unexpected error do', () => {
    for (const error of [
      new EngineFailure('EngineTimeout'),
      new EngineFailure(),
      new RangeError('Array buffer allocation failed'),
      'no error',
    ])
      expect(mayDependOnData(error)).toBe(true)
  })
})
