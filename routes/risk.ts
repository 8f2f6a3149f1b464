import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { linkTo } from '../schemas/plots.ts'
import { problemResponses } from '../schemas/problem.ts'
import { epsilonReport, epsilonRequest, riskReport, riskRequest } from '../schemas/risk.ts'
import type { KeyRing } from '../src/access/keys.ts'
import type { ComputationPool } from '../src/workers/pool.ts'
import { accessFor, principalOf } from './access.ts'
import { givenUpBy } from './waiting.ts'

export interface RiskOptions {
  readonly keyRing: KeyRing
  readonly riskPool: ComputationPool
}

/** Time limit for one computation. */
const COMPUTATION_TIMEOUT_MS = 20_000
/** Time limit for a request: a computation may wait for its turn for as long as it may run. */
const REQUEST_TIMEOUT_MS = 3 * COMPUTATION_TIMEOUT_MS

/** The largest question: a universe of ten thousand people, or a belief in each of as many worlds. */
const QUESTION_LIMIT_BYTES = 1024 * 1024

/** The disclosure risk of a release, and the epsilon that an accepted risk allows. No dataset is touched. */
export const riskRoutes: FastifyPluginAsyncZod<RiskOptions> = async (app, { keyRing, riskPool }) => {
  const everyone = accessFor(keyRing, 'analyst', 'custodian', 'auditor')

  app.post(
    '/v1/risk',
    {
      onRequest: everyone.onRequest,
      bodyLimit: QUESTION_LIMIT_BYTES,
      handlerTimeout: REQUEST_TIMEOUT_MS,
      schema: {
        tags: ['Disclosure risk'],
        operationId: 'assessRisk',
        summary: 'What an adversary learns of who was released',
        description:
          'Sensitivities, bounds of the disclosure risk at an epsilon, and what an adversary believes after a response ' +
          '(Lee and Clifton 2011). The people are those of the request: no dataset is touched, nothing is charged.',
        security: everyone.security,
        body: riskRequest,
        response: { 200: riskReport, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { universe, ...question } = request.body
      const terms = {
        timeoutMs: COMPUTATION_TIMEOUT_MS,
        givenUp: givenUpBy(reply),
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
      handlerTimeout: REQUEST_TIMEOUT_MS,
      schema: {
        tags: ['Disclosure risk'],
        operationId: 'chooseEpsilon',
        summary: 'The epsilon that an accepted risk allows',
        description:
          'From the upper bound in closed form, and from the tight bound by bisection; with `curve`, both bounds over a ' +
          `range. GET /v1/plots/risk ${linkTo('risk', 'draws it')}.`,
        security: everyone.security,
        body: epsilonRequest,
        response: { 200: epsilonReport, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { universe, ...question } = request.body
      const terms = {
        timeoutMs: COMPUTATION_TIMEOUT_MS,
        givenUp: givenUpBy(reply),
        principal: principalOf(request).name,
      }
      const columns = await riskPool.run('epsilon', { columns: universe, ...question }, terms)
      const { released, query, changed, risk } = question
      return { released, query, changed, risk, columns }
    },
  )
}
