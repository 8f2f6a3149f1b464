import styles from './register.module.css'

/** Rows of three people of the picture: person, and number of the row among those of the person. */
const PEOPLE = ['a', 'b', 'c'] as const
const ROWS_OF: Readonly<Record<(typeof PEOPLE)[number], number>> = { a: 2, b: 7, c: 1 }

/** Most rows that the picture draws for one person. */
const MOST_DRAWN = 10

export interface ContributionPictureProps {
  /** Largest number of rows of one person that are kept. */
  readonly maxRows: number
  /** True if every row is another person. */
  readonly ofRows: boolean
}

/** Picture of what one person may contribute: kept rows, and rows that are left out. */
export function ContributionPicture({ maxRows, ofRows }: ContributionPictureProps) {
  const kept = Math.max(1, maxRows)
  const text = ofRows
    ? 'Each row is another person. An answer hides any one row.'
    : `Each person keeps at most ${kept} ${kept === 1 ? 'row' : 'rows'}. An answer hides any one person with all of them.`
  return (
    <figure className={styles.picture}>
      <div>
        {PEOPLE.map((person) => {
          const rows = ofRows ? 1 : drawnRows(ROWS_OF[person], kept)
          return (
            <div key={person} className={styles.person} data-hidden={person === 'b'}>
              <svg aria-hidden="true" viewBox="0 0 24 24" width="24" height="24" className={styles.figure}>
                <circle cx="12" cy="7" r="4.5" />
                <path d="M3.5 22c0-5 3.5-8.5 8.5-8.5s8.5 3.5 8.5 8.5z" />
              </svg>
              <div className={styles.rows}>
                {Array.from({ length: rows }, (_, row) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the rows of the picture have no other identity
                  <span key={row} data-kept={row < kept} />
                ))}
                {person === 'b' && !ofRows && kept > rows && <small>… up to {kept}</small>}
              </div>
            </div>
          )
        })}
      </div>
      <figcaption>
        {text}
        {!ofRows && (
          <span className={styles.legend}>
            Outlined rows are left out; a digest of the person’s own rows chooses them.
          </span>
        )}
      </figcaption>
    </figure>
  )
}

/** Rows drawn for a person: the one with most rows has more than are kept. */
function drawnRows(rows: number, kept: number): number {
  return Math.min(MOST_DRAWN, rows === ROWS_OF.b ? Math.max(rows, kept + 2) : rows)
}
