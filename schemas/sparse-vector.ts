import { z } from 'zod'
import { MAX_QUERY_EPSILON } from '../src/privacy/loss.ts'
import { amount, debit, paid, receipt } from './budget.ts'
import { datasetId } from './dataset.ts'
import { releaseRisk } from './disclosure.ts'
import { where } from './query.ts'

const LARGEST_COUNT = 1_000_000_000_000
const MAX_POSITIVES = 100

const terms = {
  threshold: z.int().min(0).max(LARGEST_COUNT).describe('A whole number of rows; as public as the answers.'),
  positives: z
    .int()
    .min(1)
    .max(MAX_POSITIVES)
    .describe('After so many answers "above" the session is used up. More positives need more noise.'),
}

/** POST /v1/datasets/{dataset}/sparse-vector-sessions */
export const sessionRequest = z
  .strictObject({
    ...terms,
    // The exact rule is the story's; these bounds are for whoever reads the document.
    epsilon: z.number().meta({
      description:
        'What the whole session costs, however many questions are asked. At least 0.000000002, at most 1000, at most 9 ' +
        'fractional digits; never rounded.',
      exclusiveMinimum: 0,
      maximum: MAX_QUERY_EPSILON,
    }),
  })
  .meta({
    id: 'SessionRequest',
    description: 'A session that says of any number of counts whether they reach a threshold.',
    examples: [{ threshold: 20_000, positives: 3, epsilon: 0.5 }],
  })

/** The path parameter of everything below /v1/sparse-vector-sessions/{id}. */
export function sessionParameters(exampleId: string) {
  return z.strictObject({
    id: z
      .string()
      .regex(/^[0-9a-f]{32}$/, 'must be 32 hexadecimal digits')
      .meta({ description: 'The `id` of a session.', example: exampleId }),
  })
}

/** POST /v1/sparse-vector-sessions/{id}/questions */
export const sessionQuestion = z.strictObject({ where }).meta({
  id: 'SessionQuestion',
  description: 'Do at least as many rows as the threshold satisfy the predicate?',
  examples: [{ where: { column: 'Age', op: '>=', value: 60 } }],
})

/** GET /v1/sparse-vector-sessions/{id} */
export const sessionPageQuery = z.strictObject({
  // Texts, for a query string has no numbers, and a coercion would take `0x10` for one.
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'must be a whole number from 1 to 100')
    .default('50')
    .transform(Number)
    .describe('At most so many answers, from 1 to 100; 50 where it is left out.'),
  before: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'must be a whole number, at least 1')
    .transform(Number)
    .optional()
    .describe('Only answers to questions of a smaller number: the `next` of the page before.'),
})

const share = z.strictObject({
  scale: z.number().describe('The scale of its Laplace noise, in rows.'),
  epsilon: z.number().describe('Its share of the price.'),
})

const facts = {
  dataset: datasetId,
  datasetVersion: z.string(),
  ...terms,
  noise: z
    .strictObject({
      mechanism: z.literal('sparse-vector'),
      neighbours: z.enum(['add-remove', 'change-one']),
      monotonic: z
        .boolean()
        .describe('Whether a person moves all counts in one direction: then half the noise does.'),
      sensitivity: z.number(),
      granularity: z.number().describe('Gaps are multiples of it.'),
      threshold: share.describe('Drawn once for the session, and never shown.'),
      questions: share.describe('Drawn afresh for each question.'),
    })
    .meta({
      id: 'SessionNoise',
      description: 'The noise of the threshold, drawn once, and of each question.',
    }),
  accuracy: z
    .strictObject({
      confidence: z.number(),
      margins: z
        .array(z.strictObject({ questions: z.int().min(1).max(1_000_000), margin: z.number() }))
        .readonly()
        .describe(
          'With this confidence so many questions are all answered right whose count is further than the margin (in ' +
            'rows) from the threshold.',
        ),
      gap: z
        .strictObject({ halfWidth: z.number(), expectedAbsoluteError: z.number() })
        .describe(
          'Of threshold + gap as an estimate of a count, whatever the answer is. Of counts below the threshold only ' +
            'overestimates are answered "above".',
        ),
    })
    .meta({ id: 'SessionAccuracy', description: 'Computed without data.' }),
}

const positivesLeft = z
  .int()
  .min(0)
  .max(MAX_POSITIVES)
  .describe('How many answers "above" the session still gives.')

/** What opening a session gives. */
export const openedSession = z
  .strictObject({
    id: z.string().describe('The session, and the charge that paid for it.'),
    ...facts,
    positivesLeft,
    ...debit,
    paid,
    receipt,
  })
  .meta({ id: 'OpenedSession', description: 'A session, what it cost and how far off its answers can be.' })

/** What a session would cost and how far off its answers could be. */
export const sessionPreview = z
  .strictObject({
    ...facts,
    ...debit,
    affordable: z.boolean().describe('Whether budget and allotment suffice now.'),
    disclosureRisk: releaseRisk,
  })
  .meta({
    id: 'SessionPreview',
    description: 'What a session would cost, and how far off its answers could be.',
  })

const questionAnswer = {
  session: z.string(),
  question: z.int().min(1).max(Number.MAX_SAFE_INTEGER).describe('1 for the first that was answered.'),
  above: z.boolean().describe('Whether the noisy count is at least the noisy threshold.'),
  gap: z
    .number()
    .min(0)
    .optional()
    .describe(
      'Only where it is above: by how many rows. threshold + gap estimates the count, at no further cost.',
    ),
  positivesLeft,
  answeredAt: z.iso.datetime(),
  receipt: receipt.describe('The end of the chain when it was answered: its own event comes after.'),
}

/** What a question of a session gives. */
export const sessionAnswer = z.strictObject(questionAnswer).meta({
  id: 'SessionAnswer',
  description: 'Whether a count reaches the threshold of a session.',
})

/** A session's state, and its answers. */
export const session = z
  .strictObject({
    id: z.string(),
    ...facts,
    cost: amount,
    positivesLeft,
    receipt,
    answered: z.int().min(0).max(Number.MAX_SAFE_INTEGER).describe('How many questions were answered.'),
    answers: z
      .array(
        z.strictObject({
          ...questionAnswer,
          where: z.looseObject({ op: z.string() }).describe('The predicate that was asked about.'),
        }),
      )
      .readonly()
      .describe('Newest first.'),
    next: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional().describe('`before` of the next page.'),
  })
  .meta({ id: 'Session', description: 'A session and what it has answered, newest first.' })
