import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Query, type QueryPredicate, query as querySchema } from '../../../../schemas/answers/query.ts'
import { readAggregate } from '../../../../src/answers/release.ts'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import { normalForm } from '../../../../src/core/planner/identity/normal-form.ts'
import { contributionAsked } from '../../../../src/core/planner/language/contribution.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { objectiveOf } from '../../../../src/core/planner/plans/marginals.ts'
import type { Plan } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { canonicalJson } from '../../../../src/ledger/canonical.ts'
import { epsilonNumber } from '../../../../src/privacy/loss.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { cases, describeOnce } from '../../../cases.ts'
import { referenceEngine, type StoredRow } from '../../../engines/reference-engine.ts'
import { PERSON, RANK } from '../../../engines/reference-people.ts'
import {
  clamping,
  grouping,
  groupStatistic,
  keys,
  keysOrNone,
  measured,
  numeric,
  ordered,
  rowOf,
  where,
} from '../arbitraries.ts'
import { patients, people } from '../neighbours/people.ts'
import { LIMITS } from '../planned.ts'
import { type Draw, drawFrom, respelled } from './spellings.ts'

type Wire = Readonly<Record<string, unknown>>

const DATASETS: readonly Dataset[] = [
  people('add-remove'),
  people('change-one'),
  patients('add-remove'),
  patients('change-one'),
]

const counted = fc.constantFrom<Wire>({}, {}, { of: 'people' })
const kindOf = (...kinds: string[]) => fc.constantFrom(...kinds)
const statistics = fc.uniqueArray(
  fc.oneof(
    groupStatistic,
    fc.record({ kind: kindOf('median'), column: ordered }),
    fc.record({ kind: fc.constant('percentile'), column: ordered, p: fc.constantFrom(25, 90) }),
  ),
  { minLength: 1, maxLength: 3, selector: (statistic) => JSON.stringify(statistic) },
)
const candidates = fc.oneof(
  fc.record({ column: grouping }),
  fc.array(where, { minLength: 2, maxLength: 4 }).map((each) => ({
    predicates: each.map((condition, place) => ({ name: `no. ${place}`, where: condition })),
  })),
)

const subject: fc.Arbitrary<Wire> = fc.oneof(
  counted.map((of) => ({ kind: 'count', ...of })),
  fc.record({ kind: kindOf('sum', 'mean', 'variance', 'standardDeviation'), column: numeric }),
  fc.record({ kind: kindOf('mean', 'median', 'minimum', 'maximum'), column: ordered }),
  fc.record({
    kind: kindOf('mean', 'median'),
    column: numeric,
    perPerson: fc.constantFrom('sum', 'count', 'mean'),
  }),
  fc.record({
    kind: fc.constant('percentile'),
    column: ordered,
    p: fc.constantFrom<number | number[]>(50, [50], [75, 25], 12.5),
  }),
  fc.record({ kind: kindOf('covariance', 'correlation'), columns: measured({ minLength: 2, maxLength: 2 }) }),
  measured({ minLength: 2, maxLength: 3 }).map(([outcome, ...predictors]) => ({
    kind: 'linearRegression',
    outcome,
    predictors,
  })),
  fc.record({ kind: fc.constant('proportion'), of: where }),
  fc.record({ kind: fc.constant('bounds'), column: ordered }),
  fc.record({ kind: fc.constant('countDistinct'), column: fc.oneof(grouping, fc.constant('Note')) }),
  fc.tuple(grouping, counted).map(([column, of]) => ({ kind: 'histogram', column, ...of })),
  fc.tuple(keys, fc.constantFrom({}, { k: 2 })).map(([each, k]) => ({ kind: 'topGroups', keys: each, ...k })),
  keys.filter(({ length }) => length === 2).map((columns) => ({ kind: 'contingency', columns })),
  fc
    .tuple(
      keys,
      fc.constantFrom<Wire>(
        {},
        { ways: [1] },
        { objective: 'total' },
        { objective: 'largest' },
        { weights: [1, 3] },
      ),
    )
    .map(([columns, more]) => ({ kind: 'marginals', columns, ways: 1, ...more })),
  fc.record({ kind: fc.constant('groupBy'), keys: keysOrNone, statistics }),
  fc
    .tuple(candidates, fc.constantFrom<Wire>({}, { k: 2 }, { gap: true }, { noise: 'gumbel' }))
    .map(([each, noise]) => ({ kind: 'noisyMax', candidates: each, ...noise })),
  fc.constantFrom<Wire>(
    { kind: 'keySelection', column: 'Note', delta: 1e-6 },
    { kind: 'keySelection', column: 'Note', delta: 1e-6, counts: true },
  ),
)
const price = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<Wire>({ epsilon: 0.7 }, { epsilon: 1, delta: 1e-6 }) },
  {
    weight: 1,
    arbitrary: fc
      .record({
        // Counts can be exact within half a row, so that their half-width is 0.
        halfWidth: fc.oneof(
          { weight: 4, arbitrary: fc.double({ min: 3, max: 200, noNaN: true }) },
          { weight: 1, arbitrary: fc.constant(0.5) },
        ),
        confidence: fc.constantFrom(0.95, 0.99),
      })
      .map((accuracy) => ({ accuracy })),
  },
)
const options = fc.constantFrom<Wire>(
  {},
  {},
  { mechanism: 'gaussian', delta: 1e-6 },
  { mechanism: 'laplace' },
  { postprocess: { round: true } },
  { supposed: { rows: 50 } },
)
const contribution = fc.constantFrom<Wire>(
  {},
  {},
  { contribution: { rows: 2 } },
  { contribution: { groups: 2 } },
  { contribution: { groups: 2, rowsPerGroup: 2 } },
  { contribution: { rows: 2, perPerson: { lower: 0, upper: 100 } } },
)

