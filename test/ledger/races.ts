import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { chargeId } from '../../src/ledger/canonical.ts'
import type { ChargeRequest, Ledger, SessionAnswer } from '../../src/ledger/ledger.ts'
import { openPostgresLedger, type PostgresLedgerOptions } from '../../src/ledger/postgres/ledger.ts'
import { verifyLedger } from '../../src/ledger/verification.ts'
import { coversAmount } from '../../src/privacy/accounting.ts'
import { FIRST_MS } from './places.ts'
import { loss, question, summed } from './support.ts'

type Step = Parameters<NonNullable<PostgresLedgerOptions['onStep']>>[0]

/** A process that has the ledger open, and whose transactions stop after each statement until they are let on. */
export interface Replica {
  readonly ledger: Ledger
  /** Where it has stopped. */
  stoppedAt(): Step | undefined
  letOn(): void
  /** While it is not, nothing stops. */
  stopping: boolean
}

/** What two replicas are asked at once, on a dataset of its own, and every pair of results that may come of it. */
export interface Race {
  readonly name: string
  prepare?(setting: Setting): Promise<void>
  readonly sides: readonly [Side, Side]
  readonly ends: readonly string[]
}

interface Setting {
  readonly ledger: Ledger
  readonly clock: { ms: number }
  readonly dataset: string
  /** A question about the dataset; who asks and which key are the run's own. */
  asked(principal: string, changes?: Partial<ChargeRequest>): ChargeRequest
  id(principal: string, key?: string): string
}

type Side = (setting: Setting) => Promise<unknown>

const open =
  (epsilon: string) =>
  async ({ ledger, dataset }: Setting) => {
    await ledger.openBudget(dataset, summed(epsilon), 'carol')
  }
const charge =
  (principal: string, changes: Partial<ChargeRequest> = {}): Side =>
  async ({ ledger, asked }) =>
    (await ledger.charge(asked(principal, changes))).kind
const answer =
  (principal: string, attempt = 1): Side =>
  ({ ledger, id }) =>
    ledger.recordAnswer(id(principal), attempt, `the answer for ${principal}`)
const own = { idempotencyKey: 'of her own', requestHash: 'another' }
const sharing = { sharing: true }

async function chargedForAda(setting: Setting): Promise<void> {
  await open('1')(setting)
  await charge('ada')(setting)
}

async function chargedWithALeaseThatRanOut(setting: Setting): Promise<void> {
  await open('1')(setting)
  await charge('ada', { leaseMs: 10 })(setting)
  setting.clock.ms += 10
}

async function openedBoth({ ledger, dataset }: Setting): Promise<void> {
  for (const each of ['one', 'other']) await ledger.openBudget(`${dataset} ${each}`, summed('0.1'), 'carol')
}

