import type { Query } from '../../../../schemas/answers/query.ts'
import { defined } from '../../../privacy/defined.ts'
import {
  addLoss,
  DEFAULT_CONFIDENCE,
  type DeltaAtto,
  deltaAtto,
  type EpsilonNano,
  epsilonNano,
  MAX_QUERY_EPSILON,
  NO_LOSS,
  ONE_EPSILON_NANO,
  ONE_RHO_PICO,
  type PrivacyLoss,
  type RhoPico,
  rhoPico,
} from '../../../privacy/loss.ts'
import { entry, must } from '../../../privacy/must.ts'
import { numberFromRational, type Rational, rational } from '../../../privacy/rational.ts'
import { refuseField, refuseQuery } from '../../../privacy/refusal.ts'
import type { Sensitivity } from '../../../privacy/sensitivity.ts'
import { epsilonOfRho, rhoBoughtBy } from '../../../privacy/zcdp-conversion.ts'
import { type Dataset, isLive } from '../../dataset/dataset.ts'
import {
  type Measurement,
  type NoiseShape,
  sensitivityFor,
  statedNoise,
} from '../../mechanisms/measurement.ts'
import { accuracy as accuracyOf, zeroConcentratedMap } from '../../mechanisms/mechanism.ts'
import { noiseOf } from '../../mechanisms/noise/combined-noise.ts'
import { calibrateGaussianByRho } from '../../mechanisms/noise/gaussian.ts'
import { calibrateLaplace } from '../../mechanisms/noise/laplace.ts'
import { deviationOfMany, halfWidthOfMany, LEAST_SCALE_UNITS } from '../../mechanisms/noise/many-noises.ts'
import {
  type ColumnSet,
  cellsIn,
  columnsIn,
  combinations,
  contains,
  setsOf,
} from '../../workloads/column-sets.ts'
import { encodedIntegers } from '../../workloads/encoding.ts'
import { cellFactors, errorOf } from '../../workloads/errors.ts'
import { addedUp, type Reconstruction } from '../../workloads/reconstruction.ts'
import { type Objective, type Share, sharesOf, type Workload } from '../../workloads/shares.ts'
import { reconstructionBy, valuesFrom } from '../../workloads/values.ts'
import { rhoTogether } from '../additive/measure.ts'
import type { Aggregate, Statistic } from '../language/aggregate.ts'
import { contributionTo, ONE_ROW_PER_PERSON, planBounding, requireNoClamp } from '../language/contribution.ts'
import type { Grouping } from '../language/grouping.ts'
import { planPredicate, whereAll } from '../language/predicate.ts'
import type { CellIntegers } from '../language/reading.ts'
import { planGroupings, withinBins } from '../language/tables.ts'
import { type Offer, spacingOf, withFewDigits } from '../price/accuracy-first.ts'
import { replacementLossInTwoSteps } from '../price/price.ts'
import { sensitivityOf } from '../price/stability.ts'
import type { AccuracyReport, MeasuredTables, NoiseReport, PartialReport } from '../report-kinds.ts'
import {
  addingNoise,
  type NoisyRelease,
  type PlanFacts,
  type PlanKind,
  type PlanLimits,
} from './plan-kind.ts'

type MarginalsQuery = Extract<Query, { kind: 'marginals' }>

/** A table of the answer and its errors. */
interface Table {
  readonly set: ColumnSet
  readonly cells: number
  readonly halfWidth: number
  readonly deviation: number
}

/** What the cells of tables add up. */
export interface Added {
  readonly statistic: Statistic
  /** One unit of the statistic, in the unit that people read. */
  readonly unit: Rational
}

/** Tables count rows. */
const ROWS: Added = { statistic: { kind: 'count' }, unit: rational(1n, 1n) }

/** A reading of the data, from whose table all measured tables within it are added up. */
interface Scan {
  readonly set: ColumnSet
  readonly aggregate: Aggregate
}

/** Plan of all tables of some of the columns, estimated from the tables that are measured. */
export interface MarginalsPlan extends PlanFacts {
  readonly kind: 'marginals'
  readonly query: MarginalsQuery
  readonly groupings: readonly Grouping[]
  readonly added: Added
  readonly shape: NoiseShape
  /** The measured tables and their shares of the price. */
  readonly shares: readonly Share[]
  readonly reconstruction: Reconstruction
  /** One for each measured table. */
  readonly measurements: readonly Measurement[]
  readonly tables: readonly Table[]
  readonly scans: readonly Scan[]
  /** Largest number of cells of an answer that contains its tables. */
  readonly maxCells: number
}

