import type { Suppositions } from '../../../../schemas/answers/query.ts'
import { defined } from '../../../privacy/defined.ts'
import { epsilonNumber } from '../../../privacy/loss.ts'
import { entry } from '../../../privacy/must.ts'
import { statedNoise } from '../../mechanisms/measurement.ts'
import { geometricParameter } from '../../mechanisms/noise/geometric.ts'
import { clampsOfBands } from '../kinds/bounds/candidates.ts'
import { contributionsOf } from '../kinds/contribution-profile/candidates.ts'
import { cellCount, type Statistic, type Summand } from '../language/aggregate.ts'
import { cellKeys } from '../language/grouping.ts'
import { cellsOf } from '../language/tables.ts'
import type {
  AccuracyReport,
  AdditiveNoise,
  GroupValue,
  Interval,
  PredictedError,
  Report,
  StatisticName,
  StatisticNoise,
} from '../report-kinds.ts'
import { estimatorsOf, isForeseeable, rangeOf } from './estimates/estimate-kinds.ts'
import { intervalAround, type NumberAt, type Released } from './estimates/estimator.ts'
import { errorAt, numberAt, unitOf } from './estimates/noisy-statistic.ts'
import { ridgeOf } from './estimates/regression.ts'
import { type AdditivePlan, type Estimate, namesOf, type Shown, shown, temporalType } from './shape.ts'

/*
 * Reports about sums and counts: the noise of the statistics, and the estimates that are made from them. `estimates/`
 * holds one file per kind of estimate, with its formulas; src/core/planner/additive/estimates/accuracy.md derives them.
 */

/** The noise of a plan's statistics; public before the query is paid for. */
export function noiseOfAdditive(plan: AdditivePlan): AdditiveNoise {
  const first = entry(plan.measurements, 0)
  const facts = {
    mechanism: first.mechanism,
    ...defined({ calibration: first.calibration }),
    neighbours: plan.dataset.neighbours,
  }
  if (plan.measurements.length === 1) return { ...facts, ...statisticNoise(plan, 0, publicDivisor(plan)) }
  return {
    ...facts,
    statistics: plan.measurements.map(({ loss }, place) => ({
      ...nameOf(entry(plan.aggregate.statistics, place)),
      ...statisticNoise(plan, place),
      // The Gaussian mechanism releases them as one vector: none has a separate share.
      ...(first.mechanism === 'gaussian' ? {} : { epsilon: epsilonNumber(loss.epsilonNano) }),
    })),
  }
}

/** The name of a noisy statistic, and its columns. */
function nameOf(statistic: Statistic): StatisticName {
  switch (statistic.kind) {
    case 'count':
      return {
        statistic: 'count',
        ...defined({ column: statistic.column }),
      }
    case 'count-people':
      return {
        statistic: 'count of people',
        ...defined({ column: statistic.column }),
      }
    case 'count-distinct':
    case 'count-distinct-values':
      return { statistic: 'count of distinct values' }
    case 'affine-count':
      return { statistic: 'count about the middle' }
    case 'affine-sum':
      return nameOfSum(statistic.factor === 1n ? 'sum' : 'sum about the middle', statistic)
    case 'affine-square-sum':
      return nameOfSum('sum of squares about the middle', statistic)
    case 'affine-product-sum':
      return {
        statistic: 'sum of products about the middles',
        columns: statistic.terms.map(({ column }) => column),
      }
  }
}

function nameOfSum(name: string, { column, perPerson }: Summand) {
  const summed = column ?? perPerson?.column
  return {
    statistic: perPerson === undefined ? name : `${name} of a ${perPerson.kind} per person`,
    ...defined({ column: summed }),
  }
}

/** The public number that a single noisy sum or count is divided by, so that the noise stated is that of the answer. */
function publicDivisor({ estimates }: AdditivePlan): number {
  const [estimate, ...others] = estimates
  if (estimate === undefined || others.length > 0) return 1
  if (estimate.kind === 'proportion') return estimate.rows
  return estimate.kind === 'mean' && estimate.rows.kind === 'public' ? estimate.rows.value : 1
}

function statisticNoise(plan: AdditivePlan, place: number, divisor = 1): StatisticNoise {
  const measurement = entry(plan.measurements, place)
  const { mechanism, noise } = measurement
  const stated = statedNoise(measurement, unitOf(plan, place) / divisor)
  return mechanism === 'geometric' && noise.kind === 'discrete-laplace'
    ? { ...stated, p: geometricParameter(noise.scale) }
    : stated
}

