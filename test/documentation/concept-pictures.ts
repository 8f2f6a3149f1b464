/*
 * The pictures of docs/concepts.md: drawings of ideas, not of figures. `pictures.ts` writes them in both themes.
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
  return Object.entries(DRAWINGS).flatMap(([name, [title, height, draw]]) =>
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
