import { Button } from '../../../components/forms/button.tsx'
import { Select } from '../../../components/forms/fields.tsx'
import type { DatasetFacts } from '../../datasets/dataset.ts'
import styles from '../ask.module.css'
import { Removable } from '../fields.tsx'
import { conditionColumns, initialCondition } from '../kinds/kinds.ts'
import type { Predicate } from '../question/question.ts'
import {
  type Combination,
  type ConditionGroup,
  groupOf,
  isNegated,
  isTest,
  MOST_LEVELS,
  predicateOf,
} from './conditions.ts'
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
  readonly value: Predicate | undefined
  /** True if there must be a condition. */
  readonly required?: boolean
  readonly onChange: (predicate: Predicate | undefined) => void
}

/** Condition on rows: tests of columns, and groups of tests. */
export function ConditionField({ label, dataset, value, required = false, onChange }: ConditionFieldProps) {
  if (conditionColumns(dataset).length === 0)
    return <p className={styles.quiet}>{label}: the dataset has no column that a condition can test.</p>
  return (
    <fieldset className={styles.conditions}>
      <legend>{label}</legend>
      <GroupFields predicate={value} dataset={dataset} level={1} required={required} onChange={onChange} />
    </fieldset>
  )
}

interface GroupFieldsProps {
  readonly predicate: Predicate | undefined
  readonly dataset: DatasetFacts
  /** 1 for the whole condition. */
  readonly level: number
  /** True if there must be a part. */
  readonly required: boolean
  readonly onChange: (predicate: Predicate | undefined) => void
  readonly onRemove?: (() => void) | undefined
}

/** Tests and groups that decide together. */
function GroupFields({ predicate, dataset, level, required, onChange, onRemove }: GroupFieldsProps) {
  const { isList, ...group } = groupOf(predicate)
  const { combine, parts } = group
  // A list of the whole condition that has one part is that part.
  const change = (changes: Partial<ConditionGroup>) =>
    onChange(predicateOf({ isList: isList && level > 1, ...group, ...changes }))
  const test = initialCondition(dataset)
  const add = (part: Predicate) => change({ parts: [...parts, part] })
  return (
    <>
      {(level > 1 || parts.length > 1 || isNegated(group)) && (
        <Removable label="Remove the group" onRemove={onRemove}>
          <Select
            aria-label="How conditions are combined"
            value={combine}
            options={COMBINATIONS}
            onChange={(next) => change({ combine: next })}
          />
        </Removable>
      )}
      {parts.map((part, place) => (
        <PartFields
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no name of its own
          key={place}
          part={part}
          dataset={dataset}
          level={level}
          onChange={(changed) => changed && change({ parts: parts.with(place, changed) })}
          onRemove={
            parts.length > 1 || !required ? () => change({ parts: parts.toSpliced(place, 1) }) : undefined
          }
        />
      ))}
      <div className={styles.test}>
        <Button onClick={() => add(test)}>{parts.length === 0 ? 'Add a condition' : 'Add another'}</Button>
        {level < MOST_LEVELS && parts.length > 0 && (
          <Button look="quiet" onClick={() => add({ op: 'or', predicates: [test] })}>
            Add a group
          </Button>
        )}
      </div>
    </>
  )
}

interface PartFieldsProps extends Pick<GroupFieldsProps, 'dataset' | 'level' | 'onChange'> {
  readonly part: Predicate
  /** Absent for the only condition of a field that must have one. */
  readonly onRemove: (() => void) | undefined
}

function PartFields({ part, dataset, level, onChange, onRemove }: PartFieldsProps) {
  if (isTest(part))
    return (
      <Removable label={`Remove the condition on ${part.column}`} onRemove={onRemove}>
        <TestFields test={part} dataset={dataset} onChange={onChange} />
      </Removable>
    )
  return (
    <fieldset className={styles.group} aria-label="Group of conditions">
      <GroupFields
        predicate={part}
        dataset={dataset}
        level={level + 1}
        required
        onChange={onChange}
        onRemove={onRemove}
      />
    </fieldset>
  )
}
