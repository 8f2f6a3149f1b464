import type { Amount } from 'sotto-client'
import { formatExact } from './number.ts'

/** Returns the part of an amount that a gauge shows: rho under zCDP, otherwise epsilon. */
export function sizeOf(amount: Amount): number {
  return 'rho' in amount ? amount.rho : amount.epsilon
}

/** Returns the name of the unit of an amount. */
export function unitOf(amount: Amount): 'rho' | 'epsilon' {
  return 'rho' in amount ? 'rho' : 'epsilon'
}

/** Formats an amount, such as `epsilon 0.1` or `epsilon 0.1, delta 0.000001`. */
export function formatAmount(amount: Amount): string {
  if ('rho' in amount) return `rho ${formatExact(amount.rho)}`
  const epsilon = `epsilon ${formatExact(amount.epsilon)}`
  return amount.delta === 0 ? epsilon : `${epsilon}, delta ${formatDelta(amount.delta)}`
}

/** Formats a delta, which is often too small to be written out. It has no place to break a line. */
export function formatDelta(delta: number): string {
  if (delta === 0 || delta >= 1e-4) return formatExact(delta)
  const [digits = '', power = ''] = delta.toExponential().split('e-')
  return `${digits}\u00a0×\u00a010⁻${[...power].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]).join('')}`
}

/** Formats the part of a budget that is spent, such as `1.5 of 10 epsilon spent`. */
export function formatSpent(spent: Amount, cap: Amount): string {
  return `${formatExact(sizeOf(spent))} of ${formatExact(sizeOf(cap))} ${unitOf(cap)} spent`
}

/** A budget with the allotment of the caller, at one level. */
interface Level {
  readonly remaining: Amount
  readonly allotment?: { readonly remaining: Amount } | undefined
}

/** Returns what the caller may still spend: the least that a dataset, its population and their allotments have left. */
export function leftOf(
  { remaining, allotment }: Level,
  population?: { readonly budget: Level; readonly allotment?: Level['allotment'] } | undefined,
): Amount {
  const left = [allotment?.remaining, population?.budget.remaining, population?.allotment?.remaining].filter(
    (each) => each !== undefined,
  )
  return left.reduce(smallerOf, remaining)
}

/** Returns the smaller of two amounts in the same unit. */
export function smallerOf(one: Amount, other: Amount): Amount {
  return sizeOf(one) <= sizeOf(other) ? one : other
}
