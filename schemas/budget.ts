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

/** Rho as an amount that was spent, bought or is left. */
const rho = z
  .strictObject({
    rho: z.number().min(0).max(MAX_BUDGET_EPSILON).describe('Rho, exact to 1e-12.'),
  })
  .meta({ id: 'Rho', description: 'A loss under zero-concentrated differential privacy.' })

/** What is charged, in the units that the dataset's budget is counted in. */
export const amount = z.union([loss, rho])

/** What is left of a cap: cap = spent + remaining, exactly. */
const balance = { cap: amount, spent: amount, remaining: amount }

/** A dataset's budget. */
export const budget = z.strictObject(balance).meta({
  id: 'Budget',
  description: 'What a dataset may reveal in all, what it has revealed, and what is left.',
})

/** GET /v1/datasets/{dataset}/budget */
export const budgetReport = z
  .strictObject({
    accounting: z
      .enum(['basic', 'zcdp'])
      .describe('Whether epsilon and delta add up, or rho, of which the grants buy the cap.'),
    granted: loss,
    ...balance,
    amountsTo: loss
      .optional()
      .describe(
        'Under zcdp: the epsilon that a cap of what was spent would promise, at the delta that was granted.',
      ),
    allotment: z
      .strictObject(balance)
      .optional()
      .describe('Of an analyst who has one: how much of the cap is for them.'),
  })
  .meta({ id: 'BudgetReport', description: "A dataset's budget, and how it is counted." })

/** What every debit says about itself. */
export const debit = {
  cost: amount,
  budget,
  allotment: z
    .strictObject(balance)
    .optional()
    .describe('Of an analyst who has one: how much of the cap is for them.'),
}

/** Amount that a replayed document was paid with. */
export const paid = amount
  .optional()
  .describe(
    'Only in a replay: the amount that was charged for the first response. The `cost` of a replay is 0.',
  )

/** Where an auditor finds a debit. */
export const receipt = z
  .strictObject({
    sequence: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .describe("The event's number in the dataset's chain."),
    hash: z.string().describe('Its SHA-256, hexadecimal.'),
    signature: z
      .string()
      .optional()
      .describe(
        'Ed25519 over {dataset, hash, sequence, version} in canonical JSON, base64; where the service signs.',
      ),
  })
  .meta({
    id: 'Receipt',
    description:
      'The event that recorded the debit. Whoever keeps it can tell whether the ledger still holds it.',
  })

/** One analyst's part in what was spent. */
export const analystSpending = z
  .strictObject({
    analyst: z.string(),
    spent: amount,
    spentOnShared: amount.describe('Of it, for releases of others: the dataset was not charged again.'),
    allotment: z.strictObject({ granted: loss, ...balance }).optional(),
  })
  .meta({ id: 'AnalystSpending', description: 'What an analyst has spent, and may spend of the cap.' })

/** GET /v1/datasets/{dataset}/analysts */
export const analystList = z
  .strictObject({ analysts: z.array(analystSpending).readonly() })
  .meta({ id: 'AnalystList', description: 'Who spent what.' })

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

const reason = z
  .string()
  .min(1)
  .max(500)
  .regex(/^\P{Cc}*$/u, 'must not hold control characters')
  .describe('Why; kept in the ledger for ever.')

/** PUT /v1/datasets/{dataset}/analysts/{analyst}/allotment */
export const allotmentRequest = z.strictObject({ ...budgetRequest.shape, reason }).meta({
  id: 'AllotmentRequest',
  description: 'How much of the cap an analyst may spend; it replaces the allotment there is.',
  examples: [{ epsilon: 2, delta: 1e-6, reason: 'Share of one analyst in this study.' }],
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
    reason,
  })
  .meta({
    id: 'GrantRequest',
    description: 'Raise a cap. A grant cannot be taken back.',
    examples: [{ epsilon: 1, reason: 'A second study was approved by the review board.' }],
  })
