import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { datasetParameters } from '../schemas/dataset.ts'
import { candidates } from '../schemas/disclosure.ts'
import { practiceQuery } from '../schemas/dummy.ts'
import { problemResponses } from '../schemas/problem.ts'
import { type Query, query as querySchema } from '../schemas/query.ts'
import { type SqlRequest, sqlAnswer, sqlPreview, sqlRequest } from '../schemas/sql.ts'
import type { Authenticator } from '../src/access/authenticator.ts'
import type { Principal } from '../src/access/principal.ts'
import { type AnswerDependencies, answer, preview } from '../src/answers/answer.ts'
import { answerOnDummy, type DummyDependencies } from '../src/answers/dummy.ts'
import type { Catalog } from '../src/catalog/catalog.ts'
import type { Dataset } from '../src/catalog/dataset.ts'
import type { VersionUses } from '../src/catalog/version-uses.ts'
import { fieldErrorsOf } from '../src/http/problem.ts'
import { shortestQuery } from '../src/planner/asked-query.ts'
import { Refusal } from '../src/privacy/refusal.ts'
import { type Translation, translate } from '../src/sql/translation.ts'
import type { ComputationPool } from '../src/workers/pool.ts'
import { accessFor, principalOf } from './access.ts'
import { callerOf, givenUpSignal, idempotencyHeaders, sendAnswer } from './caller.ts'
import { sizeOf } from './dummy.ts'
import { requireBalances, requireDataset } from './require-dataset.ts'

export interface SqlOptions extends AnswerDependencies, Pick<DummyDependencies, 'dummies'> {
  readonly authenticator: Authenticator
  readonly catalog: Catalog
  readonly versionUses: VersionUses
  readonly sqlPool: ComputationPool
}

/** Time limit for parsing a statement. It takes less than a millisecond. */
const PARSE_TIMEOUT_MS = 5_000

/** SQL statements and their previews. A statement is translated to a query, which then is answered as any other. */
export const sqlRoutes: FastifyPluginAsyncZod<SqlOptions> = async (app, dependencies) => {
  const { authenticator, catalog, versionUses, ledger, sqlPool } = dependencies
  const analyst = accessFor(authenticator, 'analyst')
  const everyone = accessFor(authenticator, 'analyst', 'custodian', 'auditor')

  app.post(
    '/v1/datasets/:dataset/sql',
    {
      onRequest: analyst.onRequest,
      config: { answersFromData: true },
      schema: {
        tags: ['Queries'],
        operationId: 'answerSql',
        summary: 'Answer a SQL statement',
        description:
          'Translates a SELECT statement to a query, and answers it as POST /v1/datasets/{dataset}/queries does. The text of ' +
          'the statement never reaches a database. Statements that mean the same query are the same request: a repeat ' +
          'replays the answer and costs nothing. With `on=dummy` it is answered over made-up rows for practice: nothing is ' +
          'charged or stored, and no data is read.',
        security: analyst.security,
        params: datasetParameters,
        querystring: practiceQuery,
        headers: idempotencyHeaders,
        body: sqlRequest,
        response: {
          200: {
            description: 'The rows, and the answer that they are made from.',
            content: { 'application/json': { schema: sqlAnswer } },
          },
          ...problemResponses,
        },
      },
    },
    async (request, reply) => {
      const principal = principalOf(request)
      const { dataset } = requireDataset(catalog, principal, request.params.dataset)
      const caller = callerOf(request, reply, request.headers)
      // The version counts as used while the statement is parsed, so that its rows are still there afterwards.
      const { statement, document } = await versionUses.during(dataset, async () => {
        const statement = await translated(sqlPool, request.body, dataset, principal, caller.givenUp)
        const asked = { ...caller, dataset, query: statement.query }
        const document = await ofStatement(statement.translation, async () => {
          if (request.query.on !== 'dummy') return answer(dependencies, asked)
          const balances = await requireBalances(ledger, principal, dataset.id)
          return answerOnDummy(dependencies, { ...asked, size: sizeOf(request.query) }, balances)
        })
        return { statement, document }
      })
      const { shown, translation } = statement
      const { body, replayed } = document
      const { columnsOf, notes, rowsOf } = translation
      const answered = JSON.parse(body)
      const columns = columnsOf({ noise: answered.noise, round: isRounded(statement.query) })
      const facts = JSON.stringify({ query: shown, columns, rows: rowsOf(answered), notes })
      // The bytes of the answer are those that are stored.
      return sendAnswer(reply, { body: `${facts.slice(0, -1)},"answer":${body}}`, replayed })
    },
  )

  app.post(
    '/v1/datasets/:dataset/sql/preview',
    {
      onRequest: everyone.onRequest,
      schema: {
        tags: ['Queries'],
        operationId: 'previewSql',
        summary: 'Preview a SQL statement',
        description:
          'Translates a SELECT statement to a query, and returns its cost, the accuracy of its answer and its disclosure ' +
          'risk. Reads no data and costs nothing.',
        security: everyone.security,
        params: datasetParameters,
        querystring: z.strictObject({ candidates }),
        body: sqlRequest,
        response: { 200: sqlPreview, ...problemResponses },
      },
    },
    async (request, reply) => {
      const principal = principalOf(request)
      const { dataset } = requireDataset(catalog, principal, request.params.dataset)
      const givenUp = givenUpSignal(reply)
      const statement = await translated(sqlPool, request.body, dataset, principal, givenUp)
      const { query, shown, translation } = statement
      const balances = await requireBalances(ledger, principal, dataset.id)
      const previewed = await ofStatement(translation, () =>
        preview({ dataset, query }, dependencies, balances, request.query),
      )
      const { columnsOf, notes } = translation
      const columns = columnsOf({ noise: previewed.noise, round: isRounded(query) })
      return { query: shown, columns, notes, preview: previewed }
    },
  )
}

