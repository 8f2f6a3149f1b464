import type {
  AnswerDistributionPlot,
  NoiseComparisonPlot,
  NoisyTablePlot,
  Plot,
  RiskPlot,
  Theme,
  TimeSeriesPlot,
} from '../../../src/studies/plots/plot.ts'
import { palettes } from '../../../src/studies/plots/theme.ts'
import {
  type Box,
  type Colour,
  colourOf,
  contrast,
  originOf,
  type Picture,
  pictureOf,
  type Scales,
  scalesOf,
  shows,
  within,
} from './picture.ts'
import { textOf } from './xml.ts'

/** Describes the flaws of a drawing; empty for a good one. */
export function flawsOf(svg: string, plot: Plot, theme: Theme): readonly string[] {
  let picture: Picture
  try {
    picture = pictureOf(svg)
  } catch (error) {
    return [`not well-formed: ${error instanceof Error ? error.message : error}`]
  }
  return [
    ...rootFlaws(picture, plot),
    ...safetyFlaws(picture),
    ...colourFlaws(picture, theme),
    ...textFlaws(picture),
    ...contentFlaws(picture, plot, theme),
  ]
}

const check = (holds: boolean, flaw: string) => (holds ? [] : [flaw])

function rootFlaws({ root, width, height, texts }: Picture, { plot }: Plot): readonly string[] {
  const [title, description] = root.children
  const named = (child: typeof title, name: string) =>
    typeof child === 'object' && child.name === name && textOf(child).trim() !== ''
  const titles = texts.filter(({ placed }) => within(placed, 'role-axis-title'))
  return [
    ...check(root.attributes.get('xmlns') === 'http://www.w3.org/2000/svg', 'no namespace'),
    ...check(width === 800 && root.attributes.get('width') === '800', `a width of ${width}`),
    ...check(root.attributes.get('viewBox') === `0 0 ${width} ${height}`, 'another viewBox'),
    ...check(root.attributes.get('role') === 'img', 'no image for a reader'),
    ...check(named(title, 'title') && named(description, 'desc'), 'no title or description'),
    ...check(
      (titles.length > 0 || plot === 'list') && titles.every(({ text }) => text.length > 2),
      'an axis without a title',
    ),
  ]
}

const ELEMENTS = new Set(['svg', 'title', 'desc', 'rect', 'g', 'path', 'line', 'text'])

