import { setImmediate } from 'node:timers/promises'
import type { Engine, IndexCounts, Reading, TextCounts } from '../engines/engine.ts'
import { keyPresenceSampler, releaseKeyCounts } from '../mechanisms/key-selection.ts'
import { addNoise } from '../mechanisms/measurement.ts'
import { selectNoisyMax } from '../mechanisms/noisy-max.ts'
import { quantileSteps, selectQuantile } from '../mechanisms/quantile.ts'
import type { UniformSource } from '../mechanisms/samplers/uniform-source.ts'
import { type Aggregate, cellCount } from '../planner/aggregate.ts'
import type { AdditivePlan } from '../planner/kinds/additive.ts'
import type { GroupsPlan } from '../planner/kinds/groups.ts'
import type { KeySelectionPlan } from '../planner/kinds/key-selection.ts'
import type { QuantilePlan } from '../planner/kinds/quantile.ts'
import {
  mostValues,
  type Plan,
  type PlanKindName,
  type PlanOf,
  type Released,
  type ReleaseOf,
} from '../planner/plan-kinds.ts'
import { Refusal } from '../privacy/refusal.ts'
import { type Trace, UNTRACED } from '../tracing/trace.ts'

/** Exact integers read from the data, by kind of plan. They can be sent to a worker thread (structured clone). */
interface ExactTypes {
  /** One array per statistic, one integer per cell, in grid units. */
  readonly additive: { readonly kind: 'additive'; readonly integers: readonly (readonly bigint[])[] }
  /** The integers of the sums and counts, and for each quantile the values in each cell. */
  readonly groups: {
    readonly kind: 'groups'
    readonly integers?: readonly (readonly bigint[])[]
    readonly values: readonly (readonly IndexCounts[])[]
  }
  /** The number of rows of each candidate. */
  readonly 'noisy-max': { readonly kind: 'noisy-max'; readonly scores: readonly bigint[] }
  readonly quantile: { readonly kind: 'quantile'; readonly values: IndexCounts }
  readonly 'key-selection': { readonly kind: 'key-selection'; readonly texts: TextCounts }
}

/** The exact integers that a plan reads from the data. They leave only through {@link prepareRelease}. */
export type ExactAggregate = ExactTypes[PlanKindName]

/** The exact integers that a plan of one kind reads. */
export type ExactOf<Kind extends PlanKindName> = { [K in Kind]: ExactTypes[K] & { readonly kind: K } }[Kind]

/** Draws one release with fresh noise. */
export type DrawRelease<Kind extends PlanKindName = PlanKindName> = (
  noiseSource: UniformSource,
) => Promise<ReleaseOf<Kind>>

/** Steps that read the data for plans of one kind and release it. */
interface ReleaseSteps<Kind extends PlanKindName> {
  readonly read: (plan: PlanOf<Kind>, engine: Engine) => Promise<ExactOf<Kind>>
  readonly prepare: (plan: PlanOf<Kind>, exact: ExactOf<Kind>) => DrawRelease<Kind>
}

const releaseSteps: { readonly [Kind in PlanKindName]: ReleaseSteps<Kind> } = {
  additive: {
    read: async (plan, engine) => ({ kind: 'additive', integers: await readCells(engine, plan) }),
    prepare: releaseEstimates,
  },
  groups: { read: readGroups, prepare: releaseGroups },
  'noisy-max': {
    read: async (plan, engine) => ({ kind: 'noisy-max', scores: (await readCells(engine, plan)).flat() }),
    prepare:
      ({ measurement }, { scores }) =>
      async (noiseSource) => ({
        kind: 'noisy-max',
        selected: selectNoisyMax(measurement, scores, noiseSource),
      }),
  },
  quantile: {
    read: async ({ dataset, counting }, engine) => ({
      kind: 'quantile',
      values: await engine.countIndexes(dataset, counting),
    }),
    prepare: releaseQuantiles,
  },
  'key-selection': {
    read: async ({ dataset, counting }, engine) => ({
      kind: 'key-selection',
      texts: await engine.countTexts(dataset, counting),
    }),
    prepare: prepareKeyRelease,
  },
}

