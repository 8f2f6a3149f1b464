import { entry } from '../../../privacy/must.ts'
import type { CurvePoint } from '../../risk/bounds.ts'
import { type Figure, FLAG_HEIGHT, flagLayers, type Header, headerHeight, headerLayers } from '../figure.ts'
import {
  along,
  IN_FULL_BELOW,
  type Layer,
  type LineStyle,
  pointMark,
  stroke,
  texts,
  upward,
  type View,
} from '../marks.ts'
import type { RiskPanel, RiskPlot } from '../plot.ts'
import { numberText, shortened } from '../text.ts'
import { dashes, type Palette } from '../theme.ts'

/** Pixels. A single panel takes the whole width; several are two per row. */
const ALONE = { width: 692, height: 330, left: 84, right: 24 }
const PAIRED = { width: 300, height: 230, left: 84, right: 24, gap: 92 }
const BELOW = 64
const NOTE_HEIGHT = 17
const SPARE = 1.12

/**
 * The two bounds against epsilon, the risk, and the epsilon at which each bound reaches it. Several columns are side
 * by side on the same scale of risk.
 */
export function riskFigure(plot: RiskPlot, palette: Palette): Figure {
  const style = styleOf(palette)
  const stated = plot.panels[0]?.stated
  const header: Header = {
    title: `Disclosure risk by epsilon: ${shortened(plot.query, 420, 18, true)}`,
    subtitles: [
      'Largest probability that an adversary who knows everyone can assign to the people in an answer',
    ],
    legend: [
      { label: 'upper bound', line: style.upperBound },
      { label: 'tight bound', line: style.tightBound },
      { label: `risk ${numberText(plot.risk)}`, line: style.risk },
      { label: 'largest prior', line: style.prior },
      ...(stated === undefined
        ? []
        : [{ label: `stated epsilon ${numberText(stated.epsilon)}`, line: style.stated }]),
    ],
  }
  const place = plot.panels.length === 1 ? ALONE : PAIRED
  const notes = plot.panels.map((panel) => notesOf(panel))
  const above = Math.max(
    ...plot.panels.map(
      (panel, index) =>
        24 + (notes[index]?.length ?? 0) * NOTE_HEIGHT + FLAG_HEIGHT * flagsOf(panel, style).length,
    ),
  )
  const margins = {
    left: place.left,
    right: place.right,
    top: headerHeight(header) + above + 14,
    bottom: BELOW,
  }
  const highest = Math.max(
    plot.risk * SPARE,
    ...plot.panels.flatMap(({ curve, largestPrior, stated }) => [
      largestPrior * SPARE,
      ...(stated === undefined ? curve : [...curve, stated]).flatMap(({ upperBound, tightBound }) => [
        upperBound,
        tightBound,
      ]),
    ]),
  )
  const views = plot.panels.map(
    (panel, index): View => ({
      width: place.width,
      height: place.height,
      layer: [
        ...panelLayers(panel, plot.risk, Math.min(1, highest), place, palette),
        texts(
          [
            {
              x: 0,
              y: -above + 14,
              text: shortened(panel.name, place.width, 14, true),
            },
          ],
          { color: palette.text, fontSize: 14, bold: true },
        ),
        texts(
          entry(notes, index).map((text, line) => ({
            x: 0,
            y: -above + 14 + (line + 1) * NOTE_HEIGHT,
            text,
          })),
          { color: palette.muted },
        ),
        ...(index === 0 ? headerLayers(header, margins, palette) : []),
      ],
    }),
  )
  return {
    title: header.title,
    description: `Upper and tight bound of the posterior probability against epsilon, with the risk of ${numberText(plot.risk)}. ${plot.panels.map(spoken).join(' ')}`,
    margins,
    views,
    gaps: { row: BELOW + above + 14, column: PAIRED.gap },
  }
}

function styleOf({ series: [upper, tight, , risk], muted, text }: Palette) {
  return {
    upperBound: { color: upper, dash: dashes[0], width: 2.5 },
    tightBound: { color: tight, dash: dashes[1], width: 2.5 },
    risk: { color: risk, dash: dashes[3], width: 1.5 },
    prior: { color: muted, dash: dashes[2], width: 1.5 },
    stated: { color: text, dash: dashes[5], width: 1.5 },
  } satisfies Record<string, LineStyle>
}

type Bound = 'upperBound' | 'tightBound'

const BOUNDS: readonly Bound[] = ['upperBound', 'tightBound']

function epsilonsOf(panel: RiskPanel): readonly { readonly bound: Bound; readonly epsilon: number }[] {
  return BOUNDS.flatMap((bound) => {
    const epsilon = panel[`${bound}Epsilon`]
    return epsilon === null ? [] : [{ bound, epsilon }]
  })
}