function safetyFlaws({ elements }: Picture): readonly string[] {
  return elements.flatMap(({ element: { name, attributes } }) => [
    ...check(ELEMENTS.has(name), `an element ${name}`),
    ...[...attributes].flatMap(([key, value]) =>
      check(
        !/^on|href|^style$|^id$/.test(key) &&
          (key === 'xmlns' || !/url\(|:\/\/|script|very long|proto/i.test(value)),
        `an attribute ${key}="${value}"`,
      ),
    ),
  ])
}

/** Areas and grids have low contrast on purpose. */
function colourFlaws(picture: Picture, theme: Theme): readonly string[] {
  const { background, grid, band, area } = palettes[theme]
  const behind = colourOf(background)
  const corners = [
    [0, 0],
    [picture.width - 1, 0],
    [0, picture.height - 1],
    [picture.width - 1, picture.height - 1],
  ] as const
  const flaws = corners.flatMap(([x, y]) => check(contrast(picture.at(x, y), behind) < 1.01, 'no background'))
  for (const { element } of picture.elements) {
    const [fill, stroke] = [element.attributes.get('fill'), element.attributes.get('stroke')]
    const isText = element.name === 'text'
    if (
      isText &&
      (fill === undefined || fill === 'none' || Number(element.attributes.get('opacity') ?? 1) !== 1)
    )
      flaws.push(`a text without a colour: ${textOf(element)}`)
    for (const colour of [fill, stroke]) {
      if (colour === undefined || ['none', 'transparent', background, grid, band, area].includes(colour))
        continue
      const least = isText ? 4.5 : 3
      if (contrast(colourOf(colour), behind) < least) flaws.push(`too little contrast: ${colour}`)
    }
  }
  return flaws
}

function textFlaws({ texts, elements, width, height }: Picture): readonly string[] {
  const flaws: string[] = []
  const boxes = texts.flatMap(({ text, box }) => (box === undefined ? [] : [{ text, ...box }]))
  for (const { text, placed } of texts) {
    const size = Number(/^([\d.]+)px$/.exec(placed.element.attributes.get('font-size') ?? '')?.[1])
    flaws.push(
      ...check(size >= 12, `smaller than 12 pixels: ${text}`),
      ...check(placed.element.attributes.get('font-family') === 'sans-serif', `another font: ${text}`),
    )
  }
  const overlap = (a: Box, b: Box) =>
    Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x) > 0.5 &&
    Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y) > 0.5
  boxes.forEach((box, index) => {
    if (box.x < 2 || box.y < 2 || box.x + box.width > width - 2 || box.y + box.height > height - 2)
      flaws.push(`outside: ${box.text}`)
    for (const other of boxes.slice(index + 1))
      if (overlap(box, other)) flaws.push(`one over another: ${box.text} | ${other.text}`)
  })
  for (const placed of elements) {
    if (placed.element.name !== 'line' || !within(placed, 'role-mark')) continue
    const { x, y } = originOf(placed)
    const to = {
      x: Number(placed.element.attributes.get('x2')),
      y: Number(placed.element.attributes.get('y2')),
    }
    const [left, top] = [Math.min(x, x + to.x), Math.min(y, y + to.y)]
    const line = { x: left - 0.5, y: top - 0.5, width: Math.abs(to.x) + 1, height: Math.abs(to.y) + 1 }
    for (const box of boxes) if (overlap(box, line)) flaws.push(`struck by a line: ${box.text}`)
  }
  return flaws
}

function contentFlaws(picture: Picture, plot: Plot, theme: Theme): readonly string[] {
  switch (plot.plot) {
    case 'risk':
      return riskFlaws(picture, plot, theme)
    case 'noise-comparison':
      return comparisonFlaws(picture, plot, theme)
    case 'answer-distribution':
      return distributionFlaws(picture, plot, theme)
    case 'noisy-table':
      // Times have no numbers at the axis from which positions could be computed.
      return plot.times ? says(picture, `${plot.name} (UTC)`) : tableFlaws(picture, plot, theme)
    case 'time-series':
      return seriesFlaws(picture, plot, theme)
    case 'list':
      return plot.items.flatMap((item) => says(picture, item))
  }
}

const says = ({ texts }: Picture, wanted: string) =>
  check(
    texts.some(({ text }) => text.includes(wanted)),
    `no text ${wanted}`,
  )

/** Returns true if a colour is visible within this distance of a position, in pixels. */
function near(picture: Picture, x: number, y: number, colour: Colour, behind: Colour, reach = 2): boolean {
  for (let dx = -reach; dx <= reach; dx++)
    for (let dy = -reach; dy <= reach; dy++)
      if (shows(picture.at(x + dx, y + dy), colour, behind)) return true
  return false
}

/** Share of positions for which this is true. */
const share = <Place>(places: readonly Place[], holds: (place: Place) => boolean) =>
  places.filter(holds).length / places.length

const between = (from: number, to: number) =>
  Array.from({ length: Math.max(0, Math.floor(to - from)) }, (_, index) => from + index)

