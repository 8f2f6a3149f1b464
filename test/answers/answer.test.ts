import { setImmediate } from 'node:timers/promises'
import seedrandom from 'seedrandom'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { query as querySchema } from '../../schemas/answers/query.ts'
import { answer, answerBatch, type Question } from '../../src/answers/answer.ts'
import { AnswerFailure } from '../../src/answers/failure.ts'
import { preview, previewBatch } from '../../src/answers/preview.ts'
import { noiseSampler } from '../../src/core/mechanisms/measurement.ts'
import { uniformFromWords } from '../../src/core/mechanisms/samplers/uniform-integers.ts'
import { plan } from '../../src/core/planner/plan.ts'
import { reporter } from '../../src/core/planner/report.ts'
import { type Engine, EngineFailure } from '../../src/engines/engine.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { noAmount } from '../../src/privacy/accounting.ts'
import { NO_LOSS } from '../../src/privacy/loss.ts'
import { Refusal } from '../../src/privacy/refusal.ts'
import { epsilonSpent } from '../balances.ts'
import { people } from '../core/planner/neighbours/people.ts'
import { dependenciesOf, openPeopleLedger } from './counting.ts'

let ledger: Ledger
beforeEach(async () => {
  ledger = await openPeopleLedger(10n, { delta: 10n ** 13n })
})
afterEach(() => ledger.close())

const question: Question = {
  principal: 'analyst',
  dataset: people('add-remove'),
  query: querySchema.parse({ kind: 'count', epsilon: 1 }),
}

const dependencies = (aggregate: Engine['aggregate'], over: Partial<Ledger> = {}) =>
  dependenciesOf({ ...ledger, ...over }, aggregate)

const spent = async () => {
  const budget = await ledger.budget('people')
  return budget === undefined ? undefined : epsilonSpent(budget)
}
const kinds = async () =>
  (await ledger.entries('people', { limit: 100 })).map((entry) => entry.kind).reverse()

test('the debit is durable before the engine runs, and the answer before it is returned', async () => {
  const order: string[] = []
  const deps = dependencies(
    async () => {
      order.push(`aggregate after ${await spent()}`)
      return [[100n]]
    },
    {
      recordAnswer: async (...call) => {
        order.push('record')
        return ledger.recordAnswer(...call)
      },
    },
  )
  const { body, replayed } = await answer(deps, question)
  order.push('answer')
  expect(order).toEqual(['aggregate after 1', 'record', 'answer'])
  expect(replayed).toBe(false)
  expect((await ledger.release(JSON.parse(body).id))?.answer).toBe(body)
})

test('a query that the engine does not accept is refused before any debit', async () => {
  const deps = dependencies(() => Promise.reject(new EngineFailure()))
  const accepted: unknown[] = []
  const accepts: Engine['accepts'] = (_, reading) => {
    accepted.push(reading.method)
    return accepted.length !== 2
  }
  const fussy = { ...deps, engine: { ...deps.engine, accepts } }
  const { dataset, principal } = question
  const queries = [question.query, querySchema.parse({ kind: 'median', column: 'Age', epsilon: 1 })]
  await expect(answerBatch(fussy, { principal, dataset, queries })).rejects.toMatchObject({
    code: 'query-does-not-fit',
    message: expect.stringMatching(/^queries\.1: /),
  })
  expect(accepted).toEqual(['aggregate', 'countIndexes'])
  const refuses = { ...deps, engine: { ...deps.engine, accepts: () => false } }
  await expect(answer(refuses, question)).rejects.toMatchObject({ code: 'query-does-not-fit' })
  // Previews refuse the same queries in the same way.
  const balances = {
    budget: { granted: NO_LOSS, cap: noAmount('basic'), spent: noAmount('basic') },
    analyst: { principal, spent: noAmount('basic'), spentOnShared: noAmount('basic') },
  }
  accepted.length = 0
  await expect(previewBatch({ principal, dataset, queries }, fussy, balances)).rejects.toMatchObject({
    code: 'query-does-not-fit',
    message: expect.stringMatching(/^queries\.1: /),
  })
  await expect(preview(question, refuses, balances)).rejects.toThrow(/too long for the database/)
  expect(await kinds()).toEqual(['opened'])
  expect(await spent()).toBe(0)
})

