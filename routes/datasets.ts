import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { dataset, datasetList, datasetParameters } from '../schemas/dataset.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import { mayUse, type Principal } from '../src/access/principal.ts'
import { readSuspensionReason } from '../src/answers/attempt.ts'
import type { Catalog, CatalogEntry } from '../src/catalog/catalog.ts'
import { isLive } from '../src/catalog/dataset.ts'
import type { WatchedConnections } from '../src/connections/watch.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import { accessFor, principalOf } from './access.ts'
import { requireDataset } from './require-dataset.ts'

export interface DatasetsOptions {
  readonly authenticator: Authenticator
  readonly catalog: Catalog
  readonly ledger: Pick<Ledger, 'head' | 'suspension'>
  readonly connections: Pick<WatchedConnections, 'isReachable'>
}

/** Public facts of datasets. */
export const datasetsRoutes: FastifyPluginAsyncZod<DatasetsOptions> = async (
  app,
  { authenticator, catalog, ledger, connections },
) => {
  const { onRequest, security } = accessFor(authenticator, 'analyst', 'custodian', 'auditor')
  const tags = ['Datasets']

  /** Facts of the registration, the last known state of the database, and for custodians the suspension. */
  const presentFacts = async (entry: CatalogEntry, { role }: Principal) => {
    const { id } = entry.dataset
    const suspended = role === 'custodian' ? await readSuspensionReason(ledger, id) : undefined
    return {
      ...publicFacts(entry),
      ...(isLive(entry.dataset)
        ? { reachable: connections.isReachable(entry.dataset.source.connection) }
        : {}),
      ...(suspended === undefined ? {} : { suspended }),
    }
  }

  app.get(
    '/v1/datasets',
    {
      onRequest,
      schema: {
        tags,
        operationId: 'listDatasets',
        summary: 'List the datasets',
        description: 'Lists the datasets that the caller may use.',
        security,
        response: { 200: datasetList, ...problemResponses },
      },
    },
    async (request) => {
      const principal = principalOf(request)
      const permitted = catalog.list().filter(({ dataset: { id } }) => mayUse(principal, id))
      return { datasets: await Promise.all(permitted.map((entry) => presentFacts(entry, principal))) }
    },
  )

  app.get(
    '/v1/datasets/:dataset',
    {
      onRequest,
      schema: {
        tags,
        operationId: 'getDataset',
        summary: 'Get the public facts of a dataset',
        security,
        params: datasetParameters,
        response: { 200: dataset, ...problemResponses },
      },
    },
    async (request) => {
      const principal = principalOf(request)
      return presentFacts(requireDataset(catalog, principal, request.params.dataset), principal)
    },
  )
}

/** Facts of a registration that everybody who may use the dataset sees. */
export function publicFacts({ declaration, dataset: { version, rows, people }, registeredAt }: CatalogEntry) {
  return {
    ...declaration,
    version,
    ...(rows === undefined ? {} : { rows }),
    ...(people === undefined ? {} : { people }),
    registeredAt,
  }
}
