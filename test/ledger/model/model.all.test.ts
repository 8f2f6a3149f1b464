import fc from 'fast-check'
import { expect, it } from 'vitest'
import { chargeId } from '../../../src/ledger/canonical.ts'
import type { EventReference, LedgerEntry, LedgerHead } from '../../../src/ledger/contract/chain.ts'
import type { ChargeRequest } from '../../../src/ledger/contract/charges.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import type { Accounting, Amount } from '../../../src/privacy/accounting.ts'
import { deltaAtto, epsilonNano, type PrivacyLoss, rhoPico } from '../../../src/privacy/loss.ts'
import { roundCount, roundCounter } from '../../reliability/rounds.ts'
import { describeEachStore, type SharedFixture } from '../stores.ts'
import { expectConsistentLedger, question } from '../support.ts'
import {
  budgetOf,
  type Model,
  type ModelCall,
  type ModelEvent,
  newModel,
  OUT_OF_RANGE,
  positivesOf,
  spendingOf,
  stepModel,
} from './model.ts'

const ANALYSTS = ['ada', 'bob', 'eve'] as const
/** The first two keys are not chosen by the analyst, so that they stand for the same request of all analysts. */
const KEYS = ['q1', 'q2', 'mine', 'my other'] as const
/** Analysts of the first dataset share releases. */
const DATASETS = ['census', 'survey'] as const

const RUNS = { SQLite: 60, PostgreSQL: 10 }

const TRANSITIONS = [
  'absent -> opened in basic',
  'absent -> opened in zcdp',
  'opened -> exists',
  'opened -> granted in basic',
  'opened -> granted in zcdp',
  'absent -> not granted',
  'opened -> cap replaced in basic',
  'opened -> cap replaced in zcdp',
  'same cap again',
  'spent -> not replaced',
  'absent -> not replaced',
  'unlimited -> allotted',
  'unlimited -> lifted',
  'unlimited -> stopped in basic',
  'unlimited -> stopped in zcdp',
  'allotted -> allotted',
  'allotted -> lifted',
  'allotted -> stopped in basic',
  'allotted -> stopped in zcdp',
  'allotment below spent',
  'absent -> not allotted',
  'absent -> charged in basic',
  'absent -> charged in zcdp',
  'absent -> shared in basic',
  'absent -> shared in zcdp',
  "absent -> charged beside one's own release",
  'absent -> denied by dataset',
  'absent -> denied by allotment',
  'absent -> no budget',
  'price counted otherwise',
  'denied -> charged in basic',
  'denied -> charged in zcdp',
  'denied -> denied by dataset',
  'denied -> denied by allotment',
  'denied -> denial sticks',
  'charged -> in flight',
  'lapsed -> retried',
  'lapsed -> shared again',
  'failed -> retried',
  'failed -> shared again',
  'clock back -> retried',
  'charged -> key reused for another request',
  'charged -> key reused for another price or dataset',
  'failed -> key reused for another request',
  'failed -> key reused for another price or dataset',
  'answered -> key reused for another request',
  'denied -> key reused for another request',
  'answered -> replayed',
  'charged -> answered',
  'shared -> answered',
  'stale recordAnswer',
  'charged -> failed',
  'stale failure',
  'charged -> counted',
  'charged -> suspended',
  'charged -> counted during a suspension',
  'question not counted',
  'question -> counted',
  'question -> suspended',
  'absent -> suspended',
  'failed -> suspended',
  'denied -> suspended',
  'suspended -> resumed',
  'not suspended',
  'absent -> not resumed',
  'charged -> session',
  'stale openSession',
  'session -> above',
  'session -> below',
  'no session',
  'session used up',
  'question answered before',
  'question out of turn',
  'reopened',
  'together',
  'clock forward',
  'clock back',
] as const

interface Real {
  readonly fixture: SharedFixture
  /** The ledger of another process, if the store supports it. */
  readonly other: Ledger
}

/** The functions that build the calls of a scenario. Each is evaluated when its turn comes. */
interface Telling {
  readonly first: string
  readonly second: string
  charge(principal: string, changes?: Partial<ChargeRequest>): ChargeRequest
  price(units: number): Amount
  /** The latest attempt; 1 if there is no charge. */
  attempt(principal: string): number
  id(principal: string): string
}