describe('every released number has its own noise', () => {
  /** Creates a source that gives the same uniform integers every time. */
  const taped = () => {
    const random = seedrandom('tape')
    const words = { next: () => random.int32() >>> 0 }
    return uniformFromWords(words)
  }
  const sampled = (query: Question['query'], integers: readonly (readonly bigint[])[]) => {
    const planned = plan(query, question.dataset, { maxCells: 100 })
    if (planned.kind !== 'additive') throw new Error('sums and counts are asked for')
    const source = taped()
    const noisy = planned.measurements.map((measurement, statistic) => {
      const sample = noiseSampler(measurement.noise, source)
      return (integers[statistic] ?? []).map(
        (value) => (value << BigInt(measurement.fractionBits)) + sample(),
      )
    })
    return { planned, noisy }
  }

  test.each([
    ['a table', { kind: 'contingency', columns: ['Region', 'Sex'] }, [Array.from({ length: 8 }, () => 0n)]],
    ['a Laplace table', { kind: 'histogram', column: 'Region', mechanism: 'laplace' }, [[5n, 5n, 5n, 5n]]],
    ['both parts of a mean', { kind: 'mean', column: 'Age', mechanism: 'laplace' }, [[-400n], [10n]]],
    ['all parts of a variance', { kind: 'variance', column: 'Age' }, [[40_000n], [-400n], [10n]]],
    [
      'every statistic of every group',
      {
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Income' }],
        delta: 1e-6,
        mechanism: 'gaussian',
      },
      [
        [3n, 4n],
        [50n, -60n],
        [2n, 4n],
      ],
    ],
    [
      'both parts of a Gaussian mean',
      { kind: 'mean', column: 'Age', mechanism: 'gaussian', delta: 1e-6 },
      [[-4000n], [1000n]],
    ],
  ])('%s', async (_name, wire, integers) => {
    const query = querySchema.parse({ epsilon: 0.01, ...wire })
    const deps = { ...dependencies(async () => integers), noiseSource: taped() }
    const { body } = await answer(deps, { ...question, query })
    const { planned, noisy } = sampled(query, integers)
    expect(JSON.parse(body).result).toEqual(
      JSON.parse(JSON.stringify(reporter(planned)({ kind: 'additive', noisy }).result)),
    )
    // The tape gives nonzero noise: every entry changes, and no two entries get the same noise.
    const noise = noisy.flatMap((vector, statistic) => {
      const bits = BigInt(planned.measurements[statistic]?.fractionBits ?? 0)
      return vector.map((value, cell) => value - ((integers[statistic]?.[cell] ?? 0n) << bits))
    })
    expect(noise).not.toContain(0n)
    expect(new Set(noise).size).toBe(noise.length)
  })
})

describe('an engine that fails', () => {
  test('causes one constant failure, stays charged, and a repeat is answered under the same charge', async () => {
    let calls = 0
    const deps = dependencies(async () => {
      calls += 1
      if (calls === 1) throw new EngineFailure()
      return [[100n]]
    })
    await expect(answer(deps, question)).rejects.toThrow(AnswerFailure)
    expect(await spent()).toBe(1)
    const { body } = await answer(deps, question)
    expect(JSON.parse(body).budget.spent.epsilon).toBe(1)
    expect(await kinds()).toEqual(['opened', 'charged', 'failed', 'retried', 'answered'])
  })

  test.each([new EngineFailure(), new TypeError('the secret 42 is no integer'), new RangeError('Mr X')])(
    'reveals nothing about the cause (%#)',
    async (error) => {
      const failure = await answer(
        dependencies(async () => {
          throw error
        }),
        question,
      ).catch((caught: unknown) => caught)
      expect(failure).toBeInstanceOf(AnswerFailure)
      expect(JSON.stringify(failure) + String(failure)).not.toMatch(/42|Mr X/)
    },
  )
})

test('an answer that cannot be stored is never sent, and the retry is answered under the same charge', async () => {
  let bodies = 0
  const aggregate = async () => [[100n]]
  const refuseToStore = dependencies(aggregate, {
    recordAnswer: async () => {
      bodies += 1
      throw new Error('the disk is full')
    },
    recordFailure: (id, attempt) => ledger.recordFailure(id, attempt),
  })
  await expect(answer(refuseToStore, question)).rejects.toThrow(AnswerFailure)
  expect(bodies).toBe(1)
  await answer(dependencies(aggregate), question)
  expect(await spent()).toBe(1)
})

