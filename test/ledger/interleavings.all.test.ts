import { expect, it } from 'vitest'
import { chargeId, sha256 } from '../../src/ledger/canonical.ts'
import type { LedgerEvent } from '../../src/ledger/event.ts'
import type { ChargeOutcome, ChargeRequest, Ledger } from '../../src/ledger/ledger.ts'
import { verifyLedger } from '../../src/ledger/verification.ts'
import { type Accounting, type Amount, amountBoughtBy } from '../../src/privacy/accounting.ts'
import { epsilonNano, rhoPico } from '../../src/privacy/loss.ts'
import { isLongRun, roundCounter } from '../reliability/rounds.ts'
import { describeEachStore, type SharedFixture, type StoreUnderTest } from './stores.ts'
import { loss, question } from './support.ts'

/** What a client does, one call after the other. A lapse is that it does nothing until its lease has run out. */
type Step = 'charge' | 'answer' | 'answer late' | 'fail' | 'lapse'

const SCRIPTS: readonly (readonly Step[])[] = [
  ['charge', 'answer'],
  ['charge', 'fail', 'charge', 'answer'],
  ['charge', 'lapse', 'charge', 'answer late', 'answer'],
]

/** How two clients are in each other's way, and every way in which both of them may end. */
interface Relation {
  readonly name: string
  /** How many prices the dataset's cap holds. */
  readonly room: number
  /** How many prices each analyst may spend. */
  readonly share?: number
  /** The requests, for a dataset and price of their own. */
  readonly requests: readonly [Partial<ChargeRequest>, Partial<ChargeRequest>]
  readonly ends: readonly string[]
}

const RELATIONS: readonly Relation[] = [
  {
    name: 'two keys, and room for both',
    room: 2,
    requests: [{ idempotencyKey: 'one' }, { idempotencyKey: 'other' }],
    ends: ['charged, charged'],
  },
  {
    name: 'two keys, and one unit of budget left',
    room: 1,
    requests: [{ idempotencyKey: 'one' }, { idempotencyKey: 'other' }],
    ends: ['charged, denied', 'denied, charged'],
  },
  {
    name: 'two analysts with keys of their own choice, and one unit of budget left',
    room: 1,
    requests: [
      { idempotencyKey: 'one', keyChosen: true },
      { idempotencyKey: 'other', keyChosen: true, principal: 'bob' },
    ],
    ends: ['charged, denied', 'denied, charged'],
  },
  {
    name: 'two keys of one analyst, and one unit of the allotment left',
    room: 2,
    share: 1,
    requests: [{ idempotencyKey: 'one' }, { idempotencyKey: 'other' }],
    ends: ['charged, denied', 'denied, charged'],
  },
  {
    name: 'the same key twice',
    room: 1,
    requests: [{ idempotencyKey: 'one' }, { idempotencyKey: 'one' }],
    ends: ['charged, charged'],
  },
  {
    name: 'the same key for two questions',
    room: 2,
    requests: [
      { idempotencyKey: 'one', requestHash: 'one' },
      { idempotencyKey: 'one', requestHash: 'other' },
    ],
    ends: ['charged, key-reused', 'key-reused, charged'],
  },
  {
    name: 'a question that two analysts share',
    room: 2,
    requests: [
      { idempotencyKey: 'one', sharing: true },
      { idempotencyKey: 'one', sharing: true, principal: 'bob' },
    ],
    ends: ['charged, charged', 'charged, shared', 'shared, charged'],
  },
  {
    // Who is denied has no key of their own choice: they ask again, and by then there is an answer to share.
    name: 'a question that two analysts share, and one unit of budget left',
    room: 1,
    requests: [
      { idempotencyKey: 'one', sharing: true },
      { idempotencyKey: 'one', sharing: true, principal: 'bob' },
    ],
    ends: ['charged, shared', 'shared, charged'],
  },
]