/** The integers of the measured tables. */
interface MarginalsExact {
  readonly kind: 'marginals'
  readonly integers: CellIntegers
}

/** The noisy integers of the measured tables. */
type MarginalsRelease = NoisyRelease<'marginals'>

/** Largest number of tables. */
const MOST_TABLES = 1_000
/** Largest number of cells of all tables, and of all measured ones. */
const MOST_CELLS = 5_000_000
/** Tables are read together up to this number of cells: one scan instead of several. */
const CELLS_OF_A_SCAN = 20_000

/** The numbers of columns of the tables, in the order of the query. */
export function waysOf({ ways }: MarginalsQuery): readonly number[] {
  return typeof ways === 'number' ? [ways] : ways
}

/** What the shares are chosen for. */
export function objectiveOf({
  objective,
  weights,
  accuracy,
}: Pick<MarginalsQuery, 'objective' | 'weights' | 'accuracy'>): 'total' | 'largest' | readonly number[] {
  if (weights !== undefined) return typeof weights === 'number' ? [weights] : weights
  return objective ?? (accuracy === undefined ? 'total' : 'largest')
}

/**
 * Plans all tables of some number of columns.
 * @throws Refusal naming the field and the rule, for a query that does not fit the dataset.
 */
export function planMarginals(
  query: MarginalsQuery,
  dataset: Dataset,
  limits: PlanLimits,
  offer: Offer,
): MarginalsPlan {
  requireNoClamp(query.contribution)
  const groupings = planGroupings(query.columns, 'columns', dataset)
  const workload = workloadOf(query, groupings)
  const { tables } = workload
  const { target } = offer
  const wanted = {
    query,
    added: ROWS,
    groupings,
    workload,
    objective: requireObjective(query, tables.length, 'table'),
    ...defined({ targets: target && tables.map(() => target.halfWidth) }),
  }
  return planTables(wanted, dataset, limits, offer)
}

/** Tables to estimate. */
export interface WantedTables {
  /** The rows that count, and what each person contributes. Its columns and its price are those of the plan. */
  readonly query: MarginalsQuery
  readonly added: Added
  readonly groupings: readonly Grouping[]
  readonly workload: Workload
  readonly objective: Objective
  /** The largest half-width that each table may have, instead of a price. */
  readonly targets?: readonly number[]
}

/**
 * Plans tables at the price that is offered, or at the least that meets their targets.
 * @throws Refusal naming the field and the rule, for tables that do not fit the dataset.
 */
export function planTables(
  { query, added, groupings, workload, objective, targets }: WantedTables,
  dataset: Dataset,
  { maxCells }: PlanLimits,
  offer: Omit<Offer, 'target'>,
): MarginalsPlan {
  const bounding = planBounding(query.contribution, dataset, 'one')
  const where = query.where === undefined ? [] : [planPredicate(query.where, dataset, 'where')]
  const rows = {
    ...whereAll([...where, ...withinBins(groupings, dataset)]),
    statistics: [added.statistic],
    bounding,
  } as const
  const aggregateOf = (set: ColumnSet): Aggregate => ({
    ...rows,
    groupBy: columnsIn(set).map((column) => entry(groupings, column).key),
  })
  const shape = shapeOf(offer, dataset)
  const sensitivityOfTable = (set: ColumnSet) => sensitivityOf(added.statistic, aggregateOf(set), dataset)
  const shares = sharesOf(workload, shape, objective, (set) => sensitivityFor(shape, sensitivityOfTable(set)))
  const reconstruction = reconstructionBy(shares, shape, workload)
  const scans = scansOf(shares, workload.sizes).map((set) => ({ set, aggregate: aggregateOf(set) }))
  requireOneSnapshot(scans, dataset)
  const sensitivities = shares.map(({ set }) => sensitivityOfTable(set))
  const ofFirst = aggregateOf(entry(shares, 0).set)
  const contribution = contributionTo(bounding, (bounding) => [
    sensitivityOf(added.statistic, { ...ofFirst, bounding }, dataset).lInfinity,
  ])
  const errorsOf = errorsIn(reconstruction, shape, offer.confidence, numberFromRational(added.unit))
  const planAt = (price: Price): MarginalsPlan => {
    const { measurements, ...priced } = measure(shares, sensitivities, price)
    return {
      kind: 'marginals',
      query,
      dataset,
      ...priced,
      confidence: offer.confidence,
      groupings,
      added,
      shape,
      shares,
      reconstruction,
      measurements,
      tables: errorsOf(measurements),
      scans,
      maxCells,
      ...contribution,
    }
  }
  const { epsilonNano: epsilon, rhoPico: rho, deltaAtto: delta } = offer
  if (targets !== undefined) return leastPrice(planAt, shape, delta, targets)
  if (rho !== undefined) return planAt(priceOfRho(rho))
  return planAt(priceOfEpsilon(must(epsilon, 'an epsilon'), delta))
}

