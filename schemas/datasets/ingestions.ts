import { z } from 'zod'
import { boolean, hexId, listOf, next, object, string, time } from '../values.ts'
import { datasetId } from './dataset.ts'

/** Path parameter of the paths below /v1/ingestions/{ingestion}. */
export const ingestionParameters = z.strictObject({
  ingestion: hexId.meta({
    description: 'Id of an ingestion.',
    example: '5d1f0e6c2a7b4c3d8e9f0a1b2c3d4e5f',
  }),
})

/** An ingestion that waits or runs. */
export const ingestion = object('Ingestion', 'An ingestion that waits or runs.', {
  id: hexId,
  dataset: datasetId.describe('Id of the dataset. It need not be registered yet.'),
  kind: z.enum(['registration', 'version']),
  dryRun: boolean('True if nothing will be published.'),
  principal: string('Name of the custodian who asked for it.'),
  startedAt: time.describe('Time of the request in UTC.'),
  phase: z
    .enum(['wait', 'copy', 'check', 'read', 'store'])
    .describe(
      '`wait`: other ingestions run first. `copy`: the source is copied. `check`: its form, or the columns and values of a ' +
        'live table, are checked. `read`: values are converted. `store`: the rows that queries read are written.',
    ),
  fraction: z.number().min(0).max(1).optional().describe('Part of the phase that is done, where known.'),
})

/** GET /v1/ingestions */
export const ingestionList = object(
  'IngestionList',
  'Ingestions of datasets that the caller may use, newest first.',
  { ingestions: listOf(ingestion), next },
)
