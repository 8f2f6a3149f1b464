import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { query } from '../../schemas/answers/query.ts'
import { datasetParameters } from '../../schemas/datasets/dataset.ts'
import { problemResponses } from '../../schemas/service/problem.ts'
import { comparisonRequest } from '../../schemas/studies/mechanisms.ts'
import {
  criterion,
  distributionRequest,
  linkTo,
  pictured,
  statedEpsilon,
  svg,
  theme,
} from '../../schemas/studies/plots.ts'
import { epsilonRequest } from '../../schemas/studies/risk.ts'
import { type Admission, readingInTurns } from '../../src/answers/admission.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { VersionUses } from '../../src/datasets/catalog/version-uses.ts'
import { requireDataset } from '../../src/http/access/permitted-datasets.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { givenUpSignal } from '../../src/http/caller.ts'
import { parseJsonBody } from '../../src/platform/bodies/json-body.ts'
import { Refusal, withinField } from '../../src/privacy/refusal.ts'
import { type EvaluationDependencies, readEvaluationInput } from '../../src/studies/evaluation/input.ts'
import type { Picture } from '../../src/studies/plots/picture.ts'
import type { Theme } from '../../src/studies/plots/plot.ts'
import type { StudyPool } from '../../src/studies/pools.ts'
import { workloadOf } from './mechanisms.ts'

export interface PlotsOptions extends EvaluationDependencies {
  readonly catalog: Catalog
  readonly versionUses: VersionUses
  readonly plotPool: StudyPool
  readonly admission: Admission
}

/** Time limit for drawing a plot. */
export const PLOT_TIMEOUT_MS = 5_000

const LONGEST_QUESTION = 8_000

/** Creates the schema of a JSON document in the query string. The rules of a body apply. */
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
    .meta({
      description: 'The request body of the corresponding operation, as JSON.',
      example: JSON.stringify(example),
    })
}

/**
 * Plots of disclosure risk, noise and noisy tables. Plots that read no dataset need no key, so that a browser can
 * follow a link to them. Only synthetic datasets are plotted.
 */
