import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  answer as answerSchema,
  batchAnswer,
  batchPreview,
  preview as previewSchema,
} from '../../schemas/answers/answer.ts'
import { previewQuery } from '../../schemas/answers/disclosure.ts'
import { batch, query } from '../../schemas/answers/query.ts'
import { datasetParameters } from '../../schemas/datasets/dataset.ts'
import { dummyAnswer, dummyBatchAnswer, practiceQuery } from '../../schemas/datasets/dummy.ts'
import { jsonText } from '../../schemas/values.ts'
import { type AnswerDependencies, answer, answerBatch } from '../../src/answers/answer.ts'
import { answerBatchOnDummy, answerOnDummy, type DummyDependencies } from '../../src/answers/practice.ts'
import { preview, previewBatch } from '../../src/answers/preview.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { VersionUses } from '../../src/datasets/catalog/version-uses.ts'
import { requireBalances, requireDataset } from '../../src/http/access/permitted-datasets.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { callerOf, givenUpSignal, idempotencyHeaders, sendAnswer } from '../../src/http/caller.ts'
import { sizeOf } from '../datasets/dummy.ts'

interface QueriesOptions extends AnswerDependencies, Pick<DummyDependencies, 'dummies'> {
  readonly catalog: Catalog
  readonly versionUses: VersionUses
}

const ON_DUMMY =
  'With `on=dummy` it is answered over made-up rows for practice: nothing is charged or stored, and no data is read.'

/** Queries, batches and their previews. */
export const queriesRoutes: FastifyPluginAsyncZod<QueriesOptions> = async (app, dependencies) => {
  const { catalog, versionUses, ledger } = dependencies

  app.post('/v1/datasets/:dataset/queries', {
    config: { roles: ['analyst'], answersFromData: true },
    schema: {
      tags: ['Queries'],
      operationId: 'answerQuery',
      summary: 'Answer a query',
      description:
        'Debits the budget, then reads the data, then adds noise. The answer is stored before it is sent. A repeat of ' +
        'the request replays it: the header `Idempotent-Replayed` is `true`, `cost` is 0, and `price` is the amount that ' +
        `was charged for the first response. ${ON_DUMMY}`,
      params: datasetParameters,
      querystring: practiceQuery,
      headers: idempotencyHeaders,
      body: query,
      response: { 200: jsonText('The answer.', z.union([answerSchema, dummyAnswer])) },
    },
    handler: async (request, reply) => {
      const { dataset } = requireDataset(catalog, principalOf(request), request.params.dataset)
      const caller = callerOf(request, reply, request.headers)
      if (request.query.on === 'dummy') {
        const asked = { ...caller, dataset, query: request.body, size: sizeOf(request.query) }
        const balances = await requireBalances(ledger, principalOf(request), dataset.id)
        return sendAnswer(reply, await answerOnDummy(dependencies, asked, balances))
      }
      const question = { ...caller, dataset, query: request.body }
      return sendAnswer(reply, await versionUses.during(dataset, () => answer(dependencies, question)))
    },
  })

  app.post('/v1/datasets/:dataset/queries/batch', {
    config: { roles: ['analyst'], answersFromData: true },
    schema: {
      tags: ['Queries'],
      operationId: 'answerBatch',
      summary: 'Answer several queries for one charge',
      description:
        'Charges all queries together, or none. Queries that no person can affect together cost as much as the most ' +
        'expensive of them (parallel composition). The batch is stored and replayed as a whole, like a single answer. ' +
        ON_DUMMY,
      params: datasetParameters,
      querystring: practiceQuery,
      headers: idempotencyHeaders,
      body: batch,
      response: { 200: jsonText('The answers.', z.union([batchAnswer, dummyBatchAnswer])) },
    },
    handler: async (request, reply) => {
      const { dataset } = requireDataset(catalog, principalOf(request), request.params.dataset)
      const caller = callerOf(request, reply, request.headers)
      if (request.query.on === 'dummy') {
        const asked = { ...caller, dataset, batch: request.body, size: sizeOf(request.query) }
        const balances = await requireBalances(ledger, principalOf(request), dataset.id)
        return sendAnswer(reply, await answerBatchOnDummy(dependencies, asked, balances))
      }
      const asked = { ...caller, dataset, ...request.body }
      return sendAnswer(reply, await versionUses.during(dataset, () => answerBatch(dependencies, asked)))
    },
  })

  app.post('/v1/datasets/:dataset/queries/batch/preview', {
    config: { roles: EVERYONE },
    schema: {
      tags: ['Queries'],
      operationId: 'previewBatch',
      summary: 'Preview a batch',
      description:
        'Returns the cost of a batch, the accuracy of its answers and its disclosure risk. Reads no data and costs ' +
        'nothing.',
      params: datasetParameters,
      querystring: previewQuery,
      body: batch,
      response: { 200: batchPreview },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const givenUp = givenUpSignal(reply)
      const { dataset } = requireDataset(catalog, principal, request.params.dataset)
      const balances = await requireBalances(ledger, principal, dataset.id)
      return previewBatch(
        { principal: principal.name, dataset, ...request.body, givenUp },
        dependencies,
        balances,
        request.query,
      )
    },
  })

  app.post('/v1/datasets/:dataset/queries/preview', {
    config: { roles: EVERYONE },
    schema: {
      tags: ['Queries'],
      operationId: 'previewQuery',
      summary: 'Preview a query',
      description:
        'Returns the cost of a query, the accuracy of its answer and its disclosure risk. Reads no data and costs nothing.',
      params: datasetParameters,
      querystring: previewQuery,
      body: query,
      response: { 200: previewSchema },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const givenUp = givenUpSignal(reply)
      const { dataset } = requireDataset(catalog, principal, request.params.dataset)
      const balances = await requireBalances(ledger, principal, dataset.id)
      return preview(
        { principal: principal.name, dataset, query: request.body, givenUp },
        dependencies,
        balances,
        request.query,
      )
    },
  })
}
