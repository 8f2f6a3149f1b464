import { z } from 'zod'
import { brokenChain, listOf, nextBefore, pageBefore, pageLimit, time } from '../values.ts'
import { amount, analystSpending, loss, receipt } from './budget.ts'

/** GET /v1/datasets/{dataset}/ledger */
export const ledgerQuery = z.strictObject({
  limit: pageLimit(/^([1-9]\d?|[1-4]\d\d|500)$/, 500).describe('Maximum number of entries, from 1 to 500.'),
  before: pageBefore.describe(
    'Returns only entries with a smaller sequence number. Pass the `next` of the previous page.',
  ),
})

/** GET /v1/datasets/{dataset}/ledger */
export const entriesQuery = ledgerQuery.extend({
  analyst: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Returns only entries that this analyst caused. Analysts see their own entries only.'),
})

const entry = z
  .strictObject({
    sequence: z.int().min(1),
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
    at: time,
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
    entries: listOf(entry).describe('Newest first.'),
    next: nextBefore,
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
      events: z.int().min(0),
      requests: z.int().min(0).describe('Number of stored requests that match the hashes in their events.'),
      headHash: z
        .string()
        .describe(
          'Hash of the newest event. Keep it: a later chain that lacks it was truncated or rewritten.',
        ),
      granted: loss,
      cap: amount,
      spent: amount,
      analysts: listOf(analystSpending),
    }),
    brokenChain,
  ])
  .meta({
    id: 'Verification',
    description: 'Result of recomputing the chain and the balances from the events.',
  })
