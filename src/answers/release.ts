import { setImmediate } from 'node:timers/promises'
import type { Engine, IndexCounts, TextCounts } from '../engines/engine.ts'
import { keyPresenceSampler, releaseKeyCounts } from '../mechanisms/key-selection.ts'
import { addNoise } from '../mechanisms/mechanism.ts'
import { selectNoisyMax } from '../mechanisms/noisy-max.ts'
import { selectQuantile } from '../mechanisms/quantile.ts'
import type { UniformSource } from '../mechanisms/samplers/uniform-source.ts'
import { type Aggregate, cellCount } from '../planner/aggregate.ts'
import type { AdditivePlan, KeySelectionPlan, Plan, QuantilePlan } from '../planner/plan-kinds.ts'
import type { Released } from '../planner/report-kinds.ts'

/**
 * The exact integers that a plan reads from the data, by kind of plan. They leave only through {@link releaseAggregate}. They
 * can be sent to a worker thread (structured clone).
 */
export type ExactAggregate =
  /** One array per statistic, one integer per cell, in grid units. */
  | { readonly kind: 'additive'; readonly integers: readonly (readonly bigint[])[] }
  /** The number of rows of each candidate. */
  | { readonly kind: 'noisy-max'; readonly scores: readonly bigint[] }
  | { readonly kind: 'quantile'; readonly values: IndexCounts }
  | { readonly kind: 'key-selection'; readonly texts: TextCounts }

/**
 * Reads what a plan asks of the data and releases it through the plan's mechanism. Only the noisy values depend on the data.
 *
 * @throws EngineFailure, and whatever the source of randomness throws; nothing is released then.
 */
export async function release(plan: Plan, engine: Engine, noiseSource: UniformSource): Promise<Released> {
  return releaseAggregate(plan, await readAggregate(plan, engine), noiseSource)
}

/**
 * Reads what a plan asks of the data.
 * @throws EngineFailure
 */
export async function readAggregate(plan: Plan, engine: Engine): Promise<ExactAggregate> {
  switch (plan.kind) {
    case 'additive':
      return { kind: 'additive', integers: await readCells(engine, plan) }
    case 'noisy-max':
      return { kind: 'noisy-max', scores: (await readCells(engine, plan)).flat() }
    case 'quantile':
      return { kind: 'quantile', values: await engine.countIndexes(plan.dataset, plan.counting) }
    case 'key-selection':
      return { kind: 'key-selection', texts: await engine.countTexts(plan.dataset, plan.counting) }
  }
}

/**
 * Releases what was read for a plan through the plan's mechanism, with fresh noise each time.
 *
 * @throws RangeError if the data was read for another kind of plan; and whatever the source of randomness throws. Nothing
 * is released then.
 */
export async function releaseAggregate(
  plan: Plan,
  exact: ExactAggregate,
  noiseSource: UniformSource,
): Promise<Released> {
  return prepareRelease(plan, exact)(noiseSource)
}

/** Draws one release with fresh noise. */
export type DrawRelease = (noiseSource: UniformSource) => Promise<Released>

/**
 * Prepares repeated releases of the same data under the same plan: whatever depends on these alone is computed once.
 * @throws RangeError if the data was read for another kind of plan.
 */
export function prepareRelease(plan: Plan, exact: ExactAggregate): DrawRelease {
  if (plan.kind === 'additive' && exact.kind === 'additive')
    return (noiseSource) => releaseEstimates(plan, exact.integers, noiseSource)
  if (plan.kind === 'noisy-max' && exact.kind === 'noisy-max')
    return async (noiseSource) => ({
      kind: 'noisy-max',
      selected: selectNoisyMax(plan.measurement, exact.scores, noiseSource),
    })
  if (plan.kind === 'quantile' && exact.kind === 'quantile')
    return (noiseSource) => releaseQuantiles(plan, exact.values, noiseSource)
  if (plan.kind === 'key-selection' && exact.kind === 'key-selection')
    return prepareKeyRelease(plan, exact.texts)
  throw new RangeError('what was read is not what the plan asks for')
}

async function releaseEstimates(
  { measurements }: AdditivePlan,
  integers: readonly (readonly bigint[])[],
  noiseSource: UniformSource,
): Promise<Released> {
  const noisy: (readonly bigint[])[] = []
  for (const [statistic, measurement] of measurements.entries()) {
    noisy.push(addNoise(measurement, expectDefined(integers[statistic]), noiseSource))
    // Ten thousand cells take milliseconds: yield to other requests in between.
    if (statistic + 1 < measurements.length) await setImmediate()
  }
  return { kind: 'additive', noisy }
}

async function releaseQuantiles(
  { measurements }: QuantilePlan,
  values: IndexCounts,
  noiseSource: UniformSource,
): Promise<Released> {
  const indexes: bigint[] = []
  for (const measurement of measurements) {
    indexes.push(selectQuantile(measurement, values, noiseSource))
    // Over a million values each takes a tenth of a second: yield to other requests in between.
    await setImmediate()
  }
  return { kind: 'quantile', indexes }
}

function prepareKeyRelease({ measurement }: KeySelectionPlan, { texts, counts }: TextCounts): DrawRelease {
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
    throw new RangeError('the engine left cells out')
  return integers
}

function expectDefined<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new RangeError('a part of what was read is missing')
  return value
}
