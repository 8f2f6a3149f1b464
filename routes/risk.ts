import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { linkTo } from '../schemas/plots.ts'
import { problemResponses } from '../schemas/problem.ts'
import { epsilonReport, epsilonRequest, riskReport, riskRequest } from '../schemas/risk.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import type { ComputationPool } from '../src/workers/pool.ts'
import { accessFor, principalOf } from './access.ts'
import { givenUpSignal } from './caller.ts'

export interface RiskOptions {
  readonly authenticator: Authenticator
  readonly riskPool: ComputationPool
}

/** Time limit for one computation. */
const COMPUTATION_TIMEOUT_MS = 20_000

/** Largest body: a universe of ten thousand people, or a prior for as many worlds, fits. */
const QUESTION_LIMIT_BYTES = 1024 * 1024

/** The disclosure risk of a release, and the epsilon for an accepted risk. No dataset is read. */
export const riskRoutes: FastifyPluginAsyncZod<RiskOptions> = async (app, { authenticator, riskPool }) => {
  const everyone = accessFor(authenticator, 'analyst', 'custodian', 'auditor')

  app.post(
    '/v1/risk',
    {
      onRequest: everyone.onRequest,
      bodyLimit: QUESTION_LIMIT_BYTES,
      schema: {
        tags: ['Disclosure risk'],
        operationId: 'assessRisk',
        summary: 'Compute the disclosure risk of a release',
        description:
          'Returns sensitivities, bounds on the disclosure risk at an epsilon, and the beliefs of an adversary after a ' +
          'response (Lee and Clifton 2011). Uses only the people in the request. Reads no dataset and costs nothing.',
        security: everyone.security,
        body: riskRequest,
        response: { 200: riskReport, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { universe, ...question } = request.body
      const terms = {
        timeoutMs: COMPUTATION_TIMEOUT_MS,
        givenUp: givenUpSignal(reply),
        principal: principalOf(request).name,
      }
      const columns = await riskPool.run('risk', { columns: universe, ...question }, terms)
      const { released, query, changed, epsilon } = question
      return { released, query, changed, ...(epsilon === undefined ? {} : { epsilon }), columns }
    },
  )

  app.post(
    '/v1/risk/epsilon',
    {
      onRequest: everyone.onRequest,
      bodyLimit: QUESTION_LIMIT_BYTES,
      schema: {
        tags: ['Disclosure risk'],
        operationId: 'chooseEpsilon',
        summary: 'Compute the epsilon for an accepted disclosure risk',
        description:
          'Returns the largest epsilon that keeps the risk: by the upper bound in closed form, and by the tight bound by ' +
          'bisection. With `curve` it also returns both bounds over a range of epsilons. ' +
          `GET /v1/plots/risk ${linkTo('risk', 'plots them')}.`,
        security: everyone.security,
        body: epsilonRequest,
        response: { 200: epsilonReport, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { universe, ...question } = request.body
      const terms = {
        timeoutMs: COMPUTATION_TIMEOUT_MS,
        givenUp: givenUpSignal(reply),
        principal: principalOf(request).name,
      }
      const columns = await riskPool.run('epsilon', { columns: universe, ...question }, terms)
      const { released, query, changed, risk } = question
      return { released, query, changed, risk, columns }
    },
  )
}
