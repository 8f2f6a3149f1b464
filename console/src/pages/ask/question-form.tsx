import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import type { Dataset } from '../datasets/dataset-kind.ts'
import styles from './ask.module.css'
import { ConditionField } from './condition-field.tsx'
import { GroupingField } from './grouping-field.tsx'
import {
  entryOf,
  type FieldKind,
  factorColumns,
  GROUP_STATISTICS,
  groupingColumns,
  groupingOf,
  KINDS,
  measuredColumns,
  questionOf,
} from './kinds.ts'
import { OptionsField } from './options-field.tsx'
import { isQuestion, type Question, withField } from './question.ts'
import { SelectColumn } from './select-column.tsx'
import { TextList } from './text-list.tsx'

/** Properties of the parts of the form. */
export interface QuestionPart {
  readonly dataset: Dataset
  readonly question: Question
  readonly onChange: (question: Question) => void
}

/** Properties of the parts that write the question as text. */
export interface WrittenQuestionPart extends QuestionPart {
  /** Called with true while the text states another question, or none. Nothing is asked then. */
  readonly onPending: (isPending: boolean) => void
}

/** Form for a question: its kind, what it measures, and which rows it covers. */
export function QuestionForm({ dataset, question, onChange }: QuestionPart) {
  const entry = entryOf(question.kind)
  const hasText = dataset.columns.some((column) => column.type === 'string' && column.selectable)
  return (
    <div className={styles.form}>
      <Field label="Statistic">
        {(attributes) => (
          <select
            {...attributes}
            value={String(question.kind)}
            onChange={(event) => onChange(questionOf(event.target.value, dataset, question))}
          >
            {KINDS.filter(({ kind }) => kind !== 'keySelection' || hasText).map(({ kind, title }) => (
              <option key={kind} value={kind}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Field>
      {entry?.fields.map((field) => (
        <KindField key={field} field={field} dataset={dataset} question={question} onChange={onChange} />
      ))}
      <ConditionField
        label="Of the rows where"
        dataset={dataset}
        value={question.where}
        onChange={(where) => onChange(withField(question, 'where', where))}
      />
      <OptionsField dataset={dataset} question={question} onChange={onChange} />
    </div>
  )
}

function KindField({ field, dataset, question, onChange }: QuestionPart & { readonly field: FieldKind }) {
  const set = (name: string, value: unknown) => onChange(withField(question, name, value))
  const part = { dataset, question, onChange }
  switch (field) {
    case 'measured':
      return (
        <SelectColumn
          label="Column"
          columns={measuredColumns(dataset, entryOf(question.kind)?.measures ?? [])}
          value={question.column}
          onChange={(column) => set('column', column)}
        />
      )
    case 'text':
      return (
        <SelectColumn
          label="Column"
          columns={dataset.columns.filter((column) => column.type === 'string' && column.selectable)}
          value={question.column}
          onChange={(column) => set('column', column)}
        />
      )
    case 'pair':
      return <PairFields {...part} />
    case 'outcome':
      return (
        <SelectColumn
          label="Column to explain"
          columns={factorColumns(dataset)}
          value={question.outcome}
          onChange={(column) => set('outcome', column)}
        />
      )
    case 'predictors':
      return <PredictorFields {...part} />
    case 'share':
      return (
        <ConditionField
          label="Share with"
          dataset={dataset}
          value={question.of}
          required
          onChange={(of) => set('of', of)}
        />
      )
    case 'grouping':
      return (
        <GroupingField
          label="By"
          dataset={dataset}
          value={question.column}
          onChange={(column) => set('column', column)}
        />
      )
    case 'candidates':
      return (
        <GroupingField
          label="Among the values of"
          dataset={dataset}
          value={isQuestion(question.candidates) ? question.candidates.column : undefined}
          onChange={(column) => set('candidates', { column })}
        />
      )
    case 'groupings':
      return <GroupingsFields {...part} />
    case 'statistics':
      return <StatisticsFields {...part} />
    case 'percentages':
      return (
        <TextList
          label="Percentages"
          hint="50 is the median."
          items={[question.p].flat()}
          onChange={(p) => set('p', p)}
        />
      )
    case 'number':
      return (
        <NumberField
          label="How many"
          value={question.k ?? (question.kind === 'topGroups' ? 10 : 1)}
          onChange={(k) => set('k', k)}
        />
      )
    case 'delta':
      return (
        <NumberField
          label="Delta"
          hint="Largest probability with which a text of one person appears."
          value={question.delta}
          onChange={(delta) => set('delta', delta)}
        />
      )
    case 'counted':
      return dataset.privacyUnit.kind === 'row' ? undefined : (
        <Field label="Count">
          {(attributes) => (
            <select
              {...attributes}
              value={String(question.of ?? 'rows')}
              onChange={(event) => set('of', event.target.value === 'people' ? 'people' : undefined)}
            >
              <option>rows</option>
              <option>people</option>
            </select>
          )}
        </Field>
      )
  }
}

function NumberField({
  label,
  hint,
  value,
  onChange,
}: {
  readonly label: string
  readonly hint?: string
  readonly value: unknown
  readonly onChange: (value: number) => void
}) {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {(attributes) => (
        <input
          {...attributes}
          type="number"
          step="any"
          value={typeof value === 'number' ? value : ''}
          onChange={(event) => event.target.value !== '' && onChange(Number(event.target.value))}
        />
      )}
    </Field>
  )
}

function PairFields({ dataset, question, onChange }: QuestionPart) {
  const columns = Array.isArray(question.columns) ? question.columns : []
  return [0, 1].map((place) => (
    <SelectColumn
      key={place}
      label={place === 0 ? 'First column' : 'Second column'}
      columns={factorColumns(dataset)}
      value={columns[place]}
      onChange={(column) =>
        onChange({ ...question, columns: [0, 1].map((each) => (each === place ? column : columns[each])) })
      }
    />
  ))
}

function PredictorFields({ dataset, question, onChange }: QuestionPart) {
  const chosen = Array.isArray(question.predictors) ? question.predictors : []
  return (
    <fieldset className={styles.categories}>
      <legend>Explained by</legend>
      {factorColumns(dataset)
        .filter(({ name }) => name !== question.outcome)
        .map(({ name }) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={(event) =>
                onChange({
                  ...question,
                  predictors: event.target.checked
                    ? [...chosen, name]
                    : chosen.filter((each) => each !== name),
                })
              }
            />
            {name}
          </label>
        ))}
    </fieldset>
  )
}

function GroupingsFields({ dataset, question, onChange }: QuestionPart) {
  const name = question.kind === 'contingency' ? 'columns' : 'keys'
  const groupings: readonly unknown[] = Array.isArray(question[name]) ? (question[name] as unknown[]) : []
  const change = (next: readonly unknown[]) => onChange({ ...question, [name]: next })
  const unused = groupingColumns(dataset).find(
    (column) => !groupings.some((each) => (isQuestion(each) ? each.column : each) === column.name),
  )
  const least = question.kind === 'contingency' ? 2 : question.kind === 'topGroups' ? 1 : 0
  return (
    <>
      {groupings.map((grouping, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a grouping has no name of its own
        <div key={place} className={styles.test}>
          <GroupingField
            label={place === 0 ? 'By' : 'and by'}
            dataset={dataset}
            value={grouping}
            onChange={(changed) => change(groupings.with(place, changed))}
          />
          {groupings.length > least && (
            <Button look="quiet" onClick={() => change(groupings.toSpliced(place, 1))}>
              Remove
            </Button>
          )}
        </div>
      ))}
      {unused !== undefined && (
        <div>
          <Button onClick={() => change([...groupings, groupingOf(unused)])}>Add a column to group by</Button>
        </div>
      )}
    </>
  )
}

function StatisticsFields({ dataset, question, onChange }: QuestionPart) {
  const statistics = Array.isArray(question.statistics) ? question.statistics.filter(isQuestion) : []
  const columns = measuredColumns(dataset, ['integer', 'number'])
  const change = (next: readonly Question[]) => onChange({ ...question, statistics: next })
  return (
    <>
      {statistics.map((statistic, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a statistic has no name of its own
        <div key={place} className={styles.test}>
          <select
            aria-label="Statistic"
            value={String(statistic.kind)}
            onChange={(event) => {
              const kind = event.target.value
              const column = statistic.column ?? columns[0]?.name
              change(statistics.with(place, kind === 'count' ? { kind } : { kind, column }))
            }}
          >
            {[...new Set([String(statistic.kind), ...GROUP_STATISTICS])].map((kind) => (
              <option key={kind} value={kind}>
                {entryOf(kind)?.title ?? kind}
              </option>
            ))}
          </select>
          {typeof statistic.column === 'string' && (
            <select
              aria-label="Column of the statistic"
              value={statistic.column}
              onChange={(event) =>
                change(statistics.with(place, { ...statistic, column: event.target.value }))
              }
            >
              {columns.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
          {statistics.length > 1 && (
            <Button look="quiet" onClick={() => change(statistics.toSpliced(place, 1))}>
              Remove
            </Button>
          )}
        </div>
      ))}
      {columns[0] !== undefined && (
        <div>
          <Button onClick={() => change([...statistics, { kind: 'mean', column: columns[0]?.name }])}>
            Add a statistic
          </Button>
        </div>
      )}
    </>
  )
}
