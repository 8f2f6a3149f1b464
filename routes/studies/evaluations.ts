import { PassThrough } from 'node:stream'
import fastifyAccepts from '@fastify/accepts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { datasetParameters } from '../../schemas/datasets/dataset.ts'
import {
  batchEvaluation,
  batchEvaluationRequest,
  evaluation,
  evaluationRequest,
} from '../../schemas/studies/evaluation.ts'
import { type Admission, readingInTurns } from '../../src/answers/admission.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { VersionUses } from '../../src/datasets/catalog/version-uses.ts'
import { requireDataset } from '../../src/http/access/permitted-datasets.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { sendAnswer, termsOf } from '../../src/http/caller.ts'
import { describeProblem } from '../../src/http/problem.ts'
import {
  type EvaluationDependencies,
  readBatchEvaluationInput,
  readEvaluationInput,
} from '../../src/studies/evaluation/input.ts'
import type { StudyPool } from '../../src/studies/pools.ts'

interface EvaluationsOptions extends EvaluationDependencies {
  readonly catalog: Catalog
  readonly versionUses: VersionUses
  readonly evaluationPool: StudyPool
  readonly admission: Admission
}

/** Time limit for the runs of an evaluation. */
const EVALUATION_TIMEOUT_MS = 180_000

/** Formats an event with a JSON text, by media type of the stream. */
const STREAMS = {
  'application/x-ndjson': (event: string, json: string) => `{"${event}":${json}}\n`,
  'text/event-stream': (event: string, json: string) => `event: ${event}\ndata: ${json}\n\n`,
} as const

const STREAMING =
  'With `Accept: application/x-ndjson` or `text/event-stream` the response is a stream of `progress` lines or events, ' +
  'followed by one of `evaluation` or `problem`.'

/**
 * Evaluations of queries and batches over synthetic data, by which analysts choose a query before they spend a budget.
 */
export const evaluationsRoutes: FastifyPluginAsyncZod<EvaluationsOptions> = async (
  app,
  { catalog, versionUses, engine, admission, evaluationPool, ...planning },
) => {
  await app.register(fastifyAccepts)

  app.post('/v1/datasets/:dataset/evaluations', {
    config: { roles: ['analyst', 'custodian'] },
    schema: {
      tags: ['Evaluations'],
      operationId: 'evaluateQuery',
      summary: 'Measure the error of answers to a query',
      description:
        'Answers the query many times and compares the answers with the truth. Only for synthetic datasets. Nothing is ' +
        `charged. ${STREAMING}`,
      params: datasetParameters,
      body: evaluationRequest,
      response: { 200: evaluated('The errors of the answers.', evaluation) },
    },
    handler: async (request, reply) => {
      const waited = termsOf(request, reply, EVALUATION_TIMEOUT_MS)
      const { dataset } = requireDataset(catalog, principalOf(request), request.params.dataset)
      const reading = readingInTurns(engine, admission, waited)
      const input = await versionUses.during(dataset, () =>
        readEvaluationInput({ ...planning, engine: reading }, { dataset, waiting: waited, ...request.body }),
      )
      return sendEvaluation(request, reply, input.runs, (terms) =>
        evaluationPool.run('evaluation', input, { ...waited, ...terms }),
      )
    },
  })

  app.post('/v1/datasets/:dataset/evaluations/batch', {
    config: { roles: ['analyst', 'custodian'] },
    schema: {
      tags: ['Evaluations'],
      operationId: 'evaluateBatch',
      summary: 'Measure the error of answers to a batch',
      description:
        'Plans and prices the queries as a batch, answers each of them many times and compares the answers with the ' +
        'truth. The limits on runs, work and size hold for all queries together. Only for synthetic datasets. Nothing is ' +
        `charged. ${STREAMING}`,
      params: datasetParameters,
      body: batchEvaluationRequest,
      response: { 200: evaluated('The errors of the answers.', batchEvaluation) },
    },
    handler: async (request, reply) => {
      const waited = termsOf(request, reply, EVALUATION_TIMEOUT_MS)
      const { dataset } = requireDataset(catalog, principalOf(request), request.params.dataset)
      const reading = readingInTurns(engine, admission, waited)
      const input = await versionUses.during(dataset, () =>
        readBatchEvaluationInput(
          { ...planning, engine: reading },
          { dataset, waiting: waited, ...request.body },
        ),
      )
      return sendEvaluation(request, reply, input.runs, (terms) =>
        evaluationPool.run('batchEvaluation', input, { ...waited, ...terms }),
      )
    },
  })
}

function evaluated<Schema extends z.ZodType>(description: string, schema: Schema) {
  const stream = { schema: z.string() }
  return {
    description,
    content: {
      'application/json': { schema },
      'application/x-ndjson': stream,
      'text/event-stream': stream,
    },
  }
}

/** Sends the JSON text of an evaluation, or a stream of its progress if the request accepts one. */
async function sendEvaluation(
  request: FastifyRequest,
  reply: FastifyReply,
  runs: number,
  evaluate: (terms: Pick<Parameters<StudyPool['run']>[2], 'onProgress'>) => Promise<string>,
): Promise<FastifyReply> {
  const mediaType = streamAsked(request)
  if (mediaType === undefined) return sendAnswer(reply, { body: await evaluate({}) })

  const stream = new PassThrough()
  const tell = (event: 'progress' | 'evaluation' | 'problem', json: string) =>
    stream.write(STREAMS[mediaType](event, json))
  const onProgress = (runsDone: unknown) => tell('progress', JSON.stringify({ runs: runsDone, of: runs }))
  evaluate({ onProgress })
    .then(
      (found) => tell('evaluation', found),
      (error: unknown) => tell('problem', JSON.stringify(describeProblem(error, request))),
    )
    .finally(() => stream.end())
  return reply.type(mediaType).send(stream)
}

/** The media type of the stream that a request prefers to JSON, if any. */
function streamAsked(request: FastifyRequest): keyof typeof STREAMS | undefined {
  const preferred = request.type(['application/json', ...Object.keys(STREAMS)])
  return preferred === 'application/x-ndjson' || preferred === 'text/event-stream' ? preferred : undefined
}
