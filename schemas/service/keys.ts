import { z } from 'zod'
import { datasetId } from '../datasets/dataset.ts'
import { boolean, listOf, next, object, role, slug, string, time } from '../values.ts'

const name = slug.describe(
  'Principal that the key identifies. Releases, spending and allotments belong to this name.',
)

const datasets = z
  .array(datasetId)
  .min(1)
  .max(1_000)
  .readonly()
  .describe('Limits the key to these datasets, which need not be registered yet. Default: all datasets.')

const expiresAt = z.iso
  .datetime({ offset: true, error: 'must be a time with a zone, such as 2030-01-31T12:00:00Z' })
  .describe('Time from which the key is not valid. Default: never.')

const atLeastOne = z.int().min(1).max(1_000_000_000)

/** Limits of one key, where they differ from the configuration. */
const quota = object(
  'Quota',
  'Limits on requests with this key, in place of those of the configuration. All keys of a principal are counted together.',
  {
    requestsPerMinute: atLeastOne.exactOptional().describe('Sustained requests per minute.'),
    burst: atLeastOne.exactOptional().describe('Requests that may be sent at once after a pause.'),
    concurrentRequests: atLeastOne.exactOptional().describe('Requests under way at a time.'),
    storedBytesPerDataset: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .exactOptional()
      .describe('Bytes that the ledger may store for the principal, per dataset.'),
  },
)

const spending = z
  .enum(['never', 'allow'])
  .describe(
    '`never`: the key gets only answers that cost nothing, such as repeats of questions that its principal has paid for with ' +
      'another key. `allow`: sessions over the PostgreSQL protocol begin with `sotto.spending = allow`. Default: each session allows ' +
      'it for itself.',
  )

const amount = z.number().positive().max(1e9)

/** Settings with which sessions begin. */
const settings = z
  .strictObject({
    epsilon: amount.exactOptional().describe('Price of each query: `sotto.epsilon`.'),
    halfWidth: amount
      .exactOptional()
      .describe('Precision of each number instead of a price: `sotto.half_width`.'),
    halfWidths: boolean('Columns of half-widths: `sotto.half_widths`.').exactOptional(),
  })
  .refine(({ epsilon, halfWidth }) => epsilon === undefined || halfWidth === undefined, {
    error: 'must not be given together with epsilon',
    path: ['halfWidth'],
  })
  .meta({
    id: 'KeySettings',
    description: 'Settings with which sessions over the PostgreSQL protocol begin, unless they state others.',
  })

/** POST /v1/keys */
export const keyRequest = object(
  'KeyRequest',
  'Key to create.',
  {
    name,
    role,
    datasets: datasets.exactOptional(),
    expiresAt: expiresAt.exactOptional(),
    quota: quota.exactOptional(),
    spending: spending.exactOptional(),
    settings: settings.exactOptional(),
    samePrincipal: boolean(
      'True adds a key to a principal that has or had one. The new key then has the same releases, spending and ' +
        'allotments. Without it, the name must be new.',
    ).default(false),
  },
  { name: 'study-notebook', role: 'analyst', datasets: ['census'] },
)

const keyId = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,62}\.[1-9]\d{0,9}$/, 'must be the id of a key, such as ada.1')

/** Path parameter of the paths below /v1/keys/{id}. */
export const keyParameters = z.strictObject({
  id: keyId.meta({ description: 'Id of the key.', example: 'study-notebook.1' }),
})

/** An API key without its text. */
export const apiKey = object('ApiKey', 'An API key, without the key itself.', {
  id: keyId.describe('The name and a number. An id is never used again.'),
  name,
  role,
  datasets: datasets.optional(),
  expiresAt: time.optional(),
  quota: quota.optional(),
  spending: spending.optional(),
  settings: settings.optional(),
  createdAt: time,
  createdBy: z.string().optional(),
  rotatedAt: time.optional().describe('Time of the last rotation.'),
  earlierValidUntil: time.optional().describe('Time until which a previous key is valid. Absent if none is.'),
})

/** GET /v1/keys */
export const keyList = object('KeyList', 'API keys, oldest first.', { keys: listOf(apiKey), next })

/** Response to the creation and to a rotation. */
export const issuedKey = apiKey
  .extend({
    key: string('The key. Store it: the service keeps only its digest and never shows it again.'),
  })
  .meta({ id: 'IssuedKey', description: 'A new or rotated API key.' })

/** Default time for which the previous text of a key stays valid after a rotation. */
export const DEFAULT_OVERLAP_SECONDS = 3_600
/** Longest time for which the previous text of a key may stay valid after a rotation: 30 days. */
const MAX_OVERLAP_SECONDS = 2_592_000

/** POST /v1/keys/{id}/rotate */
export const rotationRequest = object(
  'RotationRequest',
  'Rotation of a key.',
  {
    overlapSeconds: z
      .int()
      .min(0)
      .max(MAX_OVERLAP_SECONDS)
      .default(DEFAULT_OVERLAP_SECONDS)
      .describe(
        'Time for which the previous key stays valid. 0 ends it at once, together with the keys of earlier rotations.',
      ),
  },
  { overlapSeconds: 600 },
)
