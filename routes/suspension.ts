import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { datasetParameters } from '../schemas/dataset.ts'
import { problemResponses } from '../schemas/problem.ts'
import { resumeRequest, suspensionReport } from '../schemas/suspension.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import { TABLE_CHANGED } from '../src/answers/attempt.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import { accessFor, principalOf } from './access.ts'
import { permittedDataset, requireOpened } from './require-dataset.ts'

export interface SuspensionOptions {
  readonly authenticator: Authenticator
  readonly ledger: Ledger
}

/** Failures that suspend a dataset, and its resumption. */
export const suspensionRoutes: FastifyPluginAsyncZod<SuspensionOptions> = async (
  app,
  { authenticator, ledger },
) => {
  const custodian = accessFor(authenticator, 'custodian')
  const overseers = accessFor(authenticator, 'custodian', 'auditor')

  const report = async (dataset: string) => {
    const { suspended, failures, counted } = requireOpened(await ledger.suspension(dataset), dataset)
    const tableChanged = counted.some(({ errorClass }) => errorClass === TABLE_CHANGED)
    return {
      suspended,
      ...(suspended ? { reason: tableChanged ? ('table-changed' as const) : ('failures' as const) } : {}),
      failures,
      counted: counted.map(({ chargeId, ...failure }) => ({ ...failure, release: chargeId })),
    }
  }

  app.get(
    '/v1/datasets/:dataset/suspension',
    {
      onRequest: overseers.onRequest,
      schema: {
        operationId: 'getSuspension',
        tags: ['Datasets'],
        summary: 'Get the failures of a dataset',
        description:
          'Lists the failures after charges that may depend on the data. At the `failureLimit` of the dataset they suspend ' +
          'it for analysts. A live table whose columns have changed is suspended at its first failure.',
        security: overseers.security,
        params: datasetParameters,
        response: { 200: suspensionReport, ...problemResponses },
      },
    },
    async (request) => report(permittedDataset(principalOf(request), request.params.dataset)),
  )

  app.post(
    '/v1/datasets/:dataset/resume',
    {
      onRequest: custodian.onRequest,
      schema: {
        operationId: 'resumeDataset',
        tags: ['Datasets'],
        summary: 'Resume a suspended dataset',
        description:
          'Lets analysts query the dataset again and counts its failures from 0. The reason is recorded in the ledger. ' +
          'Changes nothing if the dataset is not suspended. The columns of a live table are compared again at the next query.',
        security: custodian.security,
        params: datasetParameters,
        body: resumeRequest,
        response: { 200: suspensionReport, ...problemResponses },
      },
    },
    async (request) => {
      const principal = principalOf(request)
      const dataset = permittedDataset(principal, request.params.dataset)
      await ledger.resume(dataset, principal.name, request.body.reason)
      return report(dataset)
    },
  )
}
