import { PassThrough } from 'node:stream'
import fastifyAccepts from '@fastify/accepts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { datasetParameters } from '../schemas/dataset.ts'
import { evaluation, evaluationRequest } from '../schemas/evaluation.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { KeyRing } from '../src/access/keys.ts'
import type { Catalog } from '../src/catalog/catalog.ts'
import { type EvaluationDependencies, readEvaluationInput } from '../src/evaluation/input.ts'
import { describeProblem } from '../src/http/problem.ts'
import type { ComputationPool } from '../src/workers/pool.ts'
import { accessFor, principalOf } from './access.ts'
import { requireDataset } from './require-dataset.ts'
import { givenUpBy } from './waiting.ts'

export interface EvaluationsOptions extends EvaluationDependencies {
  readonly keyRing: KeyRing
  readonly catalog: Catalog
  readonly evaluationPool: ComputationPool
}

/** How long the runs of an evaluation may take; and with reading the data and waiting for a turn. */
const EVALUATION_TIMEOUT_MS = 180_000
export const EVALUATION_ANSWER_TIMEOUT_MS = 400_000

/** How an event with a JSON text is told while an evaluation is under way, by media type. */
const STREAMS = {
  'application/x-ndjson': (event: string, json: string) => `{"${event}":${json}}\n`,
  'text/event-stream': (event: string, json: string) => `event: ${event}\ndata: ${json}\n\n`,
} as const

/** How far off answers are, tried on made-up people before a budget is touched. */
export const evaluationsRoutes: FastifyPluginAsyncZod<EvaluationsOptions> = async (
  app,
  { keyRing, catalog, engine, limits, evaluationPool },
) => {
  const evaluators = accessFor(keyRing, 'analyst', 'custodian')
  await app.register(fastifyAccepts)
  const told = { schema: z.string() }

  app.post(
    '/v1/datasets/:dataset/evaluations',
    {
      onRequest: evaluators.onRequest,
      handlerTimeout: EVALUATION_ANSWER_TIMEOUT_MS,
      schema: {
        tags: ['Evaluations'],
        operationId: 'evaluateQuery',
        summary: 'How far off the answers to a query are',
        description:
          'Answers the query many times and compares with the truth. For synthetic datasets only, whoever asks; never ' +
          'charged. With `Accept: application/x-ndjson` or `text/event-stream` it tells how far it is: lines, or events, ' +
          'of `progress`, and at the end one of `evaluation` or `problem`.',
        security: evaluators.security,
        params: datasetParameters,
        body: evaluationRequest,
        response: {
          200: {
            description: 'How far off the answers were.',
            content: {
              'application/json': { schema: evaluation },
              'application/x-ndjson': told,
              'text/event-stream': told,
            },
          },
          ...problemResponses,
        },
      },
    },
    async (request, reply) => {
      const givenUp = givenUpBy(reply)
      const { dataset } = requireDataset(catalog, request.params.dataset)
      const { runs } = request.body
      const trial = await readEvaluationInput({ engine, limits }, { dataset, ...request.body })
      const terms = { timeoutMs: EVALUATION_TIMEOUT_MS, givenUp, principal: principalOf(request).name }
      const mediaType = streamAsked(request)
      if (mediaType === undefined)
        return reply.type('application/json').send(await evaluationPool.run('evaluation', trial, terms))

      const stream = new PassThrough()
      const tell = (event: 'progress' | 'evaluation' | 'problem', json: string) =>
        stream.write(STREAMS[mediaType](event, json))
      const onProgress = (runsDone: unknown) => tell('progress', JSON.stringify({ runs: runsDone, of: runs }))
      evaluationPool
        .run('evaluation', trial, { ...terms, onProgress })
        .then(
          (found) => tell('evaluation', found),
          (error: unknown) => tell('problem', JSON.stringify(describeProblem(error, request))),
        )
        .finally(() => stream.end())
      return sendStream(reply.type(mediaType), stream)
    },
  )
}

function streamAsked(request: FastifyRequest): keyof typeof STREAMS | undefined {
  const preferred = request.type(['application/json', ...Object.keys(STREAMS)])
  return preferred === 'application/x-ndjson' || preferred === 'text/event-stream' ? preferred : undefined
}

function sendStream(reply: FastifyReply, stream: PassThrough): FastifyReply {
  return reply.header('cache-control', 'no-store').send(stream)
}
