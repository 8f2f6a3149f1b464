/**
 * Pairs of datasets that count as neighbours: one privacy unit more or fewer (`add-remove`, unbounded), or one
 * privacy unit's rows replaced by others (`change-one`, bounded; the number of privacy units is then public).
 */
export type Neighbours = 'add-remove' | 'change-one'

/** Rows that one person can contribute. */
export type PrivacyUnit =
  /** Each row belongs to another person. */
  | { readonly kind: 'row' }
  /**
   * The rows with the same value in an identifier column belong to one person, who has at most `maxRows` of them. Rows
   * beyond these are left out, and people are told apart by their number up to `plausibleRows`.
   */
  | {
      readonly kind: 'person'
      readonly column: string
      readonly maxRows: number
      readonly plausibleRows?: number | undefined
    }

/** The rows that one person can contribute. */
export type PersonUnit = Extract<PrivacyUnit, { kind: 'person' }>

/** Largest number of rows by which the people of a dataset are told apart: ten times `maxRows`, unless declared. */
export function plausibleRowsOf({
  maxRows,
  plausibleRows = DEFAULT_PLAUSIBLE * maxRows,
}: PersonUnit): number {
  return plausibleRows
}

const DEFAULT_PLAUSIBLE = 10