/** A sequence of calls, with waits in milliseconds. */
type Scenario = (telling: Telling) => Generator<ModelCall | number>

const chargeCall = (request: ChargeRequest): ModelCall => ({ operation: 'charge', args: [request] })

const SCENARIOS: readonly Scenario[] = [
  function* share({ first, second, charge, attempt, id }) {
    yield chargeCall(charge(first))
    yield { operation: 'recordAnswer', args: [id(first), attempt(first), 'an answer'] }
    yield chargeCall(charge(second))
    yield { operation: 'recordFailure', args: [id(second), attempt(second)] }
    yield chargeCall(charge(second))
    yield 1_000
    yield chargeCall(charge(second))
    yield { operation: 'recordAnswer', args: [id(second), attempt(second), 'a share'] }
  },
  function* draw({ first, second, charge, attempt, id }) {
    const { idempotencyKey } = charge(first)
    const own = `a draw for ${idempotencyKey}`
    yield chargeCall(charge(first, { idempotencyKey: own, keyChosen: true }))
    yield { operation: 'recordAnswer', args: [chargeId(first, own), 1, 'drawn'] }
    yield chargeCall(charge(first))
    yield { operation: 'recordAnswer', args: [id(first), attempt(first), 'fresh'] }
    yield chargeCall(charge(second))
  },
  function* denial({ first, charge, price }) {
    for (const changes of [{}, {}, { requestHash: 'another' }, { keyChosen: true }])
      yield chargeCall(charge(first, { price: price(400), ...changes }))
    yield { operation: 'grant', args: ['census', grantOf(10, 10), 'carol', 'asked for'] }
    yield {
      operation: 'allot',
      args: [{ dataset: 'census', analyst: first, principal: 'carol', reason: 'lifted' }],
    }
    yield chargeCall(charge(first, { price: price(2) }))
  },
  function* failure({ first, charge, price, attempt, id }) {
    yield chargeCall(charge(first))
    yield { operation: 'recordFailure', args: [id(first), attempt(first)] }
    yield chargeCall(charge(first, { requestHash: 'another' }))
    yield chargeCall(charge(first, { price: price(2) }))
    yield chargeCall(charge(first))
    yield -5
    yield chargeCall(charge(first))
    yield { operation: 'recordAnswer', args: [id(first), attempt(first), 'an answer'] }
    yield chargeCall(charge(first, { price: price(2) }))
    yield chargeCall(charge(first, { requestHash: 'another' }))
  },
  function* suspension({ first, second, charge, price, attempt, id }) {
    const counted = { counts: true, limit: 2 }
    yield { operation: 'resume', args: ['nowhere', 'carol', 'nothing to resume'] }
    yield { operation: 'resume', args: ['census', 'carol', 'looked into'] }
    yield { operation: 'resume', args: ['census', 'carol', 'looked into'] }
    yield chargeCall(charge(first, { idempotencyKey: `large for ${first}`, price: price(400) }))
    yield chargeCall(charge(second))
    yield chargeCall(charge(first))
    yield { operation: 'recordFailure', args: [id(first), attempt(first), counted] }
    yield chargeCall(charge(first))
    yield { operation: 'recordFailure', args: [id(first), attempt(first), counted] }
    yield chargeCall(charge(first))
    yield chargeCall(charge(first, { idempotencyKey: `more for ${first}` }))
    yield chargeCall(charge(first, { idempotencyKey: `large for ${first}`, price: price(400) }))
    yield { operation: 'recordFailure', args: [id(second), attempt(second), counted] }
    yield { operation: 'resume', args: ['census', 'carol', 'looked into'] }
    yield chargeCall(charge(first))
  },
  function* limits({ first, charge, price }) {
    const share = { dataset: 'census', analyst: first, principal: 'carol', reason: 'a share' }
    yield { operation: 'allot', args: [{ ...share, granted: grantOf(20, 20) }] }
    yield { operation: 'allot', args: [{ ...share, granted: grantOf(15, 15) }] }
    yield chargeCall(charge(first))
    yield { operation: 'allot', args: [{ ...share, granted: grantOf(0, 1) }] }
    yield { operation: 'grant', args: ['census', grantOf(30, 30), 'carol', 'asked for'] }
    for (const keyChosen of [false, false, true])
      yield chargeCall(charge(first, { idempotencyKey: `large for ${first}`, keyChosen, price: price(25) }))
    yield { operation: 'allot', args: [share] }
    yield chargeCall(charge(first, { idempotencyKey: `large for ${first}`, price: price(1) }))
  },
  function* stop({ first, charge }) {
    const share = { dataset: 'census', analyst: first, principal: 'carol', reason: 'no more' }
    yield chargeCall(charge(first))
    yield { operation: 'allot', args: [share] }
    for (let time = 1; time <= 2; time += 1)
      yield { operation: 'allot', args: [{ ...share, granted: grantOf(0, 0) }] }
    yield chargeCall(charge(first, { idempotencyKey: `more for ${first}` }))
    yield { operation: 'allot', args: [share] }
  },
  function* replacement({ first, charge }) {
    const cap = (epsilon: number, name = 'survey'): ModelCall => ({
      operation: 'replaceCap',
      args: [name, grantOf(epsilon, epsilon), 'carol', 'a typing error'],
    })
    const { accounting: counted } = charge(first).price
    const opening = { accounting: counted, neighbours: 'add-remove', granted: grantOf(20, 20) } as const
    yield cap(1, 'nowhere')
    yield { operation: 'openBudget', args: ['survey', opening, 'carol'] }
    for (const epsilon of [25, 25, 10]) yield cap(epsilon)
    yield chargeCall(charge(first, { dataset: 'survey', sharing: false }))
    for (const epsilon of [10, 9, 30]) yield cap(epsilon)
  },
  function* errors({ first, charge, price, attempt, id }) {
    const nowhere = { dataset: 'nowhere' }
    yield { operation: 'grant', args: ['nowhere', grantOf(1, 1), 'carol', 'asked for'] }
    yield {
      operation: 'allot',
      args: [{ ...nowhere, analyst: first, principal: 'carol', reason: 'a share' }],
    }
    yield chargeCall(charge(first, nowhere))
    const counted = price(1).accounting === 'basic' ? 'zcdp' : 'basic'
    yield chargeCall(charge(first, { price: priceOf(1, counted) }))
    yield {
      operation: 'openBudget',
      args: ['census', { accounting: counted, neighbours: 'add-remove', granted: grantOf(9, 9) }, 'carol'],
    }
    for (const changes of [{}, {}, { requestHash: 'another' }, { price: price(2) }])
      yield chargeCall(charge(first, changes))
    yield { operation: 'recordAnswer', args: [id(first), attempt(first) + 1, 'of nobody'] }
    yield { operation: 'recordFailure', args: [id(first), attempt(first) + 1] }
    yield 1_000
    yield chargeCall(charge(first))
  },
  function* session({ first, charge, attempt, id }) {
    yield chargeCall(charge(first))
    const session = { positives: 1, terms: '{}', thresholdNoise: 7n }
    yield { operation: 'openSession', args: [id(first), attempt(first) + 1, 'opened', session] }
    yield { operation: 'openSession', args: [id(first), attempt(first), 'opened', session] }
    yield { operation: 'recordQuestionFailure', args: [id(first), { counts: false, limit: 1 }] }
    for (const limit of [100, 1])
      yield { operation: 'recordQuestionFailure', args: [id(first), { counts: true, limit }] }
    yield { operation: 'resume', args: ['census', 'carol', 'looked into'] }
    for (const [key, number, above] of [
      ['a', 1, false],
      ['a', 2, false],
      ['b', 3, true],
      ['b', 2, true],
      ['c', 3, false],
    ] as const) {
      const facts = { session: id(first), idempotencyKey: key, requestHash: key, request: '{}', answer: key }
      yield { operation: 'recordSessionAnswer', args: [{ ...facts, question: number, above }] }
    }
    const nowhere = { session: 'none', idempotencyKey: 'a', requestHash: 'a', request: '{}', answer: 'a' }
    yield { operation: 'recordSessionAnswer', args: [{ ...nowhere, question: 1, above: false }] }
  },
]

