import fastifyAccepts from '@fastify/accepts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import {
  releaseList,
  releaseParameters,
  releasesQuery,
  storedRelease,
} from '../../schemas/answers/releases.ts'
import { cursorOf, positionOf, releasesCsv, releasesJson } from '../../src/answers/documents/release-list.ts'
import { permittedDataset, requireOpened } from '../../src/http/access/permitted-datasets.ts'
import { mayUse, type Principal } from '../../src/http/access/principal.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { sendAnswer } from '../../src/http/caller.ts'
import { linkNext } from '../../src/http/paging.ts'
import type { Budgets } from '../../src/ledger/contract/budgets.ts'
import type { Chain } from '../../src/ledger/contract/chain.ts'
import {
  isOpenTo,
  type ReleaseSelection,
  type Releases,
  type StoredRelease,
} from '../../src/ledger/contract/releases.ts'
import { defined } from '../../src/privacy/defined.ts'
import { Refusal } from '../../src/privacy/refusal.ts'

interface ReleasesOptions {
  readonly ledger: Budgets & Chain & Releases
}

/** The history: paid and answered requests, also on withdrawn datasets. */
export const releasesRoutes: FastifyPluginAsyncZod<ReleasesOptions> = async (app, options) => {
  const { ledger } = options
  await app.register(fastifyAccepts)

  app.get('/v1/releases', {
    config: { roles: ['analyst', 'auditor', 'custodian'] },
    schema: {
      tags: ['Queries'],
      operationId: 'listReleases',
      summary: 'List releases with their questions',
      description:
        'Returns paid and answered requests, newest first, with question, time, price and answer. Analysts see their own, ' +
        'auditors and custodians those of all analysts on the datasets that they may see. Requests that were denied or ' +
        'failed have no release; the ledger lists them. Releases of the same time are in the order of their ids.',
      querystring: releasesQuery,
      response: { 200: releaseList },
    },
    handler: async (request, reply) => {
      const page = await ledger.releases(await selectionOf(ledger, principalOf(request), request.query))
      if (page.next !== undefined) linkNext(request, reply, cursorOf(page.next))
      if (!prefersCsv(request, reply, request.query.format))
        return sendAnswer(reply, { body: releasesJson(page) })
      return reply
        .type('text/csv; charset=utf-8; header=present')
        .header('content-disposition', 'attachment; filename="releases.csv"')
        .send(releasesCsv(page))
    },
  })

  app.get('/v1/releases/:id', {
    config: { roles: ['analyst', 'auditor', 'custodian'], conditional: true },
    schema: {
      tags: ['Queries'],
      operationId: 'getRelease',
      summary: 'Get a stored release',
      description:
        'Returns the bytes of the first response. Analysts get their own releases, auditors and custodians those of all ' +
        'analysts on the datasets that they may see. The example is the release of the example query.',
      params: releaseParameters,
      response: { 200: storedRelease },
    },
    handler: async (request, reply) => {
      const { answer } = await requireRelease(ledger, principalOf(request), request.params.id)
      return sendAnswer(reply, { body: answer })
    },
  })
}

/**
 * Returns a release that a principal may see.
 * @throws Refusal `unknown-release`
 */
export async function requireRelease(
  ledger: Releases,
  principal: Principal,
  id: string,
): Promise<StoredRelease> {
  const release = await ledger.release(id)
  if (release !== undefined && maySee(principal, release)) return release
  throw new Refusal('unknown-release', 'You have no release with this id.')
}

/** True if a principal may see a release: analysts their own and a dataset's coverage, auditors and custodians all, on permitted datasets. */
export function maySee(
  principal: Principal,
  release: { readonly principal: string; readonly dataset: string },
): boolean {
  return (
    (isOpenTo(principal.name, release) || principal.role !== 'analyst') && mayUse(principal, release.dataset)
  )
}

type ReleasesQuery = z.output<typeof releasesQuery>

/**
 * Selects releases that a principal may see.
 * @throws Refusal `unknown-dataset` for a dataset that never had a budget, or that the principal may not use; `forbidden`
 * for an analyst who asks for the releases of another.
 */
async function selectionOf(
  ledger: Budgets & Chain,
  principal: Principal,
  { dataset, kind, analyst, from, to, cursor, limit }: ReleasesQuery,
): Promise<ReleaseSelection> {
  const isAnalyst = principal.role === 'analyst'
  if (isAnalyst && analyst !== undefined && analyst !== principal.name) {
    throw new Refusal('forbidden', 'Analysts list their own releases. Omit `analyst`.', [
      { field: 'analyst', rule: 'must be your own name, or omitted' },
    ])
  }
  return {
    datasets:
      dataset === undefined
        ? (principal.datasets ?? (await ledger.datasets()))
        : [await openedDataset(ledger, principal, dataset)],
    limit,
    ...defined({
      principal: isAnalyst ? principal.name : analyst,
      kind,
      fromMs: sinceEpoch(from),
      toMs: sinceEpoch(to),
      after: cursor === undefined ? undefined : positionOf(cursor),
    }),
  }
}

async function openedDataset(ledger: Budgets, principal: Principal, id: string): Promise<string> {
  const dataset = permittedDataset(principal, id)
  requireOpened(await ledger.budget(dataset), dataset)
  return dataset
}

/** Milliseconds since 1970; 0 for earlier times, at which nothing was released. */
function sinceEpoch(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Math.max(0, Date.parse(time))
}

/** True if a request asks for CSV, or without a format prefers it to JSON by its header. */
export function prefersCsv(
  request: FastifyRequest,
  reply: FastifyReply,
  format: ReleasesQuery['format'],
): boolean {
  if (format !== undefined) return format === 'csv'
  // The responses to permitted pages also depend on their origin.
  reply.header('vary', 'accept, origin')
  return request.type(['application/json', 'text/csv']) === 'text/csv'
}
