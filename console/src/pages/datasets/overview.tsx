import { Facts } from '../../components/facts.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { formatExact } from '../../format/number.ts'
import { BudgetGauge } from './budget-gauge.tsx'
import { type Column, valuesOf } from './column-values.ts'
import type { DatasetPart } from './dataset-page.tsx'
import styles from './datasets.module.css'
import { publicFactsOf } from './public-facts.ts'

/** Public facts of a dataset: its budget, its columns and the values that they may have. */
export default function Overview({ dataset }: DatasetPart) {
  const { id, description, columns } = dataset
  return (
    <>
      {description !== undefined && <p className={styles.about}>{description}</p>}
      <Section title="Budget">
        <BudgetGauge dataset={id} />
      </Section>
      <Section title="What is public">
        <Facts facts={publicFactsOf(dataset)} />
      </Section>
      <Section title="Columns" lead="The custodian declared these facts without looking at the data.">
        <Table
          label="Columns"
          rows={columns}
          keyOf={({ name }) => name}
          columns={[
            {
              title: 'Column',
              cell: ({ name }) => (
                <strong>
                  <bdi>{name}</bdi>
                </strong>
              ),
            },
            { title: 'Type', cell: ({ type }) => type },
            { title: 'Values', cell: ValuesCell },
            ...(columns.some(({ description: meaning }) => meaning !== undefined)
              ? [{ title: 'Meaning', cell: (column: Column) => column.description ?? '' }]
              : []),
          ]}
        />
      </Section>
    </>
  )
}

/** Categories that are listed at once; the others are shown on request. */
const LISTED_CATEGORIES = 20

function ValuesCell(column: Column) {
  if (column.type !== 'category' || column.categories.length <= LISTED_CATEGORIES)
    return <bdi>{valuesOf(column)}</bdi>
  const { categories } = column
  return (
    <>
      <bdi>{categories.slice(0, LISTED_CATEGORIES).join(', ')}</bdi>
      <details>
        <summary>and {formatExact(categories.length - LISTED_CATEGORIES)} more</summary>
        <bdi>{categories.slice(LISTED_CATEGORIES).join(', ')}</bdi>
      </details>
    </>
  )
}
