import type { Amount } from 'sotto-client'
import type { Schemas } from '../../api/schemas.ts'
import type { LinePoint, Scale } from '../../components/charts/scale.ts'
import { sizeOf } from '../../format/amount.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Time axis whose ticks lie on whole units: days, hours, minutes or seconds. */
export interface TimeAxis {
  /** Milliseconds of one unit of the scale. Its values are units since 1970. */
  readonly unitMs: number
  readonly scale: Scale
  readonly format: (units: number) => string
}

/** Returns a time axis of at least a minute between two times in milliseconds since 1970. */
export function timeAxis(fromMs: number, toMs: number): TimeAxis {
  const spanMs = Math.max(toMs - fromMs, MINUTE_MS)
  const unitMs = [DAY_MS, HOUR_MS, MINUTE_MS].find((each) => spanMs > 3 * each) ?? SECOND_MS
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...fieldsOf(spanMs) })
  return {
    unitMs,
    scale: { kind: 'linear', lower: fromMs / unitMs, upper: (fromMs + spanMs) / unitMs },
    format: (units) => format.format(Math.round(units * unitMs)),
  }
}

function fieldsOf(spanMs: number): Intl.DateTimeFormatOptions {
  if (spanMs > 300 * DAY_MS) return { month: 'short', year: 'numeric' }
  if (spanMs > 3 * DAY_MS) return { day: 'numeric', month: 'short' }
  const time = { hour: '2-digit', minute: '2-digit' } as const
  return spanMs > 3 * MINUTE_MS ? time : { ...time, second: '2-digit' }
}

/** Point of a total: a time in milliseconds since 1970, and the size of the amount that was spent until then. */
export interface SpendingPoint {
  readonly atMs: number
  readonly spent: number
}

/**
 * Adds up the charges of a ledger.
 * @param entries entries in any order
 * @param payer `dataset` for what its budget paid; `analyst` for what an analyst paid, which includes releases that
 * another analyst had paid for
 * @returns the total after each charge, oldest first; under zCDP in rho, otherwise in epsilon
 */
export function spendingOf(
  entries: readonly Pick<Schemas['LedgerEntry'], 'sequence' | 'kind' | 'at' | 'amount'>[],
  payer: 'dataset' | 'analyst',
): readonly SpendingPoint[] {
  const charges = entries
    .filter(({ kind }) => kind === 'charged' || (kind === 'shared' && payer === 'analyst'))
    .sort((one, other) => one.sequence - other.sequence)
  let spent = 0
  return charges.map(({ at, amount }) => {
    // Amounts have at most 12 decimals. Rounding keeps the errors of binary fractions from adding up.
    spent = Math.round((spent + (amount === undefined ? 0 : sizeOf(amount))) * 1e12) / 1e12
    return { atMs: Date.parse(at), spent }
  })
}

/** Returns the points of a line that stays level between charges, from the first time to the last. */
export function stepsOf(
  totals: readonly SpendingPoint[],
  { fromMs, toMs, unitMs }: { readonly fromMs: number; readonly toMs: number; readonly unitMs: number },
): readonly LinePoint[] {
  let level = 0
  const points: LinePoint[] = [{ x: fromMs / unitMs, y: 0 }]
  for (const { atMs, spent } of totals) {
    points.push({ x: atMs / unitMs, y: level }, { x: atMs / unitMs, y: spent })
    level = spent
  }
  return [...points, { x: toMs / unitMs, y: level }]
}

/** Returns the scale of the amounts: up to the cap, unless little of it is spent. */
export function amountScale(spent: number, cap: Amount): Scale {
  const whole = sizeOf(cap)
  const upper = spent >= whole / 5 ? whole * 1.05 : spent * 1.25
  return { kind: 'linear', lower: 0, upper: upper === 0 ? Math.max(whole, 1) : upper }
}
