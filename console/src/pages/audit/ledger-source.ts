import { requests } from '../../api/api.ts'
import { ADMINISTRATION } from './chain.ts'

/** Head of a chain as the service states it. */
export interface StatedHead {
  readonly dataset: string
  readonly sequence: number
  readonly hash: string
  readonly signature?: string
  readonly publicKey?: string
}

/** Reads the newest event of a chain from the service. */
export async function readHead(dataset: string, signal?: AbortSignal): Promise<StatedHead> {
  const options = signal === undefined ? {} : { signal }
  const { data } =
    dataset === ADMINISTRATION
      ? await requests.GET('/v1/administration/head', options)
      : await requests.GET('/v1/datasets/{dataset}/ledger/head', {
          params: { path: { dataset } },
          ...options,
        })
  return data as StatedHead
}

/** Result of the verification that the service makes itself. */
export type ServiceVerification = Awaited<ReturnType<typeof readVerification>>

/** Lets the service verify a chain. */
export async function readVerification(dataset: string, signal: AbortSignal) {
  if (dataset === ADMINISTRATION) {
    const { data } = await requests.GET('/v1/administration/verification', { signal })
    return data
  }
  const path = { dataset }
  const { data } = await requests.GET('/v1/datasets/{dataset}/ledger/verification', {
    params: { path },
    signal,
  })
  return data
}

/** Opens the export of a chain. */
export async function openExport(dataset: string, signal?: AbortSignal): Promise<Response> {
  const options = { parseAs: 'stream' as const, ...(signal === undefined ? {} : { signal }) }
  const { response } =
    dataset === ADMINISTRATION
      ? await requests.GET('/v1/administration/export', options)
      : await requests.GET('/v1/datasets/{dataset}/ledger/export', {
          params: { path: { dataset } },
          ...options,
        })
  return response
}
