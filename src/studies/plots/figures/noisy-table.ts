import { entry } from '../../../privacy/must.ts'
import { type Figure, type Header, headerHeight, headerLayers, type LegendEntry, WIDTH } from '../figure.ts'
import {
  along,
  alongTime,
  FONT_SIZE,
  IN_FULL_BELOW,
  type Layer,
  lines,
  type PlacedText,
  type PointStyle,
  pixels,
  pointMark,
  texts,
} from '../marks.ts'
import type { NoisyTablePlot } from '../plot.ts'
import { numberText, numberTextNear, percentText, plainText, shortened, textWidth } from '../text.ts'
import { type Palette, shapes } from '../theme.ts'

/** In pixels. */
const ROW_HEIGHT = 20
const GROUP_GAP = 12
const WIDEST_LABEL = 210
const LABEL_GAP = 12
const EDGE = 20
const RIGHT = 30

type Cell = NoisyTablePlot['cells'][number]

/** A cell and its distance from the frame's top, in pixels. */
interface Row {
  readonly cell: Cell
  /** Index of its category. */
  readonly category: number
  readonly y: number
}

/**
 * Table with one row per cell: the noisy value, its error bar and, if known, the true value. Cells with the same
 * first key are grouped. The other keys are distinguished by colour and shape, or by labels if there are too many.
 */
export function noisyTableFigure(plot: NoisyTablePlot, palette: Palette): Figure {
  const styling = stylingOf(plot, palette)
  const layout = layoutOf(plot, styling)
  const header = headerOf(plot, styling, palette)
  const { left, width, height } = layout
  const margins = { left, right: RIGHT, top: headerHeight(header) + 28, bottom: 64 }
  return {
    title: shortened(plot.title, 760, 18, true),
    description: spoken(plot),
    margins,
    views: [
      {
        width,
        height,
        layer: [
          ...separatorLayers(layout, palette),
          ...valueLayers(plot, styling, layout, palette),
          ...labelLayers(layout, palette),
          ...headerLayers(header, margins, palette),
        ],
      },
    ],
  }
}

/** All values that need a position on the axis. */
function extremesOf({ cells }: NoisyTablePlot): readonly number[] {
  return cells.flatMap(({ value, halfWidth, truth = value }) => [
    value - (halfWidth ?? 0),
    value + (halfWidth ?? 0),
    truth,
  ])
}

/** Method that distinguishes the keys after the first. */
interface Styling {
  /** In the order in which they first appear. */
  readonly categories: readonly string[]
  /** Displayed names. */
  readonly categoryLabels: readonly string[]
  /** True for colour and shape; otherwise, for more than one key, labels. */
  readonly inColour: boolean
  /** Style of each category. */
  readonly styles: readonly PointStyle[]
}

function stylingOf({ cells, keys }: NoisyTablePlot, palette: Palette): Styling {
  const names = new Map(cells.map((cell) => [categoryOf(cell), cell.key.slice(1).join(' · ')]))
  const categories = [...names.keys()]
  const inColour = keys.length > 1 && categories.length <= palette.series.length
  return {
    categories,
    categoryLabels: Array.from(names.values(), (name) => shortened(name, WIDEST_LABEL, FONT_SIZE)),
    inColour,
    styles: categories.map((_, index) => ({
      color: (inColour ? palette.series[index] : undefined) ?? palette.series[0],
      shape: (inColour ? shapes[index] : undefined) ?? shapes[0],
    })),
  }
}

type Layout = ReturnType<typeof layoutOf>

/**
 * Positions of rows and labels in pixels: groups and, unless they are coloured, categories to the left of the frame.
 */
function layoutOf({ cells, keys }: NoisyTablePlot, { categories, categoryLabels, inColour }: Styling) {
  const { rows, groups, height } = rowsOf(cells, categories)
  const labelled = keys.length > 1 && !inColour
  const groupName = shortened(entry(keys, 0), WIDEST_LABEL, FONT_SIZE, true)
  const categoryName = shortened(keys.slice(1).join(' · '), WIDEST_LABEL, FONT_SIZE, true)
  const groupLabels = groups.map(({ name }) => shortened(name, WIDEST_LABEL, FONT_SIZE))
  const categoryWidth = labelled ? widest(categoryName, categoryLabels) + LABEL_GAP : 0
  const left = Math.ceil(EDGE + widest(groupName, groupLabels) + categoryWidth + LABEL_GAP)
  const labelEnd = -LABEL_GAP
  const groupEnd = labelEnd - categoryWidth
  const labels: readonly PlacedText[] = [
    ...groups.map(({ middle, top }, index) => ({
      x: groupEnd,
      y: labelled ? top + ROW_HEIGHT / 2 : middle,
      text: entry(groupLabels, index),
    })),
    ...(labelled
      ? rows.map(({ y, category }) => ({ x: labelEnd, y, text: entry(categoryLabels, category) }))
      : []),
  ]
  const names: readonly PlacedText[] = [
    { x: groupEnd, y: -10, text: groupName },
    ...(labelled ? [{ x: labelEnd, y: -10, text: categoryName }] : []),
  ]
  return { left, width: WIDTH - left - RIGHT, height, rows, groups, labels, names }
}

