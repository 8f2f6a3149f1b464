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
   * From the third on after Okabe and Ito, "Color Universal Design" (2008), darkened on white: also distinguishable for
   * colour-blind readers.
   */
  readonly series: readonly [string, string, string, string, string, string]
}

/** The colours of the console, `console/src/styles/tokens.css`, which shows the plots beside its own charts. */
export const palettes = {
  light: {
    background: '#ffffff',
    text: '#171c1f',
    muted: '#55605f',
    grid: '#dfe2e0',
    band: '#fbeedb',
    area: '#e1f0ee',
    series: ['#0f6b6b', '#a35a00', '#a33d7e', '#0072b2', '#5c5200', '#333c99'],
  },
  dark: {
    background: '#171c1f',
    text: '#e8ecec',
    muted: '#a3b0b2',
    grid: '#2b3438',
    band: '#33260f',
    area: '#16312f',
    series: ['#5cc4b8', '#f0b056', '#e391c1', '#56b4e9', '#f0e442', '#a9a5ff'],
  },
} as const satisfies Record<Theme, Palette>

/** Dashes that accompany the colours, so that lines differ without colour; the first is solid. */
export const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [5, 2]] as const

/** Shapes that accompany the colours. */
export const shapes = ['circle', 'square', 'triangle-up', 'diamond', 'triangle-down', 'cross'] as const
