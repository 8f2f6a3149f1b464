import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { changedDatasetParameters, dataset, descriptionChange } from '../../schemas/datasets/dataset.ts'
import type { Registry } from '../../src/datasets/registration/registry.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { publicFacts } from './datasets.ts'

interface DatasetChangesOptions {
  readonly registry: Pick<Registry, 'describe' | 'withdraw'>
}

/** Changes of a dataset's descriptions, and its withdrawal. */
export const datasetChangesRoutes: FastifyPluginAsyncZod<DatasetChangesOptions> = async (
  app,
  { registry },
) => {
  const tags = ['Registration']

  app.patch('/v1/datasets/:dataset', {
    config: { roles: ['custodian'] },
    schema: {
      tags,
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
      tags,
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
