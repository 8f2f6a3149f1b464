import fc from 'fast-check'
import { expect, it } from 'vitest'
import { chargeId } from '../../src/ledger/charge-id.ts'
import type { ChargeRequest } from '../../src/ledger/ledger.ts'
import type { Call } from '../../src/ledger/operation.ts'
import { openSqliteDatabase } from '../../src/ledger/sqlite-schema.ts'
import { type SqliteStore, sqliteStore } from '../../src/ledger/sqlite-store.ts'
import { deltaAtto, epsilonNano, type PrivacyLoss } from '../../src/privacy/loss.ts'
import { balanceOfEvents, firstMisfit, question, run, temporaryPath } from './support.ts'

const DATASETS = ['census', 'survey'] as const
const PRINCIPALS = ['ada', 'bob'] as const
const KEYS = ['k1', 'k2', 'k3'] as const

/** What the ledger must be like, said as plainly as possible: two maps and a clock. */
interface Model {
  nowMs: number
  readonly budgets: Map<string, { cap: Amount; spent: Amount; kinds: string[] }>
  readonly charges: Map<string, ModelCharge>
}

interface Amount {
  readonly epsilon: bigint
  readonly delta: bigint
}

interface ModelCharge {
  readonly dataset: string
  readonly requestHash: string
  price: Amount
  state: 'charged' | 'answered' | 'failed' | 'denied'
  attempt: number
  leaseEndsMs: number
  answer?: string
}

interface Real {
  readonly path: string
  readonly clock: { ms: number }
  store: SqliteStore
  database: ReturnType<typeof openSqliteDatabase>
}

const plus = (a: Amount, b: Amount): Amount => ({ epsilon: a.epsilon + b.epsilon, delta: a.delta + b.delta })
const within = (a: Amount, b: Amount): boolean => a.epsilon <= b.epsilon && a.delta <= b.delta
const same = (a: Amount, b: Amount): boolean => a.epsilon === b.epsilon && a.delta === b.delta
const toLoss = (amount: Amount): PrivacyLoss => ({
  epsilonNano: epsilonNano(amount.epsilon),
  deltaAtto: deltaAtto(amount.delta),
})

function openReal(path: string, clock: { ms: number }): Real {
  const database = openSqliteDatabase(path)
  // The model is about what the store decides; what survives a crash is tested with real flushes elsewhere.
  database.exec('PRAGMA synchronous = OFF')
  return { path, clock, database, store: sqliteStore(database, () => clock.ms) }
}

/** What the model says that a charge must bring; the model moves on accordingly. */
function chargeModel(
  model: Model,
  request: ChargeRequest,
  price: Amount,
): { kind: string; transition: string } {
  const id = chargeId(request.principal, request.idempotencyKey)
  const earlier = model.charges.get(id)
  const budget = model.budgets.get(request.dataset)
  const unanswered = earlier?.state === 'charged' || earlier?.state === 'failed'
  if (
    earlier !== undefined &&
    (earlier.requestHash !== request.requestHash ||
      earlier.dataset !== request.dataset ||
      (unanswered && !same(earlier.price, price)))
  ) {
    return { kind: 'key-reused', transition: `${earlier.state} -> key reused` }
  }
  if (earlier?.state === 'answered') return { kind: 'answered', transition: 'answered -> replayed' }
  if (earlier?.state === 'charged' && model.nowMs < earlier.leaseEndsMs) {
    return { kind: 'in-flight', transition: 'charged -> in flight' }
  }
  if (budget === undefined) return { kind: 'no-budget', transition: 'absent -> no budget' }
  const leaseEndsMs = model.nowMs + request.leaseMs
  if (earlier !== undefined && unanswered) {
    const transition = earlier.state === 'failed' ? 'failed -> retried' : 'lapsed -> retried'
    Object.assign(earlier, { state: 'charged', attempt: earlier.attempt + 1, leaseEndsMs })
    budget.kinds.push('retried')
    return { kind: 'charged', transition }
  }
  const from = earlier === undefined ? 'absent' : 'denied'
  const paid = within(plus(budget.spent, price), budget.cap)
  model.charges.set(id, {
    dataset: request.dataset,
    requestHash: request.requestHash,
    price,
    state: paid ? 'charged' : 'denied',
    attempt: paid ? 1 : 0,
    leaseEndsMs,
  })
  if (paid) budget.spent = plus(budget.spent, price)
  budget.kinds.push(paid ? 'charged' : 'denied')
  return { kind: paid ? 'charged' : 'denied', transition: `${from} -> ${paid ? 'charged' : 'denied'}` }
}

