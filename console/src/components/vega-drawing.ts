import { type Loader, parse, Error as reportErrors, type Spec, View } from 'vega'
import { expressionInterpreter } from 'vega-interpreter'

/*
 * Vega, in a chunk of its own that is loaded with the first chart. The content security policy forbids `eval`, so expressions are
 * interpreted.
 */

const refuse = () => Promise.reject(new Error('a chart loads nothing'))
const NOTHING_TO_LOAD: Loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse }

/**
 * Draws a chart into an element, with tooltips.
 * @returns a function that removes it
 * @throws Error for a specification that Vega cannot draw
 */
export async function drawSpecification(container: HTMLElement, specification: Spec): Promise<() => void> {
  const view = new View(parse(specification, undefined, { ast: true }), {
    expr: expressionInterpreter,
    container,
    renderer: 'svg',
    hover: true,
    logLevel: reportErrors,
    loader: NOTHING_TO_LOAD,
  })
  await view.runAsync()
  return () => view.finalize()
}
