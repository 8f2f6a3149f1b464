import { useState } from 'react'
import { useBatchPreview } from '../../api/batch-preview.ts'
import { Curve } from '../../components/charts/curve.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import { Slider } from '../../components/forms/slider.tsx'
import { useSettled } from '../../components/forms/use-debounced.ts'
import { Section } from '../../components/layout/page.tsx'
import { Loading, ProblemNotice } from '../../components/notices/notices.tsx'
import { Table, type TableColumn } from '../../components/tables/tables.tsx'
import { formatExact, formatHalfWidth, formatShare } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset.ts'
import styles from './risk.module.css'
import type { Change, RiskPart } from './risk-state.ts'
import {
  allowedEpsilons,
  atEpsilons,
  epsilonsBetween,
  type TypicalQuery,
  typicalQueries,
} from './typical-queries.ts'

/** Epsilons of the curves. With five questions each, they fit into one batch. */
const CURVE_EPSILONS = epsilonsBetween(0.01, 10, 19)

interface AccuracyEffectProps {
  readonly dataset: Dataset
  readonly epsilon: number
  readonly rows: number
  readonly change: Change
}

/** Half-widths of the typical questions of a dataset at the epsilon, and at others. */
export function AccuracyEffect({ dataset, epsilon, rows, change }: AccuracyEffectProps) {
  const [shown, show] = useState(0)
  const settled = useSettled({ epsilon, rows })
  const queries = typicalQueries(dataset, settled.rows)
  // One request for each epsilon: the limits of the dataset may refuse some of them.
  const half = useHalfWidths(dataset.id, queries, [settled.epsilon / 2])
  const at = useHalfWidths(dataset.id, queries, [settled.epsilon])
  const twice = useHalfWidths(dataset.id, queries, [settled.epsilon * 2])
  const epsilons = allowedEpsilons(CURVE_EPSILONS, dataset.queryLimits)
  const curve = useHalfWidths(dataset.id, queries, epsilons)
  const selected = queries[shown] ?? queries[0]
  return (
    <Section
      title="Accuracy at this epsilon"
      lead={`Each typical question of ${dataset.title}, asked alone. The true value is within the half-width of the answer with a confidence of 95%. No data is read.`}
    >
      <div className={styles.fields}>
        <Slider
          label={
            dataset.privacyUnit.kind === 'person'
              ? 'People that a question covers'
              : 'Rows that a question covers'
          }
          hint="Your supposition. It decides the accuracy of means, and what the half-widths are compared with."
          value={rows}
          scale={{ kind: 'log', lower: 10, upper: 1_000_000 }}
          range={{ lower: 1, upper: 1_000_000_000 }}
          whole
          format={formatExact}
          onChange={(next) => change({ rows: next })}
        />
        <SelectField
          label="Question in the chart"
          value={shown}
          options={queries.map(({ title }, index) => [index, title])}
          onChange={show}
        />
      </div>
      {at.error !== null && <ProblemNotice error={at.error} />}
      {at.error === null && at.halfWidths === undefined && <Loading what="the accuracy" />}
      {at.halfWidths !== undefined && (
        <HalfWidthTable
          queries={queries}
          epsilon={settled.epsilon}
          widths={[half, at, twice].map(({ halfWidths }) => halfWidths?.[0])}
        />
      )}
      {selected !== undefined && curve.halfWidths !== undefined && (
        <AccuracyCurve
          query={selected}
          epsilon={epsilon}
          epsilons={epsilons}
          widths={curve.halfWidths.map((row) => row[queries.indexOf(selected)])}
          onChoose={(next) => change({ epsilon: next })}
        />
      )}
    </Section>
  )
}

type Widths = readonly (number | null | undefined)[]

interface HalfWidthTableProps {
  readonly queries: readonly TypicalQuery[]
  readonly epsilon: number
  /** Half-widths of the questions at half the epsilon, at the epsilon, and at twice the epsilon, where known. */
  readonly widths: readonly (Widths | undefined)[]
}

