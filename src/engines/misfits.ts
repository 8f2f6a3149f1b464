import { type Column, isGrid } from '../core/dataset/dataset.ts'
import type { IngestionCounts, InvalidValues, Misfits } from '../core/dataset/entry.ts'
import { must } from '../privacy/must.ts'

/**
 * The ways in which a value does not fit its column: it is NULL, or no identifier, where there must be a value; or it
 * breaks the rule of the column's type. Counts of misfits are in this order.
 */
export const MISFIT_KINDS = ['missing', 'unfit'] as const

export type MisfitKind = (typeof MISFIT_KINDS)[number]

/** Places of the rows of a file, as its custodian finds them. */
export interface RowPlaces {
  readonly unit: NonNullable<Misfits['unit']>
  /** Number of lines before the first row. */
  readonly offset: number
}

/** Places of misfits, as their custodian is told them. */
export type ToldPlaces = Pick<Misfits, 'unit' | 'first' | 'table'>

/** Reads the first places of the misfits of a kind in a column. */
export type MisfitPlaces = (position: number, kind: MisfitKind) => Promise<ToldPlaces>

/**
 * Describes the misfits of each declared column.
 * @param counts for each column, and for each kind in the order of {@link MISFIT_KINDS}
 * @param places absent for a table, whose rows have none; they are read for the columns that have misfits
 */
export async function describeMisfits(
  columns: readonly Column[],
  counts: readonly number[],
  places?: MisfitPlaces,
): Promise<readonly Required<InvalidValues>[]> {
  const described: Required<InvalidValues>[] = []
  for (const [position, column] of columns.entries()) {
    const misfits: Misfits[] = []
    for (const [place, kind] of MISFIT_KINDS.entries()) {
      const values = must(counts[position * MISFIT_KINDS.length + place], 'a number of misfits')
      if (values === 0) continue
      const rule = kind === 'missing' ? 'missing' : UNFIT_RULES[column.type]
      misfits.push({ rule, values, ...(await places?.(position, kind)) })
    }
    const values = misfits.reduce((sum, each) => sum + each.values, 0)
    described.push({ column: column.name, values, misfits })
  }
  return described
}

/**
 * Lists the number of clamped values of each column with bounds.
 * @param counts one for each declared column; `undefined` where it is unknown
 */
export function describeClamped(
  columns: readonly Column[],
  counts: readonly (number | undefined)[],
): IngestionCounts['clampedValues'] {
  return columns.flatMap((column, position) => {
    const values = counts[position]
    return column.type === 'identifier' || !isGrid(column) || values === undefined
      ? []
      : [{ column: column.name, values }]
  })
}

/**
 * Returns the places of rows.
 * @param rows numbers of rows, counted from 1
 */
export function placesOfRows({ unit, offset }: RowPlaces, rows: readonly number[]): ToldPlaces {
  return { unit, first: rows.map((row) => row + offset) }
}

/** The rule that a value breaks that is present and does not fit its column's type. */
const UNFIT_RULES: Readonly<Record<Column['type'], Misfits['rule']>> = {
  integer: 'not-a-whole-number',
  number: 'not-a-number',
  date: 'not-a-date',
  timestamp: 'not-a-timestamp',
  boolean: 'not-a-boolean',
  category: 'not-a-category',
  string: 'not-a-text',
  identifier: 'not-a-text',
}
