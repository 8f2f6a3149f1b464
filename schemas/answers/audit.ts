import { z } from 'zod'
import { columnName, columns, datasetId, privacyUnit } from '../datasets/dataset.ts'
import { listOf, neighbours, next, object } from '../values.ts'
import { batch, query } from './query.ts'
import { sessionQuestion, sessionRequest } from './sparse-vector.ts'

/** GET /v1/audit/datasets */
export const auditedDatasets = object(
  'AuditedDatasets',
  'Pairs of neighbouring synthetic datasets with all their rows.',
  {
    datasets: listOf(
      z.strictObject({
        id: datasetId,
        neighbours,
        neighbour: datasetId.describe('The dataset that differs from it by one person.'),
        people: listOf(z.record(z.string(), z.union([z.number(), z.string()]))),
      }),
    ),
    next,
  },
)

/** Maximum number of releases of each dataset in one request. */
const MAX_RELEASES = 10_000
/** Maximum number of rows of each dataset of a pair. */
const MAX_PAIR_ROWS = 1_000
/** Maximum number of questions to each session. */
const MAX_QUESTIONS = 100

const rows = z
  .array(z.record(columnName, z.union([z.number(), z.string(), z.boolean(), z.null()])))
  .max(MAX_PAIR_ROWS)
  .readonly()

const pair = object('AuditedPair', 'Two neighbouring synthetic datasets, which exist for the request only.', {
  columns,
  privacyUnit: privacyUnit.default({ kind: 'row' }),
  neighbours,
  rows: rows.describe('Rows of the dataset, each with every declared column.'),
  neighbourRows: rows.describe(
    'Rows of its neighbour: one row more or fewer (add-remove), or one row replaced (change-one). With the privacy unit ' +
      '`person`, one person with all rows. The order of rows has no meaning.',
  ),
})

const session = sessionRequest
  .extend({ questions: z.array(sessionQuestion).min(1).max(MAX_QUESTIONS).readonly() })
  .meta({
    id: 'AuditedSession',
    description:
      'A session that is opened anew for each release and answers these questions until it is used up.',
    examples: [
      {
        threshold: 3,
        positives: 1,
        epsilon: 1,
        questions: [{ where: { column: 'Age', op: '>=', value: 40 } }],
      },
    ],
  })

/** POST /v1/audit/releases */
export const auditRequest = z
  .strictObject({
    dataset: datasetId.optional().describe('A synthetic dataset. Give either this or a pair.'),
    pair: pair.optional().describe('Two datasets of your own. Give either this or a dataset.'),
    query: query.optional().describe('Give exactly one of query, queries and session.'),
    queries: batch.shape.queries.optional(),
    session: session.optional(),
    releases: z.int().min(1).max(MAX_RELEASES).describe('Number of fresh releases of each dataset.'),
  })
  .superRefine((body, context) => {
    const requireOne = (...fields: readonly ('dataset' | 'pair' | 'query' | 'queries' | 'session')[]) => {
      if (fields.filter((field) => body[field] !== undefined).length === 1) return
      const message = `exactly one of ${fields.join(', ')} must be given`
      context.addIssue({ code: 'custom', path: fields.slice(0, 1), message })
    }
    requireOne('dataset', 'pair')
    requireOne('query', 'queries', 'session')
  })
  .meta({
    id: 'AuditRequest',
    description:
      'Fresh releases of a query, a batch or a session, over a synthetic dataset or a pair of them.',
    examples: [{ dataset: 'audit-with', query: { kind: 'count', epsilon: 1 }, releases: 100 }],
  })

const results = listOf(z.unknown()).describe(
  'In no particular order. The `result` of each answer; for a batch the list of its results; for a session the list of ' +
    '`above` and `gap` of its answers.',
)

/** Result of POST /v1/audit/releases. */
export const auditedReleases = object('AuditedReleases', 'Fresh releases.', {
  results,
  neighbourResults: results.optional().describe('Releases of the neighbour. Only for a pair.'),
})
