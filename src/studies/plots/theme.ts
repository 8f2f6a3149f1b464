import type { Theme } from './plot.ts'

/**
 * Colours of one theme. All except `grid` and `band` are text colours with a contrast of at least 4.5 to the
 * background.
 */
export interface Palette {
  readonly background: string
  readonly text: string
  /** Colour of elements that should not attract attention. */
  readonly muted: string
  readonly grid: string
  /** Colour of an area behind the curves. */
  readonly band: string
  /** Colour of an area below a curve. */
  readonly area: string
  /**
   * After Okabe and Ito, "Color Universal Design" (2008), darkened on white: also distinguishable for colour-blind
   * readers.
   */
  readonly series: readonly [string, string, string, string, string, string]
}

export const palettes = {
  light: {
    background: '#ffffff',
    text: '#1b1f24',
    muted: '#57606a',
    grid: '#dfe3e8',
    band: '#fbecd3',
    area: '#c5dff0',
    series: ['#0072b2', '#b84a00', '#00745a', '#a33d7e', '#5c5200', '#333c99'],
  },
  dark: {
    background: '#14181d',
    text: '#e6e9ec',
    muted: '#a3acb5',
    grid: '#2e353d',
    band: '#3d3018',
    area: '#1f4259',
    series: ['#56b4e9', '#e69f00', '#2fc795', '#e391c1', '#f0e442', '#a9a5ff'],
  },
} as const satisfies Record<Theme, Palette>

/** Dashes that accompany the colours, so that lines differ without colour; the first is solid. */
export const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [5, 2]] as const

/** Shapes that accompany the colours. */
export const shapes = ['circle', 'square', 'triangle-up', 'diamond', 'triangle-down', 'cross'] as const
