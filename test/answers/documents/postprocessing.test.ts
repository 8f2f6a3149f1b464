import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { answer as answerSchema, batchAnswer } from '../../../schemas/answers/answer.ts'
import { query as querySchema } from '../../../schemas/answers/query.ts'
import { createAdmission } from '../../../src/answers/admission.ts'
import { type AnswerDependencies, answer, answerBatch } from '../../../src/answers/answer.ts'
import { postprocessRelease } from '../../../src/answers/documents/postprocessing.ts'
import { systemClock } from '../../../src/answers/release-time.ts'
import { systemEntropy } from '../../../src/core/mechanisms/samplers/entropy.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/ledger.ts'
import { deltaAtto, epsilonNano } from '../../../src/privacy/loss.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'
import { rowOf } from '../../core/planner/arbitraries.ts'
import { people } from '../../core/planner/neighbours/people.ts'
import { referenceEngine } from '../../engines/reference-engine.ts'

let directory = ''
let ledger: Ledger
/** Name of the analyst of a test, who has asked nothing before. */
let principal = ''
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'sotto-postprocessing-'))
  ledger = await openSqliteLedger({ path: path.join(directory, 'ledger.sqlite') })
  const granted = { epsilonNano: epsilonNano(1_000_000_000_000n), deltaAtto: deltaAtto(10n ** 17n) }
  await ledger.openBudget('people', { accounting: 'basic', neighbours: 'add-remove', granted }, 'custodian')
})
afterAll(async () => {
  await ledger.close()
  await rm(directory, { recursive: true })
})
let tests = 0
beforeEach(() => {
  tests += 1
  principal = `analyst-${tests}`
})

const dataset = people('add-remove')
const rows = fc.sample(rowOf(dataset), { numRuns: 40, seed: 7 })

const dependencies = (): AnswerDependencies => ({
  engine: referenceEngine(() => rows),
  ledger,
  noiseSource: systemEntropy(),
  limits: { maxCells: 1000 },
  leaseMs: 60_000,
  clock: systemClock,
  admission: createAdmission({ places: 4, turns: 16, maxWaiting: 100, maxWaitMs: 60_000 }),
})

type Wire = Readonly<Record<string, unknown>>
const AS_MEASURED = { round: false, nonNegative: false }
const ROUNDED = { round: true, nonNegative: false }
const CUT = { round: false, nonNegative: true }
const BOTH = { round: true, nonNegative: true }

/** The answer to a query with this post-processing, and whether it was a replay. */
async function ask(wire: Wire, postprocess?: typeof BOTH) {
  const query = querySchema.parse({ epsilon: 0.05, ...wire, ...(postprocess && { postprocess }) })
  const { body, replayed } = await answer(dependencies(), { principal, dataset, query })
  return { document: answerSchema.parse(JSON.parse(body)), replayed }
}

const SUMS: readonly Wire[] = [
  { kind: 'count' },
  { kind: 'sum', column: 'Income' },
  { kind: 'mean', column: 'Income' },
  { kind: 'variance', column: 'Age' },
  { kind: 'standardDeviation', column: 'Age' },
  { kind: 'proportion', of: { column: 'Sex', op: '=', value: 'M' } },
  { kind: 'countDistinct', column: 'Region' },
  { kind: 'histogram', column: 'Region' },
  { kind: 'contingency', columns: ['Region', 'Sex'] },
  { kind: 'topGroups', keys: ['Region'], k: 3 },
  { kind: 'mean', column: 'Visited' },
  {
    kind: 'groupBy',
    keys: ['Sex'],
    statistics: [
      { kind: 'count' },
      { kind: 'mean', column: 'Income' },
      { kind: 'mean', column: 'Visited' },
      { kind: 'median', column: 'Age' },
    ],
  },
  { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'mean', column: 'Age' }] },
]
const MAY_BE_NEGATIVE: readonly Wire[] = [
  { kind: 'sum', column: 'Balance' },
  { kind: 'covariance', columns: ['Age', 'Balance'] },
  { kind: 'correlation', columns: ['Age', 'Balance'] },
  { kind: 'linearRegression', outcome: 'Age', predictors: ['Balance', 'Income'] },
]
const OTHERS: readonly Wire[] = [
  { kind: 'median', column: 'Age' },
  { kind: 'percentile', column: 'Age', p: [25, 75] },
  { kind: 'noisyMax', candidates: { column: 'Sex' } },
  { kind: 'keySelection', column: 'Note', delta: 1e-6 },
  { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'median', column: 'Age' }] },
]

/** A document without what it cost. */
function withoutCost(document: object): object {
  const { cost: _, price: __, ...others } = document as Wire
  return others
}

/** Every number below `value`, in the order of the document. */
function valuesIn(result: unknown): unknown[] {
  if (typeof result !== 'object' || result === null) return []
  return Object.entries(result).flatMap(([name, member]) =>
    name === 'value' ? [member] : name === 'key' ? [] : valuesIn(member),
  )
}

