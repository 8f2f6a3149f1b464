import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { populationBatchAnswer, populationBatchPreview } from '../../schemas/answers/answer.ts'
import { previewQuery } from '../../schemas/answers/disclosure.ts'
import { type PopulationBatchRequest, populationBatch } from '../../schemas/answers/query.ts'
import { populationParameters } from '../../schemas/budgets/populations.ts'
import { jsonText } from '../../schemas/values.ts'
import { answerAcross, previewAcross } from '../../src/answers/across.ts'
import type { AnswerDependencies } from '../../src/answers/answer.ts'
import type { Dataset } from '../../src/core/dataset/dataset.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { VersionUses } from '../../src/datasets/catalog/version-uses.ts'
import {
  requireBalances,
  requireDataset,
  requirePopulation,
} from '../../src/http/access/permitted-datasets.ts'
import type { Principal } from '../../src/http/access/principal.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { callerOf, givenUpSignal, idempotencyHeaders, sendAnswer } from '../../src/http/caller.ts'
import type { LedgerHead } from '../../src/ledger/contract/chain.ts'
import { nested } from '../../src/platform/concurrency/nested.ts'
import { must } from '../../src/privacy/must.ts'
import { refuseField } from '../../src/privacy/refusal.ts'

interface PopulationBatchesOptions extends AnswerDependencies {
  readonly catalog: Catalog
  readonly versionUses: VersionUses
}

const tags = ['Populations']

/** Batches over several datasets of a population, and their previews. */
export const populationBatchesRoutes: FastifyPluginAsyncZod<PopulationBatchesOptions> = async (
  app,
  dependencies,
) => {
  const { catalog, versionUses, ledger } = dependencies

  app.post('/v1/populations/:population/queries/batch', {
    config: { roles: ['analyst'], answersFromData: true },
    schema: {
      operationId: 'answerPopulationBatch',
      tags,
      summary: 'Answer batches about several datasets for one charge',
      description:
        'Charges all batches together, or none: each dataset its own price, and the population their sum, because the same people are in ' +
        'each. Each batch is a release of its dataset, as if it was asked there. If one of them fails after the charge, the others are ' +
        'stored: repeat the request for all answers.',
      params: populationParameters,
      headers: idempotencyHeaders,
      body: populationBatch,
      response: { 200: jsonText('The answers.', populationBatchAnswer) },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const { population } = request.params
      const caller = callerOf(request, reply, request.headers)
      const head = await requirePopulation(ledger, principal, population)
      const batches = membersAsked(catalog, principal, head, request.body).map((each) => ({
        ...caller,
        ...each,
      }))
      return sendAnswer(
        reply,
        await nested(
          batches,
          ({ dataset }, task: (given: undefined) => ReturnType<typeof answerAcross>) =>
            versionUses.during(dataset, () => task(undefined)),
          () => answerAcross(dependencies, population, batches),
        ),
      )
    },
  })

  app.post('/v1/populations/:population/queries/batch/preview', {
    config: { roles: EVERYONE },
    schema: {
      operationId: 'previewPopulationBatch',
      tags,
      summary: 'Preview batches about several datasets',
      description: 'Returns the cost to the population and to each dataset. Reads no data and costs nothing.',
      params: populationParameters,
      querystring: previewQuery,
      body: populationBatch,
      response: { 200: populationBatchPreview },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const givenUp = givenUpSignal(reply)
      const head = await requirePopulation(ledger, principal, request.params.population)
      const asked = await Promise.all(
        membersAsked(catalog, principal, head, request.body).map(async (batch) => ({
          batch: { principal: principal.name, givenUp, ...batch },
          balances: await requireBalances(ledger, principal, batch.dataset.id),
        })),
      )
      const population = must(asked[0]?.balances.population, 'the balances of the population')
      return previewAcross(asked, dependencies, population, request.query)
    },
  })
}

/**
 * The batches of a request with their datasets.
 * @throws Refusal `unknown-dataset`; `invalid-request` for a dataset that is not in the population.
 */
function membersAsked(
  catalog: Catalog,
  principal: Principal,
  { members = [] }: LedgerHead,
  { batches }: PopulationBatchRequest,
): readonly (Omit<PopulationBatchRequest['batches'][number], 'dataset'> & { readonly dataset: Dataset })[] {
  return batches.map(({ dataset: id, ...batch }, place) => {
    const { dataset } = requireDataset(catalog, principal, id)
    if (!members.some((each) => each.dataset === id))
      throw refuseField('invalid-request', `batches.${place}.dataset`, 'must be a dataset of the population')
    return { ...batch, dataset }
  })
}
