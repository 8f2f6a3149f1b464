import { Route, Switch, useParams } from 'wouter'
import { useMe } from '../../api/api.ts'
import { Page, Tabs } from '../../components/layout/page.tsx'
import { ADMINISTRATION } from './event-text.ts'
import { ActTimeline, EventTimeline } from './timeline.tsx'
import { VerificationPanel } from './verification-panel.tsx'

/** Page of the ledger of one dataset, or of the administrative acts: the events as a timeline, and their verification. */
export default function LedgerPage() {
  const { dataset = '' } = useParams<{ dataset: string }>()
  const me = useMe()
  const isAdministration = dataset === ADMINISTRATION
  const href = `/audit/${dataset}`
  return (
    <Page
      title={isAdministration ? 'Administrative acts' : `Ledger of ${dataset}`}
      path={[{ title: 'Audit', href: '/audit' }]}
      lead={
        isAdministration
          ? 'Keys, refused sign-ins, registrations, withdrawals, grants and suspensions.'
          : 'Everything that happened to the budget of this dataset.'
      }
    >
      <Tabs
        label="Ledger"
        tabs={[
          { href, title: 'Timeline' },
          // Analysts cannot export the ledger.
          ...(me?.role === 'analyst' ? [] : [{ href: `${href}/verification`, title: 'Verification' }]),
        ]}
      />
      <Switch>
        <Route path="/audit/:dataset/verification">
          <VerificationPanel key={dataset} dataset={dataset} />
        </Route>
        <Route>{isAdministration ? <ActTimeline /> : <EventTimeline dataset={dataset} />}</Route>
      </Switch>
    </Page>
  )
}
