import { z } from 'zod'
import { ACT_KINDS } from '../../src/privacy/event-kinds.ts'
import { brokenChain, keysOf, listOf, next, object, string, time } from '../values.ts'

const act = object('AdministrativeAct', 'Administrative act, chained to the previous one by its hash.', {
  sequence: z.int().min(1),
  kind: z.enum(keysOf(ACT_KINDS)),
  at: time,
  principal: string(
    'The principal who acted; `sotto` for the service itself, `sotto:command-line` for the command line on the host.',
  ),
  subject: string(
    'The thing acted on: the id of a dataset or key, `@population:` and the id of a population, or an address.',
  ),
  facts: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean(), listOf(z.string())]))
    .describe(
      'Further facts. `sequence` and `hash` refer to the event of the dataset or population that has the details.',
    ),
  hash: string('SHA-256 of the event, which contains the hash of the previous event.'),
})

/** GET /v1/administration/events */
export const actsPage = object('AdministrativeActs', 'Administrative acts, newest first.', {
  events: listOf(act).describe('Newest first.'),
  next,
})

/** GET /v1/administration/verification */
export const administrationVerification = z
  .union([
    z.strictObject({
      sound: z.literal(true),
      events: z.int().min(0),
      headHash: string('Hash of the newest event. Keep it, as for the chain of a dataset.'),
    }),
    brokenChain,
  ])
  .meta({
    id: 'AdministrationVerification',
    description: 'Result of recomputing the chain of administrative acts.',
  })
