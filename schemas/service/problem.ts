import { z } from 'zod'
import { string } from '../values.ts'

/** Problem document (RFC 9457) with a stable code. */
export const problem = z
  .looseObject({
    type: string('Address of the description of the code in the guide of the service.'),
    title: z.string(),
    status: z.int().min(400).max(599),
    code: string('Stable code. docs/problems.md explains each.'),
    detail: z.string(),
    errors: z
      .array(z.strictObject({ field: z.string(), rule: z.string() }))
      .optional()
      .describe('Fields that violate a rule, and the rule.'),
    requestId: z.string().optional(),
  })
  .meta({
    id: 'Problem',
    description: 'Describes why a request was refused or failed (RFC 9457).',
    examples: [
      {
        type: '/problems/invalid-request',
        title: 'Invalid request',
        status: 400,
        code: 'invalid-request',
        detail: 'epsilon: must be greater than 0',
        errors: [{ field: 'epsilon', rule: 'must be greater than 0' }],
        requestId: '0b0c3f0e-52d4-4b53-8ab5-0f6f4f5f5d55',
      },
    ],
  })

/** Responses that every operation may return. */
export const problemResponses = {
  '4xx': {
    description: 'The request was refused.',
    content: { 'application/problem+json': { schema: problem } },
  },
  '5xx': { description: 'The request failed.', content: { 'application/problem+json': { schema: problem } } },
}
