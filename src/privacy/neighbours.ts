/**
 * Which datasets count as neighbours of each other: one privacy unit more or fewer (`add-remove`, unbounded), or one
 * privacy unit's rows replaced by others (`change-one`, bounded; the number of rows is then public).
 */
export type Neighbours = 'add-remove' | 'change-one'

/** What one person can contribute. One row each for now; a bound on many rows will be a second kind. */
export type PrivacyUnit = { readonly kind: 'row' }
