import { registerHooks } from 'node:module'
import { tablesOfRelease } from '../answers/documents/tables.ts'
import { systemEntropy } from '../core/mechanisms/samplers/entropy.ts'
import { readBody } from '../platform/bodies/validation.ts'
import { computation } from '../platform/threads/computation.ts'
import { evaluateBatch, evaluateQuery } from './evaluation/evaluation.ts'
import type { BatchEvaluationInput, EvaluationInput } from './evaluation/input.ts'
import { compareMechanisms, type Workload } from './plots/compare.ts'
import { type Picture, plotsOf } from './plots/picture.ts'
import type { Theme } from './plots/plot.ts'
import { epsilonOfColumns, riskOfColumns } from './risk/columns.ts'

/* The computations of threads. Each export is one computation. Input and result are passed as structured clones. */

// Killing a thread while one of its modules awaits at top level ends the whole process (V8 in Node 24). Vega's canvas
// for Node is such a module. Its canvas for browsers is not, and no canvas is used here.
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    if (specifier !== 'vega-canvas') return found
    return { ...found, url: found.url.replace('.node.js', '.browser.js') }
  },
})

const loadRiskRequests = () => import('../../schemas/studies/risk.ts')

/** Computes the information of an adversary about the released people. Reads a body, and returns a report as JSON. */
export const risk = computation(async (body: string | undefined): Promise<string> => {
  const { riskRequest } = await loadRiskRequests()
  const { universe, ...question } = readBody(riskRequest, body)
  const { released, query, changed, epsilon } = question
  const columns = riskOfColumns({ columns: universe, ...question })
  return JSON.stringify({ released, query, changed, epsilon, columns })
}, loadRiskRequests)

/** Compares mechanisms. The result is the JSON of a request and its comparison, as for an evaluation. */
export const comparison = computation(
  ({ request, workload }: { readonly request: object; readonly workload: Workload }): string =>
    JSON.stringify({ ...request, ...compareMechanisms(workload) }),
)

/** Computes the epsilons that an accepted risk allows. Reads a body, and returns a report as JSON. */
export const epsilon = computation(async (body: string | undefined): Promise<string> => {
  const { epsilonRequest } = await loadRiskRequests()
  const { universe, ...question } = readBody(epsilonRequest, body)
  const { released, query, changed, risk } = question
  const columns = epsilonOfColumns({ columns: universe, ...question })
  return JSON.stringify({ released, query, changed, risk, columns })
}, loadRiskRequests)

const loadDrawing = () => import('./plots/draw.ts')

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

/** Estimates the tables of a stored release of marginals. */
export const tables = computation(
  ({ stored, only }: { readonly stored: string; readonly only?: string | undefined }) =>
    tablesOfRelease(stored, only),
)

/** Evaluates a query. The result is JSON, which is faster to transfer than the objects. */
export const evaluation = computation(async (input: EvaluationInput, onProgress) =>
  JSON.stringify(await evaluateQuery(input, { ...input, noiseSource: systemEntropy(), onProgress })),
)

/** Evaluates the queries of a batch. The result is JSON, as for one query. */
export const batchEvaluation = computation(async (input: BatchEvaluationInput, onProgress) =>
  JSON.stringify(await evaluateBatch(input, { ...input, noiseSource: systemEntropy(), onProgress })),
)
