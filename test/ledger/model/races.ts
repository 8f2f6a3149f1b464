import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { chargeId } from '../../../src/ledger/canonical.ts'
import { populationAccount } from '../../../src/ledger/contract/budgets.ts'
import type { ChargeRequest } from '../../../src/ledger/contract/charges.ts'
import type { SessionAnswer } from '../../../src/ledger/contract/sessions.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openPostgresLedger, type PostgresLedgerOptions } from '../../../src/ledger/postgres/ledger.ts'
import { verifyLedger } from '../../../src/ledger/verification.ts'
import { coversAmount } from '../../../src/privacy/accounting.ts'
import { FIRST_MS } from '../fixture.ts'
import { loss, question, summed } from '../support.ts'

type Step = Parameters<NonNullable<PostgresLedgerOptions['onStep']>>[0]

/** A ledger whose transactions pause after each statement until they are resumed. */
export interface Replica {
  readonly ledger: Ledger
  /** The step after which it has paused. */
  pausedAt(): Step | undefined
  resume(): void
  /** If false, transactions do not pause. */
  pausing: boolean
}

/** Two concurrent operations of two replicas on a new dataset, and every possible pair of results. */
export interface Race {
  readonly name: string
  prepare?(setting: Setting): Promise<void>
  readonly sides: readonly [Side, Side]
  readonly outcomes: readonly string[]
}

