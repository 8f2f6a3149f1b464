import { setImmediate } from 'node:timers/promises'
import type { Dataset } from '../core/dataset/dataset.ts'
import type { UniformSource } from '../core/mechanisms/samplers/uniform-source.ts'
import { type Aggregate, cellCount } from '../core/planner/language/aggregate.ts'
import type { CellIntegers, IndexCounts, Reading, TextCounts } from '../core/planner/language/reading.ts'
import type { Steps } from '../core/planner/plans/plan-kind.ts'
import {
  type ExactOf,
  type Plan,
  type PlanKindName,
  type PlanOf,
  planKindOf,
  type Released,
  type ReleaseOf,
} from '../core/planner/plans/plan-kinds.ts'
import type { Engine } from '../engines/engine.ts'
import { type Trace, UNTRACED } from '../platform/tracing/trace.ts'
import { Refusal } from '../privacy/refusal.ts'

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
  if (planKindOf(plan).mostValues(plan) >= MANY_VALUES) await setImmediate()
}

/** Returns the name of the scan that reads all the data of a plan, if others can share it. */
export function scanOf(plan: Plan, engine: Engine): string | undefined {
  const [reading, ...others] = planKindOf(plan).readings(plan)
  if (reading?.method !== 'aggregate' || others.length > 0) return undefined
  return engine.scanOf?.(plan.dataset, reading.aggregate)
}

/**
 * Requires that the engine can read the data of a plan. The charge would be lost otherwise.
 * @throws Refusal `query-does-not-fit` if a statement would be too long for the database.
 */
export function requireAccepted(plan: Plan, engine: Pick<Engine, 'accepts'>): void {
  for (const reading of planKindOf(plan).readings(plan)) requireReadable(plan.dataset, reading, engine)
}

/** @throws Refusal as {@link requireAccepted} does. */
export function requireReadable(dataset: Dataset, reading: Reading, engine: Pick<Engine, 'accepts'>): void {
  if (engine.accepts?.(dataset, reading) === false) {
    const detail =
      'The query is too long for the database of this dataset. Compare with fewer values, or ask for fewer groups.'
    throw new Refusal('query-does-not-fit', detail)
  }
}

/**
 * Reads the data that a plan needs.
 *
 * @throws EngineFailure
 */
export async function readAggregate<Kind extends PlanKindName>(
  plan: PlanOf<Kind>,
  engine: Engine,
): Promise<ExactOf<Kind>> {
  const { dataset } = plan
  const results = {
    aggregate: [] as CellIntegers[],
    countIndexes: [] as IndexCounts[],
    countIndexesInCells: [] as (readonly IndexCounts[])[],
    countTexts: [] as TextCounts[],
  }
  for (const reading of planKindOf(plan).readings(plan)) {
    switch (reading.method) {
      case 'aggregate':
        results.aggregate.push(await readCells(engine, dataset, reading.aggregate))
        break
      case 'countIndexes':
        results.countIndexes.push(await engine.countIndexes(dataset, reading.counting))
        break
      case 'countIndexesInCells': {
        const cells = await engine.countIndexesInCells(dataset, reading.counting)
        requireAllCells(cells, reading.counting)
        results.countIndexesInCells.push(cells)
        break
      }
      case 'countTexts':
        results.countTexts.push(await engine.countTexts(dataset, reading.counting))
    }
  }
  return planKindOf(plan).exact(plan, results)
}

/** Reads all cells of all statistics. */
async function readCells(engine: Engine, dataset: Dataset, aggregate: Aggregate): Promise<CellIntegers> {
  const integers = await engine.aggregate(dataset, aggregate)
  if (integers.length !== aggregate.statistics.length) throw new RangeError('the engine omitted statistics')
  for (const cells of integers) requireAllCells(cells, aggregate)
  return integers
}

/** A cell that an engine left out would be released without noise. */
function requireAllCells(cells: readonly unknown[], { groupBy }: Pick<Aggregate, 'groupBy'>): void {
  if (cells.length !== cellCount({ groupBy })) throw new RangeError('the engine omitted cells')
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
): (noiseSource: UniformSource) => Promise<ReleaseOf<Kind>> {
  if (plan.kind !== exact.kind) throw new RangeError('the data was read for another kind of plan')
  const draw = planKindOf(plan).release(plan, exact)
  return (noiseSource) => inSteps(draw(noiseSource))
}

/** Takes the steps of a computation, and yields to other requests between them. */
async function inSteps<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    await setImmediate()
  }
}
