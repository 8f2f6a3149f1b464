import { keepPreviousData } from '@tanstack/react-query'
import { api } from '../../api/api.ts'
import { Curve, type CurveLook } from '../../components/curve.tsx'
import { Field } from '../../components/field.tsx'
import { Loading } from '../../components/loading.tsx'
import { Page } from '../../components/page.tsx'
import { Pill } from '../../components/pill.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Slider } from '../../components/slider.tsx'
import { Table } from '../../components/table.tsx'
import { useAddressState } from '../../components/use-address-state.ts'
import { useDebounced } from '../../components/use-debounced.ts'
import { formatEstimate, formatExact } from '../../format/number.ts'
import {
  bestRanges,
  COMPARISON_CHOICES,
  type Comparison,
  type ComparisonRequest,
  type ComparisonState,
  INITIAL_COMPARISON,
  lineOf,
  MEASURE_NAMES,
  MEASURES,
  MECHANISMS,
  type Mechanism,
  nameOf,
  requestOf,
} from './comparison.ts'
import styles from './mechanisms.module.css'

interface Part {
  readonly state: ComparisonState
  readonly change: (changes: Partial<ComparisonState>) => void
}

const LOOKS: Readonly<Record<Mechanism, { readonly look: CurveLook; readonly dashed: boolean }>> = {
  geometric: { look: 'accent', dashed: false },
  laplace: { look: 'muted', dashed: true },
  'analytic-gaussian': { look: 'cost', dashed: false },
  'classic-gaussian': { look: 'danger', dashed: true },
}

/** Page that compares the noise of the mechanisms by the number of statistics that one person influences. */
export default function MechanismsPage() {
  const { state, change } = useAddressState(INITIAL_COMPARISON, COMPARISON_CHOICES)
  const body = JSON.parse(useDebounced(JSON.stringify(requestOf(state)))) as ComparisonRequest
  const { data, error } = api.useQuery(
    'post',
    '/v1/mechanisms/compare',
    { body },
    { placeholderData: keepPreviousData, staleTime: Number.POSITIVE_INFINITY },
  )
  return (
    <Page
      title="Mechanisms"
      lead="The noise that each mechanism adds at the same price. No dataset is read, and nothing is charged."
    >
      <Section title="Workload">
        <Workload state={state} change={change} />
      </Section>
      {error !== null && <ProblemNotice error={error} />}
      {error === null && data === undefined && <Loading what="the comparison" />}
      {error === null && data !== undefined && <Compared comparison={data} state={state} change={change} />}
    </Page>
  )
}

function Workload({ state, change }: Part) {
  return (
    <div className={styles.fields}>
      <Slider
        label="Epsilon for all statistics together"
        value={state.epsilon}
        scale={{ kind: 'log', lower: 0.01, upper: 10 }}
        range={{ lower: 0.000000001, upper: 1000 }}
        onChange={(epsilon) => change({ epsilon })}
      />
      <Slider
        label="Statistics that one person influences, at most"
        value={state.statistics}
        scale={{ kind: 'log', lower: 2, upper: 1000 }}
        range={{ lower: 1, upper: 1000 }}
        whole
        onChange={(statistics) => change({ statistics, at: Math.min(state.at, statistics) })}
      />
      <Field label="Delta" hint="Only Gaussian noise uses it. With 0, Gaussian noise does not apply.">
        {(attributes) => (
          <select
            {...attributes}
            value={state.delta}
            onChange={(event) => change({ delta: Number(event.target.value) })}
          >
            {[...new Set([0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, state.delta])].map((delta) => (
              <option key={delta} value={delta}>
                {delta}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Slider
        label="Change of a statistic by one person"
        hint="1 for a count; for a sum, the largest value of a person."
        value={state.contribution}
        scale={{ kind: 'log', lower: 1, upper: 1_000_000 }}
        range={{ lower: state.values === 'whole' ? 1 : 0.000000001, upper: 1_000_000_000_000 }}
        whole={state.values === 'whole'}
        onChange={(contribution) => change({ contribution })}
      />
      <Field label="Values" hint="Geometric noise applies only to whole numbers.">
        {(attributes) => (
          <select
            {...attributes}
            value={state.values}
            onChange={(event) => {
              const values = event.target.value === 'real' ? 'real' : 'whole'
              change({
                values,
                contribution: values === 'whole' ? Math.ceil(state.contribution) : state.contribution,
              })
            }}
          >
            <option value="whole">whole numbers</option>
            <option value="real">real numbers</option>
          </select>
        )}
      </Field>
      <Field label="Measure of error" hint="For each statistic. Half-widths have a confidence of 95%.">
        {(attributes) => (
          <select
            {...attributes}
            value={state.measure}
            onChange={(event) =>
              change({ measure: MEASURES.find((each) => each === event.target.value) ?? state.measure })
            }
          >
            {MEASURES.map((measure) => (
              <option key={measure} value={measure}>
                {MEASURE_NAMES[measure]}
              </option>
            ))}
          </select>
        )}
      </Field>
    </div>
  )
}

function Compared({ comparison, state, change }: Part & { readonly comparison: Comparison }) {
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
      <Section
        title="Noise by the number of statistics"
        lead={<Ranges comparison={comparison} state={state} />}
      >
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
          chosen={{ x: at, ...(best === undefined ? {} : { y: row?.noise[best]?.[measure] ?? 0 }) }}
        />
      </Section>
      <Section title={`With ${formatExact(at)} ${at === 1 ? 'statistic' : 'statistics'}`}>
        <Table
          label="Noise of each mechanism"
          rows={MECHANISMS.flatMap(({ id, name }) => {
            const noise = row?.noise[id]
            return noise === undefined ? [] : [{ id, name, noise }]
          })}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Mechanism',
              cell: ({ id, name }) => (
                <>
                  <strong>{name}</strong> {id === best && <Pill tone="success">smallest</Pill>}
                </>
              ),
            },
            { title: 'Scale', cell: ({ noise }) => formatEstimate(noise.scale), align: 'right' },
            {
              title: 'Standard deviation',
              cell: ({ noise }) => formatEstimate(noise.standardDeviation),
              align: 'right',
            },
            {
              title: 'Expected absolute error',
              cell: ({ noise }) => formatEstimate(noise.expectedAbsoluteError),
              align: 'right',
            },
            {
              title: 'Half-width, 95%',
              cell: ({ noise }) => formatEstimate(noise.halfWidth),
              align: 'right',
            },
          ]}
        />
        {comparison.notApplicable.length > 0 && (
          <ul className={styles.reasons}>
            {comparison.notApplicable.map(({ mechanism, reason }) => (
              <li key={mechanism}>
                {nameOf(mechanism)} does not apply: {reason}.
              </li>
            ))}
          </ul>
        )}
      </Section>
    </>
  )
}

function Ranges({ comparison, state }: { readonly comparison: Comparison; readonly state: ComparisonState }) {
  const ranges = bestRanges(comparison, state.measure)
  const texts = ranges.map(({ mechanism, from, to }) =>
    from === to
      ? `${nameOf(mechanism)} for ${formatExact(from)}`
      : `${nameOf(mechanism)} from ${formatExact(from)} to ${formatExact(to)}`,
  )
  return (
    <>
      Smallest {MEASURE_NAMES[state.measure]}: {texts.join('; ')}.
    </>
  )
}