const wires: fc.Arbitrary<Wire> = fc
  .tuple(clamping(subject), fc.option(where, { nil: undefined }), price, options, contribution)
  .map(([asked, condition, cost, more, bounds]) => ({
    ...asked,
    ...(condition === undefined ? {} : { where: condition }),
    ...cost,
    ...more,
    ...bounds,
    ...(asked.kind === 'keySelection' ? { delta: 1e-6 } : {}),
  }))

/** The plan of a query in its wire form; `undefined` for one that is refused. */
function planned(wire: Wire, dataset: Dataset): Plan | undefined {
  const parsed = querySchema.safeParse(wire)
  if (!parsed.success) return undefined
  try {
    return plan(parsed.data, dataset, LIMITS)
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

const asked = fc
  .tuple(wires, fc.constantFrom(...DATASETS))
  .map(([wire, dataset]) => ({ wire, dataset, planned: planned(wire, dataset) }))
  .filter((each): each is typeof each & { planned: Plan } => each.planned !== undefined)

const replan = (normal: unknown, dataset: Dataset) => plan(querySchema.parse(normal), dataset, LIMITS)

/** Everything that a plan decides, apart from how its predicates and its query are written, and how its answer is. */
function decided(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decided)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(
    ([name]) => !['query', 'dataset', 'where', 'predicate', 'listed'].includes(name),
  )
  return Object.fromEntries(kept.map(([name, member]) => [name, decided(member)]))
}

const personRows = (dataset: Dataset) =>
  fc
    .array(fc.tuple(rowOf(dataset), fc.nat(5)), { maxLength: 30 })
    .map((rows) => rows.map(([row, person], rank): StoredRow => ({ ...row, [PERSON]: person, [RANK]: rank })))

test('the normal form has the same plan, reads the same integers, and is its own normal form', async () => {
  const drawn = asked.chain((each) => personRows(each.dataset).map((rows) => ({ ...each, rows })))
  await fc.assert(
    fc.asyncProperty(drawn, async ({ dataset, rows, ...each }) => {
      const normal = normalForm(each.planned)
      const again = replan(normal, dataset)
      expect(decided(again)).toEqual(decided(each.planned))
      expect(normalForm(again)).toEqual(normal)
      const engine = referenceEngine(() => rows)
      expect(await readAggregate(again, engine)).toEqual(await readAggregate(each.planned, engine))
    }),
    { numRuns: cases(1_500) },
  )
})

/** Another spelling of a query with the same plan. */
function respelledQuery(query: Query, original: Plan, draw: Draw): Wire {
  const spell = (predicate: QueryPredicate) => respelled(predicate, draw)
  const spelled: Record<string, unknown> = { ...query }
  const maxRows =
    original.dataset.privacyUnit.kind === 'person' ? original.dataset.privacyUnit.maxRows : undefined
  if (query.where !== undefined) spelled.where = spell(query.where)
  if (query.kind === 'proportion') spelled.of = spell(query.of)
  if (query.kind === 'count' || query.kind === 'histogram' || query.kind === 'noisyMax')
    spelled.of = query.of ?? 'rows'
  if (query.kind === 'histogram') spelled.column = spelledGrouping(query.column, draw)
  if (query.kind === 'groupBy' || query.kind === 'topGroups')
    spelled.keys = query.keys.map((key) => spelledGrouping(key, draw))
  if ('clamp' in query) spelled.clamp = spelledClamp(query.clamp)
  // Its default depends on how the price is given.
  if (query.kind === 'marginals' && query.weights === undefined) spelled.objective = objectiveOf(query)
  if (query.kind === 'percentile')
    spelled.p = Array.isArray(query.p) ? (query.p.length === 1 ? query.p[0] : query.p) : [query.p]
  if (query.kind === 'noisyMax')
    spelled.noise = original.kind === 'noisy-max' ? original.measurement.noise : undefined
  const contribution = contributionAsked(query)
  if (contribution === undefined && maxRows !== undefined) spelled.contribution = { rows: maxRows }
  if (contribution?.groups !== undefined)
    spelled.contribution = { ...contribution, rowsPerGroup: contribution.rowsPerGroup ?? 1 }
  const sums =
    original.kind === 'groups' ? original.sums : original.kind === 'additive' ? original : undefined
  const mechanism = sums?.measurements[0]?.mechanism
  if (mechanism !== undefined) {
    spelled.mechanism = mechanism
    if (mechanism !== 'gaussian') spelled.delta = draw(2) === 0 ? 0 : 1e-9
    if (original.confidence === 0.95) spelled.postprocess = { round: draw(2) === 0 }
  }
  if (original.confidence === 0.95) {
    if (query.kind === 'mean') spelled.supposed = { rows: 7 }
    delete spelled.accuracy
    spelled.epsilon = query.epsilon ?? epsilonNumber(original.loss.epsilonNano)
  }
  return JSON.parse(JSON.stringify(spelled))
}

/** Clamps of several columns in another order. */
function spelledClamp(clamp: object | undefined): object | undefined {
  return clamp && Object.fromEntries(Object.entries(clamp).reverse())
}

/** The column Visited has the bounds 2024-01-20 and 2024-04-10. */
function spelledGrouping(each: unknown, draw: Draw): unknown {
  if (typeof each !== 'object' || each === null || !('by' in each)) return each
  const ends = [
    { from: '2024-01-20', to: '2024-04-10' },
    each.by === 'month' ? { from: '2024-01', to: '2024-04-07' } : {},
    {},
  ]
  return { ...ends[draw(ends.length)], ...each }
}

test('other spellings of a query have the same identity', () => {
  const seed = fc.array(fc.nat(255), { minLength: 5, maxLength: 24 })
  fc.assert(
    fc.property(asked, seed, ({ dataset, planned: original }, bytes) => {
      const other = replan(respelledQuery(original.query, original, drawFrom(bytes)), dataset)
      expect(canonicalJson(normalForm(other))).toBe(canonicalJson(normalForm(original)))
    }),
    { numRuns: cases(1_500) },
  )
})

describeOnce('the normal form', () => {
  const normalOf = (wire: Wire, dataset = people('add-remove')) =>
    normalForm(plan(querySchema.parse({ epsilon: 1, ...wire }), dataset, LIMITS))

  test('omits the defaults of requests and writes what the planner chooses', () => {
    expect(normalOf({ kind: 'count', epsilon: 0.1 })).toEqual({
      kind: 'count',
      mechanism: 'geometric',
      epsilon: 0.1,
    })
    const spelled = { of: 'rows', delta: 0, postprocess: { round: false, nonNegative: true } }
    expect(normalOf({ kind: 'count', ...spelled })).toEqual(normalOf({ kind: 'count' }))
    expect(normalOf({ kind: 'noisyMax', candidates: { column: 'Sex' }, k: 1 })).toEqual({
      kind: 'noisyMax',
      candidates: { column: 'Sex' },
      noise: 'exponential',
      epsilon: 1,
    })
  })

  test('states the epsilon that an accuracy needs, and a confidence that is not the default', () => {
    const wire = { kind: 'count', epsilon: undefined }
    const { epsilon, ...normal } = normalOf({ ...wire, accuracy: { halfWidth: 30 } })
    expect(normal).toEqual({ kind: 'count', mechanism: 'geometric' })
    expect(normalOf({ ...wire, accuracy: { halfWidth: 30.5 } })).toEqual({ ...normal, epsilon })
    const confident = normalOf({ ...wire, accuracy: { halfWidth: 30.5, confidence: 0.99 } })
    expect(confident).toEqual({ ...normal, accuracy: { halfWidth: 30, confidence: 0.99 } })
  })

  test('leads to the same price where rounding decides between neighbours of a large epsilon', () => {
    const accuracy = { halfWidth: 57.046447489744935, confidence: 0.99 }
    const wire = { kind: 'covariance', columns: ['Age', 'Income'], accuracy, supposed: { rows: 50 } }
    const dataset = patients('add-remove')
    const first = planned(wire, dataset) ?? expect.fail()
    expect(replan(normalForm(first), dataset).loss).toEqual(first.loss)
  })

  test('measures two spellings of a condition once', () => {
    const regions = { column: 'Region', op: 'in', values: ['N', 'S'] }
    const of = (op: 'and' | 'or', name: string) => ({
      kind: 'proportion',
      of: { op, predicates: [regions] },
      name,
    })
    const wire = { kind: 'groupBy', keys: [], statistics: [of('and', 'one'), of('or', 'other')], epsilon: 1 }
    const original = replan(wire, people('add-remove'))
    expect(decided(replan(normalForm(original), people('add-remove')))).toEqual(decided(original))
  })

  test('drops a condition that every row satisfies, unless the public number of rows would then be used', () => {
    const where = { column: 'Age', op: '>=', value: 0 }
    expect(normalOf({ kind: 'mean', column: 'Age', where })).toEqual(
      normalOf({ kind: 'mean', column: 'Age' }),
    )
    const inChangeOne = normalOf({ kind: 'mean', column: 'Age', where }, people('change-one'))
    expect(inChangeOne).toHaveProperty('where')
  })

  test.each<readonly [one: Wire, other: Wire]>([
    [{ kind: 'count' }, { kind: 'count', epsilon: 1.000000001 }],
    [{ kind: 'count' }, { kind: 'count', mechanism: 'laplace' }],
    [
      { kind: 'count', mechanism: 'gaussian', delta: 1e-6 },
      { kind: 'count', mechanism: 'gaussian', delta: 1e-6, calibration: 'classic' },
    ],
    [
      { kind: 'count', mechanism: 'gaussian', delta: 1e-6 },
      { kind: 'count', mechanism: 'gaussian', delta: 1e-7 },
    ],
    [
      { kind: 'percentile', column: 'Age', p: [25, 75] },
      { kind: 'percentile', column: 'Age', p: [75, 25] },
    ],
    [
      { kind: 'histogram', column: { column: 'Age', edges: [0, 18, 120] } },
      { kind: 'histogram', column: { column: 'Age', edges: [0, 19, 120] } },
    ],
    [
      { kind: 'histogram', column: { column: 'Visited', by: 'month' } },
      { kind: 'histogram', column: { column: 'Visited', by: 'month', from: '2024-02' } },
    ],
    [
      { kind: 'linearRegression', outcome: 'Age', predictors: ['Balance'] },
      { kind: 'linearRegression', outcome: 'Age', predictors: ['Balance'], ridge: 1 },
    ],
    [
      { kind: 'count', where: { op: 'not', predicate: { column: 'Income', op: '<', value: 20 } } },
      { kind: 'count', where: { column: 'Income', op: '>=', value: 20 } },
    ],
    [
      { kind: 'noisyMax', candidates: { column: 'Sex' } },
      { kind: 'noisyMax', candidates: { column: 'Sex' }, noise: 'gumbel' },
    ],
  ])('distinguishes %j from %j', (one, other) => {
    expect(canonicalJson(normalOf(one))).not.toBe(canonicalJson(normalOf(other)))
  })
})

test('a covariance over rows with one value is refused, in whatever way the condition is written', () => {
  const conditions = [
    { column: 'Age', op: '=', value: 5 },
    {
      op: 'and',
      predicates: [
        { column: 'Age', op: '>=', value: 5 },
        { column: 'Age', op: '<', value: 6 },
      ],
    },
  ]
  for (const condition of conditions)
    expect(() =>
      replan(
        { kind: 'covariance', columns: ['Age', 'Balance'], where: condition, epsilon: 1 },
        people('add-remove'),
      ),
    ).toThrow(Refusal)
})
