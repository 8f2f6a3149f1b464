import { type ChildProcess, fork } from 'node:child_process'
import type { CatalogEntry } from '../../core/dataset/entry.ts'
import type { Catalog } from '../../datasets/catalog/catalog.ts'
import { mayUse, type Principal } from '../../http/access/principal.ts'
import { createLimiter } from '../../platform/concurrency/limiter.ts'
import { WireError } from '../errors.ts'
import {
  type CatalogueRows,
  type Evaluated,
  TIMEOUT_MS,
  tookTooLong,
  tooLarge,
  type Variables,
} from './evaluator.ts'
import { functionStatements } from './functions.ts'
import type { Reply, Request } from './process.ts'
import { catalogueStatements } from './relations.ts'

/** Who asks, and in which session. */
export interface CatalogueCaller extends Omit<Variables, 'principal'> {
  readonly principal: Principal
}

/** The catalogue of the datasets that a principal may use. */
export interface Catalogues {
  evaluate(caller: CatalogueCaller, statement: Evaluated, givenUp: AbortSignal): Promise<CatalogueRows>
  close(): void
}

/** Time after which a process that does not stop is killed. */
const GRACE_MS = 1_000
const START_MS = 20_000

/**
 * Opens the catalogue. Each set of datasets has an evaluator, which holds their declarations and no others. The evaluators have a
 * process, which starts with the first statement. See decision 75.
 */
export function openCatalogues(catalog: Pick<Catalog, 'list'>): Catalogues {
  // An entry is replaced by another with each change, also of a description.
  const numbers = new WeakMap<CatalogEntry, number>()
  let entriesSeen = 0
  const numberOf = (entry: CatalogEntry): number => {
    const number = numbers.get(entry) ?? entriesSeen++
    numbers.set(entry, number)
    return number
  }
  const evaluators = createProcess()
  const turns = createLimiter({ concurrency: 1, maxWaiting: 100 })

  const evaluate = async (
    { principal, ...session }: CatalogueCaller,
    statement: Evaluated,
    signal: AbortSignal,
  ): Promise<CatalogueRows> => {
    const entries = catalog.list().filter(({ dataset }) => mayUse(principal, dataset.id))
    const key = entries.map(numberOf).join(' ')
    const variables = { ...session, principal: principal.name }
    const request = { kind: 'evaluate', key, variables, statement } as const
    const reply = await evaluators.call(request, TIMEOUT_MS + GRACE_MS, signal)
    if (reply.kind !== 'unknown') return rowsOf(reply)
    const setup = [...catalogueStatements(entries), ...functionStatements()]
    await evaluators.call({ kind: 'open', key, setup }, START_MS)
    return rowsOf(await evaluators.call(request, TIMEOUT_MS + GRACE_MS, signal))
  }

  return {
    evaluate: (caller, statement, signal) =>
      turns.run(() => evaluate(caller, statement, signal), { owner: caller.principal.name, signal }),
    close: evaluators.close,
  }
}

function rowsOf(reply: Reply): CatalogueRows {
  if (reply.kind === 'rows') return reply
  throw new Error('the evaluators of the catalogue gave no rows')
}

/** The process of the evaluators. It is started again after it was killed. */
function createProcess() {
  let child: ChildProcess | undefined
  const start = (): ChildProcess => {
    // Neither keys nor addresses of databases are in its environment, nor in a file that an option of the service names.
    const { NODE_COMPILE_CACHE: cache } = process.env
    const started = fork(new URL('./process.ts', import.meta.url), {
      env: cache === undefined ? {} : { NODE_COMPILE_CACHE: cache },
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    started.unref()
    started.once('exit', () => forget(started))
    // Requests to a process that has just ended fail by its end. One that runs, and cannot be reached, must not go on by itself.
    started.on('error', () => {
      forget(started)
      started.kill('SIGKILL')
    })
    return started
  }
  const forget = (ended: ChildProcess) => {
    if (child === ended) child = undefined
  }
  return {
    /**
     * Asks the process, which answers one request at a time.
     * @throws WireError if it does not answer in time or needs too much memory
     */
    async call(request: Request, withinMs: number, givenUp?: AbortSignal): Promise<Reply> {
      const isNew = child === undefined
      child ??= start()
      const { promise, resolve, reject } = Promise.withResolvers<Reply>()
      const asked = child
      let late = false
      const kill = () => {
        late = true
        forget(asked)
        asked.kill('SIGKILL')
      }
      const timer = setTimeout(kill, isNew ? withinMs + START_MS : withinMs)
      const ended = () => reject(late ? tookTooLong() : tooLarge())
      const interrupt = () => void asked.send({ kind: 'interrupt' } satisfies Request)
      asked.once('message', resolve)
      asked.once('error', reject)
      asked.once('exit', ended)
      givenUp?.addEventListener('abort', interrupt, { once: true })
      try {
        asked.send(request)
        return requireDone(await promise)
      } finally {
        clearTimeout(timer)
        asked.off('message', resolve)
        asked.off('error', reject)
        asked.off('exit', ended)
        givenUp?.removeEventListener('abort', interrupt)
      }
    },
    close() {
      child?.kill('SIGKILL')
    },
  }
}

/** @throws WireError for a statement that was refused */
function requireDone(reply: Reply): Reply {
  switch (reply.kind) {
    case 'refused':
      throw new WireError(reply.sqlState, reply.message)
    case 'failed':
      throw new Error(reply.message)
    default:
      return reply
  }
}
