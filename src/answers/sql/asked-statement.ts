import { type Query, query as querySchema } from '../../../schemas/answers/query.ts'
import type { Dataset } from '../../core/dataset/dataset.ts'
import { errorsOf } from '../../core/planner/additive/estimates/estimate-kinds.ts'
import { isSome } from '../../core/planner/additive/postprocess.ts'
import { namesOf } from '../../core/planner/additive/shape.ts'
import { plan } from '../../core/planner/plan.ts'
import type { PlanLimits } from '../../core/planner/plans/plan-kind.ts'
import { reporter } from '../../core/planner/report.ts'
import type { NoiseReport, Report } from '../../core/planner/report-kinds.ts'
import { validated, validationRefusal } from '../../platform/bodies/validation.ts'
import { pace } from '../../platform/concurrency/pace.ts'
import { entry } from '../../privacy/must.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { type Answer, type AnswerDependencies, answer, answerBatch, type Caller } from '../answer.ts'
import { shortestQuery } from '../documents/asked-query.ts'
import { combinedNoise } from '../inference/known.ts'
import { answerBatchOnDummy, answerOnDummy, type DummyDependencies } from '../practice.ts'
import { type AssumedAdversary, preview, previewBatch } from '../preview.ts'
import type { Select } from './parsing/statement.ts'
import type { SqlPool } from './pool.ts'
import type { Answered } from './rows/result.ts'
import type { StatedNoise } from './rows/result-types.ts'
import { type Translation, translate } from './translation.ts'

/** Time limit for parsing a statement. It takes less than a millisecond. */
const PARSE_TIMEOUT_MS = 5_000

/** A statement as queries with all defaults. */
export interface AskedStatement {
  readonly dataset: Dataset
  readonly queries: readonly Query[]
  readonly translation: Translation
}

/** A statement, the terms of its queries, and who asks. */
interface StatementRequest {
  readonly sql: string
  /** Fields of every query, such as `epsilon`. */
  readonly terms: object
  readonly dataset: Dataset
  readonly principal: string
  readonly givenUp: AbortSignal
}

/**
 * Parses a statement in a thread and translates it. Reads no data and charges nothing.
 * @throws Refusal with the place of the part that cannot be answered, or `unavailable`
 */
export async function askStatement(
  sqlPool: SqlPool,
  { sql, terms, dataset, principal, givenUp }: StatementRequest,
): Promise<AskedStatement> {
  const limits = { timeoutMs: PARSE_TIMEOUT_MS, givenUp, principal }
  const parsed = await sqlPool.run('sql', { statement: sql }, limits).catch((error: unknown) => {
    if (error instanceof Refusal) throw error
    // A thread that ended. The next statement gets a new one.
    throw new Refusal('unavailable', 'The statement could not be parsed. Retry later.')
  })
  return askParsed(sql, parsed, { terms, dataset, principal })
}

/**
 * Translates a parsed statement.
 * @throws Refusal with the place of the part that cannot be answered
 */
export async function askParsed(
  text: string,
  parsed: Select,
  { terms, dataset, principal }: Pick<StatementRequest, 'terms' | 'dataset' | 'principal'>,
): Promise<AskedStatement> {
  // Deep conditions take milliseconds to translate and to plan.
  await pace(principal)
  const translation = translate(text, parsed, dataset, Date.now())
  const queries = translation.queries.map((query) => {
    const checked = validated(querySchema, { ...query, ...terms })
    if (checked.success) return checked.data
    throw translation.refusalOf(validationRefusal(checked))
  })
  return { dataset, queries, translation }
}

/** The queries of a statement as a batch. Each has noise of its own, so that its half-widths can be combined. */
function batchOf({ queries }: AskedStatement) {
  return { queries, plan: 'separate' } as const
}

/** What a statement means: a query, or the batch of several. Defaults are left out. */
export function shownStatement(asked: AskedStatement): ShownQuery | ShownBatch {
  const shown = asked.queries.map((query): ShownQuery => ({ ...shortestQuery(query), kind: query.kind }))
  return shown.length === 1 ? entry(shown, 0) : { ...batchOf(asked), queries: shown }
}

type ShownQuery = { readonly kind: Query['kind']; readonly [field: string]: unknown }
type ShownBatch = Omit<ReturnType<typeof batchOf>, 'queries'> & { readonly queries: readonly ShownQuery[] }

/**
 * Answers a statement as its query or batch.
 * @throws Refusal with the place in the statement
 */
export function answerStatement(
  dependencies: AnswerDependencies,
  asked: AskedStatement,
  caller: Caller,
): Promise<Answer> {
  const request = { ...caller, dataset: asked.dataset }
  return ofStatement(asked, {
    one: (query) => answer(dependencies, { ...request, query }),
    several: (batch) => answerBatch(dependencies, { ...request, ...batch }),
  })
}