interface Client {
  readonly request: ChargeRequest
  readonly script: readonly Step[]
  /** The attempts that it was given. */
  readonly attempts: number[]
  /** What it knows to be stored. */
  acknowledged?: string
  last?: ChargeOutcome
}

/** One merge of the steps of two clients, on a dataset of its own. */
interface Run {
  readonly relation: Relation
  readonly dataset: string
  readonly clients: readonly [Client, Client]
  /** Whose step is next, by place in the run. */
  readonly turns: readonly (0 | 1)[]
  readonly price: Amount
}

/** Every order in which `first` steps of one and `second` steps of another can follow each other. */
function merges(first: number, second: number): readonly (0 | 1)[][] {
  if (first === 0 || second === 0) return [[...Array<0>(first).fill(0), ...Array<1>(second).fill(1)]]
  return [
    ...merges(first - 1, second).map((rest): (0 | 1)[] => [0, ...rest]),
    ...merges(first, second - 1).map((rest): (0 | 1)[] => [1, ...rest]),
  ]
}

const TURN_MS = 10
const LONG_MS = 1_000_000

/** The price of which a cap of (1, 1e-6) holds `room`. */
function priceFor(accounting: Accounting, room: number): Amount {
  const cap = amountBoughtBy(accounting, loss('1', '0.000001'))
  return cap.accounting === 'zcdp'
    ? { accounting: 'zcdp', rhoPico: rhoPico(cap.rhoPico / BigInt(room)) }
    : { ...cap, epsilonNano: epsilonNano(cap.epsilonNano / BigInt(room)), deltaAtto: loss('0').deltaAtto }
}

function allRuns(relation: Relation, accounting: Accounting): readonly Run[] {
  const price = priceFor(accounting, relation.room)
  return SCRIPTS.flatMap((one, oneIndex) =>
    SCRIPTS.flatMap((other, otherIndex) =>
      merges(one.length, other.length).map((turns, index): Run => {
        const name = `${relation.name} ${accounting} ${oneIndex} ${otherIndex} ${index}`
        const client = (place: 0 | 1, script: readonly Step[]): Client => {
          const changes = relation.requests[place]
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
        return { relation, dataset: name, turns, price, clients: [client(0, one), client(1, other)] }
      }),
    ),
  )
}

async function prepare(ledger: Ledger, { relation, dataset, clients, price }: Run): Promise<void> {
  const { accounting } = price
  await ledger.openBudget(
    dataset,
    { accounting, neighbours: 'add-remove', granted: loss('1', '0.000001') },
    'carol',
  )
  if (relation.share === undefined) return
  // Under basic counting only: what buys half of a cap in rho is no round figure.
  const granted = loss('0.5')
  await ledger.allot({
    dataset,
    analyst: clients[0].request.principal,
    granted,
    principal: 'carol',
    reason: 'half',
  })
}

/** The place in the client's script, and the turns from then on until it does what follows. */
function turnOf(
  { clients, turns }: Run,
  turn: number,
): { client: Client; step: Step; turnsToLapse: number } | undefined {
  const whose = turns[turn]
  if (whose === undefined) return undefined
  const client = clients[whose]
  const place = turns.slice(0, turn).filter((each) => each === whose).length
  const step = client.script[place]
  if (step === undefined) throw new Error('a turn without a step')
  // Where a lapse comes next, the lease ends just then.
  const next = turns.findIndex((each, index) => index > turn && each === whose)
  return { client, step, turnsToLapse: client.script[place + 1] === 'lapse' ? next - turn : 0 }
}

async function take(ledger: Ledger, client: Client, step: Step, leaseMs: number): Promise<void> {
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
      if (latest !== undefined) await ledger.recordFailure(id, latest)
      return
    case 'lapse':
      return
  }
}

