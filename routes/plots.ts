import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { datasetParameters } from '../schemas/dataset.ts'
import { comparisonRequest } from '../schemas/mechanisms.ts'
import { criterion, distributionRequest, linkTo, pictured, svg, theme } from '../schemas/plots.ts'
import { problemResponses } from '../schemas/problem.ts'
import { query } from '../schemas/query.ts'
import { epsilonRequest } from '../schemas/risk.ts'
import type { KeyRing } from '../src/access/keys.ts'
import type { Catalog } from '../src/catalog/catalog.ts'
import { type EvaluationDependencies, readEvaluationInput } from '../src/evaluation/input.ts'
import { parseJsonBody } from '../src/http/json-body.ts'
import type { Theme } from '../src/plots/plot.ts'
import { Refusal, withinField } from '../src/privacy/refusal.ts'
import type { Picture } from '../src/workers/plots.ts'
import type { ComputationPool } from '../src/workers/pool.ts'
import { accessFor, principalOf } from './access.ts'
import { workloadOf } from './mechanisms.ts'
import { requireDataset } from './require-dataset.ts'
import { givenUpBy } from './waiting.ts'

export interface PlotsOptions extends EvaluationDependencies {
  readonly keyRing: KeyRing
  readonly catalog: Catalog
  readonly plotPool: ComputationPool
}

/** Time limit for drawing a plot. */
const PLOT_TIMEOUT_MS = 5_000

const LONGEST_QUESTION = 8_000

/** A JSON document in the query string, under the rules of a body. */
function jsonParameter<Schema extends z.ZodType>(schema: Schema, example: object) {
  return z
    .string()
    .max(LONGEST_QUESTION)
    .transform((text, context): unknown => {
      try {
        return parseJsonBody(text)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        context.addIssue({ code: 'custom', message: `must be a JSON document: ${error.message}` })
        return z.NEVER
      }
    })
    .pipe(schema)
    .meta({ description: 'The question, as JSON.', example: JSON.stringify(example) })
}

/**
 * What risk, noise and noisy tables look like. Of datasets, only synthetic ones are drawn. What touches no dataset needs no
 * key, so that a browser can follow a link to it.
 */
export const plotsRoutes: FastifyPluginAsyncZod<PlotsOptions> = async (
  app,
  { keyRing, catalog, engine, limits, plotPool },
) => {
  const evaluators = accessFor(keyRing, 'analyst', 'custodian')
  const draw = async (
    reply: FastifyReply,
    theme: Theme,
    picture: Picture,
    asked: { readonly givenUp: AbortSignal; readonly principal?: string } = { givenUp: givenUpBy(reply) },
  ): Promise<FastifyReply> =>
    sendPicture(
      reply,
      await plotPool.run('draw', { picture, theme }, { timeoutMs: PLOT_TIMEOUT_MS, ...asked }),
    )

  app.get(
    '/v1/plots/risk',
    {
      schema: {
        tags: ['Plots'],
        operationId: 'plotRisk',
        summary: 'The disclosure risk against epsilon',
        description:
          'Both bounds, the risk that is accepted, and the epsilons that keep to it; a panel for each column. Such as ' +
          `${linkTo('risk', 'this one')}.`,
        querystring: z.strictObject({
          question: jsonParameter(epsilonRequest.omit({ tolerance: true }), pictured.risk),
          theme,
        }),
        response: { 200: svg, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { question, theme } = request.query
      const { universe, ...asked } = question
      return draw(reply, theme, { picture: 'risk', question: { columns: universe, ...asked } })
    },
  )

  app.get(
    '/v1/plots/noise-comparison',
    {
      schema: {
        tags: ['Plots'],
        operationId: 'plotNoiseComparison',
        summary: 'The noise of each mechanism by the number of statistics',
        description: `Laplace against Gaussian, such as ${linkTo('noise-comparison', 'here')}.`,
        querystring: z.strictObject({
          question: jsonParameter(comparisonRequest, pictured['noise-comparison']),
          criterion,
          theme,
        }),
        response: { 200: svg, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { question, criterion, theme } = request.query
      const workload = withinField('question', () => workloadOf(question))
      return draw(reply, theme, { picture: 'noise-comparison', workload, criterion })
    },
  )

  app.get(
    '/v1/plots/answer-distribution',
    {
      schema: {
        tags: ['Plots'],
        operationId: 'plotAnswerDistribution',
        summary: 'How the answers of a mechanism spread around the truth',
        description: `Such as ${linkTo('answer-distribution', 'this one')}.`,
        querystring: z.strictObject({
          question: jsonParameter(distributionRequest, pictured['answer-distribution']),
          theme,
        }),
        response: { 200: svg, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { question, theme } = request.query
      const { mechanism, truth } = question
      const workload = withinField('question', () => workloadOf(question))
      return draw(reply, theme, { picture: 'answer-distribution', workload, mechanism, truth })
    },
  )

  app.get(
    '/v1/datasets/:dataset/plots/noisy-table',
    {
      onRequest: evaluators.onRequest,
      schema: {
        tags: ['Plots'],
        operationId: 'plotNoisyTable',
        summary: 'A noisy table of made-up people, with error bars and the truth',
        description: 'For synthetic datasets only, whoever asks; drawn anew each time and never charged.',
        security: evaluators.security,
        params: datasetParameters,
        querystring: z.strictObject({
          query: jsonParameter(query, { kind: 'contingency', columns: ['Occupation', 'Sex'], epsilon: 0.01 }),
          theme,
        }),
        response: { 200: svg, ...problemResponses },
      },
    },
    async (request, reply) => {
      const asked = { givenUp: givenUpBy(reply), principal: principalOf(request).name }
      const { dataset } = requireDataset(catalog, request.params.dataset)
      const { query, theme } = request.query
      const trial = await readEvaluationInput({ engine, limits }, { dataset, query, runs: 1, shown: 1 })
      reply.header('cache-control', 'no-store')
      return draw(reply, theme, { picture: 'noisy-table', trial }, asked)
    },
  )
}

/** Sends a picture within which nothing may run or load. */
function sendPicture(reply: FastifyReply, svg: string): FastifyReply {
  return reply
    .type('image/svg+xml')
    .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
    .header('x-content-type-options', 'nosniff')
    .send(svg)
}
