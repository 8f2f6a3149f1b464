import { z } from 'zod'
import { amount, analystSpending, loss, receipt } from './budget.ts'

/** GET /v1/datasets/{dataset}/ledger */
export const ledgerQuery = z.strictObject({
  // Texts, for a query string has no numbers, and a coercion would take `0x10` for one.
  limit: z
    .string()
    .regex(/^([1-9]\d?|[1-4]\d\d|500)$/, 'must be a whole number from 1 to 500')
    .default('50')
    .transform(Number)
    .describe('At most so many entries, from 1 to 500; 50 where it is left out.'),
  before: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'must be a whole number, at least 1')
    .transform(Number)
    .optional()
    .describe('Only entries with a smaller sequence number: the `next` of the page before.'),
})

const entry = z
  .strictObject({
    sequence: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    kind: z.enum([
      'opened',
      'granted',
      'allotted',
      'charged',
      'shared',
      'denied',
      'retried',
      'answered',
      'failed',
      'session-answered',
    ]),
    at: z.iso.datetime(),
    principal: z.string(),
    release: z.string().optional().describe('The charge, and the release or the session it paid for.'),
    amount: amount.optional().describe('What was granted, or what a charge cost.'),
    analyst: z.string().optional().describe('Whose allotment was set.'),
    reason: z.string().optional(),
    hash: z.string().describe('SHA-256 over the event and the hash of the one before.'),
  })
  .meta({ id: 'LedgerEntry', description: 'One event of a dataset, chained to the one before by its hash.' })

/** A page of a dataset's history. */
export const ledgerPage = z
  .strictObject({
    entries: z.array(entry).readonly().describe('Newest first.'),
    next: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional().describe('`before` of the next page.'),
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
    publicKey: z.string().optional().describe('PEM; only as good as the way on which it came to you.'),
  })
  .meta({
    id: 'LedgerHead',
    description:
      'The end of the chain. Published where the custodian cannot take it back, it shows any later cut.',
  })

/** GET /v1/datasets/{dataset}/ledger/verification */
export const verification = z
  .union([
    z.strictObject({
      sound: z.literal(true),
      events: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
      headHash: z
        .string()
        .describe('Note it elsewhere: a later chain that does not hold it was cut or rewritten.'),
      granted: loss,
      cap: amount,
      spent: amount,
      analysts: z.array(analystSpending).readonly(),
    }),
    z.strictObject({
      sound: z.literal(false),
      sequence: z.int().min(0).max(Number.MAX_SAFE_INTEGER).describe('The first event that does not fit.'),
      reason: z.string(),
    }),
  ])
  .meta({
    id: 'Verification',
    description: 'What recomputing the chain and the balances from the events found.',
  })
