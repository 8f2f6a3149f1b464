import { z } from 'zod'
import { amount } from '../budgets/budget.ts'
import { datasetId } from '../datasets/dataset.ts'
import { boolean, hexId, jsonText, listOf, next, object, releasePageQuery, string } from '../values.ts'
import { answer, batchAnswer, cellLabel, provenance } from './answer.ts'
import { QUERY_KINDS } from './query.ts'
import { openedSession } from './sparse-vector.ts'

/** Release of the example query of the OpenAPI document, asked by the analyst of the first key. */
const EXAMPLE_RELEASE = '0b96cabcbffa4536112a6e1b1591dfdc'

/** Path parameter of the paths below /v1/releases/{id}. */
export const releaseParameters = z.strictObject({
  id: hexId.meta({ description: 'The `id` of an answer or a session.', example: EXAMPLE_RELEASE }),
})

/** Document of any charged request: an answer, a batch or the opening of a session. */
const storedDocument = z.union([answer, batchAnswer, openedSession])

/** GET /v1/releases/{id} */
export const storedRelease = jsonText('The answer.', storedDocument)

/** Kind of a release: that of its query, `batch`, or `sparseVector` for a session. */
export const releaseKind = z.enum([...QUERY_KINDS, 'batch', 'sparseVector'])

const time = z.union(
  [z.iso.datetime(), z.iso.date()],
  'must be a time in UTC such as 2026-01-31T12:00:00Z, or a date such as 2026-01-31',
)

/** GET /v1/releases */
export const releasesQuery = releasePageQuery.extend({
  dataset: datasetId.optional().describe('Returns only releases on this dataset.'),
  kind: releaseKind
    .optional()
    .describe('Returns only releases of this kind of query, `batch`, or `sparseVector` for sessions.'),
  analyst: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Returns only releases of this analyst. Analysts list their own releases only.'),
  from: time.optional().describe('Returns only releases that were answered at this time or later.'),
  to: time.optional().describe('Returns only releases that were answered before this time.'),
  format: z
    .enum(['json', 'csv'])
    .optional()
    .describe(
      'Format of the list. Default: `csv` for a request that prefers it by `Accept`, otherwise `json`.',
    ),
})

const listedRelease = object(
  'ListedRelease',
  'Paid and answered request with its question, price and answer.',
  {
    id: string('Identifies the release.'),
    dataset: datasetId,
    datasetVersion: string('Version of the dataset that the release was computed from.'),
    kind: releaseKind,
    analyst: string('Name of the analyst who paid for the release.'),
    question: z
      .looseObject({})
      .describe('Question as it was asked: a query, `{"queries"}` of a batch, or the request of a session.'),
    ...provenance,
    price: amount.describe('Amount that the release cost the analyst.'),
    shared: z
      .literal(true)
      .optional()
      .describe('Present if another analyst had already paid for the answer.'),
    inferredFrom: listOf(z.string())
      .optional()
      .describe(
        'Ids of the releases that the answer follows from. Present if it is inferred, in part or as a whole.',
      ),
    answer: storedDocument.describe('The stored answer.'),
  },
)

/** Page of releases. */
export const releasePage = object('ReleasePage', 'Releases, newest first.', {
  releases: listOf(listedRelease).describe('Newest first.'),
  next,
})

/** GET /v1/releases */
export const releaseList = {
  description: 'Releases, newest first.',
  content: {
    'application/json': { schema: releasePage },
    'text/csv': {
      schema: string(
        'One row for each release, with the columns id, dataset, datasetVersion, kind, analyst, question, answeredAt, ' +
          'softwareVersion, epsilon, delta, rho, shared, inferredFrom and answer. The question and the answer are JSON.',
      ),
    },
  },
}

/** POST /v1/releases/{id}/postprocess */
export const postprocessing = object(
  'Postprocessing',
  'Post-processing of the values of a release, starting from those that were measured. Without fields, the values as ' +
    'they were measured.',
  {
    round: boolean('Round to the nearest whole number.').default(false),
    nonNegative: boolean(
      'Replace negative values by 0. Only for values whose true value is never negative.',
    ).default(false),
  },
  { round: true, nonNegative: true },
)

/** The table of a release that is asked for. */
export const tableColumns = z.string().max(4_000).optional()

/** GET /v1/releases/{id}/tables */
export const tablesQuery = z.strictObject({
  columns: tableColumns.describe(
    'Names of the columns of one table, separated by commas. Default: all tables.',
  ),
  format: z
    .enum(['json', 'csv'])
    .optional()
    .describe(
      'Format of the tables. Default: `csv` for a request that prefers it by `Accept`, otherwise `json`.',
    ),
})

const releasedTables = object('ReleasedTables', 'Tables of a release of marginals.', {
  tables: listOf(
    z.strictObject({
      columns: listOf(z.string()),
      labels: listOf(listOf(cellLabel)).describe('The labels of each column.'),
      halfWidth: z.number(),
      values: listOf(z.number()).describe(
        'Noisy count of each cell of the cross product of the labels; the labels of the last column change fastest.',
      ),
    }),
  ),
})

/** Tables of a release as JSON or CSV. */
export const tablesOfRelease = {
  description: 'The tables.',
  content: {
    'application/json': { schema: releasedTables },
    'text/csv': {
      schema: string(
        'A row for each cell: `table`, a field for each column of the release, which is empty where the table lacks the ' +
          'column, `value` and `halfWidth`.',
      ),
    },
  },
}