describe('a repeat with another post-processing is free and shows the same release', () => {
  test.each([...SUMS, ...MAY_BE_NEGATIVE])('%j', async (wire) => {
    const choices = SUMS.includes(wire) ? [AS_MEASURED, ROUNDED, CUT, BOTH] : [AS_MEASURED, ROUNDED]
    const first = await ask(wire, BOTH === choices.at(-1) ? BOTH : ROUNDED)
    expect(first.replayed).toBe(false)
    const stored = (await ledger.release(first.document.id))?.answer ?? ''
    const { document: measured } = await ask(wire)
    for (const choice of choices) {
      const { document, replayed } = await ask(wire, choice)
      expect(replayed).toBe(true)
      expect(answerSchema.parse({ ...postprocessRelease(stored, choice) })).toEqual({
        ...withoutCost(document),
        cost: first.document.cost,
      })
      expect(document.measured).toEqual(
        choice === AS_MEASURED ? undefined : { result: measured.result, accuracy: measured.accuracy },
      )
      const isQuantile = (place: number) => wire.kind === 'groupBy' && place % 4 === 3
      const expected = valuesIn(measured.result).map((value, place) => {
        if (typeof value !== 'number' || isQuantile(place)) return value
        const rounded = choice.round ? Math.round(value) : value
        return choice.nonNegative && rounded < 0 ? 0 : rounded
      })
      expect(valuesIn(document.result)).toEqual(JSON.parse(JSON.stringify(expected)))
    }
  })
})

test('rounding widens the half-width of every value but dates, and leaves that of quantiles', async () => {
  const wire = { kind: 'groupBy', keys: ['Sex'], statistics: SUMS[11]?.statistics }
  const { document: measured } = await ask(wire)
  const { document: rounded } = await ask(wire, ROUNDED)
  const widths = (result: object) =>
    JSON.stringify(result)
      .match(/"halfWidth":[\d.e+-]+/g)
      ?.map((text) => Number(text.slice(12)))
  const before = widths(measured.result) ?? []
  const after = widths(rounded.result) ?? []
  expect(before.length).toBe(8)
  before.forEach((halfWidth, place) => {
    const [count, mean, date, median] = [Math.floor(halfWidth + 0.5), halfWidth + 0.5, halfWidth, halfWidth]
    expect(after[place]).toBe([count, mean, date, median][place % 4])
  })
})

describe('what cannot be post-processed is refused', () => {
  const refusalOf = async (wire: Wire, asked: typeof BOTH) => {
    const { document } = await ask(wire)
    try {
      return postprocessRelease(JSON.stringify(document), asked)
    } catch (error) {
      if (error instanceof Refusal) return error.errors.map(({ field }) => field)
      throw error
    }
  }

  test.each(OTHERS)('values that are not made from sums and counts: %j', async (wire) => {
    expect(await refusalOf(wire, ROUNDED)).toEqual(['round'])
    expect(await refusalOf(wire, CUT)).toEqual(['nonNegative'])
  })

  test.each(MAY_BE_NEGATIVE)('values that may be negative: %j', async (wire) => {
    expect(await refusalOf(wire, BOTH)).toEqual(['nonNegative'])
  })
})

test('a batch: the answers made from sums and counts are post-processed', async () => {
  const asked = (postprocess?: object) =>
    [
      { kind: 'count', ...(postprocess === undefined ? {} : { postprocess }) },
      { kind: 'median', column: 'Age' },
      { kind: 'mean', column: 'Income', ...(postprocess === undefined ? {} : { postprocess }) },
    ].map((wire) => querySchema.parse({ epsilon: 0.1, ...wire }))
  const send = async (postprocess?: object) => {
    const { body, replayed } = await answerBatch(dependencies(), {
      principal,
      dataset,
      queries: asked(postprocess),
    })
    return { document: batchAnswer.parse(JSON.parse(body)), replayed }
  }
  const { document: measured } = await send()
  const { document: both, replayed } = await send(BOTH)
  expect(replayed).toBe(true)
  expect(both.answers[1]).toEqual(measured.answers[1])
  expect(both.answers[2]?.measured).toMatchObject({ result: measured.answers[2]?.result })
  const stored = (await ledger.release(measured.id))?.answer ?? ''
  expect(postprocessRelease(stored, BOTH)).toMatchObject({ answers: both.answers })
  const negative = {
    ...measured,
    answers: measured.answers.map((each) => ({ ...each, domain: each.domain && { value: {} } })),
  }
  expect(() => postprocessRelease(JSON.stringify(negative), CUT)).toThrow(/answer 0 of the batch/)
})

test('a percentile alone and in a list are one release, shown as asked', async () => {
  const { document: alone } = await ask({ kind: 'percentile', column: 'Age', p: 25 })
  const { document: listed, replayed } = await ask({ kind: 'percentile', column: 'Age', p: [25] })
  expect(replayed).toBe(true)
  const { value } = alone.result as { readonly value: number }
  expect(listed.result).toEqual({ percentiles: [{ p: 25, value }] })
  expect((await ask({ kind: 'percentile', column: 'Age', p: 25 })).document.result).toEqual({ value })
})

test('another spelling of a query replays its release', async () => {
  const between = { column: 'Age', op: 'between', lower: 18, upper: 65 }
  const compared = {
    op: 'and',
    predicates: [
      { column: 'Age', op: '<', value: 66 },
      { op: 'not', predicate: { column: 'Age', op: '<', value: 18 } },
    ],
  }
  const { document } = await ask({ kind: 'count', where: between })
  const other = await ask({ kind: 'count', where: compared, of: 'rows', mechanism: 'geometric', delta: 1e-9 })
  expect(other.replayed).toBe(true)
  expect(other.document).toMatchObject({ id: document.id, result: document.result, cost: { epsilon: 0 } })
  expect((await ask({ kind: 'count', where: { ...between, upper: 66 } })).replayed).toBe(false)
})
