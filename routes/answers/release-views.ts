import { Readable } from 'node:stream'
import fastifyAccepts from '@fastify/accepts'
import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { answer, batchAnswer } from '../../schemas/answers/answer.ts'
import {
  postprocessing,
  releaseParameters,
  tablesOfRelease,
  tablesQuery,
} from '../../schemas/answers/releases.ts'
import { picture, releasePlotQuery } from '../../schemas/studies/plots.ts'
import { jsonText } from '../../schemas/values.ts'
import { postprocessRelease } from '../../src/answers/documents/postprocessing.ts'
import { tablesCsv, tablesJson } from '../../src/answers/documents/tables.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { sendAnswer, termsOf } from '../../src/http/caller.ts'
import type { Releases } from '../../src/ledger/contract/releases.ts'
import type { StudyPool } from '../../src/studies/pools.ts'
import { PLOT_TIMEOUT_MS, sendPicture } from '../studies/plots.ts'
import { prefersCsv, requireRelease } from './releases.ts'

interface ReleaseViewsOptions {
  readonly catalog: Catalog
  readonly ledger: Releases
  readonly plotPool: StudyPool
}

/** Time limit for estimating the tables of a release. */
const TABLES_TIMEOUT_MS = 60_000

const processed = jsonText(
  'The release with post-processed values. Its cost is the one that was paid.',
  z.union([answer, batchAnswer]),
)

/**
 * Stored releases in another form: post-processed, as a picture, or as the tables that follow from the stored integers of
 * marginals. All cost nothing and read no data.
 */
export const releaseViewsRoutes: FastifyPluginAsyncZod<ReleaseViewsOptions> = async (
  app,
  { catalog, ledger, plotPool },
) => {
  await app.register(fastifyAccepts)

  app.post('/v1/releases/:id/postprocess', {
    config: { roles: ['analyst', 'auditor', 'custodian'] },
    schema: {
      tags: ['Queries'],
      operationId: 'postprocessRelease',
      summary: 'Post-process a stored release',
      description:
        'Rounds the values of a release, cuts them at 0, or shows them as they were measured. Costs nothing, reads no data ' +
        'and changes nothing that is stored. Of a batch, all answers that are made from sums and counts are ' +
        'post-processed. Analysts post-process their own releases, auditors and custodians all.',
      params: releaseParameters,
      body: postprocessing,
      response: { 200: processed },
    },
    handler: async (request, reply) => {
      const release = await requireRelease(ledger, principalOf(request), request.params.id)
      const body = JSON.stringify(postprocessRelease(release.answer, request.body))
      return sendAnswer(reply, { body })
    },
  })

  app.get('/v1/releases/:id/plot', {
    config: { roles: ['analyst', 'auditor', 'custodian'], conditional: true },
    schema: {
      tags: ['Plots'],
      operationId: 'plotRelease',
      summary: 'Plot a stored release',
      description:
        'Plots the values of a release with their half-widths as error bars. Costs nothing and reads no data. A release with ' +
        'several values of different units, and a batch, has a panel for each, at most 12. Values by consecutive periods and cumulative counts are ' +
        'lines with bands, cut at the declared range. Of more than 60 values the largest ' +
        'are drawn, and of tables of every few columns the first 12, or the one whose `columns` are given. With `round` or `nonNegative` the values are post-processed first. The error of a quantile is a rank, and stated in words. Analysts plot their own releases, auditors and ' +
        'custodians all.',
      params: releaseParameters,
      querystring: releasePlotQuery,
      response: { 200: picture },
    },
    handler: async (request, reply) => {
      const { theme, format, columns: table, ...processing } = request.query
      const timeoutMs = table === undefined ? PLOT_TIMEOUT_MS : TABLES_TIMEOUT_MS
      const asked = termsOf(request, reply, timeoutMs)
      const { dataset, answer } = await requireRelease(ledger, principalOf(request), request.params.id)
      const stored = drawnRelease(answer, processing)
      const columns = catalog.get(dataset)?.declaration.columns.filter((column) => 'lower' in column) ?? []
      const drawing = { picture: { picture: 'release', stored, columns, table }, theme } as const
      if (format === 'vega')
        return reply.type('application/json').send(await plotPool.run('interactivePicture', drawing, asked))
      return sendPicture(reply, await plotPool.run('draw', drawing, asked))
    },
  })

  app.get('/v1/releases/:id/tables', {
    config: { roles: ['analyst', 'auditor', 'custodian'] },
    schema: {
      tags: ['Queries'],
      operationId: 'getReleaseTables',
      summary: 'Get the tables of a release',
      description:
        'Returns the tables of a release of kind `marginals`, as JSON or CSV, also those that are too large for its answer. They ' +
        'are estimated from the integers that were measured: costs nothing and reads no data.',
      params: releaseParameters,
      querystring: tablesQuery,
      response: { 200: tablesOfRelease },
    },
    handler: async (request, reply) => {
      const terms = termsOf(request, reply, TABLES_TIMEOUT_MS)
      const { columns, format } = request.query
      const { answer: stored } = await requireRelease(ledger, principalOf(request), request.params.id)
      const released = await plotPool.run('tables', { stored, only: columns }, terms)
      if (!prefersCsv(request, reply, format))
        return sendPieces(reply.type('application/json'), tablesJson(released))
      const asFile = reply
        .type('text/csv; charset=utf-8; header=present')
        .header('content-disposition', 'attachment; filename="tables.csv"')
      return sendPieces(asFile, tablesCsv(released))
    },
  })
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

/** Sends a text in pieces. Its schema only documents it. */
function sendPieces(reply: FastifyReply, pieces: Generator<string>): FastifyReply {
  return reply.send(Readable.from(pieces))
}
