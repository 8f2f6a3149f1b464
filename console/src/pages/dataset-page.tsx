import { type ComponentType, lazy, Suspense } from 'react'
import { Link, Route, Switch, useLocation, useParams } from 'wouter'
import { api, at, type Role, useMe } from '../api/api.ts'
import { ButtonLink } from '../components/forms/button.tsx'
import { Page, Tabs } from '../components/layout/page.tsx'
import { Loading, Notice, ProblemNotice } from '../components/notices/notices.tsx'
import { sizeOf } from '../format/amount.ts'
import { type DatasetPart, protectionOf } from './datasets/dataset.ts'
import { NotFoundPage } from './not-found-page.tsx'

type PartEntry = readonly [
  /** Last part of the address; the overview has none. */
  path: string,
  title: string,
  roles: readonly Role[],
  part: ComponentType<DatasetPart>,
]

const PARTS: readonly PartEntry[] = [
  ['', 'Overview', ['analyst', 'custodian', 'auditor'], lazy(() => import('./datasets/overview.tsx'))],
  ['ask', 'Ask', ['analyst'], lazy(() => import('./ask/ask.tsx'))],
  ['sessions', 'Sessions', ['analyst'], lazy(() => import('./sessions/sessions.tsx'))],
  ['spending', 'Spending', ['custodian', 'auditor'], lazy(() => import('./manage/spending-part.tsx'))],
  ['manage', 'Manage', ['custodian'], lazy(() => import('./manage/manage-part.tsx'))],
]

/** Page of one dataset: its heading, and one part of it by the address. */
export default function DatasetPage() {
  const { dataset = '' } = useParams<{ dataset: string }>()
  const me = useMe()
  const { data, error, refetch } = api.useQuery('get', '/v1/datasets/{dataset}', at({ dataset }))
  if (error !== null)
    return (
      <Page title={dataset} path={[{ title: 'Datasets', href: '/datasets' }]}>
        <ProblemNotice error={error} onRetry={refetch} />
      </Page>
    )
  if (data === undefined || me === undefined) return <Loading what="the dataset" />
  const parts = PARTS.filter(([, , roles]) => roles.includes(me.role))
  const hrefOf = (path: string) => `/datasets/${data.id}${path === '' ? '' : `/${path}`}`
  return (
    <Page
      title={data.title}
      path={[{ title: 'Datasets', href: '/datasets' }]}
      actions={<Records dataset={data.id} role={me.role} />}
      lead={`${data.id}, version ${data.version}: ${protectionOf(data)}`}
    >
      {data.suspended !== undefined && <Suspended href={hrefOf('manage')} />}
      {me.role === 'analyst' && <UsedUp dataset={data.id} />}
      <Tabs label="Dataset" tabs={parts.map(([path, title]) => ({ href: hrefOf(path), title }))} />
      <Suspense fallback={<Loading what="the page" />}>
        <Switch>
          {parts.map(([path, , , Part]) => (
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

/** Notice for an analyst who can pay for nothing more: what happened, and whom to ask. */
function UsedUp({ dataset }: { readonly dataset: string }) {
  const { data } = api.useQuery('get', '/v1/datasets/{dataset}/budget', at({ dataset }))
  if (data === undefined) return null
  const { remaining, allotment } = data
  const isOwn = allotment !== undefined && sizeOf(allotment.remaining) <= 0
  if (!isOwn && sizeOf(remaining) > 0) return null
  const isStopped = isOwn && sizeOf(allotment.cap) === 0
  return (
    <Notice
      tone="cost"
      title={
        isStopped
          ? 'A custodian has stopped your questions'
          : isOwn
            ? 'Your allotment is used up'
            : 'The budget is used up'
      }
    >
      Nothing new can be asked. Answers that you paid for stay free in the{' '}
      <Link href={`/history?${new URLSearchParams({ dataset })}`}>history</Link>. Ask the custodian of the
      dataset to raise {isOwn ? 'your allotment' : 'the budget'}.
    </Notice>
  )
}

function Records({ dataset, role }: { readonly dataset: string; readonly role: Role }) {
  return (
    <>
      <ButtonLink href={`/history?${new URLSearchParams({ dataset })}`}>History</ButtonLink>
      {role !== 'analyst' && <ButtonLink href={`/audit/${dataset}`}>Ledger</ButtonLink>}
    </>
  )
}