const NEEDS_ROWS = 'depends on the number of rows, which is private; give supposed.rows'
const STATED_WITH_ANSWER = 'depends on the data; the answer states it'
const TOO_MUCH_NOISE = 'the noise is too large for a bound; use a larger epsilon or fewer predictors'
export const SEVERAL_STATISTICS = 'differs from statistic to statistic; see estimates'
const STATED_BY_VALUE = 'differs from group to group; each value has its own half-width'

/**
 * The accuracy of a plan's answer, computed without data. It covers the noise alone: it does not include the effect of
 * clamping to the declared bounds and of rounding to the grid. Expected errors are those before post-processing.
 * @param supposed what the caller supposes about the data. Omitted values are taken to be the hardest to estimate.
 */
export function accuracyOfAdditive(plan: AdditivePlan, supposed: Suppositions = {}): AccuracyReport {
  return accuracyOfEach(plan, errorsOfAdditive(plan, supposed))
}

/** The error of each estimate of a plan, computed without data; in the unit of its value, or in days or seconds. */
export function errorsOfAdditive(plan: AdditivePlan, supposed: Suppositions = {}): readonly PredictedError[] {
  return foreseenErrors(plan, supposed, (estimate) =>
    unknownError(isForeseeable(estimate) ? NEEDS_ROWS : STATED_WITH_ANSWER),
  )
}

function foreseenErrors(
  plan: AdditivePlan,
  supposed: Suppositions,
  otherwise: (estimate: Estimate) => PredictedError,
): readonly PredictedError[] {
  const estimators = estimatorsOf(plan)
  return plan.estimates.map((estimate, place) => {
    const foreseen = entry(estimators, place).foreseen(supposed)
    const unit = unitOfEstimate(estimate)
    if (foreseen === undefined) return { ...otherwise(estimate), ...unit }
    return { ...foreseen, halfWidth: shownHalfWidth(estimate, foreseen.halfWidth), ...unit }
  })
}

function unknownError(reason: string): PredictedError {
  return { halfWidth: null, expectedAbsoluteError: null, reason }
}

/**
 * The accuracy of an answer from the error of each of its estimates.
 * @param parts the accuracy of the statistics that they are made from
 */
export function accuracyOfEach(
  plan: AdditivePlan,
  each: readonly PredictedError[],
  parts = partsOf(plan),
): AccuracyReport {
  const [only = unknownError(SEVERAL_STATISTICS), ...others] = each
  const error = others.length === 0 ? only : unknownError(SEVERAL_STATISTICS)
  const estimates = others.length === 0 ? {} : { estimates: byName(plan, each) }
  const { shown } = plan
  const isOfBands = shown.kind === 'cells' && shown.clamps !== undefined
  const seen = isOfBands ? { rowsToAppear: rowsToAppear(plan) } : {}
  return { confidence: plan.confidence, ...error, ...estimates, ...parts, ...seen }
}

/** Probability that any band without rows stands out. */
const FALSE_POSITIVES = 1e-9

/** The number of rows that a noisy band must exceed, so that none without rows does but for {@link FALSE_POSITIVES}. */
function rowsToAppear(plan: AdditivePlan): number {
  return errorAt(plan, 0, 1 - (2 * FALSE_POSITIVES) / cellCount(plan.aggregate)).halfWidth
}

/** Unit of the half-width of an estimate, if it is not that of its value. */
function unitOfEstimate(estimate: Estimate): Pick<PredictedError, 'unit'> {
  const type = temporalType(estimate)
  return type === undefined ? {} : { unit: type === 'date' ? 'days' : 'seconds' }
}

/** Values of each estimate, by the names of the query's statistics. */
function byName<Value>({ shown }: AdditivePlan, each: readonly Value[]): Readonly<Record<string, Value>> {
  const names = namesOf(shown)
  return Object.fromEntries(each.map((value, place) => [entry(names, place), value]))
}

/** Half-widths of the statistics that estimates are made from, if there are several. They hold jointly. */
function partsOf(plan: AdditivePlan): Pick<AccuracyReport, 'statistics'> {
  const { measurements, confidence } = plan
  if (measurements.length === 1) return {}
  const each = 1 - (1 - confidence) / measurements.length
  return {
    statistics: measurements.map((_, place) => ({
      ...nameOf(entry(plan.aggregate.statistics, place)),
      ...errorAt(plan, place, each),
    })),
  }
}

/** Noisy integers in output units: one array per statistic, one integer per cell. */
type Noisy = readonly (readonly bigint[])[]