function isRounded(query: Query): boolean {
  return 'postprocess' in query && query.postprocess.round
}

/** A statement as a query, with all defaults and as it is shown, without them. */
interface TranslatedRequest {
  readonly query: Query
  readonly shown: { readonly kind: Query['kind']; readonly [field: string]: unknown }
  readonly translation: Translation
}

/**
 * Parses a statement in a thread and translates it.
 * @throws Refusal with the place of the part that cannot be answered, or `unavailable`
 */
async function translated(
  sqlPool: ComputationPool,
  { sql, ...terms }: SqlRequest,
  dataset: Dataset,
  { name }: Principal,
  givenUp: AbortSignal,
): Promise<TranslatedRequest> {
  const limits = { timeoutMs: PARSE_TIMEOUT_MS, givenUp, principal: name }
  const statement = await sqlPool.run('sql', { statement: sql }, limits).catch((error: unknown) => {
    if (error instanceof Refusal) throw error
    // A thread that ended. The next statement gets a new one.
    throw new Refusal('unavailable', 'The statement could not be parsed. Retry later.')
  })
  const translation = translate(sql, statement, dataset)
  const parsed = querySchema.safeParse({ ...translation.query, ...terms })
  if (parsed.success)
    return {
      query: parsed.data,
      shown: { ...shortestQuery(parsed.data), kind: parsed.data.kind },
      translation,
    }
  const errors = fieldErrorsOf(parsed.error.issues)
  const detail = errors.map(({ field, rule }) => `${field}: ${rule}`).join('; ')
  throw translation.refusalOf(new Refusal('invalid-request', detail, errors))
}

/** Runs a task on the query of a statement. Its refusals name the place in the statement. */
async function ofStatement<Result>(
  translation: Translation,
  task: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await task()
  } catch (error) {
    throw error instanceof Refusal ? translation.refusalOf(error) : error
  }
}