/** @throws Refusal for numbers of columns that there are not, or too many tables. */
function workloadOf(query: MarginalsQuery, groupings: readonly Grouping[]): Workload {
  const ways = waysOf(query)
  const field = (position: number) => (typeof query.ways === 'number' ? 'ways' : `ways.${position}`)
  for (const [position, each] of ways.entries()) {
    if (each > groupings.length) {
      const rule = `must be at most ${groupings.length}, the number of columns`
      throw refuseQuery(field(position), rule)
    }
    if (ways.indexOf(each) < position) throw refuseQuery(field(position), 'must not repeat an earlier number')
  }
  const count = ways.reduce((sum, each) => sum + combinations(groupings.length, each), 0)
  if (count > MOST_TABLES) {
    const rule = `make ${count} tables of these columns; at most ${MOST_TABLES} are supported`
    throw refuseQuery('ways', rule)
  }
  return {
    sizes: groupings.map(({ labels }) => labels.length),
    tables: ways.flatMap((each) => setsOf(each, groupings.length)),
  }
}

/**
 * Reads what shares are chosen for.
 * @param count number of weights that can be given, one for each `what`
 * @throws Refusal for weights that are negative, all 0, or not as many; or for both weights and an objective.
 */
export function requireObjective(
  asked: Parameters<typeof objectiveOf>[0],
  count: number,
  what: 'table' | 'query',
): 'total' | 'largest' | readonly number[] {
  const objective = objectiveOf(asked)
  if (typeof objective === 'string') return objective
  if (asked.objective !== undefined)
    throw refuseField('invalid-request', 'weights', 'must not be given together with objective')
  if (objective.length !== count)
    throw refuseQuery(
      'weights',
      `must be ${count} numbers, one for each ${what}; these are ${objective.length}`,
    )
  const negative = objective.findIndex((weight) => !(weight >= 0))
  if (negative !== -1) throw refuseQuery(`weights.${negative}`, 'must be at least 0')
  const sum = objective.reduce((total, weight) => total + weight, 0)
  if (sum === 0) throw refuseQuery('weights', 'must not all be 0')
  // Every table has some weight, so that each is estimated.
  return objective.map((weight) => Math.max(weight, 1e-6 * (sum / count)))
}

/** The sets to read: each measured table is within one of them. */
function scansOf(shares: readonly Share[], sizes: readonly number[]): readonly ColumnSet[] {
  const largestFirst = shares
    .map(({ set }) => set)
    .toSorted((a, b) => cellsIn(b, sizes) - cellsIn(a, sizes) || a - b)
  const scans: ColumnSet[] = []
  for (const set of largestFirst) {
    if (scans.some((scan) => contains(scan, set))) continue
    const place = scans.findIndex((scan) => cellsIn(scan | set, sizes) <= CELLS_OF_A_SCAN)
    if (place === -1) scans.push(set)
    else scans[place] = entry(scans, place) | set
  }
  return scans
}

/** @throws Refusal for a live table that would be read more than once, because its rows may change in between. */
function requireOneSnapshot(scans: readonly Scan[], dataset: Dataset): void {
  if (!isLive(dataset) || scans.length <= 1) return
  const rule =
    'span too many cells to be read at once, and the rows of a live table may change between readings: ask about fewer ' +
    `columns, or fewer bins; ${CELLS_OF_A_SCAN} cells of all columns together can always be read`
  throw refuseQuery('columns', rule)
}

