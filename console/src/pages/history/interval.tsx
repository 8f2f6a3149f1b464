import type { Difference } from './comparison.ts'
import styles from './history.module.css'

const WIDTH = 160
const HEIGHT = 20
/** Space at both ends, so that the largest interval does not touch them. */
const MARGIN = 6

export interface IntervalProps extends Pick<Difference, 'difference' | 'halfWidth' | 'verdict'> {
  /** Largest distance from 0 in the same drawing. */
  readonly span: number
}

/** Drawing of a difference and its bound, with a line at 0. The numbers stand beside it. */
export function Interval({ difference, halfWidth, verdict, span }: IntervalProps) {
  const across = (value: number) => WIDTH / 2 + (span === 0 ? 0 : (value / span) * (WIDTH / 2 - MARGIN))
  const middle = HEIGHT / 2
  return (
    <svg
      className={styles.interval}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      data-verdict={verdict}
      aria-hidden="true"
    >
      <line className={styles.zero} x1={WIDTH / 2} x2={WIDTH / 2} y1={0} y2={HEIGHT} />
      {halfWidth !== null && (
        <line
          className={styles.bound}
          x1={across(difference - halfWidth)}
          x2={across(difference + halfWidth)}
          y1={middle}
          y2={middle}
        />
      )}
      <circle cx={across(difference)} cy={middle} r={4} />
    </svg>
  )
}
