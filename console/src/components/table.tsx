import type { ReactNode } from 'react'
import styles from './table.module.css'

export interface TableColumn<Row> {
  readonly title: string
  /** Distinguishes columns of the same title. Default: the title. */
  readonly key?: string
  /** Contents of the cell of a row. */
  readonly cell: (row: Row) => ReactNode
  readonly align?: 'left' | 'right'
}

export interface TableProps<Row> {
  /** Subject of the table, for screen readers. */
  readonly label: string
  readonly columns: readonly TableColumn<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** Text in place of the rows if there are none. */
  readonly empty?: ReactNode
}

/** Table of records. It scrolls sideways on narrow screens. */
export function Table<Row>({ label, columns, rows, keyOf, empty }: TableProps<Row>) {
  if (rows.length === 0 && empty !== undefined) return <div className={styles.empty}>{empty}</div>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={styles.scroll} aria-label={label} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            {columns.map(({ title, key = title, align }) => (
              <th key={key} scope="col" data-align={align}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, key = title, cell, align }) => (
                <td key={key} data-align={align}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
