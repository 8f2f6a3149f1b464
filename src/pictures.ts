import type { EvaluatedQuery } from './evaluate-synthetic.ts'
import {
  type ComparedMechanism,
  type Criterion,
  compareMechanisms,
  measurementOf,
  type Workload,
} from './mechanisms/compare.ts'
import { accuracy } from './mechanisms/mechanism.ts'
import { noiseDistribution } from './mechanisms/noise-distribution.ts'
import type { CellLabel } from './planner/grouping.ts'
import {
  type AnswerDistributionPlot,
  MOST_CELLS,
  type NoiseComparisonPlot,
  type NoisyTablePlot,
  type RiskPanel,
  type RiskPlot,
} from './plots/plot.ts'
import { lossNumbers } from './privacy/loss.ts'
import { refuseField } from './privacy/refusal.ts'
import type { CurvePoint, EpsilonForRisk } from './risk/disclosure-risk.ts'
import type { RiskQuery } from './risk/question.ts'

/** What {@link pictureOfRisk} shows of each column. */
interface ColumnRisk extends Pick<RiskPanel, 'largestPrior' | 'upperBoundHolds'> {
  readonly column: string
  readonly upperBound: EpsilonForRisk
  readonly tightBound: EpsilonForRisk
  readonly curve?: readonly CurvePoint[]
}

/** Both bounds of the disclosure risk against epsilon, the risk that is accepted, and the epsilons that keep to it. */
export function pictureOfRisk(query: RiskQuery, risk: number, columns: readonly ColumnRisk[]): RiskPlot {
  const panels = columns.map(({ column, upperBound, tightBound, largestPrior, upperBoundHolds, curve }) => ({
    name: column,
    curve: curve ?? [],
    largestPrior,
    upperBoundHolds,
    upperBoundEpsilon: epsilonOf(upperBound),
    tightBoundEpsilon: epsilonOf(tightBound),
  }))
  return { plot: 'risk', query: query.kind, risk, panels }
}

function epsilonOf(found: EpsilonForRisk): number | null {
  return found.reached ? found.epsilon : null
}

/** Where a risk is drawn up to without being asked for a range: twice as far as its epsilons, so that they are in sight. */
export function rangeOfRisk(columns: readonly Pick<ColumnRisk, 'upperBound' | 'tightBound'>[]): number {
  const epsilons = columns.flatMap(({ upperBound, tightBound }) => [upperBound, tightBound].map(epsilonOf))
  const farthest = Math.max(0, ...epsilons.filter((epsilon) => epsilon !== null))
  return farthest > 0 ? 2 * farthest : 1
}

/**
 * The noise of each mechanism by the number of statistics that one person influences.
 * @throws RangeError as {@link compareMechanisms}.
 */
export function pictureOfNoise(workload: Workload, criterion: Criterion): NoiseComparisonPlot {
  const { rows, crossings } = compareMechanisms(workload)
  return {
    plot: 'noise-comparison',
    ...lossNumbers(workload.loss),
    criterion,
    confidence: workload.confidence,
    rows: rows.map(({ statistics, noise }) => ({
      statistics,
      noise: Object.fromEntries(
        Object.entries(noise).map(([mechanism, figures]) => [mechanism, figures[criterion]]),
      ),
    })),
    crossings: crossings.flatMap(({ mechanism, against, [criterion]: from }) =>
      from === null ? [] : [{ mechanism, against, from }],
    ),
  }
}

/**
 * How the answers of a mechanism spread around the truth.
 * @throws Refusal where the mechanism does not apply.
 */
export function pictureOfAnswers(
  mechanism: ComparedMechanism,
  workload: Workload,
  truth: number,
): AnswerDistributionPlot {
  const measurement = measurementOf(mechanism, workload)
  const { confidence, fractionDigits } = workload
  const gridUnits = 10 ** fractionDigits
  const { discrete, points } = noiseDistribution(measurement)
  return {
    plot: 'answer-distribution',
    mechanism,
    ...lossNumbers(workload.loss),
    truth,
    discrete,
    confidence,
    halfWidth: accuracy(measurement, confidence).halfWidth / gridUnits,
    points: points.map(({ noise, probability }) => ({
      value: truth + noise / gridUnits,
      probability: discrete ? probability : probability * gridUnits,
    })),
  }
}

/**
 * A noisy table of made-up people with its error bars, beside the truth: the first answer of an evaluation.
 * @throws Refusal `query-does-not-fit` for what is not a table of one number per cell, or too large to be looked at.
 */
export function pictureOfTable(evaluated: EvaluatedQuery): NoisyTablePlot {
  const { dataset, kind, accuracy, confidence } = evaluated
  const values = 'values' in evaluated ? evaluated.values : []
  const noisy = 'values' in evaluated ? (evaluated.shown[0]?.values ?? []) : []
  const labels = values.map(({ key }) => key)
  const keys = Object.keys(labels[0] ?? {})
  if (keys.length === 0 || new Set(labels.map((key) => JSON.stringify(key))).size < values.length)
    throw refuseField(
      'query-does-not-fit',
      'query.kind',
      'must be one with one number for each cell of a table',
    )
  if (values.length > MOST_CELLS) {
    const rule = `must have at most ${MOST_CELLS} cells to be drawn; this has ${values.length}`
    throw refuseField('query-does-not-fit', 'query', rule)
  }
  const cells = values.flatMap(({ key, truth }, place) => {
    const value = noisy[place]?.noisy
    if (key === undefined || value === undefined || value === null) return []
    const { halfWidth } = accuracy
    return [
      { key: Object.values(key).map(labelText), value, halfWidth, ...(truth === null ? {} : { truth }) },
    ]
  })
  return { plot: 'noisy-table', title: `Noisy ${kind}: ${dataset}`, keys, cells, confidence }
}

function labelText(label: CellLabel): string {
  if (label === null) return 'no value'
  return typeof label === 'object' ? `${label.lower} to ${label.upper}` : String(label)
}
