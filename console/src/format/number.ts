/** Significant digits of an estimate that is not whole and has no known half-width. */
const ESTIMATE_DIGITS = 6

/** Most digits after the decimal point of an estimate. */
const MAX_FRACTION_DIGITS = 12

const estimate = new Intl.NumberFormat('en', { maximumSignificantDigits: ESTIMATE_DIGITS })
const exact = new Intl.NumberFormat('en', { maximumFractionDigits: 12 })
const rounded = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })
const share = new Intl.NumberFormat('en', { style: 'percent', maximumSignificantDigits: 3 })

/**
 * Formats an estimate, such as an answer. Whole numbers are exact. Others have the digits that their half-width leaves
 * any meaning to.
 */
export function formatEstimate(value: number, halfWidth?: number): string {
  if (Number.isInteger(value)) return exact.format(value)
  if (halfWidth === undefined || !(halfWidth > 0)) return estimate.format(value)
  const digits = Math.min(MAX_FRACTION_DIGITS, Math.max(0, 1 - Math.floor(Math.log10(halfWidth))))
  return new Intl.NumberFormat('en', { maximumFractionDigits: digits }).format(value)
}

/** Formats a number that must not be rounded, such as a price. */
export function formatExact(value: number): string {
  return exact.format(value)
}

/** Formats a number of things: `1 row`, `1,000 rows`. */
export function formatCount(count: number, one: string, several = `${one}s`): string {
  return `${exact.format(count)} ${count === 1 ? one : several}`
}

/** Formats a half-width with the two digits that matter. */
export function formatHalfWidth(value: number): string {
  return value >= 100 ? exact.format(Math.round(value)) : rounded.format(value)
}

const bound = new Intl.NumberFormat('en', {
  style: 'percent',
  maximumSignificantDigits: 3,
  roundingMode: 'ceil',
})

/** Formats an upper bound on a probability as a percentage, rounded up so that it stays a bound. */
export function formatRisk(value: number): string {
  return bound.format(value)
}

/** Formats a number between 0 and 1 as a percentage. */
export function formatShare(value: number): string {
  return share.format(value)
}

/** Reads a number as it was entered; undefined for an empty or malformed text. */
export function numberOf(text: string): number | undefined {
  const number = Number(text)
  return text.trim() === '' || !Number.isFinite(number) ? undefined : number
}

/** True for a whole number in a range. */
export function isWhole(value: number | undefined, least: number, most = Number.MAX_SAFE_INTEGER): boolean {
  return value !== undefined && Number.isInteger(value) && value >= least && value <= most
}
