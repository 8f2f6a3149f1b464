import { expect, test } from 'vitest'
import type { Plot, Theme } from '../../src/plots/plot.ts'
import { type SourceChange, withChangedSource } from '../changed-source.ts'
import { selectMutants } from '../select-mutants.ts'
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

interface Mutant extends SourceChange {
  readonly what: string
  readonly plot: Plot | undefined
  readonly theme?: Theme
  /** Flaw that the test must detect. */
  readonly flaw: RegExp
}

const mutants: readonly Mutant[] = [
  {
    what: 'no risk line',
    file: 'risk.ts',
    find: '    level(risk, style.risk),\n',
    replace: '',
    plot: riskPlot,
    flaw: /no risk line/,
  },
  {
    what: 'the tight bound is the upper bound',
    file: 'risk.ts',
    find: '[bound]: point[bound] }',
    replace: '[bound]: point.upperBound }',
    plot: riskPanelsPlot,
    flaw: /no tight bound/,
  },
  {
    what: 'an epsilon marked a little off',
    file: 'risk.ts',
    find: '((epsilon - from) / (to - from)) * width',
    replace: '((epsilon - from) / (to - from)) * width + 4',
    plot: riskPlot,
    flaw: /no mark at/,
  },
  {
    what: 'the palette of the other theme',
    file: 'draw.ts',
    find: 'figureOf(plot, palette)',
    replace: 'figureOf(plot, palettes.light)',
    plot: riskPlot,
    theme: 'dark',
    flaw: /too little contrast/,
  },
  {
    what: 'no background',
    file: 'specification.ts',
    find: '    background: palette.background,\n',
    replace: '',
    plot: tablePlot,
    theme: 'dark',
    flaw: /no background/,
  },
  {
    what: 'labels at the poles of others',
    file: 'figure.ts',
    find: 'if (flaws < best.flaws) best',
    replace: 'if (best.flaws === Number.POSITIVE_INFINITY) best',
    plot: riskPlot,
    flaw: /struck by a line/,
  },
  {
    what: 'small print',
    file: 'marks.ts',
    find: 'FONT_SIZE = 12',
    replace: 'FONT_SIZE = 9',
    plot: tablePlot,
    flaw: /smaller than 12/,
  },
  {
    what: 'a legend that never begins a new row',
    file: 'figure.ts',
    find: '[x, row] = [EDGE, row + 1]',
    replace: '[x, row] = [x, row]',
    plot: hostilePlots[1],
    flaw: /outside/,
  },
  {
    what: 'names that are not shortened',
    file: 'text.ts',
    find: 'textWidth(plain, fontSize, bold) <= mostPixels',
    replace: 'true',
    plot: hostilePlots[0],
    flaw: /outside/,
  },
  {
    what: 'control characters',
    file: 'text.ts',
    find: ".replace(/[\\s\\p{Cc}]+/gu, ' ')",
    replace: '',
    plot: hostilePlots[1],
    flaw: /not well-formed/,
  },
  {
    what: 'a description that is not escaped',
    file: 'draw.ts',
    find: ".replaceAll('<', '&lt;')",
    replace: '',
    plot: hostilePlots[0],
    flaw: /an element script|not well-formed/,
  },
  {
    what: 'a curve of another mechanism',
    file: 'mechanism-names.ts',
    find: "'analytic-gaussian': 'analytic Gaussian',\n  'classic-gaussian': 'classic Gaussian',",
    replace: "'classic-gaussian': 'classic Gaussian',\n  'analytic-gaussian': 'analytic Gaussian',",
    plot: comparisonPlot(20),
    flaw: /no (analytic|classic)-gaussian/,
  },
  {
    what: 'a crossing marked one further',
    file: 'noise-comparison.ts',
    find: '(from - domain[0])',
    replace: '(from + 1 - domain[0])',
    plot: comparisonPlot(20),
    flaw: /no mark at 7/,
  },
  {
    what: 'an interval of twice the half-width',
    file: 'answer-distribution.ts',
    find: 'end(truth - halfWidth), upper: end(truth + halfWidth)',
    replace: 'end(truth - 2 * halfWidth), upper: end(truth + 2 * halfWidth)',
    plot: distributionPlot,
    flaw: /no edge of the interval/,
  },
  {
    what: 'no band',
    file: 'answer-distribution.ts',
    find: '          band,\n',
    replace: '',
    plot: densityPlot,
    flaw: /no band/,
  },
  {
    what: 'a mechanism with its name on the wire',
    file: 'answer-distribution.ts',
    find: 'MECHANISM_NAMES[mechanism]} noise`,',
    replace: 'mechanism} noise`,',
    plot: densityPlot,
    flaw: /no text analytic Gaussian noise/,
  },
  {
    what: 'an end of four digits, like the truth',
    file: 'text.ts',
    find: 'if (!inFull) return signed(value, withExponent(size, digits))',
    replace: 'if (needsExponent(size)) return signed(value, withExponent(size, 4))',
    plot: farPlot,
    flaw: /another interval/,
  },
  {
    what: 'an axis of numbers that look alike',
    file: 'marks.ts',
    find: '(alike ? { labelLimit: 0 } : {})',
    replace: '{}',
    plot: farPlot,
    flaw: /no line at the truth/,
  },
  {
    what: 'nothing in place of a truth much smaller than its noise',
    file: 'text.ts',
    find: 'const telling',
    replace: "if (size < apart * 1e-9) return '0'\n  const telling",
    plot: dwarfedPlot,
    flaw: /another truth/,
  },
  {
    what: 'all answers in place of most',
    file: 'text.ts',
    find: 'toPrecision(10)',
    replace: 'toPrecision(6)',
    plot: dwarfedPlot,
    flaw: /no text 99\.99999% of answers/,
  },
  {
    what: 'values without their unit',
    file: 'noisy-table.ts',
    find: 'plot.unit === undefined',
    replace: 'true',
    plot: tablePlot,
    flaw: /no text Noisy value \(rows\)/,
  },
  {
    what: 'error bars to one side',
    file: 'noisy-table.ts',
    find: 'upper: value + halfWidth }',
    replace: 'upper: value }',
    plot: fullTablePlot,
    flaw: /no error bar/,
  },
  {
    what: 'error bars too long',
    file: 'noisy-table.ts',
    find: 'lower: value - halfWidth,',
    replace: 'lower: value - 1.2 * halfWidth,',
    plot: tablePlot,
    flaw: /too long an error bar/,
  },
  {
    what: 'truths where the noisy values are',
    file: 'noisy-table.ts',
    find: '[{ y, truth }]',
    replace: '[{ y, truth: truth + 60 }]',
    plot: tablePlot,
    flaw: /no truth/,
  },
  {
    what: 'categories in the order of the alphabet',
    file: 'noisy-table.ts',
    find: 'const categories = [...new Set(cells.map(categoryOf))]',
    replace: 'const categories = [...new Set(cells.map(categoryOf))].sort()',
    plot: tablePlot,
    flaw: /no value|no error bar/,
  },
  {
    what: 'groups in the order of the alphabet',
    file: 'noisy-table.ts',
    find: "Map.groupBy(cells, ({ key }) => key[0] ?? '')",
    replace: "[...Map.groupBy(cells, ({ key }) => key[0] ?? '')].sort()",
    plot: tablePlot,
    flaw: /is not where it should be/,
  },
  {
    what: 'different names with equal short forms become one category',
    file: 'noisy-table.ts',
    find: 'return JSON.stringify(key.slice(1))',
    replace: 'return shortened(key.slice(1).join(), 100, FONT_SIZE)',
    plot: hostilePlots[1],
    flaw: /no value|no truth/,
  },
]

test.each(selectMutants(import.meta.dirname, mutants, ({ file }) => [`plots/${file}`]))(
  '$what: seen',
  async ({ plot, theme = 'light', flaw, file, ...change }) => {
    if (plot === undefined) throw new Error('no such sample')
    const mutation = { ...change, file: `plots/${file}` }
    const svg = await withChangedSource([mutation], {}, async (load) => {
      const { drawPlot } = await load<typeof import('../../src/plots/draw.ts')>('plots/draw.ts')
      return drawPlot(plot, theme)
    })
    const flaws = flawsOf(svg, plot, theme)
    expect(flaws.join('\n')).toMatch(flaw)
  },
)
