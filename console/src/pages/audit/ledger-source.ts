import { at, requests } from '../../api/api.ts'
import { chunksOf } from '../../api/chunks.ts'
import type { Schemas } from '../../api/schemas.ts'
import type { StatedVerification } from './checks.ts'
import { ADMINISTRATION } from './event-text.ts'

/** Head of a chain as the service states it. */
export type StatedHead = Schemas['LedgerHead']

/** Requests a document about a chain: that of a dataset, or that of the administrative acts. */
function request(
  dataset: string,
  document: 'head' | 'verification' | 'export',
  options: { readonly signal?: AbortSignal | null; readonly parseAs?: 'stream' },
) {
  return dataset === ADMINISTRATION
    ? requests.GET(`/v1/administration/${document}`, options)
    : requests.GET(`/v1/datasets/{dataset}/ledger/${document}`, { ...at({ dataset }), ...options })
}

/** Reads the newest event of a chain from the service. */
export async function readHead(dataset: string, signal: AbortSignal): Promise<StatedHead> {
  const { data }: { readonly data?: unknown } = await request(dataset, 'head', { signal })
  return data as StatedHead
}

/** Lets the service verify a chain. */
export async function readVerification(dataset: string, signal: AbortSignal): Promise<StatedVerification> {
  const { data }: { readonly data?: unknown } = await request(dataset, 'verification', { signal })
  return data as StatedVerification
}

/** Reads the export of a chain. */
export async function readExport(dataset: string, signal: AbortSignal | null = null): Promise<Blob> {
  const { response } = await request(dataset, 'export', { parseAs: 'stream', signal })
  if (response.body === null) throw new TypeError('the export has no body')
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of chunksOf(response.body)) chunks.push(chunk)
  return new Blob(chunks)
}
