import { type Loader, parse, Error as reportErrors, type Spec, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import { entry } from '../../privacy/must.ts'
import { type Figure, WIDTH } from './figure.ts'
import { answerDistributionFigure } from './figures/answer-distribution.ts'
import { listFigure } from './figures/list.ts'
import { noiseComparisonFigure } from './figures/noise-comparison.ts'
import { noisyTableFigure } from './figures/noisy-table.ts'
import { riskFigure } from './figures/risk.ts'
import { timeSeriesFigure } from './figures/time-series.ts'
import { FONT_SIZE } from './marks.ts'
import type { Plot, Theme } from './plot.ts'
import { plainText } from './text.ts'
import { type Palette, palettes } from './theme.ts'

/**
 * Draws plots below each other as one SVG: 800 pixels wide, on an opaque background, with a title and a description for
 * screen readers, without scripts or external resources. The same plots and theme give the same bytes.
 *
 * Loading this module loads Vega, which takes a tenth of a second. Drawing takes tens of milliseconds. Both belong in a
 * worker thread. See decision 22.
 *
 * @param plots at least one
 */
export async function drawPanels(plots: readonly Plot[], theme: Theme): Promise<string> {
  const panels: Panel[] = []
  for (const plot of plots) {
    const figure = figureOf(plot, palettes[theme])
    panels.push({ figure, drawing: await drawFigure(figure, theme) })
  }
  return framed(panels)
}

/** A plot for a page that draws it itself. */
export interface InteractivePlot {
  readonly title: string
  /** Text for screen readers. */
  readonly description: string
  /** Vega specification with all data. The marks of a table's values have tooltips. */
  readonly specification: Spec
}

/** Compiles plots for a page that draws them with Vega. */
export function interactivePlots(plots: readonly Plot[], theme: Theme): readonly InteractivePlot[] {
  return plots.map((plot) => {
    const figure = figureOf(plot, palettes[theme])
    const { title, description } = figure
    return {
      title: plainText(title),
      description: plainText(description),
      specification: vegaOf(figure, theme),
    }
  })
}

/** Compiles a figure to Vega. */
function vegaOf(figure: Figure, theme: Theme): Spec {
  const { spec } = compile(specificationOf(figure, palettes[theme]))
  // Views side by side have no common size unless it is given.
  return { ...spec, ...extentOf(figure) }
}

const COLUMNS = 2

/** Size of all views together, without the margins, in pixels. */
function extentOf({ views, gaps, margins: { left, right } }: Figure) {
  const rows = Math.ceil(views.length / COLUMNS)
  return {
    width: WIDTH - left - right,
    height: rows * entry(views, 0).height + (rows - 1) * (gaps?.row ?? 0),
  }
}

/** Vega-Lite specification of the whole plot. */
function specificationOf({ views, gaps, margins }: Figure, palette: Palette): TopLevelSpec {
  return {
    // Vega can only estimate the width of text, so nothing is left to its layout.
    autosize: 'none',
    bounds: 'flush',
    padding: { ...margins },
    background: palette.background,
    columns: COLUMNS,
    spacing: gaps ?? 0,
    concat: views.map((view) => ({ ...view })),
    config: {
      aria: false,
      font: 'sans-serif',
      view: { stroke: null },
      axis: {
        labelColor: palette.text,
        titleColor: palette.text,
        gridColor: palette.grid,
        domainColor: palette.muted,
        tickColor: palette.muted,
        labelFontSize: FONT_SIZE,
        titleFontSize: 13,
        titleFontWeight: 'normal',
        labelPadding: 4,
      },
      axisX: { minExtent: 20, maxExtent: 20, titlePadding: 10, labelFlush: false, labelBound: 29 },
      axisY: { minExtent: 54, maxExtent: 54, titlePadding: 6 },
    },
  }
}

/** Draws a figure, without a root element. */
async function drawFigure(figure: Figure, theme: Theme): Promise<string> {
  const view = new View(parse(vegaOf(figure, theme)), {
    renderer: 'none',
    logLevel: reportErrors,
    loader: NOTHING_TO_LOAD,
  })
  try {
    const svg = await view.toSVG()
    return svg.slice(svg.indexOf('>') + 1, svg.lastIndexOf('</svg>'))
  } finally {
    view.finalize()
  }
}

const refuse = () => Promise.reject(new Error('a plot must not load external resources'))

const NOTHING_TO_LOAD: Loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse }

interface Panel {
  readonly figure: Figure
  readonly drawing: string
}

/** Drawings below each other in a root element with title and description. */
function framed(panels: readonly Panel[]): string {
  let height = 0
  const drawings = panels.map(({ figure, drawing }) => {
    const { top, bottom } = figure.margins
    const placed = height === 0 ? drawing : `<g transform="translate(0,${height})">${drawing}</g>`
    height += extentOf(figure).height + top + bottom
    return placed
  })
  const title = [...new Set(panels.map(({ figure }) => figure.title))].join('; ')
  const description = panels
    .map((panel) => (panels.length === 1 ? '' : `${panel.figure.title}. `) + panel.figure.description)
    .join(' ')
  const root = `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}">`
  return `${root}<title>${escaped(title)}</title><desc>${escaped(description)}</desc>${drawings.join('')}</svg>`
}

function escaped(text: string): string {
  return plainText(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Figure of a plot, with positions and colours. */
function figureOf(plot: Plot, palette: Palette): Figure {
  switch (plot.plot) {
    case 'risk':
      return riskFigure(plot, palette)
    case 'noise-comparison':
      return noiseComparisonFigure(plot, palette)
    case 'answer-distribution':
      return answerDistributionFigure(plot, palette)
    case 'noisy-table':
      return noisyTableFigure(plot, palette)
    case 'time-series':
      return timeSeriesFigure(plot, palette)
    case 'list':
      return listFigure(plot, palette)
  }
}
