import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  changedDatasetParameters,
  dataset,
  datasetList,
  datasetParameters,
  descriptionChange,
  registeredDataset,
  registration,
  registrationQuery,
  triedRegistration,
} from '../schemas/dataset.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import { mayUse } from '../src/access/principal.ts'
import { describeBudgetRisk } from '../src/answers/disclosure.ts'
import type { Catalog, CatalogEntry } from '../src/catalog/catalog.ts'
import { isLive } from '../src/catalog/dataset.ts'
import { requireAnswered } from '../src/catalog/open-questions.ts'
import type { WatchedConnections } from '../src/connections/watch.ts'
import { Refusal } from '../src/privacy/refusal.ts'
import type { Registry } from '../src/registration/registry.ts'
import { accessFor, principalOf } from './access.ts'
import { givenUpSignal } from './caller.ts'
import {
  permittedDataset,
  requireAllowedToSeparate,
  requireDataset,
  requireOwnSource,
} from './require-dataset.ts'

export interface DatasetsOptions {
  readonly authenticator: Authenticator
  readonly catalog: Catalog
  readonly registry: Registry
  readonly connections: Pick<WatchedConnections, 'isReachable'>
}

/** Public facts of datasets, registration and withdrawal. */
export const datasetsRoutes: FastifyPluginAsyncZod<DatasetsOptions> = async (
  app,
  { authenticator, catalog, registry, connections },
) => {
  /** Public facts with the last known state of the database, which is not a fact of the registration. */
  const presentFacts = (entry: CatalogEntry) => ({
    ...publicFacts(entry),
    ...(isLive(entry.dataset) ? { reachable: connections.isReachable(entry.dataset.source.connection) } : {}),
  })
  const everyone = accessFor(authenticator, 'analyst', 'custodian', 'auditor')
  const custodian = accessFor(authenticator, 'custodian')

  app.get(
    '/v1/datasets',
    {
      onRequest: everyone.onRequest,
      schema: {
        tags: ['Datasets'],
        operationId: 'listDatasets',
        summary: 'List the datasets',
        description: 'Lists the datasets that the caller may use.',
        security: everyone.security,
        response: { 200: datasetList, ...problemResponses },
      },
    },
    async (request) => {
      const principal = principalOf(request)
      const permitted = catalog.list().filter(({ dataset }) => mayUse(principal, dataset.id))
      return { datasets: permitted.map(presentFacts) }
    },
  )

  app.get(
    '/v1/datasets/:dataset',
    {
      onRequest: everyone.onRequest,
      schema: {
        tags: ['Datasets'],
        operationId: 'getDataset',
        summary: 'Get the public facts of a dataset',
        security: everyone.security,
        params: datasetParameters,
        response: { 200: dataset, ...problemResponses },
      },
    },
    async (request) => presentFacts(requireDataset(catalog, principalOf(request), request.params.dataset)),
  )

  app.post(
    '/v1/datasets',
    {
      onRequest: custodian.onRequest,
      // Before the schema, which names the first broken rule of each part only.
      preValidation: async (request) => requireAnswered(request.body),
      schema: {
        tags: ['Datasets'],
        operationId: 'registerDataset',
        summary: 'Register a dataset',
        description:
          'Ingests a CSV or Parquet file or a table of a database, or attaches a live table, checks every value against its ' +
          'declaration, and opens ' +
          'the budget. Sending the same registration again changes nothing.',
        security: custodian.security,
        querystring: registrationQuery,
        body: registration,
        response: {
          200: z
            .union([registeredDataset, triedRegistration])
            .describe('The dataset was already registered with this declaration, or `dryRun` is true.'),
          201: registeredDataset.describe('The dataset was registered.'),
          ...problemResponses,
        },
      },
    },
    async (request, reply) => {
      const givenUp = givenUpSignal(reply)
      const principal = principalOf(request)
      if (!mayUse(principal, request.body.id)) throw registrationForbidden()
      requireAllowedToSeparate(principal, request.body)
      const { candidates, dryRun } = request.query
      if (dryRun === 'true') {
        requireOwnSource(principal, request.body.source)
        const tried = await registry.tryRegistration(request.body, { principal: principal.name, givenUp })
        const { dataset, ingestion, granted } = tried
        const disclosureRisk = describeBudgetRisk({ dataset, granted, candidates })
        return reply.code(200).send({ dryRun: true, id: dataset.id, ingestion, disclosureRisk })
      }
      const registered = await registry.register(request.body, { principal: principal.name, givenUp })
      const { entry, granted, created } = registered
      const disclosureRisk = describeBudgetRisk({ dataset: entry.dataset, granted, candidates })
      return reply
        .code(created ? 201 : 200)
        .send({ ...publicFacts(entry), ...countsOf(entry), disclosureRisk })
    },
  )

  app.patch(
    '/v1/datasets/:dataset',
    {
      onRequest: custodian.onRequest,
      schema: {
        tags: ['Datasets'],
        operationId: 'describeDataset',
        summary: 'Change the title and the descriptions of a dataset',
        description:
          'Changes texts on which no answer depends: the title, the description, and the descriptions and units of columns. ' +
          'Everything else that was declared stays.',
        security: custodian.security,
        params: changedDatasetParameters,
        body: descriptionChange,
        response: { 200: dataset, ...problemResponses },
      },
    },
    async (request) => {
      const principal = principalOf(request)
      const id = permittedDataset(principal, request.params.dataset)
      return publicFacts(await registry.describe(id, request.body, principal.name))
    },
  )

  app.delete(
    '/v1/datasets/:dataset',
    {
      onRequest: custodian.onRequest,
      schema: {
        tags: ['Datasets'],
        operationId: 'withdrawDataset',
        summary: 'Withdraw a dataset',
        description:
          'Removes the ingested rows. The budget and its ledger remain: a dataset registered again under this id ' +
          'continues with the same budget.',
        security: custodian.security,
        params: changedDatasetParameters,
        response: { 204: z.null().describe('The dataset was withdrawn.'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const principal = principalOf(request)
      await registry.withdraw(permittedDataset(principal, request.params.dataset), principal.name)
      return reply.code(204).send(null)
    },
  )
}

/** Creates the refusal for a custodian whose key is limited to other ids. It does not say if the dataset exists. */
function registrationForbidden(): Refusal {
  return new Refusal(
    'forbidden',
    'The key is limited to other datasets. It cannot register one under this id.',
  )
}

/** Exact counts of the ingestion, which custodians see. */
export function countsOf({ ingestion }: CatalogEntry) {
  return ingestion === undefined ? {} : { ingestion }
}

/** Facts of a dataset that everybody who may use it sees. */
export function publicFacts({ declaration, dataset: { version, rows, people }, registeredAt }: CatalogEntry) {
  return {
    ...declaration,
    version,
    ...(rows === undefined ? {} : { rows }),
    ...(people === undefined ? {} : { people }),
    registeredAt,
  }
}