function riskFlaws(picture: Picture, plot: RiskPlot, theme: Theme): readonly string[] {
  const { background, series, muted } = palettes[theme]
  const behind = colourOf(background)
  const [upper, tight, , risk] = series.map(colourOf)
  const scales = scalesOf(picture)
  if (
    upper === undefined ||
    tight === undefined ||
    risk === undefined ||
    scales.length !== plot.panels.length
  )
    return ['not every panel is there']
  return plot.panels.flatMap((panel, index) => {
    const scale = scales[index] as Scales
    const across = between(scale.left + 1, scale.right - 1)
    const down = between(scale.top + 1, scale.bottom - 1)
    const row = (value: number, colour: Colour) =>
      share(across, (x) => near(picture, x, scale.y(value), colour, behind, 1))
    const column = (value: number, colour: Colour) =>
      share(down, (y) => near(picture, scale.x(value), y, colour, behind, 1))
    const curve = (bound: 'upperBound' | 'tightBound', colour: Colour) =>
      share(panel.curve, (point) =>
        near(picture, scale.x(point.epsilon), scale.y(point[bound]), colour, behind),
      )
    return [
      ...check(row(plot.risk, risk) > 0.5, `${panel.name}: no risk line`),
      ...check(row(panel.largestPrior, colourOf(muted)) > 0.3, `${panel.name}: no prior`),
      ...check(curve('upperBound', upper) > 0.85, `${panel.name}: no upper bound`),
      ...check(curve('tightBound', tight) > 0.5, `${panel.name}: no tight bound`),
      ...(
        [
          [panel.upperBoundEpsilon, upper],
          [panel.tightBoundEpsilon, tight],
        ] as const
      ).flatMap(([epsilon, colour]) =>
        epsilon === null
          ? says(picture, 'no epsilon for this risk')
          : [
              ...check(column(epsilon, colour) > 0.8, `${panel.name}: no mark at ${epsilon}`),
              ...check(column(epsilon * 1.8, colour) < 0.3, `${panel.name}: a mark beside ${epsilon}`),
              ...says(picture, `ε = ${epsilon.toPrecision(4)}`),
            ],
      ),
    ]
  })
}

const NAMES = ['laplace', 'geometric', 'analytic-gaussian', 'classic-gaussian'] as const

const written = (mechanism: (typeof NAMES)[number]) =>
  mechanism === 'laplace' ? 'Laplace' : mechanism.replace('-gaussian', ' Gaussian')

function comparisonFlaws(picture: Picture, plot: NoiseComparisonPlot, theme: Theme): readonly string[] {
  const { background, series } = palettes[theme]
  const behind = colourOf(background)
  const [scale] = scalesOf(picture)
  if (scale === undefined) return ['no axes']
  const colours = series.map(colourOf)
  return NAMES.flatMap((mechanism, index) => {
    const colour = colours[index] ?? behind
    const drawn = plot.rows.flatMap(({ statistics, noise }) =>
      noise[mechanism] === undefined ? [] : [{ statistics, noise: noise[mechanism] }],
    )
    const crossings = plot.crossings.filter((crossing) => crossing.mechanism === mechanism)
    return [
      ...check(
        drawn.length === 0 ||
          share(drawn, (row) =>
            near(picture, scale.x(row.statistics), scale.y(row.noise), colour, behind, 5),
          ) > 0.6,
        `no ${mechanism}`,
      ),
      ...says(picture, written(mechanism)),
      ...crossings.flatMap(({ from }) => [
        ...says(picture, `from ${from}`),
        ...check(
          share(between(scale.top, scale.bottom), (y) => near(picture, scale.x(from), y, colour, behind, 1)) >
            0.9,
          `no mark at ${from}`,
        ),
      ]),
    ]
  })
}

