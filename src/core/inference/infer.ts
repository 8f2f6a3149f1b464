import { entry, must } from '../../privacy/must.ts'
import type { Dataset } from '../dataset/dataset.ts'
import type { Measurement } from '../mechanisms/measurement.ts'
import { accuracy } from '../mechanisms/mechanism.ts'
import { expectedAbsoluteBound, halfWidthBound, noiseOf } from '../mechanisms/noise/combined-noise.ts'
import type { WeightedNoise } from '../mechanisms/noise/weighted-noise.ts'
import { estimatorsOf } from '../planner/additive/estimates/estimate-kinds.ts'
import { columnRange } from '../planner/additive/estimates/estimator.ts'
import { unitOf } from '../planner/additive/estimates/noisy-statistic.ts'
import { type OtherEstimate, reportOfEstimates } from '../planner/additive/report.ts'
import type { AdditivePlan, Estimate } from '../planner/additive/shape.ts'
import { type Aggregate, cellCount } from '../planner/language/aggregate.ts'
import type { CellIntegers } from '../planner/language/reading.ts'
import type { CumulativePlan } from '../planner/plans/cumulative.ts'
import type { Report } from '../planner/report-kinds.ts'
import { nodesOf } from '../workloads/ordered.ts'
import { type AddedUp, addedUp, columnsNeeded } from './added-up.ts'
import {
  type Conditions,
  type ElementaryCells,
  elementaryCells,
  mostElementaryCells,
  withConditions,
} from './elementary-cells.ts'
import type { Steps } from './identities.ts'
import {
  combinedForms,
  type LinearForm,
  linearForms,
  numberedUnknowns,
  placesByUnknown,
  type Unknowns,
} from './linear-forms.ts'
import { type Interval, intervalOfRatio, partsOfRatio } from './ratios.ts'
import { bestWeights, type Weights } from './weights.ts'

/*
 * Answers inferred from paid releases: the best linear unbiased estimate of every statistic that a question needs. Weights follow
 * from conditions and variances, which are public, never from noisy values, so that estimates are unbiased and their
 * half-widths hold. Proof and limits: src/core/inference/inference.md.
 */

/** The plans of releases that answers can follow from: those of sums and counts, and of the nodes of cumulative counts. */
export type PaidPlan = AdditivePlan | CumulativePlan

/** A paid release of sums and counts, or of nodes. */
export interface PaidRelease {
  /** Identifies what was measured: one id, however many releases show it. */
  readonly id: string
  /** The plan by which it was released, of the same version of the dataset as the question. */
  readonly plan: PaidPlan
  /** Noisy integers as `integers[statistic][cell]`, in output units; of nodes, as `integers[level][node]`. */
  readonly integers: CellIntegers
}

/** A measured number: one cell of one statistic of a release, or the sum of several. */
interface Measured {
  readonly release: PaidRelease
  readonly statistic: number
  readonly cells: readonly number[]
  readonly form: LinearForm
}

/** One term of an estimate: an integer of a release, in output units, and its weight, as a multiple of 1 / denominator. */
export interface Term {
  readonly release: string
  readonly statistic: number
  readonly cell: number
  readonly weight: bigint
}

/** The estimate of a statistic of the question in one cell, in grid units: the sum of weight * integer / denominator. */
export interface StatisticEstimate {
  readonly terms: readonly Term[]
  readonly denominator: bigint
  /** In squared grid units. */
  readonly variance: number
  readonly value: number
}

/** What paid releases say about a question. */
export interface Inferred {
  /** As `statistics[statistic][cell]`, of the question's aggregate. */
  readonly statistics: readonly (readonly StatisticEstimate[])[]
  readonly report: Report
}