function headerOf(plot: NoisyTablePlot, styling: Styling, palette: Palette): Header {
  const { title, cells, confidence } = plot
  const { inColour, styles, categoryLabels } = styling
  const interval = hasBars(cells) ? percentText(confidence) : undefined
  const values: readonly LegendEntry[] = inColour
    ? styles.map((point, index) => ({ label: entry(categoryLabels, index), point }))
    : styles.slice(0, 1).map((point) => ({ label: plot.wording?.legend ?? 'noisy value', point }))
  return {
    title,
    subtitles: [...(plot.notes ?? []), plot.wording?.subtitle ?? subtitleOf(plot, inColour, interval)],
    legend: [
      ...values,
      ...(interval === undefined
        ? []
        : [{ label: `${interval} interval`, line: { color: palette.muted, width: 2 } }]),
      ...(hasTruths(cells) ? [{ label: 'true value (synthetic data)', point: truthStyle(palette) }] : []),
    ],
  }
}

function subtitleOf({ keys }: NoisyTablePlot, inColour: boolean, interval: string | undefined): string {
  const values = interval === undefined ? 'Noisy values' : `Noisy values with their ${interval} intervals`
  const by = `by ${plainText(entry(keys, 0))} and ${plainText(keys.slice(1).join(' · '))}`
  return inColour ? `${values}, ${by}` : values
}

function hasBars(cells: readonly Cell[]): boolean {
  return cells.some(({ halfWidth }) => halfWidth !== null)
}

function hasTruths(cells: readonly Cell[]): boolean {
  return cells.some(({ truth }) => truth !== undefined)
}

function truthStyle({ text }: Palette): PointStyle {
  return { color: text, shape: 'diamond', filled: false, size: 110 }
}

function axisOf(plot: NoisyTablePlot, { width }: Layout) {
  const { from, to } = plot.times
    ? spanOf(extremesOf(plot))
    : reach(extremesOf(plot), plot.name !== undefined && plot.cells.length === 1)
  const name = plot.name === undefined ? 'Noisy value' : shortened(plot.name, 300, 13)
  if (plot.times) return alongTime({ title: `${name} (UTC)`, from, to, width })
  const isUnit = plot.unit === undefined || plot.unit === plot.name
  return along({
    title: isUnit ? name : `${name} (${shortened(plot.unit ?? '', 200, 13)})`,
    from,
    to,
    round: true,
    tickCount: Math.ceil(width / 90),
    mostInFull: IN_FULL_BELOW,
    grid: true,
  })
}

/** For each style the error bars and the noisy values, and above them all true values. */
function valueLayers(plot: NoisyTablePlot, { inColour, styles }: Styling, layout: Layout, palette: Palette) {
  const x = axisOf(plot, layout)
  const y = pixels('y')
  const tooltip = { field: 'told', type: 'nominal' } as const
  const tell = (cell: Cell) => (plot.times ? spokenTime(cell) : spokenCell(cell, plot.unit))
  const marked = styles.flatMap((style, index) => {
    const rows = layout.rows.filter(({ category }) => (inColour ? category === index : index === 0))
    const bars = rows.flatMap(({ y, cell }) => {
      const { value, halfWidth } = cell
      if (halfWidth === null) return []
      return [{ y, lower: value - halfWidth, upper: value + halfWidth, told: tell(cell) }]
    })
    const points = rows.map(({ y, cell }) => ({ y, value: cell.value, told: tell(cell) }))
    const barMark = { type: 'rule', color: style.color, strokeWidth: 2 } as const
    return [
      ...layersOf(bars, barMark, { x: x('lower'), x2: { field: 'upper' }, y, tooltip }),
      ...layersOf(points, pointMark(style), { x: x('value'), y, tooltip }),
    ]
  })
  const truths = layout.rows.flatMap(({ y, cell: { truth } }) => (truth === undefined ? [] : [{ y, truth }]))
  return [...marked, ...layersOf(truths, pointMark(truthStyle(palette)), { x: x('truth'), y })]
}

type Marks = Extract<Layer, { mark: unknown }>

/** The layer of these values, unless there are none. */
function layersOf(
  values: readonly object[],
  mark: Marks['mark'],
  encoding: NonNullable<Marks['encoding']>,
): readonly Layer[] {
  return values.length === 0 ? [] : [{ data: { values: [...values] }, mark, encoding }]
}