function distributionFlaws(picture: Picture, plot: AnswerDistributionPlot, theme: Theme): readonly string[] {
  const { background, series, text, band } = palettes[theme]
  const [behind, ink, area] = [background, text, band].map(colourOf)
  const [bar, edge] = series.map(colourOf)
  const [scale] = scalesOf(picture)
  if (!scale || !behind || !ink || !area || !bar || !edge) return ['no axes']
  const down = between(scale.top + 1, scale.bottom - 1)
  const [lower, upper] = [plot.truth - plot.halfWidth, plot.truth + plot.halfWidth]
  const high = plot.points.filter(({ probability }) => scale.bottom - scale.y(probability) > 6)
  const aside = high.filter(({ value }) => Math.abs(value - plot.truth) > plot.halfWidth / 10)
  const nearTop = (x: number) => picture.at(x, scale.top + 3)
  return [
    ...check(
      share(down, (y) => near(picture, scale.x(plot.truth), y, ink, behind, 1)) > 0.95,
      'no line at the truth',
    ),
    ...check(
      share(aside, ({ value, probability }) =>
        near(picture, scale.x(value), scale.y(probability) + 1, bar, behind, 2),
      ) > 0.85,
      'no distribution',
    ),
    ...check(
      share(aside, ({ value, probability }) =>
        near(picture, scale.x(value), scale.y(probability) - 8, bar, behind, 1),
      ) < 0.3,
      'too high a distribution',
    ),
    ...[lower, upper].flatMap((value) =>
      check(
        share(down, (y) => near(picture, scale.x(value), y, edge, behind, 1)) > 0.45,
        `no edge of the interval at ${value}`,
      ),
    ),
    ...check(
      [0.3, 0.9].every(
        (part) =>
          shows(nearTop(scale.x(plot.truth + part * plot.halfWidth)), area, behind) &&
          shows(nearTop(scale.x(plot.truth - part * plot.halfWidth)), area, behind),
      ),
      'no band',
    ),
    ...check(
      !shows(nearTop(scale.x(plot.truth + 1.1 * plot.halfWidth)), area, behind) &&
        !shows(nearTop(scale.x(plot.truth - 1.1 * plot.halfWidth)), area, behind),
      'too wide a band',
    ),
    ...says(picture, `${written(plot.mechanism)} noise`),
    ...says(picture, `${Number((plot.confidence * 100).toPrecision(12))}% of answers: `),
    ...distributionTextFlaws(picture, plot),
  ]
}

/** Returns true if the written truth and interval are correct, and precise enough to distinguish them. */
export function distributionTextFlaws(
  { texts }: Picture,
  { truth, halfWidth }: AnswerDistributionPlot,
): readonly string[] {
  const read = (pattern: RegExp) =>
    (texts.map(({ text }) => pattern.exec(text)).find((match) => match !== null) ?? [])
      .slice(1)
      .map((number) => Number(number.replaceAll(',', '').replace('−', '-')))
  const [about = Number.NaN] = read(/^true value (\S+)$/)
  const [from = Number.NaN, to = Number.NaN] = read(/ of answers: (\S+) to (\S+)$/)
  const apart = (one: number, other: number) => Math.abs(one - other)
  return [
    ...check(apart(about, truth) <= Math.min(halfWidth / 20, Math.abs(truth) / 1000), 'another truth'),
    ...check(
      apart(from, truth - halfWidth) <= halfWidth / 20 && apart(to, truth + halfWidth) <= halfWidth / 20,
      'another interval',
    ),
  ]
}

function seriesFlaws(picture: Picture, plot: TimeSeriesPlot, theme: Theme): readonly string[] {
  const { background, series } = palettes[theme]
  const behind = colourOf(background)
  const [scale] = scalesOf(picture)
  if (scale === undefined) return ['no axes']
  const across = (at: number) =>
    scale.left + ((at - plot.from) * (scale.right - scale.left)) / (plot.to - plot.from)
  return plot.lines.flatMap(({ name, points }, place) => {
    const colour = colourOf(series[place] ?? background)
    const banded = points.filter(
      ({ around: [lower, upper] = [0, 0] }) => scale.y(lower) - scale.y(upper) > 20,
    )
    const inside = banded.filter(({ at, value, around: [lower, upper] = [0, 0] }) => {
      const [middle, end] = [scale.y(value), scale.y(upper - value > value - lower ? upper : lower)]
      // Beside the vertical line of the grid, and inside the band's ends.
      const aside = across(at) < (scale.left + scale.right) / 2 ? 2 : -2
      return contrast(picture.at(across(at) + aside, middle + (end - middle) * 0.7), behind) > 1.02
    })
    return [
      ...check(
        share(points, ({ at, value }) => near(picture, across(at), scale.y(value), colour, behind, 3)) > 0.8,
        `no line ${name}`,
      ),
      ...check(inside.length >= banded.length * 0.8, `no band ${name}`),
      ...(plot.lines.length > 1 ? says(picture, name) : []),
    ]
  })
}