/**
 * Answers a statement over made-up rows.
 * @throws Refusal with the place in the statement
 */
export function practiseStatement(
  dependencies: DummyDependencies,
  asked: AskedStatement,
  request: Omit<Parameters<typeof answerOnDummy>[1], 'query' | 'dataset'>,
  balances: Parameters<typeof answerOnDummy>[2],
): Promise<Answer> {
  const over = { ...request, dataset: asked.dataset }
  return ofStatement(asked, {
    one: (query) => answerOnDummy(dependencies, { ...over, query }, balances),
    several: (batch) => answerBatchOnDummy(dependencies, { ...over, batch }, balances),
  })
}

/**
 * Previews a statement, and returns the columns that its rows will have.
 * @throws Refusal with the place in the statement
 */
export async function previewStatement(
  asked: AskedStatement,
  request: Omit<Parameters<typeof preview>[0], 'query' | 'dataset'>,
  dependencies: Parameters<typeof preview>[1],
  balances: Parameters<typeof preview>[2],
  adversary?: AssumedAdversary,
) {
  const { dataset, queries, translation } = asked
  const over = { ...request, dataset }
  const previewed = await ofStatement(asked, {
    one: async (query) => preview({ ...over, query }, dependencies, balances, adversary),
    several: async (batch) => previewBatch({ ...over, ...batch }, dependencies, balances, adversary),
  })
  const parts = 'answers' in previewed ? previewed.answers : [previewed]
  const stated = queries.map((each, place) => {
    const isTopUp = 'use' in each && each.use === 'topUp'
    return statedNoise(each, isTopUp ? combinedNoise({ dataset }) : entry(parts, place).noise)
  })
  return { columns: translation.columnsOf(stated), preview: previewed }
}

/** Returns the columns that the rows of a statement have whatever their noise is: no noisy number is a whole one. */
export function columnsBeforehand({ dataset, queries, translation }: AskedStatement) {
  return translation.columnsOf(queries.map((query) => statedNoise(query, combinedNoise({ dataset }))))
}

function statedNoise(query: Query, noise: NoiseReport): StatedNoise {
  return { noise, round: 'postprocess' in query && query.postprocess.round }
}

/** An answer, or the answer to a query of a batch. */
interface Part extends Pick<Report, 'result' | 'accuracy'> {
  readonly noise: NoiseReport
  /** Present if the answer follows from several releases. */
  readonly inference?: unknown
  readonly integers?: readonly (readonly string[])[]
}

/** Returns the columns and rows of the answer to a statement. */
export function rowsOfStatement(
  { dataset, queries, translation }: AskedStatement,
  body: string,
  limits: PlanLimits,
) {
  const document: Part | { readonly answers: readonly Part[] } = JSON.parse(body)
  const parts = 'answers' in document ? document.answers : [document]
  const stated = parts.map(({ noise, inference }, place) =>
    // Sums of integers that are weighted are no whole numbers.
    statedNoise(entry(queries, place), inference === undefined ? noise : combinedNoise({ dataset })),
  )
  const answers = parts.map((part, place) => answeredPart(part, entry(queries, place), dataset, limits))
  return { columns: translation.columnsOf(stated), rows: translation.rowsOf(answers) }
}

/**
 * Noisy integers of its own let an answer be reported with another confidence, and tell the errors of its values. Those beside an
 * answer that follows from several releases are not all that it is made from.
 */
function answeredPart(part: Part, query: Query, dataset: Dataset, limits: PlanLimits): Answered {
  const { result, accuracy, integers, inference } = part
  if (integers === undefined || inference !== undefined) return { result, accuracy }
  const planned = plan(query, dataset, limits)
  if (planned.kind !== 'additive') throw new RangeError('noisy integers are those of sums and counts')
  const noisy = integers.map((cells) => cells.map(BigInt))
  const isProcessed = 'postprocess' in query && isSome(query.postprocess)
  const [names, errors] = [namesOf(planned.shown), isProcessed ? [] : errorsOf(planned)]
  return {
    result,
    accuracy,
    reportAt: (confidence) => reporter({ ...planned, confidence })({ kind: 'additive', noisy }),
    errorOf: (statistic) => errors[statistic === undefined ? 0 : names.indexOf(statistic)],
  }
}

/** Runs a task on the one query of a statement, or on all of them. Its refusals name the place in the statement. */
async function ofStatement<One, Several>(
  asked: AskedStatement,
  task: {
    readonly one: (query: Query) => Promise<One>
    readonly several: (batch: ReturnType<typeof batchOf>) => Promise<Several>
  },
): Promise<One | Several> {
  const [query, second] = asked.queries
  try {
    return await (query !== undefined && second === undefined
      ? task.one(query)
      : task.several(batchOf(asked)))
  } catch (error) {
    throw error instanceof Refusal ? asked.translation.refusalOf(error) : error
  }
}
