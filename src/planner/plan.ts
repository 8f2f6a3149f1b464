import type { Query } from '../../schemas/query.ts'
import type { Dataset, NumericColumn } from '../catalog/dataset.ts'
import { calibrateGaussian, requireCalibrationHolds } from '../mechanisms/gaussian.ts'
import { calibrateGeometric } from '../mechanisms/geometric.ts'
import { calibrateLaplace } from '../mechanisms/laplace.ts'
import type { GaussianCalibration, Measurement, MechanismName } from '../mechanisms/measurement.ts'
import { accuracy } from '../mechanisms/mechanism.ts'
import {
  addLoss,
  deltaAtto,
  deltaFromWire,
  epsilonFromWire,
  epsilonNano,
  NO_LOSS,
  type PrivacyLoss,
} from '../privacy/loss.ts'
import { Refusal, refuseField } from '../privacy/refusal.ts'
import type { Sensitivity } from '../privacy/sensitivity.ts'
import type { Aggregate, Statistic } from './aggregate.ts'
import { type Grouping, planGrouping } from './grouping.ts'
import { isNumeric, planPredicate, requireColumn } from './predicate.ts'
import { sensitivityOf } from './sensitivity.ts'

/** How noisy integers become what an answer shows. */
export type Presentation =
  | { readonly kind: 'count' }
  | { readonly kind: 'sum'; readonly column: NumericColumn }
  /** The mean over a public number of rows: one noisy sum, divided. */
  | { readonly kind: 'mean-of-public-size'; readonly column: NumericColumn; readonly rows: number }
  /** A noisy sum about the middle of the range, in half steps, over a noisy count. */
  | { readonly kind: 'mean-about-middle'; readonly column: NumericColumn }
  | { readonly kind: 'cells'; readonly groupings: readonly Grouping[] }

/** Everything that is decided about a query before any data is read: it depends on public facts only. */
export interface Plan {
  readonly query: Query
  readonly dataset: Dataset
  readonly aggregate: Aggregate
  /** One for each of the aggregate's statistics. */
  readonly measurements: readonly Measurement[]
  /** The price: the sum of the measurements'. */
  readonly loss: PrivacyLoss
  readonly presentation: Presentation
}

/** What a plan may not exceed. */
export interface PlanLimits {
  readonly maxCells: number
}

/**
 * Plan a query: its aggregate, the exact sensitivity, the mechanism and the price.
 *
 * @throws Refusal for whatever does not fit the dataset or the mechanism, naming the field and the rule.
 */
export function plan(query: Query, dataset: Dataset, limits: PlanLimits): Plan {
  const loss: PrivacyLoss = {
    epsilonNano: epsilonFromWire(query.epsilon, 'epsilon'),
    deltaAtto: deltaFromWire(query.delta, 'delta'),
  }
  if (query.calibration !== undefined && query.mechanism !== 'gaussian') {
    throw refuseField('invalid-request', 'calibration', 'applies to the mechanism "gaussian" only')
  }
  // Of the query as it is asked: that a mean divides its epsilon in two is no way around the rule.
  if (query.calibration !== undefined) requireCalibrationHolds(query.calibration, loss.epsilonNano)
  const { statistics, groupings, presentation, wholeNumbers } = shapeOf(query, dataset, limits)
  requireNonNegative(query, presentation)
  const aggregate: Aggregate = {
    ...(query.where === undefined ? {} : { where: planPredicate(query.where, dataset, 'where') }),
    groupBy: groupings.map((grouping) => grouping.key),
    statistics,
    bounding: { kind: 'one-row-each' },
  }
  const sensitivities = statistics.map((statistic) => sensitivityOf(statistic, aggregate, dataset))
  const measurements = measure(query, sensitivities, splitLoss(loss, statistics.length), wholeNumbers)
  const price = measurements.reduce((sum, measurement) => addLoss(sum, measurement.loss), NO_LOSS)
  return { query, dataset, aggregate, measurements, loss: price, presentation }
}

