import type { TimeSeries } from '../../../../src/studies/plots/time-series.ts'
import { Curve } from '../../components/charts/curve.tsx'
import type { CurveLook, Scale } from '../../components/charts/scale.ts'
import { timeAxis } from '../../components/charts/time-axis.ts'
import { formatEstimate } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'
import { labelText } from './answer-text.ts'
import styles from './answers.module.css'

/** Colours of lines, in their order. */
const LOOKS: readonly CurveLook[] = ['accent', 'cost', 'third', 'fourth', 'fifth', 'sixth']

/** Estimates over time or over numbers, one chart below the other. */
export function SeriesCharts({ charts }: { readonly charts: readonly TimeSeries[] }) {
  const [first] = charts
  return (
    <div>
      {charts.map((series) => (
        <SeriesChart key={series.name} series={series} />
      ))}
      <p className={styles.free}>
        Bands show ± the half-width, cut at the declared range.
        {first !== undefined &&
          first.omitted > 0 &&
          ` Of ${first.lines.length + first.omitted} lines, those with the largest values are drawn.`}
      </p>
    </div>
  )
}

function SeriesChart({ series: { name, over, from, to, lines } }: { readonly series: TimeSeries }) {
  const textOf = (place: number) => (over === undefined ? dateOf(place) : formatEstimate(place))
  const named = lines.map(({ labels, points }, place) => ({
    name: labels.map(labelText).join(' · ') || name,
    look: LOOKS[place] ?? 'muted',
    points,
  }))
  const heights = lines.flatMap(({ points }) =>
    points.flatMap(({ value, around = [] }) => [value, ...around]),
  )
  return (
    <Curve
      label={`Chart: ${name} from ${textOf(from)} to ${textOf(to)}`}
      x={
        over === undefined
          ? { title: 'Time (UTC)', ...timeAxis(from, to) }
          : { title: over, scale: { kind: 'linear', lower: from, upper: to } }
      }
      y={{ title: name, scale: scaleOf(heights), format: (value) => formatEstimate(value) }}
      lines={named.map(({ points, ...line }) => ({
        ...line,
        points: points.map(({ at, value }) => ({ x: at, y: value })),
      }))}
      bands={named.map(({ points, ...line }) => ({
        ...line,
        points: points.flatMap(({ at, around }) =>
          around === undefined ? [] : [{ x: at, lower: around[0], upper: around[1] }],
        ),
      }))}
      height={300}
    />
  )
}

/** Returns a scale with room around some heights. It begins at 0 if that is near. */
function scaleOf(heights: readonly number[]): Scale {
  const [lowest, highest] = [Math.min(...heights), Math.max(...heights)]
  const room = (highest - lowest || 1) / 20
  const isNearZero = lowest >= 0 && lowest <= highest / 2
  return { kind: 'linear', lower: isNearZero ? 0 : lowest - room, upper: highest + room }
}

function dateOf(ms: number): string {
  return formatTime(new Date(ms).toISOString().slice(0, 10))
}