/** Why paid releases do not answer a question. */
export type NotInferred =
  | { readonly kind: 'unsupported' }
  | { readonly kind: 'too-many-cells' }
  | { readonly kind: 'too-many-terms' }
  /** The steps were used up before it was known which cells follow. */
  | { readonly kind: 'ended' }
  /** Places of the cells of the question that do not follow, and the number of releases that limits have left out. */
  | { readonly kind: 'missing'; readonly cells: readonly number[]; readonly leftOut: number }

/** Limits of one inference. */
export const INFERENCE_LIMITS = {
  cells: 4_096,
  cellsOfQuestion: 20_000,
  releases: 500,
  integers: 20_000,
  steps: 5_000_000,
  terms: 200_000,
} as const

/** The best estimate of a question from paid releases, or why there is none. */
export function infer(target: AdditivePlan, paid: readonly PaidRelease[]): Inferred | NotInferred {
  const isMade = target.estimates.every(
    (estimate) => isLinearEstimate(estimate) || partsOfRatio(estimate) !== undefined,
  )
  if (!isMade || !isUnselected(target)) return { kind: 'unsupported' }
  const found = inferAt(target, paid, 'releases')
  if (!isLimited(found)) return found
  const coarser = inferAt(target, paid, 'question')
  return 'kind' in coarser ? found : coarser
}

/**
 * The elementary cells of an inference: those of question and releases, or those of the question alone, with releases that add no
 * others.
 */
type Detail = 'releases' | 'question'

/** True if limits may be the reason why a question does not follow. */
function isLimited(found: Inferred | NotInferred): boolean {
  if (!('kind' in found)) return false
  return (
    found.kind === 'ended' ||
    found.kind === 'too-many-terms' ||
    (found.kind === 'missing' && found.leftOut > 0)
  )
}

function inferAt(target: AdditivePlan, paid: readonly PaidRelease[], detail: Detail): Inferred | NotInferred {
  const system = systemOf(target, paid, detail)
  if ('kind' in system) return system
  const { forms, measured, variances } = system
  const missing = new Set<number>()
  let terms = 0
  const steps: Steps = { left: INFERENCE_LIMITS.steps }
  const sizes = measured.map(({ cells }) => cells.length)
  const measurements = { forms: measured.map(({ form }) => form), variances, sizes }
  const weightsOf = bestWeights(measurements, forms.flat(), steps)
  const weights = forms.map((cells) =>
    cells.map((form, cell) => {
      const found = terms > INFERENCE_LIMITS.terms ? undefined : weightsOf(form)
      if (found === undefined) missing.add(cell)
      else terms += [...found.numerators.keys()].reduce((sum, place) => sum + entry(sizes, place), 0)
      return found
    }),
  )
  if (terms > INFERENCE_LIMITS.terms) return { kind: 'too-many-terms' }
  if (missing.size > 0 && steps.left < 0) return { kind: 'ended' }
  if (missing.size > 0)
    return { kind: 'missing', cells: [...missing].sort((a, b) => a - b), leftOut: system.leftOut }
  const found = weights.map((cells) => cells.map((each) => must(each, 'the weights of a cell')))
  const estimates = estimatesOf(target, found, measured)
  return {
    statistics: found.map((cells) => cells.map((each) => statisticEstimate(each, measured, variances))),
    report: reportOfEstimates(target, estimates),
  }
}

/** The forms of a question's statistics and of the measured integers, in the same unknowns. */
interface System {
  readonly forms: readonly (readonly LinearForm[])[]
  readonly measured: readonly Measured[]
  readonly variances: readonly number[]
  readonly leftOut: number
}

