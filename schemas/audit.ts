import { z } from 'zod'
import { datasetId } from './dataset.ts'
import { query } from './query.ts'

/** GET /v1/audit/datasets */
export const auditedDatasets = z
  .strictObject({
    datasets: z
      .array(
        z.strictObject({
          id: datasetId,
          neighbours: z.enum(['add-remove', 'change-one']),
          neighbour: datasetId.describe('The dataset that differs from it by one person.'),
          people: z.array(z.record(z.string(), z.union([z.number(), z.string()]))).readonly(),
        }),
      )
      .readonly(),
  })
  .meta({
    id: 'AuditedDatasets',
    description: 'Pairs of neighbouring synthetic datasets with all of their rows.',
  })

/** POST /v1/audit/releases */
export const auditRequest = z
  .strictObject({
    dataset: datasetId,
    query,
    releases: z.int().min(1).max(10_000).describe('Number of fresh releases.'),
  })
  .meta({
    id: 'AuditRequest',
    description: 'Query on a synthetic dataset and the number of releases to draw.',
  })

/** Result of an audit. */
export const auditedReleases = z
  .strictObject({ results: z.array(z.unknown()).readonly().describe('The `result` of each answer.') })
  .meta({ id: 'AuditedReleases', description: 'Fresh releases, in no particular order.' })
