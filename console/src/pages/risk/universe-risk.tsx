import { keepPreviousData } from '@tanstack/react-query'
import type { components } from 'sotto-client'
import { api } from '../../api/api.ts'
import { Curve } from '../../components/curve.tsx'
import { Field } from '../../components/field.tsx'
import { Loading } from '../../components/loading.tsx'
import { Notice } from '../../components/notice.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Slider } from '../../components/slider.tsx'
import { Table } from '../../components/table.tsx'
import { useDebounced } from '../../components/use-debounced.ts'
import { formatEstimate, formatExact, formatShare } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import { roundedDown } from './one-of-many.ts'
import styles from './risk.module.css'
import { Effect, type RiskPart } from './risk-page.tsx'
import { NoEpsilonNotice, RiskSlider } from './risk-slider.tsx'
import { statisticOf } from './risk-state.ts'
import { formatEpsilon, SHOWN_DIGITS, universeStatement } from './statement.ts'
import { Statement } from './statement-section.tsx'
import { blindGuess, type EpsilonRequest, parseUniverse } from './universe.ts'

type ColumnReport = components['schemas']['EpsilonReport']['columns'][number]

const CURVE_POINTS = 121

interface UniverseRiskProps extends RiskPart {
  readonly dataset: Dataset | undefined
}

/** Risk against epsilon for an adversary who knows the values of a group, with both bounds of Lee and Clifton. */
export function UniverseRisk({ state, change, dataset }: UniverseRiskProps) {
  const parsed = parseUniverse(state.people)
  const request: EpsilonRequest = {
    universe: parsed.valid ? parsed.universe : {},
    released: state.released,
    query: statisticOf(state),
    changed: state.changed,
    risk: state.risk,
    curve: { to: state.to, points: CURVE_POINTS },
  }
  const body = JSON.parse(useDebounced(JSON.stringify(request))) as EpsilonRequest
  const blind = parsed.valid ? blindGuess(parsed.people, state.released) : 0
  const { data, error } = api.useQuery(
    'post',
    '/v1/risk/epsilon',
    { body },
    {
      enabled: Object.keys(body.universe).length > 0 && body.risk > blind,
      placeholderData: keepPreviousData,
      staleTime: Infinity,
    },
  )
  if (!parsed.valid)
    return (
      <Notice tone="cost" title="The people cannot be read">
        {parsed.rule}
      </Notice>
    )
  const columns = state.risk > blind && error === null ? data?.columns : undefined
  const largest = columns && Math.min(...columns.map(largestOf))
  const epsilon =
    state.epsilon > 0 ? state.epsilon : roundedDown(Math.min(largest ?? 0, state.to), SHOWN_DIGITS)
  return (
    <>
      <Section title="Risk against epsilon">
        <div className={styles.sides}>
          <div className={styles.stack}>
            <RiskSlider risk={state.risk} blind={blind} change={change} />
            {largest !== undefined ? (
              <ChosenEpsilon state={state} change={change} epsilon={epsilon} largest={largest} />
            ) : state.risk <= blind ? (
              <NoEpsilonNotice blind={blind} />
            ) : error === null ? (
              <Loading what="the risk" />
            ) : (
              <ProblemNotice error={error} />
            )}
          </div>
          {columns !== undefined && <EpsilonTable columns={columns} />}
        </div>
        {columns !== undefined && (
          <ColumnCharts state={state} change={change} epsilon={epsilon} columns={columns} />
        )}
      </Section>
      {columns !== undefined && (
        <>
          <Beliefs state={state} change={change} request={body} epsilon={epsilon} />
          <Effect dataset={dataset} epsilon={epsilon} state={state} change={change} />
          <Statement
            sentences={universeStatement({
              ...state,
              people: parsed.people,
              statistic: state.kind,
              epsilon,
              columns: columns.map((column) => ({ name: column.column, largest: largestOf(column) })),
            })}
          />
        </>
      )}
    </>
  )
}

function ChosenEpsilon({
  state,
  change,
  epsilon,
  largest,
}: RiskPart & { readonly epsilon: number; readonly largest: number }) {
  return (
    <>
      <div className={styles.result}>
        <span>Largest epsilon for a risk of {formatShare(state.risk)}, for all columns</span>
        <output className={styles.figure}>
          {largest === Number.POSITIVE_INFINITY ? 'any' : formatEpsilon(largest)}
        </output>
      </div>
      <Slider
        label="Epsilon"
        value={epsilon}
        scale={{ kind: 'linear', lower: 0, upper: state.to }}
        range={{ lower: 0, upper: 1_000 }}
        onChange={(next) => change({ epsilon: Math.max(0.0001, next) })}
      />
    </>
  )
}