function systemOf(target: AdditivePlan, paid: readonly PaidRelease[], detail: Detail): System | NotInferred {
  const { aggregate, dataset } = target
  const own = withConditions(new Map(), aggregate, dataset)
  if (own === undefined) return { kind: 'unsupported' }
  if (!isWithinLimit(own, dataset, INFERENCE_LIMITS.cellsOfQuestion)) return { kind: 'too-many-cells' }
  const { conditions, chosen, leftOut } = chosenReleases(target, own, paid, detail)
  const cells = must(elementaryCells(conditions, dataset, Number.POSITIVE_INFINITY), 'elementary cells')
  const unknowns = numberedUnknowns()
  const formsOf = (plan: PaidPlan) => formsOfPlan(plan, cells, unknowns)
  const forms = formsOf(target)
  const known = forms.filter((each) => each !== undefined)
  if (known.length < forms.length) return { kind: 'unsupported' }
  const all = chosen.flatMap(({ release, aggregate, groups }) =>
    formsOf({ ...release.plan, aggregate }).flatMap((forms, statistic) =>
      (forms ?? []).map(
        (form, cell): Measured => ({
          release,
          statistic,
          cells: groups === undefined ? [cell] : entry(groups, cell),
          form,
        }),
      ),
    ),
  )
  const measured = connected(all, known.flat())
  const variances = measured.map(
    ({ release, statistic, cells }) => cells.length * varianceOf(entry(release.plan.measurements, statistic)),
  )
  return { forms: known, measured, variances, leftOut }
}

/** A release as it takes part: with its own cells, or with sums of them. */
interface Chosen extends AddedUp {
  readonly release: PaidRelease
}

/** The forms of the measured integers of a plan, as its releases have them; `undefined` for those that are no sums. */
function formsOfPlan(
  { kind, aggregate, dataset }: PaidPlan,
  cells: ElementaryCells,
  unknowns: Unknowns,
): readonly (readonly LinearForm[] | undefined)[] {
  const forms = linearForms(aggregate, cellCount(aggregate), cells, unknowns, dataset)
  return kind === 'additive' ? forms : nodesOf(must(entry(forms, 0), 'counts'), new Map(), combinedForms)
}

/** Number of measured integers of a plan. */
function integersOf({ kind, aggregate, measurements }: PaidPlan): number {
  return kind === 'additive' ? cellCount(aggregate) * measurements.length : 2 ** (measurements.length - 1)
}

/** One grid unit of a measured statistic, in the unit that people read; of a node, one row or person. */
function paidUnitOf(plan: PaidPlan, statistic: number): number {
  return plan.kind === 'additive' ? unitOf(plan, statistic) : 1
}

/**
 * Chooses releases, those about the question's columns first and otherwise in the order given, as long as their elementary cells
 * and integers are few enough. Cells are added up over columns that tell nothing more; in a release with too many elementary cells,
 * over whatever the question does not tell apart.
 */
function chosenReleases(
  { dataset }: AdditivePlan,
  own: Conditions,
  paid: readonly PaidRelease[],
  detail: Detail,
) {
  const usable = paid.filter(({ plan }) => isUnselected(plan))
  const needed = new Set(
    usable.flatMap(({ plan }) => (plan.kind === 'additive' ? [] : columnsIn(plan.aggregate, dataset))),
  ).union(
    columnsNeeded(
      usable.flatMap(({ plan }) => (plan.kind === 'additive' ? [plan.aggregate] : [])),
      dataset,
    ),
  )
  const ofQuestion = must(elementaryCells(own, dataset, Number.POSITIVE_INFINITY), 'elementary cells')
  const size = ofQuestion.constant * ofQuestion.varying
  const most = detail === 'question' ? size : Math.max(INFERENCE_LIMITS.cells, size)
  const chosen: Chosen[] = []
  let conditions = own
  let left: number = INFERENCE_LIMITS.integers
  const isTaken = (candidate: Chosen): boolean => {
    const { aggregate, release } = candidate
    const integers = integersOf({ ...release.plan, aggregate })
    if (integers > left) return false
    const more = withConditions(conditions, aggregate, dataset)
    if (more === undefined || !isWithinLimit(more, dataset, most)) return false
    conditions = more
    left -= integers
    chosen.push(candidate)
    return true
  }
  const candidates = usable.slice(0, INFERENCE_LIMITS.releases).map((release): Chosen => {
    // The nodes of cumulative counts are differences of cells, which depend on where each cell is.
    if (release.plan.kind !== 'additive') return { release, aggregate: release.plan.aggregate }
    const sums = addedUp(
      release.plan.aggregate,
      { isNeeded: (column) => own.has(column) || needed.has(column) },
      dataset,
    )
    return { release, ...sums }
  })
  const isWithin = ({ aggregate }: Chosen) => columnsIn(aggregate, dataset).every((column) => own.has(column))
  for (const each of [...candidates.filter(isWithin), ...candidates.filter((each) => !isWithin(each))]) {
    if (isTaken(each)) continue
    const { release } = each
    if (release.plan.kind !== 'additive') continue
    const isNeeded = (column: string) => own.has(column)
    isTaken({ release, ...addedUp(release.plan.aggregate, { isNeeded, conditions: own }, dataset) })
  }
  return { conditions, chosen, leftOut: usable.length - chosen.length }
}

