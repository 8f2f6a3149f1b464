import type { InvalidValues, Misfits } from '../../catalog/catalog.ts'
import type { Column } from '../../catalog/dataset.ts'

/** Codes of the rules that a value can break, as they are stored while a source is ingested. 0: none. */
export const MISFIT_CODES = { missing: 1, unfit: 2 } as const

export type MisfitKind = keyof typeof MISFIT_CODES

/** The kinds in the order in which their values are counted. */
export const MISFIT_KINDS: readonly MisfitKind[] = ['missing', 'unfit']

/** Number of places of misfits that the custodian is told, for each rule of a column. */
export const PLACES_TOLD = 5

/** Places of the rows of a source, as its custodian finds them. */
export interface RowPlaces {
  readonly unit: Misfits['unit']
  /** Number of lines before the first row. */
  readonly offset: number
}

/** Reads the places of the first misfits of a kind in a column: numbers of rows, counted from 1. */
export type ReadPlaces = (position: number, kind: MisfitKind) => Promise<readonly number[]>

/**
 * Describes the misfits of each declared column. Only the columns that have some are read again.
 * @param counts for each column, and for each kind in the order of {@link MISFIT_KINDS}
 */
export async function describeMisfits(
  columns: readonly Column[],
  counts: readonly number[],
  { unit, offset }: RowPlaces,
  readPlaces: ReadPlaces,
): Promise<readonly InvalidValues[]> {
  const described: InvalidValues[] = []
  for (const [position, column] of columns.entries()) {
    const misfits: Misfits[] = []
    for (const [place, kind] of MISFIT_KINDS.entries()) {
      const values = counts[position * MISFIT_KINDS.length + place] ?? 0
      if (values === 0) continue
      const first = (await readPlaces(position, kind)).map((row) => row + offset)
      misfits.push({ rule: kind === 'missing' ? 'missing' : unfitRule(column), values, unit, first })
    }
    const values = misfits.reduce((sum, each) => sum + each.values, 0)
    described.push({ column: column.name, values, misfits })
  }
  return described
}

/** The rule that a value breaks that is present and does not fit its column's type. */
function unfitRule({ type }: Column): Misfits['rule'] {
  switch (type) {
    case 'integer':
      return 'not-a-whole-number'
    case 'number':
      return 'not-a-number'
    case 'date':
      return 'not-a-date'
    case 'timestamp':
      return 'not-a-timestamp'
    case 'boolean':
      return 'not-a-boolean'
    case 'category':
      return 'not-a-category'
    case 'string':
    case 'identifier':
      return 'not-a-text'
  }
}
