import type { Query } from '../../../../schemas/answers/query.ts'
import {
  DEFAULT_CONFIDENCE,
  epsilonNano,
  epsilonNumber,
  type PrivacyLoss,
  type RhoPico,
} from '../../../privacy/loss.ts'
import { entry, must } from '../../../privacy/must.ts'
import { refuseField, refuseQuery } from '../../../privacy/refusal.ts'
import type { Sensitivity } from '../../../privacy/sensitivity.ts'
import type { Dataset } from '../../dataset/dataset.ts'
import {
  type Measurement,
  type NoiseShape,
  sensitivityFor,
  statedNoise,
} from '../../mechanisms/measurement.ts'
import { accuracy as accuracyOf, privacyMap, zeroConcentratedMap } from '../../mechanisms/mechanism.ts'
import { calibrateGaussianJointly } from '../../mechanisms/noise/gaussian.ts'
import { calibrateLaplace } from '../../mechanisms/noise/laplace.ts'
import { requireWithin } from '../../mechanisms/preconditions.ts'
import {
  cumulativeCounts as countsFrom,
  haarNodes,
  haarPrecisions,
  levelsFor,
} from '../../workloads/ordered.ts'
import { rhoTogether } from '../additive/measure.ts'
import type { Aggregate, Bounding } from '../language/aggregate.ts'
import {
  contributionTo,
  mostOfPerson,
  planBounding,
  requireNoClamp,
  requirePeople,
} from '../language/contribution.ts'
import { type OrderedCells, planOrderedCells } from '../language/ordered-cells.ts'
import { planRows } from '../language/predicate.ts'
import { epsilonRange, type Offer, planAtOffer } from '../price/accuracy-first.ts'
import { replacementLossInTwoSteps } from '../price/price.ts'
import { type JointSensitivity, sensitivitiesOfHaarNodes } from '../price/stability.ts'
import type { AccuracyReport, NoiseReport, PartialReport } from '../report-kinds.ts'
import { cellsOfRange, curveErrors, noisesOf } from './cumulative-curve.ts'
import { accuracyOfParts } from './marginals.ts'
import {
  addingNoise,
  type NoisyRelease,
  type PlanFacts,
  type PlanKind,
  type PlanLimits,
} from './plan-kind.ts'
import { percentageScore } from './quantile.ts'

export type CumulativeCountsQuery = Extract<Query, { kind: 'cumulativeCounts' }>

/** Plan that measures the Haar nodes of one ordered column, from which cumulative counts follow. */
export interface CumulativePlan extends PlanFacts {
  readonly kind: 'cumulative'
  readonly query: CumulativeCountsQuery
  readonly aggregate: Aggregate
  readonly cells: OrderedCells
  /** Of the number of all rows, then of the differences of each level. */
  readonly measurements: readonly Measurement[]
  /** Half-width of the count up to the end of each cell. */
  readonly halfWidths: readonly number[]
  /** Standard deviation of each of these counts. */
  readonly deviations: readonly number[]
}

/** The exact nodes, level by level. */
export interface CumulativeExact {
  readonly kind: 'cumulative'
  readonly nodes: readonly (readonly bigint[])[]
}

/** The noisy nodes, level by level. */
export type CumulativeRelease = NoisyRelease<'cumulative'>

/**
 * Plans cumulative counts, with Gaussian noise for a delta and Laplace noise without.
 * @throws Refusal `query-does-not-fit` for a column without an order, too many cells, or people who are in several cells.
 */
