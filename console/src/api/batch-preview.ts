import { keepPreviousData } from '@tanstack/react-query'
import { api, at } from './api.ts'
import type { Schemas } from './schemas.ts'

/** Previews a batch, which reads no data. The preview before stays until the next has arrived. */
export function useBatchPreview(
  dataset: string,
  queries: readonly Schemas['Query'][],
  terms: Pick<Schemas['Batch'], 'plan' | 'objective' | 'weights'>,
  options: { readonly staleTime?: number } = {},
) {
  return api.useQuery(
    'post',
    '/v1/datasets/{dataset}/queries/batch/preview',
    { ...at({ dataset }), body: { queries: [...queries], ...terms } },
    { enabled: queries.length > 0, placeholderData: keepPreviousData, ...options },
  )
}