/** The epsilons that have a flag above a panel. */
function flagsOf(panel: RiskPanel, style: ReturnType<typeof styleOf>) {
  const { stated } = panel
  return [
    ...epsilonsOf(panel).map(({ bound, epsilon }) => ({
      epsilon,
      line: { color: style[bound].color, width: 1.2 },
    })),
    ...(stated === undefined ? [] : [{ epsilon: stated.epsilon, line: style.stated }]),
  ]
}

function notesOf(panel: RiskPanel): readonly string[] {
  const [noUpper, noTight] = [panel.upperBoundEpsilon === null, panel.tightBoundEpsilon === null]
  return [
    `largest prior ${numberText(panel.largestPrior)}`,
    ...(noUpper && noTight ? ['no epsilon for this risk by either bound'] : []),
    ...(noUpper && !noTight ? ['no epsilon for this risk by the upper bound'] : []),
    ...(noTight && !noUpper ? ['no epsilon for this risk by the tight bound'] : []),
    ...(panel.upperBoundHolds ? [] : ['the upper bound does not hold here']),
    ...(panel.stated === undefined ? [] : [statedText(panel.stated)]),
  ]
}

function panelLayers(
  panel: RiskPanel,
  risk: number,
  highest: number,
  { width, height }: { readonly width: number; readonly height: number },
  palette: Palette,
): Layer[] {
  const style = styleOf(palette)
  const epsilons = epsilonsOf(panel)
  const flags = flagsOf(panel, style)
  const known = [...panel.curve, ...flags].map(({ epsilon }) => epsilon)
  const [lowest, farthest] = [Math.min(...known), Math.max(...known)]
  const from = lowest >= 0 && lowest < farthest / 4 ? 0 : lowest
  const to = from < farthest ? farthest : from + 1
  const x = along({
    title: 'Epsilon (ε)',
    from,
    to,
    round: false,
    tickCount: width > 400 ? 10 : 6,
    mostInFull: IN_FULL_BELOW,
  })('epsilon')
  const y = upward('Largest posterior probability', highest, 6)
  const level = (value: number, line: LineStyle): Layer => ({
    data: { values: [{ level: value }] },
    mark: { type: 'rule', ...stroke(line) },
    encoding: { y: y('level') },
  })
  const curve = (bound: Bound): Layer => ({
    data: { values: panel.curve.map((point) => ({ epsilon: point.epsilon, [bound]: point[bound] })) },
    mark: { type: 'line', ...stroke(style[bound]) },
    encoding: { x, y: y(bound) },
  })
  return [
    level(panel.largestPrior, style.prior),
    level(risk, style.risk),
    ...BOUNDS.map(curve),
    ...flagLayers(
      flags.map(({ epsilon, line }) => ({
        x: ((epsilon - from) / (to - from)) * width,
        label: `ε = ${numberText(epsilon)}`,
        line,
      })),
      { width, height },
    ),
    ...epsilons.map(
      ({ bound, epsilon }): Layer => ({
        data: { values: [{ epsilon, risk }] },
        mark: pointMark({ color: style[bound].color, shape: 'circle', size: 60 }),
        encoding: { x, y: y('risk') },
      }),
    ),
    ...BOUNDS.flatMap((bound): Layer[] =>
      panel.stated === undefined
        ? []
        : [
            {
              data: { values: [{ epsilon: panel.stated.epsilon, risk: panel.stated[bound] }] },
              mark: pointMark({ color: style[bound].color, shape: 'diamond', size: 60 }),
              encoding: { x, y: y('risk') },
            },
          ],
    ),
  ]
}

function statedText({ epsilon, tightBound, upperBound }: CurvePoint): string {
  return `at ε = ${numberText(epsilon)}: tight bound ${numberText(tightBound)}, upper ${numberText(upperBound)}`
}

function spoken(panel: RiskPanel) {
  const { name, upperBoundEpsilon, tightBoundEpsilon, largestPrior, upperBoundHolds, stated } = panel
  const epsilon = (value: number | null) =>
    value === null ? 'at no epsilon' : `at epsilon ${numberText(value)}`
  const holds = upperBoundHolds ? '' : ', where the upper bound does not hold'
  return `${shortened(name, 400, 12)}, largest prior ${numberText(largestPrior)}${holds}: the upper bound reaches the risk ${epsilon(upperBoundEpsilon)}, the tight bound ${epsilon(tightBoundEpsilon)}.${stated === undefined ? '' : ` ${statedText(stated)}.`}`
}
