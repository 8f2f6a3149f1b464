/**
 * Pairs of datasets that count as neighbours: one privacy unit more or fewer (`add-remove`, unbounded), or one
 * privacy unit's rows replaced by others (`change-one`, bounded; the number of rows is then public).
 */
export type Neighbours = 'add-remove' | 'change-one'

/** Rows that one person can contribute. Currently one row each. */
export type PrivacyUnit = { readonly kind: 'row' }
