import { Curve } from '../../components/charts/curve.tsx'
import type { CurveLook } from '../../components/charts/scale.ts'
import { Section } from '../../components/layout/page.tsx'
import { Pill, Table } from '../../components/tables/tables.tsx'
import { formatCount, formatEstimate, formatExact } from '../../format/number.ts'
import {
  bestRanges,
  type Comparison,
  type ComparisonPart,
  type ComparisonState,
  lineOf,
  MEASURE_NAMES,
  MECHANISMS,
  type Mechanism,
  nameOf,
} from './comparison.ts'
import styles from './mechanisms.module.css'

const LOOKS: Readonly<Record<Mechanism, { readonly look: CurveLook; readonly dashed: boolean }>> = {
  geometric: { look: 'accent', dashed: false },
  laplace: { look: 'muted', dashed: true },
  'analytic-gaussian': { look: 'cost', dashed: false },
  'classic-gaussian': { look: 'danger', dashed: true },
}

/** The noise of each mechanism against the number of statistics, and at the chosen number. */
export function ComparedNoise({
  comparison,
  state,
  change,
}: ComparisonPart & { readonly comparison: Comparison }) {
  const { measure } = state
  const last = comparison.statistics
  const at = Math.min(Math.max(1, Math.round(state.at)), last)
  const lines = MECHANISMS.flatMap(({ id, name }) => {
    const points = lineOf(comparison, id, measure)
    return points.length === 0 ? [] : [{ name, points, ...LOOKS[id] }]
  })
  const highest = Math.max(...lines.flatMap(({ points }) => points.map(({ y }) => y)))
  const row = comparison.rows[at - 1]
  const best = row?.best[measure]
  return (
    <>
      <Section title="Noise by the number of statistics" lead={rangesText(comparison, measure)}>
        <Curve
          label={`The ${MEASURE_NAMES[measure]} of each mechanism by the number of statistics`}
          height={320}
          x={{
            title: 'Statistics that one person influences',
            scale: { kind: 'linear', lower: 1, upper: Math.max(2, last) },
            onChoose: (next) => change({ at: Math.round(next) }),
            step: 1,
          }}
          y={{
            title: `One statistic's ${MEASURE_NAMES[measure]}`,
            scale: { kind: 'linear', lower: 0, upper: highest * 1.05 },
          }}
          lines={lines}
          chosen={{ x: at, y: best && (row?.noise[best]?.[measure] ?? 0) }}
        />
      </Section>
      <Section title={`With ${formatCount(at, 'statistic')}`}>
        <NoiseTable row={row} best={best} />
        <NotApplicable comparison={comparison} />
      </Section>
    </>
  )
}

/** Says which mechanism is the best for which numbers of statistics. */
function rangesText(comparison: Comparison, measure: ComparisonState['measure']): string {
  const texts = bestRanges(comparison, measure).map(({ mechanism, from, to }) =>
    from === to
      ? `${nameOf(mechanism)} for ${formatExact(from)}`
      : `${nameOf(mechanism)} from ${formatExact(from)} to ${formatExact(to)}`,
  )
  return `Smallest ${MEASURE_NAMES[measure]}: ${texts.join('; ')}.`
}

interface NoiseTableProps {
  readonly row: Comparison['rows'][number] | undefined
  /** Mechanism with the smallest error. */
  readonly best: Mechanism | undefined
}

function NoiseTable({ row, best }: NoiseTableProps) {
  return (
    <Table
      label="Noise of each mechanism"
      rows={MECHANISMS.flatMap(({ id, name }) => {
        const noise = row?.noise[id]
        return noise === undefined ? [] : [{ id, name, noise }]
      })}
      keyOf={({ id }) => id}
      columns={[
        [
          'Mechanism',
          ({ id, name }) => (
            <>
              <strong>{name}</strong> {id === best && <Pill tone="success">smallest</Pill>}
            </>
          ),
        ],
        ['Scale', ({ noise }) => formatEstimate(noise.scale), 'right'],
        ['Standard deviation', ({ noise }) => formatEstimate(noise.standardDeviation), 'right'],
        ['Expected absolute error', ({ noise }) => formatEstimate(noise.expectedAbsoluteError), 'right'],
        ['Half-width, 95%', ({ noise }) => formatEstimate(noise.halfWidth), 'right'],
      ]}
    />
  )
}

/** Mechanisms that cannot be used for the workload, with the reasons. */
function NotApplicable({ comparison }: { readonly comparison: Comparison }) {
  if (comparison.notApplicable.length === 0) return null
  return (
    <ul className={styles.reasons}>
      {comparison.notApplicable.map(({ mechanism, reason }) => (
        <li key={mechanism}>
          {nameOf(mechanism)} does not apply: {reason}.
        </li>
      ))}
    </ul>
  )
}
