import { requireFinite, requireNumberOf } from './checks.ts'
import { type Figure, type Header, headerHeight, headerLayers } from './figure.ts'
import { along, FONT_SIZE, IN_FULL_BELOW, IN_FULL_BESIDE, type Layer, lines, texts } from './marks.ts'
import { type AnswerDistributionPlot, MOST_POINTS } from './plot.ts'
import { numberText, numberTextNear, percentText, shortened, textWidth } from './text.ts'
import { dashes, type Palette } from './theme.ts'

const FRAME = { width: 692, height: 320 }

/** Narrower bars than this run into one another, and an area says the same. */
const NARROWEST_BAR = 3
const WIDEST_BAR = 18

/**
 * How the answers spread around the truth, with the interval that holds most of them.
 *
 * @throws RangeError for fewer than two points or too many, points out of order, a half-width below 0 or a figure that is not finite.
 */
export function answerDistributionFigure(plot: AnswerDistributionPlot, palette: Palette): Figure {
  const { mechanism, epsilon, delta, truth, unit, points, discrete, halfWidth, confidence } = plot
  requireNumberOf('points', points.length, 2, MOST_POINTS)
  requireFinite([
    epsilon,
    delta,
    truth,
    halfWidth,
    ...points.flatMap(({ value, probability }) => [value, probability]),
  ])
  const steps = points.slice(1).map(({ value }, index) => value - (points[index]?.value ?? value))
  const narrowest = Math.min(...steps)
  if (narrowest <= 0) throw new RangeError('the points of a distribution go up')
  if (halfWidth < 0) throw new RangeError('a half-width is not below 0')
  const [lower, upper] = [truth - halfWidth, truth + halfWidth]
  const edge = discrete ? narrowest : 0
  const [from, to] = [
    Math.min(points[0]?.value ?? truth, lower) - edge,
    Math.max(points.at(-1)?.value ?? truth, upper) + edge,
  ]
  const bar = Math.min(WIDEST_BAR, (narrowest / (to - from)) * FRAME.width * 0.7)
  const [color, edges] = palette.series
  const drawnBars = discrete && bar >= NARROWEST_BAR
  const inUnit = unit === undefined ? '' : ` ${shortened(unit, 120, FONT_SIZE)}`
  const interval = `${percentText(confidence)} of answers: ${numberTextNear(lower, halfWidth)} to ${numberTextNear(upper, halfWidth)}`
  const header: Header = {
    title: `Answers around their truth: ${shortened(mechanism, 260, 18, true)} noise`,
    subtitles: [
      `ε = ${numberText(epsilon)}${delta === 0 ? '' : `, δ = ${numberText(delta)}`}; half-width ${numberText(halfWidth)}${inUnit} at ${percentText(confidence)}`,
    ],
    legend: [
      {
        label: discrete ? 'probability of each answer' : 'density of the answers',
        line: { color, width: drawnBars ? 8 : 2.2 },
      },
      {
        label: `${percentText(confidence)} of answers`,
        area: palette.band,
        line: { color: edges, dash: dashes[1], width: 1.5 },
      },
      { label: 'truth', line: { color: palette.text, width: 2 } },
    ],
  }
  const places = (value: number) => ((value - from) / (to - from)) * FRAME.width
  const highest = Math.max(...points.map(({ probability }) => probability))
  const x = along({
    title: `Answer${inUnit === '' ? '' : ` (${inUnit.trim()})`}`,
    from,
    to,
    round: false,
    tickCount: 9,
    mostInFull: IN_FULL_BELOW,
  })('value')
  const y = along({
    title: discrete
      ? 'Probability'
      : `Probability density (per${inUnit === '' ? ' unit of the answer' : inUnit})`,
    from: 0,
    to: highest === 0 ? 1 : highest,
    round: true,
    tickCount: 6,
    mostInFull: IN_FULL_BESIDE,
    grid: true,
  })('probability')
  const y2 = { field: 'none' }
  const data = { values: points.map(({ value, probability }) => ({ value, probability, none: 0 })) }
  const interpolate = discrete ? 'step' : 'linear'
  const distribution: Layer[] = drawnBars
    ? [
        {
          data,
          mark: { type: 'rule', color, strokeWidth: bar },
          encoding: { x, y, y2 },
        },
      ]
    : [
        {
          data,
          mark: { type: 'area', color: palette.area, opacity: 1, interpolate },
          encoding: { x, y, y2 },
        },
        { data, mark: { type: 'line', color, strokeWidth: 2.2, interpolate }, encoding: { x, y } },
      ]
  const [left, right] = [places(lower), places(upper)]
  const band = { x: left, x2: right, y: FRAME.height / 2, y2: FRAME.height / 2 }
  const centred = (text: string) => {
    const half = textWidth(text, FONT_SIZE) / 2
    return Math.min(Math.max(places(truth), half), FRAME.width - half)
  }
  const truthLabel = `truth ${numberTextNear(truth, halfWidth)}${inUnit}`
  const labels = [
    { x: centred(truthLabel), y: -24, text: truthLabel },
    { x: centred(interval), y: -8, text: interval },
  ]
  const margins = { left: 84, right: 24, top: headerHeight(header) + 42, bottom: 64 }
  return {
    title: header.title,
    description: `How answers with ${shortened(mechanism, 260, 18)} noise at epsilon ${numberText(epsilon)}${delta === 0 ? '' : ` and delta ${numberText(delta)}`} spread around the truth, ${numberTextNear(truth, halfWidth)}${inUnit}. ${interval}${inUnit}.`,
    margins,
    views: [
      {
        ...FRAME,
        layer: [
          lines([band], { color: palette.band, width: FRAME.height }),
          ...distribution,
          lines(
            [left, right].map((edgeX) => ({ x: edgeX, x2: edgeX, y: 0, y2: FRAME.height })),
            { color: edges, dash: dashes[1], width: 1.5 },
          ),
          lines([{ x: places(truth), x2: places(truth), y: -3, y2: FRAME.height }], {
            color: palette.text,
            width: 2,
          }),
          texts(labels, { color: palette.text, align: 'center' }),
          ...headerLayers(header, margins, palette),
        ],
      },
    ],
  }
}
