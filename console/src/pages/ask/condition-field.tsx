import { Button } from '../../components/button.tsx'
import styles from './ask.module.css'
import {
  type Combination,
  type ConditionGroup,
  type ConditionPart,
  groupOf,
  MOST_LEVELS,
  wholePredicateOf,
} from './conditions.ts'
import { conditionColumns, type DatasetFacts, initialCondition } from './kinds.ts'
import type { Question } from './question.ts'
import { Removable } from './removable.tsx'
import { TestFields } from './test-fields.tsx'

const COMBINATIONS: readonly (readonly [Combination, string])[] = [
  ['all', 'all of these hold'],
  ['any', 'any of these holds'],
  ['not-all', 'not all of these hold'],
  ['none', 'none of these holds'],
]

export interface ConditionFieldProps {
  readonly label: string
  readonly dataset: DatasetFacts
  readonly value: unknown
  /** True if there must be a condition. */
  readonly required?: boolean
  readonly onChange: (predicate: Question | undefined) => void
}

/** Condition on rows: tests of columns, and groups of tests. */
export function ConditionField({ label, dataset, value, required = false, onChange }: ConditionFieldProps) {
  const group = groupOf(value)
  if (conditionColumns(dataset).length === 0)
    return <p className={styles.quiet}>{label}: the dataset has no column that a condition can test.</p>
  if (group === undefined)
    return (
      <p className={styles.quiet}>
        {label}: the form cannot show the condition. Change it as JSON, or{' '}
        <Button look="quiet" onClick={() => onChange(required ? initialCondition(dataset) : undefined)}>
          start again
        </Button>
      </p>
    )
  return (
    <fieldset className={styles.conditions}>
      <legend>{label}</legend>
      <GroupFields
        group={group}
        dataset={dataset}
        level={1}
        required={required}
        onChange={(changed) => onChange(wholePredicateOf(changed))}
      />
    </fieldset>
  )
}

interface GroupFieldsProps {
  readonly group: ConditionGroup
  readonly dataset: DatasetFacts
  /** 1 for the whole condition. */
  readonly level: number
  readonly required?: boolean
  readonly onChange: (group: ConditionGroup) => void
  readonly onRemove?: (() => void) | undefined
}

/** Tests and groups that decide together. */
function GroupFields({ group, dataset, level, required = false, onChange, onRemove }: GroupFieldsProps) {
  const { combine, parts } = group
  const change = (next: readonly ConditionPart[]) => onChange({ ...group, parts: next })
  const removable = parts.length > 1 || !required
  const isCombined = level > 1 || parts.length > 1 || combine === 'not-all' || combine === 'none'
  return (
    <>
      {isCombined && (
        <Removable label="Remove the group" onRemove={onRemove}>
          <select
            aria-label="How conditions are combined"
            value={combine}
            onChange={(event) => onChange({ ...group, combine: event.target.value as Combination })}
          >
            {COMBINATIONS.map(([each, title]) => (
              <option key={each} value={each}>
                {title}
              </option>
            ))}
          </select>
        </Removable>
      )}
      {parts.map((part, place) => (
        <PartFields
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no name of its own
          key={place}
          part={part}
          dataset={dataset}
          level={level}
          onChange={(changed) => change(parts.with(place, changed))}
          {...(removable ? { onRemove: () => change(parts.toSpliced(place, 1)) } : {})}
        />
      ))}
      <AddButtons
        dataset={dataset}
        isEmpty={parts.length === 0}
        nests={level < MOST_LEVELS && parts.length > 0}
        onAdd={(part) => change([...parts, part])}
      />
    </>
  )
}

interface AddButtonsProps {
  readonly dataset: DatasetFacts
  readonly isEmpty: boolean
  readonly nests: boolean
  readonly onAdd: (part: ConditionPart) => void
}

function AddButtons({ dataset, isEmpty, nests, onAdd }: AddButtonsProps) {
  const test: ConditionPart = { kind: 'test', test: initialCondition(dataset) }
  return (
    <div className={styles.test}>
      <Button onClick={() => onAdd(test)}>{isEmpty ? 'Add a condition' : 'Add another'}</Button>
      {nests && (
        <Button
          look="quiet"
          onClick={() => onAdd({ kind: 'group', group: { combine: 'any', parts: [test], isList: true } })}
        >
          Add a group
        </Button>
      )}
    </div>
  )
}

interface PartFieldsProps {
  readonly part: ConditionPart
  readonly dataset: DatasetFacts
  readonly level: number
  readonly onChange: (part: ConditionPart) => void
  /** Absent for the only condition of a field that must have one. */
  readonly onRemove?: () => void
}

function PartFields({ part, dataset, level, onChange, onRemove }: PartFieldsProps) {
  if (part.kind === 'test')
    return (
      <Removable label={`Remove the condition on ${String(part.test.column)}`} onRemove={onRemove}>
        <TestFields
          test={part.test}
          dataset={dataset}
          onChange={(test) => onChange({ kind: 'test', test })}
        />
      </Removable>
    )
  return (
    <fieldset className={styles.group} aria-label="Group of conditions">
      <GroupFields
        group={part.group}
        dataset={dataset}
        level={level + 1}
        required
        onChange={(group) => onChange({ kind: 'group', group })}
        onRemove={onRemove}
      />
    </fieldset>
  )
}
