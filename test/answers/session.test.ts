import path from 'node:path'
import seedrandom from 'seedrandom'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  openedSession,
  sessionAnswer,
  sessionPreview,
  session as sessionSchema,
} from '../../schemas/answers/sparse-vector.ts'
import { sessionReport } from '../../src/answers/documents/session.ts'
import { AnswerFailure, QuestionFailure } from '../../src/answers/failure.ts'
import { previewSession } from '../../src/answers/preview.ts'
import {
  type Asking,
  createSparseVectorSessions,
  MOST_QUESTIONS,
  type SessionDependencies,
  showSession,
} from '../../src/answers/session.ts'
import type { Dataset } from '../../src/core/dataset/dataset.ts'
import { uniformFromWords } from '../../src/core/mechanisms/samplers/uniform-integers.ts'
import {
  calibrateSparseVector,
  compareWithThreshold,
  drawThresholdNoise,
  sparseVectorMargin,
} from '../../src/core/mechanisms/selection/sparse-vector.ts'
import type { Aggregate } from '../../src/core/planner/language/aggregate.ts'
import { planSession, type SessionRequest } from '../../src/core/planner/session.ts'
import { createVersionUses } from '../../src/datasets/catalog/version-uses.ts'
import { type Engine, EngineFailure } from '../../src/engines/engine.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import { deltaAtto, epsilonNano } from '../../src/privacy/loss.ts'
import { balancesOf, epsilonSpent } from '../balances.ts'
import { patients, people } from '../core/planner/neighbours/people.ts'
import { temporaryFolder } from '../folders.ts'
import { dependenciesOf, openPeopleLedger } from './counting.ts'

let folder = ''
let ledger: Ledger
beforeEach(async () => {
  folder = temporaryFolder()
  ledger = await openPeopleLedger(3_000n, { folder })
})
afterEach(() => ledger.close())

const dataset = people('add-remove')
/** Noise of scales below 1/100 of a row: an answer is wrong with a chance below 1e-20. */
const request: SessionRequest = { threshold: 100, positives: 2, epsilon: 1_000 }
const opening = { principal: 'ada', dataset, request }

/** An engine whose count is the value in the predicate: `Age >= n` gives n rows. */
const countOfAge: Engine['aggregate'] = async (_, { where }) => [[ageOf(where)]]
const ageOf = (where: Aggregate['where']) => (where?.kind === 'index-between' ? where.lower : undefined) ?? 0n
const age = (value: number): Asking['where'] => ({ column: 'Age', op: '>=', value })

function dependencies(
  aggregate: Engine['aggregate'] = countOfAge,
  over: Partial<Ledger> = {},
  registered: (id: string) => Dataset | undefined = (id) => (id === dataset.id ? dataset : undefined),
): SessionDependencies {
  return {
    ...dependenciesOf({ ...ledger, ...over }, aggregate),
    registered,
    versionUses: createVersionUses(),
  }
}

async function openSession(over: Partial<SessionRequest> = {}) {
  const { body } = await createSparseVectorSessions(dependencies()).open({
    ...opening,
    request: { ...request, ...over },
  })
  return String(JSON.parse(body).id)
}
const spent = async () => epsilonSpent((await ledger.budget('people')) ?? never())
const never = () => {
  throw new Error('there is a budget')
}
const kinds = async () =>
  (await ledger.entries('people', { limit: 100 })).map((entry) => entry.kind).reverse()