/** What can be said of any run once it is over, whatever the order was. Returns how both clients ended. */
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
  const ends = clients.map(({ request, last, acknowledged }) => {
    const id = chargeId(request.principal, request.idempotencyKey)
    if (last?.kind === 'denied' || last?.kind === 'key-reused') return last.kind
    if (last?.kind !== 'answered') throw new Error(`a client ends with ${last?.kind}`)
    expect(count(debits, id)).toBe(1)
    expect(count(answers, id)).toBe(1)
    expect(sha256(last.answer)).toBe(answers.find(({ chargeId: of }) => of === id)?.answerHash)
    if (acknowledged !== undefined) expect(last.answer).toBe(acknowledged)
    return debits.find(({ chargeId: of }) => of === id)?.kind
  })
  const ids = new Set(clients.map(({ request }) => chargeId(request.principal, request.idempotencyKey)))
  expect(debits.length).toBe(debits.filter(({ chargeId: id = '' }) => ids.has(id)).length)
  for (const id of ids) expect(count(debits, id)).toBeLessThanOrEqual(1)
  return ends.join(', ')
}

/**
 * Take the runs' turns side by side: in each run calls follow each other in the order of its turns, each durable before
 * the next is asked, and what all runs ask at a turn is asked together.
 */
async function takeTurns({ ledger, clock }: SharedFixture, runs: readonly Run[]): Promise<void> {
  const last = Math.max(...runs.map(({ turns }) => turns.length))
  for (let turn = 0; turn < last; turn += 1) {
    await Promise.all(
      runs.map(async (each) => {
        const next = turnOf(each, turn)
        if (next === undefined) return
        const leaseMs = next.turnsToLapse > 0 ? next.turnsToLapse * TURN_MS : LONG_MS
        await take(ledger, next.client, next.step, leaseMs)
      }),
    )
    clock.ms += TURN_MS
  }
  // Everybody comes back until they know, one after the other.
  for (const whose of [0, 1, 0] as const) {
    clock.ms += LONG_MS
    await Promise.all(
      runs.map(async ({ clients }) => {
        const client = clients[whose]
        const open = () => client.last?.kind === 'charged' || client.last?.kind === 'shared'
        await take(ledger, client, 'charge', LONG_MS)
        if (open()) {
          await take(ledger, client, 'answer', LONG_MS)
          await take(ledger, client, 'charge', LONG_MS)
        }
      }),
    )
  }
}

/** Where the amounts come in; on PostgreSQL, which takes longer, once. */
function isCountedInRho({ share, room, requests }: Relation, { name }: StoreUnderTest): boolean {
  return share === undefined && (name === 'SQLite' || (room === 1 && requests[0].sharing === true))
}

/**
 * On SQLite all of them. What one call does is decided alike on PostgreSQL, where it takes longer: samples, but in a
 * long run. How the statements of two replicas interleave there is tested by itself, in every order.
 */
function everyNth({ name }: StoreUnderTest): number {
  return name === 'SQLite' || isLongRun ? 1 : 7
}

describeEachStore('every interleaving of two clients', (store) => {
  const accountings = ['basic', 'zcdp'] as const
  const cases = RELATIONS.flatMap((relation) =>
    accountings
      .filter((accounting) => accounting === 'basic' || isCountedInRho(relation, store))
      .map((accounting) => ({ relation, accounting, name: relation.name })),
  )

  it.each(cases)('$name, in $accounting', async ({ relation, accounting }) => {
    const counts = roundCounter(`interleavings on ${store.name}: ${relation.name}, ${accounting}`)
    const place = await store.openFixture()
    const all = allRuns(relation, accounting)
    // Of scripts of m and n steps there are (m + n)! / (m! n!) merges.
    expect(all).toHaveLength(6 + 2 * 15 + 2 * 21 + 70 + 2 * 126 + 252)
    const runs = all.filter((_, place) => place % everyNth(store) === 0)
    await Promise.all(runs.map((each) => prepare(place.ledger, each)))
    await takeTurns(place, runs)
    const ends = await Promise.all(runs.map((each) => expectInvariants(place.ledger, each)))
    counts.add({ interleavings: runs.length })
    expect([...new Set(ends)].sort()).toEqual(relation.ends)
  })
})
