import { Field } from '../../components/field.tsx'
import { formatExact } from '../../format/number.ts'
import styles from './risk.module.css'
import type { RiskPart } from './risk-page.tsx'
import { StatisticField } from './statistic-field.tsx'
import { parseUniverse } from './universe.ts'

/** A known group of people, how many of them are in the data, and the statistic that is released. */
export function UniverseFields({ state, change }: RiskPart) {
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