/** A call that depends on the state of the model. */
type Ask = (model: Model) => ModelCall

const grantOf = (epsilon: number, delta: number): PrivacyLoss => ({
  epsilonNano: epsilonNano(BigInt(epsilon) * 100_000_000n),
  deltaAtto: deltaAtto(BigInt(delta) * 100_000_000_000n),
})
const priceOf = (units: number, accounting: 'basic' | 'zcdp'): Amount =>
  accounting === 'basic'
    ? { accounting, ...grantOf(units, units) }
    : { accounting, rhoPico: rhoPico(BigInt(units) * 8_000_000_000n) }

const often = <Value>(usual: Value, times: number, ...others: Value[]) =>
  fc.constantFrom(...Array.from({ length: times }, () => usual), ...others)
const dataset = often<(typeof DATASETS)[number]>('census', 3, 'survey')
const analyst = fc.constantFrom(...ANALYSTS)
const who = fc.record({ principal: analyst, key: fc.constantFrom(...KEYS) })
const granted = fc.tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 30 }))
const accounting = fc.constantFrom('basic', 'zcdp')

const open: fc.Arbitrary<Ask> = fc
  .tuple(dataset, accounting, granted)
  .map(([name, counted, [epsilon, delta]]) => () => ({
    operation: 'openBudget',
    args: [
      name,
      { accounting: counted, neighbours: 'add-remove', granted: grantOf(epsilon, delta) },
      'carol',
    ],
  }))
