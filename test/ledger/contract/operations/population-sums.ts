import fc from 'fast-check'
import { expect } from 'vitest'
import { populationAccount } from '../../../../src/ledger/contract/budgets.ts'
import type { ChargeOutcome, ChargeRequest } from '../../../../src/ledger/contract/charges.ts'
import type { Ledger } from '../../../../src/ledger/ledger.ts'
import { epsilonNano, NO_LOSS, type PrivacyLoss } from '../../../../src/privacy/loss.ts'
import { entry, must } from '../../../../src/privacy/must.ts'
import { question, summed } from '../../support.ts'
import { COUNTED, type ContractTest, contractTest } from '../contract-test.ts'

/*
 * Random calls on datasets of a population, beside a model that adds integers. It uses none of the ledger's code. The ledger and
 * the model must agree on every outcome, and on what every account and every analyst has spent.
 */

const PEOPLE = populationAccount('people')
/** `lab` joins the population later. */
const DATASETS = ['visits', 'drugs', 'lab'] as const
const ANALYSTS = ['ada', 'bob', 'eve'] as const
const STEPS = 400

const { parts } = must(
  COUNTED.find(({ accounting }) => accounting === 'basic'),
  'the basic accounting',
)
const granted = (count: number): PrivacyLoss => ({
  ...NO_LOSS,
  epsilonNano: epsilonNano(BigInt(count) * 100_000_000n),
})

interface ModelAccount {
  cap: number
  spent: number
  population?: string
  readonly limits: Map<string, number>
  readonly spentBy: Map<string, number>
}

interface Model {
  readonly accounts: Map<string, ModelAccount>
  /** The analyst whose answer to a question is shared, by dataset and question. */
  readonly shared: Map<string, string>
  /** What is answered, by analyst, dataset and question. */
  readonly answered: Set<string>
}

interface Asked {
  readonly dataset: string
  readonly analyst: string
  readonly price: number
  readonly name: string
  readonly sharing: boolean
}

type Step =
  | { readonly do: 'charge'; readonly asked: readonly Asked[] }
  | { readonly do: 'grant'; readonly account: string; readonly count: number }
  | { readonly do: 'allot'; readonly account: string; readonly analyst: string; readonly count: number }
  | { readonly do: 'join' }

const account = (cap: number, population?: string): ModelAccount => ({
  ...{ cap, spent: 0, limits: new Map(), spentBy: new Map() },
  ...(population !== undefined && { population }),
})
const get = (model: Model, name: string) => must(model.accounts.get(name), 'an account')
const spentBy = (one: ModelAccount, analyst: string) => one.spentBy.get(analyst) ?? 0

/** Decides a request; a debit changes the model. */
function chargeModel(model: Model, { dataset, analyst, price, name, sharing }: Asked): string {
  const question = `${dataset} ${name}`
  if (model.answered.has(`${analyst} ${question}`)) return 'answered'
  const own = get(model, dataset)
  const accounts = own.population === undefined ? [own] : [own, get(model, own.population)]
  const isShared = sharing && ![undefined, analyst].includes(model.shared.get(question))
  for (const [place, each] of accounts.entries()) {
    if (!isShared && each.spent + price > each.cap) return ['dataset', 'population'][place] ?? ''
    if (spentBy(each, analyst) + price > (each.limits.get(analyst) ?? each.cap))
      return ['allotment', 'population-allotment'][place] ?? ''
  }
  for (const each of accounts) {
    if (!isShared) each.spent += price
    each.spentBy.set(analyst, spentBy(each, analyst) + price)
  }
  model.answered.add(`${analyst} ${question}`)
  if (sharing && !model.shared.has(question)) model.shared.set(question, analyst)
  return isShared ? 'shared' : 'charged'
}

/** Decides requests that are charged together: all, or the first that is refused. */
function chargeAllModel(model: Model, asked: readonly Asked[]): readonly string[] {
  const trial = structuredClone(model)
  for (const [place, each] of asked.entries()) {
    const outcome = chargeModel(trial, each)
    if (!['charged', 'shared', 'answered'].includes(outcome)) return [`${outcome} at ${place}`]
  }
  return asked.map((each) => chargeModel(model, each))
}

function joinModel(model: Model): string {
  const [lab, people] = [get(model, 'lab'), get(model, PEOPLE)]
  if (lab.population !== undefined) return 'joined'
  if (people.spent + lab.spent > people.cap) return 'join-refused'
  for (const analyst of ANALYSTS) {
    const sum = spentBy(people, analyst) + spentBy(lab, analyst)
    if (sum > (people.limits.get(analyst) ?? people.cap)) return 'join-refused'
  }
  lab.population = PEOPLE
  people.spent += lab.spent
  for (const analyst of ANALYSTS)
    people.spentBy.set(analyst, spentBy(people, analyst) + spentBy(lab, analyst))
  return 'joined'
}

function allotModel(model: Model, { account, analyst, count }: Extract<Step, { do: 'allot' }>): string {
  const own = get(model, account)
  if (count < spentBy(own, analyst)) return 'below-spent'
  own.limits.set(analyst, count)
  return 'allotted'
}

const requestOf = ({ dataset, analyst, price, name, sharing }: Asked): ChargeRequest =>
  question(`${dataset} ${name}`, { dataset, principal: analyst, price: parts(BigInt(price)), sharing })

