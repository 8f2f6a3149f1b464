import type { Schemas } from '../../../api/schemas.ts'
import { Curve } from '../../../components/charts/curve.tsx'
import { Table } from '../../../components/tables/tables.tsx'
import { formatEstimate, formatShare } from '../../../format/number.ts'
import styles from '../risk.module.css'
import type { RiskPart } from '../risk-state.ts'
import { formatEpsilon } from '../statement.ts'

/** Risk of one column: the largest epsilons by both bounds, and the curves. */
export type ColumnReport = Schemas['EpsilonReport']['columns'][number]

/** The risk of each column against epsilon, with both bounds, and how it was computed. */
export function ColumnCharts({
  columns,
  ...part
}: RiskPart & { readonly columns: readonly ColumnReport[]; readonly epsilon: number }) {
  return (
    <>
      <div className={styles.charts}>
        {columns.map((column) => (
          <ColumnCurve key={column.column} column={column} {...part} />
        ))}
      </div>
      <ColumnFacts columns={columns} />
    </>
  )
}

/** Returns the largest epsilon by the tight bound; infinite if every epsilon keeps the risk. */
export function largestOf({ tightBound }: ColumnReport): number {
  return tightBound.reached ? tightBound.epsilon : Number.POSITIVE_INFINITY
}

/** The largest epsilon for the accepted risk by each bound. */
export function EpsilonTable({ columns }: { readonly columns: readonly ColumnReport[] }) {
  return (
    <Table
      label="Largest epsilon by column"
      rows={columns}
      keyOf={({ column }) => column}
      columns={[
        ['Column', ({ column }) => <strong>{column}</strong>],
        ['By the tight bound', ({ tightBound }) => shownEpsilon(tightBound), 'right'],
        ['By the upper bound', ({ upperBound }) => shownEpsilon(upperBound), 'right'],
      ]}
    />
  )
}

function shownEpsilon(bound: ColumnReport['tightBound'] | ColumnReport['upperBound']): string {
  return bound.reached ? formatEpsilon(bound.epsilon) : `none: at most ${formatShare(bound.largestRisk)}`
}

function ColumnCurve({
  column,
  epsilon,
  state,
  change,
}: RiskPart & { readonly column: ColumnReport; readonly epsilon: number }) {
  const { column: name, curve = [], tightBound, upperBound } = column
  return (
    <div>
      <h3>{name}</h3>
      <Curve
        label={`Disclosure risk of ${name} against epsilon, with both bounds`}
        height={240}
        x={{
          title: 'Epsilon',
          scale: { kind: 'linear', lower: 0, upper: state.to },
          onChoose: (next) => change({ epsilon: Math.max(0.0001, next) }),
        }}
        y={{
          title: 'Disclosure risk',
          scale: { kind: 'linear', lower: 0, upper: 1 },
          format: formatShare,
        }}
        lines={[
          { name: 'Tight bound', points: curve.map((point) => ({ x: point.epsilon, y: point.tightBound })) },
          {
            name: 'Upper bound',
            points: curve.map((point) => ({ x: point.epsilon, y: point.upperBound })),
            look: 'cost',
            dashed: true,
          },
        ]}
        marks={[
          { axis: 'x', value: epsilon, label: `ε = ${formatEpsilon(epsilon)}` },
          { axis: 'y', value: state.risk, label: `accepted ${formatShare(state.risk)}`, look: 'danger' },
          ...[tightBound, upperBound].flatMap((bound) =>
            bound.reached
              ? [
                  {
                    axis: 'x',
                    value: bound.epsilon,
                    label: '',
                    look: bound === tightBound ? 'accent' : 'cost',
                  } as const,
                ]
              : [],
          ),
        ]}
        chosen={{ x: epsilon }}
      />
    </div>
  )
}

function ColumnFacts({ columns }: { readonly columns: readonly ColumnReport[] }) {
  return (
    <details className={styles.small}>
      <summary>How this was computed</summary>
      <Table
        label="Facts of each column"
        rows={columns}
        keyOf={({ column }) => column}
        columns={[
          ['Column', ({ column }) => column],
          ['Possible worlds', ({ worlds }) => formatEstimate(worlds), 'right'],
          ['Sensitivity, bounded', ({ sensitivity }) => formatEstimate(sensitivity.bounded), 'right'],
          ['Sensitivity, unbounded', ({ sensitivity }) => formatEstimate(sensitivity.unbounded), 'right'],
          ['Largest difference', ({ largestDifference }) => formatEstimate(largestDifference), 'right'],
          [
            'Upper bound holds',
            ({ upperBoundHolds }) => (upperBoundHolds ? 'for every world' : 'not for every world'),
          ],
          ['Method', ({ ways }) => ways.answers],
        ]}
      />
    </details>
  )
}