const grant: fc.Arbitrary<Ask> = fc.tuple(dataset, granted).map(([name, [epsilon, delta]]) => () => ({
  operation: 'grant',
  args: [name, grantOf(epsilon, delta), 'carol', 'asked for'],
}))
const replaceCap: fc.Arbitrary<Ask> = fc.tuple(dataset, granted).map(([name, [epsilon, delta]]) => () => ({
  operation: 'replaceCap',
  args: [name, grantOf(epsilon, delta), 'carol', 'a typing error'],
}))
const allot: fc.Arbitrary<Ask> = fc
  .tuple(dataset, analyst, fc.option(granted, { freq: 3, nil: undefined }))
  .map(([name, whose, share]) => () => ({
    operation: 'allot',
    args: [
      {
        dataset: name,
        analyst: whose,
        principal: 'carol',
        reason: 'a share',
        ...(share !== undefined && { granted: grantOf(...share) }),
      },
    ],
  }))
const charge: fc.Arbitrary<Ask> = fc
  .record({
    who,
    dataset,
    // A few differ from the earlier request of the key.
    hash: often('as the key', 9, 'q1', 'q2', 'another'),
    units: often(4, 9, 5, 30, 0),
    countedOtherwise: often(false, 20, true),
    leaseMs: fc.constantFrom(10, 1_000),
    datasetVersion: fc.constantFrom('1', '2'),
  })
  .map(
    ({ who: { principal, key }, dataset: name, hash, units, countedOtherwise, leaseMs, datasetVersion }) => {
      const keyChosen = !key.startsWith('q')
      const usualHash = keyChosen ? 'q1' : key
      return (model) => {
        const counted = model.datasets.get(name)?.accounting ?? 'basic'
        const other = counted === 'basic' ? 'zcdp' : 'basic'
        const request = question(key, {
          dataset: name,
          principal,
          keyChosen,
          sharing: name === 'census',
          requestHash: hash === 'as the key' ? usualHash : hash,
          price: priceOf(units, countedOtherwise ? other : counted),
          leaseMs,
          datasetVersion,
        })
        return { operation: 'charge', args: [request] }
      }
    },
  )
/** The latest attempt, or sometimes another. */
const attempt = fc.tuple(who, often(0, 5, -1, 1))
const attemptOf = (model: Model, id: string, shift: number) =>
  Math.max(1, (model.charges.get(id)?.attempt ?? 1) + shift)
const answer: fc.Arbitrary<Ask> = fc
  .tuple(attempt, fc.string({ unit: 'grapheme' }))
  .map(([[{ principal, key }, shift], text]) => (model) => {
    const id = chargeId(principal, key)
    return { operation: 'recordAnswer', args: [id, attemptOf(model, id, shift), text.replaceAll('\0', '')] }
  })
