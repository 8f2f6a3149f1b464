import type { Amount } from '../privacy/accounting.ts'
import {
  EPSILON_FRACTION_DIGITS,
  MAX_BUDGET_EPSILON,
  ONE_DELTA_ATTO,
  ONE_RHO_PICO,
  type PrivacyLoss,
} from '../privacy/loss.ts'
import { ADMINISTRATION } from './contract/acts.ts'
import { isPopulationAccount } from './contract/budgets.ts'

/*
 * The ranges of stored values. All are far below 2^63, beyond which SQLite rounds integers. The tables have the same
 * constraints.
 */

/** Largest cap, and largest price of a charge, in nano-epsilons. */
export const MAX_EPSILON_NANO = BigInt(MAX_BUDGET_EPSILON) * 10n ** BigInt(EPSILON_FRACTION_DIGITS)
/** Largest cap of delta, in units of 1e-18: just below 1. */
export const MAX_CAP_DELTA_ATTO = ONE_DELTA_ATTO - 1n
/** Largest cap of rho, in units of 1e-12. */
export const MAX_RHO_PICO = BigInt(MAX_BUDGET_EPSILON) * ONE_RHO_PICO
export const MAX_COUNT = Number.MAX_SAFE_INTEGER
/** Largest absolute value of a threshold's noise: far beyond any value drawn, and within 64 bits. */
export const MAX_THRESHOLD_NOISE = 2n ** 62n
/** Latest time of a JavaScript `Date`, in milliseconds since 1970. */
export const MAX_TIME_MS = 8_640_000_000_000_000
/** Longest lease of an attempt: one day. */
export const MAX_LEASE_MS = 86_400_000
/** Largest number of rows that one call reads. */
export const MAX_PAGE = 1_000

/** Size of the stored answers, in bytes, from which on a page of releases ends. */
export const MAX_RELEASES_BYTES = 512 * 1024

/** Number of charges that one call counts. */
export const COUNTED_PAGE = 10_000

/** @throws RangeError if no charge can have this price. */
export function expectPrice(price: Amount): void {
  switch (price.accounting) {
    case 'basic':
      expectWithin('epsilon', price.epsilonNano, MAX_EPSILON_NANO)
      expectWithin('delta', price.deltaAtto, ONE_DELTA_ATTO)
      return
    case 'zcdp':
      expectWithin('rho', price.rhoPico, MAX_RHO_PICO)
      return
  }
}

/** @throws RangeError if no cap can have this value. */
export function expectCap(cap: PrivacyLoss): void {
  expectWithin("a budget's epsilon", cap.epsilonNano, MAX_EPSILON_NANO)
  expectWithin("a budget's delta", cap.deltaAtto, MAX_CAP_DELTA_ATTO)
}

/** @throws RangeError if a text is empty, or is not {@link expectStorable}. */
export function expectText(fields: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(fields)) {
    if (value === '') throw new RangeError(`${name} is empty`)
    expectStorable(name, value)
  }
}

/** @throws RangeError if a text cannot be the id of a dataset. */
export function expectDataset(dataset: string): void {
  expectAccount(dataset)
  if (isPopulationAccount(dataset)) throw new RangeError(`${dataset} is not a dataset`)
}

/** @throws RangeError if a text can be neither the id of a dataset nor the account of a population. */
export function expectAccount(dataset: string): void {
  expectText({ dataset })
  if (dataset === ADMINISTRATION) throw new RangeError(`${ADMINISTRATION} is not a dataset`)
}

/** @throws RangeError if a store may change or refuse the text. */
export function expectStorable(name: string, value: string): void {
  if (!isStorable(value)) throw new RangeError(`${name} is not well-formed Unicode without NUL`)
}

/** True if every store keeps the text unchanged. */
export function isStorable(value: string): boolean {
  // SQLite stores a lone surrogate as another character, so the text that is read back would not match its hash.
  // PostgreSQL cannot store NUL.
  return value.isWellFormed() && !value.includes('\0')
}

/** @throws RangeError if `value` is not a whole number from 1 to `largest`. */
export function expectCount(name: string, value: number, largest: number): void {
  if (!Number.isSafeInteger(value) || value < 1 || value > largest) {
    throw new RangeError(`${name} must be a whole number from 1 to ${largest}`)
  }
}

/** @throws RangeError if `value` is not a time in milliseconds since 1970. */
export function expectTime(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0 || value > MAX_TIME_MS)
    throw new RangeError(`${name} is out of range`)
}

/** @throws RangeError if these are more than one call reads. */
export function expectPage(ids: readonly string[]): void {
  if (ids.length > MAX_PAGE) throw new RangeError(`at most ${MAX_PAGE} charges can be read at a time`)
}

/** @throws RangeError if `value` is below 0 or above `largest`. */
export function expectWithin(name: string, value: bigint, largest: bigint): void {
  if (value < 0n || value > largest) throw new RangeError(`${name} is out of range`)
}
