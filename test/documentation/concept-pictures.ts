import { haarPrecisions, levelsFor } from '../../src/core/workloads/ordered.ts'
import { entry } from '../../src/privacy/must.ts'
import {
  ADULT,
  deviationsOf,
  rootMeanSquare,
  varianceOfPrefix,
  WORKLOADS,
  waysOf,
} from '../core/workloads/known-errors.ts'

/*
 * Drawings of docs/concepts.md, and the errors in docs/budget.md, which are those of the service. `pictures.ts` writes them in both
 * themes.
 */

interface Colours {
  readonly text: string
  readonly muted: string
  readonly accent: string
  readonly soft: string
}

const COLOURS: Readonly<Record<'light' | 'dark', Colours>> = {
  light: { text: '#1f2328', muted: '#59636e', accent: '#1a6b8f', soft: '#c9dfe9' },
  dark: { text: '#e6edf3', muted: '#9198a1', accent: '#6fc3e0', soft: '#24465a' },
}

type Drawing = (colours: Colours) => string

const DRAWINGS: Readonly<Record<string, readonly [title: string, height: number, draw: Drawing]>> = {
  'concept-budget': ['Each answer takes a part of the budget; a repeat takes nothing', 130, budget],
  'concept-noise': ['The true value, and the noisy value within its margin of error', 200, noise],
  'concept-person': ['Of each person at most three rows are kept', 170, people],
  'concept-bounds': ['A value beyond the bounds is moved to the nearest bound', 130, bounds],
}

/** Drawings by their file names. */
export function drawConcepts(): readonly (readonly [file: string, svg: string])[] {
  const drawErrors = errorsDrawing(rowsOfErrors())
  const drawings = {
    ...DRAWINGS,
    'budget-errors': ['Root mean squared errors, by the way in which one price is spent', 452, drawErrors],
  } as const
  return Object.entries(drawings).flatMap(([name, [title, height, draw]]) =>
    (['light', 'dark'] as const).map((theme) => {
      const size = `width="640" height="${height}" viewBox="0 0 640 ${height}"`
      const font = 'font-family="system-ui, sans-serif" font-size="14"'
      const body = draw(COLOURS[theme])
      return [
        `${name}-${theme}.svg`,
        `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${font} role="img"><title>${title}</title>\n${body}\n</svg>\n`,
      ] as const
    }),
  )
}

function text(x: number, y: number, colour: string, words: string, anchor = 'middle'): string {
  return `<text x="${x}" y="${y}" fill="${colour}" text-anchor="${anchor}">${words}</text>`
}

function box(x: number, y: number, width: number, height: number, fill: string, stroke = 'none'): string {
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="3" fill="${fill}" stroke="${stroke}"/>`
}

function line(x1: number, y1: number, x2: number, y2: number, colour: string, dashes = 'none'): string {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${colour}" stroke-width="1.5" stroke-dasharray="${dashes}"/>`
}

function budget({ text: words, muted, accent, soft }: Colours): string {
  return [
    text(20, 24, words, 'Budget of the dataset: epsilon 2', 'start'),
    box(20, 40, 600, 36, soft),
    box(20, 40, 30, 36, accent),
    box(53, 40, 60, 36, accent),
    box(116, 40, 150, 36, accent),
    text(35, 98, muted, '0.1'),
    text(83, 98, muted, '0.2'),
    text(191, 98, muted, '0.5'),
    text(443, 63, words, 'left: 1.2'),
    text(20, 120, muted, 'three answers; asking any of them again takes 0', 'start'),
  ].join('\n')
}

function noise({ text: words, muted, accent, soft }: Colours): string {
  const curve = Array.from({ length: 121 }, (_, index) => {
    const x = 20 + index * 5
    return `${x},${(150 - 110 * Math.exp(-Math.abs(x - 320) / 60)).toFixed(1)}`
  })
  return [
    box(140, 40, 360, 110, soft),
    `<polyline points="${curve.join(' ')}" fill="none" stroke="${accent}" stroke-width="2"/>`,
    line(20, 150, 620, 150, muted),
    line(320, 28, 320, 150, words, '4 3'),
    text(320, 20, words, 'true value (never shown)'),
    `<circle cx="372" cy="150" r="6" fill="${accent}"/>`,
    text(372, 174, accent, 'the answer'),
    text(140, 174, muted, '− 30'),
    text(500, 174, muted, '+ 30'),
    text(320, 195, muted, 'margin of error: 95 of 100 answers lie in the shaded part'),
  ].join('\n')
}