/** The columns that the conditions of an aggregate are about. */
function columnsIn(aggregate: Aggregate, dataset: Dataset): readonly string[] {
  return [...(withConditions(new Map(), aggregate, dataset) ?? new Map()).keys()]
}

function isWithinLimit(conditions: Conditions, dataset: Dataset, most: number): boolean {
  return (
    mostElementaryCells(conditions, dataset) <= most ||
    elementaryCells(conditions, dataset, most) !== undefined
  )
}

/** False for a release that shows some of its cells because their noisy values are large. */
export function isUnselected(plan: PaidPlan): boolean {
  return !(plan.kind === 'additive' && plan.shown.kind === 'cells' && plan.shown.largest !== undefined)
}

/** The measured integers that are linked to some forms by common unknowns. */
function connected(all: readonly Measured[], forms: readonly LinearForm[]): readonly Measured[] {
  const byUnknown = placesByUnknown(all.map(({ form }) => form))
  const reached = new Set<number>()
  const seen = new Set<number>()
  const queue = forms.flatMap((form) => [...form.keys()])
  for (let unknown = queue.pop(); unknown !== undefined; unknown = queue.pop()) {
    if (seen.has(unknown)) continue
    seen.add(unknown)
    // No measured integer may contain an unknown of the question.
    const places = byUnknown.get(unknown)
    if (places === undefined) continue
    for (const place of places) {
      if (reached.has(place)) continue
      reached.add(place)
      queue.push(...entry(all, place).form.keys())
    }
  }
  return all.filter((_, place) => reached.has(place))
}

/** Least variance that weights distinguish, in squared grid units: noise below it is practically never drawn. */
const LEAST_VARIANCE = 1e-9

/** The variance of a measurement in squared grid units. It is 0 in floating point for the largest epsilons. */
export function varianceOf(measurement: Measurement): number {
  return Math.max(LEAST_VARIANCE, accuracy(measurement, 0.95).standardDeviation ** 2)
}

function statisticEstimate(
  weights: Weights,
  measured: readonly Measured[],
  variances: readonly number[],
): StatisticEstimate {
  const { terms, denominator } = exactTerms(weights, measured)
  let variance = 0
  for (const [place, weight] of weights.numerators)
    variance += (Number(weight) / Number(weights.denominator)) ** 2 * entry(variances, place)
  return { terms, denominator, variance, value: gridValueOf(weights, measured) }
}

/** The weights of integers in output units: those in grid units, over a denominator that all output units divide. */
function exactTerms({ denominator, numerators }: Weights, measured: readonly Measured[]) {
  const places = [...numerators.keys()]
  const bitsAt = (place: number) => {
    const { release, statistic } = entry(measured, place)
    return entry(release.plan.measurements, statistic).fractionBits
  }
  const most = places.reduce((bits, place) => Math.max(bits, bitsAt(place)), 0)
  const terms = Array.from(numerators).flatMap(([place, numerator]) => {
    const { release, statistic, cells } = entry(measured, place)
    const weight = numerator << BigInt(most - bitsAt(place))
    return cells.map((cell): Term => ({ release: release.id, statistic, cell, weight }))
  })
  return { terms, denominator: denominator << BigInt(most) }
}

