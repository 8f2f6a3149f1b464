import { setImmediate } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { query as querySchema } from '../../schemas/answers/query.ts'
import { planAside } from '../../src/answers/planning.ts'
import { preview, previewBatch } from '../../src/answers/preview.ts'
import { release } from '../../src/answers/release.ts'
import { openAnswerPool } from '../../src/answers/threads/pool.ts'
import { systemEntropy } from '../../src/core/mechanisms/samplers/entropy.ts'
import { planQueries } from '../../src/core/planner/batch.ts'
import { plan } from '../../src/core/planner/plan.ts'
import type { Plan } from '../../src/core/planner/plans/plan-kinds.ts'
import type { Engine } from '../../src/engines/engine.ts'
import type { ListedRelease } from '../../src/ledger/contract/releases.ts'
import { noAmount } from '../../src/privacy/accounting.ts'
import { NO_LOSS } from '../../src/privacy/loss.ts'
import { must } from '../../src/privacy/must.ts'
import { nothingPaid, untouched } from '../balances.ts'
import { people } from '../core/planner/neighbours/people.ts'
import { planFor } from '../core/planner/planned.ts'

/* Long work on the event loop yields to other requests. Turns of the loop are counted, so that no test measures time. */

/** Counts the turns of the event loop during a task. */
async function turnsDuring(task: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isDone = false
  const counting = (async () => {
    while (!isDone) {
      await setImmediate()
      turns += 1
    }
  })()
  await task()
  isDone = true
  await counting
  return turns
}

const dataset = people('add-remove')
const limits = { maxCells: 10_000 }
const counts = Array.from({ length: 100 }, () => querySchema.parse({ kind: 'count', epsilon: 0.1 }))

test('planning a batch yields between two queries', async () => {
  expect(await turnsDuring(() => planQueries(counts, dataset, limits))).toBeGreaterThanOrEqual(99)
})

test('previews of batches in a loop do not hold up other requests', async () => {
  const spent = noAmount('basic')
  const balances = {
    budget: { granted: NO_LOSS, cap: spent, spent },
    analyst: { principal: 'ada', spent, spentOnShared: spent },
  }
  const batch = () =>
    previewBatch(
      { principal: 'ada', dataset, queries: counts },
      { engine: {} as Engine, limits, ...nothingPaid },
      balances,
    )
  expect(await turnsDuring(batch)).toBeGreaterThanOrEqual(199)
  // Those of one principal take turns.
  expect(await turnsDuring(() => Promise.all([batch(), batch()]))).toBeGreaterThanOrEqual(390)
})

test('a choice among many values yields after each pass over them', async () => {
  const planned = plan(querySchema.parse({ kind: 'median', column: 'Age', epsilon: 1 }), dataset, limits)
  const values = { indexes: new Float64Array([20, 30]), counts: new Float64Array([5, 5]) }
  const engine = { countIndexes: async () => values } as unknown as Engine
  expect(await turnsDuring(() => release(planned, engine, systemEntropy()))).toBeGreaterThanOrEqual(2)
})

describe('in a thread', () => {
  const answerPool = openAnswerPool()
  afterAll(() => answerPool.close())

  test('the many tables of some columns are planned', async () => {
    const column = dataset.columns.find(({ name }) => name === 'Sex')
    const columns = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'].map((name) => ({ ...must(column, 'Sex'), name }))
    const wide = { ...dataset, columns }
    const query = querySchema.parse({
      kind: 'marginals',
      columns: columns.map(({ name }) => name),
      ways: 3,
      epsilon: 1,
    })
    let planned: Plan | undefined
    const turns = await turnsDuring(async () => {
      planned = await planAside(query, wide, { limits, answerPool }, {})
    })
    expect(turns).toBeGreaterThanOrEqual(100)
    expect(planned).toEqual(plan(query, wide, limits))
  })

  test('what follows from many paid releases is found out', async () => {
    const releases = Array.from({ length: 60 }, (_, place) => paidHistogram(`${place}`))
    const ledger = { ...nothingPaid.ledger, releases: async () => ({ releases }) }
    const query = querySchema.parse({ kind: 'count', epsilon: 1 })
    const asked = (pool: object) =>
      preview(
        { principal: 'ada', dataset, query },
        { engine: {} as Engine, limits, ledger, ...pool },
        untouched(),
      )
    let previewed: object | undefined
    const turns = await turnsDuring(async () => {
      previewed = await asked({ answerPool })
    })
    expect(turns).toBeGreaterThanOrEqual(20)
    expect(previewed).toMatchObject({ offers: { free: { result: { value: 3 } } } })
    expect(previewed).toEqual(await asked({}))
  })
})

/** A stored histogram of one row in each bin. */
function paidHistogram(id: string): ListedRelease {
  const query = { kind: 'histogram', column: { column: 'Age', edges: [0, 40, 80, 120] }, epsilon: 1 }
  const planned = planFor('additive', plan(querySchema.parse(query), dataset, limits))
  const integers = planned.measurements.map(({ fractionBits }) =>
    [1, 1, 1].map((each) => String(each * 2 ** fractionBits)),
  )
  return {
    id,
    answer: JSON.stringify({ measurement: `m${id}`, integers }),
    request: JSON.stringify({ query }),
    datasetVersion: dataset.version,
  } as unknown as ListedRelease
}
