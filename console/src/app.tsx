import { QueryClientProvider } from '@tanstack/react-query'
import { type ComponentType, lazy, Suspense } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { CALLBACK } from './access/provider-sign-in.ts'
import { SignInPage } from './access/sign-in-page.tsx'
import { queryClient } from './api/api.ts'
import { useCredential } from './api/credential.ts'
import { Loading } from './components/notices/notices.tsx'
import { ErrorScreen } from './frame/error-screen.tsx'
import { Shell } from './frame/shell.tsx'
import { NotFoundPage } from './pages/not-found-page.tsx'
import { useFollowed } from './pages/tours/followed.ts'

const TourBar = lazy(() => import('./pages/tours/tour-bar.tsx'))
const SignInCallbackPage = lazy(() => import('./access/sign-in-callback-page.tsx'))

/** Pages by address. routes/service/console.ts of the service lists the same addresses. Each is loaded when it is first shown. */
const PAGES: readonly (readonly [path: string, page: ComponentType])[] = [
  ['/datasets', lazy(() => import('./pages/datasets/datasets-page.tsx'))],
  ['/datasets/:dataset/*?', lazy(() => import('./pages/dataset-page.tsx'))],
  ['/populations', lazy(() => import('./pages/manage/populations-page.tsx'))],
  ['/keys', lazy(() => import('./pages/keys/keys-page.tsx'))],
  ['/history', lazy(() => import('./pages/history/history-page.tsx'))],
  ['/history/compare', lazy(() => import('./pages/history/compare/compare-page.tsx'))],
  ['/history/:release', lazy(() => import('./pages/history/release-page.tsx'))],
  ['/risk', lazy(() => import('./pages/risk/risk-page.tsx'))],
  ['/register/:step?', lazy(() => import('./pages/register/register-page.tsx'))],
  ['/evaluations', lazy(() => import('./pages/evaluations/evaluations-page.tsx'))],
  ['/tours', lazy(() => import('./pages/tours/tours-page.tsx'))],
  ['/tours/:tour', lazy(() => import('./pages/tours/tour-page.tsx'))],
  ['/mechanisms', lazy(() => import('./pages/mechanisms/mechanisms-page.tsx'))],
  ['/audit', lazy(() => import('./pages/audit/audit-page.tsx'))],
  ['/audit/:dataset/*?', lazy(() => import('./pages/audit/ledger-page.tsx'))],
]

/** The console. Every page needs a key or token; the address stays while the person signs in. */
export function App() {
  const credential = useCredential()
  const followed = useFollowed()
  return (
    <QueryClientProvider client={queryClient}>
      <ErrorScreen>
        {credential.state === 'signed-out' ? (
          <Suspense>
            <Switch>
              <Route path={CALLBACK}>
                <SignInCallbackPage />
              </Route>
              <Route>
                <SignInPage reason={credential.reason} />
              </Route>
            </Switch>
          </Suspense>
        ) : (
          <Shell>
            <Suspense>{followed !== null && <TourBar followed={followed} />}</Suspense>
            <Suspense fallback={<Loading what="the page" />}>
              <Switch>
                {PAGES.map(([path, Page]) => (
                  <Route key={path} path={path}>
                    <Page />
                  </Route>
                ))}
                <Route path="/">
                  <Redirect to="/datasets" replace />
                </Route>
                <Route path="/sign-in/*?">
                  <Redirect to="/datasets" replace />
                </Route>
                <Route>
                  <NotFoundPage />
                </Route>
              </Switch>
            </Suspense>
          </Shell>
        )}
      </ErrorScreen>
    </QueryClientProvider>
  )
}
