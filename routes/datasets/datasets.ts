import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  changedDatasetParameters,
  dataset,
  datasetList,
  datasetParameters,
  descriptionChange,
} from '../../schemas/datasets/dataset.ts'
import { pageQuery } from '../../schemas/values.ts'
import { readSuspensionReason } from '../../src/answers/attempt.ts'
import { coverageStatement } from '../../src/answers/documents/coverage.ts'
import { connectionOf } from '../../src/core/dataset/dataset.ts'
import { derivedFacts } from '../../src/core/dataset/derived-facts.ts'
import type { CatalogEntry } from '../../src/core/dataset/entry.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { WatchedConnections } from '../../src/datasets/connections/watch.ts'
import type { Registry } from '../../src/datasets/registration/registry.ts'
import { requireDataset } from '../../src/http/access/permitted-datasets.ts'
import { mayUse, type Principal } from '../../src/http/access/principal.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { pageOf } from '../../src/http/paging.ts'
import type { Chain } from '../../src/ledger/contract/chain.ts'
import type { Suspensions } from '../../src/ledger/contract/suspension.ts'

interface DatasetsOptions {
  readonly catalog: Catalog
  readonly ledger: Chain & Suspensions
  readonly connections: Pick<WatchedConnections, 'isReachable'>
  readonly registry: Pick<Registry, 'describe' | 'withdraw'>
}

/** Public facts of datasets, changes of their descriptions, and their withdrawal. */
export const datasetsRoutes: FastifyPluginAsyncZod<DatasetsOptions> = async (
  app,
  { catalog, ledger, connections, registry },
) => {
  const tags = ['Datasets']

  /** Facts of the registration, the last known state of the database, and for custodians the suspension. */
  const presentFacts = async (entry: CatalogEntry, { role }: Principal) => {
    const { id } = entry.dataset
    const connection = connectionOf(entry.dataset)
    const suspended = role === 'custodian' ? await readSuspensionReason(ledger, id) : undefined
    return {
      ...publicFacts(entry),
      reachable: connection === undefined ? undefined : connections.isReachable(connection),
      suspended,
    }
  }

  app.get('/v1/datasets', {
    config: { roles: EVERYONE, conditional: true },
    schema: {
      tags,
      operationId: 'listDatasets',
      summary: 'List the datasets',
      description: 'Lists the datasets that the caller may use.',
      querystring: pageQuery,
      response: { 200: datasetList },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const permitted = catalog.list().filter(({ dataset: { id } }) => mayUse(principal, id))
      const { items, next } = pageOf(request, reply, permitted, ({ dataset: { id } }) => id)
      return { datasets: await Promise.all(items.map((entry) => presentFacts(entry, principal))), next }
    },
  })

  app.get('/v1/datasets/:dataset', {
    config: { roles: EVERYONE, conditional: true },
    schema: {
      tags,
      operationId: 'getDataset',
      summary: 'Get the public facts of a dataset',
      params: datasetParameters,
      response: { 200: dataset },
    },
    handler: async (request) => {
      const principal = principalOf(request)
      return presentFacts(requireDataset(catalog, principal, request.params.dataset), principal)
    },
  })

  app.patch('/v1/datasets/:dataset', {
    config: { roles: ['custodian'] },
    schema: {
      tags: ['Registration'],
      operationId: 'describeDataset',
      summary: 'Change the title and the descriptions of a dataset',
      description:
        'Changes texts on which no answer depends: the title, the description, and the descriptions and units of columns. ' +
        'Everything else that was declared stays.',
      params: changedDatasetParameters,
      body: descriptionChange,
      response: { 200: dataset },
    },
    handler: async (request) => {
      const { params, body } = request
      return publicFacts(await registry.describe(params.dataset, body, principalOf(request).name))
    },
  })

  app.delete('/v1/datasets/:dataset', {
    config: { roles: ['custodian'] },
    schema: {
      tags: ['Registration'],
      operationId: 'withdrawDataset',
      summary: 'Withdraw a dataset',
      description:
        'Removes the ingested rows. The budget and its ledger remain: a dataset registered again under this id ' +
        'continues with the same budget.',
      params: changedDatasetParameters,
      response: { 204: z.null().describe('The dataset was withdrawn.') },
    },
    handler: async (request, reply) => {
      await registry.withdraw(request.params.dataset, principalOf(request).name)
      return reply.code(204).send(null)
    },
  })
}

/** Facts of a registration that everybody who may use the dataset sees. */
export function publicFacts({ declaration, dataset, registeredAt }: CatalogEntry) {
  const { version, rows, people, coverage } = dataset
  const facts = {
    ...declaration,
    derived: derivedFacts(declaration, dataset),
    version,
    rows,
    people,
    coverage,
  }
  return { ...facts, coverageStatement: coverageStatement(dataset), registeredAt }
}
