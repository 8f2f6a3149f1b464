import { Readable } from 'node:stream'
import fastifyAccepts from '@fastify/accepts'
import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { releaseParameters, tablesOfRelease, tablesQuery } from '../../schemas/answers/releases.ts'
import { tablesCsv, tablesJson } from '../../src/answers/documents/tables.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { termsOf } from '../../src/http/caller.ts'
import type { Releases } from '../../src/ledger/contract/releases.ts'
import type { StudyPool } from '../../src/studies/pools.ts'
import { prefersCsv, requireRelease } from './releases.ts'

interface ReleaseTablesOptions {
  readonly ledger: Releases
  readonly plotPool: StudyPool
}

/** Time limit for estimating the tables of a release. */
export const TABLES_TIMEOUT_MS = 60_000

/** The tables of a release of marginals, which are estimated from its stored integers. They cost nothing and read no data. */
export const releaseTablesRoutes: FastifyPluginAsyncZod<ReleaseTablesOptions> = async (
  app,
  { ledger, plotPool },
) => {
  await app.register(fastifyAccepts)

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

/** Sends a text in pieces. Its schema only documents it. */
function sendPieces(reply: FastifyReply, pieces: Generator<string>): FastifyReply {
  return reply.send(Readable.from(pieces))
}
