import { z } from 'zod'
import { brokenChain, listOf, next, numberedPageQuery, time } from '../values.ts'
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
      'inferred',
      'denied',
      'retried',
      'answered',
      'failed',
      'session-answered',
      'session-failed',
      'suspended',
      'resumed',
      'source-reused',
      'joined',
      'carried',
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

/** What the kinds of events of a dataset mean, for the reference page. */
export const EVENT_MEANINGS: Readonly<Record<z.output<typeof entry>['kind'], string>> = {
  opened:
    'The budget was opened with an (epsilon, delta), for charges under one kind of neighbours and one privacy unit. `synthetic` states whether the data describe no real people.',
  granted: 'The cap was raised.',
  'cap-replaced': 'The cap was replaced, before anything was spent.',
  allotted: "An analyst's part of the cap was limited, or the limit was removed.",
  'source-reused':
    'The source is registered under `otherDatasets` as well. `reason` states why this budget is separate.',
  joined:
    'The dataset joined the population, for ever. In the chain of the population, `member` refers to its event.',
  carried: 'What `analyst` had spent on a dataset when it joined was counted on the population.',
  charged: 'A cost was debited, before any data was read.',
  shared: "A cost was debited from an analyst's allotment only, for a release that another paid for.",
  inferred:
    'An answer that follows from releases of `parents`, which the analyst had paid for, was given. Nothing was debited, and no data was read.',
  denied:
    'The budget or the allotment was too small. Nothing was debited. At most 250 are recorded per analyst and dataset.',
  retried: 'Another attempt began under a charge.',
  answered: 'The answer was stored. `answerHash` is the SHA-256 of its bytes.',
  failed: 'An attempt failed. The debit remains.',
  'session-answered': 'A question of a sparse vector session was answered, under the charge that opened it.',
  'session-failed': 'A question of a session failed. The failure counts towards a suspension.',
  suspended:
    'Counted failures (`counted` in `failed`, and every `session-failed`) reached their limit. Nothing is charged, retried or denied until the dataset is resumed.',
  resumed: 'The custodian ended the suspension. Failures are counted from 0 again.',
}

/** Page of ledger entries. */
export const ledgerPage = z
  .strictObject({
    entries: listOf(entry).describe('Newest first.'),
    next,
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
      inferred: z
        .int()
        .min(0)
        .describe('Number of answers that were recomputed from the stored answers that they follow from.'),
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