/** The estimate in grid units. */
function gridValueOf(weights: Weights, measured: readonly Measured[]): number {
  const { terms, denominator } = exactTerms(weights, measured)
  const integers = [...weights.numerators.keys()].flatMap((place) => {
    const { release, statistic, cells } = entry(measured, place)
    return cells.map((cell) => entry(entry(release.integers, statistic), cell))
  })
  const sum = terms.reduce((total, { weight }, place) => total + weight * entry(integers, place), 0n)
  return quotientOf(sum, denominator)
}

/** The double nearest to a fraction, to within a few roundings, however large its parts are. */
export function quotientOf(numerator: bigint, denominator: bigint): number {
  const whole = numerator / denominator
  const rest = ((numerator % denominator) << 64n) / denominator
  return Number(whole) + Number(rest) / 2 ** 64
}

/** True for an estimate that adds up its statistics, so that its half-width depends on their noise alone. */
export function isLinearEstimate(estimate: Estimate): boolean {
  return linearParts(estimate) !== undefined
}

/** Makes the estimates of the cells of a question. */
function estimatesOf(
  target: AdditivePlan,
  weights: readonly (readonly Weights[])[],
  measured: readonly Measured[],
): (cell: number) => readonly OtherEstimate[] {
  const estimators = estimatorsOf(target)
  const units = target.measurements.map((_, place) => unitOf(target, place))
  const weightsAt = (statistic: number, cell: number) => entry(entry(weights, statistic), cell)
  const numberAt = (statistic: number, cell: number) =>
    gridValueOf(weightsAt(statistic, cell), measured) * entry(units, statistic)
  const alpha = 1 - target.confidence
  const halfWidthOf = halfWidths()
  const noiseOf = (parts: readonly WeightedPart[]) => combinedNoise(parts, weightsAt, measured)
  return (cell) =>
    target.estimates.map((estimate, place) => {
      const { value } = entry(estimators, place).released((statistic, other = cell) =>
        numberAt(statistic, other),
      )
      const parts = linearParts(estimate)
      if (parts !== undefined) {
        const noise = noiseOf(
          parts.map(({ statistic, weight }) => ({
            statistic,
            cell,
            factor: weight * entry(units, statistic),
          })),
        )
        const together = 'together' in estimate ? (estimate.together ?? 1) : 1
        return {
          value,
          halfWidth: halfWidthOf(noise, alpha / together),
          expectedAbsoluteError: expectedAbsoluteBound(noise),
        }
      }
      const needed = must(partsOfRatio(estimate), 'the parts of an estimate')
      const at = (statistic: number, other = cell): Interval => {
        const noise = noiseOf([{ statistic, cell: other, factor: entry(units, statistic) }])
        const halfWidth = halfWidthOf(noise, alpha / needed.length)
        const center = numberAt(statistic, other)
        return { lowest: center - halfWidth, highest: center + halfWidth }
      }
      const { lowest, highest } = intervalOfRatio(estimate, at)
      return { value, halfWidth: Math.max(highest - value, value - lowest, 0), expectedAbsoluteError: null }
    })
}

/** A statistic of the question in a cell, and its factor in an estimate: the unit of the estimate for one grid unit. */
interface WeightedPart {
  readonly statistic: number
  readonly cell: number
  readonly factor: number
}