/**
 * Reads the data that a plan needs and releases it through the plan's mechanism. Only the noisy values depend on the
 * data.
 *
 * @throws EngineFailure, and any error of the source of randomness; nothing is released then.
 */
export async function release(
  plan: Plan,
  engine: Engine,
  noiseSource: UniformSource,
  trace: Trace = UNTRACED,
): Promise<Released> {
  const exact = await trace.step('read', () => readAggregate(plan, engine))
  await yieldIfLarge(plan)
  return trace.step('noise', () => releaseAggregate(plan, exact, noiseSource))
}

/** Number of values from which on each step of an answer takes about a millisecond. */
const MANY_VALUES = 500

/** Yields to other requests between two steps of an answer with many values. Depends on public facts alone. */
export async function yieldIfLarge(plan: Plan): Promise<void> {
  if (mostValues(plan) >= MANY_VALUES) await setImmediate()
}

/** Returns the name of the scan that reads all the data of a plan, if others can share it. */
export function scanOf(plan: Plan, engine: Engine): string | undefined {
  switch (plan.kind) {
    case 'additive':
    case 'noisy-max':
      return engine.scanOf?.(plan.dataset, plan.aggregate)
    case 'groups':
    case 'quantile':
    case 'key-selection':
      return undefined
  }
}

/**
 * Requires that the engine can read the data of a plan. The charge would be lost otherwise.
 * @throws Refusal `query-does-not-fit` if a statement would be too long for the database.
 */
export function requireAccepted(plan: Plan, engine: Pick<Engine, 'accepts'>): void {
  for (const reading of readingsOf(plan)) requireReadable(plan.dataset, reading, engine)
}

/** @throws Refusal as {@link requireAccepted} does. */
export function requireReadable(
  dataset: Plan['dataset'],
  reading: Reading,
  engine: Pick<Engine, 'accepts'>,
): void {
  if (engine.accepts?.(dataset, reading) === false) {
    const detail =
      'The query is too long for the database of this dataset. Compare with fewer values, or ask for fewer groups.'
    throw new Refusal('query-does-not-fit', detail)
  }
}

function readingsOf(plan: Plan): readonly Reading[] {
  switch (plan.kind) {
    case 'additive':
    case 'noisy-max':
      return [{ method: 'aggregate', aggregate: plan.aggregate }]
    case 'groups':
      return [
        ...(plan.sums === undefined ? [] : readingsOf(plan.sums)),
        ...plan.quantiles.map(({ counting }) => ({ method: 'countIndexesInCells', counting }) as const),
      ]
    case 'quantile':
      return [{ method: 'countIndexes', counting: plan.counting }]
    case 'key-selection':
      return [{ method: 'countTexts', counting: plan.counting }]
  }
}

/**
 * Reads the data that a plan needs.
 *
 * @throws EngineFailure
 */
export function readAggregate<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
  engine: Engine,
): Promise<ExactOf<Kind>> {
  return releaseSteps[plan.kind].read(plan, engine)
}

/**
 * Releases the data read for a plan through the plan's mechanism, with fresh noise each time.
 *
 * @throws RangeError if the data was read for another kind of plan; and any error of the source of randomness. Nothing
 * is released then.
 */
export async function releaseAggregate<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
  exact: ExactOf<Kind>,
  noiseSource: UniformSource,
): Promise<ReleaseOf<Kind>> {
  return prepareRelease(plan, exact)(noiseSource)
}

/**
 * Prepares repeated releases of the same data under the same plan. Computations that depend only on these run once.
 * @throws RangeError if the data was read for another kind of plan.
 */
export function prepareRelease<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
  exact: ExactOf<Kind>,
): DrawRelease<Kind> {
  if (plan.kind !== exact.kind) throw new RangeError('the data was read for another kind of plan')
  return releaseSteps[plan.kind].prepare(plan, exact)
}