/** Cutting at 0 improves an answer whose truth is never negative, and makes its stated accuracy false for any other. */
function requireNonNegative(query: Query, presentation: Presentation): void {
  if (!query.postprocess.nonNegative) return
  const column = 'column' in presentation ? presentation.column : undefined
  if (column !== undefined && column.lowerIndex < 0n) {
    throw refuseField(
      'query-does-not-fit',
      'postprocess.nonNegative',
      `needs a truth that is never negative, and ${column.name} may be below 0`,
    )
  }
}

interface Shape {
  readonly statistics: readonly Statistic[]
  readonly groupings: readonly Grouping[]
  readonly presentation: Presentation
  /** Whether every statistic is a whole number in people's units, so that integer noise is offered. */
  readonly wholeNumbers: boolean
}

function shapeOf(query: Query, dataset: Dataset, limits: PlanLimits): Shape {
  switch (query.kind) {
    case 'count':
      return {
        statistics: [{ kind: 'count' }],
        groupings: [],
        presentation: { kind: 'count' },
        wholeNumbers: true,
      }
    case 'sum': {
      const column = requireNumericColumn(dataset, query.column)
      return {
        statistics: [{ kind: 'affine-sum', column: column.name, factor: 1n, offset: 0n }],
        groupings: [],
        presentation: { kind: 'sum', column },
        wholeNumbers: column.type === 'integer',
      }
    }
    case 'mean':
      return shapeOfMean(requireNumericColumn(dataset, query.column), dataset, query.where !== undefined)
    case 'histogram':
      return shapeOfTable([planGrouping(query.column, dataset, 'column')], limits)
    case 'contingency': {
      const groupings = query.columns.map((column, position) =>
        planGrouping(column, dataset, `columns.${position}`),
      )
      const repeated = groupings.findIndex(
        (grouping, position) => groupings.findIndex((other) => other.column === grouping.column) !== position,
      )
      if (repeated !== -1) throw refuseField('query-does-not-fit', `columns.${repeated}`, 'is named twice')
      return shapeOfTable(groupings, limits)
    }
  }
}

function requireNumericColumn(dataset: Dataset, name: string): NumericColumn {
  const column = requireColumn(dataset, name, 'column')
  if (isNumeric(column)) return column
  throw refuseField('query-does-not-fit', 'column', `must be numeric, and ${name} is of type ${column.type}`)
}

/**
 * Where the number of rows that count is public, the mean is one noisy sum divided by it. Elsewhere it is a noisy sum
 * about the middle of the range over a noisy count: a row then moves the sum by half the range at most, whatever the
 * range's distance from 0.
 */
function shapeOfMean(column: NumericColumn, dataset: Dataset, filtered: boolean): Shape {
  const wholeNumbers = column.type === 'integer'
  if (dataset.rows !== undefined && !filtered && !column.nullable) {
    return {
      statistics: [{ kind: 'affine-sum', column: column.name, factor: 1n, offset: 0n }],
      groupings: [],
      presentation: { kind: 'mean-of-public-size', column, rows: dataset.rows },
      wholeNumbers,
    }
  }
  return {
    statistics: [
      // In half steps, so that the middle of an odd range is a whole number of them too.
      {
        kind: 'affine-sum',
        column: column.name,
        factor: 2n,
        offset: -(column.lowerIndex + column.upperIndex),
      },
      column.nullable ? { kind: 'count', column: column.name } : { kind: 'count' },
    ],
    groupings: [],
    presentation: { kind: 'mean-about-middle', column },
    wholeNumbers,
  }
}

function shapeOfTable(groupings: readonly Grouping[], limits: PlanLimits): Shape {
  const field = groupings.length === 1 ? 'column' : 'columns'
  const cells = groupings.reduce((product, grouping) => product * grouping.labels.length, 1)
  if (cells > limits.maxCells) {
    throw refuseField(
      'query-does-not-fit',
      field,
      `span ${cells} cells; at most ${limits.maxCells} are answered`,
    )
  }
  const longestCell = groupings.reduce((sum, grouping) => sum + longestKey(grouping), LONGEST_CELL_FRAME)
  if (cells * longestCell > LARGEST_ANSWER) {
    throw refuseField('query-does-not-fit', field, 'span too many cells of too long names for one answer')
  }
  return {
    statistics: [{ kind: 'count' }],
    groupings,
    presentation: { kind: 'cells', groupings },
    wholeNumbers: true,
  }
}

