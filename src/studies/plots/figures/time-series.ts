import { entry } from '../../../privacy/must.ts'
import { type Figure, type Header, headerHeight, headerLayers } from '../figure.ts'
import { along, FONT_SIZE, IN_FULL_BELOW, IN_FULL_BESIDE, type Layer, pointMark, stroke } from '../marks.ts'
import type { TimeSeriesPlot } from '../plot.ts'
import { numberTextNear, percentText, plainText, shortened, textWidth } from '../text.ts'
import { dashes, type Palette, shapes } from '../theme.ts'

const FRAME = { width: 692, height: 320 }

/** With more, a point for each period would hide the lines. */
const MOST_SHAPES = 40

/** Pixels by which a label may leave the frame. */
const OVERHANG = 16

const BAND_OPACITY = 0.16

type Line = TimeSeriesPlot['lines'][number]
type Point = Line['points'][number]

/** Lines over time, or over numbers, with bands of the values within the half-width. */
export function timeSeriesFigure(plot: TimeSeriesPlot, palette: Palette): Figure {
  const header = headerOf(plot, palette)
  const margins = { left: 84, right: 24, top: headerHeight(header) + 12, bottom: 64 }
  return {
    title: shortened(plot.title, 760, 18, true),
    description: spoken(plot),
    margins,
    views: [{ ...FRAME, layer: [...seriesLayers(plot, palette), ...headerLayers(header, margins, palette)] }],
  }
}

function styleOf(place: number, { series, text }: Palette) {
  const color = series[place] ?? text
  return {
    line: { color, width: 2.2, dash: entry(dashes, place) },
    point: { color, shape: entry(shapes, place), size: 32 },
  }
}

function headerOf(plot: TimeSeriesPlot, palette: Palette): Header {
  const { title, lines, notes, confidence } = plot
  const hasBands = lines.some(({ points }) => points.some(({ around }) => around !== undefined))
  const bands = ` with their ${percentText(confidence)} intervals, cut at the declared range`
  return {
    title,
    subtitles: [...notes, `Noisy values${hasBands ? bands : ''}`],
    legend:
      lines.length < 2 ? [] : lines.map(({ name }, place) => ({ label: name, ...styleOf(place, palette) })),
  }
}

function seriesLayers(plot: TimeSeriesPlot, palette: Palette): readonly Layer[] {
  const x = acrossOf(plot)('at')
  const y = upOf(plot)
  const tooltip = { field: 'told', type: 'nominal' } as const
  const bands = plot.lines.map(({ points }, place): Layer => {
    const values = points.flatMap(({ at, around }) =>
      around === undefined ? [] : [{ at, lower: around[0], upper: around[1] }],
    )
    const { color } = styleOf(place, palette).line
    return {
      data: { values },
      mark: { type: 'area', color, opacity: BAND_OPACITY },
      encoding: { x, y: y('lower'), y2: { field: 'upper' } },
    }
  })
  const lines = plot.lines.flatMap((line, place): readonly Layer[] => {
    const { points } = line
    const values = points.map((point) => ({ ...point, told: spokenPoint(plot, line, point) }))
    const { line: style, point } = styleOf(place, palette)
    const size = points.length <= MOST_SHAPES ? point.size : 4
    return [
      { data: { values }, mark: { type: 'line', ...stroke(style) }, encoding: { x, y: y('value') } },
      { data: { values }, mark: pointMark({ ...point, size }), encoding: { x, y: y('value'), tooltip } },
    ]
  })
  return [...bands, ...lines]
}

/** Axis of numbers, or with the names of as many periods as fit, below their points. The service made the names. */
function acrossOf({ lines, over, from, to }: TimeSeriesPlot) {
  if (over !== undefined)
    return along({
      title: shortened(over, 600, 13),
      from,
      to,
      round: false,
      tickCount: 8,
      mostInFull: IN_FULL_BELOW,
      grid: true,
    })
  const names = new Map(lines.flatMap(({ points }) => points.map(({ at, period }) => [at, period])))
  const periods = [...names].toSorted(([one], [other]) => one - other)
  const widest = Math.max(...periods.map(([, name]) => textWidth(name, FONT_SIZE))) + 12
  const place = (at: number) => ((at - from) * FRAME.width) / (to - from)
  const labelled: (readonly [number, string])[] = []
  for (const period of periods) {
    const [before] = labelled.at(-1) ?? [Number.NEGATIVE_INFINITY]
    const isInside = Math.abs(place(period[0]) - FRAME.width / 2) <= FRAME.width / 2 + OVERHANG - widest / 2
    if (isInside && place(period[0]) - place(before) >= widest) labelled.push(period)
  }
  return (field: string) => ({
    field,
    type: 'quantitative' as const,
    scale: { domain: [from, to], nice: false, zero: false },
    axis: {
      title: 'Time (UTC)',
      values: labelled.map(([at]) => at),
      grid: true,
      labelExpr: `(${JSON.stringify(Object.fromEntries(labelled))})[datum.value]`,
    },
  })
}

/** Axis from the least to the greatest value, or from 0 if that is near. */
function upOf({ lines, name }: TimeSeriesPlot) {
  const heights = lines.flatMap(({ points }) =>
    points.flatMap(({ value, around = [] }) => [value, ...around]),
  )
  const [least, greatest] = [Math.min(...heights), Math.max(...heights)]
  const from = least >= 0 && least <= greatest / 2 ? 0 : least
  return along({
    title: shortened(name, 300, 13),
    from,
    to: greatest > from ? greatest : from + 1,
    round: true,
    tickCount: 6,
    mostInFull: IN_FULL_BESIDE,
    grid: true,
  })
}

function spoken(plot: TimeSeriesPlot): string {
  const notes = plot.notes.map((note) => `${plainText(note)}.`)
  const values = plot.lines.flatMap((line) => line.points.map((point) => spokenPoint(plot, line, point)))
  const by = plot.over === undefined ? 'time' : shortened(plot.over, 400, FONT_SIZE)
  return [`${plot.name} by ${by}, as lines.`, ...notes, ...values].join(' ')
}

function spokenPoint({ lines }: TimeSeriesPlot, { name }: Line, { period, value, around }: Point): string {
  const apart = around === undefined ? 0 : around[1] - around[0]
  const [middle, ...ends] = [value, ...(around ?? [])].map((number) => numberTextNear(number, apart))
  const line = lines.length < 2 ? '' : `${shortened(name, 400, FONT_SIZE)}, `
  const interval = ends.length === 0 ? '' : `, from ${ends.join(' to ')}`
  return `${line}${period}: ${middle}${interval}.`
}