export const RACES: readonly Race[] = [
  {
    name: 'a budget is opened twice',
    sides: [
      async ({ ledger, dataset }) => (await ledger.openBudget(dataset, summed('1'), 'carol')).kind,
      async ({ ledger, dataset }) => (await ledger.openBudget(dataset, summed('2'), 'carol')).kind,
    ],
    ends: ['exists, opened', 'opened, exists'],
  },
  {
    name: 'one key is charged twice',
    prepare: open('1'),
    sides: [charge('ada'), charge('ada')],
    ends: ['charged, in-flight', 'in-flight, charged'],
  },
  {
    name: 'one key is charged for two questions',
    prepare: open('1'),
    sides: [charge('ada'), charge('ada', { requestHash: 'another' })],
    ends: ['charged, key-reused', 'key-reused, charged'],
  },
  {
    name: 'two keys are charged, and one unit of budget is left',
    prepare: open('0.1'),
    sides: [charge('ada'), charge('bob')],
    ends: ['charged, denied', 'denied, charged'],
  },
  {
    name: 'two keys of one analyst are charged, and one unit of the allotment is left',
    async prepare(setting) {
      await open('1')(setting)
      const { ledger, dataset, asked } = setting
      const analyst = asked('ada').principal
      await ledger.allot({ dataset, analyst, granted: loss('0.1'), principal: 'carol', reason: 'a share' })
    },
    sides: [charge('ada'), charge('ada', own)],
    ends: ['charged, denied', 'denied, charged'],
  },
  {
    name: 'a question is answered while another analyst asks it',
    async prepare(setting) {
      await open('1')(setting)
      await charge('ada', sharing)(setting)
    },
    sides: [answer('ada'), charge('bob', sharing)],
    ends: ['true, charged', 'true, shared'],
  },
  {
    name: 'a question is answered twice, for two analysts who share',
    async prepare(setting) {
      await open('1')(setting)
      for (const principal of ['ada', 'bob']) await charge(principal, sharing)(setting)
    },
    sides: [answer('ada'), answer('bob')],
    ends: ['true, true'],
  },
  {
    name: 'an attempt is answered while another takes the charge over',
    prepare: chargedWithALeaseThatRanOut,
    sides: [answer('ada'), charge('ada')],
    ends: ['false, charged', 'true, answered'],
  },
  {
    name: 'a charge whose lease ran out is taken over twice',
    prepare: chargedWithALeaseThatRanOut,
    sides: [charge('ada'), charge('ada')],
    ends: ['charged, in-flight', 'in-flight, charged'],
  },
  {
    name: 'an attempt fails while the question is asked again',
    prepare: chargedForAda,
    sides: [({ ledger, id }) => ledger.recordFailure(id('ada'), 1), charge('ada')],
    ends: ['undefined, charged', 'undefined, in-flight'],
  },
  {
    name: 'one attempt is answered twice',
    prepare: chargedForAda,
    sides: [answer('ada'), answer('ada')],
    ends: ['false, true', 'true, false'],
  },
  {
    name: 'a grant comes while a question is asked that takes it',
    prepare: open('0.05'),
    sides: [
      async ({ ledger, dataset }) =>
        (await ledger.grant(dataset, loss('0.05'), 'carol', 'more')) !== undefined,
      charge('ada'),
    ],
    ends: ['true, charged', 'true, denied'],
  },
  {
    name: 'an allotment is set while its analyst spends more',
    prepare: open('1'),
    sides: [
      async ({ ledger, dataset, asked }) => {
        const analyst = asked('ada').principal
        const share = { dataset, analyst, granted: loss('0.05'), principal: 'carol', reason: 'a share' }
        return (await ledger.allot(share)).kind
      },
      charge('ada'),
    ],
    ends: ['allotted, denied', 'below-spent, charged'],
  },
  {
    name: 'two questions of a session go for its last positive',
    async prepare(setting) {
      await open('1')(setting)
      await charge('ada')(setting)
      const session = { positives: 1, terms: '{}', thresholdNoise: 7n }
      await setting.ledger.openSession(setting.id('ada'), 1, 'opened', session)
    },
    sides: [
      ({ ledger, id }) => ledger.recordSessionAnswer(sessionAnswer(id('ada'), 'a')),
      ({ ledger, id }) => ledger.recordSessionAnswer(sessionAnswer(id('ada'), 'b')),
    ],
    ends: ['false, true', 'true, false'],
  },
  {
    name: 'two datasets are charged together, in either order, with one unit of each left',
    prepare: openedBoth,
    sides: [chargeBoth(['one', 'other']), chargeBoth(['other', 'one'])],
    ends: ['charged charged, denied denied', 'denied denied, charged charged'],
  },
  {
    name: 'two datasets are charged, each by one',
    prepare: openedBoth,
    sides: [
      ({ ledger, asked, dataset }) => kindOf(ledger, asked('ada', { dataset: `${dataset} one` })),
      ({ ledger, asked, dataset }) => kindOf(ledger, asked('bob', { dataset: `${dataset} other` })),
    ],
    ends: ['charged, charged'],
  },
]

async function kindOf(ledger: Ledger, request: ChargeRequest): Promise<string> {
  return (await ledger.charge(request)).kind
}

/** Both in one batch, and so in one transaction. */
function chargeBoth(order: readonly string[]): Side {
  return async ({ ledger, asked, dataset }) => {
    const kinds = order.map((each) =>
      kindOf(ledger, asked('ada', { dataset: `${dataset} ${each}`, idempotencyKey: `${order} ${each}` })),
    )
    return (await Promise.all(kinds)).join(' ')
  }
}

function sessionAnswer(session: string, key: string): SessionAnswer {
  const facts = { session, idempotencyKey: key, requestHash: key, request: '{}', answer: key }
  return { ...facts, question: 1, above: true }
}

async function openReplica(open: OpenLedger, url: string, now: () => number): Promise<Replica> {
  let stopped: { step: Step; letOn: () => void } | undefined
  const ledger = await open({
    url,
    now,
    onStep: (step) =>
      replica.stopping
        ? new Promise((letOn) => {
            stopped = { step, letOn }
          })
        : Promise.resolve(),
  })
  const replica: Replica = {
    ledger,
    stopping: false,
    stoppedAt: () => stopped?.step,
    letOn() {
      const { letOn } = stopped ?? {}
      stopped = undefined
      letOn?.()
    },
  }
  return replica
}

/** Picks one of so many; a run that is made again picks the same until its last pick, which is the next. */
type Pick = (options: number) => number

