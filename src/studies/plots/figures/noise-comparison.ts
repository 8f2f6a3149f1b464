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
  const { rows, epsilon, delta, criterion, confidence } = plot
  const drawn = MECHANISMS.filter((mechanism) => rows.some(({ noise }) => noise[mechanism] !== undefined))
  const [least = 1, most = 1] = [rows[0]?.statistics, rows.at(-1)?.statistics]
  const domain = least < most ? ([least, most] as const) : ([least - 1, most + 1] as const)
  const highest = Math.max(...rows.flatMap(({ noise }) => Object.values(noise)))
  // Laplace and geometric noise nearly coincide. The one drawn first is wider, so that it shows below the other.
  const style = (mechanism: ComparedMechanism) => {
    const place = MECHANISMS.indexOf(mechanism)
    const color = palette.series[place] ?? palette.text
    return {
      line: { color, dash: entry(dashes, place), width: mechanism === 'laplace' ? 4 : 2 },
      point: { color, shape: shapes[place] ?? 'circle', size: mechanism === 'laplace' ? 90 : 32 },
    }
  }
  const crossings = crossingsOf(plot).filter(({ from }) => from >= least && from <= most)
  const beaten = new Set(plot.crossings.map(({ against }) => MECHANISM_NAMES[against]))
  const withPoints = rows.length <= MOST_SHAPES
  const level = criterion === 'halfWidth' ? ` (${percentText(confidence)})` : ''
  const header: Header = {
    title: 'Noise by number of statistics',
    subtitles: [
      `ε = ${numberText(epsilon)}, δ = ${numberText(delta)} for all statistics together; one person influences each of them`,
      ...(crossings.length === 0
        ? []
        : [`Vertical lines: number from which this noise is less than ${[...beaten].join(' and ')} noise`]),
    ],
    legend: drawn.map((mechanism) => ({
      label: MECHANISM_NAMES[mechanism],
      line: style(mechanism).line,
      ...(withPoints ? { point: style(mechanism).point } : {}),
    })),
  }
  const encoding = {
    x: along({
      title: 'Statistics that one person influences (number)',
      from: domain[0],
      to: domain[1],
      round: false,
      tickCount: 12,
      mostInFull: IN_FULL_BELOW,
      tickMinStep: 1,
    })('statistics'),
    y: upward(`${CRITERIA[criterion]} of each${level}, in units of the statistic`, highest, 7)('noise'),
  }
  const curves = drawn.flatMap((mechanism): Layer[] => {
    const { line, point } = style(mechanism)
    const values = rows.flatMap(({ statistics, noise }) =>
      noise[mechanism] === undefined ? [] : [{ statistics, noise: noise[mechanism] }],
    )
    return [
      {
        data: { values },
        mark: { type: 'line', ...stroke(line) },
        encoding,
      },
      ...(withPoints ? [{ data: { values }, mark: pointMark(point), encoding }] : []),
    ]
  })
  const flags = flagLayers(
    crossings.map(({ mechanism, label, from }) => ({
      x: ((from - domain[0]) / (domain[1] - domain[0])) * FRAME.width,
      label,
      line: { color: style(mechanism).line.color, width: 1.2 },
    })),
    FRAME,
  )
  const margins = {
    left: 84,
    right: 24,
    top: headerHeight(header) + FLAG_HEIGHT * crossings.length + 12,
    bottom: 64,
  }
  return {
    title: header.title,
    description: [
      `${CRITERIA[criterion]} of each statistic against the number of statistics that one person influences, at epsilon ${numberText(epsilon)} and delta ${numberText(delta)}.`,
      ...drawn.map((mechanism) => {
        const ofMechanism = rows.flatMap(({ statistics, noise }) =>
          noise[mechanism] === undefined ? [] : [`${numberText(noise[mechanism])} at ${statistics}`],
        )
        return `${MECHANISM_NAMES[mechanism]}: ${[...new Set([ofMechanism[0], ofMechanism.at(-1)])].join(', ')}.`
      }),
      ...crossings.map(({ sentence }) => sentence),
    ].join(' '),
    margins,
    views: [{ ...FRAME, layer: [...curves, ...flags, ...headerLayers(header, margins, palette)] }],
  }
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