function HalfWidthTable({ queries, epsilon, widths }: HalfWidthTableProps) {
  const titles = ['half the epsilon', `epsilon ${formatExact(epsilon)}`, 'twice the epsilon']
  return (
    <Table
      label="Half-widths of typical questions"
      rows={queries}
      keyOf={({ title }) => title}
      columns={[
        ['Question', ({ title }) => title],
        ...titles.map(
          (title, column): TableColumn<TypicalQuery> => [
            title,
            (query, row) => <HalfWidth query={query} width={widths[column]?.[row]} strong={column === 1} />,
            'right',
          ],
        ),
      ]}
    />
  )
}

/** Returns the half-widths of questions by epsilon, which the service computes without data. */
function useHalfWidths(dataset: string, queries: readonly TypicalQuery[], epsilons: readonly number[]) {
  const exact = epsilons.map((epsilon) => Math.max(1e-9, Number(epsilon.toFixed(9))))
  const { data, error } = useBatchPreview(
    dataset,
    atEpsilons(queries, exact),
    { plan: 'separate' },
    { staleTime: Infinity },
  )
  // An epsilon that is refused must not show the half-widths of the one before.
  const widths = (error === null ? data : undefined)?.answers.map(({ accuracy }) => accuracy.halfWidth)
  const halfWidths =
    widths && exact.map((_, row) => widths.slice(row * queries.length, (row + 1) * queries.length))
  return { halfWidths, error }
}

interface HalfWidthProps {
  readonly query: TypicalQuery
  readonly width: number | null | undefined
  readonly strong: boolean
}

function HalfWidth({ query, width, strong }: HalfWidthProps) {
  if (width === undefined) return <span className={styles.relative}>not available</span>
  if (width === null) return 'depends on the data'
  const text = `± ${formatHalfWidth(width)} ${query.unit}`.trim()
  return (
    <>
      {strong ? <strong>{text}</strong> : text}
      {query.whole !== undefined && (
        <span className={styles.relative}>
          {formatShare(width / query.whole)} of{' '}
          {query.query.kind === 'mean' ? 'its range' : formatExact(query.whole)}
        </span>
      )}
    </>
  )
}

interface AccuracyCurveProps {
  readonly query: TypicalQuery
  readonly epsilon: number
  readonly epsilons: readonly number[]
  readonly widths: Widths
  readonly onChoose: (epsilon: number) => void
}

function AccuracyCurve({ query, epsilon, epsilons, widths, onChoose }: AccuracyCurveProps) {
  const points = epsilons.flatMap((x, index) => {
    const y = widths[index]
    return y === null || y === undefined || y <= 0 ? [] : [{ x, y }]
  })
  if (points.length < 2) return null
  const heights = points.map(({ y }) => y)
  return (
    <Curve
      label={`Half-width of the question “${query.title}” against epsilon`}
      height={240}
      x={{ title: 'Epsilon', scale: { kind: 'log', lower: 0.01, upper: 10 }, onChoose }}
      y={{
        title: `Half-width${query.unit === '' ? '' : `, ${query.unit}`}`,
        scale: { kind: 'log', lower: Math.min(...heights) / 1.2, upper: Math.max(...heights) * 1.2 },
        format: formatHalfWidth,
      }}
      lines={[{ name: 'Half-width', points }]}
      chosen={{ x: epsilon }}
    />
  )
}

/** Effect of the epsilon on a dataset, or a hint that there is none. */
export function Effect({
  dataset,
  epsilon,
  state,
  change,
}: RiskPart & { readonly dataset: Dataset | undefined; readonly epsilon: number }) {
  if (dataset !== undefined && epsilon > 0)
    return <AccuracyEffect dataset={dataset} epsilon={epsilon} rows={state.rows} change={change} />
  return (
    <Section title="Accuracy at this epsilon">
      <p>
        {dataset === undefined
          ? 'Select a dataset above to see the accuracy of its typical questions.'
          : 'Accept a larger risk to see the accuracy of typical questions.'}
      </p>
    </Section>
  )
}
