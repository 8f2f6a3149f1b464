import { Button } from '../../components/button.tsx'
import { Radios } from '../../components/choice.tsx'
import styles from './ask.module.css'
import { ConditionField } from './condition-field.tsx'
import { GroupingField } from './grouping-field.tsx'
import { groupingColumns, groupingOf, initialCandidates, initialCondition } from './kinds.ts'
import { isQuestion, type Question, withField } from './question.ts'
import type { QuestionPart } from './question-form.tsx'
import { Removable } from './removable.tsx'

/** Candidates of a selection: the values of a column, or named conditions. */
export function CandidatesField({ dataset, question, onChange }: QuestionPart) {
  const candidates = isQuestion(question.candidates) ? question.candidates : {}
  const columns = groupingColumns(dataset)
  const set = (value: Question) => onChange(withField(question, 'candidates', value))
  const [first] = columns
  const isNamed = Array.isArray(candidates.predicates)
  return (
    <>
      {first !== undefined && (
        <Radios
          legend="Among"
          value={isNamed ? 'conditions' : 'values'}
          choices={[
            { value: 'values', label: 'the values of a column' },
            { value: 'conditions', label: 'named conditions' },
          ]}
          onChange={(next) =>
            set(next === 'values' ? { column: groupingOf(first) } : initialCandidates(dataset))
          }
        />
      )}
      {isNamed ? (
        <NamedConditions
          dataset={dataset}
          named={(candidates.predicates as readonly unknown[]).filter(isQuestion)}
          onChange={(predicates) => set({ predicates })}
        />
      ) : (
        <GroupingField
          label="Among the values of"
          columns={columns}
          value={candidates.column}
          onChange={(column) => set({ column })}
        />
      )}
    </>
  )
}

interface NamedConditionsProps extends Pick<QuestionPart, 'dataset'> {
  readonly named: readonly Question[]
  readonly onChange: (named: readonly Question[]) => void
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
              value={String(each.name ?? '')}
              onChange={({ target }) => onChange(named.with(place, { ...each, name: target.value }))}
            />
          </Removable>
          <ConditionField
            label={`Rows of ${String(each.name ?? '')}`}
            dataset={dataset}
            value={each.where}
            required
            onChange={(where) => onChange(named.with(place, { ...each, where }))}
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