const TRANSITIONS = [
  'absent -> opened',
  'opened -> exists',
  'opened -> granted',
  'absent -> not granted',
  'absent -> charged',
  'absent -> denied',
  'absent -> no budget',
  'denied -> charged',
  'denied -> denied',
  'charged -> in flight',
  'lapsed -> retried',
  'failed -> retried',
  'charged -> key reused',
  'failed -> key reused',
  'answered -> key reused',
  'denied -> key reused',
  'answered -> replayed',
  'charged -> answered',
  'stale answer',
  'charged -> failed',
  'stale failure',
  'reopened',
] as const

it('does what a simple model of it does, in every transition there is', { timeout: 120_000 }, () => {
  const taken = new Map<string, number>()
  const take = (transition: string) => taken.set(transition, (taken.get(transition) ?? 0) + 1)

  function command(name: string, act: (model: Model, real: Real) => void): fc.Command<Model, Real> {
    return {
      check: () => true,
      run(model, real) {
        act(model, real)
        agree(model, real)
      },
      toString: () => name,
    }
  }

  function agree(model: Model, real: Real): void {
    for (const dataset of DATASETS) {
      const expected = model.budgets.get(dataset)
      const budget = run(real.store, 'budget', dataset)
      expect(budget).toEqual(expected && { cap: toLoss(expected.cap), spent: toLoss(expected.spent) })
      const kinds = run(real.store, 'entries', dataset, { limit: 1_000 }).map(({ kind }) => kind)
      expect(kinds.reverse()).toEqual(expected?.kinds ?? [])
    }
  }

  const amount = fc.record({ epsilon: fc.bigInt(0n, 40n), delta: fc.bigInt(0n, 40n) })
  const dataset = fc.constantFrom(...DATASETS)
  const who = fc.record({ principal: fc.constantFrom(...PRINCIPALS), key: fc.constantFrom(...KEYS) })
  const attemptShift = fc.constantFrom(0, 0, 0, -1, 1)

  const open = fc.tuple(dataset, amount).map(([name, cap]) =>
    command(`open ${name} ${cap.epsilon}/${cap.delta}`, (model, real) => {
      const outcome = run(real.store, 'openBudget', name, toLoss(cap), 'carol')
      const existing = model.budgets.get(name)
      take(existing === undefined ? 'absent -> opened' : 'opened -> exists')
      expect(outcome.kind).toBe(existing === undefined ? 'opened' : 'exists')
      if (existing === undefined) {
        model.budgets.set(name, { cap, spent: { epsilon: 0n, delta: 0n }, kinds: ['opened'] })
      }
    }),
  )
  const grant = fc.tuple(dataset, amount).map(([name, more]) =>
    command(`grant ${name} ${more.epsilon}/${more.delta}`, (model, real) => {
      const budget = model.budgets.get(name)
      const outcome = run(real.store, 'grant', name, toLoss(more), 'carol', 'asked for')
      take(budget === undefined ? 'absent -> not granted' : 'opened -> granted')
      expect(outcome === undefined).toBe(budget === undefined)
      if (budget === undefined) return
      budget.cap = plus(budget.cap, more)
      budget.kinds.push('granted')
    }),
  )
  const charge = fc
    .record({
      who,
      dataset,
      // One request in four differs from what the key stood for, and one price in four.
      otherRequest: fc.constantFrom(false, false, false, true),
      price: fc.constantFrom(5n, 5n, 5n, 30n),
      leaseMs: fc.constantFrom(10, 1_000),
    })
    .map(({ who: { principal, key }, dataset: name, otherRequest, price: units, leaseMs }) =>
      command(`charge ${principal} ${key} ${name} ${otherRequest} ${units} ${leaseMs}`, (model, real) => {
        const price = { epsilon: units, delta: units }
        const request = question(key, {
          dataset: name,
          principal,
          requestHash: otherRequest ? 'another' : 'the usual',
          loss: toLoss(price),
          leaseMs,
        })
        const outcome = run(real.store, 'charge', request)
        const expected = chargeModel(model, request, price)
        take(expected.transition)
        expect(outcome.kind).toBe(expected.kind)
        const after = model.charges.get(chargeId(principal, key))
        const budget = model.budgets.get(name)
        if (outcome.kind === 'charged') {
          expect(outcome.charge.attempt).toBe(after?.attempt)
          expect(outcome.charge.budget.spent).toEqual(budget && toLoss(budget.spent))
        }
        if (outcome.kind === 'answered') expect(outcome.answer).toBe(after?.answer)
        if (outcome.kind === 'in-flight') {
          expect(outcome.retryAfterMs).toBe((after?.leaseEndsMs ?? 0) - model.nowMs)
        }
      }),
    )
  const answer = fc.tuple(who, attemptShift, fc.string()).map(([{ principal, key }, shift, text]) =>
    command(`answer ${principal} ${key} ${shift}`, (model, real) => {
      const id = chargeId(principal, key)
      const target = model.charges.get(id)
      const attempt = Math.max(1, (target?.attempt ?? 1) + shift)
      const valid = target?.state === 'charged' && target.attempt === attempt
      take(valid ? 'charged -> answered' : 'stale answer')
      expect(run(real.store, 'recordAnswer', id, attempt, text)).toBe(valid)
      if (target !== undefined && valid) {
        Object.assign(target, { state: 'answered', answer: text })
        model.budgets.get(target.dataset)?.kinds.push('answered')
      }
      expect(run(real.store, 'release', id)?.answer).toBe(target?.answer)
    }),
  )
  const fail = fc.tuple(who, attemptShift).map(([{ principal, key }, shift]) =>
    command(`fail ${principal} ${key} ${shift}`, (model, real) => {
      const id = chargeId(principal, key)
      const target = model.charges.get(id)
      const attempt = Math.max(1, (target?.attempt ?? 1) + shift)
      const valid = target?.state === 'charged' && target.attempt === attempt
      take(valid ? 'charged -> failed' : 'stale failure')
      run(real.store, 'recordFailure', id, attempt)
      if (target === undefined || !valid) return
      target.state = 'failed'
      model.budgets.get(target.dataset)?.kinds.push('failed')
    }),
  )
  const wait = fc.constantFrom(5, 10, 1_000).map((ms) =>
    command(`wait ${ms}`, (model, real) => {
      model.nowMs += ms
      real.clock.ms += ms
    }),
  )
  const reopen = fc.constant(
    command('reopen', (model, real) => {
      take('reopened')
      real.store.close()
      Object.assign(real, openReal(real.path, real.clock))
      for (const each of model.charges.values()) each.leaseEndsMs = 0
    }),
  )
  const commands = fc.commands([open, grant, charge, charge, charge, charge, answer, fail, wait, reopen], {
    maxCommands: 60,
    size: 'max',
  })

  let runs = 0
  const folder = temporaryPath()
  fc.assert(
    fc.property(commands, (list) => {
      runs += 1
      const real = openReal(`${folder}.${runs}`, { ms: 1_000_000 })
      const model: Model = { nowMs: 1_000_000, budgets: new Map(), charges: new Map() }
      try {
        fc.modelRun(() => ({ model, real }), list)
        for (const name of model.budgets.keys()) {
          expect(firstMisfit(real.database, name)).toBeUndefined()
          expect(balanceOfEvents(real.database, name)).toEqual(run(real.store, 'budget', name))
        }
      } finally {
        real.store.close()
      }
    }),
    { numRuns: 200 },
  )
  const missed = TRANSITIONS.filter((transition) => !taken.has(transition))
  expect(missed).toEqual([])
  expect([...taken.keys()].sort()).toEqual([...TRANSITIONS].sort())
})

