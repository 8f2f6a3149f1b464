import type { Amount } from 'sotto-client'
import type { Schemas } from '../../api/schemas.ts'
import type { LinePoint, Scale } from '../../components/charts/scale.ts'
import { sizeOf } from '../../format/amount.ts'

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
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): readonly LinePoint[] {
  let level = 0
  const points: LinePoint[] = [{ x: fromMs, y: 0 }]
  for (const { atMs, spent } of totals) {
    points.push({ x: atMs, y: level }, { x: atMs, y: spent })
    level = spent
  }
  return [...points, { x: toMs, y: level }]
}

/** Returns the scale of the amounts, with room above the cap for the name of its line. */
export function amountScale(most: number, cap: Amount): Scale {
  return { kind: 'linear', lower: 0, upper: 1.05 * Math.max(most, sizeOf(cap)) || 1 }
}