interface Setting {
  readonly ledger: Ledger
  readonly clock: { ms: number }
  readonly dataset: string
  /** A request on the dataset, with a key of this run. */
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

async function openedTogether({ ledger, dataset }: Setting): Promise<void> {
  const population = populationAccount(dataset)
  await ledger.openBudget(population, summed('0.1'), 'carol')
  for (const each of ['one', 'other'])
    await ledger.openBudget(`${dataset} ${each}`, { ...summed('1'), population }, 'carol')
}

export const RACES: readonly Race[] = [
  {
    name: 'a budget is opened twice',
    sides: [
      async ({ ledger, dataset }) => (await ledger.openBudget(dataset, summed('1'), 'carol')).kind,
      async ({ ledger, dataset }) => (await ledger.openBudget(dataset, summed('2'), 'carol')).kind,
    ],
    outcomes: ['exists, opened', 'opened, exists'],
  },
  {
    name: 'one key is charged twice',
    prepare: open('1'),
    sides: [charge('ada'), charge('ada')],
    outcomes: ['charged, in-flight', 'in-flight, charged'],
  },
  {
    name: 'one key is charged for two questions',
    prepare: open('1'),
    sides: [charge('ada'), charge('ada', { requestHash: 'another' })],
    outcomes: ['charged, key-reused', 'key-reused, charged'],
  },
  {
    name: 'two keys are charged, and one unit of budget is left',
    prepare: open('0.1'),
    sides: [charge('ada'), charge('bob')],
    outcomes: ['charged, denied', 'denied, charged'],
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
    outcomes: ['charged, denied', 'denied, charged'],
  },
  {
    name: 'a question is answered while another analyst asks it',
    async prepare(setting) {
      await open('1')(setting)
      await charge('ada', sharing)(setting)
    },
    sides: [answer('ada'), charge('bob', sharing)],
    outcomes: ['true, charged', 'true, shared'],
  },
  {
    name: 'a question is answered twice, for two analysts who share',
    async prepare(setting) {
      await open('1')(setting)
      for (const principal of ['ada', 'bob']) await charge(principal, sharing)(setting)
    },
    sides: [answer('ada'), answer('bob')],
    outcomes: ['true, true'],
  },
  {
    name: 'an attempt is answered while another takes the charge over',
    prepare: chargedWithALeaseThatRanOut,
    sides: [answer('ada'), charge('ada')],
    outcomes: ['false, charged', 'true, answered'],
  },
  {
    name: 'a charge whose lease ran out is taken over twice',
    prepare: chargedWithALeaseThatRanOut,
    sides: [charge('ada'), charge('ada')],
    outcomes: ['charged, in-flight', 'in-flight, charged'],
  },
  {
    name: 'an attempt fails while the question is asked again',
    prepare: chargedForAda,
    sides: [({ ledger, id }) => ledger.recordFailure(id('ada'), 1), charge('ada')],
    outcomes: ['undefined, charged', 'undefined, in-flight'],
  },
  {
    name: 'one attempt is answered twice',
    prepare: chargedForAda,
    sides: [answer('ada'), answer('ada')],
    outcomes: ['false, true', 'true, false'],
  },
  {
    name: 'a grant is made while a question that needs it is asked',
    prepare: open('0.05'),
    sides: [
      async ({ ledger, dataset }) =>
        (await ledger.grant(dataset, loss('0.05'), 'carol', 'more')) !== undefined,
      charge('ada'),
    ],
    outcomes: ['true, charged', 'true, denied'],
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
    outcomes: ['allotted, denied', 'below-spent, charged'],
  },
  {
    name: 'two questions of a session compete for its last positive',
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
    outcomes: ['false, true', 'true, false'],
  },
  {
    name: 'two datasets are charged together, in either order, with one unit of each left',
    prepare: openedBoth,
    sides: [chargeBoth(['one', 'other']), chargeBoth(['other', 'one'])],
    outcomes: ['charged charged, denied denied', 'denied denied, charged charged'],
  },
  {
    name: 'two datasets are charged, each by one',
    prepare: openedBoth,
    sides: [
      ({ ledger, asked, dataset }) => kindOf(ledger, asked('ada', { dataset: `${dataset} one` })),
      ({ ledger, asked, dataset }) => kindOf(ledger, asked('bob', { dataset: `${dataset} other` })),
    ],
    outcomes: ['charged, charged'],
  },
  {
    name: 'two datasets of one population are charged, each by one, and one unit of it is left',
    prepare: openedTogether,
    sides: [
      ({ ledger, asked, dataset }) => kindOf(ledger, asked('ada', { dataset: `${dataset} one` })),
      ({ ledger, asked, dataset }) => kindOf(ledger, asked('bob', { dataset: `${dataset} other` })),
    ],
    outcomes: ['charged, denied', 'denied, charged'],
  },
  {
    name: 'a dataset joins a population, with no unit left, while it is charged',
    async prepare(setting) {
      await setting.ledger.openBudget(populationAccount(setting.dataset), summed('0.05'), 'carol')
      await open('1')(setting)
    },
    sides: [
      async ({ ledger, dataset }) =>
        (await ledger.joinPopulation(dataset, populationAccount(dataset), 'carol')).kind,
      charge('ada'),
    ],
    outcomes: ['join-refused, charged', 'joined, denied'],
  },
]

async function kindOf(ledger: Ledger, request: ChargeRequest): Promise<string> {
  return (await ledger.charge(request)).kind
}

/** Charges both datasets in one batch, and therefore in one transaction. */
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
  let paused: { step: Step; resume: () => void } | undefined
  const ledger = await open({
    url,
    now,
    onStep: (step) =>
      replica.pausing
        ? new Promise((resume) => {
            paused = { step, resume }
          })
        : Promise.resolve(),
  })
  const replica: Replica = {
    ledger,
    pausing: false,
    pausedAt: () => paused?.step,
    resume() {
      const { resume } = paused ?? {}
      paused = undefined
      resume?.()
    },
  }
  return replica
}

/** Chooses one of several options. A repeated run makes the same choices up to its last one, which is the next. */
type Choose = (options: number) => number

