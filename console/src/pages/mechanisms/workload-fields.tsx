import { DeltaField } from '../../components/delta-field.tsx'
import { Field } from '../../components/field.tsx'
import { Slider } from '../../components/slider.tsx'
import { type ComparisonState, MEASURE_NAMES, MEASURES } from './comparison.ts'
import styles from './mechanisms.module.css'

/** State of the comparison in the address, and its changes. */
export interface ComparisonPart {
  readonly state: ComparisonState
  readonly change: (changes: Partial<ComparisonState>) => void
}

/** The price, the statistics that share it, and the measure of their error. */
export function WorkloadFields({ state, change }: ComparisonPart) {
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
      <DeltaField
        hint="Only Gaussian noise uses it. With 0, Gaussian noise does not apply."
        value={state.delta}
        onChange={(delta) => change({ delta })}
      />
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
