import { expect, it } from 'vitest'
import { chargeId, sha256 } from '../../../src/ledger/canonical.ts'
import type { ChargeOutcome, ChargeRequest } from '../../../src/ledger/contract/charges.ts'
import type { LedgerEvent } from '../../../src/ledger/event.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { verifyLedger } from '../../../src/ledger/verification.ts'
import { type Accounting, type Amount, amountBoughtBy } from '../../../src/privacy/accounting.ts'
import { epsilonNano, rhoPico } from '../../../src/privacy/loss.ts'
import { isLongRun, roundCounter } from '../../reliability/rounds.ts'
import { kindsOf } from '../contract/contract-test.ts'
import { describeEachStore, type SharedFixture, type StoreUnderTest } from '../stores.ts'
import { loss, question } from '../support.ts'

/** A step of a client. `expire` means that the client does nothing until its lease has expired. */
type Step = 'charge' | 'answer' | 'answer late' | 'fail' | 'expire'

const SCRIPTS: readonly (readonly Step[])[] = [
  ['charge', 'answer'],
  ['charge', 'fail', 'charge', 'answer'],
  ['charge', 'expire', 'charge', 'answer late', 'answer'],
]

/** Two clients in conflict, and every possible pair of outcomes. */
interface Conflict {
  readonly name: string
  /** The dataset's cap, as a multiple of the price. */
  readonly capPrices: number
  /** The allotment of the first analyst, as a multiple of the price. */
  readonly allotmentPrices?: number
  /** Number of failures that suspend the dataset. Default: failures do not count. */
  readonly failureLimit?: number
  /** The requests; dataset and price are added for each run. */
  readonly requests: readonly [Partial<ChargeRequest>, Partial<ChargeRequest>]
  readonly outcomes: readonly string[]
}

const CONFLICTS: readonly Conflict[] = [
  {
    name: 'two keys, and budget for both',
    capPrices: 2,
    requests: [{ idempotencyKey: 'one' }, { idempotencyKey: 'other' }],
    outcomes: ['charged, charged'],
  },
  {
    name: 'two keys, and one unit of budget left',
    capPrices: 1,
    requests: [{ idempotencyKey: 'one' }, { idempotencyKey: 'other' }],
    outcomes: ['charged, denied', 'denied, charged'],
  },
  {
    name: 'two analysts with keys of their own choice, and one unit of budget left',
    capPrices: 1,
    requests: [
      { idempotencyKey: 'one', keyChosen: true },
      { idempotencyKey: 'other', keyChosen: true, principal: 'bob' },
    ],
    outcomes: ['charged, denied', 'denied, charged'],
  },
  {
    name: 'two keys of one analyst, and one unit of the allotment left',
    capPrices: 2,
    allotmentPrices: 1,
    requests: [{ idempotencyKey: 'one' }, { idempotencyKey: 'other' }],
    outcomes: ['charged, denied', 'denied, charged'],
  },
  {
    name: 'the same key twice',
    capPrices: 1,
    requests: [{ idempotencyKey: 'one' }, { idempotencyKey: 'one' }],
    outcomes: ['charged, charged'],
  },
  {
    name: 'the same key for two questions',
    capPrices: 2,
    requests: [
      { idempotencyKey: 'one', requestHash: 'one' },
      { idempotencyKey: 'one', requestHash: 'other' },
    ],
    outcomes: ['charged, key-reused', 'key-reused, charged'],
  },
  {
    name: 'a question that two analysts share',
    capPrices: 2,
    requests: [
      { idempotencyKey: 'one', sharing: true },
      { idempotencyKey: 'one', sharing: true, principal: 'bob' },
    ],
    outcomes: ['charged, charged', 'charged, shared', 'shared, charged'],
  },
  {
    // A denied analyst without a chosen key asks again, and by then there is a release to share.
    name: 'a question that two analysts share, and one unit of budget left',
    capPrices: 1,
    requests: [
      { idempotencyKey: 'one', sharing: true },
      { idempotencyKey: 'one', sharing: true, principal: 'bob' },
    ],
    outcomes: ['charged, shared', 'shared, charged'],
  },
  {
    name: 'two keys, and a failure that suspends the dataset',
    capPrices: 2,
    failureLimit: 1,
    requests: [{ idempotencyKey: 'one' }, { idempotencyKey: 'other', principal: 'bob' }],
    outcomes: ['charged, charged'],
  },
  {
    name: 'the same key twice, and two failures that suspend the dataset',
    capPrices: 1,
    failureLimit: 2,
    requests: [{ idempotencyKey: 'one' }, { idempotencyKey: 'one' }],
    outcomes: ['charged, charged'],
  },
]