/** A price: an epsilon for Laplace noise; a rho for Gaussian noise, with the epsilon and delta to state. */
type Price =
  | { readonly shape: 'laplace'; readonly epsilonNano: EpsilonNano }
  | {
      readonly shape: 'gaussian'
      readonly rho: RhoPico
      readonly loss: PrivacyLoss
      /** True if the price is stated as a rho. */
      readonly inRho: boolean
    }

/** Delta at which the epsilon of a rho is stated. */
const STATED_DELTA = deltaAtto(1_000_000_000n)

/**
 * Gaussian noise for a delta, or for a budget in rho and no epsilon.
 * @throws Refusal for a rho on a dataset that does not count its budget in rho, or together with a delta.
 */
function shapeOf(
  {
    epsilonNano: epsilon,
    rhoPico: rho,
    deltaAtto: delta,
  }: Pick<Offer, 'epsilonNano' | 'rhoPico' | 'deltaAtto'>,
  { accounting }: Dataset,
): NoiseShape {
  if (rho !== undefined && accounting !== 'zcdp') {
    const rule =
      'applies to datasets whose budget is counted in rho; give epsilon, with a delta for Gaussian noise'
    throw refuseQuery('rho', rule)
  }
  if (rho !== undefined && delta > 0n)
    throw refuseField('invalid-request', 'delta', 'must not be given together with rho')
  return delta > 0n || (accounting === 'zcdp' && epsilon === undefined) ? 'gaussian' : 'laplace'
}

function priceOfEpsilon(epsilon: EpsilonNano, delta: DeltaAtto): Price {
  if (delta === 0n) return { shape: 'laplace', epsilonNano: epsilon }
  const loss = { epsilonNano: epsilon, deltaAtto: delta }
  return { shape: 'gaussian', rho: rhoBoughtBy(loss), loss, inRho: false }
}

function priceOfRho(rho: RhoPico): Price {
  const loss = { epsilonNano: epsilonOfRho(rho, STATED_DELTA), deltaAtto: STATED_DELTA }
  return { shape: 'gaussian', rho, loss, inRho: true }
}

/** Calibrates the noise of each measured table to its share. The shares add up to no more than the price. */
function measure(shares: readonly Share[], sensitivities: readonly Sensitivity[], price: Price) {
  const whole = price.shape === 'laplace' ? price.epsilonNano : price.rho
  const parts = divided(whole, shares)
  if (parts.some((part) => part < 1n)) {
    const rule = `must be large enough to be divided among ${shares.length} tables`
    throw refuseField('invalid-request', price.shape === 'laplace' ? 'epsilon' : 'rho', rule)
  }
  if (price.shape === 'laplace') {
    const measurements = parts.map((part, place) =>
      calibrateLaplace(entry(sensitivities, place), epsilonNano(part), LEAST_SCALE_UNITS),
    )
    const loss = measurements.reduce((sum, measurement) => addLoss(sum, measurement.loss), NO_LOSS)
    return { measurements, loss, rho: rhoOf(measurements) }
  }
  const measurements = parts.map((part, place) =>
    calibrateGaussianByRho(
      entry(sensitivities, place),
      rhoPico(part),
      LEAST_SCALE_UNITS,
      price.loss.deltaAtto,
    ),
  )
  const rho = rhoOf(measurements)
  if (rho > price.rho) throw new RangeError('the shares of a price must not exceed it')
  return { measurements, loss: price.loss, rho, ...(price.inRho ? { statedRho: price.rho } : {}) }
}

function rhoOf(measurements: readonly Measurement[]): RhoPico {
  return rhoTogether(measurements.map((each) => zeroConcentratedMap(each, each.sensitivity)))
}

/** Divides a price by shares; the largest share takes what rounding leaves. */
function divided(whole: bigint, shares: readonly Share[]): readonly bigint[] {
  const parts = shares.map(({ share }) => (whole * BigInt(Math.floor(share * 2 ** 40))) >> 40n)
  const largest = shares.reduce(
    (best, { share }, place) => (share > entry(shares, best).share ? place : best),
    0,
  )
  const rest = whole - parts.reduce((sum, part) => sum + part, 0n)
  return parts.map((part, place) => (place === largest ? part + rest : part))
}

