import { Button } from '../../components/button.tsx'
import { ConditionField } from './condition-field.tsx'
import { GroupingField } from './grouping-field.tsx'
import { entryOf, GROUP_STATISTICS, groupingColumns, personValues } from './kinds.ts'
import { NumberInput } from './number-input.tsx'
import { isQuestion, type Question, withField } from './question.ts'
import type { QuestionPart } from './question-form.tsx'
import { Removable } from './removable.tsx'
import {
  MOST_STATISTICS,
  nextStatistic,
  statisticColumns,
  statisticOf,
  withPersonValue,
} from './statistics.ts'

/** Statistics of each group. */
export function StatisticsFields({ dataset, question, onChange }: QuestionPart) {
  const statistics = Array.isArray(question.statistics) ? question.statistics.filter(isQuestion) : []
  const change = (next: readonly Question[]) => onChange({ ...question, statistics: next })
  const next = nextStatistic(statistics, dataset)
  return (
    <>
      {statistics.map((statistic, place) => (
        <Removable
          // biome-ignore lint/suspicious/noArrayIndexKey: a statistic has no name of its own
          key={place}
          label={`Remove statistic ${place + 1}`}
          onRemove={statistics.length > 1 ? () => change(statistics.toSpliced(place, 1)) : undefined}
        >
          <KindChoice
            dataset={dataset}
            statistic={statistic}
            onChange={(changed) => change(statistics.with(place, changed))}
          />
          <StatisticFields
            dataset={dataset}
            statistic={statistic}
            onChange={(changed) => change(statistics.with(place, changed))}
          />
        </Removable>
      ))}
      {next !== undefined && statistics.length < MOST_STATISTICS && (
        <div>
          <Button onClick={() => change([...statistics, next])}>Add a statistic</Button>
        </div>
      )}
    </>
  )
}

interface StatisticPart extends Pick<QuestionPart, 'dataset'> {
  readonly statistic: Question
  readonly onChange: (statistic: Question) => void
}

function KindChoice({ dataset, statistic, onChange }: StatisticPart) {
  const kinds = GROUP_STATISTICS.filter((kind) => statisticOf(kind, dataset) !== undefined)
  return (
    <select
      aria-label="Statistic of each group"
      value={String(statistic.kind)}
      onChange={(event) => {
        const next = statisticOf(event.target.value, dataset, statistic)
        if (next !== undefined) onChange(next)
      }}
    >
      {[...new Set([String(statistic.kind), ...kinds])].map((kind) => (
        <option key={kind} value={kind}>
          {kind === 'percentile' ? 'Percentile' : (entryOf(kind)?.title ?? kind)}
        </option>
      ))}
    </select>
  )
}

function StatisticFields({ dataset, statistic, onChange }: StatisticPart) {
  const isPeople = dataset.privacyUnit.kind === 'person'
  switch (statistic.kind) {
    case 'count':
      return isPeople && <CountedChoice statistic={statistic} onChange={onChange} />
    case 'proportion':
      return <ProportionFields dataset={dataset} statistic={statistic} onChange={onChange} />
    case 'countDistinct':
      return (
        <GroupingField
          label="Column of the statistic"
          columns={groupingColumns(dataset)}
          value={statistic.column}
          onChange={(column) => onChange({ ...statistic, column })}
        />
      )
    default:
      return (
        <>
          <ColumnChoice dataset={dataset} statistic={statistic} onChange={onChange} />
          {statistic.kind === 'mean' && isPeople && (
            <PersonValueChoice dataset={dataset} statistic={statistic} onChange={onChange} />
          )}
          {statistic.kind === 'percentile' && (
            <NumberInput
              aria-label="Percentage"
              min={0}
              max={100}
              value={statistic.p}
              onChange={(p) => p !== undefined && onChange({ ...statistic, p })}
            />
          )}
        </>
      )
  }
}

function ColumnChoice({ dataset, statistic, onChange }: StatisticPart) {
  const columns = statisticColumns(statistic, dataset)
  return (
    <select
      aria-label="Column of the statistic"
      value={String(statistic.column)}
      onChange={(event) => onChange({ ...statistic, column: event.target.value })}
    >
      {columns.every(({ name }) => name !== statistic.column) && <option>{String(statistic.column)}</option>}
      {columns.map(({ name }) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  )
}

function CountedChoice({ statistic, onChange }: Omit<StatisticPart, 'dataset'>) {
  return (
    <select
      aria-label="Count"
      value={String(statistic.of ?? 'rows')}
      onChange={({ target }) =>
        onChange(withField(statistic, 'of', target.value === 'people' ? 'people' : undefined))
      }
    >
      <option value="rows">of rows</option>
      <option value="people">of people</option>
    </select>
  )
}

function PersonValueChoice({ dataset, statistic, onChange }: StatisticPart) {
  return (
    <select
      aria-label="Values"
      value={String(statistic.perPerson ?? '')}
      onChange={({ target }) =>
        onChange(withPersonValue(statistic, target.value === '' ? undefined : target.value, dataset))
      }
    >
      {personValues(dataset.columns).map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
  )
}

function ProportionFields({ dataset, statistic, onChange }: StatisticPart) {
  return (
    <>
      <input
        aria-label="Name of the proportion"
        placeholder="Name"
        value={typeof statistic.name === 'string' ? statistic.name : ''}
        onChange={({ target }) =>
          onChange(withField(statistic, 'name', target.value === '' ? undefined : target.value))
        }
      />
      <ConditionField
        label="Share with"
        dataset={dataset}
        value={statistic.of}
        required
        onChange={(of) => onChange({ ...statistic, of })}
      />
    </>
  )
}
