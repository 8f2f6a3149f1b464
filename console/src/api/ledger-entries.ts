import { useQuery } from '@tanstack/react-query'
import { requests } from './api.ts'
import type { Schemas } from './schemas.ts'

const PAGE_SIZE = 500
/** Most pages that are read for a chart. */
const MOST_PAGES = 20

/** Number of entries from which on older ones are left out. */
export const MOST_ENTRIES = PAGE_SIZE * MOST_PAGES

/** Newest entries of a dataset's ledger, newest first. Analysts get their own. */
export function useLedgerEntries(dataset: string) {
  return useQuery({
    queryKey: ['ledger entries', dataset],
    queryFn: ({ signal }) => readEntries(dataset, signal),
  })
}

async function readEntries(dataset: string, signal: AbortSignal): Promise<readonly Schemas['LedgerEntry'][]> {
  const entries: Schemas['LedgerEntry'][] = []
  let cursor: string | undefined
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = { limit: String(PAGE_SIZE), ...(cursor === undefined ? {} : { cursor }) }
    const { data } = await requests.GET('/v1/datasets/{dataset}/ledger', {
      params: { path: { dataset }, query },
      signal,
    })
    entries.push(...(data?.entries ?? []))
    cursor = data?.next
    if (cursor === undefined) break
  }
  return entries
}