/** Make a run with every sequence of picks there is. Returns how many there were. */
async function everyWay(run: (pick: Pick) => Promise<void>): Promise<number> {
  let ways = 0
  let prefix: readonly number[] = []
  for (;;) {
    const picks: { picked: number; options: number }[] = []
    await run((options) => {
      const picked = prefix[picks.length] ?? 0
      picks.push({ picked, options })
      return picked
    })
    ways += 1
    while (picks.length > 0 && picks.at(-1)?.picked === (picks.at(-1)?.options ?? 0) - 1) picks.pop()
    const last = picks.pop()
    if (last === undefined) return ways
    prefix = [...picks.map(({ picked }) => picked), last.picked + 1]
  }
}

/** Opens a ledger as {@link openPostgresLedger} does; a changed copy of the source may. */
export type OpenLedger = (options: PostgresLedgerOptions) => Promise<Ledger>

/** Two replicas on one database, whose statements come in every order. */
export interface Racetrack {
  /** A third one, which never stops. */
  readonly free: Ledger
  readonly replicas: readonly [Replica, Replica]
  /**
   * Runs a race in every order of the statements.
   * @returns what it came to, each end once, and in how many orders
   * @throws Error where a ledger does, where a chain is broken, or a cap passed
   */
  endsOf(race: Race): Promise<{ readonly ends: readonly string[]; readonly orders: number }>
  close(): Promise<void>
}

/** Open the ledger three times in the database at `url`. */
export async function openRacetrack(url: string, open: OpenLedger = openPostgresLedger): Promise<Racetrack> {
  const clock = { ms: FIRST_MS }
  const now = () => clock.ms
  const free = await open({ url, now })
  const replicas = [await openReplica(open, url, now), await openReplica(open, url, now)] as const
  const watcher = new Client(url)
  await watcher.connect()
  let datasets = 0

  async function isLockWaitedFor(): Promise<boolean> {
    const { rowCount } = await watcher.query({
      name: 'waits',
      text: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    })
    return rowCount !== 0
  }

  async function runRace(race: Race, pick: Pick): Promise<string> {
    datasets += 1
    const dataset = `dataset ${datasets}`
    const keyOf = (key = 'the key') => `${key} of ${dataset}`
    const settingOf = (ledger: Ledger): Setting => ({
      ledger,
      clock,
      dataset,
      asked: (principal, changes = {}) => {
        const { idempotencyKey, requestHash = 'the question' } = changes
        const key = keyOf(idempotencyKey)
        return question(key, {
          dataset,
          principal,
          leaseMs: 60_000,
          ...changes,
          requestHash,
          idempotencyKey: key,
        })
      },
      id: (principal, key) => chargeId(principal, keyOf(key)),
    })
    await race.prepare?.(settingOf(free))
    const done = [false, false]
    const results = replicas.map(async (replica, index) => {
      replica.stopping = true
      try {
        return String(await race.sides[index]?.(settingOf(replica.ledger)))
      } finally {
        done[index] = true
      }
    })
    // Heard of below, once both have ended.
    for (const result of results) result.catch(() => undefined)
    const halted = (index: number) => done[index] || replicas[index]?.stoppedAt() !== undefined

    // On until each has stopped, has ended, or waits for a lock that the other holds.
    async function settle(): Promise<void> {
      for (;;) {
        await sleep(0)
        const moving = [0, 1].filter((index) => !halted(index))
        if (moving.length === 0) return
        // Only where the other can go on: what waits for nobody is waited for.
        const other = replicas.some((replica) => replica.stoppedAt() !== undefined)
        if (other && (await isLockWaitedFor()) && moving.every((index) => !halted(index))) return
      }
    }
    await settle()
    for (;;) {
      const able = replicas.filter((replica) => replica.stoppedAt() !== undefined)
      // What a replica does once it has committed is its own matter.
      const committed = able.find((replica) => replica.stoppedAt() === 'committed')
      const next = committed ?? able[able.length > 1 ? pick(able.length) : 0]
      if (next === undefined) break
      next.letOn()
      await settle()
    }
    for (const replica of replicas) replica.stopping = false
    const ends = (await Promise.all(results)).join(', ')
    for (const each of await free.datasets()) {
      if (each !== dataset && !each.startsWith(`${dataset} `)) continue
      const found = await verifyLedger(free, each)
      if (found?.kind !== 'sound')
        throw new Error(`${ends}: the chain of ${each} is broken: ${found?.reason}`)
      const { cap, spent } = found.budget
      if (!coversAmount(cap, spent)) throw new Error(`${ends}: the cap of ${each} is passed`)
    }
    return ends
  }

  return {
    free,
    replicas,
    async endsOf(race) {
      const ends = new Set<string>()
      const orders = await everyWay(async (pick) => {
        ends.add(await runRace(race, pick))
      })
      return { ends: [...ends].sort(), orders }
    },
    async close() {
      await Promise.all([free.close(), ...replicas.map(({ ledger }) => ledger.close())])
      await watcher.end()
    },
  }
}
