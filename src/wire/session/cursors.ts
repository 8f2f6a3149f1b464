import { WireError } from '../errors.ts'
import type { FetchCommand } from '../statements/command.ts'

/** Where a cursor is after a FETCH, and the rows that it passed, in the order in which they are returned. Rows count from 1. */
interface Fetched {
  /** 0 is before the first row, and one more than the number of rows is after the last. */
  readonly at: number
  readonly rows: readonly number[]
}

/**
 * Moves a cursor as PostgreSQL does.
 * @param from the row that it is at
 * @param total the number of its rows
 * @throws WireError if it would have to go back, and cannot
 */
export function moveCursor(
  { which, count }: Pick<FetchCommand, 'which' | 'count'>,
  { from, total, scrolls }: { readonly from: number; readonly total: number; readonly scrolls: boolean },
): Fetched {
  const within = (row: number) => Math.min(Math.max(row, 0), total + 1)
  const isRow = (row: number) => row >= 1 && row <= total
  const at = within(which !== 'absolute' ? from + count : count < 0 ? total + 1 + count : count)
  const step = Math.sign(at - from)
  const passed = Array.from({ length: Math.abs(at - from) }, (_, index) => from + step * (index + 1))
  const rows = (which === 'several' ? passed : [at]).filter(isRow)
  if (!scrolls && (at < from || (at === from && rows.length > 0)))
    throw new WireError('55000', 'The cursor can only scan forward.', {
      hint: 'Declare it with SCROLL to go back.',
    })
  return { at, rows }
}
