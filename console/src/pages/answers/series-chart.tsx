import { Curve } from '../../components/charts/curve.tsx'
import { timeAxis } from '../../components/charts/time-axis.ts'
import { formatEstimate } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'
import styles from './answers.module.css'
import type { TimeSeries } from './series.ts'

/** Estimates over time, one chart below the other. */
export function SeriesCharts({ charts }: { readonly charts: readonly TimeSeries[] }) {
  return (
    <div>
      {charts.map(({ name, fromMs, toMs, omitted, ...chart }) => (
        <Curve
          key={name}
          {...chart}
          label={`Chart: ${name} from ${dateOf(fromMs)} to ${dateOf(toMs)}`}
          x={{ title: 'Time (UTC)', ...timeAxis(fromMs, toMs) }}
          y={{ title: name, scale: chart.y, format: (value) => formatEstimate(value) }}
          height={300}
        />
      ))}
      <p className={styles.free}>
        Bands show ± the half-width, cut at the declared range.
        {charts.some(({ omitted }) => omitted > 0) &&
          ` Of ${(charts[0]?.lines.length ?? 0) + (charts[0]?.omitted ?? 0)} lines, those with the largest values are drawn.`}
      </p>
    </div>
  )
}

function dateOf(ms: number): string {
  return formatTime(new Date(ms).toISOString().slice(0, 10))
}