test('the answer of an overtaken attempt is discarded', async () => {
  const overtaken = dependencies(async () => [[100n]], { recordAnswer: async () => false })
  await expect(answer(overtaken, question)).rejects.toMatchObject({ code: 'query-in-flight' })
})

test('a repeat is refused while a question is being answered, and replayed afterwards', async () => {
  let release = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  let entered = () => {}
  const inside = new Promise<void>((resolve) => {
    entered = resolve
  })
  const slow = dependencies(async () => {
    entered()
    await gate
    return [[100n]]
  })
  const first = answer(slow, question)
  await inside
  const repeat = answer(slow, question)
  await expect(repeat).rejects.toBeInstanceOf(Refusal)
  await expect(repeat).rejects.toMatchObject({ code: 'query-in-flight', facts: { retryAfterSeconds: 2 } })
  release()
  const { body } = await first
  const replay = await answer(slow, question)
  expect(replay.replayed).toBe(true)
  const { cost, ...stored } = JSON.parse(body)
  expect(JSON.parse(replay.body)).toEqual({ ...stored, cost: { epsilon: 0, delta: 0 }, price: cost })
  expect(await spent()).toBe(1)
})

test('a question whose client disconnects before the debit costs nothing', async () => {
  const given = answer(
    dependencies(async () => [[100n]]),
    { ...question, givenUp: AbortSignal.abort() },
  )
  await expect(given).rejects.toMatchObject({ code: 'unavailable' })
  expect(await spent()).toBe(0)
})

describe('an answer says what was asked', () => {
  const asked = { kind: 'count', where: { column: 'Age', op: '>=', value: 18 }, epsilon: 1 }
  const spelled = { ...asked, of: 'rows', delta: 0, postprocess: { round: false } }

  test('in its shortest form, with the version of the software', async () => {
    const { body } = await answer(
      dependencies(async () => [[100n]]),
      {
        ...question,
        query: querySchema.parse(spelled),
      },
    )
    expect(JSON.parse(body)).toMatchObject({
      question: asked,
      softwareVersion: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    })
  })

  test('and a batch all of its queries', async () => {
    const { dataset, principal } = question
    const queries = [spelled, { kind: 'count', epsilon: 2 }].map((query) => querySchema.parse(query))
    const { body } = await answerBatch(
      dependencies(async () => [[100n]]),
      { dataset, principal, queries },
    )
    expect(JSON.parse(body).question).toEqual({ queries: [asked, { kind: 'count', epsilon: 2 }] })
  })

  test('a shared answer does not reveal how and when the other analyst asked', async () => {
    const dataset: Question['dataset'] = { ...question.dataset, sharing: true }
    const deps = dependencies(async () => [[100n]])
    const first = await answer(deps, { ...question, dataset, query: querySchema.parse(asked) })
    const supposing = { kind: 'count', where: asked.where, epsilon: 1, of: 'rows' }
    const stored = (await ledger.release(JSON.parse(first.body).id))?.answer ?? ''
    const { answeredAt: firstAt } = JSON.parse(stored)
    await new Promise((resolve) => setTimeout(resolve, 5))
    const second = await answer(deps, {
      ...question,
      dataset,
      principal: 'another',
      query: querySchema.parse(supposing),
    })
    const document = JSON.parse(second.body)
    expect(document).toMatchObject({ shared: true, result: JSON.parse(first.body).result, question: asked })
    expect(Date.parse(document.answeredAt)).toBeGreaterThan(Date.parse(firstAt))
    expect(second.body).not.toContain(JSON.parse(first.body).id)
    expect(second.body.match(/"answeredAt"/g)).toHaveLength(1)
    expect(second.body.match(/"question"/g)).toHaveLength(1)
  })

  test('and when, at the record instant and rounded down to the slot, however long the computation took', async () => {
    const slotMs = 400
    const dataset: Question['dataset'] = { ...question.dataset, timing: { slotMs } }
    const roundedDown = (ms: number) => Math.floor(ms / slotMs) * slotMs
    let recordedMs = 0
    const deps = dependencies(async () => [[100n]], {
      recordAnswer: async (...call) => {
        recordedMs = Date.now()
        return ledger.recordAnswer(...call)
      },
    })
    // The record instant is 380 ms after the arrival, and therefore in the next slot.
    await new Promise((resolve) => setTimeout(resolve, roundedDown(Date.now()) + slotMs + 100 - Date.now()))
    const askedMs = Date.now()
    const { answeredAt } = JSON.parse((await answer(deps, { ...question, dataset })).body)
    expect(Date.parse(answeredAt)).toBeGreaterThanOrEqual(roundedDown(askedMs + 370))
    expect(Date.parse(answeredAt)).toBeLessThanOrEqual(roundedDown(recordedMs))
    expect(Date.parse(answeredAt) % slotMs).toBe(0)
  })
})