function people({ text: words, muted, accent, soft }: Colours): string {
  const rows = [2, 6, 3]
  return [
    ...rows.flatMap((count, person) => [
      text(20, 46 + person * 40, words, `person ${person + 1}`, 'start'),
      ...Array.from({ length: count }, (_, row) =>
        box(110 + row * 60, 26 + person * 40, 50, 30, row < 3 ? accent : 'none', row < 3 ? accent : muted),
      ),
    ]),
    line(287, 14, 287, 140, words, '4 3'),
    text(110, 160, muted, 'rows that answers read (maxRows: 3)', 'start'),
    text(480, 46, muted, 'left out'),
    line(445, 52, 400, 74, soft),
  ].join('\n')
}

function bounds({ text: words, muted, accent, soft }: Colours): string {
  return [
    line(20, 70, 620, 70, muted),
    box(120, 58, 280, 24, soft),
    text(120, 104, words, 'lower: 0'),
    text(400, 104, words, 'upper: 500'),
    ...[150, 210, 240, 330].map((x) => `<circle cx="${x}" cy="70" r="6" fill="${accent}"/>`),
    `<circle cx="570" cy="70" r="6" fill="none" stroke="${accent}" stroke-width="2"/>`,
    `<circle cx="400" cy="70" r="6" fill="${accent}"/>`,
    `<path d="M 562 60 C 520 25 450 25 408 58" fill="none" stroke="${accent}" stroke-width="1.5" stroke-dasharray="4 3"/>`,
    text(485, 26, muted, '9,000 counts as 500'),
  ].join('\n')
}

/** The errors of a workload at rho = 1/2: with an equal part of the price for each table, together, and at best. */
interface Row {
  readonly label: string
  readonly detail: string
  readonly errors: readonly [alone: number, together: number, least: number]
}

function rowsOfErrors(): readonly Row[] {
  const tables = WORKLOADS.map(({ sizes, ways, optimum }): Row => {
    // The table of no columns, the number of all rows, cannot be asked for. It moves no figure that is shown.
    const asked = ways.filter((each) => each > 0)
    const sets = waysOf(sizes, asked)
    const together = rootMeanSquare(sizes, sets, deviationsOf(sizes, sets, 'gaussian'))
    const which =
      asked.length > 1 ? 'up to three' : ['each column', 'every pair', 'every three'][(asked[0] ?? 1) - 1]
    return {
      label: `${sizes === ADULT ? 14 : 5} columns: ${which}`,
      detail: `${sets.length} tables`,
      errors: [Math.sqrt(sets.length), together, optimum],
    }
  })
  return [...tables, rowOfCumulativeCounts(1024)]
}

/** Cumulative counts beside the added counts of a histogram, and the least error of any Gaussian noise for 1,024 of them. */
function rowOfCumulativeCounts(cells: number): Row {
  const oneRow = Array.from({ length: levelsFor(cells) + 1 }, () => 1)
  const variances = haarPrecisions(cells, 'gaussian', [oneRow]).map((each) => 1 / each)
  const prefixes = Array.from({ length: cells }, (_, cell) => varianceOfPrefix(cell + 1, variances))
  const together = Math.sqrt(prefixes.reduce((sum, variance) => sum + variance, 0) / cells)
  return {
    label: '1,024 cumulative counts',
    detail: 'top bar: a histogram',
    errors: [Math.sqrt((cells + 1) / 2), together, 2.91],
  }
}

/** Bars of the errors. */
function errorsDrawing(rows: readonly Row[]): Drawing {
  return ({ text: words, muted, accent, soft }) => {
    const series = [
      { name: 'an equal part of the price for each table', x: 20, fill: soft, stroke: muted },
      { name: 'together', x: 350, fill: accent, stroke: accent },
      { name: 'least possible', x: 450, fill: 'none', stroke: muted },
    ] as const
    const legend = series.flatMap(({ name, x, fill, stroke }) => [
      box(x, 12, 14, 12, fill, stroke),
      text(x + 22, 23, words, name, 'start'),
    ])
    const bars = rows.flatMap(({ label, detail, errors }, row) => {
      const top = 44 + row * 58
      return [
        text(20, top + 18, words, label, 'start'),
        text(20, top + 36, muted, detail, 'start'),
        ...errors.flatMap((error, place) => {
          const { fill, stroke } = entry(series, place)
          const width = Math.round(error * 16)
          const y = top + place * 15
          return [
            box(225, y, width, 12, fill, stroke),
            text(231 + width, y + 11, words, error.toPrecision(3), 'start'),
          ]
        }),
      ]
    })
    return [...legend, ...bars].join('\n')
  }
}