function tableFlaws(picture: Picture, plot: NoisyTablePlot, theme: Theme): readonly string[] {
  const { background, series, text } = palettes[theme]
  const [behind, ink] = [colourOf(background), colourOf(text)]
  const [scale] = scalesOf(picture)
  if (scale === undefined) return ['no axes']
  const categories = [...new Set(plot.cells.map(({ key }) => JSON.stringify(key.slice(1))))]
  const coloured = plot.keys.length > 1 && categories.length <= series.length
  const colourAt = (key: readonly string[]) =>
    colourOf((coloured ? series[categories.indexOf(JSON.stringify(key.slice(1)))] : undefined) ?? series[0])
  let y = scale.top + 6
  const flaws: string[] = []
  for (const [name, cells] of Map.groupBy(plot.cells, ({ key }) => key[0] ?? '')) {
    const sorted = cells.toSorted(
      (one, other) =>
        categories.indexOf(JSON.stringify(one.key.slice(1))) -
        categories.indexOf(JSON.stringify(other.key.slice(1))),
    )
    const label = picture.texts.find(
      ({ text: written, box, placed }) =>
        box !== undefined &&
        within(placed, 'role-mark') &&
        box.x + box.width < scale.left &&
        Math.abs(originOf(placed).y - (y + (plot.keys.length > 1 && !coloured ? 10 : sorted.length * 10))) <
          6 &&
        written.length > 0,
    )
    if (/^[\w -]{1,20}$/.test(name) && label?.text !== name && !(label && name.startsWith('Region')))
      flaws.push(`${name} is not where it should be`)
    for (const [index, { key, value, halfWidth, truth }] of sorted.entries()) {
      const row = y + index * 20 + 10
      const colour = colourAt(key)
      const where = key.join(', ').slice(0, 60)
      if (truth !== undefined) {
        const [west, east] = [scale.x(truth) - 5, scale.x(truth) + 5]
        flaws.push(
          ...check(
            near(picture, west, row, ink, behind) && near(picture, east, row, ink, behind),
            `no truth: ${where}`,
          ),
        )
      }
      const hidden = truth !== undefined && Math.abs(scale.x(truth) - scale.x(value)) < 9
      flaws.push(...check(hidden || near(picture, scale.x(value), row, colour, behind), `no value: ${where}`))
      if (halfWidth === null) continue
      const ends = [value - halfWidth, value + halfWidth].map((end) => scale.x(end))
      const clear = (x: number) => truth === undefined || Math.abs(scale.x(truth) - x) > 9
      for (const [side, end] of ends.entries()) {
        const [inside, outside] = side === 0 ? [end + 3, end - 4] : [end - 3, end + 4]
        flaws.push(
          ...check(!clear(inside) || near(picture, inside, row, colour, behind, 1), `no error bar: ${where}`),
          ...check(
            !clear(outside) || !near(picture, outside, row, colour, behind, 1),
            `too long an error bar: ${where}`,
          ),
        )
      }
    }
    y += sorted.length * 20 + 12
  }
  const unit = /^\w+$/.test(plot.unit ?? '') ? ` (${plot.unit})` : ''
  return [
    ...flaws,
    ...says(picture, `${plot.name ?? 'Noisy value'}${unit}`),
    ...check(
      plot.cells.some(({ truth }) => truth !== undefined) ===
        picture.texts.some(({ text: written }) => written === 'true value (synthetic data)'),
      'no legend of the truth, or one too many',
    ),
  ]
}
