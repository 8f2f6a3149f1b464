import { z } from 'zod'
import { MAX_BUDGET_EPSILON } from '../../src/privacy/loss.ts'
import { deltaBelow1, listOf, next, number, object, positive, string } from '../values.ts'

/** Amount of epsilon. */
export const epsilonAmount = z.number().min(0).max(MAX_BUDGET_EPSILON).describe('Epsilon, exact to 1e-9.')
/** Amount of delta. */
export const deltaAmount = z.number().min(0).max(1).describe('Delta, exact to 1e-18.')

/** Privacy loss in decimal numbers. */
export const loss = object('PrivacyLoss', 'Privacy loss (epsilon, delta).', {
  epsilon: epsilonAmount,
  delta: deltaAmount,
})

/** Amount of rho. */
const rho = object('Rho', 'Privacy loss under zero-concentrated differential privacy.', {
  rho: z.number().min(0).max(MAX_BUDGET_EPSILON).describe('Rho, exact to 1e-12.'),
})

/** Amount in the units of the dataset's accounting. */
export const amount = z
  .union([loss, rho])
  .meta({ id: 'Amount', description: "Privacy loss in the units of the dataset's accounting." })

/** Balance of a cap. Exactly cap = spent + remaining. */
const balance = { cap: amount, spent: amount, remaining: amount }

const allotment = z
  .strictObject(balance)
  .meta({
    id: 'Allotment',
    description: "Only for an analyst with an allotment: the analyst's share of the cap.",
  })
  .optional()

/** A dataset's budget. */
export const budget = z.strictObject(balance).meta({
  id: 'Budget',
  description: 'Cap of a dataset, amount spent and amount left. In an answer, as of the debit.',
})

/** The balances of the population of a dataset. */
const populationBalance = object(
  'PopulationBalance',
  'Only for a dataset of a population: its balances, from which every cost is debited too.',
  { id: z.string(), budget, allotment },
)

/** GET /v1/datasets/{dataset}/budget */
export const budgetReport = object('BudgetReport', "A dataset's budget and its accounting.", {
  accounting: z
    .enum(['basic', 'zcdp'])
    .describe(
      '`basic`: epsilon and delta of the queries add up. `zcdp`: their rho adds up, and the granted epsilon and delta ' +
        'determine the cap in rho.',
    ),
  granted: loss,
  ...balance,
  amountsTo: loss
    .optional()
    .describe('Only under zcdp: the epsilon that the rho spent so far amounts to, at the granted delta.'),
  allotment,
  population: populationBalance.optional(),
})

/** Price of a replayed document. */
export const priceOfReplay = amount
  .optional()
  .describe(
    'Only in a replay: the amount that was charged for the first response. The `cost` of a replay is 0.',
  )

/** Reference to the event that recorded a debit. */
export const receipt = object(
  'Receipt',
  'Identifies the ledger event that recorded the debit. Keep it to check later that the ledger still contains the event.',
  {
    sequence: z.int().min(1).describe("Number of the event in the dataset's hash chain."),
    hash: string('SHA-256 of the event, hexadecimal.'),
    signature: string(
      'Ed25519 signature of {dataset, hash, sequence, version} in canonical JSON, base64. Only if the service has a ' +
        'signing key.',
    ).optional(),
  },
)

/** Fields of every debit. */
export const debit = {
  cost: amount,
  budget,
  allotment,
  population: populationBalance
    .extend({
      receipt: receipt
        .optional()
        .describe(
          "The event of the debit in the population's chain. Absent if this attempt debited nothing: a further one, or an " +
            'inferred answer.',
        ),
    })
    .meta({
      id: 'PopulationDebit',
      description: 'Only for a dataset of a population: its balances, which the same cost is debited from.',
    })
    .optional(),
}

/** Spending of one analyst. */
export const analystSpending = object(
  'AnalystSpending',
  'Amount that an analyst has spent, and their allotment.',
  {
    analyst: z.string(),
    spent: amount,
    spentOnShared: amount.describe(
      'Part of `spent` for releases that another analyst had paid for. The dataset was not charged again.',
    ),
    allotment: z.strictObject({ granted: loss, ...balance }).optional(),
  },
)

/** GET /v1/datasets/{dataset}/analysts */
export const analystList = object('AnalystList', 'Spending of analysts.', {
  analysts: listOf(analystSpending),
  next,
})

/** Budget to open. */
export const budgetRequest = z.strictObject({
  epsilon: positive('Greater than 0, at most 9 fractional digits. Never rounded.', MAX_BUDGET_EPSILON),
  delta: deltaBelow1('At least 0, below 1, at most 18 fractional digits.').default(0),
})

/** Reason for an administrative act. */
export const reason = z
  .string()
  .min(1)
  .max(500)
  // Not \P{Cc}: clients that generate requests from openapi.yaml do not know it.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: The pattern excludes them.
  .regex(/^[^\x00-\x1f\x7f-\x9f]*$/, 'must not contain control characters')
  .describe('Reason. Kept in the ledger permanently.')

/** PUT /v1/datasets/{dataset}/analysts/{analyst}/allotment */
export const allotmentRequest = object(
  'AllotmentRequest',
  'Amount that an analyst may spend. Replaces an existing allotment.',
  {
    epsilon: z.number().meta({
      description:
        'Greater than 0, or 0 together with a delta of 0. At most 9 fractional digits. Never rounded.',
      minimum: 0,
      maximum: MAX_BUDGET_EPSILON,
    }),
    delta: budgetRequest.shape.delta,
    reason,
  },
  { epsilon: 2, delta: 1e-6, reason: 'Share of one analyst in this study.' },
)

/** PUT /v1/datasets/{dataset}/budget */
export const budgetReplacement = budgetRequest.extend({ reason }).meta({
  id: 'BudgetReplacement',
  description: 'Cap that takes the place of the present one, from which nothing was spent.',
  examples: [{ epsilon: 2, delta: 1e-6, reason: 'The cap of the registration was a typing error.' }],
})

/** POST /v1/datasets/{dataset}/grants */
export const grantRequest = object(
  'GrantRequest',
  'Amount to add to a cap. A grant cannot be taken back.',
  {
    epsilon: number('Amount to add to the epsilon of the cap. At most 9 fractional digits.').default(0),
    delta: number('Amount to add to the delta of the cap. At most 18 fractional digits.').default(0),
    reason,
  },
  { epsilon: 1, reason: 'A second study was approved by the review board.' },
)