interface Client {
  readonly request: ChargeRequest
  readonly script: readonly Step[]
  /** The attempts that the ledger has returned to it. */
  readonly attempts: number[]
  /** The answer that it knows to be stored. */
  acknowledged?: string
  last?: ChargeOutcome
}

/** One merge of the steps of two clients, on a dataset of its own. */
interface Run {
  readonly conflict: Conflict
  readonly dataset: string
  readonly clients: readonly [Client, Client]
  /** The client of each step. */
  readonly turns: readonly (0 | 1)[]
  readonly price: Amount
}

/** Lists every interleaving of `first` steps of one client and `second` steps of another. */
function merges(first: number, second: number): readonly (0 | 1)[][] {
  if (first === 0 || second === 0) return [[...Array<0>(first).fill(0), ...Array<1>(second).fill(1)]]
  return [
    ...merges(first - 1, second).map((rest): (0 | 1)[] => [0, ...rest]),
    ...merges(first, second - 1).map((rest): (0 | 1)[] => [1, ...rest]),
  ]
}

const TURN_MS = 10
const LONG_MS = 1_000_000

/** The price of which `capPrices` fit into a cap of (1, 1e-6). */
function priceFor(accounting: Accounting, capPrices: number): Amount {
  const cap = amountBoughtBy(accounting, loss('1', '0.000001'))
  return cap.accounting === 'zcdp'
    ? { accounting: 'zcdp', rhoPico: rhoPico(cap.rhoPico / BigInt(capPrices)) }
    : {
        ...cap,
        epsilonNano: epsilonNano(cap.epsilonNano / BigInt(capPrices)),
        deltaAtto: loss('0').deltaAtto,
      }
}

function allRuns(conflict: Conflict, accounting: Accounting): readonly Run[] {
  const price = priceFor(accounting, conflict.capPrices)
  return SCRIPTS.flatMap((one, oneIndex) =>
    SCRIPTS.flatMap((other, otherIndex) =>
      merges(one.length, other.length).map((turns, index): Run => {
        const name = `${conflict.name} ${accounting} ${oneIndex} ${otherIndex} ${index}`
        const client = (place: 0 | 1, script: readonly Step[]): Client => {
          const changes = conflict.requests[place]
          const { principal = 'ada', requestHash = changes.idempotencyKey ?? '' } = changes
          const request = question('', {
            ...changes,
            principal: `${principal} of ${name}`,
            requestHash,
            dataset: name,
            price,
          })
          return { request, script, attempts: [] }
        }
        return { conflict, dataset: name, turns, price, clients: [client(0, one), client(1, other)] }
      }),
    ),
  )
}

async function prepare(ledger: Ledger, { conflict, dataset, clients, price }: Run): Promise<void> {
  const { accounting } = price
  await ledger.openBudget(
    dataset,
    { accounting, neighbours: 'add-remove', granted: loss('1', '0.000001') },
    'carol',
  )
  if (conflict.allotmentPrices === undefined) return
  // Only under basic composition, where half of the grant buys half of the cap.
  const granted = loss('0.5')
  await ledger.allot({
    dataset,
    analyst: clients[0].request.principal,
    granted,
    principal: 'carol',
    reason: 'half',
  })
}

