import { accuracy } from '../../core/mechanisms/mechanism.ts'
import type { UniformSource } from '../../core/mechanisms/samplers/uniform-source.ts'
import { defined } from '../../privacy/defined.ts'
import { lossNumbers } from '../../privacy/loss.ts'
import { refuseField, withinField } from '../../privacy/refusal.ts'
import { evaluateQuery } from '../evaluation/evaluation.ts'
import type { EvaluationInput } from '../evaluation/input.ts'
import type { EvaluatedQuery } from '../evaluation/report.ts'
import { type AcceptedRisk, type ColumnsQuestion, epsilonOfColumns } from '../risk/columns.ts'
import {
  type ComparedMechanism,
  type Criterion,
  compareMechanisms,
  measurementOf,
  type Workload,
} from './compare.ts'
import { noiseDistribution } from './noise-distribution.ts'
import {
  type AnswerDistributionPlot,
  MOST_CELLS,
  type NoiseComparisonPlot,
  type NoisyTablePlot,
  type Plot,
  type RiskPlot,
} from './plot.ts'
import { labelText, plotsOfRelease } from './release-plot.ts'
import type { SeriesColumn } from './time-series.ts'

/** A plot to draw: the question whose answer it shows. */
export type Picture =
  | { readonly picture: 'risk'; readonly question: ColumnsQuestion & AcceptedRisk }
  | { readonly picture: 'noise-comparison'; readonly workload: Workload; readonly criterion: Criterion }
  | {
      readonly picture: 'answer-distribution'
      readonly mechanism: ComparedMechanism
      readonly workload: Workload
      readonly truth: number
    }
  /** The panels of a stored release. Series over time are cut at the ranges of the declared columns that are known. */
  | {
      readonly picture: 'release'
      readonly stored: string
      readonly columns: readonly SeriesColumn[]
      /** Names of the columns of the one table of marginals to draw, separated by commas. */
      readonly table?: string | undefined
    }
  /** A table of synthetic data with fresh noise, of one run that is shown. */
  | { readonly picture: 'noisy-table'; readonly trial: EvaluationInput }

/**
 * Computes the data of the plots that a picture shows below each other. Takes a few seconds of processor time at most.
 * @throws Refusal naming a field below `question` or `query` that cannot be answered, or whose answer cannot be drawn.
 */
export async function plotsOf(picture: Picture, noiseSource: UniformSource): Promise<readonly Plot[]> {
  switch (picture.picture) {
    case 'risk':
      return [withinField('question', () => plotOfRisk(picture.question))]
    case 'noise-comparison':
      return [withinField('question', () => plotOfNoise(picture.workload, picture.criterion))]
    case 'answer-distribution': {
      const { mechanism, workload, truth } = picture
      return [withinField('question', () => plotOfAnswers(mechanism, workload, truth))]
    }
    case 'noisy-table':
      return [
        plotOfTable(
          picture.trial.plan.query,
          await evaluateQuery(picture.trial, { ...picture.trial, noiseSource }),
        ),
      ]
    case 'release':
      return plotsOfRelease(picture.stored, picture.columns, picture.table)
  }
}

const CURVE = { from: 0, points: 201 }

/** Plots both bounds of the disclosure risk against epsilon, with the accepted risk and the epsilons that keep it. */
function plotOfRisk({ curve: range = CURVE, ...question }: ColumnsQuestion & AcceptedRisk): RiskPlot {
  const { query, risk } = question
  const panels = epsilonOfColumns({ ...question, curve: range }).map(
    ({ column, curve, largestPrior, upperBoundHolds, upperBound, tightBound, atEpsilon }) => ({
      name: column,
      curve: curve ?? [],
      largestPrior,
      upperBoundHolds,
      upperBoundEpsilon: upperBound.reached ? upperBound.epsilon : null,
      tightBoundEpsilon: tightBound.reached ? tightBound.epsilon : null,
      ...defined({ stated: atEpsilon }),
    }),
  )
  return { plot: 'risk', query: query.kind, risk, panels }
}

/** Plots the noise of each mechanism against the number of statistics that one person influences. */
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

/** Plots the distribution of a mechanism's answers around the truth. */
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
    const rule = 'must be close enough to 0 for a double to distinguish it from its noisy answers'
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

/** Plots a noisy table of synthetic data with error bars, next to the true values. */
function plotOfTable(query: EvaluationInput['plan']['query'], evaluated: EvaluatedQuery): NoisyTablePlot {
  const { dataset, kind, confidence } = evaluated
  const values = 'values' in evaluated ? evaluated.values : []
  const noisy = 'values' in evaluated ? (evaluated.shown[0]?.values ?? []) : []
  const labels = values.map(({ key }) => key)
  const statistic = values[0]?.statistic
  const keys = Object.keys(labels[0] ?? {})
  if (keys.length === 0 || new Set(labels.map((key) => JSON.stringify(key))).size < values.length)
    throw refuseField(
      'query-does-not-fit',
      'query.kind',
      'must be a query with one number for each cell of a table',
    )
  if (values.length > MOST_CELLS) {
    const rule = `must have at most ${MOST_CELLS} cells to be drawn; this has ${values.length}`
    throw refuseField('query-does-not-fit', 'query', rule)
  }
  const cells = values.flatMap(({ key, truth }, place) => {
    const { noisy: value = null, halfWidth: stated = null, rankErrorRows } = noisy[place] ?? {}
    // The half-width of a quantile is a number of rows and cannot be drawn beside its value.
    const halfWidth = rankErrorRows === undefined ? stated : null
    if (key === undefined || value === null) return []
    if (typeof value === 'string' || typeof truth === 'string')
      throw refuseField('query-does-not-fit', 'query.statistics', 'must be numbers to be drawn')
    return [
      { key: Object.values(key).map(labelText), value, halfWidth, ...(truth === null ? {} : { truth }) },
    ]
  })
  const title = `Noisy ${statistic ?? kind}: ${dataset}`
  // Cells without the name of a statistic are counts; the unit of a statistic depends on its column.
  const counted = 'of' in query && query.of === 'people' ? 'people' : 'rows'
  const unit = statistic === undefined ? counted : undefined
  return defined({ plot: 'noisy-table', title, keys, cells, confidence, unit })
}
