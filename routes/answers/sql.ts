import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { previewQuery } from '../../schemas/answers/disclosure.ts'
import { type SqlRequest, sqlAnswer, sqlPreview, sqlRequest } from '../../schemas/answers/sql.ts'
import { datasetParameters } from '../../schemas/datasets/dataset.ts'
import { practiceQuery } from '../../schemas/datasets/dummy.ts'
import { jsonText } from '../../schemas/values.ts'
import type { AnswerDependencies } from '../../src/answers/answer.ts'
import type { DummyDependencies } from '../../src/answers/practice.ts'
import {
  answerStatement,
  askStatement,
  practiseStatement,
  previewStatement,
  rowsOfStatement,
  shownStatement,
} from '../../src/answers/sql/asked-statement.ts'
import type { SqlPool } from '../../src/answers/sql/pool.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { VersionUses } from '../../src/datasets/catalog/version-uses.ts'
import { requireBalances, requireDataset } from '../../src/http/access/permitted-datasets.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { callerOf, givenUpSignal, idempotencyHeaders, sendAnswer } from '../../src/http/caller.ts'
import { sizeOf } from '../datasets/dummy.ts'

interface SqlOptions extends AnswerDependencies, Pick<DummyDependencies, 'dummies'> {
  readonly catalog: Catalog
  readonly versionUses: VersionUses
  readonly sqlPool: SqlPool
}

/** SQL statements and their previews. A statement is translated to a query, which then is answered as any other. */
export const sqlRoutes: FastifyPluginAsyncZod<SqlOptions> = async (app, dependencies) => {
  const { catalog, versionUses, ledger, sqlPool, limits } = dependencies

  app.post('/v1/datasets/:dataset/sql', {
    config: { roles: ['analyst'], answersFromData: true },
    schema: {
      tags: ['Queries'],
      operationId: 'answerSql',
      summary: 'Answer a SQL statement',
      description:
        'Translates a SELECT statement to a query, and answers it as POST /v1/datasets/{dataset}/queries does. The text of ' +
        'the statement never reaches a database. Statements that mean the same query are the same request: a repeat ' +
        'replays the answer and costs nothing. With `on=dummy` it is answered over made-up rows for practice: nothing is ' +
        'charged or stored, and no data is read.',
      params: datasetParameters,
      querystring: practiceQuery,
      headers: idempotencyHeaders,
      body: sqlRequest,
      response: { 200: jsonText('The rows, and the answer that they are made from.', sqlAnswer) },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const { dataset } = requireDataset(catalog, principal, request.params.dataset)
      const caller = callerOf(request, reply, request.headers)
      const asking = requestOf(request.body, principal.name, caller.givenUp)
      // The version counts as used while the statement is parsed, so that its rows are still there afterwards.
      const { asked, document } = await versionUses.during(dataset, async () => {
        const asked = await askStatement(sqlPool, { ...asking, dataset })
        if (request.query.on !== 'dummy')
          return { asked, document: await answerStatement(dependencies, asked, caller) }
        const balances = await requireBalances(ledger, principal, dataset.id)
        const size = sizeOf(request.query)
        return {
          asked,
          document: await practiseStatement(dependencies, asked, { ...caller, size }, balances),
        }
      })
      const { body, replayed } = document
      const facts = JSON.stringify({
        query: shownStatement(asked),
        ...rowsOfStatement(asked, body, limits),
        notes: asked.translation.notes,
      })
      // The bytes of the answer are those that are stored.
      return sendAnswer(reply, { body: `${facts.slice(0, -1)},"answer":${body}}`, replayed })
    },
  })

  app.post('/v1/datasets/:dataset/sql/preview', {
    config: { roles: EVERYONE },
    schema: {
      tags: ['Queries'],
      operationId: 'previewSql',
      summary: 'Preview a SQL statement',
      description:
        'Translates a SELECT statement to a query, and returns its cost, the accuracy of its answer and its disclosure ' +
        'risk. Reads no data and costs nothing.',
      params: datasetParameters,
      querystring: previewQuery,
      body: sqlRequest,
      response: { 200: sqlPreview },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const { dataset } = requireDataset(catalog, principal, request.params.dataset)
      const givenUp = givenUpSignal(reply)
      const asking = requestOf(request.body, principal.name, givenUp)
      const asked = await askStatement(sqlPool, { ...asking, dataset })
      const balances = await requireBalances(ledger, principal, dataset.id)
      const caller = { principal: principal.name, givenUp }
      const { columns, preview } = await previewStatement(
        asked,
        caller,
        dependencies,
        balances,
        request.query,
      )
      return { query: shownStatement(asked), columns, notes: asked.translation.notes, preview }
    },
  })
}

function requestOf({ sql, ...terms }: SqlRequest, principal: string, givenUp: AbortSignal) {
  return { sql, terms, principal, givenUp }
}
