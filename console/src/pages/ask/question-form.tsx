import { KINDS } from '../../api/kinds.ts'
import { Button } from '../../components/forms/button.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import type { DatasetFacts } from '../datasets/dataset.ts'
import styles from './ask.module.css'
import { ConditionField } from './conditions/condition-field.tsx'
import { Removable } from './fields.tsx'
import type { FieldPart } from './kinds/field-part.ts'
import { KindFieldsOf } from './kinds/kind-field.tsx'
import { offeredKinds, questionOf } from './kinds/kinds.ts'
import { nextStatistic, offeredStatistics, statisticFields, statisticOf } from './kinds/statistics.ts'
import { ExpressionField, type ExpressionFieldProps } from './question/expression-field.tsx'
import { type Question, type QuestionPart, type Statistic, withField } from './question/question.ts'
import { withFittingContribution } from './terms/contribution.ts'
import { ContributionField } from './terms/contribution-field.tsx'
import { isFurther } from './terms/options.ts'
import { OptionsField } from './terms/options-field.tsx'

/** Form for a question: its kind, what it measures, which rows it covers, and what each person contributes. */
export function QuestionForm({
  dataset,
  question,
  expressions,
  onChange,
}: QuestionPart & { readonly expressions: ExpressionFieldProps }) {
  const change = (next: Question) => onChange(withFittingContribution(next, dataset))
  const part = { dataset, question, onChange: change }
  return (
    <div className={styles.form}>
      <KindChoice {...part} />
      <KindFieldsOf
        key={question.kind}
        fields={KINDS[question.kind].fields}
        asked={question}
        dataset={dataset}
        shows={(field) => !isFurther(field)}
        statistics={StatisticsFields}
        onChange={change}
      />
      <ConditionField
        label="Of the rows where"
        dataset={dataset}
        value={question.where}
        onChange={(where) => change(withField(question, 'where', where))}
      />
      <ExpressionField {...expressions} />
      <ContributionField {...part} />
      <OptionsField {...part} />
    </div>
  )
}

function KindChoice({ dataset, question, onChange }: QuestionPart) {
  const offered = offeredKinds(dataset).map(([kind, { title }]) => [kind, title] as const)
  const { kind } = question
  const isOffered = offered.some(([each]) => each === kind)
  return (
    <SelectField
      label="Statistic"
      options={isOffered ? offered : [[kind, KINDS[kind].title], ...offered]}
      groupOf={(each) => KINDS[each].heading}
      value={kind}
      onChange={(next) => onChange(questionOf(next, dataset, question))}
    />
  )
}

function StatisticsFields({ field, dataset, value: statistics = [], onChange }: FieldPart<'statistics'>) {
  const { least = 1, most = Number.POSITIVE_INFINITY } = field
  const next = nextStatistic(statistics, dataset)
  return (
    <>
      {statistics.map((statistic, place) => (
        <Removable
          // biome-ignore lint/suspicious/noArrayIndexKey: a statistic has no name of its own
          key={place}
          label={`Remove statistic ${place + 1}`}
          onRemove={statistics.length > least ? () => onChange(statistics.toSpliced(place, 1)) : undefined}
        >
          <StatisticFields
            dataset={dataset}
            statistic={statistic}
            onChange={(changed) => onChange(statistics.with(place, changed))}
          />
        </Removable>
      ))}
      {next !== undefined && statistics.length < most && (
        <div>
          <Button onClick={() => onChange([...statistics, next])}>Add a statistic</Button>
        </div>
      )}
    </>
  )
}

interface StatisticFieldsProps {
  readonly dataset: DatasetFacts
  readonly statistic: Statistic
  readonly onChange: (statistic: Statistic) => void
}

function StatisticFields({ dataset, statistic, onChange }: StatisticFieldsProps) {
  const kinds = new Set([statistic.kind, ...offeredStatistics(dataset)])
  return (
    <>
      <SelectField
        label="Statistic of each group"
        options={[...kinds].map((kind) => [kind, KINDS[kind].title] as const)}
        groupOf={(each) => KINDS[each].heading}
        value={statistic.kind}
        onChange={(kind) => onChange(statisticOf(kind, dataset, statistic))}
      />
      <KindFieldsOf
        fields={statisticFields(statistic.kind)}
        asked={statistic}
        dataset={dataset}
        labelOf={({ type, title }) =>
          type === 'column' || type === 'grouping' ? 'Column of the statistic' : title
        }
        onChange={onChange}
      />
    </>
  )
}
