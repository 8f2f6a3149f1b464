import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import createFetchClient from 'openapi-fetch'
import createQueryClient from 'openapi-react-query'
import {
  ConnectionFailed,
  connect,
  Problem,
  type ProblemDocument,
  type paths,
  UnexpectedResponse,
} from 'sotto-client'
import { currentToken, forgetCredential } from './credential.ts'
import { withFurtherPages } from './pages.ts'
import type { Schemas } from './schemas.ts'

/** Times that a read is repeated after a lost connection, or a refusal that says that waiting helps. */
const READ_ATTEMPTS = 3

/** Client for questions. It repeats a question whose connection was lost, which is charged once. */
export const client = connect('/', () => currentToken() ?? '')

/**
 * Typed requests for everything that is not a question. They throw what the client throws. A list without a `limit` is
 * read whole.
 */
export const requests = createFetchClient<paths>({
  baseUrl: '/',
  fetch: async (request) => withFurtherPages(request, await send(request), send),
})

/** Returns the body of a response of {@link requests}: `await bodyOf(requests.POST(…))`. */
export async function bodyOf<Body>(response: Promise<{ data?: Body }>): Promise<NonNullable<Body>> {
  const { data } = await response
  if (data === undefined || data === null) throw new UnexpectedResponse('the response has no body')
  return data
}

/** Options of a request whose address has parameters: `requests.GET('/v1/datasets/{dataset}', at({ dataset }))`. */
export const at = <const Path extends object>(path: Path) => ({ params: { path } })

/** Hooks over {@link requests}: `api.useQuery('get', '/v1/datasets')`. */
export const api = createQueryClient(requests)

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: leaveIfRefused }),
  mutationCache: new MutationCache({ onError: leaveIfRefused }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      retry: helpsToRepeat,
      // A request without a network fails, and the page says so, instead of waiting in silence.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

async function send(request: Request): Promise<Response> {
  const token = currentToken()
  const isSignedIn = token !== undefined && !request.headers.has('authorization')
  if (isSignedIn) request.headers.set('authorization', `Bearer ${token}`)
  const response = await fetch(request, { credentials: 'omit', redirect: 'error', cache: 'no-store' }).catch(
    (error: unknown) => {
      if (request.signal.aborted) throw error
      throw new ConnectionFailed('no response from the service')
    },
  )
  if (response.ok) return response
  const error = errorOf(response.status, await response.text().catch(() => ''))
  if (isSignedIn) leaveIfRefused(error)
  throw error
}

/** Returns the error that a response without success stands for. */
export function errorOf(status: number, text: string): Problem | UnexpectedResponse {
  try {
    const document: unknown = JSON.parse(text)
    if (typeof document === 'object' && document !== null && 'code' in document)
      return new Problem(document as ProblemDocument)
  } catch {
    // A proxy in between answers with a page of its own.
  }
  return new UnexpectedResponse(`the response (status ${status}) is not from a Sotto service`)
}

/** Leads to the sign-in if the service no longer accepts the key or token. */
export function leaveIfRefused(error: Error) {
  if (error instanceof Problem && error.code === 'unauthenticated') forgetCredential('refused')
}

/**
 * True if a request that failed should be sent again: its connection was lost, or the service says that waiting helps.
 * Only for requests whose repeat changes nothing.
 * @param failures number of earlier failures
 */
export function helpsToRepeat(failures: number, error: Error): boolean {
  const isPassing =
    error instanceof ConnectionFailed ||
    (error instanceof Problem && ([429, 503].includes(error.status) || error.code === 'query-in-flight'))
  return isPassing && failures < READ_ATTEMPTS
}

/** Loads everything again that a change of a dataset may have changed. */
export function refreshAll(): Promise<void> {
  return queryClient.invalidateQueries()
}

export type Me = Schemas['Me']
export type Role = Me['role']

/** Returns who is signed in, or undefined until the service has told. */
export function useMe(): Me | undefined {
  return api.useQuery('get', '/v1/me', {}, { staleTime: Number.POSITIVE_INFINITY }).data
}
