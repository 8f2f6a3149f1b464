import { refuseField } from '../privacy/refusal.ts'
import { type Estimate, temporalType } from './additive.ts'
import type { AdditivePlan } from './kinds/additive.ts'
import type { Plan } from './plan-kinds.ts'
import type { AccuracyReport, PredictedError, Report, Result } from './report-kinds.ts'
import { estimateNames } from './statistic-names.ts'

/*
 * Post-processing of released values: rounding and cutting at 0. It reads the released values, their half-widths and
 * public facts about them, never data, so it costs nothing and can be repeated with any release. Dates and timestamps are
 * always whole days and seconds, and are not cut.
 */

/** Changes that a query asks for. */
export interface Postprocessing {
  /** Rounds values to the nearest whole number. */
  readonly round: boolean
  /** Replaces negative values by 0. */
  readonly nonNegative: boolean
}

/** Public facts about the true value of an estimate. */
export interface ValueFacts {
  /** Present for a value that is a whole number. */
  readonly whole?: true
  /** Present for a value that is never negative. */
  readonly nonNegative?: true
  /** Present for a date or a timestamp. */
  readonly temporal?: true
}

/** Facts about the values of a release: by the names of statistics, or of the one value by `value`. */
export type ValueDomain = Readonly<Record<string, ValueFacts>>

/**
 * Returns the facts about the values of a plan that can be post-processed: those made from sums and counts.
 * @returns `undefined` for a plan without such values
 */
export function domainOf(plan: Plan): ValueDomain | undefined {
  switch (plan.kind) {
    case 'additive':
      return domainOfEstimates(plan)
    case 'groups':
      return plan.sums && domainOfEstimates(plan.sums)
    case 'noisy-max':
    case 'quantile':
    case 'key-selection':
      return undefined
  }
}

/** Returns the post-processing that a query asks for; `undefined` if it asks for none. */
export function postprocessingOf({ query }: Pick<Plan, 'query'>): Postprocessing | undefined {
  if (!('postprocess' in query)) return undefined
  return isSome(query.postprocess) ? query.postprocess : undefined
}

/** True for a post-processing that changes something. */
export function isSome({ round, nonNegative }: Postprocessing): boolean {
  return round || nonNegative
}

/** Facts about each estimate of sums and counts. */
export function domainOfEstimates({
  query,
  estimates,
}: Pick<AdditivePlan, 'query' | 'estimates'>): ValueDomain {
  const names = estimateNames(query)
  return Object.fromEntries(estimates.map((estimate, place) => [names[place] ?? 'value', factsOf(estimate)]))
}

function factsOf(estimate: Estimate): ValueFacts {
  if (temporalType(estimate) !== undefined) return { temporal: true }
  return {
    ...(isWhole(estimate) ? { whole: true } : {}),
    ...(mayBeNegative(estimate) === undefined ? { nonNegative: true } : {}),
  }
}

/** True for estimates whose true value is a whole number. */
function isWhole(estimate: Estimate): boolean {
  switch (estimate.kind) {
    case 'count':
    case 'count-distinct':
      return true
    case 'sum':
    case 'sum-from-middle':
      return estimate.column.type === 'integer'
    case 'proportion':
    case 'proportion-of-cells':
    case 'share':
    case 'mean':
    case 'variance':
    case 'standard-deviation':
    case 'covariance':
    case 'correlation':
    case 'coefficient':
      return false
  }
}

/** Returns the reason why an estimate may be negative; `undefined` if it cannot be. */
export function mayBeNegative(estimate: Estimate): string | undefined {
  if (temporalType(estimate) !== undefined) return undefined
  switch (estimate.kind) {
    case 'sum':
    case 'sum-from-middle':
    case 'mean':
      return estimate.column.lowerIndex < 0n ? `${estimate.column.name} may be below 0` : undefined
    case 'covariance':
    case 'correlation':
    case 'coefficient':
      return `a ${estimate.kind} may be negative`
    case 'count':
    case 'count-distinct':
    case 'variance':
    case 'standard-deviation':
    case 'proportion':
    case 'share':
    case 'proportion-of-cells':
      return undefined
  }
}

/**
 * Requires that a release can be post-processed. Cutting at 0 improves values whose true value is never negative; for
 * others the stated accuracy would be wrong.
 * @param domain absent for a release without sums and counts
 * @throws Refusal `query-does-not-fit` naming the field and the rule.
 */
