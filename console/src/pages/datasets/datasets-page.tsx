import { Link } from 'wouter'
import { api, useMe } from '../../api/api.ts'
import { ButtonLink } from '../../components/forms/button.tsx'
import cards from '../../components/layout/cards.module.css'
import { Page } from '../../components/layout/page.tsx'
import { Loading, Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { Pill } from '../../components/tables/tables.tsx'
import { formatCount } from '../../format/number.ts'
import { BudgetGauge } from './budget-gauge.tsx'
import { type Dataset, protectionOf } from './dataset.ts'
import styles from './datasets.module.css'

/** Page that lists the datasets that the caller may use. */
export default function DatasetsPage() {
  const me = useMe()
  const { data, error, refetch } = api.useQuery('get', '/v1/datasets')
  return (
    <Page
      title="Datasets"
      lead="What is shown here is public. Answers about the rows are noisy, and each is paid from the budget of its dataset."
      actions={me?.role === 'custodian' && <ButtonLink href="/register">Register data</ButtonLink>}
    >
      {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
      {data === undefined && error === null && <Loading what="the datasets" />}
      {data?.datasets.length === 0 && (
        <Notice title="There is no dataset that you may use">
          A custodian registers data and issues keys for it.
        </Notice>
      )}
      <ul className={cards.list}>
        {data?.datasets.map((dataset) => (
          <DatasetCard key={dataset.id} dataset={dataset} />
        ))}
      </ul>
    </Page>
  )
}

function DatasetCard({ dataset }: { readonly dataset: Dataset }) {
  const { id, title, description, columns, synthetic, suspended, reachable } = dataset
  return (
    <li className={cards.card}>
      <div className={styles.heading}>
        <h2>
          <Link href={`/datasets/${id}`}>{title}</Link>
        </h2>
        {synthetic && <Pill>made-up data</Pill>}
        {suspended !== undefined && <Pill tone="danger">suspended</Pill>}
        {reachable === false && <Pill tone="cost">database cannot be reached</Pill>}
      </div>
      <code className={styles.id}>{id}</code>
      {description !== undefined && <p className={styles.description}>{description}</p>}
      <p className={styles.facts}>
        {formatCount(columns.length, 'column')} · {protectionOf(dataset)}
      </p>
      <BudgetGauge dataset={id} />
    </li>
  )
}
