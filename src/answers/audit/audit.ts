import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { type Dataset, requireSynthetic } from '../../core/dataset/dataset.ts'
import type { SessionRequest } from '../../core/planner/session.ts'
import { createVersionUses } from '../../datasets/catalog/version-uses.ts'
import type { Engine } from '../../engines/engine.ts'
import { defined } from '../../privacy/defined.ts'
import { awaitedWithinField, type Refusal, refuseField } from '../../privacy/refusal.ts'
import { readingInTurns, WITHOUT_QUEUE } from '../admission.ts'
import { type AnswerDependencies, answer, answerBatch } from '../answer.ts'
import type { Query } from '../asked.ts'
import { createSparseVectorSessions, type SparseVectorSessions } from '../session.ts'
import { openAuditLedger } from './ledger.ts'

/*
 * Draws releases for external auditors who measure how much a release reveals about two neighbouring datasets that they
 * know in full. Each release takes the path of every paid answer: plan, charge, aggregate, noise, record. Only the
 * ledger differs: it is created for the request and removed with it. The ledger of the service is not among the
 * dependencies.
 */

/** A sparse vector session to audit: opened anew for each release, with the same questions in order. */
export interface AuditedSession extends SessionRequest {
  readonly questions: readonly { readonly where: Parameters<SparseVectorSessions['ask']>[0]['where'] }[]
}

/** The request whose releases are drawn. */
export type AuditedRequest =
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'batch'; readonly queries: readonly Query[] }
  | { readonly kind: 'session'; readonly session: AuditedSession }

/** Two open neighbouring datasets, and the engine that reads them. */
export interface OpenedPair {
  readonly engine: Engine
  readonly datasets: readonly [Dataset, Dataset]
  /** Removes the rows of both datasets. */
  readonly close: () => Promise<void>
}

/** Dependencies of audits: those of every answer except the ledger. */
export interface AuditDependencies extends Omit<AnswerDependencies, 'ledger' | 'signer'> {
  /** Folder for ledgers and rows, which are removed at the end of each request. */
  readonly temporaryDirectory: string
}

/** The releases to draw. */
export interface AuditDraw {
  readonly request: AuditedRequest
  /** Number of releases of each dataset: a whole number, at least 1. */
  readonly releases: number
  /** True once the client has disconnected; then no further releases are drawn. */
  readonly givenUp: () => boolean
}

/** Maximum length of the results of one request, which are assembled in memory. */
const MAX_CHARACTERS = 20_000_000
/** Maximum number of answers of one request: those of batches and sessions are counted one by one. */
const MAX_ANSWERS = 100_000
/** Principal of the releases of audits. */
const AUDITOR = 'auditor'
/** Number of releases that are drawn concurrently, so that the ledger can commit them in groups. */
const CONCURRENT_RELEASES = 64

/**
 * Draws fresh releases over a synthetic dataset. No budget is charged, and nothing is kept.
 *
 * @returns the results, in no particular order.
 * @throws Refusal `not-synthetic` for any other dataset and any caller; `invalid-request` for more releases than one request
 * may hold; and as the audited request itself does.
 * @throws AnswerFailure, QuestionFailure as answers and questions do.
 */
export async function auditReleases(
  dependencies: AuditDependencies,
  dataset: Dataset,
  draw: AuditDraw,
): Promise<readonly unknown[]> {
  requireSynthetic(dataset)
  requireCount(draw, 1)
  return withFolder(dependencies, (folder) =>
    drawReleases(dependencies, folder, dataset, draw, MAX_CHARACTERS),
  )
}

/**
 * Draws fresh releases of both datasets of an auditor's own pair. Nothing is kept, the datasets included.
 *
 * @param openPair checks the pair and makes its rows readable, in a folder that exists for this request only
 * @returns the results of each dataset, in no particular order.
 * @throws as {@link auditReleases} and `openPair` do.
 */
export async function auditPair(
  dependencies: AuditDependencies,
  openPair: (folder: string) => Promise<OpenedPair>,
  draw: AuditDraw,
): Promise<readonly (readonly unknown[])[]> {
  requireCount(draw, 2)
  return withFolder(dependencies, async (folder) => {
    const { engine, datasets, close } = await awaitedWithinField('pair', () => openPair(folder))
    try {
      const mostCharacters = MAX_CHARACTERS / datasets.length
      const results: (readonly unknown[])[] = []
      for (const dataset of datasets) {
        requireSynthetic(dataset)
        const own = await mkdtemp(path.join(folder, 'ledger-'))
        results.push(await drawReleases({ ...dependencies, engine }, own, dataset, draw, mostCharacters))
      }
      return results
    } finally {
      await close()
    }
  })
}

