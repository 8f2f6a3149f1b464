import { z } from 'zod'
import { MAX_BUDGET_EPSILON } from '../src/privacy/loss.ts'

/** Epsilon as an amount that was spent, granted or is left. */
export const epsilonAmount = z.number().min(0).max(MAX_BUDGET_EPSILON).describe('Epsilon, exact to 1e-9.')
/** Delta as an amount that was spent, granted or is left. */
export const deltaAmount = z.number().min(0).max(1).describe('Delta, exact to 1e-18.')

/** A privacy loss as people read it. */
export const loss = z
  .strictObject({ epsilon: epsilonAmount, delta: deltaAmount })
  .meta({ id: 'PrivacyLoss', description: 'A privacy loss (epsilon, delta).' })

/** A dataset's budget: cap = spent + remaining, exactly. */
export const budget = z.strictObject({ cap: loss, spent: loss, remaining: loss }).meta({
  id: 'Budget',
  description: 'What a dataset may reveal in all, what it has revealed, and what is left.',
})

/** A budget to open, or by how much to raise one. */
export const budgetRequest = z.strictObject({
  epsilon: z.number().meta({
    description: 'Greater than 0, at most 9 fractional digits; never rounded.',
    exclusiveMinimum: 0,
    maximum: MAX_BUDGET_EPSILON,
  }),
  delta: z.number().default(0).meta({
    description: 'At least 0, below 1, at most 18 fractional digits.',
    minimum: 0,
    exclusiveMaximum: 1,
  }),
})

/** POST /v1/datasets/{dataset}/grants */
export const grantRequest = z
  .strictObject({
    epsilon: z
      .number()
      .default(0)
      .describe('By how much to raise the epsilon cap; at most 9 fractional digits.'),
    delta: z
      .number()
      .default(0)
      .describe('By how much to raise the delta cap; at most 18 fractional digits.'),
    reason: z.string().min(1).max(500).describe('Why; kept in the ledger for ever.'),
  })
  .meta({
    id: 'GrantRequest',
    description: 'Raise a cap. A grant cannot be taken back.',
    examples: [{ epsilon: 1, reason: 'A second study was approved by the review board.' }],
  })
