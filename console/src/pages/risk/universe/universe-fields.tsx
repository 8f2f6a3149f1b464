import { SelectField, TextAreaField, TextField } from '../../../components/forms/fields.tsx'
import { formatExact } from '../../../format/number.ts'
import styles from '../risk.module.css'
import { KINDS, OPERATORS, type RiskPart } from '../risk-state.ts'
import { parseUniverse } from './universe.ts'

/** A known group of people, how many of them are in the data, and the statistic that is released. */
export function UniverseFields({ state, change }: RiskPart) {
  const parsed = parseUniverse(state.people)
  return (
    <>
      <TextAreaField
        label="People and their values"
        hint="The first line names the columns. Then one person in each line, with commas between the columns. A person with several rows has several numbers, with spaces between them."
        error={parsed.valid ? undefined : parsed.rule}
        className={styles.people}
        rows={6}
        spellCheck={false}
        value={state.people}
        onChange={(text) => change({ people: text, epsilon: 0 })}
      />
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
          hint={
            parsed.valid
              ? `At most ${formatExact(Math.max(1, Math.min(state.released, parsed.people - state.released)))}: as many leave the data as others of the group join.`
              : ''
          }
          value={state.changed}
          onChange={(changed) => change({ changed, epsilon: 0 })}
        />
      </div>
      <div className={styles.stack}>
        <StatisticField state={state} change={change} />
        <SelectField
          label="Charts up to epsilon"
          value={state.to}
          options={[...new Set([0.5, 1, 2, 5, 10, 20, 50, state.to])]}
          onChange={(to) => change({ to, epsilon: 0 })}
        />
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
    <TextField
      label={label}
      {...(hint === undefined || hint === '' ? {} : { hint })}
      type="number"
      min={1}
      step={1}
      value={value}
      onChange={(text) => onChange(Number(text))}
    />
  )
}

/** The statistic that is released, with its options. */
function StatisticField({ state, change }: RiskPart) {
  return (
    <>
      <SelectField
        label="Statistic"
        value={state.kind}
        options={KINDS.map((kind) => [kind, kind === 'standardDeviation' ? 'standard deviation' : kind])}
        onChange={(kind) => change({ kind, epsilon: 0 })}
      />
      {state.kind === 'percentile' && (
        <TextField
          label="Percentage"
          type="number"
          min={0}
          max={100}
          value={state.percentile}
          onChange={(text) => change({ percentile: Number(text), epsilon: 0 })}
        />
      )}
      {state.kind === 'count' && (
        <div className={styles.pair}>
          <SelectField
            label="Values"
            value={state.operator}
            options={OPERATORS}
            onChange={(operator) => change({ operator, epsilon: 0 })}
          />
          <TextField
            label="Number"
            type="number"
            value={state.than}
            onChange={(text) => change({ than: Number(text), epsilon: 0 })}
          />
        </div>
      )}
    </>
  )
}
