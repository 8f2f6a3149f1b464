import { writeDigested } from '../../files/durable-file.ts'
import { openUpload } from '../uploads.ts'
import type { SourceKind } from './source.ts'

/** A file that the registering custodian uploaded. */
export const uploadSource: SourceKind<'upload'> = {
  fixed: {},
  copy: async ({ upload, format, csv }, { dataDirectory, copy, principal, signal }) => {
    const handle = await openUpload(dataDirectory, principal, upload)
    try {
      const digest = await writeDigested(handle.createReadStream({ autoClose: false }), copy, signal)
      return { format, csv, digest }
    } finally {
      await handle.close()
    }
  },
}
