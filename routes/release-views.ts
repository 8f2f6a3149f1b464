import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { answer, batchAnswer } from '../schemas/answer.ts'
import { picture, releasePlotQuery } from '../schemas/plots.ts'
import { problemResponses } from '../schemas/problem.ts'
import { postprocessing, releaseParameters } from '../schemas/releases.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import { postprocessRelease } from '../src/answers/postprocessing.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import type { ComputationPool } from '../src/workers/pool.ts'
import { accessFor, principalOf } from './access.ts'
import { givenUpSignal, sendAnswer } from './caller.ts'
import { PLOT_TIMEOUT_MS, sendPicture } from './plots.ts'
import { requireRelease } from './releases.ts'

export interface ReleaseViewsOptions {
  readonly authenticator: Authenticator
  readonly ledger: Ledger
  readonly plotPool: ComputationPool
}

const processed = {
  description: 'The release with post-processed values. Its cost is the one that was paid.',
  content: { 'application/json': { schema: z.union([answer, batchAnswer]) } },
}

/** Stored releases in another form: post-processed, or as a picture. Both cost nothing and read no data. */
export const releaseViewsRoutes: FastifyPluginAsyncZod<ReleaseViewsOptions> = async (
  app,
  { authenticator, ledger, plotPool },
) => {
  const readers = accessFor(authenticator, 'analyst', 'auditor', 'custodian')

  app.post(
    '/v1/releases/:id/postprocess',
    {
      onRequest: readers.onRequest,
      schema: {
        tags: ['Queries'],
        operationId: 'postprocessRelease',
        summary: 'Post-process a stored release',
        description:
          'Rounds the values of a release, cuts them at 0, or shows them as they were measured. Costs nothing, reads no data ' +
          'and changes nothing that is stored. Of a batch, all answers that are made from sums and counts are ' +
          'post-processed. Analysts post-process their own releases, auditors and custodians all.',
        security: readers.security,
        params: releaseParameters,
        body: postprocessing,
        response: { 200: processed, ...problemResponses },
      },
    },
    async (request, reply) => {
      const release = await requireRelease(ledger, principalOf(request), request.params.id)
      const body = JSON.stringify(postprocessRelease(release.answer, request.body))
      return sendAnswer(reply, { body, replayed: false })
    },
  )

  app.get(
    '/v1/releases/:id/plot',
    {
      onRequest: readers.onRequest,
      schema: {
        tags: ['Plots'],
        operationId: 'plotRelease',
        summary: 'Plot a stored release',
        description:
          'Plots the values of a release with their half-widths as error bars. Costs nothing and reads no data. A release with ' +
          'several values of different units, and a batch, has a panel for each, at most 12. Of more than 60 values the largest ' +
          'are drawn. With `round` or `nonNegative` the values are post-processed first. The error of a quantile is a rank, and stated in words. Analysts plot their own releases, auditors and ' +
          'custodians all.',
        security: readers.security,
        params: releaseParameters,
        querystring: releasePlotQuery,
        response: { 200: picture, ...problemResponses },
      },
    },
    async (request, reply) => {
      const principal = principalOf(request)
      const { theme, format, ...processing } = request.query
      const { answer } = await requireRelease(ledger, principal, request.params.id)
      const stored = drawnRelease(answer, processing)
      const asked = { timeoutMs: PLOT_TIMEOUT_MS, givenUp: givenUpSignal(reply), principal: principal.name }
      const drawing = { picture: { picture: 'release', stored }, theme } as const
      if (format === 'vega')
        return reply.type('application/json').send(await plotPool.run('interactivePicture', drawing, asked))
      return sendPicture(reply, await plotPool.run('draw', drawing, asked))
    },
  )
}

type Processing = Pick<z.output<typeof releasePlotQuery>, 'round' | 'nonNegative'>

/**
 * Returns the document of a release to draw: as it is stored, or with post-processed values.
 * @throws Refusal `query-does-not-fit` naming the field and the rule, for a release that cannot be post-processed.
 */
function drawnRelease(answer: string, { round, nonNegative }: Processing): string {
  if (round === undefined && nonNegative === undefined) return answer
  const asked = { round: round === 'true', nonNegative: nonNegative === 'true' }
  return JSON.stringify(postprocessRelease(answer, asked))
}
