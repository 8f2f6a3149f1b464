import type { TopLevelSpec } from 'vega-lite'
import { type Figure, WIDTH } from './figure.ts'
import { FONT_SIZE } from './marks.ts'
import type { Palette } from './theme.ts'

const COLUMNS = 2

/** Size of all views together, without the margins, in pixels. */
export function extentOf({ views, gaps, margins: { left, right } }: Figure) {
  const rows = Math.ceil(views.length / COLUMNS)
  return {
    width: WIDTH - left - right,
    height: rows * (views[0]?.height ?? 0) + (rows - 1) * (gaps?.row ?? 0),
  }
}

/** Vega-Lite specification of the whole plot. */
export function specificationOf({ views, gaps, margins }: Figure, palette: Palette): TopLevelSpec {
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
