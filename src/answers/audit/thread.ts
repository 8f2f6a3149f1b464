import type { z } from 'zod'
import { auditRequest } from '../../../schemas/answers/audit.ts'
import { prepareAuditedPair } from '../../datasets/registration/prepared-pair.ts'
import { readBody } from '../../platform/bodies/validation.ts'
import { computation } from '../../platform/threads/computation.ts'
import { withinField } from '../../privacy/refusal.ts'
import type { AuditedRequest } from './audit.ts'

/** Reads the body of an audit, and prepares its pair. */
export const audit = computation((body: string | undefined) => {
  const { dataset, pair, releases, ...asked } = readBody(auditRequest, body)
  return {
    dataset,
    pair: pair && withinField('pair', () => prepareAuditedPair(pair)),
    request: requestOf(asked),
    releases,
  }
})

/** The schema has checked that exactly one of them is given. */
function requestOf({
  query,
  queries,
  session,
}: Pick<z.output<typeof auditRequest>, 'query' | 'queries' | 'session'>): AuditedRequest {
  if (query !== undefined) return { kind: 'query', query }
  if (queries !== undefined) return { kind: 'batch', queries }
  if (session !== undefined) return { kind: 'session', session }
  throw new Error('the schema requires a query, queries or a session')
}
