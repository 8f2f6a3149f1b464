import { z } from 'zod'
import { brokenChain, listOf, next, time } from '../values.ts'

const act = z
  .strictObject({
    sequence: z.int().min(1),
    kind: z.enum([
      'key-created',
      'key-rotated',
      'key-deleted',
      'sign-in-refused',
      'dataset-registered',
      'source-refused',
      'version-published',
      'dataset-described',
      'dataset-withdrawn',
      'budget-granted',
      'budget-replaced',
      'allotment-set',
      'population-created',
      'population-joined',
      'dataset-suspended',
      'dataset-resumed',
    ]),
    at: time,
    principal: z
      .string()
      .describe(
        'The principal who acted; `sotto` for the service itself, `sotto:command-line` for the command line on the host.',
      ),
    subject: z
      .string()
      .describe(
        'The thing acted on: the id of a dataset or key, `@population:` and the id of a population, or an address.',
      ),
    facts: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), listOf(z.string())]))
      .describe(
        'Further facts. `sequence` and `hash` refer to the event of the dataset or population that has the details.',
      ),
    hash: z.string().describe('SHA-256 of the event, which contains the hash of the previous event.'),
  })
  .meta({
    id: 'AdministrativeAct',
    description: 'Administrative act, chained to the previous one by its hash.',
  })

/** What the kinds of administrative acts mean, for the reference page. */
export const ACT_MEANINGS: Readonly<Record<z.output<typeof act>['kind'], string>> = {
  'key-created': 'An API key was created.',
  'key-rotated': 'An API key was rotated.',
  'key-deleted': 'An API key was deleted.',
  'sign-in-refused': 'Sign-ins that were refused within a minute, with their `count`.',
  'dataset-registered': 'A dataset was registered.',
  'source-refused':
    'The source of a registration or version is or was registered under another id, or as real data (`because`).',
  'version-published': 'A new version of a dataset was published.',
  'dataset-described': 'The title or descriptions of a dataset were changed.',
  'dataset-withdrawn': 'A dataset was withdrawn.',
  'budget-granted': 'A cap was raised.',
  'budget-replaced': 'A cap was replaced before anything was spent.',
  'allotment-set': 'An allotment was set or removed.',
  'population-created': 'A population was created.',
  'population-joined': 'A dataset joined a population, the `subject`.',
  'dataset-suspended': 'Counted failures suspended a dataset.',
  'dataset-resumed': 'The custodian ended a suspension.',
}

/** GET /v1/administration/events */
export const actsPage = z
  .strictObject({
    events: listOf(act).describe('Newest first.'),
    next,
  })
  .meta({ id: 'AdministrativeActs', description: 'Administrative acts, newest first.' })

/** GET /v1/administration/verification */
export const administrationVerification = z
  .union([
    z.strictObject({
      sound: z.literal(true),
      events: z.int().min(0),
      headHash: z.string().describe('Hash of the newest event. Keep it, as for the chain of a dataset.'),
    }),
    brokenChain,
  ])
  .meta({
    id: 'AdministrationVerification',
    description: 'Result of recomputing the chain of administrative acts.',
  })
