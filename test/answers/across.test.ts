import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { query as querySchema } from '../../schemas/answers/query.ts'
import { answerAcross } from '../../src/answers/across.ts'
import { createAdmission } from '../../src/answers/admission.ts'
import type { Batch } from '../../src/answers/answer.ts'
import { AnswerFailure } from '../../src/answers/failure.ts'
import { declareDataset } from '../../src/core/dataset/declaration.ts'
import { type Engine, EngineFailure } from '../../src/engines/engine.ts'
import { populationAccount } from '../../src/ledger/contract/budgets.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { must } from '../../src/privacy/must.ts'
import { epsilonSpent } from '../balances.ts'
import { people, peopleDeclaration } from '../core/planner/neighbours/people.ts'
import { temporaryFolder } from '../folders.ts'
import { basic, loss, summed } from '../ledger/support.ts'
import { dependenciesOf, openPeopleLedger } from './counting.ts'

const ACCOUNT = populationAccount('residents')
const DATASETS = ['visits', 'drugs', 'stays']

/** Opens a ledger with a population of three datasets, each with as large a cap. */
async function openResidents(folder: string): Promise<Ledger> {
  const ledger = await openPeopleLedger(10n, { folder })
  await ledger.openBudget(ACCOUNT, summed('12'), 'custodian')
  for (const dataset of DATASETS)
    await ledger.openBudget(dataset, { ...summed('10'), population: ACCOUNT }, 'custodian')
  return ledger
}

const count = querySchema.parse({ kind: 'count', epsilon: 1 })
const batches = (change: Partial<Batch> = {}): readonly Batch[] =>
  DATASETS.map((id) => ({
    ...{
      principal: 'analyst',
      dataset: { ...people('add-remove'), id },
      queries: [count, count],
      plan: 'separate' as const,
    },
    ...change,
  }))
const spentOf = (ledger: Ledger) =>
  Promise.all(
    [ACCOUNT, ...DATASETS].map(async (each) => epsilonSpent(must(await ledger.budget(each), 'a budget'))),
  )

test('all datasets are debited before one is read; after a failure or a kill a repeat is answered at no cost', async () => {
  const folder = temporaryFolder()
  let ledger = await openResidents(folder)
  const read: string[] = []
  let fault: 'fails' | 'hangs' | undefined = 'fails'
  const aggregate: Engine['aggregate'] = async ({ id }) => {
    if (read.length === 0) expect(await spentOf(ledger)).toEqual([6, 2, 2, 2])
    read.push(id)
    if (id === 'drugs' && fault === 'fails') throw new EngineFailure()
    if (id === 'drugs' && fault === 'hangs') await new Promise(() => undefined)
    return [[100n]]
  }
  const leases: number[] = []
  const ask = (change: Partial<Batch> = {}) => {
    const observed: Partial<Ledger> = {
      chargeAll: (requests) => {
        leases.push(...requests.map(({ leaseMs }) => leaseMs))
        return ledger.chargeAll(requests)
      },
    }
    const asked = dependenciesOf({ ...ledger, ...observed }, aggregate)
    return answerAcross(asked, 'residents', batches(change))
  }
  // The failure of one dataset keeps no other from its answer.
  await expect(ask()).rejects.toThrow(AnswerFailure)
  expect(read).toEqual(['visits', 'visits', 'drugs', 'stays', 'stays'])
  // Each query of each dataset has its own time limit.
  expect(leases).toEqual([360_000, 360_000, 360_000])

  fault = 'hangs'
  void ask().catch(() => undefined)
  while (read.length < 6) await setTimeout(5)
  await ledger.close()
  ledger = await openResidents(folder)
  fault = undefined
  const { body, replayed } = await ask()
  expect(replayed).toBe(false)
  expect(JSON.parse(body)).toMatchObject({
    cost: { epsilon: 2, delta: 0 },
    batches: [{ dataset: 'visits', cost: { epsilon: 0 } }, { dataset: 'drugs' }, { dataset: 'stays' }],
  })
  expect((await ask()).replayed).toBe(true)
  expect(await spentOf(ledger)).toEqual([6, 2, 2, 2])
  const keyed = { idempotencyKey: 'fresh' }
  const fresh = await ask(keyed)
  expect((await ask(keyed)).replayed).toBe(true)
  expect(JSON.parse(fresh.body).batches[0].id).not.toBe(JSON.parse(body).batches[0].id)
  expect(await spentOf(ledger)).toEqual([12, 4, 4, 4])
  await ledger.close()
})

