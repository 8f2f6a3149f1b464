import { z } from 'zod'
import { deltaAmount, epsilonAmount } from '../budgets/budget.ts'
import { object, string } from '../values.ts'

const MOST_CANDIDATES = 1_000_000_000_000
/** Larger than any dataset. */
const MOST_ROWS = 1e15

const probability = z.number().min(0).max(1)

/** Disclosure risk of a privacy loss. */
const guessed = z.strictObject({
  epsilon: epsilonAmount,
  delta: deltaAmount,
  risk: probability.describe('Largest probability that the adversary guesses correctly.'),
})

const facts = {
  candidates: z
    .int()
    .min(1)
    .max(MOST_ROWS)
    .describe(
      'Number of people (or rows, where rows are the privacy units) that the adversary considers equally likely: the given ' +
        'number, or else their public number, or 2 if that is private.',
    ),
  blindGuess: probability.describe('Probability of a correct guess without any answer.'),
  dataset: guessed.describe('Risk once the whole budget of the dataset is spent.'),
  statement: string('These numbers in a sentence.'),
}

const meaning =
  'Bound on the probability that an adversary who knows everyone but one person, with all rows, guesses that person ' +
  '(docs/disclosure-risk.md). Computed from the privacy loss alone, without data.'

/** Disclosure risk of a dataset's whole budget. */
export const budgetRisk = z.strictObject(facts).meta({ id: 'BudgetRisk', description: meaning })

/** Disclosure risk of a release and of the whole budget. */
export const releaseRisk = object('ReleaseRisk', meaning, {
  ...facts,
  query: guessed.describe('For this release alone.'),
})

/** Number of people or rows among which an adversary chooses, in a query string. */
export const candidates = z
  .string()
  .regex(/^([2-9]|[1-9]\d{1,11}|1000000000000)$/, `must be a whole number from 2 to ${MOST_CANDIDATES}`)
  .transform(Number)
  .optional()
  .describe(
    'Number of people (or rows) that an adversary who knows all others considers equally likely. Default: their public ' +
      'number, or 2 if that is private.',
  )

/** Query parameters of previews. */
export const previewQuery = z.strictObject({ candidates })
