import { keepPreviousData } from '@tanstack/react-query'
import { api } from '../../../api/api.ts'
import { Slider } from '../../../components/forms/slider.tsx'
import { useSettled } from '../../../components/forms/use-debounced.ts'
import { Section } from '../../../components/layout/page.tsx'
import { Loading, Notice, ProblemNotice } from '../../../components/notices/notices.tsx'
import { formatShare } from '../../../format/number.ts'
import type { Dataset } from '../../datasets/dataset.ts'
import { Effect } from '../accuracy-effect.tsx'
import { roundedDown } from '../one-of-many/one-of-many.ts'
import styles from '../risk.module.css'
import { NoEpsilonNotice, RiskSlider, Statement } from '../risk-parts.tsx'
import { type RiskPart, statisticOf } from '../risk-state.ts'
import { formatEpsilon, SHOWN_DIGITS, universeStatement } from '../statement.ts'
import { Beliefs } from './beliefs.tsx'
import { ColumnCharts, EpsilonTable, largestOf } from './column-charts.tsx'
import { blindGuess, type EpsilonRequest, parseUniverse } from './universe.ts'

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
  const body = useSettled(request)
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