/** Finds the client and step of a turn, and the number of turns until its lease must expire. */
function turnOf(
  { clients, turns }: Run,
  turn: number,
): { client: Client; step: Step; turnsToExpiry: number } | undefined {
  const whose = turns[turn]
  if (whose === undefined) return undefined
  const client = clients[whose]
  const place = turns.slice(0, turn).filter((each) => each === whose).length
  const step = client.script[place]
  if (step === undefined) throw new Error('a turn without a step')
  // If the next step of the client is `expire`, its lease ends exactly at that turn.
  const next = turns.findIndex((each, index) => index > turn && each === whose)
  return { client, step, turnsToExpiry: client.script[place + 1] === 'expire' ? next - turn : 0 }
}

async function take(
  ledger: Ledger,
  client: Client,
  step: Step,
  { leaseMs, failureLimit }: { readonly leaseMs: number; readonly failureLimit?: number | undefined },
): Promise<void> {
  const { request, attempts } = client
  const id = chargeId(request.principal, request.idempotencyKey)
  const latest = attempts.at(-1)
  switch (step) {
    case 'charge': {
      const outcome = await ledger.charge({ ...request, leaseMs })
      client.last = outcome
      if (outcome.kind === 'charged' || outcome.kind === 'shared') attempts.push(outcome.charge.attempt)
      return
    }
    case 'answer':
    case 'answer late': {
      const attempt = step === 'answer' ? latest : attempts.at(-2)
      if (attempt === undefined) return
      const text = `${attempt} of ${request.requestHash}`
      if (await ledger.recordAnswer(id, attempt, text)) {
        expect(client.acknowledged, 'one answer').toBeUndefined()
        client.acknowledged = text
      }
      return
    }
    case 'fail':
      if (latest !== undefined) {
        const counts = failureLimit !== undefined
        await ledger.recordFailure(id, latest, { counts, limit: failureLimit ?? 1 })
      }
      return
    case 'expire':
      return
  }
}

/** Checks the invariants of a completed run. Returns the outcomes of both clients. */
async function expectInvariants(ledger: Ledger, { dataset, clients, price }: Run): Promise<string> {
  const page = await ledger.events(dataset, { limit: 1_000, afterSequence: 0 })
  const found = await verifyLedger({ ...ledger, events: async () => page }, dataset)
  if (found?.kind !== 'sound') throw new Error(`the chain of ${dataset} is broken: ${found?.reason}`)
  const events = page.map(({ canonical }): LedgerEvent => JSON.parse(canonical))
  const debits = events.filter(({ kind }) => kind === 'charged' || kind === 'shared')
  const answers = events.filter(({ kind }) => kind === 'answered')
  const count = (among: readonly LedgerEvent[], id: string) =>
    among.filter(({ chargeId: of }) => of === id).length
  const { cap, spent } = found.budget
  const paid = events.filter(({ kind }) => kind === 'charged').length
  const multiple = (times: number): Amount =>
    price.accounting === 'zcdp'
      ? { accounting: 'zcdp', rhoPico: rhoPico(price.rhoPico * BigInt(times)) }
      : { ...price, epsilonNano: epsilonNano(price.epsilonNano * BigInt(times)) }
  expect(spent).toEqual(multiple(paid))
  if (cap.accounting === 'zcdp' && spent.accounting === 'zcdp')
    expect(spent.rhoPico <= cap.rhoPico).toBe(true)
  if (cap.accounting === 'basic' && spent.accounting === 'basic')
    expect(spent.epsilonNano <= cap.epsilonNano).toBe(true)
  const outcomes = clients.map(({ request, last, acknowledged }) => {
    const id = chargeId(request.principal, request.idempotencyKey)
    if (last?.kind === 'denied' || last?.kind === 'key-reused') return last.kind
    if (last?.kind !== 'answered') throw new Error(`a client outcomes with ${last?.kind}`)
    expect(count(debits, id)).toBe(1)
    expect(count(answers, id)).toBe(1)
    expect(sha256(last.answer)).toBe(answers.find(({ chargeId: of }) => of === id)?.answerHash)
    if (acknowledged !== undefined) expect(last.answer).toBe(acknowledged)
    return debits.find(({ chargeId: of }) => of === id)?.kind
  })
  const ids = new Set(clients.map(({ request }) => chargeId(request.principal, request.idempotencyKey)))
  expect(debits.length).toBe(debits.filter(({ chargeId: id = '' }) => ids.has(id)).length)
  for (const id of ids) expect(count(debits, id)).toBeLessThanOrEqual(1)
  return outcomes.join(', ')
}

