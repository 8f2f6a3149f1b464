import type { Schemas } from '../../api/schemas.ts'
import type { AddressState, Choices } from '../../components/address/address-state.ts'
import type { LinePoint } from '../../components/charts/scale.ts'

export type Comparison = Schemas['MechanismComparison']
export type ComparisonRequest = Schemas['ComparisonRequest']
export type Mechanism = Schemas['ComparedMechanism']

export const MECHANISMS: readonly { readonly id: Mechanism; readonly name: string }[] = [
  { id: 'geometric', name: 'Geometric' },
  { id: 'laplace', name: 'Laplace' },
  { id: 'analytic-gaussian', name: 'Gaussian, analytic calibration' },
  { id: 'classic-gaussian', name: 'Gaussian, classic calibration' },
]

export const MEASURES = ['halfWidth', 'expectedAbsoluteError', 'standardDeviation'] as const
export type Measure = (typeof MEASURES)[number]

export const MEASURE_NAMES: Readonly<Record<Measure, string>> = {
  halfWidth: 'half-width',
  expectedAbsoluteError: 'expected absolute error',
  standardDeviation: 'standard deviation',
}

/** State of the page that compares mechanisms. The address contains all of it. */
export interface ComparisonState extends AddressState {
  readonly epsilon: number
  readonly delta: number
  /** Largest number of statistics in the chart. */
  readonly statistics: number
  /** Number of statistics that is looked at. */
  readonly at: number
  readonly contribution: number
  readonly values: 'whole' | 'real'
  readonly measure: Measure
}

/** State of the comparison in the address, and its changes. */
export interface ComparisonPart {
  readonly state: ComparisonState
  readonly change: (changes: Partial<ComparisonState>) => void
}

export const INITIAL_COMPARISON: ComparisonState = {
  epsilon: 1,
  delta: 0.00001,
  statistics: 20,
  at: 7,
  contribution: 1,
  values: 'whole',
  measure: 'standardDeviation',
}

export const COMPARISON_CHOICES: Choices<ComparisonState> = { values: ['whole', 'real'], measure: MEASURES }

/** Returns the request for a state. */
export function requestOf(state: ComparisonState): ComparisonRequest {
  return {
    epsilon: state.epsilon,
    delta: state.delta,
    statistics: state.statistics,
    perStatistic: { contribution: state.contribution },
    wholeNumbers: state.values === 'whole',
  }
}

/** Returns the line of a mechanism: its error by the number of statistics. Empty if it does not apply. */
export function lineOf({ rows }: Comparison, mechanism: Mechanism, measure: Measure): readonly LinePoint[] {
  return rows.flatMap(({ statistics, noise }) => {
    const each = noise[mechanism]
    return each === undefined ? [] : [{ x: statistics, y: each[measure] }]
  })
}

export interface BestRange {
  readonly mechanism: Mechanism
  readonly from: number
  readonly to: number
}

/** Returns the mechanism with the smallest error for each range of numbers of statistics. */
export function bestRanges({ rows }: Comparison, measure: Measure): readonly BestRange[] {
  const ranges: BestRange[] = []
  for (const { statistics, best } of rows) {
    const last = ranges.at(-1)
    if (last?.mechanism === best[measure]) ranges[ranges.length - 1] = { ...last, to: statistics }
    else ranges.push({ mechanism: best[measure], from: statistics, to: statistics })
  }
  return ranges
}

/** Returns the name of a mechanism. */
export function nameOf(mechanism: Mechanism): string {
  return MECHANISMS.find(({ id }) => id === mechanism)?.name ?? mechanism
}
