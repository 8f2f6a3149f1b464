import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { linkTo } from '../../schemas/studies/plots.ts'
import { epsilonReport, epsilonRequest, riskReport, riskRequest } from '../../schemas/studies/risk.ts'
import { jsonText } from '../../schemas/values.ts'
import { EVERYONE } from '../../src/http/access/roles.ts'
import { bodyText, leaveBodiesAsText } from '../../src/http/bodies.ts'
import { sendAnswer, termsOf } from '../../src/http/caller.ts'
import type { StudyPool } from '../../src/studies/pools.ts'

interface RiskOptions {
  readonly riskPool: StudyPool
}

/** Time limit for one computation. */
const COMPUTATION_TIMEOUT_MS = 20_000

/** Largest body: a universe of ten thousand people, or a prior for as many worlds, fits. */
const QUESTION_LIMIT_BYTES = 1024 * 1024

/** The disclosure risk of a release, and the epsilon for an accepted risk. No dataset is read. */
export const riskRoutes: FastifyPluginAsyncZod<RiskOptions> = async (app, { riskPool }) => {
  leaveBodiesAsText(app)

  app.post('/v1/risk', {
    config: { roles: EVERYONE },
    bodyLimit: QUESTION_LIMIT_BYTES,
    schema: {
      tags: ['Disclosure risk'],
      operationId: 'assessRisk',
      summary: 'Compute the disclosure risk of a release',
      description:
        'Returns sensitivities, bounds on the disclosure risk at an epsilon, and the beliefs of an adversary after a ' +
        'response (Lee and Clifton 2011). Uses only the people in the request. Reads no dataset and costs nothing.',
      body: riskRequest,
      response: { 200: jsonText('Disclosure risk of a release.', riskReport) },
    },
    handler: async (request, reply) => {
      const terms = termsOf(request, reply, COMPUTATION_TIMEOUT_MS)
      return sendAnswer(reply, {
        body: await riskPool.run('risk', bodyText(request), terms),
      })
    },
  })

  app.post('/v1/risk/epsilon', {
    config: { roles: EVERYONE },
    bodyLimit: QUESTION_LIMIT_BYTES,
    schema: {
      tags: ['Disclosure risk'],
      operationId: 'chooseEpsilon',
      summary: 'Compute the epsilon for an accepted disclosure risk',
      description:
        'Returns the largest epsilon that keeps the risk: by the upper bound in closed form, and by the tight bound by ' +
        'bisection. With `curve` it also returns both bounds over a range of epsilons. ' +
        `GET /v1/plots/risk ${linkTo('risk', 'plots them')}.`,
      body: epsilonRequest,
      response: { 200: jsonText('Epsilon for an accepted risk.', epsilonReport) },
    },
    handler: async (request, reply) => {
      const terms = termsOf(request, reply, COMPUTATION_TIMEOUT_MS)
      return sendAnswer(reply, {
        body: await riskPool.run('epsilon', bodyText(request), terms),
      })
    },
  })
}
