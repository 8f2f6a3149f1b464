import styles from './interval.module.css'

const WIDTH = 150
const HEIGHT = 18
/** Space at both ends, so that what lies there is drawn in full. */
const MARGIN = 6

export interface IntervalProps {
  readonly value: number
  /** Largest distance of the true value from the value; null if it is not known. */
  readonly halfWidth: number | null
  /** Value at which a line is drawn, in the middle. */
  readonly reference: number
  /** Distance of both ends from the reference. Values beyond are drawn at the ends. */
  readonly span: number
  readonly look: 'accent' | 'danger' | 'muted'
  /** Description for screen readers. */
  readonly label: string
}

/** Small drawing of a value and the interval around it, against a reference. */
export function Interval({ value, halfWidth, reference, span, look, label }: IntervalProps) {
  const across = (at: number) => {
    const position = span === 0 ? 0 : (at - reference) / span
    return WIDTH / 2 + Math.min(1, Math.max(-1, position)) * (WIDTH / 2 - MARGIN)
  }
  const middle = HEIGHT / 2
  return (
    <svg
      className={styles.interval}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      data-look={look}
      role="img"
      aria-label={label}
    >
      <line className={styles.reference} x1={WIDTH / 2} x2={WIDTH / 2} y1={0} y2={HEIGHT} />
      {halfWidth !== null && (
        <line
          className={styles.bound}
          x1={across(value - halfWidth)}
          x2={across(value + halfWidth)}
          y1={middle}
          y2={middle}
        />
      )}
      <circle cx={across(value)} cy={middle} r={4} />
    </svg>
  )
}
