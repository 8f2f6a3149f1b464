import { WireError } from '../errors.ts'
import {
  type CatalogueRows,
  type Evaluated,
  type Evaluator,
  openEvaluator,
  type Variables,
} from './evaluator.ts'

/*
 * The process that evaluates statements about the catalogue. It has no secrets, and ends with the service: some statements
 * keep DuckDB's planner busy for ever, or fill the memory, and nothing in a process can stop that.
 */

/** What the service asks of the process, one request at a time. */
export type Request =
  /** Opens the evaluator of a key. */
  | { readonly kind: 'open'; readonly key: string; readonly setup: readonly string[] }
  | {
      readonly kind: 'evaluate'
      readonly key: string
      readonly statement: Evaluated
      readonly variables: Variables
    }
  /** Ends the statement under way early. It gets no reply of its own. */
  | { readonly kind: 'interrupt' }

export type Reply =
  | ({ readonly kind: 'rows' } & CatalogueRows)
  | { readonly kind: 'opened' }
  /** There is no evaluator of the key. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'refused'; readonly sqlState: string; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string }

/** Number of evaluators that are kept. Most principals may use the same datasets. */
const MOST_EVALUATORS = 8
const MOST_BYTES = 512 * 2 ** 20
const MEASURED_EVERY_MS = 20

const evaluators = new Map<string, Evaluator>()
let underWay = new AbortController()

async function reply(request: Exclude<Request, { kind: 'interrupt' }>): Promise<Reply> {
  if (request.kind === 'open') {
    await keep(request.key, await openEvaluator(request.setup))
    return { kind: 'opened' }
  }
  const { key, statement, variables } = request
  const evaluator = evaluators.get(key)
  if (evaluator === undefined) return { kind: 'unknown' }
  await keep(key, evaluator)
  return { kind: 'rows', ...(await evaluator.evaluate(statement, variables, underWay.signal)) }
}

/** Keeps an evaluator as the latest one, and closes the one that was not used for the longest time. */
async function keep(key: string, evaluator: Evaluator): Promise<void> {
  evaluators.delete(key)
  evaluators.set(key, evaluator)
  const [oldest] = evaluators
  if (evaluators.size <= MOST_EVALUATORS || oldest === undefined) return
  evaluators.delete(oldest[0])
  oldest[1].close()
}

function failure(error: unknown): Reply {
  if (error instanceof WireError) return { kind: 'refused', sqlState: error.sqlState, message: error.message }
  return { kind: 'failed', message: String(error) }
}

process.on('message', async (request: Request) => {
  if (request.kind === 'interrupt') {
    underWay.abort()
    return
  }
  underWay = new AbortController()
  process.send?.(await reply(request).catch(failure))
})
process.on('disconnect', end)
setInterval(() => {
  if (process.memoryUsage.rss() > MOST_BYTES) end()
}, MEASURED_EVERY_MS)

/** Ends the process at once. `process.exit` would wait for the thread that plans, perhaps for ever. */
function end(): void {
  process.kill(process.pid, 'SIGKILL')
}
