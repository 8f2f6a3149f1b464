import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { changedDatasetParameters, dataset, descriptionChange } from '../schemas/dataset.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import type { Registry } from '../src/registration/registry.ts'
import { accessFor, principalOf } from './access.ts'
import { publicFacts } from './datasets.ts'
import { permittedDataset } from './require-dataset.ts'

export interface DatasetChangesOptions {
  readonly authenticator: Authenticator
  readonly registry: Pick<Registry, 'describe' | 'withdraw'>
}

/** Changes of a dataset's descriptions, and its withdrawal. */
export const datasetChangesRoutes: FastifyPluginAsyncZod<DatasetChangesOptions> = async (
  app,
  { authenticator, registry },
) => {
  const { onRequest, security } = accessFor(authenticator, 'custodian')
  const tags = ['Datasets']

  app.patch(
    '/v1/datasets/:dataset',
    {
      onRequest,
      schema: {
        tags,
        operationId: 'describeDataset',
        summary: 'Change the title and the descriptions of a dataset',
        description:
          'Changes texts on which no answer depends: the title, the description, and the descriptions and units of columns. ' +
          'Everything else that was declared stays.',
        security,
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
      onRequest,
      schema: {
        tags,
        operationId: 'withdrawDataset',
        summary: 'Withdraw a dataset',
        description:
          'Removes the ingested rows. The budget and its ledger remain: a dataset registered again under this id ' +
          'continues with the same budget.',
        security,
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
