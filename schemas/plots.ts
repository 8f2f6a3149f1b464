import { z } from 'zod'
import { comparedMechanism, comparisonRequest } from './mechanisms.ts'

/** A picture for light or dark pages. */
export const theme = z.enum(['light', 'dark']).default('light').describe('Against what it is looked at.')

/** What the noise of the mechanisms is compared by. */
export const criterion = z
  .enum(['standardDeviation', 'expectedAbsoluteError', 'halfWidth'])
  .default('standardDeviation')
  .describe('What of the noise is drawn.')

/** How the answers of one mechanism spread around a truth. */
export const distributionRequest = comparisonRequest
  .extend({
    mechanism: comparedMechanism,
    statistics: comparisonRequest.shape.statistics
      .default(1)
      .describe('How many statistics one person influences; the answer that is drawn is one of them.'),
    truth: z.number().min(-1e15).max(1e15).default(0).describe('What the noise is added to.'),
  })
  .meta({
    id: 'DistributionRequest',
    description: 'A mechanism, a price and the truth that its noise surrounds.',
    examples: [{ mechanism: 'geometric', epsilon: 0.5, truth: 100 }],
  })

/** Questions whose pictures the documentation shows. */
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

/** A link, in Markdown, to the picture of {@link pictured}. */
export function linkTo(plot: keyof typeof pictured, text: string): string {
  return `[${text}](/v1/plots/${plot}?${new URLSearchParams({ question: JSON.stringify(pictured[plot]) })})`
}

/** A picture, as it leaves. */
export const svg = {
  description: 'The picture, 800 pixels wide.',
  content: { 'image/svg+xml': { schema: z.string() } },
}

export type DistributionRequest = z.output<typeof distributionRequest>