/** The statistics that an estimate adds up, with their weights; `undefined` for an estimate that is not linear. */
function linearParts(
  estimate: Estimate,
): readonly { readonly statistic: number; readonly weight: number }[] | undefined {
  switch (estimate.kind) {
    case 'count':
    case 'sum':
      return [{ statistic: estimate.statistic, weight: 1 }]
    case 'proportion':
      return [{ statistic: estimate.statistic, weight: 1 / estimate.rows }]
    case 'mean': {
      const { sum, rows } = estimate
      return rows.kind === 'public' ? [{ statistic: sum, weight: 1 / rows.value }] : undefined
    }
    case 'sum-from-middle': {
      const { sum, rows, column } = estimate
      const ofSum = { statistic: sum, weight: 1 }
      if (rows.kind === 'public') return [ofSum]
      return [ofSum, { statistic: rows.statistic, weight: columnRange(column).middle * rows.scale }]
    }
    default:
      return undefined
  }
}

/** The noise of a combination of statistics. */
function combinedNoise(
  parts: readonly WeightedPart[],
  weightsAt: (statistic: number, cell: number) => Weights,
  measured: readonly Measured[],
): readonly WeightedNoise[] {
  const factors = new Map<number, number>()
  for (const { statistic, cell, factor } of parts) {
    const { denominator, numerators } = weightsAt(statistic, cell)
    for (const [place, weight] of numerators)
      factors.set(place, (factors.get(place) ?? 0) + (factor * Number(weight)) / Number(denominator))
  }
  return Array.from(factors).flatMap(([place, factor]) => {
    const { release, statistic, cells } = entry(measured, place)
    const unit = paidUnitOf(release.plan, statistic)
    const noise = noiseOf(entry(release.plan.measurements, statistic), unit)
    // The factor is for one grid unit of the measured statistic.
    return cells.map(() => ({ noise, weight: factor / unit }))
  })
}

/** Half-widths of combinations; equal ones are computed once. */
function halfWidths(): (noise: readonly WeightedNoise[], alpha: number) => number {
  const known = new Map<string, number>()
  return (noise, alpha) => {
    const { rounded, rest } = withoutNegligible(noise)
    const counts = new Map<string, number>()
    for (const { noise, weight } of rounded) {
      const size = noise.kind === 'laplace' ? noise.scaleUnits : noise.sigma
      const term = `${noise.kind} ${noise.unit} ${size} ${weight}`
      counts.set(term, (counts.get(term) ?? 0) + 1)
    }
    const text = `${alpha} ${[...counts].sort().join(' ')}`
    const halfWidth = known.get(text) ?? halfWidthBound(alpha)(rounded)
    known.set(text, halfWidth)
    return halfWidth + rest
  }
}

/** The share of the largest noise that bounds of negligible ones add to a half-width at most. */
const NEGLIGIBLE = 1e-3

/** The noises that matter, with rounded weights, and a bound of the others: tiny ones would take long to combine. */
function withoutNegligible(noise: readonly WeightedNoise[]) {
  const smallestFirst = noise
    .map(({ noise, weight }) => ({ noise, weight: roundedUp(Math.abs(weight)) }))
    .map((each) => ({ each, bound: practicalBound(each) }))
    .sort((a, b) => a.bound - b.bound)
  const most = NEGLIGIBLE * (smallestFirst.at(-1)?.bound ?? 0)
  let rest = 0
  const rounded = smallestFirst.filter(({ bound }) => {
    if (rest + bound > most) return true
    rest += bound
    return false
  })
  return { rounded: rounded.map(({ each }) => each), rest }
}

/** A number that a noise exceeds with a probability below 1e-17. */
function practicalBound({ noise, weight }: WeightedNoise): number {
  return (
    weight *
    noise.unit *
    (noise.kind === 'laplace' ? 40 * (noise.scaleUnits + 1) : 9 * (noise.sigma / noise.unit + 2))
  )
}

/**
 * The least number with few binary digits that is not smaller. Weights that differ by rounding alone become equal, and a larger
 * weight never makes a tail smaller.
 */
function roundedUp(weight: number): number {
  if (weight === 0) return 0
  const unit = 2 ** (Math.floor(Math.log2(weight)) - WEIGHT_DIGITS)
  return Math.ceil(weight / unit) * unit
}

const WEIGHT_DIGITS = 12