test('two principals do not share a release', async () => {
  const deps = dependencies(async () => [[100n]])
  await answer(deps, question)
  const other = await answer(deps, { ...question, principal: 'other' })
  expect(other.replayed).toBe(false)
  expect(await spent()).toBe(2)
})

test('another version of the dataset is another question', async () => {
  const deps = dependencies(async () => [[100n]])
  await answer(deps, question)
  const renewed = await answer(deps, { ...question, dataset: { ...question.dataset, version: 'v2' } })
  expect(renewed.replayed).toBe(false)
})

test('cost and refusal do not depend on data: every data gives the same debit', async () => {
  for (const [index, rows] of [0n, 1n, 10n ** 30n].entries()) {
    await answer(
      dependencies(async () => [[rows]]),
      { ...question, idempotencyKey: `k${index}` },
    )
    expect(await spent()).toBe(index + 1)
  }
})

test.each([[[]], [[[]]], [[[1n, 2n]]]])(
  'an engine that returns other cells than requested releases nothing: %#',
  async (integers) => {
    await expect(
      answer(
        dependencies(async () => integers),
        question,
      ),
    ).rejects.toThrow(AnswerFailure)
  },
)

describe('a batch', () => {
  const queries = [1, 2, 3].map((epsilon) => querySchema.parse({ kind: 'count', epsilon }))
  const batch = { principal: 'analyst', dataset: question.dataset, queries, plan: 'separate' as const }

  test('is charged before anything is read, and its queries are read one after the other', async () => {
    const order: string[] = []
    const leases: number[] = []
    const deps = dependencies(
      async () => {
        order.push(`begin after ${await spent()}`)
        await setImmediate()
        order.push('end')
        return [[100n]]
      },
      {
        charge: (request) => {
          leases.push(request.leaseMs)
          return ledger.charge(request)
        },
      },
    )
    const { body } = await answerBatch(deps, batch)
    expect(order).toEqual(['begin after 6', 'end', 'begin after 6', 'end', 'begin after 6', 'end'])
    // Each query has its own time limit, and the lease covers all of them.
    expect(leases).toEqual([3 * 60_000])
    expect(JSON.parse(body).answers).toHaveLength(3)
    expect(await kinds()).toEqual(['opened', 'charged', 'answered'])
  })

  test('with a failing query stores no answer, and is answered anew under the same charge', async () => {
    let calls = 0
    const deps = dependencies(async () => {
      calls += 1
      if (calls === 2) throw new EngineFailure()
      return [[100n]]
    })
    await expect(answerBatch(deps, batch)).rejects.toThrow(AnswerFailure)
    expect(calls).toBe(2)
    expect((await answerBatch(deps, batch)).replayed).toBe(false)
    expect((await answerBatch(deps, batch)).replayed).toBe(true)
    expect([calls, await spent()]).toEqual([5, 6])
    expect(await kinds()).toEqual(['opened', 'charged', 'failed', 'retried', 'answered'])
  })

  test('has the limits of one answer for all of its queries', async () => {
    const categories = Array.from({ length: 60 }, (_, place) => `${place}`.padEnd(200, 'x'))
    const column = {
      type: 'category',
      categories,
      nullable: false,
      invalidValue: { kind: 'refuse' },
    } as const
    const columns = [
      { ...column, name: 'a' },
      { ...column, name: 'b' },
    ]
    const wide = { ...batch, dataset: { ...batch.dataset, columns } }
    const table = querySchema.parse({ kind: 'contingency', columns: ['a', 'b'], epsilon: 1 })
    const deps = { ...dependencies(async () => []), limits: { maxCells: 100_000 } }
    await expect(answerBatch(deps, { ...wide, queries: [table, table, table] })).rejects.toMatchObject({
      code: 'query-does-not-fit',
      errors: [{ field: 'queries.0.columns' }],
    })
    expect(await kinds()).toEqual(['opened'])
    // By itself it is within the limits.
    await expect(answer(deps, { ...wide, query: table })).rejects.toThrow(AnswerFailure)
  })
})