const failure = fc.record({ counts: fc.boolean(), limit: often(3, 3, 1) })
const fail: fc.Arbitrary<Ask> = fc
  .tuple(attempt, failure)
  .map(([[{ principal, key }, shift], recorded]) => (model) => {
    const id = chargeId(principal, key)
    return { operation: 'recordFailure', args: [id, attemptOf(model, id, shift), recorded] }
  })
const failQuestion: fc.Arbitrary<Ask> = fc.tuple(fc.nat(), failure).map(([pick, recorded]) => (model) => {
  const sessions = [...model.sessions.keys()]
  return {
    operation: 'recordQuestionFailure',
    args: [sessions[pick % (sessions.length + 1)] ?? 'none', recorded],
  }
})
const resume: fc.Arbitrary<Ask> = dataset.map((name) => () => ({
  operation: 'resume',
  args: [name, 'carol', 'looked into'],
}))
const openSession: fc.Arbitrary<Ask> = fc
  .tuple(attempt, fc.integer({ min: 1, max: 2 }))
  .map(([[{ principal, key }, shift], positives]) => (model) => {
    const id = chargeId(principal, key)
    const session = { positives, terms: '{}', thresholdNoise: 7n }
    return { operation: 'openSession', args: [id, attemptOf(model, id, shift), 'opened', session] }
  })
const sessionAnswer: fc.Arbitrary<Ask> = fc
  .record({
    who,
    pick: fc.nat(),
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    above: fc.boolean(),
    shift: often(0, 5, -1, 1),
  })
  .map(({ who: { principal, key: charged }, pick, key, above, shift }) => (model) => {
    const sessions = [...model.sessions.keys()]
    const session = sessions[pick % (sessions.length + 1)] ?? chargeId(principal, charged)
    const next = (model.sessions.get(session)?.answers.size ?? 0) + 1
    const facts = { session, idempotencyKey: key, requestHash: key, request: '{}', above, answer: key }
    return {
      operation: 'recordSessionAnswer',
      args: [{ ...facts, question: Math.max(1, next + shift) }],
    }
  })

const call = fc.oneof(
  { weight: 2, arbitrary: open },
  { weight: 2, arbitrary: grant },
  { weight: 1, arbitrary: replaceCap },
  { weight: 3, arbitrary: allot },
  { weight: 16, arbitrary: charge },
  { weight: 7, arbitrary: answer },
  { weight: 3, arbitrary: fail },
  { weight: 1, arbitrary: failQuestion },
  // A suspended dataset takes few transitions.
  { weight: 5, arbitrary: resume },
  { weight: 2, arbitrary: openSession },
  { weight: 4, arbitrary: sessionAnswer },
)

function askLedger(ledger: Ledger, { operation, args }: ModelCall): Promise<unknown> {
  // The arguments of a call match its operation.
  return (ledger[operation] as (...given: typeof args) => Promise<unknown>)(...args)
}

/** The result of a call in the form of the model, and its receipt. */
function observed(settled: PromiseSettledResult<unknown>): { result: unknown; receipt?: EventReference } {
  if (settled.status === 'rejected') {
    if (settled.reason instanceof RangeError) return { result: OUT_OF_RANGE }
    throw settled.reason
  }
  const result = settled.value as { charge?: { event: EventReference } } | undefined
  if (typeof result !== 'object' || result.charge === undefined) return { result }
  const { event } = result.charge
  return {
    result: { ...result, charge: { ...result.charge, event: { sequence: event.sequence } } },
    receipt: event,
  }
}

/** Lists all permutations. */
function orders<Thing>(things: readonly Thing[]): readonly (readonly Thing[])[] {
  if (things.length < 2) return [things]
  return things.flatMap((first, index) => orders(things.toSpliced(index, 1)).map((rest) => [first, ...rest]))
}

/** True if two plain values have the same JSON. */
const plain = (value: unknown) =>
  JSON.stringify(value, (_, each) => {
    if (typeof each === 'bigint') return `${each}n`
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
  })

/** The state of a dataset that the ledger shows. */
interface Shown {
  readonly name: string
  readonly head: LedgerHead | undefined
  /** The last events, oldest first: more than one command can add. */
  readonly entries: readonly LedgerEntry[]
}