function ColumnCharts({
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
function largestOf({ tightBound }: ColumnReport): number {
  return tightBound.reached ? tightBound.epsilon : Number.POSITIVE_INFINITY
}

function shownEpsilon(bound: ColumnReport['tightBound'] | ColumnReport['upperBound']): string {
  return bound.reached ? formatEpsilon(bound.epsilon) : `none: at most ${formatShare(bound.largestRisk)}`
}

function EpsilonTable({ columns }: { readonly columns: readonly ColumnReport[] }) {
  return (
    <Table
      label="Largest epsilon by column"
      rows={columns}
      keyOf={({ column }) => column}
      columns={[
        { title: 'Column', cell: ({ column }) => <strong>{column}</strong> },
        { title: 'By the tight bound', cell: ({ tightBound }) => shownEpsilon(tightBound), align: 'right' },
        { title: 'By the upper bound', cell: ({ upperBound }) => shownEpsilon(upperBound), align: 'right' },
      ]}
    />
  )
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
          { title: 'Column', cell: ({ column }) => column },
          { title: 'Possible worlds', cell: ({ worlds }) => formatEstimate(worlds), align: 'right' },
          {
            title: 'Sensitivity, bounded',
            cell: ({ sensitivity }) => formatEstimate(sensitivity.bounded),
            align: 'right',
          },
          {
            title: 'Sensitivity, unbounded',
            cell: ({ sensitivity }) => formatEstimate(sensitivity.unbounded),
            align: 'right',
          },
          {
            title: 'Largest difference',
            cell: ({ largestDifference }) => formatEstimate(largestDifference),
            align: 'right',
          },
          {
            title: 'Upper bound holds',
            cell: ({ upperBoundHolds }) => (upperBoundHolds ? 'for every world' : 'not for every world'),
          },
          { title: 'Method', cell: ({ ways }) => ways.answers },
        ]}
      />
    </details>
  )
}

/** Beliefs of the adversary after a noisy answer. */
function Beliefs({
  state,
  change,
  request,
  epsilon,
}: RiskPart & { readonly request: EpsilonRequest; readonly epsilon: number }) {
  const settled = JSON.parse(useDebounced(JSON.stringify({ response: state.response, epsilon }))) as {
    readonly response: string
    readonly epsilon: number
  }
  const response = Number(settled.response)
  const given = settled.response.trim() !== '' && Number.isFinite(response)
  const { universe, released, query, changed } = request
  const { data, error } = api.useQuery(
    'post',
    '/v1/risk',
    {
      body: {
        universe,
        released,
        query,
        ...(changed === undefined ? {} : { changed }),
        epsilon: settled.epsilon,
        response,
      },
    },
    { enabled: given, placeholderData: keepPreviousData },
  )
  return (
    <Section
      title="After an answer"
      lead="A noisy answer changes what the adversary believes about each possible world: each set of people who may be in the data."
    >
      <div className={styles.fields}>
        <Field label="Noisy answer" hint={`Drawn with epsilon ${formatExact(epsilon)}, for example 2.20131.`}>
          {(attributes) => (
            <input
              {...attributes}
              inputMode="decimal"
              value={state.response}
              onChange={(event) => change({ response: event.target.value })}
            />
          )}
        </Field>
      </div>
      {error !== null && <ProblemNotice error={error} />}
      {given && data !== undefined && (
        <div className={styles.charts}>
          {data.columns.map(({ column, posterior }) => (
            <div key={column}>
              <h3>{column}</h3>
              {posterior !== undefined && (
                <Posterior posterior={posterior} people={peopleOf(universe, column)} />
              )}
            </div>
          ))}
        </div>
      )}
    </Section>
  )
}

/** Worlds that are listed, most likely first. */
const LISTED_WORLDS = 12

function peopleOf(universe: EpsilonRequest['universe'], column: string): readonly string[] {
  return (universe[column] ?? []).map((value) =>
    typeof value === 'number' ? String(value) : `(${value.join(' ')})`,
  )
}

interface PosteriorProps {
  readonly posterior: NonNullable<components['schemas']['RiskReport']['columns'][number]['posterior']>
  readonly people: readonly string[]
}

function Posterior({ posterior: { largest, confidence, worlds }, people }: PosteriorProps) {
  const likely = worlds?.toSorted((one, other) => other.posterior - one.posterior).slice(0, LISTED_WORLDS)
  return (
    <>
      <p>
        Disclosure risk <strong>{formatShare(largest)}</strong>, {formatShare(confidence)} more than before
        the answer.
      </p>
      {likely !== undefined && (
        <Table
          label="Possible worlds, most likely first"
          rows={likely}
          keyOf={({ positions }) => positions.join(' ')}
          columns={[
            {
              title: 'Values in the data',
              cell: ({ positions }) => positions.map((each) => people[each]).join(', '),
            },
            { title: 'True answer', cell: ({ answer }) => formatEstimate(answer), align: 'right' },
            { title: 'Before', cell: ({ prior }) => formatShare(prior), align: 'right' },
            {
              title: 'After',
              cell: ({ posterior }) => (
                <span className={styles.belief}>
                  <span style={{ width: `${100 * posterior}%` }} />
                  {formatShare(posterior)}
                </span>
              ),
              align: 'right',
            },
          ]}
        />
      )}
    </>
  )
}
