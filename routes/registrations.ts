import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  registeredDataset,
  registration,
  registrationQuery,
  triedRegistration,
  type versionQuery,
} from '../schemas/dataset.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import { mayUse, type Principal } from '../src/access/principal.ts'
import { describeBudgetRisk } from '../src/answers/disclosure.ts'
import type { CatalogEntry } from '../src/catalog/catalog.ts'
import { requireAnswered } from '../src/catalog/open-questions.ts'
import { Refusal } from '../src/privacy/refusal.ts'
import type { VersionRequest } from '../src/registration/new-version.ts'
import type { Custodian, Registry } from '../src/registration/registry.ts'
import { accessFor, principalOf } from './access.ts'
import { givenUpSignal } from './caller.ts'
import { publicFacts } from './datasets.ts'
import { requireAllowedToSeparate, requireOwnSource } from './require-dataset.ts'

export interface RegistrationsOptions {
  readonly authenticator: Authenticator
  readonly registry: Pick<Registry, 'register' | 'tryRegistration'>
}

/** Registration of datasets. */
export const registrationsRoutes: FastifyPluginAsyncZod<RegistrationsOptions> = async (
  app,
  { authenticator, registry },
) => {
  const { onRequest, security } = accessFor(authenticator, 'custodian')
  const tags = ['Datasets']

  app.post(
    '/v1/datasets',
    {
      onRequest,
      preValidation: requireAnsweredBody,
      schema: {
        tags,
        operationId: 'registerDataset',
        summary: 'Register a dataset',
        description:
          'Ingests a CSV or Parquet file or a table of a database, or attaches a live table, checks every value against its ' +
          'declaration, and opens the budget. Sending the same registration again changes nothing.',
        security,
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
      const principal = principalOf(request)
      const { body, query } = request
      const { candidates } = query
      if (!mayUse(principal, body.id)) throw registrationForbidden()
      const { custodian, isDryRun } = admit(principal, reply, body, query)
      if (isDryRun) {
        const { dataset, ingestion, granted } = await registry.tryRegistration(body, custodian)
        const disclosureRisk = describeBudgetRisk({ dataset, granted, candidates })
        return reply.code(200).send({ dryRun: true, id: dataset.id, ingestion, disclosureRisk })
      }
      const { entry, granted, created } = await registry.register(body, custodian)
      const disclosureRisk = describeBudgetRisk({ dataset: entry.dataset, granted, candidates })
      return reply.code(created ? 201 : 200).send({ ...registeredFacts(entry), disclosureRisk })
    },
  )
}

/**
 * Refuses the open questions of a draft, before the schema, which names the first broken rule of each part only.
 * @throws Refusal `invalid-request`
 */
export async function requireAnsweredBody({ body }: Pick<FastifyRequest, 'body'>): Promise<void> {
  requireAnswered(body)
}

/**
 * Describes the custodian of a registration or version, whose key may be limited. Call it before the first await.
 * @throws Refusal `forbidden` for a source or a separate budget that the key does not permit.
 */
export function admit(
  principal: Principal,
  reply: FastifyReply,
  { source, separateBudget }: Pick<VersionRequest, 'source' | 'separateBudget'>,
  { dryRun }: z.output<typeof versionQuery>,
): { readonly custodian: Custodian; readonly isDryRun: boolean } {
  const isDryRun = dryRun === 'true'
  requireAllowedToSeparate(principal, { separateBudget })
  if (isDryRun && source !== undefined) requireOwnSource(principal, source)
  const { name, datasets } = principal
  return { custodian: { principal: name, datasets, givenUp: givenUpSignal(reply) }, isDryRun }
}

/** Creates the refusal for a custodian whose key is limited to other ids. It does not say if the dataset exists. */
function registrationForbidden(): Refusal {
  return new Refusal(
    'forbidden',
    'The key is limited to other datasets. It cannot register one under this id.',
    [{ field: 'id', rule: 'must be the id of a dataset that the key permits' }],
  )
}

/** Facts of a registration with the exact counts of its ingestion, which custodians see. */
export function registeredFacts(entry: CatalogEntry) {
  const { ingestion } = entry
  return { ...publicFacts(entry), ...(ingestion === undefined ? {} : { ingestion }) }
}
