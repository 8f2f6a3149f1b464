import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { candidates } from '../../schemas/answers/disclosure.ts'
import { type Query, query as querySchema } from '../../schemas/answers/query.ts'
import { type SqlRequest, sqlAnswer, sqlPreview, sqlRequest } from '../../schemas/answers/sql.ts'
import { datasetParameters } from '../../schemas/datasets/dataset.ts'
import { practiceQuery } from '../../schemas/datasets/dummy.ts'
import { jsonText } from '../../schemas/values.ts'
import { type AnswerDependencies, answer } from '../../src/answers/answer.ts'
import { combinedNoise } from '../../src/answers/inference.ts'
import { answerOnDummy, type DummyDependencies } from '../../src/answers/practice.ts'
import { preview } from '../../src/answers/preview.ts'
import type { SqlPool } from '../../src/answers/sql/pool.ts'
import { type Translation, translate } from '../../src/answers/sql/translation.ts'
import type { Dataset } from '../../src/core/dataset/dataset.ts'
import { shortestQuery } from '../../src/core/planner/identity/asked-query.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { VersionUses } from '../../src/datasets/catalog/version-uses.ts'
import { requireBalances, requireDataset } from '../../src/http/access/permitted-datasets.ts'
import type { Principal } from '../../src/http/access/principal.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { callerOf, givenUpSignal, idempotencyHeaders, sendAnswer } from '../../src/http/caller.ts'
import { validated, validationRefusal } from '../../src/platform/bodies/validation.ts'
import { pace } from '../../src/platform/concurrency/pace.ts'
import { Refusal } from '../../src/privacy/refusal.ts'
import { sizeOf } from '../datasets/dummy.ts'

interface SqlOptions extends AnswerDependencies, Pick<DummyDependencies, 'dummies'> {
  readonly catalog: Catalog
  readonly versionUses: VersionUses
  readonly sqlPool: SqlPool
}

/** Time limit for parsing a statement. It takes less than a millisecond. */
const PARSE_TIMEOUT_MS = 5_000

/** SQL statements and their previews. A statement is translated to a query, which then is answered as any other. */
export const sqlRoutes: FastifyPluginAsyncZod<SqlOptions> = async (app, dependencies) => {
  const { catalog, versionUses, ledger, sqlPool } = dependencies

  app.post(
    '/v1/datasets/:dataset/sql',
    {
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
      // Sums of integers that are weighted are no whole numbers.
      const noise = answered.inference === undefined ? answered.noise : combinedNoise({ dataset })
      const columns = columnsOf({ noise, round: isRounded(statement.query) })
      const facts = JSON.stringify({ query: shown, columns, rows: rowsOf(answered), notes })
      // The bytes of the answer are those that are stored.
      return sendAnswer(reply, { body: `${facts.slice(0, -1)},"answer":${body}}`, replayed })
    },
  )

  app.post(
    '/v1/datasets/:dataset/sql/preview',
    {
      config: { roles: EVERYONE },
      schema: {
        tags: ['Queries'],
        operationId: 'previewSql',
        summary: 'Preview a SQL statement',
        description:
          'Translates a SELECT statement to a query, and returns its cost, the accuracy of its answer and its disclosure ' +
          'risk. Reads no data and costs nothing.',
        params: datasetParameters,
        querystring: z.strictObject({ candidates }),
        body: sqlRequest,
        response: { 200: sqlPreview },
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
        preview(
          { principal: principal.name, dataset, query, givenUp },
          dependencies,
          balances,
          request.query,
        ),
      )
      const { columnsOf, notes } = translation
      const noise = 'use' in query && query.use === 'topUp' ? combinedNoise({ dataset }) : previewed.noise
      const columns = columnsOf({ noise, round: isRounded(query) })
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
  sqlPool: SqlPool,
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
  // Deep conditions take milliseconds to translate and to plan.
  await pace(name)
  const translation = translate(sql, statement, dataset)
  const parsed = validated(querySchema, { ...translation.query, ...terms })
  if (parsed.success)
    return {
      query: parsed.data,
      shown: { ...shortestQuery(parsed.data), kind: parsed.data.kind },
      translation,
    }
  throw translation.refusalOf(validationRefusal(parsed))
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
