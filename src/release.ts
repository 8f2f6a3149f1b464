import { setImmediate } from 'node:timers/promises'
import type { Engine } from './engines/engine.ts'
import { releaseKeyCounts, releaseKeys } from './mechanisms/key-selection.ts'
import { addNoise } from './mechanisms/mechanism.ts'
import { selectNoisyMax } from './mechanisms/noisy-max.ts'
import { selectQuantile } from './mechanisms/quantile.ts'
import type { UniformSource } from './mechanisms/uniform-source.ts'
import { type Aggregate, cellCount } from './planner/aggregate.ts'
import type { Plan } from './planner/plan-kinds.ts'
import type { Released } from './planner/report-kinds.ts'

/**
 * Read what a plan asks of the data and let it out through the plan's mechanism. Nothing of the data is in the result
 * but through noise.
 *
 * @throws EngineFailure, and whatever the source of randomness throws; nothing is released then.
 */
export async function release(plan: Plan, engine: Engine, noiseSource: UniformSource): Promise<Released> {
  switch (plan.release) {
    case 'estimates': {
      const integers = await readCells(engine, plan)
      const noisy: (readonly bigint[])[] = []
      for (const [statistic, measurement] of plan.measurements.entries()) {
        noisy.push(addNoise(measurement, expectDefined(integers[statistic]), noiseSource))
        // Ten thousand cells take milliseconds each time: others shall get their turn in between.
        if (statistic + 1 < plan.measurements.length) await setImmediate()
      }
      return { release: 'estimates', noisy }
    }
    case 'noisy-max': {
      const scores = (await readCells(engine, plan)).flat()
      return { release: 'noisy-max', selected: selectNoisyMax(plan.measurement, scores, noiseSource) }
    }
    case 'quantiles': {
      const values = await engine.countIndexes(plan.dataset, plan.counting)
      const indexes: bigint[] = []
      for (const measurement of plan.measurements) {
        indexes.push(selectQuantile(measurement, values, noiseSource))
        // Over a million values each takes a tenth of a second.
        await setImmediate()
      }
      return { release: 'quantiles', indexes }
    }
    case 'key-selection': {
      const { texts, counts } = await engine.countTexts(plan.dataset, plan.counting)
      const keyAt = (position: number) => expectDefined(texts[position])
      if (plan.measurement.mechanism === 'thresholded-geometric') {
        const released = releaseKeyCounts(plan.measurement, counts, noiseSource)
        const keys = released.map(({ key, noisyCount }) => ({ key: keyAt(key), noisyCount }))
        return { release: 'key-selection', keys }
      }
      const kept = releaseKeys(plan.measurement, counts, noiseSource)
      return { release: 'key-selection', keys: kept.map((position) => ({ key: keyAt(position) })) }
    }
  }
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