function releaseEstimates(
  { measurements }: AdditivePlan,
  { integers }: ExactOf<'additive'>,
): DrawRelease<'additive'> {
  return async (noiseSource) => {
    const noisy: (readonly bigint[])[] = []
    for (const [statistic, measurement] of measurements.entries()) {
      noisy.push(addNoise(measurement, expectDefined(integers[statistic]), noiseSource))
      // Ten thousand cells take milliseconds: yield to other requests in between.
      if (statistic + 1 < measurements.length) await setImmediate()
    }
    return { kind: 'additive', noisy }
  }
}

async function readGroups(
  { sums, quantiles, dataset }: GroupsPlan,
  engine: Engine,
): Promise<ExactOf<'groups'>> {
  const integers = sums === undefined ? undefined : await readCells(engine, sums)
  // Quantiles of one column share its values.
  const read = new Map<string, Promise<readonly IndexCounts[]>>()
  const values: (readonly IndexCounts[])[] = []
  for (const { column, counting } of quantiles) {
    const found = read.get(column.name) ?? engine.countIndexesInCells(dataset, counting)
    read.set(column.name, found)
    const cells = await found
    if (cells.length !== cellCount(counting)) throw new RangeError('the engine omitted cells')
    values.push(cells)
  }
  return { kind: 'groups', ...(integers === undefined ? {} : { integers }), values }
}

function releaseGroups(
  { sums, quantiles }: GroupsPlan,
  { integers, values }: ExactOf<'groups'>,
): DrawRelease<'groups'> {
  const drawSums =
    sums === undefined
      ? undefined
      : releaseEstimates(sums, { kind: 'additive', integers: expectDefined(integers) })
  return async (noiseSource) => {
    const released = await drawSums?.(noiseSource)
    const indexes: bigint[][] = []
    for (const [part, { measurement }] of quantiles.entries()) {
      const chosen: bigint[] = []
      for (const [cell, cellValues] of expectDefined(values[part]).entries()) {
        chosen.push(selectQuantile(measurement, cellValues, noiseSource))
        // Yields to other requests.
        if (cell % CELLS_BETWEEN_PAUSES === 0) await setImmediate()
      }
      indexes.push(chosen)
    }
    return { kind: 'groups', ...(released === undefined ? {} : { sums: released }), indexes }
  }
}

const CELLS_BETWEEN_PAUSES = 16

function releaseQuantiles(
  { measurements }: QuantilePlan,
  { values }: ExactOf<'quantile'>,
): DrawRelease<'quantile'> {
  return async (noiseSource) => {
    const indexes: bigint[] = []
    for (const measurement of measurements) {
      indexes.push(await selectInSteps(quantileSteps(measurement, values, noiseSource)))
    }
    return { kind: 'quantile', indexes }
  }
}

/** Takes the steps of a choice among many values, and yields to other requests after each. */
async function selectInSteps<Chosen>(steps: Generator<void, Chosen>): Promise<Chosen> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    await setImmediate()
  }
}

function prepareKeyRelease(
  { measurement }: KeySelectionPlan,
  { texts: { texts, counts } }: ExactOf<'key-selection'>,
): DrawRelease<'key-selection'> {
  const keyAt = (position: number) => expectDefined(texts[position])
  if (measurement.mechanism === 'thresholded-geometric')
    return async (noiseSource) => {
      const released = releaseKeyCounts(measurement, counts, noiseSource)
      const keys = released.map(({ key, noisyCount }) => ({ key: keyAt(key), noisyCount }))
      return { kind: 'key-selection', keys }
    }
  const sampleKeys = keyPresenceSampler(measurement, counts)
  return async (noiseSource) => ({
    kind: 'key-selection',
    keys: sampleKeys(noiseSource).map((position) => ({ key: keyAt(position) })),
  })
}

/** Reads all cells of all statistics. A cell that an engine left out would be released without noise. */
async function readCells(
  engine: Engine,
  { dataset, aggregate }: { readonly dataset: Plan['dataset']; readonly aggregate: Aggregate },
): Promise<readonly (readonly bigint[])[]> {
  const integers = await engine.aggregate(dataset, aggregate)
  const cells = cellCount(aggregate)
  if (integers.length !== aggregate.statistics.length || integers.some(({ length }) => length !== cells))
    throw new RangeError('the engine omitted cells')
  return integers
}

function expectDefined<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new RangeError('a part of the data is missing')
  return value
}
