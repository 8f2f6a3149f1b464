import { type Figure, headerHeight, headerLayers, WIDTH } from '../figure.ts'
import { FONT_SIZE, texts } from '../marks.ts'
import type { ListPlot } from '../plot.ts'
import { shortened } from '../text.ts'
import type { Palette } from '../theme.ts'

const ROW_HEIGHT = 22
const EDGE = 20
const NUMBER_WIDTH = 28

/** Numbered list of names. */
export function listFigure({ title, items, notes }: ListPlot, palette: Palette): Figure {
  const header = { title, subtitles: notes, legend: [] }
  const margins = { left: EDGE, right: EDGE, top: headerHeight(header), bottom: 16 }
  const width = WIDTH - 2 * EDGE
  const names = items.length === 0 ? ['none'] : items
  const at = (place: number) => (place + 0.5) * ROW_HEIGHT
  return {
    title: shortened(title, 760, 18, true),
    description: [
      ...notes,
      ...items.map((name, place) => `${place + 1}. ${shortened(name, 400, FONT_SIZE)}.`),
    ].join(' '),
    margins,
    views: [
      {
        width,
        height: names.length * ROW_HEIGHT,
        layer: [
          texts(
            items.map((_, place) => ({ x: NUMBER_WIDTH - 8, y: at(place), text: String(place + 1) })),
            { color: palette.muted, align: 'right', middle: true },
          ),
          texts(
            names.map((name, place) => ({
              x: NUMBER_WIDTH,
              y: at(place),
              text: shortened(name, width - NUMBER_WIDTH, FONT_SIZE),
            })),
            { color: palette.text, middle: true },
          ),
          ...headerLayers(header, margins, palette),
        ],
      },
    ],
  }
}
