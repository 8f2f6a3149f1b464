import type { DateColumn, DateFormat, TimestampColumn } from '../../../core/dataset/dataset.ts'
import { must } from '../../../privacy/must.ts'
import { localOffsets } from '../../clock.ts'
import { ONE_NANO, SECONDS_PER_DAY } from '../../grid.ts'
import { type Encoding, indexOf, type Layer, type SourceColumn, textOf, trimmed, within } from './source.ts'

const MICROSECONDS_PER_SECOND = 1_000_000n
const MICROSECONDS_PER_DAY = SECONDS_PER_DAY * MICROSECONDS_PER_SECOND

/**
 * Days since 1970 of a time far beyond every bound, about 9,000 years from the year 1 and the year 9999. Sources can
 * hold times so far away that their microseconds exceed 64 bits.
 */
const OUTERMOST_DAY = 6_000_000n

/**
 * Stores dates as BIGINT: floor(days / step + 1/2) within the bounds, counted from 1970-01-01. Valid values are DATE
 * and TIMESTAMP values of any unit, and texts in the declared format. A time of day is cut off: the date is the one
 * that the text states, or that of the instant in UTC where the source has instants.
 */
export function encodeDate(column: DateColumn, source: SourceColumn): Encoding {
  const i = source.position
  const days = `days${i}`
  const step = column.stepNano / ONE_NANO
  return {
    layers: [...daysLayers(column, source, days)],
    stored: indexOf(column, days, step),
  }
}

function daysLayers(column: DateColumn, source: SourceColumn, days: string): readonly Layer[] {
  const { name, type, position } = source
  // The difference of dates is total: infinity is a day beyond all others.
  if (type === 'DATE') return [{ [days]: `${name} - DATE '1970-01-01'` }]
  if (isTimestamp(type)) {
    const microseconds = `microseconds${position}`
    return [
      { [microseconds]: microsecondsOf(source) },
      { [days]: floorDivision(microseconds, MICROSECONDS_PER_DAY) },
    ]
  }
  const plain = `plain${position}`
  return [
    plainLayer(
      column.dateFormat,
      source,
      PLAIN_DATE,
      (text) => `TRY_CAST(${text} AS DATE) - DATE '1970-01-01'`,
    ),
    partsLayer(column.dateFormat, source),
    { [days]: `coalesce(${plain}, ${daysOfParts(position)})` },
  ]
}

/**
 * Stores timestamps as BIGINT: floor(seconds / step + 1/2) within the bounds, counted from 1970-01-01T00:00:00Z. Valid
 * values are DATE and TIMESTAMP values of any unit, and texts in the declared format, whose time of day may have
 * fractional seconds and an offset and may be missing (midnight). Values without an offset are in the declared time
 * zone. Digits beyond microseconds are cut off, which rounding to a step of whole seconds does not notice.
 */
export function encodeTimestamp(column: TimestampColumn, source: SourceColumn): Encoding {
  const i = source.position
  const microseconds = `microseconds${i}`
  const step = (column.stepNano / ONE_NANO) * MICROSECONDS_PER_SECOND
  return {
    layers: microsecondsLayers(column, source, microseconds),
    stored: indexOf(column, microseconds, step),
  }
}

function microsecondsLayers(
  column: TimestampColumn,
  source: SourceColumn,
  microseconds: string,
): readonly Layer[] {
  const { name, type, position } = source
  const local = `local${position}`
  const utc = { [microseconds]: `${local} - ${printOffset(column, local)}` }
  if (type === 'DATE') {
    const days = `days${position}`
    return [
      { [days]: `${name} - DATE '1970-01-01'` },
      { [local]: `${within(days, -OUTERMOST_DAY, OUTERMOST_DAY)} * ${MICROSECONDS_PER_DAY}` },
      utc,
    ]
  }
  if (type === 'TIMESTAMP WITH TIME ZONE') return [{ [microseconds]: microsecondsOf(source) }]
  if (isTimestamp(type)) return [{ [local]: microsecondsOf(source) }, utc]
  const part = partOf(position)
  const seconds = `${part('hours')} * 3600 + ${part('minutes')} * 60 + ${part('seconds')}`
  const days = daysOfParts(position)
  const plain = `plain${position}`
  return [
    plainLayer(
      column.dateFormat,
      source,
      PLAIN_TIME,
      (text) => `epoch_us(TRY_CAST(rtrim(${text}, 'Z') AS TIMESTAMP))`,
    ),
    partsLayer(column.dateFormat, source),
    {
      [local]: `coalesce(${plain}, ((${days}) * ${SECONDS_PER_DAY} + ${seconds}) * ${MICROSECONDS_PER_SECOND}
      + coalesce(TRY_CAST(left(parts${position}.fraction || '000000', 6) AS BIGINT), 0))`,
      [`offset${position}`]: `CASE
        WHEN ${plain} IS NOT NULL THEN CASE WHEN ends_with(${textOf(source)}, 'Z') THEN 0 END
        WHEN parts${position}.zone = '' THEN NULL
        WHEN parts${position}.sign = '' THEN 0
        ELSE (${part('offsethours')} * 3600 + ${part('offsetminutes')} * 60)
          * CASE WHEN parts${position}.sign = '-' THEN -${MICROSECONDS_PER_SECOND} ELSE ${MICROSECONDS_PER_SECOND} END
      END`,
    },
    { [microseconds]: `${local} - coalesce(offset${position}, ${printOffset(column, local)})` },
  ]
}