/** Every answer is stored for ever: this many characters are the most that one may have. */
const LARGEST_ANSWER = 4_000_000
/** What a cell has around its key: `{"key":{},"value":-1.7976931348623157e+308},`. */
const LONGEST_CELL_FRAME = 50

/** The characters of one column's part of a cell's key, at the most. */
function longestKey({ column, labels }: Grouping): number {
  return Math.max(...labels.map((label) => JSON.stringify({ [column]: label }).length))
}

/** Equal shares that add up to the whole, exactly. */
function splitLoss(loss: PrivacyLoss, parts: number): readonly PrivacyLoss[] {
  if (loss.epsilonNano < parts) {
    throw refuseField(
      'invalid-request',
      'epsilon',
      `is divided into ${parts} parts of at least 0.000000001 each`,
    )
  }
  if (loss.deltaAtto > 0n && loss.deltaAtto < parts) {
    throw refuseField('invalid-request', 'delta', `is divided into ${parts} parts of at least 1e-18 each`)
  }
  const share = (total: bigint, part: number) =>
    total / BigInt(parts) + (BigInt(part) < total % BigInt(parts) ? 1n : 0n)
  return Array.from({ length: parts }, (_, part) => ({
    epsilonNano: epsilonNano(share(loss.epsilonNano, part)),
    deltaAtto: deltaAtto(share(loss.deltaAtto, part)),
  }))
}

/** One measurement per statistic, all by the same mechanism: the one named, or the one that errs least. */
function measure(
  query: Query,
  sensitivities: readonly Sensitivity[],
  losses: readonly PrivacyLoss[],
  wholeNumbers: boolean,
): readonly Measurement[] {
  const calibrateAll = (mechanism: MechanismName) =>
    sensitivities.map((sensitivity, position) =>
      calibrate(mechanism, sensitivity, losses[position] ?? NO_LOSS, query.calibration ?? 'analytic'),
    )
  if (query.mechanism !== undefined) {
    if (query.mechanism === 'geometric' && !wholeNumbers) {
      throw new Refusal(
        'mechanism-not-applicable',
        'mechanism: geometric noise is for whole numbers, and this column is real-valued; use "laplace".',
        [{ field: 'mechanism', rule: 'must not be "geometric" for a real-valued column' }],
      )
    }
    return calibrateAll(query.mechanism)
  }
  const [first, ...others] = applicableMechanisms(wholeNumbers, losses).map(calibrateAll)
  if (first === undefined) throw new RangeError('some mechanism always applies')
  return others.reduce((best, next) => (expectedError(next) < expectedError(best) ? next : best), first)
}

function applicableMechanisms(
  wholeNumbers: boolean,
  losses: readonly PrivacyLoss[],
): readonly MechanismName[] {
  const approximate = losses.every((loss) => loss.deltaAtto > 0n)
  return [wholeNumbers ? 'geometric' : 'laplace', ...(approximate ? (['gaussian'] as const) : [])]
}

/** The first statistic leads: in a mean it is the sum, and the count's error behaves alike. */
function expectedError([leading]: readonly Measurement[]): number {
  return leading === undefined ? 0 : accuracy(leading, 0.95).expectedAbsoluteError
}

function calibrate(
  mechanism: MechanismName,
  sensitivity: Sensitivity,
  loss: PrivacyLoss,
  calibration: GaussianCalibration,
): Measurement {
  switch (mechanism) {
    case 'geometric':
      return calibrateGeometric(sensitivity, loss.epsilonNano)
    case 'laplace':
      return calibrateLaplace(sensitivity, loss.epsilonNano)
    case 'gaussian':
      return calibrateGaussian(sensitivity, loss.epsilonNano, loss.deltaAtto, calibration)
  }
}
