import { z } from 'zod'
import { reason } from '../budgets/budget.ts'
import { boolean, listOf, object, string, time } from '../values.ts'

/** POST /v1/datasets/{dataset}/resume */
export const resumeRequest = object(
  'ResumeRequest',
  'Why the dataset may be queried again.',
  { reason },
  { reason: 'The time limit was too short for the larger file, and was raised.' },
)

const countedFailure = object('CountedFailure', 'Failure after a charge that may depend on the data.', {
  sequence: z.int().min(1).describe('Event in the ledger of the dataset.'),
  at: time,
  principal: z.string(),
  release: string('Charge whose attempt failed, or the session whose question failed.'),
  errorClass: string('For example `EngineTimeout`. Absent if it is unknown.').optional(),
})

const databaseName = string('Name of the column in the database.')

const columnChange = z
  .union([
    z.strictObject({
      change: z
        .literal('missing')
        .describe('The table has no such column, or the connection may no longer read it.'),
      column: databaseName,
    }),
    z.strictObject({
      change: z.literal('type').describe('The column has another type.'),
      column: databaseName,
      registered: string('Type of the column in the database at the registration.'),
      present: string('Type of the column in the database now.'),
    }),
    z.strictObject({
      change: z
        .enum(['nullable', 'not-null', 'not-unique'])
        .describe(
          '`nullable`: the column may now be NULL. `not-null`: the column can no longer be NULL, and could be at the ' +
            'registration. `not-unique`: the database no longer guarantees that no value of the key occurs twice.',
        ),
      column: databaseName,
    }),
  ])
  .meta({ id: 'ColumnChange', description: 'Difference between a column at the registration and now.' })

const tableState = object('TableState', 'Present columns of a live table. For custodians only.', {
  state: z
    .enum(['as-registered', 'changed', 'missing', 'unknown'])
    .describe(
      '`as-registered`: the declared columns are those of the present version. `changed`: `changes` lists the differences. ' +
        '`missing`: the table does not exist, or the connection may no longer read it. `unknown`: the database did not answer.',
    ),
  changes: listOf(columnChange),
})

/** Reason of a suspension. */
export const suspensionReason = z
  .enum(['failures', 'table-changed'])
  .describe(
    'Reason of the suspension. `table-changed`: the declared columns of the table in its database no longer had the names, ' +
      'types and constraints of the registration. `failures`: queries have failed as often as `failureLimit` permits.',
  )

/** GET /v1/datasets/{dataset}/suspension */
export const suspensionReport = object(
  'Suspension',
  'Failures of a dataset after charges. Not for analysts.',
  {
    suspended: boolean('True if analysts get stored answers only.'),
    reason: suspensionReason.optional(),
    message: string(
      'Custodians only, with the reason `table-changed`: which columns differ now, and what to do. Do not publish it.',
    ).optional(),
    table: tableState
      .optional()
      .describe(
        'Custodians only, with the reason `table-changed`: the columns of the table, as they are now.',
      ),
    failures: z.int().min(0).describe('Failures since the dataset was last resumed.'),
    counted: listOf(countedFailure).describe(
      'The counted failures, oldest first; the latest 1,000 if there are more.',
    ),
  },
)
