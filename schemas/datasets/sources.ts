import { z } from 'zod'
import { listOf, next, object, string, time } from '../values.ts'
import { uploadId } from './dataset.ts'

/** Path parameter of the paths below /v1/sources/{source}. */
export const sourceParameters = z.strictObject({
  source: uploadId.meta({ description: 'Id of an upload.', example: '3f0c8b8a6f0e4f4d9d0a7c1b2e5f6a70' }),
})

/** POST /v1/sources */
export const uploadRequest = object(
  'UploadRequest',
  'A file to upload.',
  {
    file: z.string().meta({
      contentMediaType: 'application/octet-stream',
      description: 'The CSV or Parquet file. It must be the only part.',
    }),
  },
  { file: 'age\n30\n' },
)

/** A file that a custodian uploaded. */
export const upload = object('Upload', 'An uploaded file. It belongs to the principal that uploaded it.', {
  id: uploadId,
  name: string('Name of the file, as the client sent it.'),
  bytes: z.int().min(1),
  format: z
    .enum(['csv', 'parquet'])
    .describe('`parquet` for a file that begins as Parquet files do, otherwise `csv`.'),
  uploadedAt: time,
  expiresAt: time.describe('Time at which the service deletes the file.'),
})

/** GET /v1/sources */
export const uploadList = object('UploadList', 'Uploads of the caller, newest first.', {
  sources: listOf(upload),
  next,
})