const LATEST = 12

const look = (ledger: Ledger): Promise<readonly Shown[]> =>
  Promise.all(
    DATASETS.map(async (name) => {
      const [head, entries] = await Promise.all([ledger.head(name), ledger.entries(name, { limit: LATEST })])
      return { name, head, entries: [...entries].reverse() }
    }),
  )

const latest = (events: readonly (ModelEvent | LedgerEntry)[] = []) =>
  events
    .slice(-LATEST)
    .map(({ kind, principal, chargeId: id, analyst: whose, granted: loss, price }) => [
      ...[kind, principal, id, whose],
      ...[loss?.epsilonNano, loss?.deltaAtto, price],
    ])

/** Expects the datasets of the ledger to equal those of the model. */
function expectAgreement(model: Model, shown: readonly Shown[], receipts: readonly EventReference[]): void {
  const hashes = new Set<string>()
  for (const { name, head, entries } of shown) {
    for (const { sequence, hash } of entries) hashes.add(`${sequence} ${hash}`)
    const expected = model.datasets.get(name)
    expect(head).toEqual(
      expected && {
        sequence: expected.events.length,
        hash: entries.at(-1)?.hash,
        budget: budgetOf(expected),
        failures: expected.failures,
        suspended: expected.suspended,
        spending: [...expected.analysts.keys()].sort().map((principal) => spendingOf(expected, principal)),
      },
    )
  }
  for (const { sequence, hash } of receipts) expect(hashes).toContain(`${sequence} ${hash}`)
}

/** Expects the results and events of concurrent calls to equal those of some order of the calls in the model. */
function followSomeOrder(
  model: Model,
  shown: readonly Shown[],
  calls: readonly ModelCall[],
  results: readonly unknown[],
): readonly string[] {
  const seen = results.map(plain)
  const history = plain(shown.map(({ entries }) => latest(entries)))
  for (const order of orders(calls.map((_, index) => index))) {
    // A single call has one order, so a difference fails at once.
    const tried = calls.length === 1 ? model : structuredClone(model)
    const transitions: string[] = []
    const fits = order.every((index) => {
      const each = calls[index]
      if (each === undefined) return false
      const { result, transition } = stepModel(tried, each)
      transitions.push(transition)
      return plain(result) === seen[index]
    })
    const events = DATASETS.map((name) => latest(tried.datasets.get(name)?.events))
    if (!fits || plain(events) !== history) continue
    Object.assign(model, tried)
    return transitions
  }
  throw new Error(`no order of the calls brings ${seen.join(' and ')}`)
}