test('a denial at any level debits nothing anywhere, and names the level', async () => {
  const ledger = await openResidents(temporaryFolder())
  const never: Engine['aggregate'] = () => Promise.reject(new Error('nothing may be read'))
  const ask = (change: Partial<Batch> = {}) =>
    answerAcross(dependenciesOf(ledger, never), 'residents', batches(change))
  const allot = (dataset: string, epsilon: string) =>
    ledger.allot({
      ...{ dataset, analyst: 'analyst', principal: 'custodian', reason: 'a share' },
      granted: loss(epsilon),
    })
  await allot('stays', '1')
  await expect(ask()).rejects.toMatchObject({
    ...{ code: 'allotment-insufficient', facts: { level: 'dataset', price: { epsilon: 2 } } },
    errors: [{ field: 'batches.2.epsilon' }],
  })
  await allot('stays', '2')
  await allot(ACCOUNT, '5')
  await expect(ask()).rejects.toMatchObject({
    ...{ code: 'allotment-insufficient', errors: [{ field: 'epsilon' }] },
    facts: { level: 'population', price: { epsilon: 6 }, remaining: { epsilon: 5 } },
  })
  await expect(ask({ spending: 'never' })).rejects.toMatchObject({
    ...{ code: 'forbidden', facts: { price: { epsilon: 6 } } },
  })
  expect(await spentOf(ledger)).toEqual([0, 0, 0, 0])
  await ledger.close()
})

test('a chosen key keeps its outcome, also when a version of one dataset changes what its part costs', async () => {
  const ledger = await openResidents(temporaryFolder())
  const queries = [querySchema.parse({ kind: 'sum', column: 'Age', accuracy: { halfWidth: 500 } })]
  const declared = peopleDeclaration('add-remove')
  const ask = (version: string, upper: number) => {
    const columns = declared.columns.map((column) =>
      column.name === 'Age' && column.type === 'integer' ? { ...column, upper } : column,
    )
    const drugs = {
      ...declareDataset({ ...declared, id: 'drugs', columns }, version, 100),
      firstVersion: '1',
    }
    const asked = batches({ queries, idempotencyKey: 'k' }).map((each) =>
      each.dataset.id === 'drugs' ? { ...each, dataset: drugs } : each,
    )
    const reading: Engine['aggregate'] = async () => [[100n]]
    return answerAcross(dependenciesOf(ledger, reading), 'residents', asked)
  }
  const { body } = await ask('1', 120)
  const spent = await spentOf(ledger)
  const again = await ask('2', 150)
  expect(again.replayed).toBe(true)
  const resultsOf = (text: string) =>
    JSON.parse(text).batches.map(({ answers }: { readonly answers: readonly object[] }) => answers)
  expect(resultsOf(again.body)).toEqual(resultsOf(body))
  expect(await spentOf(ledger)).toEqual(spent)
  await ledger.close()
})

test('requests that share queues in another order do not wait for each other for ever', async () => {
  const ledger = await openResidents(temporaryFolder())
  const admission = createAdmission({ places: 1, turns: 1, maxWaiting: 100, maxWaitMs: 60_000 })
  const inTurn: Engine['aggregate'] = async () => {
    await setTimeout(2)
    return [[100n]]
  }
  const timings = ['off', { slotMs: 20 }, { slotMs: 30 }] as const
  const timed = (idempotencyKey: string) =>
    batches({ idempotencyKey, queries: [querySchema.parse({ kind: 'count', epsilon: 0.5 })] }).map(
      (each, place) => ({
        ...each,
        dataset: { ...each.dataset, timing: timings[place] ?? 'off' },
      }),
    )
  const asked = dependenciesOf(ledger, inTurn, { admission })
  const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((key, place) =>
    answerAcross(asked, 'residents', place % 2 === 0 ? timed(key) : timed(key).toReversed()),
  )
  expect((await Promise.all(all)).map(({ replayed }) => replayed)).not.toContain(true)
  expect(await ledger.budget(ACCOUNT)).toMatchObject({ spent: basic('9') })
  expect(admission.counts()).toEqual({ running: 0, waiting: 0 })
  await ledger.close()
})