describe('opening', () => {
  test('is charged once, reads no data, and describes the session', async () => {
    const sessions = createSparseVectorSessions(
      dependencies(async () => {
        throw new Error('no data is read')
      }),
    )
    const { body, replayed } = await sessions.open(opening)
    expect(replayed).toBe(false)
    const opened = openedSession.parse(JSON.parse(body))
    expect(opened).toMatchObject({
      dataset: 'people',
      datasetVersion: 'v1',
      threshold: 100,
      positives: 2,
      positivesLeft: 2,
      cost: { epsilon: 1_000, delta: 0 },
      budget: { spent: { epsilon: 1_000 }, remaining: { epsilon: 2_000 } },
      noise: { mechanism: 'sparse-vector', neighbours: 'add-remove', monotonic: true, sensitivity: 1 },
    })
    const { threshold, questions } = opened.noise
    expect(threshold.epsilon + questions.epsilon).toBeCloseTo(1_000, 6)
    expect(threshold.scale * threshold.epsilon).toBeCloseTo(1, 9)
    expect(questions.scale * questions.epsilon).toBeCloseTo(2, 9)
    const measurement = calibrateSparseVector(
      { positives: 2, sensitivity: 1n, monotonic: true },
      epsilonNano(1_000_000_000_000n),
    )
    expect(opened.accuracy.halfWidths).toContainEqual({
      questions: 100,
      halfWidth: sparseVectorMargin(measurement, 0.95, 100),
    })
    const replay = await sessions.open(opening)
    expect(replay.replayed).toBe(true)
    expect(openedSession.parse(JSON.parse(replay.body))).toEqual({
      ...opened,
      cost: { epsilon: 0, delta: 0 },
      price: { epsilon: 1_000, delta: 0 },
    })
    expect(await spent()).toBe(1_000)
    expect(await kinds()).toEqual(['opened', 'charged', 'answered'])
  })

  test('a new key opens another session, another principal has one of their own', async () => {
    const sessions = createSparseVectorSessions(dependencies())
    const bodies = [
      await sessions.open(opening),
      await sessions.open({ ...opening, idempotencyKey: 'k' }),
      await sessions.open({ ...opening, principal: 'bob' }),
    ]
    expect(new Set(bodies.map(({ body }) => JSON.parse(body).id)).size).toBe(3)
    expect(await spent()).toBe(3_000)
    await expect(
      sessions.open({ ...opening, idempotencyKey: 'k', request: { ...request, threshold: 5 } }),
    ).rejects.toMatchObject({ code: 'idempotency-key-reused' })
  })

  test('beyond the budget is denied', async () => {
    const sessions = createSparseVectorSessions(dependencies())
    for (const idempotencyKey of ['1', '2', '3']) await sessions.open({ ...opening, idempotencyKey })
    await expect(sessions.open({ ...opening, idempotencyKey: '4' })).rejects.toMatchObject({
      code: 'budget-insufficient',
    })
    expect(await spent()).toBe(3_000)
  })

  test.each([0, -1, 1e-9, 1_001, 1e-10])('with an epsilon of %d is refused at no cost', async (epsilon) => {
    const sessions = createSparseVectorSessions(dependencies())
    await expect(sessions.open({ ...opening, request: { ...request, epsilon } })).rejects.toMatchObject({
      code: 'invalid-request',
      errors: [{ field: 'epsilon' }],
    })
    expect(await spent()).toBe(0)
  })

  test('under change-one neighbours the questions have twice the noise', () => {
    const noiseOf = (neighbours: 'add-remove' | 'change-one') =>
      sessionReport(planSession({ ...request, epsilon: 1 }, people(neighbours))).noise
    const [one, other] = [noiseOf('add-remove'), noiseOf('change-one')]
    expect(one.questions.scale * one.questions.epsilon).toBeCloseTo(2, 6)
    expect(other.questions.scale * other.questions.epsilon).toBeCloseTo(4, 6)
    expect([one.monotonic, other.monotonic]).toEqual([true, false])
  })

  test('that cannot be stored opens nothing; the repeat opens the session under the same charge', async () => {
    const broken = createSparseVectorSessions(
      dependencies(countOfAge, {
        openSession: async () => {
          throw new Error('the disk is full')
        },
      }),
    )
    await expect(broken.open(opening)).rejects.toThrow(AnswerFailure)
    await createSparseVectorSessions(dependencies()).open(opening)
    expect(await spent()).toBe(1_000)
    expect(await kinds()).toEqual(['opened', 'charged', 'failed', 'retried', 'answered'])
  })

  test('by an overtaken attempt returns nothing', async () => {
    const overtaken = createSparseVectorSessions(dependencies(countOfAge, { openSession: async () => false }))
    await expect(overtaken.open(opening)).rejects.toMatchObject({ code: 'query-in-flight' })
  })

  test('whose client disconnects before the debit costs nothing', async () => {
    const sessions = createSparseVectorSessions(dependencies())
    await expect(sessions.open({ ...opening, givenUp: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'unavailable',
    })
    expect(await spent()).toBe(0)
  })
})

describe('asking', () => {
  test('counts people, within the bounds that the session was opened with', async () => {
    const granted = { epsilonNano: epsilonNano(3_000_000_000_000n), deltaAtto: deltaAtto(0n) }
    const visits = patients('add-remove', 4)
    await ledger.openBudget(
      visits.id,
      { accounting: 'basic', neighbours: 'add-remove', granted },
      'custodian',
    )
    const asked: Aggregate[] = []
    const sessions = createSparseVectorSessions(
      dependencies(
        async (_, aggregate) => {
          asked.push(aggregate)
          return [[7n]]
        },
        {},
        () => visits,
      ),
    )
    const rows = { rows: 3 }
    for (const counted of ['rows', 'people'] as const) {
      const { body } = await sessions.open({
        principal: 'ada',
        dataset: visits,
        request: { ...request, of: counted, contribution: rows },
      })
      await sessions.ask({ principal: 'ada', session: String(JSON.parse(body).id), where: age(18) })
    }
    expect(asked.map(({ statistics, bounding }) => ({ statistics, bounding }))).toEqual([
      { statistics: [{ kind: 'count' }], bounding: { kind: 'rows', rows: 3 } },
      { statistics: [{ kind: 'count-people' }], bounding: { kind: 'rows', rows: 3 } },
    ])
  })

  test('reports which counts reach the threshold, and by how much, and ends with the last positive', async () => {
    const session = await openSession()
    const sessions = createSparseVectorSessions(dependencies())
    const ask = async (value: number) =>
      sessionAnswer.parse(
        JSON.parse((await sessions.ask({ principal: 'ada', session, where: age(value) })).body),
      )
    expect(await ask(99)).toMatchObject({ session, question: 1, above: false, positivesLeft: 2 })
    const first = await ask(110)
    expect(first).toMatchObject({ question: 2, above: true, positivesLeft: 1 })
    expect(first.gap).toBeCloseTo(10, 0)
    expect(await ask(20)).toMatchObject({ question: 3, above: false, positivesLeft: 1 })
    expect(await ask(20)).toMatchObject({ question: 3 })
    const last = await ask(103)
    expect(last).toMatchObject({ question: 4, above: true, positivesLeft: 0 })
    expect(last.gap).toBeCloseTo(3, 0)
    await expect(ask(1)).rejects.toMatchObject({ code: 'session-used-up' })
    // Earlier questions are replayed.
    expect(await ask(110)).toEqual(first)
    expect(await spent()).toBe(1_000)
    expect((await kinds()).filter((kind) => kind === 'session-answered')).toHaveLength(4)
  })

  test('answers the largest number of questions and no more', async () => {
    const { body } = await createSparseVectorSessions(dependencies()).open(opening)
    const numbered = (question: number) =>
      createSparseVectorSessions(
        dependencies(countOfAge, {
          sessionQuestion: async (identity) => {
            const outcome = await ledger.sessionQuestion(identity)
            return outcome.kind === 'open' ? { ...outcome, question } : outcome
          },
          recordSessionAnswer: async () => true,
        }),
      )
    const asking = { principal: 'ada', session: JSON.parse(body).id, where: age(20) }
    const last = JSON.parse((await numbered(MOST_QUESTIONS).ask(asking)).body)
    expect(last).toMatchObject({ question: MOST_QUESTIONS, above: false })
    await expect(numbered(MOST_QUESTIONS + 1).ask(asking)).rejects.toMatchObject({ code: 'session-used-up' })
  })

  test('a repeat replays the bytes; a new key is a new question; a key belongs to one question', async () => {
    const session = await openSession({ positives: 3 })
    const sessions = createSparseVectorSessions(dependencies())
    const asking = { principal: 'ada', session, where: age(110) }
    const first = await sessions.ask(asking)
    expect(await sessions.ask(asking)).toEqual({ body: first.body, replayed: true })
    const again = await sessions.ask({ ...asking, idempotencyKey: 'again' })
    expect(again.replayed).toBe(false)
    expect(JSON.parse(again.body)).toMatchObject({ question: 2, positivesLeft: 1 })
    expect(JSON.parse(again.body).gap).not.toBe(JSON.parse(first.body).gap)
    expect(await sessions.ask({ ...asking, idempotencyKey: 'again' })).toEqual({
      body: again.body,
      replayed: true,
    })
    await expect(sessions.ask({ ...asking, where: age(1), idempotencyKey: 'again' })).rejects.toMatchObject({
      code: 'idempotency-key-reused',
    })
    expect((await ledger.session(session))?.positivesLeft).toBe(1)
  })

  test('the engine computes one count, after the ledger has confirmed that the session is open', async () => {
    const session = await openSession({ positives: 1 })
    const order: string[] = []
    const sessions = createSparseVectorSessions(
      dependencies(
        async (_, aggregate) => {
          order.push('count')
          expect(aggregate).toEqual({
            where: { kind: 'index-between', column: 'Age', lower: 110n },
            groupBy: [],
            statistics: [{ kind: 'count' }],
            bounding: { kind: 'one-row-each' },
          })
          return [[110n]]
        },
        {
          sessionQuestion: (...call) => {
            order.push('open?')
            return ledger.sessionQuestion(...call)
          },
          recordSessionAnswer: async (...call) => {
            const stored = await ledger.recordSessionAnswer(...call)
            order.push('stored')
            return stored
          },
        },
      ),
    )
    const asking = { principal: 'ada', session, where: age(110) }
    await sessions.ask(asking)
    order.push('sent')
    await sessions.ask(asking)
    await sessions.ask({ ...asking, where: age(1) }).catch(() => order.push('used up'))
    expect(order).toEqual(['open?', 'count', 'stored', 'sent', 'open?', 'open?', 'used up'])
  })

  test('twenty at once find one positive, and no question is counted twice', async () => {
    const session = await openSession({ positives: 1 })
    let [inside, most] = [0, 0]
    const sessions = createSparseVectorSessions(
      dependencies(async (...call) => {
        inside += 1
        most = Math.max(most, inside)
        await new Promise((resolve) => setTimeout(resolve, 1))
        inside -= 1
        return countOfAge(...call)
      }),
    )
    const settled = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        sessions.ask({ principal: 'ada', session, where: age(101 + index) }),
      ),
    )
    expect(most).toBe(1)
    const answers = settled.flatMap((each) =>
      each.status === 'fulfilled' ? [JSON.parse(each.value.body)] : [],
    )
    expect(answers).toEqual([expect.objectContaining({ above: true, question: 1, positivesLeft: 0 })])
    for (const each of settled)
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'session-used-up' })
  })

  test('two processes over one ledger cannot both take the last positive', async () => {
    const session = await openSession({ positives: 1 })
    let release = () => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const waiting = dependencies(async (...call) => {
      await gate
      return countOfAge(...call)
    })
    const [one, other] = [createSparseVectorSessions(waiting), createSparseVectorSessions(waiting)]
    const racing = [
      one.ask({ principal: 'ada', session, where: age(110) }),
      other.ask({ principal: 'ada', session, where: age(120) }),
    ]
    release()
    const settled = await Promise.allSettled(racing)
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(settled.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: expect.stringMatching(/^(query-in-flight|session-used-up)$/) },
    })
    expect(await ledger.session(session)).toMatchObject({ answered: 1, positivesLeft: 0 })
  })

  test('sessions do not wait for each other', async () => {
    const [slow, quick] = [await openSession({ threshold: 50 }), await openSession({ threshold: 60 })]
    const gates: (() => void)[] = []
    const sessions = createSparseVectorSessions(
      dependencies(async (_, { where }) => {
        const value = ageOf(where)
        if (value === 1n) await new Promise<void>((resolve) => gates.push(resolve))
        return [[value]]
      }),
    )
    const waiting = sessions.ask({ principal: 'ada', session: slow, where: age(1) })
    await sessions.ask({ principal: 'ada', session: quick, where: age(2) })
    for (const open of gates) open()
    await waiting
  })

  test('only the owner may ask questions and read the session', async () => {
    const session = await openSession()
    const sessions = createSparseVectorSessions(dependencies())
    const foreign = { code: 'unknown-session' }
    await expect(sessions.ask({ principal: 'bob', session, where: age(1) })).rejects.toMatchObject(foreign)
    await expect(sessions.ask({ principal: 'ada', session: 'x', where: age(1) })).rejects.toMatchObject(
      foreign,
    )
    await expect(showSession(ledger, 'bob', session, { limit: 10 })).rejects.toMatchObject(foreign)
  })

  test.each([
    ['was withdrawn', () => undefined],
    ['was registered anew', () => ({ ...dataset, version: 'v2' })],
  ])('about a dataset that %s is refused; earlier questions are replayed', async (_, registered) => {
    const session = await openSession()
    const first = await createSparseVectorSessions(dependencies()).ask({
      principal: 'ada',
      session,
      where: age(110),
    })
    const sessions = createSparseVectorSessions(
      dependencies(
        async () => {
          throw new Error('no other rows are read')
        },
        {},
        registered,
      ),
    )
    await expect(sessions.ask({ principal: 'ada', session, where: age(1) })).rejects.toMatchObject({
      code: 'session-dataset-changed',
    })
    expect(await sessions.ask({ principal: 'ada', session, where: age(110) })).toEqual({
      ...first,
      replayed: true,
    })
  })

  test('a predicate that does not fit, or a disconnected client, causes no read', async () => {
    const session = await openSession()
    const sessions = createSparseVectorSessions(
      dependencies(async () => {
        throw new Error('no data is read')
      }),
    )
    const asking = { principal: 'ada', session, where: age(1) }
    await expect(
      sessions.ask({ ...asking, where: { column: 'Unicorn', op: 'isNull' } }),
    ).rejects.toMatchObject({ code: 'query-does-not-fit', errors: [{ field: 'where.column' }] })
    await expect(sessions.ask({ ...asking, givenUp: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'unavailable',
    })
    expect(await ledger.session(session)).toMatchObject({ answered: 0 })
  })

  test.each([new EngineFailure(), new TypeError('the secret 42 is no integer'), new RangeError('Mr X')])(
    'a failure reveals nothing, uses up nothing, and does not block the next question (%#)',
    async (error) => {
      const session = await openSession()
      let calls = 0
      const sessions = createSparseVectorSessions(
        dependencies(async (...call) => {
          calls += 1
          if (calls === 1) throw error
          return countOfAge(...call)
        }),
      )
      const asking = { principal: 'ada', session, where: age(110) }
      const failed = sessions.ask(asking)
      const next = sessions.ask({ ...asking, where: age(1) })
      const failure = await failed.catch((caught: unknown) => caught)
      expect(failure).toBeInstanceOf(QuestionFailure)
      expect(failure).toMatchObject({ session, errorClass: error.name })
      expect(JSON.stringify(failure) + String(failure)).not.toMatch(/42|Mr X/)
      expect(JSON.parse((await next).body)).toMatchObject({ question: 1, above: false })
      expect(JSON.parse((await sessions.ask(asking)).body)).toMatchObject({ question: 2, above: true })
    },
  )

  test('an answer that cannot be stored is never sent, and the repeat has fresh noise', async () => {
    const session = await openSession()
    const dropped: string[] = []
    const broken = createSparseVectorSessions(
      dependencies(countOfAge, {
        recordSessionAnswer: async ({ answer }) => {
          dropped.push(answer)
          throw new Error('the disk is full')
        },
      }),
    )
    const asking = { principal: 'ada', session, where: age(110) }
    await expect(broken.ask(asking)).rejects.toThrow(QuestionFailure)
    const { body } = await createSparseVectorSessions(dependencies()).ask(asking)
    expect(JSON.parse(body)).toMatchObject({ question: 1, positivesLeft: 1 })
    expect(JSON.parse(body).gap).not.toBe(JSON.parse(dropped[0] ?? '{}').gap)
  })

  test.each([[[]], [[[]]], [[[1n, 2n]]], [[[1n], [2n]]]])(
    'a result with other cells than requested is not compared: %#',
    async (integers) => {
      const session = await openSession()
      const sessions = createSparseVectorSessions(dependencies(async () => integers))
      await expect(sessions.ask({ principal: 'ada', session, where: age(1) })).rejects.toThrow(
        QuestionFailure,
      )
    },
  )

  test('the noise of the threshold survives a restart', async () => {
    // A threshold noise of -1000 rows, while the questions' noise is below 1: every gap shows it.
    const sessions = createSparseVectorSessions(
      dependencies(countOfAge, {
        openSession: (id, attempt, answer, session) => {
          const { fractionBits } = JSON.parse(session.terms)
          const thresholdNoise = -1_000n << BigInt(fractionBits)
          return ledger.openSession(id, attempt, answer, { ...session, thresholdNoise })
        },
      }),
    )
    const session = String(JSON.parse((await sessions.open(opening)).body).id)
    const gapOf = async (idempotencyKey: string) => {
      const asking = { principal: 'ada', session, where: age(20), idempotencyKey }
      const { body } = await createSparseVectorSessions(dependencies()).ask(asking)
      return Number(JSON.parse(body).gap)
    }
    expect(Math.abs((await gapOf('before')) - 920)).toBeLessThan(1)
    await ledger.close()
    ledger = await openSqliteLedger({ path: path.join(folder, 'ledger.sqlite') })
    expect(Math.abs((await gapOf('after')) - 920)).toBeLessThan(1)
  })
})