describeEachStore('the ledger and a simple model of it', (store) => {
  it('agree in every transition, for sequential and concurrent calls', async () => {
    const taken = new Set<string>()
    const counts = roundCounter(`the model of ${store.name}`)
    function take(transition: string): void {
      taken.add(transition)
      counts.add({ steps: 1, ...(transition === 'together' && { together: 1 }) })
    }

    function command(
      name: () => string,
      act: (model: Model, real: Real) => Promise<void>,
    ): fc.AsyncCommand<Model, Real> {
      return { check: () => true, run: act, toString: name }
    }

    async function ask(model: Model, { fixture, other }: Real, calls: readonly ModelCall[]): Promise<void> {
      if (calls.length > 1) take('together')
      const settled = await Promise.allSettled(
        calls.map((each, index) => askLedger(index % 2 === 0 ? fixture.ledger : other, each)),
      )
      const seen = settled.map(observed)
      const results = seen.map(({ result }) => result)
      const shown = await look(fixture.ledger)
      for (const transition of followSomeOrder(model, shown, calls, results)) take(transition)
      const receipts = seen.flatMap(({ receipt }) => (receipt === undefined ? [] : [receipt]))
      expectAgreement(model, shown, receipts)
    }

    async function wait(model: Model, { fixture }: Real, ms: number): Promise<void> {
      take(ms > 0 ? 'clock forward' : 'clock back')
      fixture.clock.ms += ms
      model.nowMs = fixture.clock.ms
    }

    const asked = (asks: fc.Arbitrary<Ask[]>) =>
      asks.map((each) => {
        let calls: readonly ModelCall[] = []
        return command(
          () => plain(calls),
          async (model, real) => {
            calls = each.map((make) => make(model))
            await ask(model, real, calls)
          },
        )
      })
    const waiting = often(10, 3, 1_000, -5, -100_000).map((ms) =>
      command(
        () => `wait ${ms}`,
        (model, real) => wait(model, real, ms),
      ),
    )
    // Random runs rarely reach these transitions. Each scenario takes one request through a sequence of states.
    const telling = (tell: Scenario, first: string, second: string) =>
      command(
        () => `the ${tell.name} of ${first} and ${second}`,
        async (model, real) => {
          const key = `question ${model.charges.size}`
          const told = tell({
            charge: (principal, changes = {}) =>
              question(key, {
                principal,
                requestHash: key,
                sharing: true,
                price: priceOf(1, model.datasets.get('census')?.accounting ?? 'basic'),
                ...changes,
              }),
            price: (units) => priceOf(units, model.datasets.get('census')?.accounting ?? 'basic'),
            attempt: (principal) => Math.max(1, model.charges.get(chargeId(principal, key))?.attempt ?? 1),
            id: (principal) => chargeId(principal, key),
            first,
            second,
          })
          for (const step of told) {
            if (typeof step === 'number') await wait(model, real, step)
            else await ask(model, real, [step])
          }
        },
      )
    const scenario = fc
      .tuple(fc.shuffledSubarray([...ANALYSTS], { minLength: 2 }), fc.constantFrom(...SCENARIOS))
      .map(([[first = '', second = ''], tell]) => telling(tell, first, second))
    const reopening = command(
      () => 'reopen',
      async (model, { fixture }) => {
        take('reopened')
        await fixture.reopen()
        model.nowMs = fixture.clock.ms
        if (store.name === 'SQLite') {
          for (const each of model.charges.values()) each.leaseEndsMs = each.leasedAtMs
        }
      },
    )
    const reopen = fc.constant(reopening)
    const one = asked(fc.array(call, { minLength: 1, maxLength: 1 }))
    const several = asked(fc.array(call, { minLength: 2, maxLength: 4 }))
    const commands = fc.commands(
      [one, one, one, one, one, several, several, scenario, scenario, scenario, waiting, reopen],
      {
        maxCommands: 60,
        size: 'max',
      },
    )

    async function follow(
      list: Iterable<fc.AsyncCommand<Model, Real>>,
      [epsilon, delta]: readonly [number, number],
      counted: Accounting,
    ): Promise<void> {
      counts.add({ runs: 1 })
      const fixture = await store.openFixture()
      const other = store.name === 'SQLite' ? fixture : { ledger: await fixture.another() }
      const real: Real = {
        fixture,
        get other() {
          return other.ledger
        },
      }
      const model = newModel(fixture.clock.ms)
      // Most transitions need a budget.
      const opening = {
        accounting: counted,
        neighbours: 'add-remove',
        granted: grantOf(epsilon + 5, delta + 5),
      } as const
      await fixture.ledger.openBudget('census', opening, 'carol')
      take(stepModel(model, { operation: 'openBudget', args: ['census', opening, 'carol'] }).transition)
      await fc.asyncModelRun(() => ({ model, real }), list)
      await expectConsistentLedger(fixture.ledger)
      for (const [id, session] of model.sessions) {
        expect(await fixture.ledger.session(id)).toMatchObject({
          answered: session.answers.size,
          positivesLeft: session.positives - positivesOf(session),
        })
      }
      for (const [id, { state, answer: text }] of model.charges)
        expect((await fixture.ledger.release(id))?.answer).toBe(state === 'answered' ? text : undefined)
      await fixture.close()
    }

    // Every scenario once, then random runs.
    for (const counted of ['basic', 'zcdp'] as const) {
      const tour = SCENARIOS.map((tell) => telling(tell, 'ada', 'bob'))
      await follow([...tour, reopening], [30, 30], counted)
    }
    await fc.assert(fc.asyncProperty(commands, granted, accounting, follow), {
      numRuns: Math.max(RUNS[store.name], roundCount(RUNS[store.name])),
    })
    const missed = TRANSITIONS.filter((transition) => !taken.has(transition))
    expect(missed).toEqual([])
  })
})