/**
 * Prepares the errors of all tables at any calibration.
 * @param unit one unit of what is added up, in the unit that people read
 */
function errorsIn(reconstruction: Reconstruction, shape: NoiseShape, confidence: number, unit: number) {
  const known = reconstruction.tables.map((set) => ({
    set,
    cells: cellsIn(set, reconstruction.sizes),
    factors: cellFactors(reconstruction, set, shape),
  }))
  return (measurements: readonly Measurement[]): readonly Table[] => {
    const noises = measurements.map((measurement) => noiseOf(measurement, unit))
    return known.map(({ set, cells, factors }) => {
      const error = errorOf(factors, noises)
      return {
        set,
        cells,
        halfWidth: halfWidthOfMany(error, 1 - confidence),
        deviation: deviationOfMany(error),
      }
    })
  }
}

/**
 * Finds the least price of four digits at which the half-width of each table meets its target. Half-widths are almost proportional to
 * 1 / epsilon, or to the root of 1 / rho: the search starts from there.
 * @throws Refusal if none does.
 */
function leastPrice(
  planAt: (price: Price) => MarginalsPlan,
  shape: NoiseShape,
  delta: DeltaAtto,
  targets: readonly number[],
): MarginalsPlan {
  const inRho = shape === 'gaussian' && delta === 0n
  const one = inRho ? ONE_RHO_PICO : ONE_EPSILON_NANO
  const largest = BigInt(MAX_QUERY_EPSILON) * one
  const largestRho = BigInt(MAX_QUERY_EPSILON) * ONE_RHO_PICO
  const at = (units: bigint) =>
    planAt(inRho ? priceOfRho(rhoPico(units)) : priceOfEpsilon(epsilonNano(units), delta))
  const excessOf = ({ tables }: MarginalsPlan) =>
    Math.max(...tables.map(({ halfWidth }, place) => halfWidth / entry(targets, place)))
  const meets = (plan: MarginalsPlan) => excessOf(plan) <= 1
  const atOne = at(one)
  const times = excessOf(atOne)
  const rho = Number(atOne.rho ?? 0n) * times ** 2
  const guess = inRho
    ? rho
    : shape === 'laplace'
      ? Number(one) * times
      : Number(epsilonOfRho(rhoPico(BigInt(Math.ceil(Math.min(rho, Number(largestRho))))), delta))
  let units = withFewDigits(BigInt(Math.ceil(Math.min(guess, Number(largest)))))
  let plan = at(units)
  while (!meets(plan)) {
    if (units >= largest) {
      const [most, unit] = [MAX_QUERY_EPSILON, inRho ? 'a rho' : 'an epsilon']
      throw refuseQuery(
        'accuracy.halfWidth',
        `cannot be reached with ${unit} of ${most}, the largest that is supported`,
      )
    }
    units = withFewDigits(units + spacingOf(units))
    plan = at(units)
  }
  for (let less = units - spacingOf(units); less > 0n; less -= spacingOf(less)) {
    const cheaper = at(less)
    if (!meets(cheaper)) break
    plan = cheaper
  }
  return plan
}

function cellsOfAll({ tables }: MarginalsPlan): number {
  return tables.reduce((sum, { cells }) => sum + cells, 0)
}

/** All tables of some of the columns. */
export const marginals: PlanKind<MarginalsPlan, MarginalsExact, MarginalsRelease> = {
  readings: ({ scans }) => scans.map(({ aggregate }) => ({ method: 'aggregate', aggregate })),
  exact({ scans, reconstruction: { measured, sizes } }, { aggregate }) {
    const integers = measured.map((set) => {
      const place = scans.findIndex((scan) => contains(scan.set, set))
      return addedUp(entry(entry(aggregate, place), 0), entry(scans, place).set, set, sizes)
    })
    return { kind: 'marginals', integers }
  },
  release: ({ measurements }, { integers }) => addingNoise('marginals', measurements, integers),
  chosen: ({ query: { delta } }) => (delta > 0 ? { delta } : {}),
  rowsThatCount: ({ scans }) => entry(scans, 0).aggregate.where,
  mostValues: cellsOfAll,
  requireAnswerable({ tables, reconstruction: { measured, sizes } }) {
    const refuse = (cells: number, what: string) =>
      refuseQuery('columns', `span ${cells} cells in ${what}; at most ${MOST_CELLS} are supported`)
    const cells = tables.reduce((sum, table) => sum + table.cells, 0)
    if (cells > MOST_CELLS) throw refuse(cells, 'all tables')
    const cellsMeasured = measured.reduce((sum, set) => sum + cellsIn(set, sizes), 0)
    if (cellsMeasured > MOST_CELLS) throw refuse(cellsMeasured, 'the tables to measure')
  },
  leastHalfWidthRows,
  replacementLoss: replacementLossInTwoSteps,
  noise: noiseOfMarginals,
  accuracy,
  reporter,
}

