import { formatTime } from '../format/time.ts'
import styles from './date-time.module.css'

export interface DateTimeProps {
  /** ISO 8601 text. */
  readonly value: string
  /** True leaves out the date, which is shown elsewhere. */
  readonly timeOnly?: boolean
}

/** Time of the service, in UTC. */
export function DateTime({ value, timeOnly = false }: DateTimeProps) {
  const text = formatTime(value)
  return (
    <time className={styles.time} dateTime={value} title={value}>
      {timeOnly ? text.slice(text.indexOf(',') + 2) : text}
    </time>
  )
}
