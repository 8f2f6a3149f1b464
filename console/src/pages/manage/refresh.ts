import { queryClient } from '../../api/api.ts'

/** Loads everything again that a change of a dataset may have changed. */
export function refreshAll(): Promise<void> {
  return queryClient.invalidateQueries()
}
