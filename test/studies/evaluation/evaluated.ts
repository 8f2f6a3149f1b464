import seedrandom from 'seedrandom'
import { query as querySchema } from '../../../schemas/answers/query.ts'
import { declareDataset } from '../../../src/core/dataset/declaration.ts'
import { noiseSampler } from '../../../src/core/mechanisms/measurement.ts'
import { uniformFromWords } from '../../../src/core/mechanisms/samplers/uniform-integers.ts'
import type { UniformSource } from '../../../src/core/mechanisms/samplers/uniform-source.ts'
import { plan as planQuery } from '../../../src/core/planner/plan.ts'
import type { ExactAggregate, Plan } from '../../../src/core/planner/plans/plan-kinds.ts'
import { censusRegistration } from '../../../src/datasets/registration/demo.ts'
import { evaluate } from '../../../src/studies/evaluation/evaluation.ts'
import type {
  EvaluatedCandidates,
  EvaluatedKeys,
  EvaluatedNumbers,
  Evaluation,
} from '../../../src/studies/evaluation/report.ts'
import { scriptedSource } from '../../core/mechanisms/scripted-source.ts'
import { planOf } from '../../core/planner/planned.ts'

/** A source that gives the same uniform integers every time it is created. */
export function taped(): UniformSource {
  const random = seedrandom('tape')
  return uniformFromWords({ next: () => random.int32() >>> 0 })
}

/** Draws that lead an experiment to the wanted outcome. The outcome must occur at least once in a few thousand runs. */
export function tapeTo<Outcome>(
  wanted: Outcome,
  experiment: (source: UniformSource) => Outcome,
): readonly number[] {
  const source = taped()
  for (let attempt = 0; attempt < 100_000; attempt += 1) {
    const draws: number[] = []
    const below = (bound: number) => {
      const draw = source.below(bound)
      if (bound > 1) draws.push(draw)
      return draw
    }
    if (experiment({ below, belowBig: (bound) => BigInt(below(Number(bound))) }) === wanted) return draws
  }
  throw new Error(`no tape leads to ${wanted}`)
}

/** A source that gives a plan's single statistic these values of noise, in output units, in order. */
export function noiseOf(planned: Plan, noise: readonly number[]): UniformSource {
  const [measurement] = planned.kind === 'additive' ? planned.measurements : []
  if (measurement === undefined) throw new Error('sums and counts are asked for')
  const sample = (source: UniformSource) => noiseSampler(measurement.noise, source)()
  return scriptedSource(noise.flatMap((wanted) => tapeTo(BigInt(wanted), sample)))
}

export const estimates = (...integers: readonly (readonly bigint[])[]): ExactAggregate => ({
  kind: 'additive',
  integers,
})

export const meanOf = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length

export function numbersOf(evaluation: Evaluation): EvaluatedNumbers {
  if ('values' in evaluation) return evaluation
  throw new Error('an answer made of numbers is asked for')
}
export function candidatesOf(evaluation: Evaluation): EvaluatedCandidates {
  if ('candidates' in evaluation) return evaluation
  throw new Error('a selection of candidates is asked for')
}
export function keysOf(evaluation: Evaluation): EvaluatedKeys {
  if ('keys' in evaluation) return evaluation
  throw new Error('a selection of keys is asked for')
}

/** Evaluates a query with the given noise, number by number. */
export async function evaluated(
  wire: object,
  exact: ExactAggregate,
  noise: readonly number[],
  runs: number,
  {
    shown = runs,
    module = { evaluate },
  }: { readonly shown?: number; readonly module?: EvaluationModule } = {},
) {
  const planned = planOf({ mechanism: 'geometric', ...wire })
  const noiseSource = noiseOf(planned, noise)
  return numbersOf(await module.evaluate({ plan: planned, exact }, { runs, shown, noiseSource }))
}

/** The module under test: the source, or a mutant of it. */
export type EvaluationModule = Pick<
  typeof import('../../../src/studies/evaluation/evaluation.ts'),
  'evaluate'
>

const census = declareDataset(censusRegistration, 'v1', undefined)

/** Plans a query in its wire form over the demo census. */
export const planCensus = (wire: object) => planQuery(querySchema.parse(wire), census, { maxCells: 1000 })

/** Answers made of numbers, of each kind: a name, the query, and the data that was read. */
export const KINDS: readonly (readonly [string, object, ExactAggregate])[] = [
  ['a table', { kind: 'histogram', column: 'Region', mechanism: 'laplace' }, estimates([9n, 8n, 0n, 7n])],
  [
    'a variance',
    { kind: 'variance', column: 'Age', mechanism: 'gaussian', delta: 1e-6 },
    estimates([45_160_000n], [-540_000n], [10_000n]),
  ],
  ['a proportion', { kind: 'proportion', of: { column: 'Sex', op: '=', value: 'M' } }, estimates([30n, 50n])],
  [
    'percentiles',
    { kind: 'percentile', column: 'Balance', p: [75, 25] },
    {
      kind: 'quantile',
      values: {
        indexes: Float64Array.from({ length: 100 }, (_, position) => position * 3 - 200),
        counts: new Float64Array(100).fill(2),
      },
    },
  ],
]

/** An evaluation computed by hand. It holds for the source, and every mutant breaks at least one. */
export interface ContractTest {
  readonly name: string
  readonly check: (module: EvaluationModule) => Promise<void>
}

export const contractTest = (name: string, check: ContractTest['check']): ContractTest => ({ name, check })
