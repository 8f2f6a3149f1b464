import type { ReactNode } from 'react'
import { formatMinute, formatTime } from '../../format/time.ts'
import timeStyles from './date-time.module.css'
import factsStyles from './facts.module.css'
import pillStyles from './pill.module.css'
import styles from './table.module.css'

/** Title of a column, the contents of the cell of a row, and where it is aligned if that is not the left. */
export type TableColumn<Row> = readonly [
  title: string,
  cell: (row: Row, place: number) => ReactNode,
  align?: 'right' | undefined,
]

export interface TableProps<Row> {
  /** Subject of the table, for screen readers. */
  readonly label: string
  /** False in the place of a column leaves it out. */
  readonly columns: readonly (TableColumn<Row> | false)[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row, place: number) => string
  /** Text in place of the rows if there are none. */
  readonly empty?: ReactNode
  /** True shows each row below the one before on narrow screens, with the titles beside the cells. */
  readonly cards?: boolean
}

/** Table of records. On narrow screens it scrolls sideways, with a shadow where it continues, or has cards. */
export function Table<Row>({ label, columns, rows, keyOf, empty, cards = false }: TableProps<Row>) {
  if (rows.length === 0 && empty !== undefined) return <div className={styles.empty}>{empty}</div>
  const shown = columns.filter((column) => column !== false)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={styles.scroll} aria-label={label} tabIndex={0}>
      <table className={styles.table} data-cards={cards}>
        <thead>
          <tr>
            {shown.map(([title, , align], place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns may have the same title
              <th key={place} scope="col" data-align={align}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, rowPlace) => (
            <tr key={keyOf(row, rowPlace)}>
              {shown.map(([title, cell, align], place) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns may have the same title
                <td key={place} data-align={align} data-title={title}>
                  {cell(row, rowPlace)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Names and values of some facts. Those without a value are left out. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className={factsStyles.facts}>
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

/** Short label of a state. */
export function Pill({
  tone = 'plain',
  children,
}: {
  readonly tone?: 'plain' | 'accent' | 'cost' | 'danger' | 'success'
  readonly children: ReactNode
}) {
  return <span className={`${pillStyles.pill} ${pillStyles[tone]}`}>{children}</span>
}

export interface DateTimeProps {
  /** ISO 8601 text. */
  readonly value: string
  /** True leaves out the date, which is shown elsewhere. */
  readonly timeOnly?: boolean
}

/** Time of the service, in UTC. */
export function DateTime({ value, timeOnly = false }: DateTimeProps) {
  return (
    <time className={timeStyles.time} dateTime={value} title={value}>
      {timeOnly ? formatTime(value).split(', ')[1] : formatMinute(value)}
    </time>
  )
}
