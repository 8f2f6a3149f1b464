import { z } from 'zod'
import { amount, analystSpending, loss, receipt } from './budget.ts'

/** GET /v1/datasets/{dataset}/ledger */
export const ledgerQuery = z.strictObject({
  // Strings, because a query string has no numbers and coercion would accept `0x10`.
  limit: z
    .string()
    .regex(/^([1-9]\d?|[1-4]\d\d|500)$/, 'must be a whole number from 1 to 500')
    .default('50')
    .transform(Number)
    .describe('Maximum number of entries, from 1 to 500.'),
  before: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'must be a whole number of at least 1')
    .transform(Number)
    .optional()
    .describe('Returns only entries with a smaller sequence number. Pass the `next` of the previous page.'),
})

const entry = z
  .strictObject({
    sequence: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    kind: z.enum([
      'opened',
      'granted',
      'cap-replaced',
      'allotted',
      'charged',
      'shared',
      'denied',
      'retried',
      'answered',
      'failed',
      'session-answered',
      'session-failed',
      'suspended',
      'resumed',
      'source-reused',
    ]),
    at: z.iso.datetime(),
    principal: z.string(),
    release: z
      .string()
      .optional()
      .describe('Charge, which is also the id of the release or session that it paid for.'),
    amount: amount.optional().describe('Amount granted or charged.'),
    analyst: z.string().optional().describe('Analyst whose allotment was set.'),
    reason: z.string().optional(),
    hash: z.string().describe('SHA-256 of the event, which contains the hash of the previous event.'),
  })
  .meta({ id: 'LedgerEntry', description: 'Event of a dataset, chained to the previous one by its hash.' })

/** Page of ledger entries. */
export const ledgerPage = z
  .strictObject({
    entries: z.array(entry).readonly().describe('Newest first.'),
    next: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .optional()
      .describe('Value of `before` for the next page. Absent on the last page.'),
  })
  .meta({ id: 'LedgerPage', description: 'Events, newest first.' })

/** GET /v1/datasets/{dataset}/ledger/export */
export const exportedEvents = {
  description: 'All events, oldest first.',
  content: { 'application/x-ndjson': { schema: z.string() } },
}

/** GET /v1/datasets/{dataset}/ledger/head */
export const ledgerHead = receipt
  .extend({
    dataset: z.string(),
    publicKey: z
      .string()
      .optional()
      .describe('Public key, PEM. Obtain it once over a channel that you trust, and compare.'),
  })
  .meta({
    id: 'LedgerHead',
    description:
      'Newest event of the hash chain. If it is published outside the service, a later truncation of the chain can be proved.',
  })

/** GET /v1/datasets/{dataset}/ledger/verification */
export const verification = z
  .union([
    z.strictObject({
      sound: z.literal(true),
      events: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
      requests: z
        .int()
        .min(0)
        .max(Number.MAX_SAFE_INTEGER)
        .describe('Number of stored requests that match the hashes in their events.'),
      headHash: z
        .string()
        .describe(
          'Hash of the newest event. Keep it: a later chain that lacks it was truncated or rewritten.',
        ),
      granted: loss,
      cap: amount,
      spent: amount,
      analysts: z.array(analystSpending).readonly(),
    }),
    z.strictObject({
      sound: z.literal(false),
      sequence: z.int().min(0).max(Number.MAX_SAFE_INTEGER).describe('First event that does not match.'),
      reason: z.string(),
    }),
  ])
  .meta({
    id: 'Verification',
    description: 'Result of recomputing the chain and the balances from the events.',
  })