/**
 * Prepares the computation of an answer's numbers from noisy integers. It is post-processing, so it may use anything
 * public and costs nothing. Computations that depend on the plan alone run once.
 */
export function additiveReporter(plan: AdditivePlan): (noisy: Noisy) => Report {
  switch (plan.shown.kind) {
    case 'value':
      return valueReporter(plan)
    case 'cells':
      return cellsReporter(plan, plan.shown)
    case 'groups':
      return groupsReporter(plan)
    case 'coefficients':
      return regressionReporter(plan)
  }
}

function valueReporter(plan: AdditivePlan): (noisy: Noisy) => Report {
  const estimate = entry(plan.estimates, 0)
  const releasedIn = releaser(plan)
  const parts = partsOf(plan)
  return (noisy) => {
    const { value, ...error } = entry(releasedIn(noisy, 0), 0)
    return {
      result: { value: shown(estimate, value) },
      accuracy: {
        ...accuracyOfEach(plan, [{ ...error, ...unitOfEstimate(estimate) }], parts),
        interval: intervalOf(estimate, value, error.halfWidth),
      },
    }
  }
}

/**
 * Reports one number for each cell: in the order of the cells, or those with the largest numbers, largest first. Of equal
 * numbers the one whose cell is declared first comes first.
 */
function cellsReporter(
  plan: AdditivePlan,
  { largest, clamps, contributions }: Extract<Shown, { kind: 'cells' }>,
): (noisy: Noisy) => Report {
  const keys = cellKeys(plan.groupings)
  const releasedIn = releaser(plan)
  const accuracy = accuracyOfAdditive(plan)
  return (noisy) => {
    const cells = keys.map((key, cell) => ({ key, value: entry(releasedIn(noisy, cell), 0).value }))
    if (largest !== undefined) cells.sort((a, b) => b.value - a.value)
    const counts = cells.map(({ value }) => value)
    const derived = defined({
      clamps: clamps && clampsOfBands(clamps, counts, rowsToAppear(plan), plan.confidence),
      contributions: contributions && contributionsOf(contributions, plan, counts),
    })
    return { result: { cells: cells.slice(0, largest), ...derived }, accuracy }
  }
}

function groupsReporter(plan: AdditivePlan): (noisy: Noisy) => Report {
  const keys = cellKeys(plan.groupings)
  // Bounds that depend on the number of rows are stated with each value.
  const errors = foreseenErrors(plan, {}, () => unknownError(STATED_BY_VALUE))
  const accuracy = accuracyOfEach(plan, errors)
  const valuesIn = groupValues(plan)
  return (noisy) => ({
    result: { groups: keys.map((key, cell) => ({ key, values: byName(plan, valuesIn(noisy, cell)) })) },
    accuracy,
  })
}

/** An estimate that was not made from a release of its plan. */
export interface OtherEstimate extends Pick<Released, 'value' | 'halfWidth'> {
  readonly expectedAbsoluteError: number | null
}

/**
 * Reports estimates of a plan's values that were not made from a release of the plan. The half-width of a table is the
 * largest of its cells.
 * @param estimatesIn the estimates of a cell, in the order of the plan's
 */
export function reportOfEstimates(
  plan: AdditivePlan,
  estimatesIn: (cell: number) => readonly OtherEstimate[],
): Report {
  const stated = plan.estimates.map((estimate) => ({ estimate, unit: unitOfEstimate(estimate) }))
  const shownIn = (cell: number) =>
    estimatesIn(cell).map(({ value, halfWidth, expectedAbsoluteError }, place) => {
      const { estimate, unit } = entry(stated, place)
      const whole = temporalType(estimate) === undefined ? value : Math.round(value)
      const width = shownHalfWidth(estimate, halfWidth)
      return {
        value: shown(estimate, whole),
        error: { halfWidth: width, expectedAbsoluteError, ...unit },
        interval: intervalOf(estimate, whole, width),
      }
    })
  const { confidence } = plan
  if (plan.shown.kind === 'value') {
    const { value, error, interval } = entry(shownIn(0), 0)
    return { result: { value }, accuracy: { confidence, ...error, interval } }
  }
  const keys = cellKeys(plan.groupings)
  const cells = keys.map((_, cell) => shownIn(cell))
  if (plan.shown.kind === 'cells') {
    const errors = cells.map((estimates) => entry(estimates, 0).error)
    const widest = errors.reduce((most, each) => (each.halfWidth > most.halfWidth ? each : most))
    const result = {
      cells: keys.map((key, cell) => ({ key, value: Number(entry(entry(cells, cell), 0).value) })),
    }
    return { result, accuracy: { confidence, ...widest } }
  }
  const groups = keys.map((key, cell) => {
    const values = entry(cells, cell).map(({ value, error, interval }) => ({
      value,
      halfWidth: error.halfWidth,
      interval,
    }))
    return { key, values: byName(plan, values) }
  })
  const errors = stated.map(({ unit }) => ({ ...unknownError(STATED_BY_VALUE), ...unit }))
  return { result: { groups }, accuracy: accuracyOfEach(plan, errors, {}) }
}

