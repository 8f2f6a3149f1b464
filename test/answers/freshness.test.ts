import { beforeEach, expect, test } from 'vitest'
import { query as querySchema } from '../../schemas/answers/query.ts'
import { answer, type Question } from '../../src/answers/answer.ts'
import { AnswerFailure } from '../../src/answers/failure.ts'
import { preview } from '../../src/answers/preview.ts'
import type { Dataset, TableSource } from '../../src/core/dataset/dataset.ts'
import { EngineFailure } from '../../src/engines/engine.ts'
import { deltaAtto, epsilonNano } from '../../src/privacy/loss.ts'
import { epsilonSpent, untouched } from '../balances.ts'
import { people } from '../core/planner/neighbours/people.ts'
import { type Fixture, fixtureInMemory } from '../ledger/fixture.ts'
import { dependenciesOf } from './counting.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOON = Date.UTC(2026, 0, 1, 12)

let fixture: Fixture
/** The number of rows that the table has now; undefined while its database fails. */
let rows: bigint | undefined

beforeEach(async () => {
  fixture = fixtureInMemory()
  fixture.clock.ms = NOON
  rows = 400n
  const granted = { epsilonNano: epsilonNano(100_000_000_000n), deltaAtto: deltaAtto(0n) }
  await fixture.ledger.openBudget(
    'people',
    { accounting: 'basic', neighbours: 'add-remove', granted },
    'carol',
  )
})

const live = (freshness?: TableSource['freshness'], changes: Partial<Dataset> = {}): Dataset => ({
  ...people('add-remove'),
  source: {
    kind: 'table',
    connection: 'clinic',
    table: 'visits',
    mode: 'live',
    ...(freshness && { freshness }),
  },
  ...changes,
})

const dependencies = () =>
  dependenciesOf(fixture.ledger, async () => {
    if (rows === undefined) throw new EngineFailure()
    return [[rows]]
  })

const ask = async (dataset: Dataset, over: Partial<Question> = {}) => {
  const query = querySchema.parse({ kind: 'count', epsilon: 1 })
  const { body, replayed } = await answer(dependencies(), { principal: 'ada', dataset, query, ...over })
  return { ...JSON.parse(body), replayed }
}

const looked = async (dataset: Dataset) => {
  const query = querySchema.parse({ kind: 'count', epsilon: 1 })
  return preview({ principal: 'ada', dataset, query }, dependencies(), untouched())
}

const spent = async () => {
  const budget = await fixture.ledger.budget('people')
  return budget && epsilonSpent(budget)
}

test.each([
  ['hour', HOUR_MS, '2026-01-01T13:00:00.000Z'],
  ['day', DAY_MS, '2026-01-02T00:00:00.000Z'],
  [undefined, DAY_MS, '2026-01-02T00:00:00.000Z'],
] as const)(
  'a repeat replays until its %s ends, and is then a new question',
  async (freshness, lengthMs, until) => {
    const dataset = live(freshness)
    const first = await ask(dataset)
    expect(first).toMatchObject({ debitedAt: '2026-01-01T12:00:00.000Z', replaysUntil: until })
    fixture.clock.ms = Date.parse(until) - 1
    rows = 1_000n
    expect(await ask(dataset)).toMatchObject({ id: first.id, replayed: true, replaysUntil: until })
    expect(await spent()).toBe(1)
    fixture.clock.ms = Date.parse(until)
    const second = await ask(dataset)
    expect(second).toMatchObject({ replayed: false, debitedAt: until, cost: { epsilon: 1 } })
    expect(second.replaysUntil).toBe(new Date(Date.parse(until) + lengthMs).toISOString())
    expect(second.id).not.toBe(first.id)
    expect(second.result.value).toBeGreaterThan(900)
    expect(await spent()).toBe(2)
  },
)

test('a repeat replays for ever where the declaration says so, under a chosen key, and over rows that do not change', async () => {
  const chosen = { idempotencyKey: 'monthly' }
  const asked = [
    [live('forever'), {}],
    [live('day'), chosen],
    [people('add-remove'), {}],
  ] as const
  for (const [dataset, over] of asked) {
    const first = await ask(dataset, over)
    expect(first).not.toHaveProperty('replaysUntil')
    fixture.clock.ms += 400 * DAY_MS
    expect(await ask(dataset, over)).toMatchObject({ id: first.id, replayed: true })
  }
})

test('a charge that has no answer stays open and answers the repeat in a later period', async () => {
  const dataset = live('day')
  rows = undefined
  await expect(ask(dataset)).rejects.toThrow(AnswerFailure)
  fixture.clock.ms += 3 * DAY_MS
  rows = 1_000n
  const answered = await ask(dataset)
  // The time of the debit, which says nothing about the reading.
  expect(answered).toMatchObject({ debitedAt: '2026-01-01T12:00:00.000Z', replayed: false })
  expect(await spent()).toBe(1)
  expect((await ask(dataset)).id).not.toBe(answered.id)
  expect(await spent()).toBe(2)
})

test('the time of the debit is rounded down as the timing demands', async () => {
  fixture.clock.ms = NOON + 4_321
  const { debitedAt } = await ask(live('day', { timing: { slotMs: 50 } }))
  expect(debitedAt).toBe('2026-01-01T12:00:04.300Z')
})

test('analysts share a release within its period only', async () => {
  const dataset = live('day', { sharing: true })
  await ask(dataset)
  expect(await ask(dataset, { principal: 'bob' })).toMatchObject({ shared: true })
  fixture.clock.ms += DAY_MS
  expect(await ask(dataset, { principal: 'eve' })).not.toHaveProperty('shared')
  expect(await spent()).toBe(2)
})

test('a preview says until when a repeat is paid', async () => {
  // Previews read the clock of this process.
  const dayEnd = () => new Date(Math.ceil(Date.now() / DAY_MS) * DAY_MS).toISOString()
  fixture.clock.ms = Date.now()
  const dataset = live('day')
  expect(await looked(dataset)).toMatchObject({ paid: false, replaysUntil: dayEnd() })
  fixture.clock.ms -= 2 * DAY_MS
  await ask(dataset)
  expect(await looked(dataset)).toMatchObject({ paid: false, cost: { epsilon: 1 } })
  fixture.clock.ms = Date.now()
  await ask(dataset)
  expect(await looked(dataset)).toMatchObject({ paid: true, cost: { epsilon: 0 }, replaysUntil: dayEnd() })
  expect(await looked(live('forever'))).not.toHaveProperty('replaysUntil')
})
