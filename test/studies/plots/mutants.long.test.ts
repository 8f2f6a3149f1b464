import { expect, test } from 'vitest'
import type { Plot, Theme } from '../../../src/studies/plots/plot.ts'
import { withChangedSource } from '../../mutants/changed-source.ts'
import { type Mutant, mutantsIn, selectMutants } from '../../mutants/select-mutants.ts'
import { flawsOf } from './flaws.ts'
import {
  comparisonPlot,
  densityPlot,
  distributionPlot,
  dwarfedPlot,
  farPlot,
  fullTablePlot,
  hostilePlots,
  riskPanelsPlot,
  riskPlot,
  tablePlot,
} from './samples.ts'

interface DrawnMutant extends Mutant {
  readonly plot: Plot | undefined
  readonly theme?: Theme
  /** Flaw that the test must detect. */
  readonly flaw: RegExp
}

const risk = mutantsIn('studies/plots/risk.ts')
const draw = mutantsIn('studies/plots/draw.ts')
const figure = mutantsIn('studies/plots/figure.ts')
const marks = mutantsIn('studies/plots/marks.ts')
const text = mutantsIn('studies/plots/text.ts')
const mechanismNames = mutantsIn('studies/plots/mechanism-names.ts')
const noiseComparison = mutantsIn('studies/plots/noise-comparison.ts')
const answerDistribution = mutantsIn('studies/plots/answer-distribution.ts')
const noisyTable = mutantsIn('studies/plots/noisy-table.ts')
const mutants: readonly DrawnMutant[] = [
  {
    ...risk('no risk line', '    level(risk, style.risk),\n', ''),
    plot: riskPlot,
    flaw: /no risk line/,
  },
  {
    ...risk('the tight bound is the upper bound', '[bound]: point[bound] }', '[bound]: point.upperBound }'),
    plot: riskPanelsPlot,
    flaw: /no tight bound/,
  },
  {
    ...risk(
      'an epsilon marked a little off',
      '((epsilon - from) / (to - from)) * width',
      '((epsilon - from) / (to - from)) * width + 4',
    ),
    plot: riskPlot,
    flaw: /no mark at/,
  },
  {
    ...draw(
      'the palette of the other theme',
      'figureOf(plot, palettes[theme]) panels.push',
      'figureOf(plot, palettes.light)\n    panels.push',
    ),
    plot: riskPlot,
    theme: 'dark',
    flaw: /too little contrast/,
  },
  {
    ...draw('no background', '    background: palette.background,\n', ''),
    plot: tablePlot,
    theme: 'dark',
    flaw: /no background/,
  },
  {
    ...figure(
      'labels at the poles of others',
      'if (flaws < best.flaws) best',
      'if (best.flaws === Number.POSITIVE_INFINITY) best',
    ),
    plot: riskPlot,
    flaw: /struck by a line/,
  },
  {
    ...marks('small print', 'FONT_SIZE = 12', 'FONT_SIZE = 9'),
    plot: tablePlot,
    flaw: /smaller than 12/,
  },
  {
    ...figure('a legend that never begins a new row', '[x, row] = [EDGE, row + 1]', '[x, row] = [x, row]'),
    plot: hostilePlots[1],
    flaw: /outside/,
  },
  {
    ...text('names that are not shortened', 'textWidth(plain, fontSize, bold) <= mostPixels', 'true'),
    plot: hostilePlots[0],
    flaw: /outside/,
  },
  {
    ...text('control characters', ".replace(/[\\s\\p{Cc}]+/gu, ' ')", ''),
    plot: hostilePlots[1],
    flaw: /not well-formed/,
  },
  {
    ...draw('a description that is not escaped', ".replaceAll('<', '&lt;')", ''),
    plot: hostilePlots[0],
    flaw: /an element script|not well-formed/,
  },
  {
    ...mechanismNames(
      'a curve of another mechanism',
      "'analytic-gaussian': 'analytic Gaussian',\n  'classic-gaussian': 'classic Gaussian',",
      "'classic-gaussian': 'classic Gaussian',\n  'analytic-gaussian': 'analytic Gaussian',",
    ),
    plot: comparisonPlot(20),
    flaw: /no (analytic|classic)-gaussian/,
  },
  {
    ...noiseComparison('a crossing marked one further', '(from - least)', '(from + 1 - least)'),
    plot: comparisonPlot(20),
    flaw: /no mark at 7/,
  },
  {
    ...answerDistribution(
      'an interval of twice the half-width',
      'end(truth - halfWidth), upper: end(truth + halfWidth)',
      'end(truth - 2 * halfWidth), upper: end(truth + 2 * halfWidth)',
    ),
    plot: distributionPlot,
    flaw: /no edge of the interval/,
  },
  {
    ...answerDistribution('no band', 'band, ...', '...'),
    plot: densityPlot,
    flaw: /no band/,
  },
  {
    ...answerDistribution(
      'a mechanism with its name on the wire',
      'MECHANISM_NAMES[mechanism]} noise`,',
      'mechanism} noise`,',
    ),
    plot: densityPlot,
    flaw: /no text analytic Gaussian noise/,
  },
  {
    ...text(
      'an end of four digits, like the truth',
      'if (!inFull) return signed(value, withExponent(size, digits))',
      'if (needsExponent(size)) return signed(value, withExponent(size, 4))',
    ),
    plot: farPlot,
    flaw: /another interval/,
  },
  {
    ...marks('an axis of numbers that look alike', '(alike ? { labelLimit: 0 } : {})', '{}'),
    plot: farPlot,
    flaw: /no line at the truth/,
  },
  {
    ...text(
      'nothing in place of a truth much smaller than its noise',
      'const telling',
      "if (size < apart * 1e-9) return '0'\n  const telling",
    ),
    plot: dwarfedPlot,
    flaw: /another truth/,
  },
  {
    ...text('all answers in place of most', 'toPrecision(10)', 'toPrecision(6)'),
    plot: dwarfedPlot,
    flaw: /no text 99\.99999% of answers/,
  },
  {
    ...noisyTable('values without their unit', 'plot.unit === undefined', 'true'),
    plot: tablePlot,
    flaw: /no text Noisy value \(rows\)/,
  },
  {
    ...noisyTable(
      'error bars to one side',
      'lower: value - halfWidth, upper: value + halfWidth, told',
      'lower: value - halfWidth, upper: value, told',
    ),
    plot: fullTablePlot,
    flaw: /no error bar/,
  },
  {
    ...noisyTable('error bars too long', 'lower: value - halfWidth,', 'lower: value - 1.2 * halfWidth,'),
    plot: tablePlot,
    flaw: /too long an error bar/,
  },
  {
    ...noisyTable('truths where the noisy values are', '[{ y, truth }]', '[{ y, truth: truth + 60 }]'),
    plot: tablePlot,
    flaw: /no truth/,
  },
  {
    ...noisyTable(
      'categories in the order of the alphabet',
      'const categories = [...names.keys()]',
      'const categories = [...names.keys()].sort()',
    ),
    plot: tablePlot,
    flaw: /no value|no error bar/,
  },
  {
    ...noisyTable(
      'groups in the order of the alphabet',
      'Map.groupBy(cells, ({ key }) => entry(key, 0))',
      '[...Map.groupBy(cells, ({ key }) => entry(key, 0))].sort()',
    ),
    plot: tablePlot,
    flaw: /is not where it should be/,
  },
  {
    ...noisyTable(
      'different names with equal short forms become one category',
      'return JSON.stringify(key.slice(1))',
      'return shortened(key.slice(1).join(), 100, FONT_SIZE)',
    ),
    plot: hostilePlots[1],
    flaw: /no value|no truth/,
  },
]

test.each(selectMutants(import.meta.dirname, mutants, (mutant) => [mutant]))(
  '$bug: seen',
  async ({ plot, theme = 'light', flaw, ...change }) => {
    if (plot === undefined) throw new Error('no such sample')
    const svg = await withChangedSource([change], {}, async (load) => {
      const { drawPanels } =
        await load<typeof import('../../../src/studies/plots/draw.ts')>('studies/plots/draw.ts')
      return drawPanels([plot], theme)
    })
    const flaws = flawsOf(svg, plot, theme)
    expect(flaws.join('\n')).toMatch(flaw)
  },
)
