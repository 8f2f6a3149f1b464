import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  registeredDataset,
  registration,
  registrationQuery,
  triedRegistration,
  type versionQuery,
} from '../../schemas/datasets/dataset.ts'
import type { CoverageMeasurement } from '../../src/answers/coverage.ts'
import { describeBudgetRisk } from '../../src/answers/documents/disclosure.ts'
import type { CatalogEntry } from '../../src/core/dataset/entry.ts'
import type { VersionRequest } from '../../src/datasets/registration/changes/new-version.ts'
import type { Custodian } from '../../src/datasets/registration/context.ts'
import { requireAnswered } from '../../src/datasets/registration/drafts/open-questions.ts'
import type { Registry } from '../../src/datasets/registration/registry.ts'
import {
  requireAllowedToJoin,
  requireAllowedToSeparate,
  requireOwnSource,
} from '../../src/http/access/permitted-datasets.ts'
import { mayUse, type Principal } from '../../src/http/access/principal.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { givenUpSignal } from '../../src/http/caller.ts'
import { type Budgets, populationId } from '../../src/ledger/contract/budgets.ts'
import { Refusal } from '../../src/privacy/refusal.ts'
import { publicFacts } from './datasets.ts'

interface RegistrationsOptions {
  readonly ledger: Pick<Budgets, 'budget'>
  readonly registry: Pick<Registry, 'register' | 'tryRegistration'>
  readonly coverage: Pick<CoverageMeasurement, 'measurePublished'>
}

/** Registration of datasets. */
export const registrationsRoutes: FastifyPluginAsyncZod<RegistrationsOptions> = async (
  app,
  { ledger, registry, coverage },
) => {
  const tags = ['Registration']

  app.post('/v1/datasets', {
    config: { roles: ['custodian'] },
    preValidation: requireAnsweredBody,
    schema: {
      tags,
      operationId: 'registerDataset',
      summary: 'Register a dataset',
      description:
        'Ingests a CSV or Parquet file or a table of a database, or attaches a live table, checks every value against its ' +
        'declaration, and opens the budget. Sending the same registration again changes nothing.',
      querystring: registrationQuery,
      body: registration,
      response: {
        200: z
          .union([registeredDataset, triedRegistration])
          .describe('The dataset was already registered with this declaration, or `dryRun` is true.'),
        201: registeredDataset.describe('The dataset was registered.'),
      },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const { body, query } = request
      const { candidates } = query
      if (!mayUse(principal, body.id)) throw registrationForbidden()
      if (!(await isMember(ledger, body))) requireAllowedToJoin(principal, body)
      const { custodian, isDryRun } = admit(principal, reply, body, query)
      if (isDryRun) {
        const { dataset, leftOut, ingestion, granted } = await registry.tryRegistration(body, custodian)
        const disclosureRisk = describeBudgetRisk({ dataset, granted, candidates })
        return reply.code(200).send({ dryRun: true, id: dataset.id, leftOut, ingestion, disclosureRisk })
      }
      const { entry: registered, granted, created } = await registry.register(body, custodian)
      const entry = await coverage.measurePublished(registered)
      const disclosureRisk = describeBudgetRisk({ dataset: entry.dataset, granted, candidates })
      if (created) reply.header('location', `/v1/datasets/${body.id}`)
      return reply.code(created ? 201 : 200).send({ ...registeredFacts(entry), disclosureRisk })
    },
  })
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
  return { ...publicFacts(entry), ingestion: entry.ingestion }
}

/** True if a dataset has belonged to the population of its registration before, so that nothing is decided anew. */
async function isMember(
  ledger: Pick<Budgets, 'budget'>,
  { id, population }: { readonly id: string; readonly population?: string | undefined },
): Promise<boolean> {
  const account = (await ledger.budget(id))?.population
  return account !== undefined && populationId(account) === population
}
