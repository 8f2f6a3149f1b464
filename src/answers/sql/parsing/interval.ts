/** A length of time: calendar months, and seconds. */
export interface Interval {
  readonly months: number
  readonly seconds: number
}

const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400]

const UNITS: ReadonlyMap<string, Interval> = new Map([
  ['second', { months: 0, seconds: 1 }],
  ['minute', { months: 0, seconds: MINUTE }],
  ['hour', { months: 0, seconds: HOUR }],
  ['day', { months: 0, seconds: DAY }],
  ['week', { months: 0, seconds: 7 * DAY }],
  ['month', { months: 1, seconds: 0 }],
  ['quarter', { months: 3, seconds: 0 }],
  ['year', { months: 12, seconds: 0 }],
])

/** The unit after an interval, as PostgreSQL's parser numbers it: INTERVAL '1' MONTH. */
const UNITS_AFTER: ReadonlyMap<number, string> = new Map([
  [1 << 1, 'month'],
  [1 << 2, 'year'],
  [1 << 3, 'day'],
  [1 << 10, 'hour'],
  [1 << 11, 'minute'],
  [1 << 12, 'second'],
])

/**
 * Reads an interval such as `30 days` or `-1 year 2 months`; `undefined` for another spelling.
 * @param after number of the unit that is written after it
 */
export function intervalOf(text: string, after?: number): Interval | undefined {
  const unit = after === undefined ? '' : (UNITS_AFTER.get(after) ?? '?')
  const parts = `${text} ${unit}`.trim().toLowerCase()
  if (!/^([+-]?\d{1,6} *[a-z]+ *)+$/.test(parts)) return undefined
  let [months, seconds] = [0, 0]
  for (const [, count, name = ''] of parts.matchAll(/([+-]?\d+) *([a-z]+)/g)) {
    const each = UNITS.get(name.replace(/s$/, ''))
    if (each === undefined) return undefined
    months += Number(count) * each.months
    seconds += Number(count) * each.seconds
  }
  return { months, seconds }
}
