import { defined } from '../../../privacy/defined.ts'
import { refuseQuery } from '../../../privacy/refusal.ts'
import type {
  AccuracyReport,
  Postprocessing,
  PredictedError,
  Report,
  Result,
  ValueDomain,
  ValueFacts,
} from '../report-kinds.ts'
import { isWhole, rangeOf } from './estimates/estimate-kinds.ts'
import { type AdditivePlan, type Estimate, namesOf, shown, temporalType } from './shape.ts'

/*
 * Post-processing of released values: rounding and cutting at 0. It reads the released values, their half-widths and
 * public facts about them, never data, so it costs nothing and can be repeated with any release. Dates and timestamps are
 * always whole days and seconds, and are not cut. Intervals stay those of the measured values, which are no wider.
 */

/** True for a post-processing that changes something. */
export function isSome({ round, nonNegative }: Postprocessing): boolean {
  return round || nonNegative
}

/** Facts about each estimate of sums and counts. */
export function domainOfEstimates({
  estimates,
  shown,
}: Pick<AdditivePlan, 'estimates' | 'shown'>): ValueDomain {
  const names = namesOf(shown)
  return Object.fromEntries(estimates.map((estimate, place) => [names[place] ?? 'value', factsOf(estimate)]))
}

function factsOf(estimate: Estimate): ValueFacts {
  const { lower, upper } = rangeOf(estimate)
  const end = (bound?: number) => (bound === undefined ? undefined : shown(estimate, bound))
  return defined({
    whole: isWhole(estimate) || undefined,
    lower: end(lower),
    upper: end(upper),
    temporal: temporalType(estimate) !== undefined || undefined,
  })
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
    throw refuseQuery(round ? 'round' : 'nonNegative', rule)
  }
  if (!nonNegative) return
  const mayBeNegative = ({ lower, temporal }: ValueFacts) =>
    temporal === undefined && !(typeof lower === 'number' && lower >= 0)
  const negative = facts.find(([, each]) => mayBeNegative(each))
  if (negative === undefined) return
  const rule = `needs values that are never negative, and ${negative[0]} of ${subject} may be`
  throw refuseQuery('nonNegative', rule)
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
  // Never -0, which a stored answer has as 0.
  const rounded = round ? Math.round(value) + 0 : value
  return nonNegative && rounded < 0 ? 0 : rounded
}
