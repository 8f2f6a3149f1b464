import { z } from 'zod'
import { budget, loss } from './budget.ts'
import { datasetId } from './dataset.ts'

const kind = z.enum(['count', 'sum', 'mean', 'histogram', 'contingency'])

const cellLabel = z
  .union([z.string(), z.boolean(), z.null(), z.strictObject({ lower: z.number(), upper: z.number() })])
  .describe('A category, true or false, a bin, or null for the rows without a value.')

const result = z
  .union([
    z.strictObject({ value: z.number() }),
    z.strictObject({
      cells: z.array(z.strictObject({ key: z.record(z.string(), cellLabel), value: z.number() })).readonly(),
    }),
  ])
  .meta({ id: 'Result', description: 'A noisy value, or the noisy cells of the declared domain.' })

const statisticNoise = {
  scale: z
    .number()
    .describe('The scale b of geometric and Laplace noise; the standard deviation of Gaussian noise.'),
  sensitivity: z
    .number()
    .describe('How far one person moves the statistic: in L1 for geometric and Laplace, in L2 for Gaussian.'),
  granularity: z.number().describe('Noisy values are multiples of it.'),
}

const mechanism = {
  mechanism: z.enum(['geometric', 'laplace', 'gaussian']),
  calibration: z.enum(['analytic', 'classic']).optional(),
  neighbours: z.enum(['add-remove', 'change-one']),
}

const part = z.strictObject({ ...statisticNoise, epsilon: z.number(), delta: z.number() })

const noise = z
  .union([
    z.strictObject({ ...mechanism, ...statisticNoise }),
    z.strictObject({ ...mechanism, sum: part, count: part }),
  ])
  .meta({
    id: 'Noise',
    description:
      'How the values were made noisy. A mean over a private number of rows has a noisy sum about the middle of the ' +
      'range and a noisy count.',
  })

const errorReport = z.strictObject({
  halfWidth: z.number().describe('The noise is at most this, with the stated confidence.'),
  expectedAbsoluteError: z.number().describe('The mean size of the noise, before post-processing.'),
})

const accuracy = z
  .strictObject({
    confidence: z.number(),
    halfWidth: errorReport.shape.halfWidth.nullable(),
    expectedAbsoluteError: errorReport.shape.expectedAbsoluteError.nullable(),
    sum: errorReport.optional().describe("Of a mean: the noisy sum about the middle, in the column's units."),
    count: errorReport.optional().describe('Of a mean: the noisy count. Both half-widths hold together.'),
  })
  .meta({
    id: 'Accuracy',
    description:
      'How far off each value can be, computed without data. Null in the preview of a mean whose number of rows is ' +
      'private and not supposed: there the error of its noisy sum and of its noisy count are given.',
  })

/** What a paid query gives, and GET /v1/releases/{id} gives again. */
export const answer = z
  .strictObject({
    id: z.string().describe('The release. GET /v1/releases/{id} shows it again, free.'),
    dataset: datasetId,
    datasetVersion: z.string(),
    kind,
    result,
    noise,
    accuracy,
    cost: loss,
    budget,
  })
  .meta({
    id: 'Answer',
    description: 'A noisy answer, what it cost and how far off it can be.',
    examples: [
      {
        id: '381cd529b411c946225047deb69b2f24',
        dataset: 'census',
        datasetVersion: '1',
        kind: 'count',
        result: { value: 2531 },
        noise: {
          mechanism: 'geometric',
          neighbours: 'add-remove',
          scale: 10,
          sensitivity: 1,
          granularity: 1,
        },
        accuracy: { confidence: 0.95, halfWidth: 30, expectedAbsoluteError: 9.98335275729611 },
        cost: { epsilon: 0.1, delta: 0 },
        budget: {
          cap: { epsilon: 10, delta: 1e-5 },
          spent: { epsilon: 0.1, delta: 0 },
          remaining: { epsilon: 9.9, delta: 1e-5 },
        },
      },
    ],
  })

/** What a query would cost and how far off its answer could be. */
export const preview = z
  .strictObject({
    dataset: datasetId,
    datasetVersion: z.string(),
    kind,
    noise,
    accuracy,
    cost: loss,
    budget,
    affordable: z.boolean().describe('Whether the budget suffices now.'),
  })
  .meta({ id: 'Preview', description: 'What a query would cost and how far off its answer could be.' })
