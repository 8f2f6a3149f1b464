import { useState } from 'react'
import { api, useMe } from '../../../api/api.ts'
import { Curve } from '../../../components/charts/curve.tsx'
import {
  Checkbox,
  FieldRow,
  NumberField,
  NumberFields,
  Radios,
  SelectField,
} from '../../../components/forms/fields.tsx'
import { fieldsOf } from '../../../components/forms/fields-of.ts'
import { Slider } from '../../../components/forms/slider.tsx'
import { Section } from '../../../components/layout/page.tsx'
import { Notice } from '../../../components/notices/notices.tsx'
import { formatExact, formatShare, numberOf } from '../../../format/number.ts'
import { riskCurve, riskOfPrice } from '../../risk/one-of-many/one-of-many.ts'
import styles from '../register.module.css'
import type { StepProps } from '../step.ts'
import { BUDGET_RANGE, epsilonForRisk } from './budget-risk.ts'

/** Usual upper end of the total epsilon for real people; docs/registering.md. */
const USUAL_EPSILON = 3

/** Step that sets the budget, by an accepted risk or by number, and the limits of queries. */
export function BudgetStep({ form, onChange }: StepProps) {
  return (
    <>
      <Budget form={form} onChange={onChange} />
      <Section title="Accounting and limits">
        <Accounting form={form} onChange={onChange} />
      </Section>
    </>
  )
}

/** Budget of a form, the risk that it means, and the changes of either. */
function useRisk({ form, onChange }: StepProps) {
  const [candidates, setCandidates] = useState(2)
  const [accepted, setAccepted] = useState<number>()
  const epsilon = numberOf(form.epsilon)
  const terms = { delta: numberOf(form.delta) ?? 0, neighbours: form.neighbours, candidates }
  const risk = epsilon === undefined ? undefined : riskOfPrice(epsilon, terms)
  // The accepted risk is shown as it was chosen until the epsilon is changed in another way.
  const isOfRisk = accepted !== undefined && epsilonForRisk(accepted, terms) === epsilon
  /** Sets the largest epsilon whose risk is accepted. */
  const accept = (next: number, among = candidates) => {
    setAccepted(next)
    const found = epsilonForRisk(next, { ...terms, candidates: among })
    if (found !== undefined) onChange({ epsilon: String(found) })
  }
  return {
    epsilon,
    risk,
    terms,
    candidates,
    shownRisk: isOfRisk ? accepted : (risk ?? 1 / candidates),
    accept,
    /** Changes the number of candidates. A chosen risk is kept, and the epsilon follows. */
    suppose: (next: number, keepsRisk: boolean) => {
      setCandidates(next)
      if (keepsRisk && isOfRisk) accept(Math.max(accepted, 1 / next), next)
    },
  }
}

type Risk = ReturnType<typeof useRisk>

function Budget({ form, onChange }: StepProps) {
  const [by, choose] = useState<'risk' | 'number'>('risk')
  const risk = useRisk({ form, onChange })
  const { candidates, epsilon } = risk
  return (
    <Section
      title="Budget"
      lead="All answers together, for all analysts, for as long as the dataset exists. A grant can raise it later; nothing lowers it once it is used."
    >
      <div className={styles.beside}>
        <div className={styles.form}>
          <Radios
            legend="Choose the budget"
            value={by}
            choices={[
              { value: 'risk', label: 'By the risk that is accepted' },
              { value: 'number', label: 'By number' },
            ]}
            onChange={choose}
          />
          <Slider
            label="Candidates"
            hint="The adversary knows everyone but one person, and considers this many people equally likely. 2 is the worst case."
            value={candidates}
            scale={{ kind: 'log', lower: 2, upper: 10_000 }}
            range={{ lower: 2, upper: 1e12 }}
            whole
            onChange={(next) => risk.suppose(next, by === 'risk')}
          />
          {by === 'risk' ? (
            <Slider
              label="Accepted risk, in %"
              hint={`How often the adversary may guess right. A blind guess is right ${formatShare(1 / candidates)} of the time.`}
              value={Number((100 * risk.shownRisk).toPrecision(3))}
              scale={{ kind: 'linear', lower: 100 / candidates, upper: 99.9 }}
              range={{ lower: 0, upper: 100 }}
              format={(value) => `${value} percent`}
              onChange={(next) => risk.accept(next / 100)}
            />
          ) : (
            <Slider
              label="Epsilon"
              hint="For real people 1 to 3 in all is usual."
              value={epsilon ?? BUDGET_RANGE.lower}
              scale={{ kind: 'log', ...BUDGET_RANGE }}
              range={{ lower: 1e-9, upper: 1_000_000 }}
              onChange={(value) => onChange({ epsilon: String(value) })}
            />
          )}
          <Outcome {...risk} />
        </div>
        <RiskCurve {...risk} onChoose={(value) => onChange({ epsilon: String(value) })} />
      </div>
    </Section>
  )
}

