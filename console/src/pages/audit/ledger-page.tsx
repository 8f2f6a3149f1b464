import { Route, Switch, useParams } from 'wouter'
import { useMe } from '../../api/me.ts'
import { Page } from '../../components/page.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { ADMINISTRATION } from './chain.ts'
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
