import { api, at } from '../../../api/api.ts'
import { Curve } from '../../../components/charts/curve.tsx'
import { Slider } from '../../../components/forms/slider.tsx'
import { Section } from '../../../components/layout/page.tsx'
import { Notice } from '../../../components/notices/notices.tsx'
import { formatExact, formatShare } from '../../../format/number.ts'
import type { Dataset } from '../../datasets/dataset.ts'
import { Effect } from '../accuracy-effect.tsx'
import styles from '../risk.module.css'
import { NoEpsilonNotice, RiskSlider, Statement } from '../risk-parts.tsx'
import type { RiskPart } from '../risk-state.ts'
import { formatEpsilon, oneOfManyStatement, SHOWN_DIGITS } from '../statement.ts'
import {
  chartEnd,
  forSingleCounts,
  largestEpsilon,
  riskCurve,
  riskOfPrice,
  roundedDown,
} from './one-of-many.ts'

interface OneOfManyRiskProps extends RiskPart {
  readonly dataset: Dataset | undefined
}

/** Risk against epsilon for an adversary who knows everyone but one person, in closed form. */
export function OneOfManyRisk({ state, change, dataset }: OneOfManyRiskProps) {
  const { candidates, neighbours, risk } = state
  const blind = 1 / candidates
  const largest = largestEpsilon(risk, state)
  const epsilon = state.epsilon > 0 ? state.epsilon : roundedDown(largest ?? 0, SHOWN_DIGITS)
  const scale = { kind: 'linear', lower: 0, upper: chartEnd(state) } as const
  const reached = riskOfPrice(epsilon, state)
  const choose = (next: number) => change({ epsilon: Math.max(0.0001, next) })
  return (
    <>
      <Section title="Risk against epsilon">
        <div className={styles.sides}>
          <div className={styles.stack}>
            <RiskSlider risk={risk} blind={blind} change={change} />
            {largest === undefined ? (
              <NoEpsilonNotice blind={riskOfPrice(0, state)} />
            ) : (
              <div className={styles.result}>
                <span>Largest epsilon for a risk of {formatShare(risk)}</span>
                <output className={styles.figure}>{formatEpsilon(largest)}</output>
                {neighbours === 'add-remove' && (
                  <span>
                    {formatEpsilon(largestEpsilon(risk, forSingleCounts(state)) ?? 0)} if every question is a
                    single count with geometric or Laplace noise: a replaced person moves it by 1.
                  </span>
                )}
              </div>
            )}
            <Slider label="Epsilon" value={epsilon} scale={scale} onChange={choose} format={formatExact} />
            <p>
              At epsilon {formatExact(epsilon)}, the adversary guesses right at most{' '}
              <strong>{formatShare(reached)}</strong> of the time. A blind guess: {formatShare(blind)}.
            </p>
          </div>
          <RiskChart state={state} epsilon={epsilon} onChoose={choose} />
        </div>
        <p className={styles.small}>
          The bound needs no assumption about the data. The epsilons of all answers that an adversary sees add
          up: the bound applies to one question, to several together, and to a whole budget.
        </p>
      </Section>
      {dataset !== undefined && <BudgetRisk state={state} dataset={dataset} epsilon={epsilon} />}
      <Effect dataset={dataset} epsilon={epsilon} state={state} change={change} />
      {epsilon > 0 && <Statement sentences={oneOfManyStatement({ ...state, epsilon })} />}
    </>
  )
}

interface RiskChartProps extends Pick<RiskPart, 'state'> {
  readonly epsilon: number
  readonly onChoose: (epsilon: number) => void
}

/** Risk against epsilon. The epsilon can be chosen on either axis. */
function RiskChart({ state, epsilon, onChoose }: RiskChartProps) {
  const { candidates, neighbours, risk } = state
  const blind = 1 / candidates
  const end = chartEnd(state)
  const any = neighbours === 'add-remove' ? 'Any question (twice the epsilon)' : 'Any question'
  const single = {
    name: 'Single counts only',
    points: riskCurve(end, forSingleCounts(state)),
    look: 'cost',
    dashed: true,
  } as const
  return (
    <Curve
      label={`Disclosure risk against epsilon: at most ${formatShare(riskOfPrice(epsilon, state))} at epsilon ${formatExact(epsilon)}`}
      x={{ title: 'Epsilon', scale: { kind: 'linear', lower: 0, upper: end }, onChoose }}
      y={{
        title: 'Disclosure risk',
        scale: { kind: 'linear', lower: 0, upper: 1 },
        format: formatShare,
        onChoose: (next) => {
          const kept = largestEpsilon(next, state)
          if (kept !== undefined && kept > 0) onChoose(roundedDown(kept, SHOWN_DIGITS))
        },
      }}
      lines={[{ name: any, points: riskCurve(end, state) }, ...(neighbours === 'add-remove' ? [single] : [])]}
      marks={[
        { axis: 'y', value: risk, label: `accepted ${formatShare(risk)}`, look: 'danger' },
        { axis: 'y', value: blind, label: `blind guess ${formatShare(blind)}` },
      ]}
      chosen={{ x: epsilon }}
    />
  )
}

/** Shows how many questions at this epsilon the budget of a dataset pays for, and the risk of all of it. */
function BudgetRisk({
  state,
  dataset,
  epsilon,
}: Pick<RiskPart, 'state'> & { readonly dataset: Dataset; readonly epsilon: number }) {
  const { data: budget } = api.useQuery('get', '/v1/datasets/{dataset}/budget', at({ dataset: dataset.id }))
  if (budget === undefined || 'rho' in budget.cap || epsilon === 0) return null
  const { cap } = budget
  const whole = riskOfPrice(cap.epsilon, { ...state, delta: cap.delta, neighbours: dataset.neighbours })
  return (
    <Section title="The budget of the dataset">
      <div className={styles.stack}>
        <p>
          {dataset.title} has a budget of epsilon {formatExact(cap.epsilon)}. It pays for{' '}
          {formatExact(Math.floor((cap.epsilon / epsilon) * (1 + 1e-12)))} questions at epsilon{' '}
          {formatExact(epsilon)}. Once all of it is spent, the adversary guesses right at most{' '}
          {formatShare(whole)} of the time.
        </p>
        {whole > state.risk && (
          <Notice tone="cost">
            The whole budget exceeds the accepted risk of {formatShare(state.risk)} for an adversary who sees
            every answer.
          </Notice>
        )}
      </div>
    </Section>
  )
}