export function planCumulativeCounts(
  query: CumulativeCountsQuery,
  dataset: Dataset,
  { maxCells }: PlanLimits,
  offer: Offer,
): CumulativePlan {
  requireNoClamp(query.contribution)
  requirePeople(query.of, dataset)
  for (const [place, p] of query.p?.entries() ?? []) percentageScore(p, `p.${place}`)
  const cells = planOrderedCells(query.column, dataset, 'column')
  const count = cells.spans.length
  if (count > maxCells) throw refuseQuery('column', `has ${count} cells; at most ${maxCells} are supported`)
  for (const [place, range] of query.ranges?.entries() ?? [])
    cellsOfRange(range, cells.spans, `ranges.${place}`)
  const bounding = planBounding(query.contribution, dataset, 'groups')
  if (query.of === 'people') requireOneCellEach(cells.column, bounding, dataset)
  const aggregate: Aggregate = {
    ...planRows(query.where, dataset, bounding),
    groupBy: [cells.key],
    statistics: [{ kind: query.of === 'people' ? 'count-people' : 'count' }],
  }
  const levels = levelsFor(count)
  const joint = sensitivitiesOfHaarNodes(aggregate, levels, dataset)
  const shape: NoiseShape = offer.deltaAtto > 0n ? 'gaussian' : 'laplace'
  const precisions = haarPrecisions(
    count,
    shape,
    joint.moves.map((move) => move.map(({ l1, l2Squared }) => Number(shape === 'gaussian' ? l2Squared : l1))),
  )
  const scales = precisions.map((precision) => 1 / (shape === 'gaussian' ? Math.sqrt(precision) : precision))
  const errorsAt = curveErrors(count, shape, scales, offer.confidence)
  const contribution = contributionTo(bounding, (bounding) =>
    sensitivitiesOfHaarNodes({ ...aggregate, bounding }, levels, dataset).sensitivities.map((sensitivity) =>
      sensitivityFor(shape, sensitivity),
    ),
  )
  const planAt = (loss: PrivacyLoss): CumulativePlan => {
    const measurements = measure(shape, joint, scales, loss)
    return {
      kind: 'cumulative',
      query,
      dataset,
      measurements,
      loss,
      rho: rhoOf(measurements, joint),
      confidence: offer.confidence,
      aggregate,
      cells,
      ...errorsAt(noisesOf(measurements)),
      ...contribution,
    }
  }
  const range = epsilonRange(shape === 'gaussian' ? 1 : MOST_PARTS)
  return planAtOffer(offer, range, { planAt, halfWidthOf: ({ halfWidths }) => Math.max(...halfWidths) })
}

/**
 * A person in several cells would count several times in one cumulative count.
 * @throws Refusal `query-does-not-fit` unless each person is in one cell.
 */
function requireOneCellEach(name: string, bounding: Bounding, { columns }: Dataset): void {
  const column = columns.find((each) => each.name === name)
  if (column !== undefined && 'constantPerPerson' in column && column.constantPerPerson === true) return
  if (mostOfPerson(bounding).keys === 1) return
  const rule =
    `needs people with one value of ${name} each: declare the column as constantPerPerson, or bound the contribution of each ` +
    'person to one group, such as "contribution": {"groups": 1}'
  throw refuseQuery('of', rule)
}

/** Every level has at least this part of an epsilon. */
const MOST_PARTS = 10_000

/**
 * Calibrates the noise of each level in proportion to its scale, so that the move that costs most costs the loss.
 * @throws Refusal `invalid-request` for an epsilon that is too small to be divided.
 */
function measure(
  shape: NoiseShape,
  joint: JointSensitivity,
  scales: readonly number[],
  { epsilonNano: epsilon, deltaAtto }: PrivacyLoss,
): readonly Measurement[] {
  const { sensitivities, moves } = joint
  if (shape === 'gaussian')
    return calibrateGaussianJointly(sensitivities, epsilon, deltaAtto, 'analytic', { moves, widths: scales })
  if (epsilon < MOST_PARTS) {
    const rule = `must be large enough to be divided into ${scales.length} parts`
    throw refuseField('invalid-request', 'epsilon', rule)
  }
  // Two nano-epsilons for each level are more than rounding takes.
  const divided = Number(epsilon) - 2 * scales.length
  const parts = sensitivities.map(({ l1 }, level) =>
    BigInt(Math.floor((divided * Number(l1)) / entry(scales, level))),
  )
  const measureIn = (each: readonly bigint[]) =>
    sensitivities.map((sensitivity, level) => calibrateLaplace(sensitivity, epsilonNano(entry(each, level))))
  // The last level takes what is left. A move that costs half of a level's epsilon rounds it up.
  const rest = epsilon - epsilonOf(measureIn(parts), joint)
  const last = parts.length - 1
  const measurements = measureIn(parts.map((part, level) => (level === last ? part + rest : part)))
  requireWithin(
    { epsilonNano: epsilonOf(measurements, joint), deltaAtto },
    { epsilonNano: epsilon, deltaAtto },
  )
  return measurements
}

