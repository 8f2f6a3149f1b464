import { registerHooks } from 'node:module'
import type { MessagePort } from 'node:worker_threads'
import { writeDummyFile } from '../dummy/file.ts'
import { evaluateBatch, evaluateQuery } from '../evaluation/evaluation.ts'
import type { BatchEvaluationInput, EvaluationInput } from '../evaluation/input.ts'
import { compareMechanisms, type Workload } from '../mechanisms/compare.ts'
import { systemEntropy } from '../mechanisms/samplers/entropy.ts'
import type { Theme } from '../plots/plot.ts'
import { Refusal, refuseField } from '../privacy/refusal.ts'
import { epsilonOfColumns, riskOfColumns } from '../risk/columns.ts'
import { loadParser, ParserFailure, parseStatement } from '../sql/parser.ts'
import { type Picture, plotsOf } from './plots.ts'

/* Computations of the thread pool. Each export is one computation. Input and result are passed as structured clones. */

// Killing a thread while one of its modules awaits at top level ends the whole process (V8 in Node 24). Vega's canvas
// for Node is such a module. Its canvas for browsers is not, and no canvas is used here.
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    if (specifier !== 'vega-canvas') return found
    return { ...found, url: found.url.replace('.node.js', '.browser.js') }
  },
})

/** Argument with which the pool calls a computation. */
interface Call<Input> {
  readonly input: Input
  /** Port for progress messages. */
  readonly progress: MessagePort
}

/** A progress message. */
export type WorkerMessage =
  | { readonly kind: 'begun' }
  | { readonly kind: 'progress'; readonly progress: unknown }
  /** The thread must be killed, because its state may be damaged. The computation never ends. */
  | { readonly kind: 'damaged'; readonly refused: RefusalParts }

/** Parts of a refusal. An error loses its class when it leaves a thread. */
type RefusalParts = Required<ConstructorParameters<typeof Refusal>>

type Outcome<Result> = { readonly result: Result } | { readonly refused: RefusalParts }

function partsOf({ code, message, errors, facts }: Refusal): RefusalParts {
  return [code, message, errors, facts]
}

/**
 * @param load loads the modules that the thread's first computation of its kind needs, outside its time limit
 * @param refusalOfDamage returns the refusal for an error after which the thread must not be used again
 */
function computation<Input, Result>(
  compute: (input: Input, onProgress: (progress: unknown) => void) => Result | Promise<Result>,
  load: () => Promise<unknown> = async () => {},
  refusalOfDamage: (error: unknown) => Refusal | undefined = () => undefined,
) {
  return async ({ input, progress }: Call<Input>): Promise<Outcome<Result>> => {
    const tell = (message: WorkerMessage) => progress.postMessage(message)
    await load()
    tell({ kind: 'begun' })
    try {
      return { result: await compute(input, (made) => tell({ kind: 'progress', progress: made })) }
    } catch (error) {
      if (error instanceof Refusal) return { refused: partsOf(error) }
      const damage = refusalOfDamage(error)
      if (damage === undefined) throw error
      tell({ kind: 'damaged', refused: partsOf(damage) })
      return new Promise(() => {})
    }
  }
}

/** Computes the information of an adversary about the released people. */
export const risk = computation(riskOfColumns)

/** Compares mechanisms. The result is the JSON of a request and its comparison, as for an evaluation. */
export const comparison = computation(
  ({ request, workload }: { readonly request: object; readonly workload: Workload }): string =>
    JSON.stringify({ ...request, ...compareMechanisms(workload) }),
)

/** Computes the epsilons that an accepted risk allows. */
export const epsilon = computation(epsilonOfColumns)

const loadDrawing = () => import('../plots/draw.ts')

/** Draws a picture as SVG. Drawing code is loaded with the first plot. */
export const draw = computation(
  async ({ picture, theme }: { readonly picture: Picture; readonly theme: Theme }) => {
    const plots = await plotsOf(picture, systemEntropy())
    const { drawPanels } = await loadDrawing()
    return drawPanels(plots, theme)
  },
  loadDrawing,
)

/** Compiles a picture for a page that draws it itself. The result is JSON. */
export const interactivePicture = computation(
  async ({ picture, theme }: { readonly picture: Picture; readonly theme: Theme }): Promise<string> => {
    const plots = await plotsOf(picture, systemEntropy())
    const { interactivePlots } = await loadDrawing()
    return JSON.stringify({ panels: interactivePlots(plots, theme) })
  },
  loadDrawing,
)

/** Evaluates a query. The result is JSON, which is faster to transfer than the objects. */
export const evaluation = computation(async (input: EvaluationInput, onProgress): Promise<string> => {
  const { runs, shown } = input
  return JSON.stringify(await evaluateQuery(input, { runs, shown, noiseSource: systemEntropy(), onProgress }))
})

/** Evaluates the queries of a batch. The result is JSON, as for one query. */
export const batchEvaluation = computation(
  async (input: BatchEvaluationInput, onProgress): Promise<string> => {
    const { runs, shown } = input
    return JSON.stringify(
      await evaluateBatch(input, { runs, shown, noiseSource: systemEntropy(), onProgress }),
    )
  },
)

/** Parses a SQL statement. */
export const sql = computation(
  ({ statement }: { readonly statement: string }) => parseStatement(statement),
  loadParser,
  (error) =>
    error instanceof ParserFailure
      ? refuseField(
          'sql-not-supported',
          'sql',
          'could not be parsed. Write a shorter statement, with less nesting.',
        )
      : undefined,
)
/** Writes made-up rows to a file. */
export const dummyFile = computation(writeDummyFile)