export const plotsRoutes: FastifyPluginAsyncZod<PlotsOptions> = async (
  app,
  { catalog, versionUses, engine, admission, plotPool, ...planning },
) => {
  const draw = (
    theme: Theme,
    picture: Picture,
    asked: { readonly givenUp: AbortSignal; readonly principal?: string },
  ): Promise<string> => plotPool.run('draw', { picture, theme }, { timeoutMs: PLOT_TIMEOUT_MS, ...asked })
  const drawn = keepRecent(MOST_PICTURES)
  /** Sends a picture that depends on its address alone. */
  const sendPublic = async (
    request: FastifyRequest,
    reply: FastifyReply,
    theme: Theme,
    picture: Picture,
  ): Promise<FastifyReply> => {
    const givenUp = givenUpSignal(reply)
    return sendPicture(reply, await drawn(request.url, () => draw(theme, picture, { givenUp })))
  }

  app.get('/v1/plots/risk', {
    config: { conditional: true },
    schema: {
      tags: ['Plots'],
      operationId: 'plotRisk',
      summary: 'Plot the disclosure risk against epsilon',
      description:
        'Plots both bounds, the accepted risk and the largest epsilons that keep it, in one panel per column, and the epsilon ' +
        'that you state. ' +
        `${linkTo('risk', 'Example')}.`,
      querystring: z.strictObject({
        question: jsonParameter(epsilonRequest.omit({ tolerance: true }), pictured.risk),
        epsilon: statedEpsilon,
        theme,
      }),
      response: { 200: svg, ...problemResponses },
    },
    handler: async (request, reply) => {
      const { question, epsilon, theme } = request.query
      const { universe, ...asked } = question
      return sendPublic(request, reply, theme, {
        picture: 'risk',
        question: { columns: universe, ...asked, epsilon },
      })
    },
  })

  app.get('/v1/plots/noise-comparison', {
    config: { conditional: true },
    schema: {
      tags: ['Plots'],
      operationId: 'plotNoiseComparison',
      summary: 'Plot the noise of each mechanism',
      description: `Plots the noise of each mechanism against the number of statistics. ${linkTo('noise-comparison', 'Example')}.`,
      querystring: z.strictObject({
        question: jsonParameter(comparisonRequest, pictured['noise-comparison']),
        criterion,
        theme,
      }),
      response: { 200: svg, ...problemResponses },
    },
    handler: async (request, reply) => {
      const { question, criterion, theme } = request.query
      const workload = withinField('question', () => workloadOf(question))
      return sendPublic(request, reply, theme, { picture: 'noise-comparison', workload, criterion })
    },
  })

  app.get('/v1/plots/answer-distribution', {
    config: { conditional: true },
    schema: {
      tags: ['Plots'],
      operationId: 'plotAnswerDistribution',
      summary: 'Plot the distribution of the answers of a mechanism',
      description: `Plots the distribution of noisy answers around a true value. ${linkTo('answer-distribution', 'Example')}.`,
      querystring: z.strictObject({
        question: jsonParameter(distributionRequest, pictured['answer-distribution']),
        theme,
      }),
      response: { 200: svg, ...problemResponses },
    },
    handler: async (request, reply) => {
      const { question, theme } = request.query
      const { mechanism, truth } = question
      const workload = withinField('question', () => workloadOf(question))
      return sendPublic(request, reply, theme, {
        picture: 'answer-distribution',
        workload,
        mechanism,
        truth,
      })
    },
  })

  app.get('/v1/datasets/:dataset/plots/noisy-table', {
    config: { roles: ['analyst', 'custodian'] },
    schema: {
      tags: ['Plots'],
      operationId: 'plotNoisyTable',
      summary: 'Plot a noisy table of synthetic data',
      description:
        'Plots noisy values with error bars next to the true values. Only for synthetic datasets; never charged. Each ' +
        'request draws fresh noise.',
      params: datasetParameters,
      querystring: z.strictObject({
        query: jsonParameter(query, { kind: 'contingency', columns: ['Occupation', 'Sex'], epsilon: 0.01 }),
        theme,
      }),
      response: { 200: svg },
    },
    handler: async (request, reply) => {
      const asked = { givenUp: givenUpSignal(reply), principal: principalOf(request).name }
      const { dataset } = requireDataset(catalog, principalOf(request), request.params.dataset)
      const { query, theme } = request.query
      const reading = readingInTurns(engine, admission, asked)
      const trial = await versionUses.during(dataset, () =>
        readEvaluationInput(
          { ...planning, engine: reading },
          { dataset, query, waiting: asked, runs: 1, shown: 1 },
        ),
      )
      return sendPicture(reply, await draw(theme, { picture: 'noisy-table', trial }, asked))
    },
  })
}

/** Number of public pictures that are kept. Each has some tens of kilobytes. */
const MOST_PICTURES = 100

/** Keeps the results that were used last, by key. A task that fails leaves nothing behind. */
function keepRecent(most: number): (key: string, make: () => Promise<string>) => Promise<string> {
  const kept = new Map<string, string>()
  return async (key, make) => {
    const found = kept.get(key) ?? (await make())
    kept.delete(key)
    kept.set(key, found)
    const [oldest] = kept.keys()
    if (kept.size > most && oldest !== undefined) kept.delete(oldest)
    return found
  }
}

/** Sends a picture with a content security policy that forbids scripts and external resources. */
export function sendPicture(reply: FastifyReply, svg: string): FastifyReply {
  return (
    reply
      .type('image/svg+xml')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      // Pages of other origins may show a picture, as they may link to it.
      .header('cross-origin-resource-policy', 'cross-origin')
      .send(svg)
  )
}
