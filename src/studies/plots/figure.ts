import { FONT_SIZE, type LineStyle, lines, type PointStyle, points, texts, type View } from './marks.ts'
import { shortened, textWidth } from './text.ts'
import type { Palette } from './theme.ts'

/** Width of every plot in pixels. */
export const WIDTH = 800

/** Pixels between the edge of the SVG and the frames of its views. */
export interface Margins {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/** A plot with its positions and colours, before it is drawn. */
export interface Figure {
  /** Title for screen readers. */
  readonly title: string
  /** Description for screen readers. */
  readonly description: string
  readonly margins: Margins
  /** Views of equal size, two per row if there are several. */
  readonly views: readonly View[]
  /** Pixels between the frames of views. */
  readonly gaps?: { readonly row: number; readonly column: number }
}

/** An entry of the legend: its sample and its name. */
export interface LegendEntry {
  readonly label: string
  readonly line?: LineStyle
  readonly point?: PointStyle
  /** Colour of an area. */
  readonly area?: string
}

/** Content above the views. */
export interface Header {
  readonly title: string
  readonly subtitles: readonly string[]
  readonly legend: readonly LegendEntry[]
}

const EDGE = 20
const TITLE_SIZE = 18
const TITLE_BASELINE = 34
const LINE_HEIGHT = 20
const LINE_SAMPLE = 32
const POINT_SAMPLE = 14
const SAMPLE_GAP = 8
const ENTRY_GAP = 24
const LONGEST_ENTRY = 260

/** Height of the header. */
export function headerHeight(header: Header): number {
  const { rows } = legendPlaces(header.legend)
  return TITLE_BASELINE + (header.subtitles.length + rows) * LINE_HEIGHT + (rows > 0 ? 10 : 0) + 12
}

/** Layers of the header for a view whose frame begins at `margins`. */
export function headerLayers(header: Header, { left, top }: Pick<Margins, 'left' | 'top'>, palette: Palette) {
  const at = (x: number, y: number) => ({ x: x - left, y: y - top })
  const widest = WIDTH - 2 * EDGE
  const legendTop = TITLE_BASELINE + header.subtitles.length * LINE_HEIGHT + 10
  const entries = legendPlaces(header.legend).places.map((place) => ({
    ...place,
    middle: legendTop + place.row * LINE_HEIGHT + LINE_HEIGHT / 2,
  }))
  return [
    texts([{ ...at(EDGE, TITLE_BASELINE), text: shortened(header.title, widest, TITLE_SIZE, true) }], {
      color: palette.text,
      fontSize: TITLE_SIZE,
      bold: true,
    }),
    texts(
      header.subtitles.map((subtitle, index) => ({
        ...at(EDGE, TITLE_BASELINE + 2 + (index + 1) * LINE_HEIGHT),
        text: shortened(subtitle, widest, 13),
      })),
      { color: palette.muted, fontSize: 13 },
    ),
    ...entries.flatMap(({ entry, x, middle }) => sample(entry, at(x, middle))),
    texts(
      entries.map(({ entry, label, x, middle }) => ({
        ...at(x + sampleWidth(entry) + SAMPLE_GAP, middle),
        text: label,
      })),
      { color: palette.text, middle: true },
    ),
  ]
}

function legendPlaces(legend: readonly LegendEntry[]) {
  let [x, row] = [EDGE, 0]
  const places = legend.map((entry) => {
    const label = shortened(entry.label, LONGEST_ENTRY, FONT_SIZE)
    const width = sampleWidth(entry) + SAMPLE_GAP + textWidth(label, FONT_SIZE)
    if (x > EDGE && x + width > WIDTH - EDGE) [x, row] = [EDGE, row + 1]
    const place = { entry, label, x, row }
    x += width + ENTRY_GAP
    return place
  })
  return { places, rows: legend.length === 0 ? 0 : row + 1 }
}

function sampleWidth({ line, area }: LegendEntry): number {
  return line === undefined && area === undefined ? POINT_SAMPLE : LINE_SAMPLE
}

function sample(entry: LegendEntry, { x, y }: { readonly x: number; readonly y: number }) {
  const { line, point, area } = entry
  const width = sampleWidth(entry)
  const across = { x, x2: x + width, y, y2: y }
  return [
    ...(area === undefined ? [] : [lines([across], { color: area, width: 12 })]),
    ...(line === undefined ? [] : [lines([across], line)]),
    ...(point === undefined ? [] : [points([{ x: x + width / 2, y }], point)]),
  ]
}

/** A label above the frame, with a pole down to the frame's lower edge. */
export interface Flag {
  /** In pixels from the frame's left edge. */
  readonly x: number
  readonly label: string
  readonly line: LineStyle
}

export const FLAG_HEIGHT = 18
const FLAG_GAP = 5

/**
 * Flags above a view, one per row, placed so that no label leaves the frame or is crossed by another's pole if
 * possible.
 *
 * @param flags at most five, because every order of them is tried
 */
export function flagLayers(flags: readonly Flag[], { width, height }: Pick<View, 'width' | 'height'>) {
  const labelled = flags.map((flag) => {
    const label = shortened(flag.label, width / 2 - FLAG_GAP, FONT_SIZE)
    return { ...flag, label, extent: textWidth(label, FONT_SIZE) + FLAG_GAP }
  })
  let best = {
    flaws: Number.POSITIVE_INFINITY,
    flags: labelled.map((flag) => ({ ...flag, flies: 1, row: 0 })),
  }
  for (const order of ordersOf(labelled))
    for (let directions = 0; directions < 2 ** order.length; directions++) {
      const candidate = order.map((flag, row) => ({ ...flag, row, flies: directions & (1 << row) ? -1 : 1 }))
      const flaws = flawsOf(candidate, width)
      if (flaws < best.flaws) best = { flaws, flags: candidate }
    }
  return best.flags.flatMap(({ x, label, line, flies, row }) => {
    const baseline = -8 - row * FLAG_HEIGHT
    return [
      lines([{ x, x2: x, y: baseline - 10, y2: height }], line),
      texts([{ x: x + flies * FLAG_GAP, y: baseline, text: label }], {
        color: line.color,
        align: flies > 0 ? 'left' : 'right',
      }),
    ]
  })
}

/** All orders of the flags. */
function ordersOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length <= 1) return [items]
  return items.flatMap((item, index) =>
    ordersOf(items.toSpliced(index, 1)).map((others) => [item, ...others]),
  )
}

/**
 * Pixels of labels outside the frame, and the number of labels that are crossed by the pole of a flag in a higher
 * row.
 */
function flawsOf(
  flags: readonly {
    readonly x: number
    readonly extent: number
    readonly flies: number
    readonly row: number
  }[],
  width: number,
): number {
  let flaws = 0
  for (const { x, extent, flies, row } of flags) {
    const [from, to] = flies > 0 ? [x, x + extent] : [x - extent, x]
    flaws += Math.max(0, -from) + Math.max(0, to - width)
    flaws += flags.filter((other) => other.row > row && other.x > from && other.x < to).length
  }
  return flaws
}
