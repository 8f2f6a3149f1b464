import { JoinedPicture } from '../../components/charts/joined-picture.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Facts, Table } from '../../components/tables/tables.tsx'
import { formatExact } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'
import { BudgetGauge } from './budget-gauge.tsx'
import { allColumns, type Column, type DatasetPart } from './dataset.ts'
import styles from './datasets.module.css'
import { publicFactsOf } from './public-facts.ts'

/** Public facts of a dataset: its budget, its columns and the values that they may have. */
export default function Overview({ dataset }: DatasetPart) {
  const { id, description, source } = dataset
  const columns = allColumns(dataset)
  return (
    <>
      {description !== undefined && <p className={styles.about}>{description}</p>}
      <Section title="Budget">
        <BudgetGauge dataset={id} />
      </Section>
      <Section title="What is public">
        <Facts facts={publicFactsOf(dataset)} />
      </Section>
      {source.kind === 'joined' && (
        <Section title="Tables" lead="Each row has the columns of the tables that it refers to.">
          <JoinedPicture source={source} />
        </Section>
      )}
      <Section title="Columns" lead="The custodian declared these facts without looking at the data.">
        <Table
          label="Columns"
          rows={columns}
          keyOf={({ name }) => name}
          columns={[
            [
              'Column',
              ({ name }) => (
                <strong>
                  <bdi>{name}</bdi>
                </strong>
              ),
            ],
            columns.some((column) => 'expression' in column) && [
              'Expression',
              (column) => ('expression' in column ? <bdi>{column.expression}</bdi> : ''),
            ],
            ['Type', ({ type }) => type],
            ['Values', ValuesCell],
            columns.some(({ description: meaning }) => meaning !== undefined) && [
              'Meaning',
              ({ description: meaning }) => meaning ?? '',
            ],
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

/** Describes the values that a column may have, as they were declared. */
function valuesOf(column: Column): string {
  switch (column.type) {
    case 'integer':
      return `${formatExact(column.lower)} to ${formatExact(column.upper)}`
    case 'number':
      return `${formatExact(column.lower)} to ${formatExact(column.upper)} in steps of ${formatExact(column.step)}`
    case 'date':
    case 'timestamp':
      return `${formatTime(column.lower)} to ${formatTime(column.upper)}`
    case 'boolean':
      return 'true or false'
    case 'category':
      return column.categories.join(', ')
    case 'string':
      return 'any text'
    case 'identifier':
      return 'identifies a person; cannot be queried'
  }
}
