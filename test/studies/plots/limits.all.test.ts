import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drawPanels } from '../../../src/studies/plots/draw.ts'
import type { Plot } from '../../../src/studies/plots/plot.ts'
import { palettes } from '../../../src/studies/plots/theme.ts'
import { flawsOf } from './flaws.ts'
import { colourOf, contrast } from './picture.ts'
import {
  comparisonPlot,
  densityPlot,
  distributionPlot,
  fullTablePlot,
  hostilePlots,
  panelOf,
  riskPlot,
  samples,
  tablePlot,
} from './samples.ts'

describe('a plot at its limits is drawn without a flaw', () => {
  const odd: Readonly<Record<string, Plot>> = {
    'one cell, no interval, one key': {
      ...tablePlot,
      keys: ['Occupation'],
      cells: [{ key: ['Sales'], value: 0, halfWidth: null }],
    },
    'negative values far from 0': {
      ...tablePlot,
      cells: tablePlot.cells.map((one) => ({ key: one.key, value: -1e6 - one.value, halfWidth: 300 })),
    },
    'tiny values': {
      ...tablePlot,
      cells: tablePlot.cells.map(({ key, value }) => ({ key, value: value / 1e9, halfWidth: 1e-7 })),
    },
    'huge values': {
      ...tablePlot,
      cells: tablePlot.cells.map(({ key, value }) => ({ key, value: value * 1e11, halfWidth: 1e13 })),
    },
    'a hidden cell': { ...tablePlot, cells: tablePlot.cells.slice(1) },
    'one row': comparisonPlot(1),
    'two points at one epsilon': {
      ...riskPlot,
      panels: [
        {
          ...panelOf('school_year'),
          curve: panelOf('school_year')
            .curve.slice(0, 2)
            .map((point) => ({ ...point, epsilon: 0 })),
          upperBoundEpsilon: null,
          tightBoundEpsilon: null,
        },
      ],
    },
  }
  test.each(Object.entries(odd))('%s', async (_, plot) => {
    for (const theme of ['light', 'dark'] as const) {
      const flaws = flawsOf(await drawPanels([plot], theme), plot, theme)
      expect(flaws.filter((flaw) => PLACES.test(flaw) || /no value|not well|contrast/.test(flaw))).toEqual([])
    }
  })
})

const PLACES = /^(outside|one over another|struck by a line)/

test('labels fit for all positions of the epsilons', async () => {
  const epsilon = fc.option(fc.double({ min: 0, max: 2, noNaN: true }), { nil: null })
  const panel = fc.record({
    upperBoundEpsilon: epsilon,
    tightBoundEpsilon: epsilon,
    upperBoundHolds: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(panel, { minLength: 1, maxLength: 3 }), async (panels) => {
      const plot = { ...riskPlot, panels: panels.map((one) => ({ ...panelOf('school_year'), ...one })) }
      expect(
        flawsOf(await drawPanels([plot], 'light'), plot, 'light').filter((flaw) => PLACES.test(flaw)),
      ).toEqual([])
    }),
    { numRuns: 25 },
  )
})

test('labels fit for all crossings of mechanisms', async () => {
  const from = fc.integer({ min: 1, max: 60 })
  await fc.assert(
    fc.asyncProperty(from, from, async (analytic, classic) => {
      const crossings = [
        { mechanism: 'analytic-gaussian', against: 'laplace', from: analytic },
        { mechanism: 'classic-gaussian', against: 'laplace', from: classic },
      ] as const
      const plot = { ...comparisonPlot(60), crossings }
      expect(
        flawsOf(await drawPanels([plot], 'light'), plot, 'light').filter((flaw) => PLACES.test(flaw)),
      ).toEqual([])
    }),
    { numRuns: 15 },
  )
})

test('labels fit for all positions and sizes of the truth', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.double({ min: -3, max: 3, noNaN: true }),
      fc.integer({ min: -8, max: 13 }),
      fc.constantFrom(0, 1e3, -1e6, 1e9),
      fc.constantFrom(distributionPlot, densityPlot),
      async (shift, exponent, far, sample) => {
        const size = 10 ** exponent
        const middle = far * Math.min(size, 1e6)
        const plot = {
          ...sample,
          truth: middle + shift * size,
          halfWidth: 0.4 * size,
          points: sample.points.map(({ probability }, index) => ({
            value: middle + (index / sample.points.length - 0.5) * size,
            probability: probability / size,
          })),
        }
        const flaws = flawsOf(await drawPanels([plot], 'dark'), plot, 'dark')
        expect(flaws.filter((flaw) => PLACES.test(flaw) || /^another/.test(flaw))).toEqual([])
      },
    ),
    { numRuns: 40 },
  )
})

test('an end of an interval that differs from 0 only by rounding is written as 0', async () => {
  const plot = {
    ...distributionPlot,
    truth: 0.1 + 0.2,
    halfWidth: 0.3,
    points: distributionPlot.points.map(({ value, probability }) => ({
      value: value / 10 - 11.7,
      probability,
    })),
  }
  expect(await drawPanels([plot], 'light')).toContain('>95% of answers: 0 to 0.6</text>')
})

test('no plot refers to external resources', async () => {
  for (const plot of Object.values(samples)) {
    const svg = await drawPanels([plot], 'light')
    expect(svg).not.toMatch(/<(script|image|use|a|foreignObject|style|iframe)\b/)
    expect(svg.replace('xmlns="http://www.w3.org/2000/svg"', '')).not.toMatch(
      /="[^"]*(https?:|data:|javascript:)/,
    )
  }
})

test("users' texts appear as they were written", async () => {
  const [plot] = hostilePlots
  const svg = await drawPanels([plot ?? fullTablePlot], 'light')
  for (const text of [
    '&lt;script&gt;alert(1)&lt;/script&gt;',
    'a.b[0]["c"]',
    "datum.value + data('source_0')",
    '__proto__',
  ])
    expect(svg).toContain(`>${text}</text>`)
})

test.each(['light', 'dark'] as const)('the colours of %s stand out, also over areas', (theme) => {
  const { background, text, muted, band, area, series } = palettes[theme]
  const apart = (one: string, other: string) => contrast(colourOf(one), colourOf(other))
  for (const colour of [text, muted, ...series]) expect(apart(colour, background)).toBeGreaterThanOrEqual(4.5)
  for (const colour of [text, series[0], series[1]])
    for (const behind of [band, area]) expect(apart(colour, behind)).toBeGreaterThanOrEqual(3)
})

test('the colours are those of the console', () => {
  const tokens = readFileSync(new URL('../../../console/src/styles/tokens.css', import.meta.url), 'utf8')
  const colours = (theme: 'light' | 'dark') =>
    ['surface', 'ink', 'ink-muted', 'line', 'cost-soft', 'accent-soft', ...SERIES].map((name) => {
      const [, light, dark] =
        new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\);`).exec(tokens) ?? []
      return theme === 'light' ? light : dark
    })
  for (const theme of ['light', 'dark'] as const) {
    const { series, ...others } = palettes[theme]
    expect(colours(theme)).toEqual([...Object.values(others), ...series])
  }
})

const SERIES = ['accent', 'cost', 'third', 'fourth', 'fifth', 'sixth']

test('only the drawing module loads Vega', () => {
  const folder = new URL('../../../src/studies/plots/', import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const loading = files.filter((file) =>
    /^import (?!type )[^;]*? from 'vega(-lite)?'/m.test(readFileSync(new URL(file, folder), 'utf8')),
  )
  expect(loading).toEqual(['draw.ts'])
})
