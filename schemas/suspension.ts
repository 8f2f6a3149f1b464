import { z } from 'zod'
import { reason } from './budget.ts'

/** POST /v1/datasets/{dataset}/resume */
export const resumeRequest = z.strictObject({ reason }).meta({
  id: 'ResumeRequest',
  description: 'Why the dataset may be queried again.',
  examples: [{ reason: 'The time limit was too short for the larger file, and was raised.' }],
})

const countedFailure = z
  .strictObject({
    sequence: z.int().min(1).max(Number.MAX_SAFE_INTEGER).describe('Event in the ledger of the dataset.'),
    at: z.iso.datetime(),
    principal: z.string(),
    release: z.string().describe('Charge whose attempt failed, or the session whose question failed.'),
    errorClass: z.string().optional().describe('For example `EngineTimeout`. Absent if it is unknown.'),
  })
  .meta({ id: 'CountedFailure', description: 'Failure after a charge that may depend on the data.' })

/** GET /v1/datasets/{dataset}/suspension */
export const suspensionReport = z
  .strictObject({
    suspended: z.boolean().describe('True if analysts get stored answers only.'),
    reason: z
      .enum(['failures', 'table-changed'])
      .optional()
      .describe(
        'Reason of the suspension. `table-changed`: the declared columns of the table in its database no longer have the ' +
          'names, types and constraints that they had at registration. Restore them, or publish a new version ' +
          'with the present ones, and resume the dataset. `failures`: queries have failed as often as `failureLimit` permits.',
      ),
    failures: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .describe('Failures since the dataset was last resumed.'),
    counted: z
      .array(countedFailure)
      .readonly()
      .describe('The counted failures, oldest first; the latest 1,000 if there are more.'),
  })
  .meta({ id: 'Suspension', description: 'Failures of a dataset after charges. Not for analysts.' })