/** The usual spellings of dates and times, whose parts need not be told apart. */
const PLAIN_DATE = '[0-9]{4}-[0-9]{2}-[0-9]{2}'
const PLAIN_TIME = `${PLAIN_DATE}[T ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z?`

/**
 * Names `plain<i>`: the value of a text that has the usual spelling in ISO 8601, which is much faster than telling its
 * parts apart; NULL for all other texts and for dates that do not exist.
 */
function plainLayer(
  format: DateFormat,
  source: SourceColumn,
  pattern: string,
  parse: (text: string) => string,
): Layer {
  const text = textOf(source)
  // DuckDB's cast alone accepts other spellings as well, and takes the year 0 for 1 BC.
  const isPlain = `regexp_full_match(${text}, '${pattern}') AND ${text} >= '0001'`
  const plain = format === 'YYYY-MM-DD' ? `CASE WHEN ${isPlain} THEN ${parse(text)} END` : 'NULL::BIGINT'
  return { [`plain${source.position}`]: plain }
}

function isTimestamp(type: string): boolean {
  return type.startsWith('TIMESTAMP')
}

/**
 * The microseconds since 1970-01-01 of a DuckDB timestamp of any unit, which are NULL for infinities. These and times
 * far away become {@link OUTERMOST_DAY}.
 */
function microsecondsOf({ name }: SourceColumn): string {
  const outermost = OUTERMOST_DAY * MICROSECONDS_PER_DAY
  const epoch = `epoch_us(${name})`
  return `CASE
    WHEN ${name} IS NULL THEN NULL
    WHEN ${epoch} IS NULL THEN CASE WHEN ${name} > TIMESTAMP '1970-01-01' THEN ${outermost} ELSE -${outermost} END
    ELSE ${within(epoch, -outermost, outermost)}
  END`
}

/** The number of a field of a text; 0 if the text does not have the field. */
function partOf(i: number): (field: string) => string {
  return (field) => `coalesce(TRY_CAST(parts${i}.${field} AS BIGINT), 0)`
}

const TIME_OF_DAY =
  '([Tt ]([01][0-9]|2[0-3]):([0-5][0-9])(:([0-5][0-9])([.,]([0-9]+))?)?' +
  '( ?([Zz]|UTC|([+-])([01][0-9]|2[0-3])(:?([0-5][0-9]))?))?)?'
const TIME_FIELDS = [
  'timeofday',
  'hours',
  'minutes',
  'secondspart',
  'seconds',
  'fractionpart',
  'fraction',
  'zonepart',
  'zone',
  'sign',
  'offsethours',
  'offsetminutespart',
  'offsetminutes',
]

/** Takes a text apart. Every field is empty for a text of another form. */
function partsLayer(format: DateFormat, source: SourceColumn): Layer {
  const lenient = format !== 'YYYY-MM-DD' && format !== 'YYYYMMDD'
  const digits = lenient ? '[0-9]{1,2}' : '[0-9]{2}'
  const date = format
    .replaceAll(/[./]/g, '[$&]')
    .replace('YYYY', '([0-9]{4})')
    .replace('MM', `(${digits})`)
    .replace('DD', `(${digits})`)
  const fields = format
    .split(/[^A-Z]|(?<=YYYY)|(?<=MM)/)
    .filter((field) => field !== '')
    .map((field) => ({ YYYY: 'year', MM: 'month', DD: 'day' })[field])
  const names = [...fields, ...TIME_FIELDS].map((field) => `'${field}'`).join(', ')
  const i = source.position
  const text = trimmed(textOf(source))
  const parts = `regexp_extract(${text}, '^${date}${TIME_OF_DAY}$', [${names}])`
  return { [`parts${i}`]: `CASE WHEN plain${i} IS NULL THEN ${parts} END` }
}

/**
 * The days since 1970-01-01 of a text that was taken apart; NULL for a text of another form and a date that does not
 * exist.
 */
function daysOfParts(i: number): string {
  const iso = `parts${i}.year || '-' || parts${i}.month || '-' || parts${i}.day`
  return `CASE WHEN parts${i}.year <> '' AND parts${i}.year <> '0000' THEN TRY_CAST(${iso} AS DATE) - DATE '1970-01-01' END`
}

/**
 * The offset of a local time, in microseconds: the first offset, and the difference at every change up to that time.
 */
function printOffset(column: TimestampColumn, local: string): string {
  const offsets = localOffsets(column)
  return printSum(
    offsets.map(({ from, offsetSeconds }, place) => {
      const difference = microsecondsIn(
        place === 0 ? offsetSeconds : offsetSeconds - must(offsets[place - 1], 'an offset').offsetSeconds,
      )
      return from === undefined
        ? `${difference}`
        : `CAST(${local} >= ${microsecondsIn(from)} AS BIGINT) * ${difference}`
    }),
  )
}

/** Prints a sum in which no operand is nested deeply. */
function printSum(terms: readonly string[]): string {
  const [only = '0', ...others] = terms
  if (others.length === 0) return only
  const middle = terms.length >> 1
  return `(${printSum(terms.slice(0, middle))} + ${printSum(terms.slice(middle))})`
}

function microsecondsIn(seconds: number): bigint {
  return BigInt(seconds) * MICROSECONDS_PER_SECOND
}

/** The quotient by a positive divisor, rounded down. */
function floorDivision(dividend: string, divisor: bigint): string {
  return `CASE WHEN ${dividend} < 0 THEN -((${divisor - 1n} - (${dividend})) // ${divisor}) ELSE ${dividend} // ${divisor} END`
}
