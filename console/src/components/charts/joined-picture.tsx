import { Pill } from '../tables/tables.tsx'
import styles from './joined-picture.module.css'
import { endOf, type JoinedSource, type JoinedTable, joinedTables, ownerText } from './joined-tables.ts'

const ROLES = {
  rows: 'each row is a row of the dataset',
  owner: 'leads to people',
  people: 'each row is a person',
  facts: 'each row is combined with those of its person',
  public: 'public',
} as const satisfies Record<JoinedTable['role'], string>

/** Picture of the tables of a joined source: their keys, what is public, and who owns a row. */
export function JoinedPicture({ source }: { readonly source: JoinedSource }) {
  return (
    <figure className={styles.picture}>
      <ul>
        {joinedTables(source).map((table) => (
          <TableBox key={table.name} table={table} />
        ))}
      </ul>
      <figcaption>{ownerText(source)}</figcaption>
    </figure>
  )
}

function TableBox({ table: { name, join, role, refersTo } }: { readonly table: JoinedTable }) {
  return (
    <li>
      {join !== undefined && (
        <span className={styles.reference}>
          {endOf(join.from).column || '?'} → {endOf(join.to).column}
        </span>
      )}
      <div className={styles.table} data-role={role}>
        <strong>{name}</strong> <Pill tone={role === 'public' ? 'plain' : 'accent'}>{ROLES[role]}</Pill>
        {join?.maxRows !== undefined && <span> {boundsText(join.maxRows)}</span>}
      </div>
      {refersTo.length > 0 && (
        <ul>
          {refersTo.map((next) => (
            <TableBox key={next.name} table={next} />
          ))}
        </ul>
      )}
    </li>
  )
}

function boundsText(maxRows: Readonly<Record<string, number>>): string {
  const bounds = Object.entries(maxRows).map(([table, rows]) => `${rows} of ${table}`)
  return `At most ${bounds.join(' and ')} per person`
}
