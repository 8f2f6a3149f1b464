import { requireFinite, requireNumberOf } from './checks.ts'
import { type Figure, type Header, headerHeight, headerLayers, type LegendEntry, WIDTH } from './figure.ts'
import {
  along,
  FONT_SIZE,
  IN_FULL_BELOW,
  type Layer,
  lines,
  type PlacedText,
  pixels,
  pointMark,
  texts,
} from './marks.ts'
import { MOST_CELLS, type NoisyTablePlot } from './plot.ts'
import { numberText, percentText, plainText, shortened, textWidth } from './text.ts'
import { type Palette, shapes } from './theme.ts'

/** In pixels. */
const ROW_HEIGHT = 20
const GROUP_GAP = 12
const WIDEST_LABEL = 210
const LABEL_GAP = 12
const EDGE = 20
const RIGHT = 30

type Cell = NoisyTablePlot['cells'][number]

/**
 * Every cell a row of its own: the noisy value, its error bar and, where it is known, the true value. Cells of the same
 * first key stand together; the other keys are told apart by colour and shape, or by labels where there are too many.
 *
 * @throws RangeError for too few or too many cells, a key of another length than the keys', or a figure that is not
 * finite.
 */
export function noisyTableFigure(plot: NoisyTablePlot, palette: Palette): Figure {
  const { cells, keys, confidence, unit } = plot
  requireNumberOf('keys', keys.length, 1)
  requireNumberOf('cells', cells.length, 1, MOST_CELLS)
  if (!cells.every(({ key }) => key.length === keys.length))
    throw new RangeError('every cell of a table has a value of each key')
  const extremes = cells.flatMap(({ value, halfWidth, truth = value }) => [
    value - (halfWidth ?? 0),
    value + (halfWidth ?? 0),
    truth,
  ])
  requireFinite(extremes)

  const categories = [...new Set(cells.map(categoryOf))]
  const inColour = keys.length > 1 && categories.length <= palette.series.length
  const styles = categories.map((_, index) => ({
    color: (inColour ? palette.series[index] : undefined) ?? palette.series[0],
    shape: (inColour ? shapes[index] : undefined) ?? shapes[0],
  }))
  const { rows, groups, height } = rowsOf(cells, categories)

  const labelled = keys.length > 1 && !inColour
  const groupName = shortened(keys[0] ?? '', WIDEST_LABEL, FONT_SIZE, true)
  const categoryName = shortened(keys.slice(1).join(' · '), WIDEST_LABEL, FONT_SIZE, true)
  const groupLabels = groups.map(({ name }) => shortened(name, WIDEST_LABEL, FONT_SIZE))
  const categoryLabels = categories.map((_, index) =>
    shortened(nameOf(cells, categories, index), WIDEST_LABEL, FONT_SIZE),
  )
  const groupWidth = widest(groupName, groupLabels)
  const categoryWidth = labelled ? widest(categoryName, categoryLabels) + LABEL_GAP : 0
  const left = Math.ceil(EDGE + groupWidth + categoryWidth + LABEL_GAP)
  const width = WIDTH - left - RIGHT

  const anyTruth = cells.some(({ truth }) => truth !== undefined)
  const anyBar = cells.some(({ halfWidth }) => halfWidth !== null)
  const truthStyle = { color: palette.text, shape: 'diamond', filled: false, size: 110 }
  const bars = { color: palette.muted, width: 2 }
  const legend: LegendEntry[] = [
    ...(inColour
      ? categories.map((_, index) => ({
          label: categoryLabels[index] ?? '',
          point: styles[index] ?? styles[0],
        }))
      : [{ label: 'noisy value', point: styles[0] }]
    ).flatMap(({ label, point }) => (point === undefined ? [] : [{ label, point }])),
    ...(anyBar ? [{ label: `${percentText(confidence)} interval`, line: bars }] : []),
    ...(anyTruth ? [{ label: 'true value (synthetic data)', point: truthStyle }] : []),
  ]
  const header: Header = {
    title: plot.title,
    subtitles: [
      [
        anyBar ? `Noisy values with their ${percentText(confidence)} intervals` : 'Noisy values',
        ...(inColour ? [`by ${plainText(keys[0] ?? '')} and ${plainText(keys.slice(1).join(' · '))}`] : []),
      ].join(', '),
    ],
    legend,
  }
  const margins = { left, right: RIGHT, top: headerHeight(header) + 28, bottom: 64 }
  const { from, to } = reach(extremes)
  const x = along({
    title: unit === undefined ? 'Noisy value' : `Noisy value (${shortened(unit, 200, 13)})`,
    from,
    to,
    round: true,
    tickCount: Math.ceil(width / 90),
    mostInFull: IN_FULL_BELOW,
    grid: true,
  })
  const ofStyle = (index: number) =>
    rows.filter(({ category }) => (inColour ? category === index : index === 0))
  const drawn = styles.flatMap((style, index): Layer[] => {
    const own = ofStyle(index)
    if (own.length === 0) return []
    const intervals = own.flatMap(({ y, cell: { value, halfWidth } }) =>
      halfWidth === null ? [] : [{ y, lower: value - halfWidth, upper: value + halfWidth }],
    )
    return [
      ...(intervals.length === 0
        ? []
        : [
            {
              data: { values: intervals },
              mark: { type: 'rule', color: style.color, strokeWidth: 2 },
              encoding: { x: x('lower'), x2: { field: 'upper' }, y: pixels('y') },
            } as const,
          ]),
      {
        data: { values: own.map(({ y, cell }) => ({ y, value: cell.value })) },
        mark: pointMark(style),
        encoding: { x: x('value'), y: pixels('y') },
      },
    ]
  })
  const truths: Layer[] = anyTruth
    ? [
        {
          data: {
            values: rows.flatMap(({ y, cell: { truth } }) => (truth === undefined ? [] : [{ y, truth }])),
          },
          mark: pointMark(truthStyle),
          encoding: { x: x('truth'), y: pixels('y') },
        },
      ]
    : []
  const labelEnd = -LABEL_GAP
  const groupEnd = labelEnd - categoryWidth
  const labels: PlacedText[] = [
    ...groups.map(({ middle, top }, index) => ({
      x: groupEnd,
      y: labelled ? top + ROW_HEIGHT / 2 : middle,
      text: groupLabels[index] ?? '',
    })),
    ...(labelled
      ? rows.map(({ y, category }) => ({ x: labelEnd, y, text: categoryLabels[category] ?? '' }))
      : []),
  ]
  const names: PlacedText[] = [
    { x: groupEnd, y: -10, text: groupName },
    ...(labelled ? [{ x: labelEnd, y: -10, text: categoryName }] : []),
  ]
  const separators = groups.slice(1).map(({ top }) => {
    const y = top - GROUP_GAP / 2
    return { x: EDGE - left, x2: width, y, y2: y }
  })
  return {
    title: shortened(plot.title, 760, 18, true),
    description: `Noisy values${anyBar ? ` with their ${percentText(confidence)} intervals` : ''}${anyTruth ? ' and the true values of synthetic data' : ''}. ${cells.map((cell) => spoken(cell, unit)).join(' ')}`,
    margins,
    views: [
      {
        width,
        height,
        layer: [
          ...(separators.length === 0 ? [] : [lines(separators, { color: palette.grid })]),
          ...drawn,
          ...truths,
          texts(labels, { color: palette.text, align: 'right', middle: true }),
          texts(names, { color: palette.text, align: 'right', bold: true }),
          ...headerLayers(header, margins, palette),
        ],
      },
    ],
  }
}

