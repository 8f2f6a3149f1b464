import { z } from 'zod'
import { MAX_QUERY_EPSILON } from '../../src/privacy/loss.ts'
import { amount, debit, priceOfReplay, receipt } from '../budgets/budget.ts'
import { datasetId } from '../datasets/dataset.ts'
import {
  boolean,
  hexId,
  listOf,
  neighbours,
  next,
  number,
  object,
  positive,
  string,
  time,
} from '../values.ts'
import { contribution, coverageReport, freshness, offered, provenance } from './answer.ts'
import { releaseRisk } from './disclosure.ts'
import { countedContribution, where } from './query.ts'

const LARGEST_COUNT = 1_000_000_000_000
const MAX_POSITIVES = 100

const terms = {
  threshold: z
    .int()
    .min(0)
    .max(LARGEST_COUNT)
    .describe('Number of rows, or of people. The threshold is as public as the answers.'),
  positives: z
    .int()
    .min(1)
    .max(MAX_POSITIVES)
    .describe('Number of answers `above` after which the session ends. A larger number needs more noise.'),
}

/** POST /v1/datasets/{dataset}/sparse-vector-sessions */
export const sessionRequest = object(
  'SessionRequest',
  'Session that reports, for any number of counts, whether each reaches a threshold.',
  {
    ...terms,
    epsilon: positive(
      'Cost of the whole session, for any number of questions. At least 0.000000002, at most 1000, at most 9 ' +
        'fractional digits. Never rounded.',
      MAX_QUERY_EPSILON,
    ),
    ...countedContribution,
  },
  { threshold: 20_000, positives: 3, epsilon: 0.5 },
)

/** Session of the example request of the OpenAPI document, opened by the analyst of the first key. */
const EXAMPLE_SESSION = 'bb863387f94c035d1ca08510186cd33a'

/** Path parameter of the paths below /v1/sparse-vector-sessions/{id}. */
export const sessionParameters = z.strictObject({
  id: hexId.meta({ description: 'The `id` of a session.', example: EXAMPLE_SESSION }),
})

/** POST /v1/sparse-vector-sessions/{id}/questions */
export const sessionQuestion = object(
  'SessionQuestion',
  'Asks if the number of rows (or people) that satisfy the predicate is at least the threshold.',
  { where },
  { where: { column: 'Age', op: '>=', value: 60 } },
)

const share = z.strictObject({
  scale: number('Scale of the Laplace noise, in rows or people.'),
  epsilon: number('Share of the epsilon.'),
})

const facts = {
  dataset: datasetId,
  datasetVersion: z.string(),
  ...terms,
  of: z.literal('people').optional().describe('Present if the session counts people instead of rows.'),
  contribution,
  coverage: coverageReport,
  noise: object('SessionNoise', 'Noise of a session.', {
    mechanism: z.literal('sparse-vector'),
    neighbours,
    monotonic: boolean(
      'True if a person changes all counts in the same direction. Half the noise is then enough.',
    ),
    sensitivity: z.number(),
    granularity: number('Gaps are multiples of this number.'),
    threshold: share.describe('Noise of the threshold, drawn once and never revealed.'),
    questions: share.describe('Noise of each question, drawn anew every time.'),
  }),
  accuracy: object('SessionAccuracy', 'Accuracy of the answers, computed without data.', {
    confidence: z.number(),
    halfWidths: listOf(
      z.strictObject({ questions: z.int().min(1).max(1_000_000), halfWidth: z.number() }),
    ).describe(
      'With the stated confidence, this number of questions are all answered correctly if each count differs from the ' +
        'threshold by more than the half-width, in rows or people.',
    ),
    gap: z
      .strictObject({ halfWidth: z.number(), expectedAbsoluteError: z.number() })
      .describe(
        'Error of threshold + gap as an estimate of a count. For counts below the threshold it appears only when it ' +
          'overestimates them.',
      ),
  }),
}

const positivesLeft = z
  .int()
  .min(0)
  .max(MAX_POSITIVES)
  .describe('Number of answers `above` left in the session.')

/** Request of a session as it was made, in its shortest form. */
const askedSession = z
  .looseObject({ threshold: terms.threshold, positives: terms.positives, epsilon: z.number() })
  .describe('Session as it was requested, without the fields that equal their defaults.')

/** Response to the opening of a session. */
export const openedSession = object('OpenedSession', 'Opened session with its cost and accuracy.', {
  id: string('Identifies the session and the charge that paid for it.'),
  ...facts,
  positivesLeft,
  question: askedSession,
  ...debit,
  price: priceOfReplay,
  receipt,
  ...freshness,
  ...provenance,
})

/** Response to a session preview. */
export const sessionPreview = object('SessionPreview', 'Cost, accuracy and disclosure risk of a session.', {
  ...facts,
  ...offered,
  disclosureRisk: releaseRisk,
})

const questionAnswer = {
  session: z.string(),
  question: z.int().min(1).describe('Number of the question, starting at 1.'),
  where: z.looseObject({ op: z.string() }).describe('Predicate of the question, as it was first asked.'),
  datasetVersion: string('Version of the dataset that the answer was computed from.'),
  above: boolean('True if the noisy count is at least the noisy threshold.'),
  gap: z
    .number()
    .min(0)
    .optional()
    .describe(
      'Noisy number of rows or people by which the count exceeds the threshold, only if `above` is true. threshold + gap estimates ' +
        'the count at no further cost.',
    ),
  positivesLeft,
  ...provenance,
  answeredAt: time,
  receipt: receipt.describe('Head of the hash chain before this answer was recorded.'),
}

/** Response to a question of a session. */
export const sessionAnswer = z.strictObject(questionAnswer).meta({
  id: 'SessionAnswer',
  description: 'Answer to a question of a session.',
})

/** State of a session and its answers. */
export const session = object('Session', 'Session and its answers, newest first.', {
  id: z.string(),
  ...facts,
  question: askedSession,
  cost: amount,
  positivesLeft,
  receipt,
  ...provenance,
  answered: z.int().min(0).describe('Number of answered questions.'),
  answers: listOf(sessionAnswer).describe('Newest first.'),
  next,
})
