import { z } from 'zod'
import { EVENT_KINDS } from '../../src/privacy/event-kinds.ts'
import { brokenChain, keysOf, listOf, next, numberedPageQuery, object, string, time } from '../values.ts'
import { amount, analystSpending, loss, receipt } from './budget.ts'

/** GET /v1/datasets/{dataset}/ledger */
export const entriesQuery = numberedPageQuery.extend({
  analyst: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Returns only entries that this analyst caused. Analysts see their own entries only.'),
})

const entry = object('LedgerEntry', 'Event of a dataset, chained to the previous one by its hash.', {
  sequence: z.int().min(1),
  kind: z.enum(keysOf(EVENT_KINDS)),
  at: time,
  principal: z.string(),
  release: string('Charge, which is also the id of the release or session that it paid for.').optional(),
  amount: amount.optional().describe('Amount granted or charged.'),
  analyst: string('Analyst whose allotment was set.').optional(),
  reason: z.string().optional(),
  hash: string('SHA-256 of the event, which contains the hash of the previous event.'),
})

/** Page of ledger entries. */
export const ledgerPage = object('LedgerPage', 'Events, newest first.', {
  entries: listOf(entry).describe('Newest first.'),
  next,
})

/** GET /v1/datasets/{dataset}/ledger/export */
export const exportedEvents = {
  description: 'All events, oldest first.',
  content: { 'application/x-ndjson': { schema: z.string() } },
}

/** GET /v1/datasets/{dataset}/ledger/head */
export const ledgerHead = receipt
  .extend({
    dataset: z.string(),
    publicKey: string(
      'Public key, PEM. Obtain it once over a channel that you trust, and compare.',
    ).optional(),
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
      inferred: z
        .int()
        .min(0)
        .describe('Number of answers that were recomputed from the stored answers that they follow from.'),
      headHash: string(
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
