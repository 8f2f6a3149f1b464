import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { previewQuery } from '../../schemas/answers/disclosure.ts'
import {
  openedSession,
  sessionAnswer,
  sessionParameters,
  sessionPreview,
  sessionQuestion,
  sessionRequest,
  session as sessionSchema,
} from '../../schemas/answers/sparse-vector.ts'
import { datasetParameters } from '../../schemas/datasets/dataset.ts'
import { notPractised } from '../../schemas/datasets/dummy.ts'
import { jsonText, numberedPageQuery } from '../../schemas/values.ts'
import type { AnswerDependencies } from '../../src/answers/answer.ts'
import { previewSession } from '../../src/answers/preview.ts'
import { createSparseVectorSessions, showSession } from '../../src/answers/session.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { VersionUses } from '../../src/datasets/catalog/version-uses.ts'
import {
  requireBalances,
  requireDataset,
  requirePermittedSession,
} from '../../src/http/access/permitted-datasets.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { callerOf, idempotencyHeaders, sendAnswer } from '../../src/http/caller.ts'
import { linkNext } from '../../src/http/paging.ts'
import { defined } from '../../src/privacy/defined.ts'

interface SparseVectorOptions extends AnswerDependencies {
  readonly catalog: Catalog
  readonly versionUses: VersionUses
}

const opened = jsonText('The session.', openedSession)

/** Sessions of the sparse vector technique: charged once, open until their positives are used up. */
export const sparseVectorRoutes: FastifyPluginAsyncZod<SparseVectorOptions> = async (app, dependencies) => {
  const { catalog, ledger } = dependencies
  const sessions = createSparseVectorSessions({
    ...dependencies,
    registered: (id) => catalog.get(id)?.dataset,
  })

  app.post('/v1/datasets/:dataset/sparse-vector-sessions', {
    config: { roles: ['analyst'], answersFromData: true },
    schema: {
      tags: ['Sparse vector'],
      operationId: 'openSession',
      summary: 'Open a sparse vector session',
      description:
        'A session reports which counts reach a threshold. One debit pays for all of its questions. The session ends ' +
        'once `positives` questions were answered with `above`. A repeat of the request replays the session at no cost ' +
        '(`Idempotent-Replayed: true`).',
      params: datasetParameters,
      querystring: notPractised,
      headers: idempotencyHeaders,
      body: sessionRequest,
      response: { 200: opened, 201: opened },
    },
    handler: async (request, reply) => {
      const { dataset } = requireDataset(catalog, principalOf(request), request.params.dataset)
      const caller = callerOf(request, reply, request.headers)
      const opening = { ...caller, dataset, request: request.body }
      // Opening reads no data. It is refused nevertheless where no question could be answered.
      const stored = await dependencies.versionUses.during(dataset, () => sessions.open(opening))
      if (!stored.replayed)
        reply.header('location', `/v1/sparse-vector-sessions/${JSON.parse(stored.body).id}`)
      return sendAnswer(reply.code(stored.replayed ? 200 : 201), stored)
    },
  })

  app.post('/v1/datasets/:dataset/sparse-vector-sessions/preview', {
    config: { roles: EVERYONE },
    schema: {
      tags: ['Sparse vector'],
      operationId: 'previewSession',
      summary: 'Preview a sparse vector session',
      description:
        'Returns the cost of a session, the accuracy of its answers and its disclosure risk. Reads no data and costs ' +
        'nothing.',
      params: datasetParameters,
      querystring: previewQuery,
      body: sessionRequest,
      response: { 200: sessionPreview },
    },
    handler: async (request) => {
      const principal = principalOf(request)
      const { dataset } = requireDataset(catalog, principal, request.params.dataset)
      const balances = await requireBalances(ledger, principal, dataset.id)
      const opening = { principal: principal.name, dataset, request: request.body }
      return previewSession(opening, dependencies, balances, request.query)
    },
  })

  app.post('/v1/sparse-vector-sessions/:id/questions', {
    config: { roles: ['analyst'], answersFromData: true },
    schema: {
      tags: ['Sparse vector'],
      operationId: 'answerSessionQuestion',
      summary: 'Answer a question of a session',
      description:
        'Reports whether a count reaches the threshold of the session, at no further cost. Questions of a session are ' +
        'answered one after the other. Each answer is stored before it is sent, and a repeat replays it ' +
        '(`Idempotent-Replayed: true`). The example uses the example session.',
      params: sessionParameters,
      querystring: notPractised,
      headers: idempotencyHeaders,
      body: sessionQuestion,
      response: { 200: jsonText('The answer.', sessionAnswer) },
    },
    handler: async (request, reply) => {
      const caller = callerOf(request, reply, request.headers)
      await requirePermittedSession(ledger, principalOf(request), request.params.id)
      const { where } = request.body
      const stored = await sessions.ask({ ...caller, session: request.params.id, where })
      return sendAnswer(reply, stored)
    },
  })

  app.get('/v1/sparse-vector-sessions/:id', {
    config: { roles: ['analyst'] },
    schema: {
      tags: ['Sparse vector'],
      operationId: 'getSession',
      summary: 'Get a session and its answers',
      description: 'Answers are listed newest first. The example is the example session.',
      params: sessionParameters,
      querystring: numberedPageQuery,
      response: { 200: sessionSchema },
    },
    handler: async (request, reply) => {
      const { limit, cursor } = request.query
      const principal = principalOf(request)
      await requirePermittedSession(ledger, principal, request.params.id)
      const page = defined({ limit, beforeQuestion: cursor })
      const session = await showSession(ledger, principal.name, request.params.id, page)
      linkNext(request, reply, session.next)
      return session
    },
  })
}
