import type { TimeSeries } from '../../../../src/studies/plots/time-series.ts'
import type { Schemas } from '../../api/schemas.ts'
import { Table, type TableColumn } from '../../components/tables/tables.tsx'
import { formatHalfWidth, formatShare } from '../../format/number.ts'
import { type AnswerCell, tableOf } from './answer-table.ts'
import { type AnswerPart, labelText, measuredReport, partText, valueText } from './answer-text.ts'
import styles from './answers.module.css'
import { SeriesCharts } from './series-chart.tsx'

export interface AnswerValuesProps {
  readonly part: AnswerPart
  /** The values over time, if they are by consecutive periods. */
  readonly charts: readonly TimeSeries[]
}

/** Values of one answer: a large number, or a table, with its chart beside it. */
export function AnswerValues({ part, charts }: AnswerValuesProps) {
  const { result, accuracy } = part
  const measured = measuredReport(part)
  const table = tableOf(part)
  if (table === undefined)
    return 'value' in result ? (
      <div className={styles.figure}>
        <output className={styles.value}>{valueText(result.value)}</output>
        <span className={styles.bound}>{boundSentence(accuracy)}</span>
        {measured !== undefined && <span className={styles.bound}>As measured: {partText(measured)}</span>}
      </div>
    ) : null
  const values = (
    <>
      <Table
        label="Values"
        rows={table.rows}
        keyOf={(_, place) => String(place)}
        columns={table.columns.map(
          ({ title, isNumber }, column): TableColumn<readonly AnswerCell[]> => [
            title,
            (cells) => cells[column]?.shown,
            isNumber ? 'right' : undefined,
          ],
        )}
        empty="The answer is empty."
      />
      {'groups' in result && 'percentiles' in result && result.percentiles !== undefined && (
        <p>{quantilesText(result.percentiles)}</p>
      )}
      {'groups' in result && 'ranges' in result && result.ranges !== undefined && (
        <p>{rangesText(result.ranges)}</p>
      )}
      <p className={styles.free}>
        Half-widths (±) hold with a probability of {formatShare(accuracy.confidence)}.
      </p>
    </>
  )
  if (charts.length === 0) return values
  return (
    <div className={styles.beside}>
      <SeriesCharts charts={charts} />
      <div className={styles.series}>{values}</div>
    </div>
  )
}

/** Quantiles of a curve, each with the interval in which the true one lies. */
function quantilesText(percentiles: NonNullable<Schemas['CumulativeResult']['percentiles']>): string {
  const each = percentiles.map(
    ({ p, value, interval: { lower, upper } }) =>
      `${p}%: ${placeText(value)} (${placeText(lower)} to ${placeText(upper)})`,
  )
  return `Quantiles: ${each.join(', ')}`
}

/** Counts of ranges, each with its half-width. */
function rangesText(ranges: NonNullable<Schemas['CumulativeResult']['ranges']>): string {
  const each = ranges.map(
    ({ range, value, halfWidth }) =>
      `${labelText(range)}: ${valueText(value)} ± ${formatHalfWidth(halfWidth)}`,
  )
  return `Ranges: ${each.join(', ')}`
}

/** A place on a curve: a number, or a date or period by its name. */
function placeText(place: number | string): string {
  return typeof place === 'number' ? valueText(place) : place
}

function boundSentence({ halfWidth, unit, confidence, reason, interval }: AnswerPart['accuracy']): string {
  if (halfWidth === null) return reason ?? 'No bound on the error is known.'
  const shown = `± ${formatHalfWidth(halfWidth)}`
  const of = unit === 'rows' || unit === 'people' ? ` ${unit} in rank` : unit === undefined ? '' : ` ${unit}`
  const range = interval === undefined ? '' : `: ${valueText(interval.lower)} to ${valueText(interval.upper)}`
  return `${shown}${of}, with a probability of ${formatShare(confidence)}${range}`
}
