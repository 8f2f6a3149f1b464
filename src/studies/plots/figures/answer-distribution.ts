import { type Figure, type Header, headerHeight, headerLayers } from '../figure.ts'
import { along, FONT_SIZE, IN_FULL_BELOW, type Layer, lines, texts, upward } from '../marks.ts'
import type { AnswerDistributionPlot } from '../plot.ts'
import { numberText, numberTextNear, percentText, textWidth } from '../text.ts'
import { dashes, type Palette } from '../theme.ts'
import { MECHANISM_NAMES } from './mechanism-names.ts'

const FRAME = { width: 692, height: 320 }

/** Narrower bars run into each other, and an area shows the same. */
const NARROWEST_BAR = 3
const WIDEST_BAR = 18

/** Distribution of answers around the true value, with the interval that contains most of them. */
export function answerDistributionFigure(plot: AnswerDistributionPlot, palette: Palette): Figure {
  const reach = reachOf(plot)
  const header = headerOf(plot, reach, palette)
  const margins = { left: 84, right: 24, top: headerHeight(header) + 42, bottom: 64 }
  const { band, edges, truth } = markLayers(plot, reach, palette)
  return {
    title: header.title,
    description: spoken(plot),
    margins,
    views: [
      {
        ...FRAME,
        layer: [
          band,
          ...distributionLayers(plot, reach, palette),
          edges,
          truth,
          texts(labelsOf(plot, reach), { color: palette.text, align: 'center' }),
          ...headerLayers(header, margins, palette),
        ],
      },
    ],
  }
}

function narrowestStep(points: AnswerDistributionPlot['points']): number {
  return Math.min(...points.slice(1).map(({ value }, index) => value - (points[index]?.value ?? value)))
}

/** Range of the frame, in the unit of the answer. */
interface Reach {
  readonly from: number
  readonly to: number
  /** Width of a bar in pixels; undefined if an area is drawn. */
  readonly bar: number | undefined
  /** Pixels of a value from the frame's left edge. */
  readonly place: (value: number) => number
}

function reachOf(plot: AnswerDistributionPlot): Reach {
  const { points, truth, discrete } = plot
  const { lower, upper } = intervalOf(plot)
  const step = narrowestStep(points)
  const spare = discrete ? step : 0
  const from = Math.min(points[0]?.value ?? truth, lower) - spare
  const to = Math.max(points.at(-1)?.value ?? truth, upper) + spare
  const bar = Math.min(WIDEST_BAR, (step / (to - from)) * FRAME.width * 0.7)
  return {
    from,
    to,
    bar: discrete && bar >= NARROWEST_BAR ? bar : undefined,
    place: (value) => ((value - from) / (to - from)) * FRAME.width,
  }
}

/** Interval that contains `confidence` of the answers. An end that differs from 0 only by rounding is 0. */
function intervalOf({ truth, halfWidth }: AnswerDistributionPlot) {
  const end = (value: number) => (Math.abs(value) < halfWidth * 2 ** -50 ? 0 : value)
  return { lower: end(truth - halfWidth), upper: end(truth + halfWidth) }
}

function headerOf(plot: AnswerDistributionPlot, { bar }: Reach, palette: Palette): Header {
  const { mechanism, epsilon, delta, halfWidth, confidence, discrete } = plot
  const [color, edges] = palette.series
  const share = percentText(confidence)
  return {
    title: `Distribution of answers: ${MECHANISM_NAMES[mechanism]} noise`,
    subtitles: [
      `ε = ${numberText(epsilon)}${delta === 0 ? '' : `, δ = ${numberText(delta)}`}; half-width ${numberText(halfWidth)} at ${share}`,
    ],
    legend: [
      {
        label: discrete ? 'probability of each answer' : 'density of the answers',
        line: { color, width: bar === undefined ? 2.2 : 8 },
      },
      {
        label: `${share} of answers`,
        area: palette.band,
        line: { color: edges, dash: dashes[1], width: 1.5 },
      },
      { label: 'true value', line: { color: palette.text, width: 2 } },
    ],
  }
}

/** Channels of the points: the answer across, its probability upward from 0. */
function axesOf({ points, discrete }: AnswerDistributionPlot, { from, to }: Reach) {
  const highest = Math.max(...points.map(({ probability }) => probability))
  const x = along({
    title: 'Answer',
    from,
    to,
    round: false,
    tickCount: 9,
    mostInFull: IN_FULL_BELOW,
  })('value')
  const title = discrete ? 'Probability' : 'Probability density (per unit of the answer)'
  const y = upward(title, highest, 6)('probability')
  return { x, y, y2: { field: 'none' } }
}

/** Bars if they fit, otherwise an area below a line. */
function distributionLayers(plot: AnswerDistributionPlot, reach: Reach, palette: Palette): readonly Layer[] {
  const { x, y, y2 } = axesOf(plot, reach)
  const [color] = palette.series
  const data = { values: plot.points.map(({ value, probability }) => ({ value, probability, none: 0 })) }
  if (reach.bar !== undefined)
    return [{ data, mark: { type: 'rule', color, strokeWidth: reach.bar }, encoding: { x, y, y2 } }]
  const interpolate = plot.discrete ? 'step' : 'linear'
  return [
    {
      data,
      mark: { type: 'area', color: palette.area, opacity: 1, interpolate },
      encoding: { x, y, y2 },
    },
    { data, mark: { type: 'line', color, strokeWidth: 2.2, interpolate }, encoding: { x, y } },
  ]
}

/** The interval as a band with two edges, and a line at the true value. */
function markLayers(plot: AnswerDistributionPlot, { place }: Reach, palette: Palette) {
  const { lower, upper } = intervalOf(plot)
  const middle = { y: FRAME.height / 2, y2: FRAME.height / 2 }
  const upright = (value: number, y = 0) => ({ x: place(value), x2: place(value), y, y2: FRAME.height })
  return {
    band: lines([{ x: place(lower), x2: place(upper), ...middle }], {
      color: palette.band,
      width: FRAME.height,
    }),
    edges: lines([upright(lower), upright(upper)], {
      color: palette.series[1],
      dash: dashes[1],
      width: 1.5,
    }),
    truth: lines([upright(plot.truth, -3)], { color: palette.text, width: 2 }),
  }
}

/** Above the frame, centred at the true value as far as the label stays above the frame. */
function labelsOf(plot: AnswerDistributionPlot, { place }: Reach) {
  const labels = [
    { y: -24, text: `true value ${numberTextNear(plot.truth, plot.halfWidth)}` },
    { y: -8, text: intervalText(plot) },
  ]
  return labels.map(({ y, text }) => {
    const half = textWidth(text, FONT_SIZE) / 2
    return { x: Math.min(Math.max(place(plot.truth), half), FRAME.width - half), y, text }
  })
}

function intervalText(plot: AnswerDistributionPlot): string {
  const { lower, upper } = intervalOf(plot)
  const [from, to] = [lower, upper].map((end) => numberTextNear(end, plot.halfWidth))
  return `${percentText(plot.confidence)} of answers: ${from} to ${to}`
}

function spoken(plot: AnswerDistributionPlot): string {
  const { mechanism, epsilon, delta, truth, halfWidth } = plot
  const price = `epsilon ${numberText(epsilon)}${delta === 0 ? '' : ` and delta ${numberText(delta)}`}`
  return `Distribution of answers with ${MECHANISM_NAMES[mechanism]} noise at ${price} around the true value ${numberTextNear(truth, halfWidth)}. ${intervalText(plot)}.`
}
