import { Button } from '../../components/button.tsx'
import { GroupingField } from './grouping-field.tsx'
import { groupingColumns, groupingOf } from './kinds.ts'
import { isQuestion } from './question.ts'
import type { QuestionPart } from './question-form.tsx'
import { Removable } from './removable.tsx'

/** Most columns that a table can have. */
const MOST_GROUPINGS = 8

/** Columns by which rows are grouped together. */
export function GroupingsFields({ dataset, question, onChange }: QuestionPart) {
  const name = question.kind === 'contingency' ? 'columns' : 'keys'
  const groupings: readonly unknown[] = Array.isArray(question[name]) ? (question[name] as unknown[]) : []
  const change = (next: readonly unknown[]) => onChange({ ...question, [name]: next })
  const columns = groupingColumns(dataset)
  const unused = columns.filter(({ name: each }) => !groupings.some((other) => columnOf(other) === each))
  const [next] = unused
  const least = question.kind === 'contingency' ? 2 : question.kind === 'topGroups' ? 1 : 0
  return (
    <>
      {groupings.map((grouping, place) => (
        <Removable
          // biome-ignore lint/suspicious/noArrayIndexKey: a grouping has no name of its own
          key={place}
          label={`Remove ${String(columnOf(grouping))}`}
          onRemove={groupings.length > least ? () => change(groupings.toSpliced(place, 1)) : undefined}
        >
          <GroupingField
            label={place === 0 ? 'By' : 'and by'}
            columns={columns.filter((each) => each.name === columnOf(grouping) || unused.includes(each))}
            value={grouping}
            onChange={(changed) => change(groupings.with(place, changed))}
          />
        </Removable>
      ))}
      {next !== undefined && groupings.length < MOST_GROUPINGS && (
        <div>
          <Button onClick={() => change([...groupings, groupingOf(next)])}>Add a column to group by</Button>
        </div>
      )}
    </>
  )
}

function columnOf(grouping: unknown): unknown {
  return isQuestion(grouping) ? grouping.column : grouping
}