test('the noise is the drawn noise: one value for the threshold, a new one for each question', async () => {
  /** Creates a source that gives the same uniform integers every time. */
  const taped = (seed: string) => {
    const random = seedrandom(seed)
    return uniformFromWords({ next: () => random.int32() >>> 0 })
  }
  const shape = { positives: 100, sensitivity: 1n, monotonic: true }
  const measurement = calibrateSparseVector(shape, epsilonNano(10_000_000n))
  const thresholdNoise = drawThresholdNoise(measurement, taped('threshold'))
  const { body } = await createSparseVectorSessions({
    ...dependencies(),
    noiseSource: taped('threshold'),
  }).open({ ...opening, request: { threshold: 5, positives: 100, epsilon: 0.01 } })
  const session = String(JSON.parse(body).id)
  let positivesFound = 0
  for (let question = 1; question <= 12; question += 1) {
    const seed = `question ${question}`
    const sessions = createSparseVectorSessions({ ...dependencies(), noiseSource: taped(seed) })
    const asking = { principal: 'ada', session, where: age(20), idempotencyKey: seed }
    const compared = { threshold: 5n, thresholdNoise, positivesFound, value: 20n }
    const expected = compareWithThreshold(measurement, compared, taped(seed))
    if (expected.above) positivesFound += 1
    expect(JSON.parse((await sessions.ask(asking)).body)).toMatchObject({
      question,
      positivesLeft: 100 - positivesFound,
      ...(expected.above
        ? { above: true, gap: Number(expected.gap) / 2 ** measurement.fractionBits }
        : { above: false }),
    })
  }
  expect(positivesFound).toBeGreaterThan(0)
  expect(positivesFound).toBeLessThan(12)
})