/**
 * Executes all runs concurrently. Within a run, each call is durable before the next one starts. The calls of all runs
 * at a turn are made together.
 */
async function takeTurns({ ledger, clock }: SharedFixture, runs: readonly Run[]): Promise<void> {
  const last = Math.max(...runs.map(({ turns }) => turns.length))
  for (let turn = 0; turn < last; turn += 1) {
    await Promise.all(
      runs.map(async (each) => {
        const next = turnOf(each, turn)
        if (next === undefined) return
        const leaseMs = next.turnsToExpiry > 0 ? next.turnsToExpiry * TURN_MS : LONG_MS
        await take(ledger, next.client, next.step, { leaseMs, failureLimit: each.conflict.failureLimit })
      }),
    )
    clock.ms += TURN_MS
  }
  // Then the custodian resumes the datasets, and each client repeats its request until it has an outcome.
  await Promise.all(runs.map(({ dataset }) => ledger.resume(dataset, 'carol', 'looked into')))
  for (const whose of [0, 1, 0] as const) {
    clock.ms += LONG_MS
    await Promise.all(
      runs.map(async ({ clients }) => {
        const client = clients[whose]
        const open = () => client.last?.kind === 'charged' || client.last?.kind === 'shared'
        await take(ledger, client, 'charge', { leaseMs: LONG_MS })
        if (open()) {
          await take(ledger, client, 'answer', { leaseMs: LONG_MS })
          await take(ledger, client, 'charge', { leaseMs: LONG_MS })
        }
      }),
    )
  }
}

/** Selects the conflicts to run under zCDP. On PostgreSQL, which takes longer, one. */
function isCountedInRho(
  { allotmentPrices, capPrices, requests }: Conflict,
  { name }: StoreUnderTest,
): boolean {
  return (
    allotmentPrices === undefined && (name === 'SQLite' || (capPrices === 1 && requests[0].sharing === true))
  )
}

/**
 * Selects the sample of runs: all on SQLite under basic composition, and every seventh of the others except in a long run.
 * The protocol decides calls alike in both stores and under both accountings. Interleavings of statements have a separate test.
 */
function everyNth({ name }: StoreUnderTest, accounting: Accounting): number {
  return (name === 'SQLite' && accounting === 'basic') || isLongRun ? 1 : 7
}

describeEachStore('every interleaving of two clients', (store) => {
  const accountings = ['basic', 'zcdp'] as const
  const cases = CONFLICTS.flatMap((conflict) =>
    accountings
      .filter((accounting) => accounting === 'basic' || isCountedInRho(conflict, store))
      .map((accounting) => ({ conflict, accounting, name: conflict.name })),
  )

  it.each(cases)('$name, in $accounting', async ({ conflict, accounting }) => {
    const counts = roundCounter(`interleavings on ${store.name}: ${conflict.name}, ${accounting}`)
    const fixture = await store.openFixture()
    const all = allRuns(conflict, accounting)
    // Of scripts of m and n steps there are (m + n)! / (m! n!) merges.
    expect(all).toHaveLength(6 + 2 * 15 + 2 * 21 + 70 + 2 * 126 + 252)
    const runs = all.filter((_, place) => place % everyNth(store, accounting) === 0)
    await Promise.all(runs.map((each) => prepare(fixture.ledger, each)))
    await takeTurns(fixture, runs)
    const outcomes = await Promise.all(runs.map((each) => expectInvariants(fixture.ledger, each)))
    counts.add({ interleavings: runs.length })
    expect([...new Set(outcomes)].sort()).toEqual(conflict.outcomes)
    const histories = await Promise.all(runs.map(({ dataset }) => kindsOf(fixture.ledger, dataset)))
    const suspended = histories.filter((kinds) => kinds.includes('suspended'))
    expect(suspended.length > 0).toBe(conflict.failureLimit !== undefined)
  })
})
