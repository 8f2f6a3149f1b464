import { Button } from '../../../components/forms/button.tsx'
import { Radios } from '../../../components/forms/fields.tsx'
import type { DatasetFacts } from '../../datasets/dataset.ts'
import styles from '../ask.module.css'
import { ConditionField } from '../conditions/condition-field.tsx'
import { Removable } from '../fields.tsx'
import type { Candidates } from '../question/question.ts'
import type { FieldPart } from './field-part.ts'
import { GroupingField } from './grouping-field.tsx'
import { groupingOf, initialCandidates, initialCondition } from './kinds.ts'

/** Candidates of a selection: the values of a column, or named conditions. */
export function CandidatesField({ dataset, columns, value, onChange }: FieldPart<'candidates'>) {
  const candidates = value ?? initialCandidates(dataset)
  const [first] = columns
  return (
    <>
      {first !== undefined && (
        <Radios
          legend="Among"
          value={'predicates' in candidates ? 'conditions' : 'values'}
          choices={[
            { value: 'values', label: 'the values of a column' },
            { value: 'conditions', label: 'named conditions' },
          ]}
          onChange={(next) =>
            onChange(next === 'values' ? { column: groupingOf(first) } : initialCandidates(dataset))
          }
        />
      )}
      {'predicates' in candidates ? (
        <NamedConditions
          dataset={dataset}
          named={candidates.predicates}
          onChange={(predicates) => onChange({ predicates })}
        />
      ) : (
        <GroupingField
          label="Among the values of"
          columns={columns}
          value={candidates.column}
          onChange={(column) => onChange({ column })}
        />
      )}
    </>
  )
}

type Named = Extract<Candidates, { predicates: unknown }>['predicates']

interface NamedConditionsProps {
  readonly dataset: DatasetFacts
  readonly named: Named
  readonly onChange: (named: Named) => void
}

function NamedConditions({ dataset, named, onChange }: NamedConditionsProps) {
  return (
    <>
      {named.map((each, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the name changes while it is typed
        <div key={place} className={styles.group}>
          <Removable
            label={`Remove candidate ${place + 1}`}
            onRemove={named.length > 2 ? () => onChange(named.toSpliced(place, 1)) : undefined}
          >
            <input
              aria-label={`Name of candidate ${place + 1}`}
              value={each.name}
              onChange={({ target }) => onChange(named.with(place, { ...each, name: target.value }))}
            />
          </Removable>
          <ConditionField
            label={`Rows of ${each.name}`}
            dataset={dataset}
            value={each.where}
            required
            onChange={(where) => where && onChange(named.with(place, { ...each, where }))}
          />
        </div>
      ))}
      <div>
        <Button
          onClick={() =>
            onChange([...named, { name: `candidate ${named.length + 1}`, where: initialCondition(dataset) }])
          }
        >
          Add a candidate
        </Button>
      </div>
    </>
  )
}
