import { evaluateQuery } from '../evaluation/evaluation.ts'
import type { EvaluationInput } from '../evaluation/input.ts'
import type { EvaluatedQuery } from '../evaluation/report.ts'
import {
  type ComparedMechanism,
  type Criterion,
  compareMechanisms,
  measurementOf,
  type Workload,
} from '../mechanisms/compare.ts'
import { accuracy } from '../mechanisms/mechanism.ts'
import { noiseDistribution } from '../mechanisms/noise-distribution.ts'
import type { UniformSource } from '../mechanisms/samplers/uniform-source.ts'
import type { CellLabel } from '../planner/grouping.ts'
import {
  type AnswerDistributionPlot,
  MOST_CELLS,
  type NoiseComparisonPlot,
  type NoisyTablePlot,
  type Plot,
  type RiskPlot,
} from '../plots/plot.ts'
import { lossNumbers } from '../privacy/loss.ts'
import { refuseField, withinField } from '../privacy/refusal.ts'
import { type AcceptedRisk, type ColumnsQuestion, epsilonOfColumns } from '../risk/columns.ts'

/** What can be pictured: a question, whose answer is worked out to be drawn. */
export type Picture =
  | { readonly picture: 'risk'; readonly question: ColumnsQuestion & AcceptedRisk }
  | { readonly picture: 'noise-comparison'; readonly workload: Workload; readonly criterion: Criterion }
  | {
      readonly picture: 'answer-distribution'
      readonly mechanism: ComparedMechanism
      readonly workload: Workload
      readonly truth: number
    }
  /** A table of made-up people, with noise that is drawn for the picture. */
  | { readonly picture: 'noisy-table'; readonly trial: EvaluationInput }

/**
 * What a picture shows, worked out: seconds of a processor, at the most.
 * @throws Refusal naming a field below `question` or `query`, where that cannot be answered, or the answer not be drawn.
 */
export async function plotOf(picture: Picture, noiseSource: UniformSource): Promise<Plot> {
  switch (picture.picture) {
    case 'risk':
      return withinField('question', () => plotOfRisk(picture.question))
    case 'noise-comparison':
      return withinField('question', () => plotOfNoise(picture.workload, picture.criterion))
    case 'answer-distribution': {
      const { mechanism, workload, truth } = picture
      return withinField('question', () => plotOfAnswers(mechanism, workload, truth))
    }
    case 'noisy-table':
      return plotOfTable(
        await evaluateQuery(picture.trial.plan, picture.trial.exact, { ...ONE_RUN, noiseSource }),
      )
  }
}

const ONE_RUN = { runs: 1, shown: 1 }
const CURVE = { from: 0, points: 201 }

/** Both bounds of the disclosure risk against epsilon, the risk that is accepted, and the epsilons that keep to it. */
function plotOfRisk({ curve: range = CURVE, ...question }: ColumnsQuestion & AcceptedRisk): RiskPlot {
  const { query, risk } = question
  const panels = epsilonOfColumns({ ...question, curve: range }).map(
    ({ column, curve, largestPrior, upperBoundHolds, upperBound, tightBound }) => ({
      name: column,
      curve: curve ?? [],
      largestPrior,
      upperBoundHolds,
      upperBoundEpsilon: upperBound.reached ? upperBound.epsilon : null,
      tightBoundEpsilon: tightBound.reached ? tightBound.epsilon : null,
    }),
  )
  return { plot: 'risk', query: query.kind, risk, panels }
}

/** The noise of each mechanism by the number of statistics that one person influences. */
function plotOfNoise(workload: Workload, criterion: Criterion): NoiseComparisonPlot {
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

/** How the answers of a mechanism spread around the truth. */
function plotOfAnswers(
  mechanism: ComparedMechanism,
  workload: Workload,
  truth: number,
): AnswerDistributionPlot {
  const measurement = measurementOf(mechanism, workload)
  const { confidence, fractionDigits } = workload
  const gridUnits = 10 ** fractionDigits
  const { discrete, points } = noiseDistribution(measurement)
  const answers = points.map(({ noise, probability }) => ({
    value: truth + noise / gridUnits,
    probability: discrete ? probability : probability * gridUnits,
  }))
  if (answers.some(({ value }, place) => value <= (answers[place - 1]?.value ?? Number.NEGATIVE_INFINITY))) {
    const rule = 'must be close enough to 0 for a double to tell it from its noisy answers'
    throw refuseField('invalid-request', 'truth', rule)
  }
  return {
    plot: 'answer-distribution',
    mechanism,
    ...lossNumbers(workload.loss),
    truth,
    discrete,
    confidence,
    halfWidth: accuracy(measurement, confidence).halfWidth / gridUnits,
    points: answers,
  }
}

/** A noisy table of made-up people with its error bars, beside the truth. */
function plotOfTable(evaluated: EvaluatedQuery): NoisyTablePlot {
  const { dataset, kind, confidence } = evaluated
  const values = 'values' in evaluated ? evaluated.values : []
  const noisy = 'values' in evaluated ? (evaluated.shown[0]?.values ?? []) : []
  const labels = values.map(({ key }) => key)
  const what = values[0]?.statistic ?? kind
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
    const { noisy: value = null, halfWidth = null } = noisy[place] ?? {}
    if (key === undefined || value === null) return []
    return [
      { key: Object.values(key).map(labelText), value, halfWidth, ...(truth === null ? {} : { truth }) },
    ]
  })
  const unit = kind === 'contingency' || kind === 'histogram' ? { unit: 'rows' } : {}
  return { plot: 'noisy-table', title: `Noisy ${what}: ${dataset}`, keys, cells, confidence, ...unit }
}

function labelText(label: CellLabel): string {
  if (label === null) return 'no value'
  return typeof label === 'object' ? `${label.lower} to ${label.upper}` : String(label)
}
