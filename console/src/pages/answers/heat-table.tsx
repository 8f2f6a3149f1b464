import { Table, type TableColumn } from '../../components/tables/tables.tsx'
import { formatEstimate } from '../../format/number.ts'
import styles from './answers.module.css'
import type { Heat } from './marginals.ts'

/** Counts by two columns: the larger a count, the stronger its colour. */
export function HeatTable({ heat: { title, across, rows, halfWidth } }: { readonly heat: Heat }) {
  const most = Math.max(0, ...rows.flatMap(({ values }) => values))
  const cellOf = (value: number) => {
    const share = most > 0 ? Math.round((100 * Math.max(0, value)) / most) : 0
    return <span style={{ '--share': `${share}%` } as object}>{formatEstimate(value, halfWidth)}</span>
  }
  return (
    <div className={styles.heat}>
      <Table
        label={`Heat table: ${title}`}
        rows={rows}
        keyOf={({ label }) => label}
        columns={[
          [title, ({ label }) => label],
          ...across.map(
            (label, place): TableColumn<Heat['rows'][number]> => [
              label,
              ({ values }) => cellOf(values[place] ?? 0),
              'right',
            ],
          ),
        ]}
      />
    </div>
  )
}