function separatorLayers({ groups, left, width }: Layout, { grid }: Palette): readonly Layer[] {
  if (groups.length === 1) return []
  const separators = groups.slice(1).map(({ top }) => {
    const y = top - GROUP_GAP / 2
    return { x: EDGE - left, x2: width, y, y2: y }
  })
  return [lines(separators, { color: grid })]
}

function labelLayers({ labels, names }: Layout, { text }: Palette): readonly Layer[] {
  return [
    texts(labels, { color: text, align: 'right', middle: true }),
    texts(names, { color: text, align: 'right', bold: true }),
  ]
}

/** Different names never give the same category, even if they contain special characters. */
function categoryOf({ key }: Cell): string {
  return JSON.stringify(key.slice(1))
}

/**
 * Position of each cell, in pixels from the frame's top: groups and categories in the order in which they first
 * appear.
 */
function rowsOf(cells: readonly Cell[], categories: readonly string[]) {
  const rows: Row[] = []
  const groups: { readonly name: string; readonly top: number; readonly middle: number }[] = []
  let top = GROUP_GAP / 2
  for (const [name, members] of Map.groupBy(cells, ({ key }) => entry(key, 0))) {
    const sorted = members
      .map((cell) => ({ cell, category: categories.indexOf(categoryOf(cell)) }))
      .sort((one, other) => one.category - other.category)
    rows.push(...sorted.map((row, index) => ({ ...row, y: top + (index + 0.5) * ROW_HEIGHT })))
    groups.push({ name, top, middle: top + (sorted.length * ROW_HEIGHT) / 2 })
    top += sorted.length * ROW_HEIGHT + GROUP_GAP
  }
  return { rows, groups, height: top - GROUP_GAP / 2 }
}

function widest(name: string, labels: readonly string[]): number {
  return Math.max(textWidth(name, FONT_SIZE, true), ...labels.map((label) => textWidth(label, FONT_SIZE)))
}

/** From the least to the greatest value, extended to 0 unless that would compress the values. */
function reach(extremes: readonly number[], single: boolean): { readonly from: number; readonly to: number } {
  const [least, greatest] = [Math.min(...extremes), Math.max(...extremes)]
  const from = least > 0 && least <= 0.75 * greatest ? 0 : least
  const to = greatest < 0 && greatest >= 0.75 * least ? 0 : greatest
  if (from === to) return { from: from - 1, to: to + 1 }
  // The bar of a single value would otherwise fill the frame.
  return single ? padded(from, to) : { from, to }
}

function padded(from: number, to: number): { readonly from: number; readonly to: number } {
  const margin = (to - from) / 20
  return { from: from - margin, to: to + margin }
}

/** From the first to the last instant, or the days about a single one. */
function spanOf(extremes: readonly number[]): { readonly from: number; readonly to: number } {
  const [from, to] = [Math.min(...extremes), Math.max(...extremes)]
  return from < to ? padded(from, to) : { from: from - MILLISECONDS_PER_DAY, to: to + MILLISECONDS_PER_DAY }
}

const MILLISECONDS_PER_DAY = 86_400_000

function spoken(plot: NoisyTablePlot): string {
  const { cells, confidence, unit, notes = [], times } = plot
  const bars = hasBars(cells) ? ` with their ${percentText(confidence)} intervals` : ''
  const truths = hasTruths(cells) ? ' and the true values of synthetic data' : ''
  const each = cells.map((cell) => (times ? spokenTime(cell) : spokenCell(cell, unit)))
  const sentences = notes.map((note) => (/[.!?]$/.test(note) ? note : `${note}.`))
  const values = plot.wording === undefined ? `Noisy values${bars}${truths}` : plot.wording.subtitle
  return [`${values}.`, ...sentences.map(plainText), ...each].join(' ')
}

function spokenTime({ key, value, halfWidth }: Cell): string {
  const around =
    halfWidth === null ? '' : `, from ${timeText(value - halfWidth)} to ${timeText(value + halfWidth)}`
  return `${spokenKey(key)}: ${timeText(value)}${around}.`
}

/** An instant for display: a date, and the time of day unless it is midnight. */
function timeText(milliseconds: number): string {
  return new Date(Math.round(milliseconds))
    .toISOString()
    .replace('T00:00:00.000Z', '')
    .replace(/\.\d+Z$/, 'Z')
}

function spokenKey(key: readonly string[]): string {
  return key.map((part) => shortened(part, 400, FONT_SIZE)).join(', ')
}

function spokenCell({ key, value, halfWidth, truth }: Cell, unit: string | undefined): string {
  const inUnit = unit === undefined ? '' : ` ${plainText(unit)}`
  const near = (number: number) => numberTextNear(number, halfWidth ?? 0)
  const around = halfWidth === null ? '' : ` ± ${numberText(halfWidth)}`
  const truly = truth === undefined ? '' : `, true value ${near(truth)}`
  return `${spokenKey(key)}: ${near(value)}${around}${inUnit}${truly}.`
}
