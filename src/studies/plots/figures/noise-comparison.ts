import { entry } from '../../../privacy/must.ts'
import type { ComparedMechanism, Criterion } from '../compare.ts'
import { type Figure, FLAG_HEIGHT, flagLayers, type Header, headerHeight, headerLayers } from '../figure.ts'
import { along, IN_FULL_BELOW, type Layer, pointMark, stroke, upward } from '../marks.ts'
import type { NoiseComparisonPlot } from '../plot.ts'
import { numberText, percentText } from '../text.ts'
import { dashes, type Palette, shapes } from '../theme.ts'
import { MECHANISM_NAMES, MECHANISMS } from './mechanism-names.ts'

const CRITERIA = {
  standardDeviation: 'Standard deviation',
  expectedAbsoluteError: 'Expected absolute error',
  halfWidth: 'Half-width',
} as const satisfies Record<Criterion, string>

const FRAME = { width: 692, height: 340 }

/** With more rows, a point for each would hide the lines. */
const MOST_SHAPES = 30

/**
 * Noise of every mechanism against the number of statistics that one person influences, and the crossings from which
 * one mechanism is better than another.
 */
export function noiseComparisonFigure(plot: NoiseComparisonPlot, palette: Palette): Figure {
  const domain = domainOf(plot)
  const [least, most] = domain
  const crossings = crossingsOf(plot).filter(({ from }) => from >= least && from <= most)
  const header = headerOf(plot, crossings.length > 0, palette)
  const flags = flagLayers(
    crossings.map(({ mechanism, label, from }) => ({
      x: ((from - least) / (most - least)) * FRAME.width,
      label,
      line: { color: styleOf(mechanism, palette).line.color, width: 1.2 },
    })),
    FRAME,
  )
  const margins = {
    left: 84,
    right: 24,
    top: headerHeight(header) + FLAG_HEIGHT * crossings.length + 12,
    bottom: 64,
  }
  const layer = [...curvesOf(plot, domain, palette), ...flags, ...headerLayers(header, margins, palette)]
  return {
    title: header.title,
    description: [spoken(plot), ...crossings.map(({ sentence }) => sentence)].join(' '),
    margins,
    views: [{ ...FRAME, layer }],
  }
}

type Domain = readonly [least: number, most: number]

function domainOf({ rows }: NoiseComparisonPlot): Domain {
  const [least = 1, most = 1] = [rows[0]?.statistics, rows.at(-1)?.statistics]
  return least < most ? [least, most] : [least - 1, most + 1]
}

/** The mechanisms with noise in any row. */
function drawnOf({ rows }: NoiseComparisonPlot): readonly ComparedMechanism[] {
  return MECHANISMS.filter((mechanism) => rows.some(({ noise }) => noise[mechanism] !== undefined))
}

/** Laplace and geometric noise nearly coincide. The one drawn first is wider, so that it shows below the other. */
function styleOf(mechanism: ComparedMechanism, palette: Palette) {
  const place = MECHANISMS.indexOf(mechanism)
  const color = palette.series[place] ?? palette.text
  return {
    line: { color, dash: entry(dashes, place), width: mechanism === 'laplace' ? 4 : 2 },
    point: { color, shape: shapes[place] ?? 'circle', size: mechanism === 'laplace' ? 90 : 32 },
  }
}

function headerOf(plot: NoiseComparisonPlot, hasCrossings: boolean, palette: Palette): Header {
  const { rows, epsilon, delta } = plot
  const beaten = new Set(plot.crossings.map(({ against }) => MECHANISM_NAMES[against]))
  return {
    title: 'Noise by number of statistics',
    subtitles: [
      `ε = ${numberText(epsilon)}, δ = ${numberText(delta)} for all statistics together; one person influences each of them`,
      ...(hasCrossings
        ? [`Vertical lines: number from which this noise is less than ${[...beaten].join(' and ')} noise`]
        : []),
    ],
    legend: drawnOf(plot).map((mechanism) => {
      const { line, point } = styleOf(mechanism, palette)
      return { label: MECHANISM_NAMES[mechanism], line, ...(rows.length <= MOST_SHAPES ? { point } : {}) }
    }),
  }
}

function curvesOf(plot: NoiseComparisonPlot, [from, to]: Domain, palette: Palette): readonly Layer[] {
  const { rows, criterion, confidence } = plot
  const highest = Math.max(...rows.flatMap(({ noise }) => Object.values(noise)))
  const level = criterion === 'halfWidth' ? ` (${percentText(confidence)})` : ''
  const encoding = {
    x: along({
      title: 'Statistics that one person influences (number)',
      from,
      to,
      round: false,
      tickCount: 12,
      mostInFull: IN_FULL_BELOW,
      tickMinStep: 1,
    })('statistics'),
    y: upward(`${CRITERIA[criterion]} of each${level}, in units of the statistic`, highest, 7)('noise'),
  }
  return drawnOf(plot).flatMap((mechanism): Layer[] => {
    const { line, point } = styleOf(mechanism, palette)
    const data = { values: noiseOf(plot, mechanism) }
    return [
      { data, mark: { type: 'line', ...stroke(line) }, encoding },
      ...(rows.length <= MOST_SHAPES ? [{ data, mark: pointMark(point), encoding }] : []),
    ]
  })
}

function noiseOf({ rows }: NoiseComparisonPlot, mechanism: ComparedMechanism) {
  return rows.flatMap(({ statistics, noise: { [mechanism]: noise } }) =>
    noise === undefined ? [] : [{ statistics, noise }],
  )
}

function spoken(plot: NoiseComparisonPlot): string {
  const { criterion, epsilon, delta } = plot
  const curves = drawnOf(plot).map((mechanism) => {
    const noise = noiseOf(plot, mechanism)
    const told = [noise[0], noise.at(-1)].flatMap((at) =>
      at === undefined ? [] : [`${numberText(at.noise)} at ${at.statistics}`],
    )
    return `${MECHANISM_NAMES[mechanism]}: ${[...new Set(told)].join(', ')}.`
  })
  const what = `${CRITERIA[criterion]} of each statistic against the number of statistics that one person influences`
  return [`${what}, at epsilon ${numberText(epsilon)} and delta ${numberText(delta)}.`, ...curves].join(' ')
}

/**
 * Combines the mechanisms that one mechanism beats from the same number on into one label, and omits labels that add
 * nothing.
 */
function crossingsOf({ crossings }: NoiseComparisonPlot) {
  const beaten = Map.groupBy(crossings, ({ mechanism, from }) => `${mechanism} ${from}`)
  return [...beaten.values()].flatMap((same) => {
    const [first] = same
    if (first === undefined) return []
    const { mechanism, from } = first
    const others = same.map(({ against }) => MECHANISM_NAMES[against]).join(' and ')
    const once = crossings.every((crossing) => crossing.mechanism !== mechanism || crossing.from === from)
    return [
      {
        mechanism,
        from,
        label: `${MECHANISM_NAMES[mechanism]} from ${numberText(from)}${once ? '' : ` (${others})`}`,
        sentence: `From ${numberText(from)} on, ${MECHANISM_NAMES[mechanism]} noise is less than ${others} noise.`,
      },
    ]
  })
}
