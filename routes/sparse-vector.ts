import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { datasetParameters } from '../schemas/dataset.ts'
import { candidates } from '../schemas/disclosure.ts'
import { notPractised } from '../schemas/dummy.ts'
import { problemResponses } from '../schemas/problem.ts'
import {
  openedSession,
  sessionAnswer,
  sessionPageQuery,
  sessionParameters,
  sessionPreview,
  sessionQuestion,
  sessionRequest,
  session as sessionSchema,
} from '../schemas/sparse-vector.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import type { AnswerDependencies } from '../src/answers/answer.ts'
import { createSparseVectorSessions, previewSession, showSession } from '../src/answers/session.ts'
import type { Catalog } from '../src/catalog/catalog.ts'
import type { VersionUses } from '../src/catalog/version-uses.ts'
import { accessFor, principalOf } from './access.ts'
import { callerOf, idempotencyHeaders, sendAnswer } from './caller.ts'
import { requireBalances, requireDataset, requirePermittedSession } from './require-dataset.ts'

export interface SparseVectorOptions extends AnswerDependencies {
  readonly authenticator: Authenticator
  readonly catalog: Catalog
  readonly versionUses: VersionUses
}

/** Session of the example request of the OpenAPI document, opened by the analyst of the first key. */
const EXAMPLE_SESSION = 'bb863387f94c035d1ca08510186cd33a'

const parameters = sessionParameters(EXAMPLE_SESSION)

const opened = {
  description: 'The session.',
  content: { 'application/json': { schema: openedSession } },
}

/** Sessions of the sparse vector technique: charged once, open until their positives are used up. */
export const sparseVectorRoutes: FastifyPluginAsyncZod<SparseVectorOptions> = async (app, dependencies) => {
  const { authenticator, catalog, ledger } = dependencies
  const analyst = accessFor(authenticator, 'analyst')
  const everyone = accessFor(authenticator, 'analyst', 'custodian', 'auditor')
  const sessions = createSparseVectorSessions({
    ...dependencies,
    registered: (id) => catalog.get(id)?.dataset,
  })

  app.post(
    '/v1/datasets/:dataset/sparse-vector-sessions',
    {
      onRequest: analyst.onRequest,
      config: { answersFromData: true },
      schema: {
        tags: ['Sparse vector'],
        operationId: 'openSession',
        summary: 'Open a sparse vector session',
        description:
          'A session reports which counts reach a threshold. One debit pays for all of its questions. The session ends ' +
          'once `positives` questions were answered with `above`. A repeat of the request replays the session at no cost ' +
          '(`Idempotent-Replayed: true`).',
        security: analyst.security,
        params: datasetParameters,
        querystring: notPractised,
        headers: idempotencyHeaders,
        body: sessionRequest,
        response: { 200: opened, 201: opened, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { dataset } = requireDataset(catalog, principalOf(request), request.params.dataset)
      const caller = callerOf(request, reply, request.headers)
      const opening = { ...caller, dataset, request: request.body }
      // Opening reads no data. It is refused nevertheless where no question could be answered.
      const stored = await dependencies.versionUses.during(dataset, () => sessions.open(opening))
      return sendAnswer(reply.code(stored.replayed ? 200 : 201), stored)
    },
  )

  app.post(
    '/v1/datasets/:dataset/sparse-vector-sessions/preview',
    {
      onRequest: everyone.onRequest,
      schema: {
        tags: ['Sparse vector'],
        operationId: 'previewSession',
        summary: 'Preview a sparse vector session',
        description:
          'Returns the cost of a session, the accuracy of its answers and its disclosure risk. Reads no data and costs ' +
          'nothing.',
        security: everyone.security,
        params: datasetParameters,
        querystring: z.strictObject({ candidates }),
        body: sessionRequest,
        response: { 200: sessionPreview, ...problemResponses },
      },
    },
    async (request) => {
      const { dataset } = requireDataset(catalog, principalOf(request), request.params.dataset)
      const balances = await requireBalances(ledger, principalOf(request), dataset.id)
      return previewSession(request.body, dataset, balances, request.query)
    },
  )

  app.post(
    '/v1/sparse-vector-sessions/:id/questions',
    {
      onRequest: analyst.onRequest,
      config: { answersFromData: true },
      schema: {
        tags: ['Sparse vector'],
        operationId: 'answerSessionQuestion',
        summary: 'Answer a question of a session',
        description:
          'Reports whether a count reaches the threshold of the session, at no further cost. Questions of a session are ' +
          'answered one after the other. Each answer is stored before it is sent, and a repeat replays it ' +
          '(`Idempotent-Replayed: true`). The example uses the example session.',
        security: analyst.security,
        params: parameters,
        querystring: notPractised,
        headers: idempotencyHeaders,
        body: sessionQuestion,
        response: {
          200: { description: 'The answer.', content: { 'application/json': { schema: sessionAnswer } } },
          ...problemResponses,
        },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request, reply, request.headers)
      await requirePermittedSession(ledger, principalOf(request), request.params.id)
      const { where } = request.body
      const stored = await sessions.ask({ ...caller, session: request.params.id, where })
      return sendAnswer(reply, stored)
    },
  )

  app.get(
    '/v1/sparse-vector-sessions/:id',
    {
      onRequest: analyst.onRequest,
      schema: {
        tags: ['Sparse vector'],
        operationId: 'getSession',
        summary: 'Get a session and its answers',
        description: 'Answers are listed newest first. The example is the example session.',
        security: analyst.security,
        params: parameters,
        querystring: sessionPageQuery,
        response: { 200: sessionSchema, ...problemResponses },
      },
    },
    async (request) => {
      const { limit, before } = request.query
      const principal = principalOf(request)
      await requirePermittedSession(ledger, principal, request.params.id)
      return showSession(ledger, principal.name, request.params.id, {
        limit,
        ...(before === undefined ? {} : { beforeQuestion: before }),
      })
    },
  )
}
