import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { answer as answerSchema, preview as previewSchema } from '../../../schemas/answers/answer.ts'
import { QUERY_KINDS, query as querySchema } from '../../../schemas/answers/query.ts'
import { createAdmission } from '../../../src/answers/admission.ts'
import { answer } from '../../../src/answers/answer.ts'
import { preview } from '../../../src/answers/preview.ts'
import { systemClock } from '../../../src/answers/release-time.ts'
import { systemEntropy } from '../../../src/core/mechanisms/samplers/entropy.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { deltaAtto, epsilonNano, lossNumbers } from '../../../src/privacy/loss.ts'
import { nothingPaid, untouched } from '../../balances.ts'
import { referenceEngine, type StoredRow } from '../../engines/reference-engine.ts'
import { rowOf } from './arbitraries.ts'
import { people } from './neighbours/people.ts'
import { LIMITS, planOf } from './planned.ts'

const gaussian = { mechanism: 'gaussian', delta: 1e-6 }
const age = { column: 'Age' }
const bins = { column: 'Age', edges: [0, 18, 65, 120] }
const of = { column: 'Sex', op: '=', value: 'M' }
const predicates = ['young', 'male', 'rest'].map((name) => ({ name, where: of }))
const statistics = [
  { kind: 'count' },
  ...['sum', 'mean', 'variance', 'standardDeviation'].map((kind) => ({ kind, column: 'Income' })),
]

const WIRES: readonly object[] = [
  { kind: 'count' },
  { kind: 'count', ...gaussian, calibration: 'classic', where: of },
  { kind: 'sum', column: 'Balance' },
  ...['mean', 'variance', 'standardDeviation'].flatMap((kind) => [
    { kind, ...age },
    { kind, column: 'Income', ...gaussian },
    { kind, ...age, where: of, postprocess: { round: true, nonNegative: true } },
    { kind, ...age, accuracy: { halfWidth: 500 }, supposed: { rows: 200, mean: 40 } },
  ]),
  { kind: 'covariance', columns: ['Age', 'Income'] },
  { kind: 'covariance', columns: ['Age', 'Balance'], accuracy: { halfWidth: 900 }, supposed: { rows: 200 } },
  { kind: 'correlation', columns: ['Member', 'Balance'], ...gaussian, where: of },
  { kind: 'linearRegression', outcome: 'Income', predictors: ['Age', 'Member', 'Balance'] },
  { kind: 'linearRegression', outcome: 'Age', predictors: ['Balance'], ...gaussian, ridge: 3, where: of },
  { kind: 'proportion', of },
  { kind: 'proportion', of, where: { column: 'Region', op: 'isNull' } },
  { kind: 'countDistinct', column: 'Region' },
  { kind: 'histogram', column: bins },
  { kind: 'bounds', column: 'Balance', nextEpsilon: 0.5 },
  { kind: 'bounds', column: 'Income', ...gaussian, where: of, postprocess: { nonNegative: true } },
  { kind: 'cumulativeCounts', column: bins, p: [50] },
  { kind: 'topGroups', keys: ['Region', bins], k: 2 },
  { kind: 'contingency', columns: ['Region', 'Member', bins], ...gaussian },
  { kind: 'marginals', columns: ['Region', 'Member', bins], ways: [1, 2] },
  { kind: 'marginals', columns: ['Region', 'Member'], ways: 2, delta: 1e-6 },
  { kind: 'groupBy', keys: ['Region', bins], statistics },
  { kind: 'groupBy', keys: ['Member'], statistics, ...gaussian, postprocess: { round: true } },
  { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'mean', ...age }] },
  { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'median', ...age }] },
  {
    kind: 'groupBy',
    keys: ['Region', bins],
    statistics: [{ kind: 'percentile', column: 'Balance', p: 95 }, ...statistics, { kind: 'median', ...age }],
    where: of,
    ...gaussian,
  },
  { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'median', ...age }], accuracy: { halfWidth: 40 } },
  ...['laplace', 'exponential', 'gumbel'].map((noise) => ({
    kind: 'noisyMax',
    candidates: { column: 'Region' },
    noise,
  })),
  { kind: 'noisyMax', candidates: { column: bins }, k: 2, gap: true },
  { kind: 'noisyMax', candidates: { predicates }, k: 3, accuracy: { halfWidth: 10, confidence: 0.9 } },
  { kind: 'median', column: 'Balance' },
  { kind: 'percentile', ...age, p: 12.5 },
  { kind: 'percentile', ...age, p: [75, 25, 50] },
  { kind: 'minimum', column: 'Income' },
  { kind: 'maximum', column: 'Income' },
  { kind: 'keySelection', column: 'Note', delta: 1e-3 },
  { kind: 'keySelection', column: 'Note', delta: 1e-3, counts: true },
]

