import { Link, useLocation } from 'wouter'
import { api, useMe } from '../../api/api.ts'
import { Button } from '../../components/forms/button.tsx'
import { TextField } from '../../components/forms/fields.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { Loading, ProblemNotice } from '../../components/notices/notices.tsx'
import { Table } from '../../components/tables/tables.tsx'
import { BudgetGauge } from '../datasets/budget-gauge.tsx'
import styles from './audit.module.css'
import { ADMINISTRATION } from './event-text.ts'

/** Page that lists the ledgers that can be audited. */
export default function AuditPage() {
  const { data, error, refetch } = api.useQuery('get', '/v1/datasets')
  const me = useMe()
  const [, navigate] = useLocation()
  return (
    <Page
      title="Audit"
      lead="Every charge, answer and change of a budget is an event in a chain of hashes. Read the events, and verify them here in the browser."
    >
      {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
      {data === undefined && error === null && <Loading what="the datasets" />}
      {data !== undefined && (
        <Section title="Datasets">
          <Table
            cards
            label="Datasets"
            rows={data.datasets}
            keyOf={({ id }) => id}
            empty="There is no dataset that you may see."
            columns={[
              ['Dataset', ({ id }) => <Link href={`/audit/${id}`}>{id}</Link>],
              ['Title', ({ title }) => title],
              [
                'Budget',
                ({ id }) => (
                  <div className={styles.budget}>
                    <BudgetGauge dataset={id} />
                  </div>
                ),
              ],
              [
                '',
                ({ id }) => (
                  <Link className={styles.link ?? ''} href={`/audit/${id}/verification`}>
                    Verify
                  </Link>
                ),
              ],
            ]}
          />
        </Section>
      )}
      <Section
        title="Withdrawn datasets"
        lead="The ledger of a withdrawn dataset can still be read. Enter its id."
      >
        <form
          className={styles.open}
          action={(form) => {
            const id = String(form.get('dataset')).trim()
            if (id !== '') navigate(`/audit/${encodeURIComponent(id)}`)
          }}
        >
          <TextField label="Id of the dataset" name="dataset" autoComplete="off" />
          <Button type="submit">Open</Button>
        </form>
      </Section>
      {me?.datasets === undefined && (
        <Section
          title="Administrative acts"
          lead="Keys, registrations, withdrawals, grants and suspensions are events of a chain of their own."
        >
          <Link href={`/audit/${ADMINISTRATION}`}>All administrative acts</Link>
        </Section>
      )}
    </Page>
  )
}
