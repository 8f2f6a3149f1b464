import type { components, paths } from 'sotto-client'
import type { HistoryFilter } from './history-filter.ts'

/** Release as the history lists it. */
export type ListedRelease = components['schemas']['ListedRelease']

/** Page of the history. The list has no other form unless CSV is asked for. */
export type ReleasePage = components['schemas']['ReleasePage']

/** Parameters of the list of releases. */
export type ReleaseParameters = NonNullable<paths['/v1/releases']['get']['parameters']['query']>

/** Returns the parameters of a selection. The service refuses unknown kinds and wrong dates, and says which. */
export function releaseParameters(filter: HistoryFilter, limit: number): ReleaseParameters {
  return { ...(filter as ReleaseParameters), limit: String(limit) }
}