function Outcome({ epsilon, risk }: Pick<Risk, 'epsilon' | 'risk'>) {
  if (epsilon === undefined || risk === undefined)
    return <Notice tone="cost">Move the slider to choose a budget.</Notice>
  return (
    <>
      <p className={styles.result} role="status">
        Epsilon <strong>{formatExact(epsilon)}</strong>: once it is spent, the guess is right with at most{' '}
        <strong>{formatShare(risk)}</strong>.
      </p>
      {epsilon > USUAL_EPSILON && (
        <Notice tone="cost">This is more than is usual for data about real people.</Notice>
      )}
    </>
  )
}

/** Risk against epsilon. Both can be chosen by dragging. */
function RiskCurve({
  epsilon,
  risk,
  terms,
  candidates,
  accept,
  onChoose,
}: Risk & { readonly onChoose: (epsilon: number) => void }) {
  const largest = Math.max(4, Math.min(BUDGET_RANGE.upper, 1.5 * (epsilon ?? 0)))
  return (
    <Curve
      label="Risk of the whole budget against epsilon"
      x={{
        title: 'epsilon',
        scale: { kind: 'linear', lower: 0, upper: largest },
        onChoose: (value) => onChoose(Math.max(BUDGET_RANGE.lower, value)),
      }}
      y={{
        title: 'risk',
        scale: { kind: 'linear', lower: 0, upper: 1 },
        format: formatShare,
        onChoose: (next) => accept(next),
      }}
      lines={[{ name: 'risk', points: riskCurve(largest, terms) }]}
      marks={[{ axis: 'y', value: 1 / candidates, label: 'blind guess', look: 'muted' }]}
      chosen={epsilon === undefined ? undefined : { x: epsilon, y: risk }}
    />
  )
}

function Accounting({ form, onChange }: StepProps) {
  const field = fieldsOf(form, onChange)
  const { data } = api.useQuery('get', '/v1/populations')
  // A key that is limited to datasets cannot add one to a population.
  const populations = useMe()?.datasets === undefined ? (data?.populations ?? []) : []
  return (
    <div className={styles.form}>
      <FieldRow>
        <SelectField
          label="Accounting"
          hint="It cannot be changed later."
          {...field('accounting')}
          options={[
            ['basic', 'Basic: epsilons add up'],
            ['zcdp', 'zCDP: more small questions'],
          ]}
        />
        <NumberField
          label="Delta"
          hint="Far below 1 divided by the number of people, such as 1e-6. For Gaussian noise and frequent values."
          {...field('delta')}
        />
      </FieldRow>
      {populations.length > 0 && (
        <SelectField
          label="Population"
          hint="People of other datasets too. The dataset belongs to it for ever, and has its accounting and its delta."
          {...field('population')}
          options={[['', 'None: a budget of its own'], ...populations.map(({ id }) => [id, id] as const)]}
        />
      )}
      <Checkbox
        label="Analysts share answers"
        hint="A question that one analyst has paid for does not charge the dataset again for others."
        {...field('sharing')}
      />
      <Limits form={form} onChange={onChange} />
    </div>
  )
}

const LIMITS = [
  ['minEpsilon', 'Least epsilon of a question', 'Default: 0.001.'],
  ['maxEpsilon', 'Largest epsilon of a question', 'Keeps one question from spending much.'],
  ['minHalfWidth', 'Least half-width', 'In rows or people, at a confidence of 0.95.'],
] as const

/** Limits that hold for each question, release times, and suspension. */
function Limits({ form, onChange }: StepProps) {
  return (
    <details>
      <summary>Limits of each question, release times, suspension</summary>
      <div className={styles.columnBody}>
        <FieldRow>
          <NumberFields form={form} fields={LIMITS} onChange={onChange} />
        </FieldRow>
        <FieldRow>
          <ReleaseFields form={form} onChange={onChange} />
          <NumberFields
            form={form}
            fields={[['failureLimit', 'Failures until the dataset is suspended', 'Default: 3.']]}
            onChange={onChange}
          />
        </FieldRow>
      </div>
    </details>
  )
}

function ReleaseFields({ form, onChange }: StepProps) {
  return (
    <>
      <SelectField
        label="Release of answers"
        hint="Hides how long a query takes."
        value={form.timing}
        options={[
          ['default', 'Default: slots of 50 ms'],
          ['slot', 'At the end of a slot'],
          ['deadline', 'At a fixed deadline (strict)'],
          ['off', 'At once: only for made-up data'],
        ]}
        onChange={(timing) => onChange({ timing, timingMs: '' })}
      />
      {(form.timing === 'slot' || form.timing === 'deadline') && (
        <NumberField
          label="Milliseconds"
          hint={form.timing === 'slot' ? '10 to 10,000.' : '100 to 120,000, longer than any query takes.'}
          value={form.timingMs}
          onChange={(timingMs) => onChange({ timingMs })}
        />
      )}
    </>
  )
}
