import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { datasetParameters } from '../../schemas/datasets/dataset.ts'
import { resumeRequest, suspensionReport } from '../../schemas/datasets/suspension.ts'
import { suspensionReason } from '../../src/answers/attempt.ts'
import type { Registry } from '../../src/datasets/registration/registry.ts'
import { requireOpened } from '../../src/http/access/permitted-datasets.ts'
import type { Principal } from '../../src/http/access/principal.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import type { Suspensions } from '../../src/ledger/contract/suspension.ts'

interface SuspensionOptions {
  readonly ledger: Suspensions
  readonly registry: Pick<Registry, 'tableState'>
}

/** Failures that suspend a dataset, and its resumption. */
export const suspensionRoutes: FastifyPluginAsyncZod<SuspensionOptions> = async (
  app,
  { ledger, registry },
) => {
  const report = async (dataset: string, { role }: Principal) => {
    const suspension = requireOpened(await ledger.suspension(dataset), dataset)
    const { suspended, failures, counted } = suspension
    const reason = suspensionReason(suspension)
    // The columns of the table are not known to auditors.
    const isTold = reason === 'table-changed' && role === 'custodian'
    const found = isTold ? await registry.tableState(dataset) : undefined
    return {
      suspended,
      reason,
      message: found?.message,
      table: found && { state: found.state, changes: found.changes },
      failures,
      counted: counted.map(({ chargeId, ...failure }) => ({ ...failure, release: chargeId })),
    }
  }

  app.get('/v1/datasets/:dataset/suspension', {
    config: { roles: ['custodian', 'auditor'] },
    schema: {
      operationId: 'getSuspension',
      tags: ['Registration'],
      summary: 'Get the failures of a dataset',
      description:
        'Lists the failures after charges that may depend on the data. At the `failureLimit` of the dataset they suspend ' +
        'it for analysts. A live table whose columns have changed is suspended at its first failure. Custodians are told which ' +
        'columns differ now and what to do.',
      params: datasetParameters,
      response: { 200: suspensionReport },
    },
    handler: async (request) => report(request.params.dataset, principalOf(request)),
  })

  app.post('/v1/datasets/:dataset/resume', {
    config: { roles: ['custodian'] },
    schema: {
      operationId: 'resumeDataset',
      tags: ['Registration'],
      summary: 'Resume a suspended dataset',
      description:
        'Lets analysts query the dataset again and counts its failures from 0. The reason is recorded in the ledger. ' +
        'Changes nothing if the dataset is not suspended. The columns of a live table are compared again at the next query.',
      params: datasetParameters,
      body: resumeRequest,
      response: { 200: suspensionReport },
    },
    handler: async (request) => {
      const principal = principalOf(request)
      const { dataset } = request.params
      await ledger.resume(dataset, principal.name, request.body.reason)
      return report(dataset, principal)
    },
  })
}
