import { setImmediate } from 'node:timers/promises'
import type { Engine, IndexCounts, TextCounts } from '../engines/engine.ts'
import { releaseKeyCounts, releaseKeys } from '../mechanisms/key-selection.ts'
import { addNoise } from '../mechanisms/mechanism.ts'
import { selectNoisyMax } from '../mechanisms/noisy-max.ts'
import { selectQuantile } from '../mechanisms/quantile.ts'
import type { UniformSource } from '../mechanisms/samplers/uniform-source.ts'
import { type Aggregate, cellCount } from '../planner/aggregate.ts'
import type { Plan } from '../planner/plan-kinds.ts'
import type { Released } from '../planner/report-kinds.ts'

/**
 * What a plan asks of the data, in exact integers: by kind of plan. None of it leaves but through {@link releaseAggregate}. It holds
 * nothing that cannot be handed to a thread.
 */
export type ExactAggregate =
  /** One array per statistic, one integer per cell, in grid units. */
  | { readonly kind: 'additive'; readonly integers: readonly (readonly bigint[])[] }
  /** The rows of each candidate. */
  | { readonly kind: 'noisy-max'; readonly scores: readonly bigint[] }
  | { readonly kind: 'quantile'; readonly values: IndexCounts }
  | { readonly kind: 'key-selection'; readonly texts: TextCounts }

/**
 * Read what a plan asks of the data and let it out through the plan's mechanism. Nothing of the data is in the result
 * but through noise.
 *
 * @throws EngineFailure, and whatever the source of randomness throws; nothing is released then.
 */
export async function release(plan: Plan, engine: Engine, noiseSource: UniformSource): Promise<Released> {
  return releaseAggregate(plan, await readAggregate(plan, engine), noiseSource)
}

/**
 * Read what a plan asks of the data.
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
 * Let what was read for a plan out through the plan's mechanism, with fresh noise each time.
 *
 * @throws RangeError for what was read for another kind of plan; and whatever the source of randomness throws: nothing
 * is released then.
 */
export async function releaseAggregate(
  plan: Plan,
  exact: ExactAggregate,
  noiseSource: UniformSource,
): Promise<Released> {
  if (plan.kind === 'additive' && exact.kind === 'additive') {
    const noisy: (readonly bigint[])[] = []
    for (const [statistic, measurement] of plan.measurements.entries()) {
      noisy.push(addNoise(measurement, expectDefined(exact.integers[statistic]), noiseSource))
      // Ten thousand cells take milliseconds each time: others shall get their turn in between.
      if (statistic + 1 < plan.measurements.length) await setImmediate()
    }
    return { kind: 'additive', noisy }
  }
  if (plan.kind === 'noisy-max' && exact.kind === 'noisy-max')
    return { kind: 'noisy-max', selected: selectNoisyMax(plan.measurement, exact.scores, noiseSource) }
  if (plan.kind === 'quantile' && exact.kind === 'quantile') {
    const indexes: bigint[] = []
    for (const measurement of plan.measurements) {
      indexes.push(selectQuantile(measurement, exact.values, noiseSource))
      // Over a million values each takes a tenth of a second.
      await setImmediate()
    }
    return { kind: 'quantile', indexes }
  }
  if (plan.kind === 'key-selection' && exact.kind === 'key-selection') {
    const { texts, counts } = exact.texts
    const keyAt = (position: number) => expectDefined(texts[position])
    if (plan.measurement.mechanism === 'thresholded-geometric') {
      const released = releaseKeyCounts(plan.measurement, counts, noiseSource)
      const keys = released.map(({ key, noisyCount }) => ({ key: keyAt(key), noisyCount }))
      return { kind: 'key-selection', keys }
    }
    const kept = releaseKeys(plan.measurement, counts, noiseSource)
    return { kind: 'key-selection', keys: kept.map((position) => ({ key: keyAt(position) })) }
  }
  throw new RangeError('what was read is not what the plan asks for')
}

/** All cells of all statistics: an engine that left a cell out would have it released without noise. */
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