const balances = untouched({ epsilonNano: epsilonNano(10n ** 15n), deltaAtto: deltaAtto(10n ** 17n) })

/** A ledger that accepts every charge, and stores nothing. */
const generousLedger = {
  ...nothingPaid.ledger,
  charge: async ({ price }: Parameters<Ledger['charge']>[0]) => ({
    kind: 'charged',
    charge: {
      id: '0'.repeat(32),
      attempt: 1,
      budget: { ...balances.budget, spent: price },
      analyst: balances.analyst,
      debitedAtMs: 0,
      event: { sequence: 2, hash: '0'.repeat(64) },
    },
  }),
  recordAnswer: async () => true,
} as Partial<Ledger> as Ledger

const dependenciesOver = (rows: readonly StoredRow[]) => ({
  engine: referenceEngine(() => rows),
  ledger: generousLedger,
  noiseSource: systemEntropy(),
  limits: LIMITS,
  leaseMs: 1000,
  clock: systemClock,
  admission: createAdmission({ places: 1, turns: 1, maxWaiting: 1, maxWaitMs: 60_000 }),
})

/** JSON has neither NaN nor infinity. They would become null, which some fields allow. */
function requireFinite(value: unknown): void {
  if (typeof value === 'number') expect(Number.isFinite(value)).toBe(true)
  else if (typeof value === 'object' && value !== null)
    for (const part of Object.values(value)) requireFinite(part)
}

test('every kind of query is tested', () => {
  const kinds = new Set(WIRES.map((wire) => ('kind' in wire ? wire.kind : '')))
  // Rows that are units have no profile. It is a table, as a histogram is.
  const ofRows = QUERY_KINDS.filter((kind) => kind !== 'contributionProfile')
  expect([...kinds].sort()).toEqual([...ofRows].sort())
})

describe.each(['add-remove', 'change-one'] as const)('under %s', (neighbours) => {
  describe.each(WIRES.map((wire) => [JSON.stringify(wire), wire] as const))('%s', (_text, wire) => {
    test('has a preview and an answer as declared, over no rows, few and many', async () => {
      const least = neighbours === 'add-remove' ? 0 : 1
      const person = rowOf(people(neighbours))
      for (const [size, epsilon] of [
        [least, 0.001],
        [1, 1],
        [40, 0.1],
        [300, 'calibration' in wire ? 1 : 900],
      ] as const) {
        const price = 'accuracy' in wire ? {} : { epsilon }
        const rows = fc.sample(person, size)
        const dataset = people(neighbours, size)
        const query = querySchema.parse({ ...price, ...wire })
        const planned = planOf({ ...price, ...wire }, neighbours, size)

        const before = await preview(
          { principal: 'analyst', dataset, query },
          { ...dependenciesOver(rows), ...nothingPaid },
          balances,
        )
        requireFinite(before)
        expect(previewSchema.parse(JSON.parse(JSON.stringify(before)))).toEqual(before)

        const question = { principal: 'analyst', dataset, query }
        const { body } = await answer(dependenciesOver(rows), question)
        const { noise, cost, result, accuracy, kind } = answerSchema.parse(JSON.parse(body))
        expect(kind).toBe(query.kind)
        // The preview's noise and price are those of the answer.
        expect(noise).toEqual(before.noise)
        expect(cost).toEqual(lossNumbers(planned.loss))
        expect(before.cost).toEqual(cost)
        expect(noise.neighbours).toBe(neighbours)
        expect(accuracy.confidence).toBe(planned.confidence)
        // With several values, each states its own accuracy. Keys without counts have none.
        const oneQuantile = planned.kind === 'groups' && planned.query.statistics.length === 1
        const unknown =
          ('groups' in result && !oneQuantile && planned.kind !== 'cumulative') ||
          'coefficients' in result ||
          ('keys' in result && !('counts' in wire))
        expect(accuracy.halfWidth === null).toBe(unknown)
        const inRanks = planned.kind === 'noisy-max' || planned.kind === 'quantile' || oneQuantile
        expect(accuracy.expectedAbsoluteError === null).toBe(unknown || inRanks)
        expect(accuracy.unit === 'rows').toBe(inRanks || planned.kind === 'key-selection')
        expect('rowsToAppear' in accuracy).toBe('keys' in result || planned.query.kind === 'bounds')
        if (planned.kind === 'additive' && planned.estimates.length > 1)
          expect(Object.keys(accuracy.estimates ?? {})).toHaveLength(planned.estimates.length)
      }
    })
  })
})