/** Charges requests, and records their answers. */
async function chargeLedger(ledger: Ledger, asked: readonly Asked[]): Promise<readonly string[]> {
  const requests = asked.map(requestOf)
  const made =
    requests.length > 1
      ? await ledger.chargeAll(requests)
      : { kind: 'charged' as const, outcomes: [await ledger.charge(entry(requests, 0))] }
  if (made.kind === 'refused') return [`${kindOf(made.outcome)} at ${made.place}`]
  for (const outcome of made.outcomes)
    if ('charge' in outcome) await ledger.recordAnswer(outcome.charge.id, outcome.charge.attempt, 'answer')
  return made.outcomes.map(kindOf)
}

const kindOf = (outcome: ChargeOutcome) => (outcome.kind === 'denied' ? outcome.by : outcome.kind)

const accountName = fc.constantFrom(PEOPLE, ...DATASETS)
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      do: fc.constant('charge' as const),
      asked: fc
        .tuple(
          fc.subarray([...DATASETS], { minLength: 1 }),
          fc.constantFrom(...ANALYSTS),
          fc.integer({ min: 1, max: 3 }),
          fc.integer({ min: 0, max: 300 }),
        )
        .map(([datasets, analyst, price, number]) =>
          datasets.map((dataset) => {
            // A question that many ask has one price.
            const sharing = number < 100
            const name = sharing ? `shared ${number % 20}` : `own ${number} ${price}`
            return {
              dataset,
              analyst,
              price: sharing ? 1 + (number % 3 && number % 20 ? 1 : 0) : price,
              name,
              sharing,
            }
          }),
        ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('grant' as const),
      account: accountName,
      count: fc.integer({ min: 1, max: 8 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('allot' as const),
      account: accountName,
      analyst: fc.constantFrom(...ANALYSTS),
      count: fc.integer({ min: 1, max: 60 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'join' as const }) },
)

async function stepLedger(ledger: Ledger, step: Step): Promise<readonly string[]> {
  switch (step.do) {
    case 'charge':
      return chargeLedger(ledger, step.asked)
    case 'grant':
      await ledger.grant(step.account, granted(step.count), 'carol', 'more')
      return []
    case 'allot': {
      const { account: dataset, analyst, count } = step
      const allotment = { dataset, analyst, granted: granted(count), principal: 'carol', reason: 'a share' }
      return [(await ledger.allot(allotment)).kind]
    }
    case 'join':
      return [(await ledger.joinPopulation('lab', PEOPLE, 'carol')).kind]
  }
}

function stepModel(model: Model, step: Step): readonly string[] {
  switch (step.do) {
    case 'charge':
      return step.asked.length > 1
        ? chargeAllModel(model, step.asked)
        : step.asked.map((each) => chargeModel(model, each))
    case 'grant':
      get(model, step.account).cap += step.count
      return []
    case 'allot':
      return [allotModel(model, step)]
    case 'join':
      return [joinModel(model)]
  }
}

/** What accounts and their analysts have spent, in the ledger or in the model. */
async function spendingIn(ledger: Ledger, accounts: readonly string[]) {
  const rows = accounts.map(async (name) => {
    const analysts = ANALYSTS.map(async (each) => (await ledger.analystSpending(name, each))?.spent)
    return [name, (await ledger.budget(name))?.spent, ...(await Promise.all(analysts))]
  })
  return Promise.all(rows)
}

const spendingOf = ({ accounts }: Model) =>
  [...accounts].map(([name, each]) => [
    name,
    parts(BigInt(each.spent)),
    ...ANALYSTS.map((analyst) => parts(BigInt(spentBy(each, analyst)))),
  ])

/** Random calls on a population, against a model. */
export const POPULATION_SUMS: readonly ContractTest[] = [
  contractTest('random charges on a population are debited as integers add up', async ({ ledger }) => {
    const accounts = new Map([[PEOPLE, account(20)]])
    await ledger.openBudget(PEOPLE, summed('2'), 'carol')
    for (const dataset of DATASETS) {
      const population = dataset === 'lab' ? undefined : PEOPLE
      accounts.set(dataset, account(25, population))
      await ledger.openBudget(dataset, { ...summed('2.5'), ...(population && { population }) }, 'carol')
    }
    const model: Model = { accounts, shared: new Map(), answered: new Set() }
    const seen = new Set<string>()
    // More than the population has.
    const first = Array.from(
      { length: 21 },
      (_, place): Step => ({
        do: 'charge',
        asked: [{ dataset: 'lab', analyst: 'ada', price: 1, name: `first ${place}`, sharing: false }],
      }),
    )
    const join: Step = { do: 'join' }
    const calls: readonly Step[] = [
      ...[...first, join],
      ...fc.sample(steps, { seed: 1_850, numRuns: STEPS / 2 }),
      ...[{ do: 'grant', account: PEOPLE, count: 60 } as const, join],
      ...fc.sample(steps, { seed: 1_851, numRuns: STEPS }),
    ]
    for (const [place, step] of calls.entries()) {
      const expected = stepModel(model, step)
      expect(await stepLedger(ledger, step), `${place}: ${JSON.stringify(step)}`).toEqual(expected)
      for (const outcome of expected) seen.add(outcome)
      if (place % 20 === 0) expect(await spendingIn(ledger, [...accounts.keys()])).toEqual(spendingOf(model))
    }
    expect(await spendingIn(ledger, [...accounts.keys()])).toEqual(spendingOf(model))
    const limits = ['dataset', 'allotment', 'population', 'population-allotment']
    const refusals = limits.flatMap((limit) => [limit, `${limit} at 0`, `${limit} at 1`])
    const others = ['charged', 'shared', 'answered', 'allotted', 'below-spent', 'joined', 'join-refused']
    expect([...others, ...refusals].filter((outcome) => !seen.has(outcome))).toEqual([])
  }),
]
