import { lazy, Suspense } from 'react'
import { Link, Route, Switch, useLocation, useParams } from 'wouter'
import { api } from '../../api/api.ts'
import { type Role, useMe } from '../../api/me.ts'
import { ButtonLink } from '../../components/button.tsx'
import { Loading } from '../../components/loading.tsx'
import { Notice } from '../../components/notice.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { NotFoundPage } from '../not-found-page.tsx'
import type { Dataset } from './dataset-kind.ts'
import { protectionOf } from './dataset-kind.ts'

/** Part of a dataset's page. */
export interface DatasetPart {
  readonly dataset: Dataset
}

interface PartEntry {
  /** Last part of the address; the overview has none. */
  readonly path: string
  readonly title: string
  readonly roles: readonly Role[]
  readonly part: React.ComponentType<DatasetPart>
}

const PARTS: readonly PartEntry[] = [
  {
    path: '',
    title: 'Overview',
    roles: ['analyst', 'custodian', 'auditor'],
    part: lazy(() => import('./overview.tsx')),
  },
  {
    path: 'ask',
    title: 'Ask',
    roles: ['analyst'],
    part: lazy(() => import('../ask/ask.tsx')),
  },
  {
    path: 'sessions',
    title: 'Sessions',
    roles: ['analyst'],
    part: lazy(() => import('../sessions/sessions.tsx')),
  },
  {
    path: 'spending',
    title: 'Spending',
    roles: ['custodian', 'auditor'],
    part: lazy(() => import('../manage/spending-part.tsx')),
  },
  {
    path: 'manage',
    title: 'Manage',
    roles: ['custodian'],
    part: lazy(() => import('../manage/manage-part.tsx')),
  },
]

/** Page of one dataset: its heading, and one part of it by the address. */
export default function DatasetPage() {
  const { dataset = '' } = useParams<{ dataset: string }>()
  const me = useMe()
  const { data, error, refetch } = api.useQuery('get', '/v1/datasets/{dataset}', {
    params: { path: { dataset } },
  })
  if (error !== null)
    return (
      <Page title={dataset} path={[{ title: 'Datasets', href: '/datasets' }]}>
        <ProblemNotice error={error} onRetry={refetch} />
      </Page>
    )
  if (data === undefined || me === undefined) return <Loading what="the dataset" />
  const parts = PARTS.filter(({ roles }) => roles.includes(me.role))
  const hrefOf = (path: string) => `/datasets/${data.id}${path === '' ? '' : `/${path}`}`
  return (
    <Page
      title={data.title}
      path={[{ title: 'Datasets', href: '/datasets' }]}
      actions={<Records dataset={data.id} role={me.role} />}
      lead={`${data.id}, version ${data.version}: ${protectionOf(data)}`}
    >
      {data.suspended !== undefined && <Suspended href={hrefOf('manage')} />}
      <Tabs label="Dataset" tabs={parts.map(({ path, title }) => ({ href: hrefOf(path), title }))} />
      <Suspense fallback={<Loading what="the page" />}>
        <Switch>
          {parts.map(({ path, part: Part }) => (
            <Route key={path} path={hrefOf(path)}>
              <Part dataset={data} />
            </Route>
          ))}
          <Route>
            <NotFoundPage />
          </Route>
        </Switch>
      </Suspense>
    </Page>
  )
}

/** Notice for custodians, on every part of the page but the one that explains it. */
function Suspended({ href }: { readonly href: string }) {
  const [location] = useLocation()
  if (location === href) return null
  return (
    <Notice tone="danger" title="The dataset is suspended">
      Analysts get stored answers only. <Link href={href}>Look at the failures</Link>, then resume it.
    </Notice>
  )
}

/** Links to the records of a dataset. */
function Records({ dataset, role }: { readonly dataset: string; readonly role: Role }) {
  return (
    <>
      <ButtonLink href={`/history?${new URLSearchParams({ dataset })}`}>History</ButtonLink>
      {role !== 'analyst' && <ButtonLink href={`/audit/${dataset}`}>Ledger</ButtonLink>}
    </>
  )
}