/** The epsilon of the move that costs most. */
function epsilonOf(measurements: readonly Measurement[], { moves }: JointSensitivity): bigint {
  const costOf = (move: readonly Sensitivity[]) =>
    measurements.reduce((sum, each, level) => sum + privacyMap(each, entry(move, level)).epsilonNano, 0n)
  return largest(moves.map(costOf))
}

/** The rho of the move that costs most. */
function rhoOf(measurements: readonly Measurement[], { moves }: JointSensitivity): RhoPico {
  const costOf = (move: readonly Sensitivity[]) =>
    rhoTogether(measurements.map((each, level) => zeroConcentratedMap(each, entry(move, level))))
  return largest(moves.map(costOf))
}

function largest<Amount extends bigint>([first, ...others]: readonly Amount[]): Amount {
  return others.reduce((most, each) => (each > most ? each : most), must(first, 'a move'))
}

/** Cumulative counts of one ordered column. */
export const cumulative: PlanKind<CumulativePlan, CumulativeExact, CumulativeRelease> = {
  readings: ({ aggregate }) => [{ method: 'aggregate', aggregate }],
  exact: (_, { aggregate }) => ({ kind: 'cumulative', nodes: haarNodes(entry(entry(aggregate, 0), 0)) }),
  release: ({ measurements }, { nodes }) => addingNoise('cumulative', measurements, nodes),
  chosen: ({ query: { delta } }) => (delta > 0 ? { delta } : {}),
  rowsThatCount: ({ aggregate }) => aggregate.where,
  mostValues: ({ cells }) => cells.spans.length,
  leastHalfWidthRows: ({ measurements }) =>
    Math.min(...measurements.map((each) => accuracyOf(each, DEFAULT_CONFIDENCE).halfWidth)),
  replacementLoss: replacementLossInTwoSteps,
  noise,
  accuracy,
  reporter,
}

function noise({ dataset: { neighbours }, measurements, cells, loss }: CumulativePlan): NoiseReport {
  const isPure = loss.deltaAtto === 0n
  return {
    mechanism: isPure ? 'laplace' : 'gaussian',
    neighbours,
    statistics: measurements.map((measurement, level) => ({
      ...(level === 0 ? { statistic: 'count' } : { statistic: 'difference of halves', column: cells.column }),
      ...statedNoise(measurement),
      ...(isPure ? { epsilon: epsilonNumber(measurement.loss.epsilonNano) } : {}),
    })),
  }
}

function accuracy({ confidence, halfWidths, deviations }: CumulativePlan): AccuracyReport {
  return accuracyOfParts(
    confidence,
    deviations.map((deviation, place) => ({ deviation, halfWidth: entry(halfWidths, place) })),
  )
}

function reporter(plan: CumulativePlan): (release: CumulativeRelease) => PartialReport {
  const { measurements, cells, halfWidths } = plan
  const { column, spans } = cells
  return ({ noisy }) => {
    const values = cumulativeNumbers(measurements, noisy, spans.length)
    const groups = spans.map((span, place) => {
      const [value, halfWidth] = [entry(values, place), entry(halfWidths, place)]
      // A count is never negative.
      const interval = { lower: Math.max(0, value - halfWidth), upper: Math.max(0, value + halfWidth) }
      return { key: { [column]: span }, values: { count: { value, halfWidth, interval } } }
    })
    return { result: { groups } }
  }
}

/** The cumulative counts that follow from nodes in the output units of their measurements. */
export function cumulativeNumbers(
  measurements: readonly Measurement[],
  nodes: readonly (readonly bigint[])[],
  cells: number,
): readonly number[] {
  const finest = Math.max(...measurements.map(({ fractionBits }) => fractionBits))
  const inOneUnit = measurements.map(({ fractionBits }, level) =>
    entry(nodes, level).map((node) => node << BigInt(finest - fractionBits)),
  )
  const unit = 2 ** -(finest + measurements.length - 1)
  return countsFrom(inOneUnit, cells).map((numerator) => Number(numerator) * unit)
}
