import { z } from 'zod'
import { tableColumns } from '../answers/releases.ts'
import { listOf, object, string } from '../values.ts'
import { comparedMechanism, comparisonRequest } from './mechanisms.ts'
import { LARGEST_RISK_EPSILON } from './risk.ts'

const STATED_EPSILON = `must be a decimal number above 0 and at most ${LARGEST_RISK_EPSILON}`

/** Theme of a picture. */
export const theme = z
  .enum(['light', 'dark'])
  .default('light')
  .describe('Background of the page that shows the picture.')

/** Measure by which the noise of mechanisms is compared. */
export const criterion = z
  .enum(['standardDeviation', 'expectedAbsoluteError', 'halfWidth'])
  .default('standardDeviation')
  .describe('Measure of the noise to plot.')

/** Epsilon at which a plot of the risk draws a line. A string, because a query string has no numbers. */
export const statedEpsilon = z
  .string()
  .regex(/^\d{1,4}(\.\d{1,15})?$/, STATED_EPSILON)
  .transform(Number)
  .refine((epsilon) => epsilon > 0 && epsilon <= LARGEST_RISK_EPSILON, STATED_EPSILON)
  .optional()
  .describe(
    'Epsilon at which a line is drawn, with both bounds of the risk there: a number such as `0.5`, above 0 and at most ' +
      `${LARGEST_RISK_EPSILON}.`,
  )

/** Mechanism and true value whose distribution of answers is plotted. */
export const distributionRequest = comparisonRequest
  .extend({
    mechanism: comparedMechanism,
    statistics: comparisonRequest.shape.statistics
      .default(1)
      .describe('Number of statistics that one person can influence. One of them is plotted.'),
    truth: z.number().min(-1e15).max(1e15).default(0).describe('Value to which the noise is added.'),
  })
  .meta({
    id: 'DistributionRequest',
    description: 'A mechanism, a privacy loss and a true value.',
    examples: [{ mechanism: 'geometric', epsilon: 0.5, truth: 100 }],
  })

/** Questions of the plots in the documentation. */
export const pictured = {
  risk: {
    universe: { absence_days: [1, 2, 3, 10] },
    released: 3,
    query: { kind: 'mean' },
    risk: 0.3333333333333333,
  },
  'noise-comparison': { epsilon: 1, delta: 1e-5, statistics: 20 },
  'answer-distribution': { mechanism: 'geometric', epsilon: 0.5, truth: 100 },
} as const

/** Returns a Markdown link to the plot of a {@link pictured} question. */
export function linkTo(plot: keyof typeof pictured, text: string): string {
  return `[${text}](/v1/plots/${plot}?${new URLSearchParams({ question: JSON.stringify(pictured[plot]) })})`
}

/** Response with a picture. */
export const svg = {
  description: 'SVG picture, 800 pixels wide.',
  content: { 'image/svg+xml': { schema: z.string() } },
}

/** Form of a plot of a release. */
export const plotFormat = z
  .enum(['svg', 'vega'])
  .default('svg')
  .describe('`svg`: a picture. `vega`: Vega specifications with all data, for a page that draws them itself.')

const flag = z.enum(['true', 'false']).optional()

/** Query parameters of GET /v1/releases/{id}/plot */
export const releasePlotQuery = z.strictObject({
  theme,
  format: plotFormat,
  round: flag.describe('`true`: draws values that are rounded to the nearest whole number.'),
  nonNegative: flag.describe(
    '`true`: draws 0 in place of negative values. If this or `round` is given, and neither is `true`, the values are drawn as ' +
      'they were measured. Without both they are drawn as they are stored.',
  ),
  columns: tableColumns.describe(
    'Only for `marginals`: names of the columns of the one table to draw, separated by commas. Default: the first tables.',
  ),
})

/** Plots for a page that draws them itself. */
export const interactivePicture = object('InteractivePicture', 'Plots for a page that draws them itself.', {
  panels: listOf(
    z.strictObject({
      title: z.string(),
      description: string('Text for screen readers.'),
      specification: z.looseObject({}).describe('Vega specification with all data, 800 pixels wide.'),
    }),
  ).describe('Plots, to be shown below each other.'),
})

/** Response with a picture, or with the specifications of its plots. */
export const picture = {
  description: 'SVG picture, 800 pixels wide, or the Vega specifications of its plots.',
  content: { ...svg.content, 'application/json': { schema: interactivePicture } },
}
