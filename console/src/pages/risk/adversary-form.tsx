import { DeltaField } from '../../components/delta-field.tsx'
import { Field } from '../../components/field.tsx'
import { Section } from '../../components/section.tsx'
import { Slider } from '../../components/slider.tsx'
import { formatExact } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import styles from './risk.module.css'
import type { RiskPart } from './risk-page.tsx'
import { UniverseFields } from './universe-fields.tsx'

/** Assumptions about the adversary, and the accepted risk. */
export function AdversaryForm({
  state,
  change,
  datasets,
}: RiskPart & { readonly datasets: readonly Dataset[] }) {
  return (
    <Section title="Adversary">
      <fieldset className={styles.choices}>
        <legend className={styles.legend}>What the adversary knows</legend>
        <label>
          <input
            type="radio"
            name="adversary"
            checked={state.adversary === 'one'}
            onChange={() => change({ adversary: 'one', epsilon: 0 })}
          />
          <span>
            <strong>Everyone but one person.</strong> A number of people are equally likely to be that person.
          </span>
        </label>
        <label>
          <input
            type="radio"
            name="adversary"
            checked={state.adversary === 'universe'}
            onChange={() => change({ adversary: 'universe', epsilon: 0 })}
          />
          <span>
            <strong>All values of a known group.</strong> The adversary does not know who of the group is in
            the data.
          </span>
        </label>
      </fieldset>
      <div className={styles.fields}>
        {state.adversary === 'one' ? (
          <OneFields state={state} change={change} datasets={datasets} />
        ) : (
          <UniverseFields state={state} change={change} />
        )}
        <Field label="Dataset" hint="Its typical questions show what the epsilon means for accuracy.">
          {(attributes) => (
            <select
              {...attributes}
              value={state.dataset}
              onChange={(event) => change({ dataset: event.target.value })}
            >
              <option value="">none</option>
              {datasets.map(({ id, title }) => (
                <option key={id} value={id}>
                  {title}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
    </Section>
  )
}

function OneFields({ state, change, datasets }: RiskPart & { readonly datasets: readonly Dataset[] }) {
  const chosen = datasets.find(({ id }) => id === state.dataset)
  const neighbours = chosen?.neighbours ?? state.neighbours
  return (
    <>
      <Slider
        label="Candidates"
        hint="People whom the adversary considers equally likely. With 2, a guess succeeds most often."
        value={state.candidates}
        scale={{ kind: 'log', lower: 2, upper: 1_000_000 }}
        range={{ lower: 2, upper: 1_000_000_000_000 }}
        whole
        format={formatExact}
        onChange={(candidates) => change({ candidates, epsilon: 0 })}
      />
      <Field
        label="Neighbouring datasets"
        hint={
          neighbours === 'add-remove'
            ? 'Replacing a person is one step out and one step in, which costs up to twice the epsilon.'
            : 'Replacing a person is one step. The number of people is public.'
        }
      >
        {(attributes) => (
          <select
            {...attributes}
            value={neighbours}
            disabled={chosen !== undefined}
            onChange={(event) =>
              change({
                neighbours: event.target.value === 'change-one' ? 'change-one' : 'add-remove',
                epsilon: 0,
              })
            }
          >
            <option value="add-remove">differ by one person added or removed</option>
            <option value="change-one">differ by one person replaced</option>
          </select>
        )}
      </Field>
      <DeltaField
        hint="0 for Laplace and geometric noise."
        value={state.delta}
        onChange={(delta) => change({ delta, epsilon: 0 })}
      />
    </>
  )
}
