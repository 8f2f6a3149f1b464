import { z } from 'zod'
import { boolean, listOf, object, string } from '../values.ts'
import { namedTable, uploadId } from './dataset.ts'

/** POST /v1/drafts */
export const draftRequest = object(
  'DraftRequest',
  'A source to draft a declaration for.',
  {
    source: z
      .discriminatedUnion('kind', [
        z.strictObject({
          kind: z.literal('file'),
          path: z.string().min(1).max(500).describe('Path relative to the data folder.'),
        }),
        z.strictObject({
          kind: z.literal('upload'),
          upload: uploadId.describe('Id of one of your uploads.'),
        }),
        namedTable.extend({
          joins: boolean(
            'True proposes a joined source: the table with the tables to which foreign keys lead, as the database declares them.',
          ).default(false),
        }),
      ])
      .describe('The source, without its format and dialect, which the draft finds.'),
    showDataHints: boolean(
      'True adds values of the data, such as the smallest number of a column. They are not protected by noise: do not ' +
        'publish them, and do not declare them.',
    ).default(false),
  },
  { source: { kind: 'file', path: 'survey/staff.csv' } },
)

const remark = z.strictObject({
  field: string('Path of the field in the declaration, such as `columns.2.lower`.'),
  text: z.string(),
})

/** A proposed declaration. */
export const draft = object('Draft', 'A proposed declaration of a source. It is not stored.', {
  declaration: z
    .record(z.string(), z.unknown())
    .describe(
      'A registration whose open questions have the value `TODO`. POST /v1/datasets refuses it until all are answered.',
    ),
  warning: string('The reason why values of the data must not be declared.'),
  questions: listOf(remark).describe('Everything that the custodian has to decide.'),
  notes: listOf(remark).describe('Reasons for what is proposed.'),
  dataHints: listOf(remark)
    .optional()
    .describe('Values of the data. Present only if `showDataHints` is true.'),
})