/** Unlike names never make the same category, whatever stands in them. */
function categoryOf({ key }: Cell): string {
  return JSON.stringify(key.slice(1))
}

function nameOf(cells: readonly Cell[], categories: readonly string[], index: number): string {
  const cell = cells.find((candidate) => categoryOf(candidate) === categories[index])
  return cell?.key.slice(1).join(' · ') ?? ''
}

/** Where each cell stands, in pixels from the frame's top: groups and categories in the order in which they appear. */
function rowsOf(cells: readonly Cell[], categories: readonly string[]) {
  const rows: { readonly cell: Cell; readonly category: number; readonly y: number }[] = []
  const groups: { readonly name: string; readonly top: number; readonly middle: number }[] = []
  let top = GROUP_GAP / 2
  for (const [name, members] of Map.groupBy(cells, ({ key }) => key[0] ?? '')) {
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

/** From the least to the greatest, and from or to 0 where that does not squeeze the values together. */
function reach(extremes: readonly number[]): { readonly from: number; readonly to: number } {
  const [least, greatest] = [Math.min(...extremes), Math.max(...extremes)]
  const from = least > 0 && least <= 0.75 * greatest ? 0 : least
  const to = greatest < 0 && greatest >= 0.75 * least ? 0 : greatest
  return from < to ? { from, to } : { from: from - 1, to: to + 1 }
}

function spoken({ key, value, halfWidth, truth }: Cell, unit: string | undefined): string {
  const inUnit = unit === undefined ? '' : ` ${plainText(unit)}`
  const around = halfWidth === null ? '' : ` ± ${numberText(halfWidth)}`
  const truly = truth === undefined ? '' : `, truly ${numberText(truth)}`
  return `${key.map((part) => shortened(part, 400, FONT_SIZE)).join(', ')}: ${numberText(value)}${around}${inUnit}${truly}.`
}
