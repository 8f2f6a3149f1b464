import { z } from 'zod'
import { loss } from './budget.ts'

/** Text of a query string, which a coercion would take for a number where it is none. */
const wholeNumber = (most: number) =>
  z
    .string()
    .regex(/^[1-9]\d{0,15}$/, 'must be a whole number, at least 1')
    .transform(Number)
    .pipe(z.number().max(most))

/** GET /v1/datasets/{dataset}/ledger */
export const ledgerQuery = z.strictObject({
  limit: wholeNumber(500).default(50).describe('At most so many entries.'),
  before: wholeNumber(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Only entries with a smaller sequence number: the `next` of the page before.'),
})

const entry = z
  .strictObject({
    sequence: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    kind: z.enum(['opened', 'granted', 'charged', 'denied', 'retried', 'answered', 'failed']),
    at: z.iso.datetime(),
    principal: z.string(),
    release: z.string().optional().describe('The charge, and the release it paid for.'),
    amount: loss.optional(),
    reason: z.string().optional(),
    hash: z.string().describe('SHA-256 over the event and the hash of the one before.'),
  })
  .meta({ id: 'LedgerEntry' })

/** A page of a dataset's history. */
export const ledgerPage = z
  .strictObject({
    entries: z.array(entry).readonly().describe('Newest first.'),
    next: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional().describe('`before` of the next page.'),
  })
  .meta({ id: 'LedgerPage' })
