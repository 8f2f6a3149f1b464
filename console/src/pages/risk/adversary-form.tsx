import { Field } from '../../components/field.tsx'
import { Section } from '../../components/section.tsx'
import { Slider } from '../../components/slider.tsx'
import { formatExact } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import styles from './risk.module.css'
import type { RiskPart } from './risk-page.tsx'
import { KINDS, OPERATORS } from './risk-state.ts'
import { parseUniverse } from './universe.ts'

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
      <Field label="Delta" hint="0 for Laplace and geometric noise.">
        {(attributes) => (
          <select
            {...attributes}
            value={state.delta}
            onChange={(event) => change({ delta: Number(event.target.value), epsilon: 0 })}
          >
            {[...new Set([0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, state.delta])].map((delta) => (
              <option key={delta} value={delta}>
                {delta}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  )
}

function UniverseFields({ state, change }: RiskPart) {
  const parsed = parseUniverse(state.people)
  return (
    <>
      <Field
        label="People and their values"
        hint="The first line names the columns. Then one person in each line, with commas between the columns. A person with several rows has several numbers, with spaces between them."
        error={parsed.valid ? undefined : parsed.rule}
      >
        {(attributes) => (
          <textarea
            {...attributes}
            className={styles.people}
            rows={6}
            spellCheck={false}
            value={state.people}
            onChange={(event) => change({ people: event.target.value, epsilon: 0 })}
          />
        )}
      </Field>
      <div className={styles.stack}>
        <Whole
          label="People in the data"
          hint={
            parsed.valid
              ? `Of ${formatExact(parsed.people)} in the group. The adversary knows this number.`
              : ''
          }
          value={state.released}
          onChange={(released) => change({ released, epsilon: 0 })}
        />
        <Whole
          label="People by which neighbours differ"
          value={state.changed}
          onChange={(changed) => change({ changed, epsilon: 0 })}
        />
      </div>
      <div className={styles.stack}>
        <StatisticField state={state} change={change} />
        <Field label="Charts up to epsilon">
          {(attributes) => (
            <select
              {...attributes}
              value={state.to}
              onChange={(event) => change({ to: Number(event.target.value), epsilon: 0 })}
            >
              {[...new Set([0.5, 1, 2, 5, 10, 20, 50, state.to])].map((to) => (
                <option key={to} value={to}>
                  {to}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
    </>
  )
}

function StatisticField({ state, change }: RiskPart) {
  return (
    <>
      <Field label="Statistic">
        {(attributes) => (
          <select
            {...attributes}
            value={state.kind}
            onChange={(event) =>
              change({ kind: KINDS.find((kind) => kind === event.target.value) ?? state.kind, epsilon: 0 })
            }
          >
            {KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {kind === 'standardDeviation' ? 'standard deviation' : kind}
              </option>
            ))}
          </select>
        )}
      </Field>
      {state.kind === 'percentile' && (
        <Field label="Percentage">
          {(attributes) => (
            <input
              {...attributes}
              type="number"
              min={0}
              max={100}
              value={state.percentile}
              onChange={(event) => change({ percentile: Number(event.target.value), epsilon: 0 })}
            />
          )}
        </Field>
      )}
      {state.kind === 'count' && (
        <div className={styles.pair}>
          <Field label="Values">
            {(attributes) => (
              <select
                {...attributes}
                value={state.operator}
                onChange={(event) =>
                  change({
                    operator: OPERATORS.find((each) => each === event.target.value) ?? state.operator,
                    epsilon: 0,
                  })
                }
              >
                {OPERATORS.map((operator) => (
                  <option key={operator}>{operator}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Number">
            {(attributes) => (
              <input
                {...attributes}
                type="number"
                value={state.than}
                onChange={(event) => change({ than: Number(event.target.value), epsilon: 0 })}
              />
            )}
          </Field>
        </div>
      )}
    </>
  )
}

interface WholeProps {
  readonly label: string
  readonly hint?: string
  readonly value: number
  readonly onChange: (value: number) => void
}

function Whole({ label, hint, value, onChange }: WholeProps) {
  return (
    <Field label={label} {...(hint === undefined || hint === '' ? {} : { hint })}>
      {(attributes) => (
        <input
          {...attributes}
          type="number"
          min={1}
          step={1}
          value={value}
          onChange={(event) => onChange(Number(event.target.value))}
        />
      )}
    </Field>
  )
}