/** Repeats a run with every sequence of choices. Returns the number of runs. */
async function forEveryChoice(run: (choose: Choose) => Promise<void>): Promise<number> {
  let ways = 0
  let prefix: readonly number[] = []
  for (;;) {
    const choices: { chosen: number; options: number }[] = []
    await run((options) => {
      const chosen = prefix[choices.length] ?? 0
      choices.push({ chosen, options })
      return chosen
    })
    ways += 1
    while (choices.length > 0 && choices.at(-1)?.chosen === (choices.at(-1)?.options ?? 0) - 1) choices.pop()
    const last = choices.pop()
    if (last === undefined) return ways
    prefix = [...choices.map(({ chosen }) => chosen), last.chosen + 1]
  }
}

/** Opens a ledger, like {@link openPostgresLedger}; mutants replace it. */
export type OpenLedger = (options: PostgresLedgerOptions) => Promise<Ledger>

/** Runs races between two replicas on one database, in every order of their statements. */
export interface RaceRunner {
  /** A third replica, which never pauses. */
  readonly observer: Ledger
  readonly replicas: readonly [Replica, Replica]
  /**
   * Runs a race in every order of the statements.
   * @returns the distinct outcomes and the number of orders
   * @throws Error if an operation fails, a chain is broken or a cap is exceeded
   */
  outcomesOf(race: Race): Promise<{ readonly outcomes: readonly string[]; readonly orders: number }>
  close(): Promise<void>
}

/** Opens the ledger three times in the database at `url`. */
export async function openRaceRunner(
  url: string,
  open: OpenLedger = openPostgresLedger,
): Promise<RaceRunner> {
  const clock = { ms: FIRST_MS }
  const now = () => clock.ms
  const observer = await open({ url, now })
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

  async function runRace(race: Race, choose: Choose): Promise<string> {
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
    await race.prepare?.(settingOf(observer))
    const done = [false, false]
    const results = replicas.map(async (replica, index) => {
      replica.pausing = true
      try {
        return String(await race.sides[index]?.(settingOf(replica.ledger)))
      } finally {
        done[index] = true
      }
    })
    // Rejections are handled below, once both have ended.
    for (const result of results) result.catch(() => undefined)
    const halted = (index: number) => done[index] || replicas[index]?.pausedAt() !== undefined

    // Waits until each replica has paused, has ended, or waits for a lock of the other.
    async function settle(): Promise<void> {
      for (;;) {
        await sleep(0)
        const moving = [0, 1].filter((index) => !halted(index))
        if (moving.length === 0) return
        // A replica waits for a lock only if the other has paused.
        const other = replicas.some((replica) => replica.pausedAt() !== undefined)
        if (other && (await isLockWaitedFor()) && moving.every((index) => !halted(index))) return
      }
    }
    await settle()
    for (;;) {
      const able = replicas.filter((replica) => replica.pausedAt() !== undefined)
      // The order does not matter after a commit.
      const committed = able.find((replica) => replica.pausedAt() === 'committed')
      const next = committed ?? able[able.length > 1 ? choose(able.length) : 0]
      if (next === undefined) break
      next.resume()
      await settle()
    }
    for (const replica of replicas) replica.pausing = false
    const outcomes = (await Promise.all(results)).join(', ')
    for (const { dataset: each } of await observer.heads()) {
      const isOfRun =
        each === dataset || each === populationAccount(dataset) || each.startsWith(`${dataset} `)
      if (!isOfRun) continue
      const found = await verifyLedger(observer, each)
      if (found?.kind !== 'sound')
        throw new Error(`${outcomes}: the chain of ${each} is broken: ${found?.reason}`)
      const { cap, spent } = found.budget
      if (!coversAmount(cap, spent)) throw new Error(`${outcomes}: the cap of ${each} is exceeded`)
    }
    return outcomes
  }

  return {
    observer,
    replicas,
    async outcomesOf(race) {
      const outcomes = new Set<string>()
      const orders = await forEveryChoice(async (choose) => {
        outcomes.add(await runRace(race, choose))
      })
      return { outcomes: [...outcomes].sort(), orders }
    },
    async close() {
      await Promise.all([observer.close(), ...replicas.map(({ ledger }) => ledger.close())])
      await watcher.end()
    },
  }
}
