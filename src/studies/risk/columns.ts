import { entry } from '../../privacy/must.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { prepareAnalysis, type RiskAnalysis } from './analysis.ts'
import { curve, tightBoundAt, upperBoundAt } from './bounds.ts'
import { epsilonForRisk } from './epsilon-for-risk.ts'
import { MOST_CURVE_STEPS, MOST_LISTED_NUMBERS, tooManyWorlds } from './limits.ts'
import { posteriorAt } from './posterior.ts'
import type { RiskQuestion } from './question.ts'

/** The same question about each column of a universe of people. */
export interface ColumnsQuestion extends Omit<RiskQuestion, 'universe'> {
  /** The values of each person, in each column. */
  readonly columns: Readonly<Record<string, RiskQuestion['universe']>>
}

/** Information that the adversary receives. */
export interface NoisyResponse {
  /** Default: only the sensitivities are computed. */
  readonly epsilon?: number | undefined
  /** A response for each column, or one for all. */
  readonly response?: number | Readonly<Record<string, number>> | undefined
}

/**
 * Computes the information of an adversary about the released people, by column: the bounds at an epsilon, and the
 * beliefs after a response.
 * @throws Refusal as {@link prepareAnalysis} does, naming the column, before any column is computed.
 */
export function riskOfColumns({ epsilon, response, ...question }: ColumnsQuestion & NoisyResponse) {
  const mostListed = MOST_LISTED_NUMBERS / Object.keys(question.columns).length
  return analyseColumns(question, (analysis, column) => {
    if (epsilon === undefined) return {}
    const received = typeof response === 'object' ? response[column] : response
    return {
      bounds: {
        upperBound: upperBoundAt(analysis, epsilon),
        tightBound: tightBoundAt(analysis, epsilon),
      },
      posterior:
        received === undefined
          ? undefined
          : { response: received, ...posteriorAt(analysis, epsilon, received, mostListed) },
    }
  })
}

/** A range of evenly spaced epsilons; at least two. */
export interface EpsilonRange {
  readonly from: number
  /** Default: twice the largest epsilon found for a column, so that all are visible. */
  readonly to?: number
  readonly points: number
}

/** An accepted risk. */
export interface AcceptedRisk {
  readonly risk: number
  readonly tolerance?: number
  /** Range of epsilons for which both bounds are requested. */
  readonly curve?: EpsilonRange | undefined
  /** Epsilon at which both bounds are requested as well. */
  readonly epsilon?: number | undefined
}

/**
 * Computes the epsilons that an accepted risk allows, by column.
 * @throws Refusal as {@link prepareAnalysis} and {@link epsilonForRisk} do, naming the column if its values are the
 * cause.
 */
export function epsilonOfColumns({
  risk,
  tolerance,
  curve: range,
  epsilon,
  ...question
}: ColumnsQuestion & AcceptedRisk) {
  const columns = analyseColumns(question, (analysis) => ({
    analysis,
    ...epsilonForRisk(analysis, risk, tolerance),
  }))
  if (range !== undefined) requireCurveFits(columns, range)
  const epsilons = range && evenlySpaced({ to: Math.max(inSightOf(columns), epsilon ?? 0), ...range })
  return columns.map(({ analysis, ...figures }) => ({
    ...figures,
    curve: epsilons && curve(analysis, epsilons),
    ...(epsilon === undefined ? {} : { atEpsilon: entry(curve(analysis, [epsilon]), 0) }),
  }))
}

function requireCurveFits(
  columns: readonly { readonly analysis: RiskAnalysis }[],
  { points }: EpsilonRange,
): void {
  const asked = columns.reduce((sum, { analysis }) => sum + analysis.answers.length, 0) * points
  if (asked <= MOST_CURVE_STEPS) return
  const excess = { counted: 'steps of the curve', asked: BigInt(asked), limit: MOST_CURVE_STEPS }
  throw tooManyWorlds('the curve has too many points for this number of different answers', excess)
}

type Bounds = ReturnType<typeof epsilonForRisk>

function inSightOf(columns: readonly Pick<Bounds, 'upperBound' | 'tightBound'>[]): number {
  const epsilons = columns.flatMap(({ upperBound, tightBound }) =>
    [upperBound, tightBound].map((bound) => (bound.reached ? bound.epsilon : 0)),
  )
  return 2 * Math.max(...epsilons) || 1
}

function evenlySpaced({ from, to, points }: Required<EpsilonRange>): readonly number[] {
  return Array.from({ length: points }, (_, index) =>
    Math.min(to, from + ((to - from) * index) / (points - 1)),
  )
}

function analyseColumns<Figures>(
  { columns, ...question }: ColumnsQuestion,
  figuresOf: (analysis: RiskAnalysis, column: string) => Figures,
) {
  const universes = Object.entries(columns)
  const prepared = universes.map(([column, universe]) => ({
    column,
    analyse: prepareColumn({ ...question, universe }, column, universes.length),
  }))
  return prepared.map(({ column, analyse }) => {
    const analysis = analyse()
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

/** Prepares a column's analysis. A refusal of its values names the column. */
function prepareColumn(question: RiskQuestion, column: string, columns: number): () => RiskAnalysis {
  const named = (text: string) =>
    text.startsWith('universe') ? text.replace('universe', `universe.${column}`) : text
  try {
    return prepareAnalysis(question, columns)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const errors = error.errors.map(({ field, rule }) => ({ field: named(field), rule }))
    throw new Refusal(error.code, named(error.message), errors, { ...error.facts, column })
  }
}
