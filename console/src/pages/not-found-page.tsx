import { Link } from 'wouter'
import { Page } from '../components/layout/page.tsx'

/** Page for an address that leads nowhere. */
export function NotFoundPage() {
  return (
    <Page title="There is no such page">
      <p>
        The address may be misspelled. <Link href="/datasets">All datasets</Link>
      </p>
    </Page>
  )
}