function leastHalfWidthRows({ tables, measurements, added, scans, dataset }: MarginalsPlan): number {
  const { statistic, unit } = added
  const { aggregate } = entry(scans, 0)
  const bounding = dataset.privacyUnit.kind === 'row' ? aggregate.bounding : ONE_ROW_PER_PERSON
  const ofOneRow = sensitivityOf(statistic, { ...aggregate, bounding }, dataset).lInfinity
  const ofMeasured = measurements.map((each) => accuracyOf(each, DEFAULT_CONFIDENCE).halfWidth)
  const ofTables = tables.map(({ halfWidth }) => halfWidth / numberFromRational(unit))
  return Math.min(...ofMeasured, ...ofTables) / Number(ofOneRow)
}

function namesOf({ groupings }: MarginalsPlan, set: ColumnSet): readonly string[] {
  return columnsIn(set).map((column) => entry(groupings, column).column)
}

/** Describes the noise of the tables that are measured. */
export function noiseOfMarginals(plan: MarginalsPlan): Extract<NoiseReport, { mechanism: 'marginals' }> {
  const { dataset, shape, shares, measurements, added } = plan
  const unit = numberFromRational(added.unit)
  return {
    mechanism: 'marginals',
    neighbours: dataset.neighbours,
    distribution: shape,
    tables: measurements.map((measurement, place) => {
      const { set, share } = entry(shares, place)
      return { columns: namesOf(plan, set), ...statedNoise(measurement, unit), share }
    }),
  }
}

function accuracy({ tables, confidence }: MarginalsPlan): AccuracyReport {
  return accuracyOfParts(confidence, tables)
}

/** Numbers that are alike in their errors. */
interface Part {
  readonly halfWidth: number
  readonly deviation: number
  /** Default: 1. */
  readonly cells?: number
}

/** The accuracy of an answer of many numbers. */
export function accuracyOfParts(confidence: number, parts: readonly Part[]): AccuracyReport {
  let [halfWidth, largest, squares, numbers] = [0, 0, 0, 0]
  for (const { halfWidth: own, deviation, cells = 1 } of parts) {
    halfWidth = Math.max(halfWidth, own)
    largest = Math.max(largest, deviation)
    squares += cells * deviation ** 2
    numbers += cells
  }
  return {
    confidence,
    halfWidth,
    // By Jensen's inequality; for a normal variable it is less by a fifth.
    expectedAbsoluteError: largest,
    rootMeanSquaredError: Math.sqrt(squares / numbers),
  }
}

function reporter(plan: MarginalsPlan): (release: MarginalsRelease) => PartialReport {
  const { tables, groupings, added, reconstruction, measurements, maxCells } = plan
  const isInline = cellsOfAll(plan) <= maxCells
  const fractionBits = measurements.map((measurement) => measurement.fractionBits)
  return ({ noisy }) => {
    const estimate = isInline ? valuesFrom(reconstruction, noisy, fractionBits, added.unit) : undefined
    return {
      result: {
        columns: groupings.map(({ column, labels }) => ({ column, labels })),
        tables: tables.map(({ set, cells, halfWidth, deviation }) => ({
          columns: namesOf(plan, set),
          cells,
          halfWidth,
          rootMeanSquaredError: deviation,
          ...defined({ values: estimate?.(set) }),
        })),
      },
      measured: noisy.map((table) => measuredTable(table, isInline)),
    }
  }
}

/** Integers as numbers where the answer is small, and all of them are exact doubles. */
function measuredTable(table: readonly bigint[], isSmall: boolean): MeasuredTables[number] {
  const numbers = isSmall ? table.map(Number) : []
  return isSmall && numbers.every(Number.isSafeInteger) ? numbers : encodedIntegers(table)
}