export function requirePostprocessable(
  domain: ValueDomain | undefined,
  { round, nonNegative }: Postprocessing,
  subject = 'the release',
): void {
  const facts = Object.entries(domain ?? {})
  if (facts.length === 0) {
    if (!round && !nonNegative) return
    const rule = `applies to values made from sums and counts, and ${subject} has none`
    throw refuseField('query-does-not-fit', round ? 'round' : 'nonNegative', rule)
  }
  if (!nonNegative) return
  const negative = facts.find(([, each]) => each.nonNegative === undefined && each.temporal === undefined)
  if (negative === undefined) return
  const rule = `needs values that are never negative, and ${negative[0]} of ${subject} may be`
  throw refuseField('query-does-not-fit', 'nonNegative', rule)
}

/**
 * Post-processes a report.
 * @param measured the report of a release as it was measured
 */
export function postprocess(
  measured: Report,
  domain: ValueDomain | undefined,
  asked: Postprocessing,
): Report {
  if (domain === undefined || !isSome(asked)) return measured
  return {
    result: processedResult(measured.result, domain, asked),
    accuracy: postprocessAccuracy(measured.accuracy, domain, asked),
  }
}

/** Post-processes the accuracy of a release. Expected errors remain those before post-processing. */
export function postprocessAccuracy(
  accuracy: AccuracyReport,
  domain: ValueDomain | undefined,
  asked: Postprocessing,
): AccuracyReport {
  if (domain === undefined || !asked.round) return accuracy
  const { estimates } = accuracy
  if (estimates === undefined) {
    const [only, ...others] = Object.values(domain)
    return others.length > 0 ? accuracy : withHalfWidth(accuracy, only)
  }
  const rounded = Object.entries(estimates).map(
    ([name, error]) => [name, withHalfWidth(error, domain[name])] as const,
  )
  return { ...accuracy, estimates: Object.fromEntries(rounded) }
}

function withHalfWidth<Stated extends Pick<PredictedError, 'halfWidth'>>(
  stated: Stated,
  facts: ValueFacts | undefined,
): Stated {
  return facts === undefined ? stated : { ...stated, halfWidth: roundedHalfWidth(stated.halfWidth, facts) }
}

/** The half-width of a rounded value. */
function roundedHalfWidth(halfWidth: number | null, { whole, temporal }: ValueFacts): number | null {
  if (halfWidth === null || temporal === true) return halfWidth
  // If the true value is a whole number within h of x, it is within floor(h + 1/2) of the rounded x. Any other true
  // value may be half a unit further away.
  return whole === true ? Math.floor(halfWidth + 0.5) : halfWidth + 0.5
}

function processedResult(result: Result, domain: ValueDomain, asked: Postprocessing): Result {
  const number = (value: number, facts = domain.value) => processed(value, facts, asked)
  const estimate = <Value extends { readonly value: number | string; readonly halfWidth: number | null }>(
    stated: Value,
    facts: ValueFacts | undefined,
  ): Value => {
    if (facts === undefined || typeof stated.value !== 'number') return stated
    const value = processed(stated.value, facts, asked)
    return asked.round ? { ...withHalfWidth(stated, facts), value } : { ...stated, value }
  }
  if ('value' in result)
    return typeof result.value === 'number' ? { ...result, value: number(result.value) } : result
  if ('cells' in result)
    return { ...result, cells: result.cells.map((cell) => ({ ...cell, value: number(cell.value) })) }
  if ('groups' in result) {
    const groups = result.groups.map((group) => {
      const values = Object.entries(group.values)
      return {
        ...group,
        values: Object.fromEntries(values.map(([name, value]) => [name, estimate(value, domain[name])])),
      }
    })
    return { ...result, groups }
  }
  if (!('intercept' in result)) return result
  return {
    ...result,
    intercept: estimate(result.intercept, domain.intercept),
    coefficients: result.coefficients.map((coefficient) =>
      estimate(coefficient, domain[`coefficient_${coefficient.column}`]),
    ),
  }
}

function processed(
  value: number,
  facts: ValueFacts | undefined,
  { round, nonNegative }: Postprocessing,
): number {
  if (facts === undefined || facts.temporal === true) return value
  const rounded = round ? Math.round(value) : value
  return nonNegative && rounded < 0 ? 0 : rounded
}