async function withFolder<Result>(
  { temporaryDirectory }: AuditDependencies,
  task: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(path.join(temporaryDirectory, 'audit-'))
  try {
    return await task(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function drawReleases(
  dependencies: AuditDependencies,
  folder: string,
  dataset: Dataset,
  { request, releases, givenUp }: AuditDraw,
  maxCharacters: number,
): Promise<readonly unknown[]> {
  // The budgets of the audit's ledger count epsilon and delta, and each release is a new one. Its people are made up.
  const audited: Dataset = { ...dataset, accounting: 'basic', sharing: false, timing: 'off' }
  const ledger = await openAuditLedger(folder, audited.neighbours)
  try {
    // The audit's ledger is its own: only its reads take turns with others, so that its debits are committed in groups.
    const { admission } = dependencies
    const engine = readingInTurns(dependencies.engine, admission, { principal: AUDITOR })
    const drawOne = releaseDrawer(
      { ...dependencies, engine, admission: WITHOUT_QUEUE, ledger },
      audited,
      request,
    )
    const results: unknown[] = []
    let characters = 0
    const drawNext = async (release: number): Promise<void> => {
      const result = await drawOne(release)
      results.push(result)
      characters += JSON.stringify(result).length
      if (characters > maxCharacters) throw tooLong(Math.floor(release / 2))
    }
    // The length of the first result shows how many fit, before all are drawn. Its refusal reports errors in the
    // request.
    await drawNext(0)
    if (characters * releases > maxCharacters) throw tooLong(Math.floor(maxCharacters / characters))
    let next = 1
    const drawInTurn = async (): Promise<void> => {
      while (next < releases && !givenUp()) await drawNext(next++)
    }
    await Promise.all(Array.from({ length: CONCURRENT_RELEASES }, drawInTurn))
    return results
  } finally {
    await ledger.close()
  }
}

/**
 * Creates a function that draws the release with a given number and returns its result. Each number has separate
 * idempotency keys.
 */
function releaseDrawer(
  dependencies: AnswerDependencies,
  dataset: Dataset,
  request: AuditedRequest,
): (release: number) => Promise<unknown> {
  const caller = { principal: AUDITOR, dataset }
  const keyOf = (release: number) => ({ idempotencyKey: `release-${release}` })
  switch (request.kind) {
    case 'query':
      return (release) =>
        awaitedWithinField('query', async () => {
          const { body } = await answer(dependencies, { ...caller, ...keyOf(release), query: request.query })
          return JSON.parse(body).result
        })
    case 'batch':
      return async (release) => {
        const { queries } = request
        const { body } = await answerBatch(dependencies, { ...caller, ...keyOf(release), queries })
        return JSON.parse(body).answers.map(({ result }: { readonly result: unknown }) => result)
      }
    case 'session': {
      const { questions, ...terms } = request.session
      const sessions = createSparseVectorSessions({
        ...dependencies,
        versionUses: createVersionUses(),
        registered: () => dataset,
      })
      return (release) =>
        awaitedWithinField('session', async () => {
          const opened = await sessions.open({ ...caller, ...keyOf(release), request: terms })
          const { id } = JSON.parse(opened.body)
          return askAll(sessions, id, questions)
        })
    }
  }
}

/** Asks a session its questions until it is used up, and returns the answers. */
async function askAll(
  sessions: SparseVectorSessions,
  session: string,
  questions: AuditedSession['questions'],
): Promise<readonly object[]> {
  const answers: object[] = []
  for (const [place, { where }] of questions.entries()) {
    const { body } = await awaitedWithinField(`questions.${place}`, () =>
      sessions.ask({ principal: AUDITOR, session, where, idempotencyKey: `question-${place}` }),
    )
    const { above, gap, positivesLeft } = JSON.parse(body)
    answers.push(defined({ above, gap }))
    if (positivesLeft === 0) break
  }
  return answers
}

function requireCount({ request, releases }: AuditDraw, datasets: number): void {
  const most = Math.floor(MAX_ANSWERS / (datasets * answersOf(request)))
  if (releases > most)
    throw refuseField('invalid-request', 'releases', `must be at most ${most} for this request`)
}

/** Number of answers of one release, each of which is stored by itself or computed by itself. */
function answersOf(request: AuditedRequest): number {
  switch (request.kind) {
    case 'query':
      return 1
    case 'batch':
      return request.queries.length
    case 'session':
      return 1 + request.session.questions.length
  }
}

function tooLong(most: number): Refusal {
  return refuseField(
    'invalid-request',
    'releases',
    `must be at most ${Math.max(1, most)} for results of this length`,
  )
}