/** Prepares the computation of the values of each statistic of a group, in the order of the plan's statistics. */
export function groupValues(plan: AdditivePlan): (noisy: Noisy, cell: number) => readonly GroupValue[] {
  const releasedIn = releaser(plan)
  return (noisy, cell) =>
    releasedIn(noisy, cell).map(({ value, halfWidth }, place) => {
      const estimate = entry(plan.estimates, place)
      return {
        value: shown(estimate, value),
        halfWidth,
        interval: intervalOf(estimate, value, halfWidth),
      }
    })
}

function regressionReporter(plan: AdditivePlan): (noisy: Noisy) => Report {
  const releasedIn = releaser(plan)
  const [estimate] = plan.estimates
  if (estimate?.kind !== 'coefficient') throw new RangeError('a regression has coefficients')
  const { regression } = estimate
  const ridge = ridgeOf(plan, regression)
  const parts = partsOf(plan)
  const numberOf = ({ value, halfWidth }: Released) => ({
    value,
    halfWidth: Number.isFinite(halfWidth) ? halfWidth : null,
  })
  return (noisy) => {
    const released = releasedIn(noisy, 0)
    const coefficients = regression.predictors.map(({ name: column }, place) => ({
      column,
      ...numberOf(entry(released, place + 1)),
    }))
    const errors = released.map(({ halfWidth, expectedAbsoluteError }) =>
      Number.isFinite(halfWidth) ? { halfWidth, expectedAbsoluteError } : unknownError(TOO_MUCH_NOISE),
    )
    return {
      result: { intercept: numberOf(entry(released, 0)), coefficients, ridge },
      accuracy: accuracyOfEach(plan, errors, parts),
    }
  }
}

/**
 * Prepares the computation of the numbers of an answer before any post-processing: cell by cell, and within a cell
 * estimate by estimate. Dates and timestamps are numbers of days and seconds since 1970.
 */
export function additiveNumbers(plan: AdditivePlan): (noisy: Noisy) => readonly number[] {
  const estimatesIn = unprocessed(plan)
  const cells = cellsOf(plan.groupings)
  return (noisy) =>
    Array.from({ length: cells }, (_, cell) => estimatesIn(noisy, cell).map(({ value }) => value)).flat()
}

/** Makes the estimates of any cell as numbers. */
function unprocessed(plan: AdditivePlan): (noisy: Noisy, cell: number) => readonly Released[] {
  const estimators = estimatorsOf(plan)
  return (noisy, cell) => {
    const at: NumberAt = (place, other = cell) => numberAt(plan, place, entry(entry(noisy, place), other))
    return estimators.map((estimator) => estimator.released(at))
  }
}

/** Makes the estimates of any cell. Dates and timestamps are rounded to whole days and seconds. */
function releaser(plan: AdditivePlan): (noisy: Noisy, cell: number) => readonly Released[] {
  const estimatesIn = unprocessed(plan)
  return (noisy, cell) =>
    estimatesIn(noisy, cell).map(({ value, halfWidth, expectedAbsoluteError }, place) => {
      const estimate = entry(plan.estimates, place)
      return {
        value: temporalType(estimate) === undefined ? value : Math.round(value),
        halfWidth: shownHalfWidth(estimate, halfWidth),
        expectedAbsoluteError,
      }
    })
}

/** Where the true value lies, as an answer shows it. Ends between two days or seconds are moved outwards. */
function intervalOf(estimate: Estimate, value: number, halfWidth: number): Interval {
  const { lower, upper } = intervalAround(value, halfWidth, rangeOf(estimate))
  if (temporalType(estimate) === undefined) return { lower, upper }
  return { lower: shown(estimate, Math.floor(lower)), upper: shown(estimate, Math.ceil(upper)) }
}

/** The half-width of an estimate as it is shown: that of a date or a timestamp includes the rounding to a whole unit. */
function shownHalfWidth(estimate: Estimate, halfWidth: number): number {
  return temporalType(estimate) === undefined ? halfWidth : halfWidth + 0.5
}
