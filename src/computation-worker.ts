import type { MessagePort } from 'node:worker_threads'
import { type Evaluation, evaluate } from './evaluation/evaluation.ts'
import type { Extent } from './evaluation/extent.ts'
import { systemEntropy } from './mechanisms/entropy.ts'
import type { Plan } from './planner/plan-kinds.ts'
import type { Plot, Theme } from './plots/plot.ts'
import { Refusal } from './privacy/refusal.ts'
import type { Exact } from './release.ts'
import {
  analyse,
  curve,
  epsilonForRisk,
  posteriorAt,
  type RiskAnalysis,
  tightBoundAt,
  upperBoundAt,
} from './risk/disclosure-risk.ts'
import type { RiskQuestion } from './risk/question.ts'

/*
 * What runs in the threads of the computation pool. Each export is a computation; input and result travel as structured
 * clones.
 */

/** What the pool calls a computation with. */
interface Call<Input> {
  readonly input: Input
  /** Where it tells how far it is. */
  readonly progress: MessagePort
}

/** An error loses its class on the way out of a thread, so a refusal leaves as what it is made of. */
type Outcome<Result> =
  | { readonly result: Result }
  | { readonly refused: Required<ConstructorParameters<typeof Refusal>> }

function computation<Input, Result>(
  compute: (input: Input, progress: MessagePort) => Result | Promise<Result>,
) {
  return async ({ input, progress }: Call<Input>): Promise<Outcome<Result>> => {
    try {
      return { result: await compute(input, progress) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { code, message, errors, facts } = error
      return { refused: [code, message, errors, facts] }
    }
  }
}

/** The same question about each column of a universe. */
interface UniverseQuestion extends Omit<RiskQuestion, 'universe'> {
  readonly columns: Readonly<Record<string, readonly number[]>>
}

/** What an adversary learns of who was released: the bounds at an epsilon, and the beliefs after a response. */
export const risk = computation(
  ({
    epsilon,
    response,
    ...question
  }: UniverseQuestion & {
    readonly epsilon?: number | undefined
    readonly response?: number | Readonly<Record<string, number>> | undefined
  }) =>
    analyseColumns(question, (analysis, column) => {
      if (epsilon === undefined) return {}
      const told = typeof response === 'object' ? response[column] : response
      return {
        bounds: {
          upperBound: upperBoundAt(analysis, epsilon),
          tightBound: tightBoundAt(analysis, epsilon),
        },
        ...(told === undefined
          ? {}
          : { posterior: { response: told, ...posteriorAt(analysis, epsilon, told) } }),
      }
    }),
)

/** The epsilons that an accepted risk allows. */
export const epsilon = computation(
  ({
    risk,
    tolerance,
    epsilons,
    ...question
  }: UniverseQuestion & {
    readonly risk: number
    readonly tolerance: number
    /** Where both bounds are wanted. */
    readonly epsilons?: readonly number[] | undefined
  }) =>
    analyseColumns(question, (analysis) => ({
      ...epsilonForRisk(analysis, risk, tolerance),
      ...(epsilons === undefined ? {} : { curve: curve(analysis, epsilons) }),
    })),
)

/** A picture as SVG. Loads what draws when the first is asked for. */
export const draw = computation(async ({ plot, theme }: { readonly plot: Plot; readonly theme: Theme }) => {
  const { drawPlot } = await import('./plots/draw.ts')
  return drawPlot(plot, theme)
})

/** How far off the answers of a plan are: many of them, each with fresh noise. */
export const evaluation = computation(
  (
    { plan, exact, runs, shown }: Extent & { readonly plan: Plan; readonly exact: Exact },
    progress,
  ): Promise<Evaluation> =>
    evaluate(plan, exact, {
      runs,
      shown,
      noiseSource: systemEntropy(),
      onProgress: (runsDone) => progress.postMessage(runsDone),
    }),
)

function analyseColumns<Figures>(
  { columns, ...question }: UniverseQuestion,
  figuresOf: (analysis: RiskAnalysis, column: string) => Figures,
) {
  return Object.entries(columns).map(([column, universe]) => {
    const analysis = analysed({ ...question, universe }, column)
    const { worlds, ways, boundedSensitivity, unboundedSensitivity } = analysis
    const { largestDifference, upperBoundHolds, largestPrior } = analysis
    return {
      column,
      worlds,
      ways,
      sensitivity: { bounded: boundedSensitivity, unbounded: unboundedSensitivity },
      largestDifference,
      upperBoundHolds,
      largestPrior,
      ...figuresOf(analysis, column),
    }
  })
}

/** What is wrong with a column's values is said of that column. */
function analysed(question: RiskQuestion, column: string): RiskAnalysis {
  try {
    return analyse(question)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const errors = error.errors.map(({ field, rule }) => ({
      field: field.replace(/^universe/, `universe.${column}`),
      rule,
    }))
    throw new Refusal(
      error.code,
      error.message.replace(/^universe/, `universe.${column}`),
      errors,
      error.facts,
    )
  }
}
