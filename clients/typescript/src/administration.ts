import {
  type ConnectionOptions,
  jsonOf,
  type Key,
  openConnection,
  type Request,
  wholeList,
} from './connection.ts'
import type { components } from './schema.ts'

export type { ConnectionOptions, Key } from './connection.ts'
export { type DraftedTable, joinedDraft, tableNameOf } from './joined-draft.ts'
export { ConnectionFailed, Problem, SottoError, UnexpectedResponse } from './problem.ts'

/** Documents of the service, by name. */
export type Schemas = components['schemas']

/** Options of a registration and of a new version. */
export interface IngestionOptions {
  /** Checks the declaration and every value of the source, and publishes nothing. */
  readonly dryRun?: boolean
}

/** What a custodian does with datasets, through one service with one key. */
export interface Administration {
  /** Lists the datasets that the key may use. */
  datasets(): Promise<Schemas['DatasetList']>
  /** Returns why and since when a dataset is suspended, if it is. */
  suspension(dataset: string): Promise<Schemas['Suspension']>
  /** Uploads a file for a draft or a registration. It expires. */
  upload(file: Blob, name: string): Promise<Schemas['Upload']>
  /** Deletes an upload. */
  deleteUpload(id: string): Promise<void>
  /** Proposes the declaration of a file or table. */
  draft(request: Schemas['DraftRequest']): Promise<Schemas['Draft']>
  /** Registers a dataset. The same registration again changes nothing. */
  register(
    registration: Schemas['Registration'],
    options?: IngestionOptions,
  ): Promise<Schemas['RegisteredDataset'] | Schemas['TriedRegistration']>
  /** Publishes a version of a dataset. The same rows again change nothing. */
  publish(
    dataset: string,
    version: Schemas['NewVersion'],
    options?: IngestionOptions,
  ): Promise<Schemas['PublishedVersion'] | Schemas['TriedVersion']>
  /** Measures what `maxRows` leaves out of the present version, for the declared epsilon, and publishes the result. */
  measureCoverage(dataset: string): Promise<Schemas['Dataset']>
  /** Lists the ingestions that wait or run, the newest first. */
  ingestions(): Promise<Schemas['IngestionList']>
  /** Lists the versions of a dataset since its registration, the newest first. */
  versions(dataset: string): Promise<Schemas['VersionList']>
  /** Withdraws a dataset and deletes its ingested rows. Its budget remains. */
  withdraw(dataset: string): Promise<void>
  /** Returns what is granted for a dataset, what was spent and what remains. */
  budget(dataset: string): Promise<Schemas['BudgetReport']>
  /** Raises the cap of a dataset. */
  grant(dataset: string, grant: Schemas['GrantRequest']): Promise<Schemas['BudgetReport']>
}

/**
 * Returns the custodian's calls of the service at an address. Each throws what a `Connection` throws. None is repeated,
 * because a grant that arrives twice raises the budget twice. An ingestion is answered when it has ended: `timeoutMs` limits it.
 */
export function administer(
  url: string,
  key: Key,
  options: Pick<ConnectionOptions, 'fetch' | 'timeoutMs'> = {},
): Administration {
  const connection = openConnection(url, key, { ...options, attempts: 1, longestWaitMs: 0 })
  const send = async <Document>(request: Request) => jsonOf<Document>(await connection(request))
  const get = <Document>(path: string) => send<Document>({ method: 'GET', path })
  const post = <Document>(path: string, body: unknown, { dryRun }: IngestionOptions = {}) =>
    send<Document>({ method: 'POST', path, body, parameters: dryRun ? { dryRun } : {} })
  const remove = async (path: string) => {
    await connection({ method: 'DELETE', path })
  }
  const at = (dataset: string, place = '') => `/v1/datasets/${encodeURIComponent(dataset)}${place}`
  return {
    datasets: async () => ({ datasets: await wholeList(connection, 'datasets', { path: '/v1/datasets' }) }),
    suspension: (dataset) => get(at(dataset, '/suspension')),
    upload: (file, name) => {
      const form = new FormData()
      form.append('file', file, name)
      return post('/v1/sources', form)
    },
    deleteUpload: (id) => remove(`/v1/sources/${encodeURIComponent(id)}`),
    draft: (request) => post('/v1/drafts', request),
    register: (registration, ingestion) => post('/v1/datasets', registration, ingestion),
    publish: (dataset, version, ingestion) => post(at(dataset, '/versions'), version, ingestion),
    measureCoverage: (dataset) => post(at(dataset, '/coverage'), undefined),
    ingestions: async () => ({
      ingestions: await wholeList(connection, 'ingestions', { path: '/v1/ingestions' }),
    }),
    versions: async (dataset) => ({
      versions: await wholeList(connection, 'versions', { path: at(dataset, '/versions') }),
    }),
    withdraw: (dataset) => remove(at(dataset)),
    budget: (dataset) => get(at(dataset, '/budget')),
    grant: (dataset, grant) => post(at(dataset, '/grants'), grant),
  }
}