it('does the same whether calls are committed together or one by one', () => {
  const call: fc.Arbitrary<Call> = fc.oneof(
    fc.tuple(fc.constantFrom(...PRINCIPALS), fc.constantFrom(...KEYS), fc.bigInt(-1n, 20n)).map(
      ([principal, key, units]): Call => ({
        operation: 'charge',
        args: [question(key, { principal, loss: { epsilonNano: units as never, deltaAtto: deltaAtto(0n) } })],
      }),
    ),
    fc
      .tuple(fc.constantFrom(...PRINCIPALS), fc.constantFrom(...KEYS))
      .map(
        ([principal, key]): Call => ({ operation: 'recordAnswer', args: [chargeId(principal, key), 1, key] }),
      ),
    fc.constant<Call>({ operation: 'budget', args: ['census'] }),
    fc.constant<Call>({
      operation: 'grant',
      args: ['census', toLoss({ epsilon: 7n, delta: 0n }), 'carol', ''],
    }),
  )
  const folder = temporaryPath()
  let runs = 0
  fc.assert(
    fc.property(fc.array(fc.array(call, { maxLength: 8 }), { maxLength: 6 }), (batches) => {
      runs += 1
      const together = openReal(`${folder}.${runs}.together`, { ms: 1_000_000 })
      const single = openReal(`${folder}.${runs}.single`, { ms: 1_000_000 })
      try {
        for (const { store } of [together, single]) {
          run(store, 'openBudget', 'census', toLoss({ epsilon: 50n, delta: 0n }), 'carol')
        }
        for (const batch of batches) {
          expect(together.store.batch(batch)).toEqual(batch.flatMap((each) => single.store.batch([each])))
        }
        const everything = { limit: 1_000 }
        expect(run(together.store, 'entries', 'census', everything)).toEqual(
          run(single.store, 'entries', 'census', everything),
        )
      } finally {
        together.store.close()
        single.store.close()
      }
    }),
    { numRuns: 30 },
  )
})