test('a session whose terms would cost more than its charge is not answered', async () => {
  const session = await openSession()
  const cheaper = createSparseVectorSessions(
    dependencies(countOfAge, {
      sessionQuestion: async (...call) => {
        const outcome = await ledger.sessionQuestion(...call)
        if (outcome.kind !== 'open') return outcome
        const terms = { ...JSON.parse(outcome.terms), questionScale: '1' }
        return { ...outcome, terms: JSON.stringify(terms) }
      },
    }),
  )
  await expect(cheaper.ask({ principal: 'ada', session, where: age(1) })).rejects.toThrow('terms')
})

test('a session is returned with its answers, newest first, in pages', async () => {
  const session = await openSession()
  const sessions = createSparseVectorSessions(dependencies())
  for (const value of [1, 110, 2]) await sessions.ask({ principal: 'ada', session, where: age(value) })
  const shown = await showSession(ledger, 'ada', session, { limit: 2 })
  expect(sessionSchema.parse(shown)).toMatchObject({
    id: session,
    threshold: 100,
    positives: 2,
    positivesLeft: 1,
    answered: 3,
    answers: [
      { question: 3, above: false, where: age(2) },
      { question: 2, above: true, where: age(110), gap: expect.any(Number) },
    ],
    next: '2',
  })
  expect(shown).not.toHaveProperty('budget')
  const rest = await showSession(ledger, 'ada', session, { limit: 2, beforeQuestion: 2 })
  expect(rest.answers).toMatchObject([{ question: 1, where: age(1) }])
  expect(rest).not.toHaveProperty('next')
})

test('a preview describes the session, and charges nothing', async () => {
  const budget = (await ledger.budget('people')) ?? never()
  const previewed = sessionPreview.parse(await previewSession(opening, { ledger }, balancesOf(budget)))
  const { body } = await createSparseVectorSessions(dependencies()).open(opening)
  const { noise, accuracy, cost } = JSON.parse(body)
  expect(previewed).toMatchObject({ noise, accuracy, cost, paid: false, affordable: true })
  const exhausted = balancesOf({ ...budget, spent: budget.cap })
  expect(await previewSession({ ...opening, principal: 'bob' }, { ledger }, exhausted)).toMatchObject({
    cost,
    paid: false,
    affordable: false,
  })
  expect(await previewSession(opening, { ledger }, exhausted)).toMatchObject({
    cost: { epsilon: 0, delta: 0 },
    paid: true,
    affordable: true,
  })
})
