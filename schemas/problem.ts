import { z } from 'zod'

/** A problem document, RFC 9457, with Sotto's stable code. */
export const problem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int().min(400).max(599),
    code: z.string().describe('Stable; docs/problems.md explains each.'),
    detail: z.string(),
    errors: z
      .array(z.strictObject({ field: z.string(), rule: z.string() }))
      .optional()
      .describe('The fields that break a rule, and the rule.'),
    requestId: z.string().optional(),
  })
  .meta({
    id: 'Problem',
    description: 'What is wrong with a request, or that something failed (RFC 9457).',
    examples: [
      {
        type: 'urn:sotto:problem:invalid-request',
        title: 'The request breaks a rule',
        status: 400,
        code: 'invalid-request',
        detail: 'epsilon: must be greater than 0',
        errors: [{ field: 'epsilon', rule: 'must be greater than 0' }],
        requestId: '0b0c3f0e-52d4-4b53-8ab5-0f6f4f5f5d55',
      },
    ],
  })

/** The answers every operation may give besides its own. */
export const problemResponses = {
  '4xx': {
    description: 'The request was turned away.',
    content: { 'application/problem+json': { schema: problem } },
  },
  '5xx': { description: 'Something failed.', content: { 'application/problem+json': { schema: problem } } },
}
