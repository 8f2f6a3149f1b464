import type { paths } from 'sotto-client'
import type { Schemas } from '../../api/schemas.ts'

const FIELDS = ['dataset', 'kind', 'analyst', 'from', 'to', 'cursor'] as const
type Field = (typeof FIELDS)[number]

/** Selection of releases, as it is in the address of the history. */
export type HistoryFilter = { readonly [each in Field]?: string }

/** Reads the selection of an address. Empty and unknown parameters are ignored. */
export function filterOf(parameters: URLSearchParams): HistoryFilter {
  const given = FIELDS.flatMap((field) => {
    const value = parameters.get(field)?.trim()
    return value === undefined || value === '' ? [] : [[field, value]]
  })
  return Object.fromEntries(given)
}

/** Returns the address of the history with a selection. */
export function addressOf(filter: HistoryFilter): string {
  const parameters = new URLSearchParams()
  for (const field of FIELDS) {
    const value = filter[field]
    if (value !== undefined && value !== '') parameters.set(field, value)
  }
  return parameters.size === 0 ? '/history' : `/history?${parameters}`
}

/** Returns a selection with a field replaced, from its first page. */
export function replaceField(
  { cursor: _, ...filter }: HistoryFilter,
  field: Exclude<Field, 'cursor'>,
  value: string,
): HistoryFilter {
  return { ...filter, [field]: value.trim() }
}

/** Returns the address at which a question can be asked again. */
export function askAgainAddress(dataset: string, question: unknown): string {
  return `/datasets/${encodeURIComponent(dataset)}/ask?${new URLSearchParams({ q: JSON.stringify(question) })}`
}

/** Release as the history lists it. */
export type ListedRelease = Schemas['ListedRelease']

/** Page of the history. The list has no other form unless CSV is asked for. */
export type ReleasePage = Schemas['ReleasePage']

/** Parameters of the list of releases. */
export type ReleaseParameters = NonNullable<paths['/v1/releases']['get']['parameters']['query']>

/** Returns the parameters of a selection. The service refuses unknown kinds and wrong dates, and says which. */
export function releaseParameters(filter: HistoryFilter, limit: number): ReleaseParameters {
  return { ...(filter as ReleaseParameters), limit: String(limit) }
}
