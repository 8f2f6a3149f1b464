import type { Schemas } from '../../api/schemas.ts'
import { type SpendingPoint, spendingOf } from '../history/spending.ts'

export const DAY_MS = 86_400_000

/** Numbers of days from which a forecast can be made. */
export const WINDOWS = [7, 28, 90, 365] as const
export type WindowDays = (typeof WINDOWS)[number]

/** End of a budget, if it is spent at the rate of the last days. */
export type Forecast =
  /** Nothing is left. */
  | { readonly kind: 'spent' }
  /** Nothing was spent in the window. */
  | { readonly kind: 'idle' }
  /** The budget is less than a day old. */
  | { readonly kind: 'young' }
  | {
      readonly kind: 'ends'
      /** Size of the amount that was spent per day. */
      readonly perDay: number
      readonly endsAtMs: number
    }

export interface ForecastTerms {
  /** Total after each charge, oldest first. */
  readonly totals: readonly SpendingPoint[]
  /** Sizes of what may be spent in all, and of what is spent by now. */
  readonly cap: number
  readonly spent: number
  /** Time since when the budget could be spent. */
  readonly openedAtMs: number
  readonly nowMs: number
  readonly windowDays: number
}

/**
 * Forecasts when a budget is gone: what is left, divided by the average spending per day over the window. A budget that
 * is younger than the window is averaged over its age. On its first day there is no forecast.
 */
export function forecastOf(terms: ForecastTerms): Forecast {
  const { totals, cap, spent, openedAtMs, nowMs, windowDays } = terms
  const left = cap - spent
  if (left <= 0) return { kind: 'spent' }
  const windowMs = Math.min(windowDays * DAY_MS, nowMs - openedAtMs)
  const recent = spentSince(totals, nowMs - windowMs)
  if (recent <= 0) return { kind: 'idle' }
  if (windowMs < DAY_MS) return { kind: 'young' }
  const perDay = recent / (windowMs / DAY_MS)
  return { kind: 'ends', perDay, endsAtMs: nowMs + (left / perDay) * DAY_MS }
}

/** Returns what was spent after a time. */
export function spentSince(totals: readonly SpendingPoint[], sinceMs: number): number {
  const before = totals.findLast(({ atMs }) => atMs < sinceMs)?.spent ?? 0
  return (totals.at(-1)?.spent ?? 0) - before
}

/** Spending of one analyst over time. */
export interface AnalystTotals {
  readonly analyst: string
  readonly totals: readonly SpendingPoint[]
}

/** Returns the spending of each analyst over time, those who spent most first. It includes shared releases. */
export function totalsByAnalyst(
  entries: readonly Pick<Schemas['LedgerEntry'], 'sequence' | 'kind' | 'at' | 'amount' | 'principal'>[],
): readonly AnalystTotals[] {
  const charges = entries.filter(({ kind }) => kind === 'charged' || kind === 'shared')
  const spentBy = ({ totals }: AnalystTotals) => totals.at(-1)?.spent ?? 0
  const analysts = [...new Set(charges.map(({ principal }) => principal))]
  return analysts
    .map((analyst) => {
      const own = charges.filter(({ principal }) => principal === analyst)
      return { analyst, totals: spendingOf(own, 'analyst') }
    })
    .sort((one, other) => spentBy(other) - spentBy(one))
}

/** Times beyond this are not shown as dates. */
const LONGEST_YEARS = 50

/** Says when a budget ends, such as `31 Jan 2027`, or that it lasts for more than 50 years. */
export function describeEnd(endsAtMs: number, nowMs: number): string {
  if (endsAtMs - nowMs > LONGEST_YEARS * 365.25 * DAY_MS) return `in more than ${LONGEST_YEARS} years`
  const format = new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  })
  return `around ${format.format(endsAtMs)}`
}
