import { Facts } from '../../components/facts.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
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
            { title: 'Column', cell: ({ name }) => <strong>{name}</strong> },
            { title: 'Type', cell: ({ type }) => type },
            { title: 'Values', cell: valuesOf },
            ...(columns.some(({ description: meaning }) => meaning !== undefined)
              ? [{ title: 'Meaning', cell: (column: Column) => column.description ?? '' }]
              : []),
          ]}
        />
      </Section>
    </>
  )
}
