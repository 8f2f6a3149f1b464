import { z } from 'zod'
import { deltaAmount, epsilonAmount } from './budget.ts'

const MOST_CANDIDATES = 1_000_000_000_000
/** More than any dataset has. */
const MOST_ROWS = 1e15

const probability = z.number().min(0).max(1)

/** What a loss lets an informed adversary guess. */
const guessed = z.strictObject({
  epsilon: epsilonAmount,
  delta: deltaAmount,
  risk: probability.describe('How often the adversary is right, at most.'),
})

const facts = {
  candidates: z
    .int()
    .min(1)
    .max(MOST_ROWS)
    .describe(
      'The rows that the adversary holds for equally likely: as many as were supposed, or the public number of rows, ' +
        'or 2 where that is private.',
    ),
  blindGuess: probability.describe('How often they are right before they have seen anything.'),
  dataset: guessed.describe("Once the dataset's whole budget is spent."),
  statement: z.string().describe('The same in a sentence.'),
}

const meaning =
  'How often, at most, an adversary is right who knows all rows but one (docs/disclosure-risk.md). From the loss alone: ' +
  'no data are looked at.'

/** The disclosure risk of a dataset's whole budget. */
export const budgetRisk = z.strictObject(facts).meta({ id: 'BudgetRisk', description: meaning })

/** The disclosure risk of a release, beside that of the whole budget. */
export const releaseRisk = z
  .strictObject({ ...facts, query: guessed.describe('After this release alone.') })
  .meta({ id: 'ReleaseRisk', description: meaning })

/** How many rows an adversary chooses among, in a query string. */
export const candidates = z
  .string()
  .regex(/^([2-9]|[1-9]\d{1,11}|1000000000000)$/, `must be a whole number from 2 to ${MOST_CANDIDATES}`)
  .transform(Number)
  .optional()
  .describe(
    'How many rows an adversary who knows all the others holds for equally likely. Left out: the public number of rows, ' +
      'or 2 where that is private.',
  )
