import { type Loader, parse, Error as reportErrors, View } from 'vega'
import { compile } from 'vega-lite'
import { type Figure, WIDTH } from './figure.ts'
import type { Plot, Theme } from './plot.ts'
import { figureOf } from './plot-figure.ts'
import { extentOf, specificationOf } from './specification.ts'
import { plainText } from './text.ts'
import { palettes } from './theme.ts'

/**
 * Draws a plot as SVG: 800 pixels wide, on an opaque background, with a title and a description for screen readers,
 * without scripts or external resources. The same plot and theme give the same bytes.
 *
 * Loading this module loads Vega, which takes a tenth of a second. Drawing takes tens of milliseconds. Both belong in a
 * worker thread.
 *
 * @throws RangeError for a plot that cannot be drawn: too many or too few figures, or figures that are not finite.
 */
export async function drawPlot(plot: Plot, theme: Theme): Promise<string> {
  const palette = palettes[theme]
  const figure = figureOf(plot, palette)
  const { spec } = compile(specificationOf(figure, palette))
  // Views side by side have no common size unless it is given.
  const view = new View(parse({ ...spec, ...extentOf(figure) }), {
    renderer: 'none',
    logLevel: reportErrors,
    loader: NOTHING_TO_LOAD,
  })
  try {
    return framed(await view.toSVG(), figure)
  } finally {
    view.finalize()
  }
}

const refuse = () => Promise.reject(new Error('a plot must not load external resources'))

const NOTHING_TO_LOAD: Loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse }

/** The drawing in a root element with title and description. */
function framed(svg: string, figure: Figure): string {
  const { top, bottom } = figure.margins
  const height = extentOf(figure).height + top + bottom
  const drawing = svg.slice(svg.indexOf('>') + 1)
  const root = `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}">`
  return `${root}<title>${escaped(figure.title)}</title><desc>${escaped(figure.description)}</desc>${drawing}`
}

function escaped(text: string): string {
  return plainText(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
