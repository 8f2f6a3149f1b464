import { openAsBlob, statSync } from 'node:fs'
import path from 'node:path'
import { Misuse } from '../command.ts'
import type { ServiceClient } from '../service.ts'
import { showProgress } from './progress.ts'

/**
 * Uploads a file, uses the upload and deletes it.
 * @param use receives the id of the upload
 */
export async function withUpload<Result>(
  client: ServiceClient,
  file: string,
  use: (upload: string) => Promise<Result>,
): Promise<Result> {
  const upload = await uploadFile(client, file)
  try {
    return await use(upload)
  } finally {
    // An upload that remains expires.
    await client.deleteUpload(upload).catch(() => undefined)
  }
}

async function uploadFile(client: ServiceClient, file: string): Promise<string> {
  const status = statSync(file, { throwIfNoEntry: false })
  if (!status?.isFile()) throw new Misuse(`${file}: is not a file on this machine`)
  const progress = showProgress(`Uploading ${path.basename(file)}`, status.size)
  // A form would send quotation marks as %22.
  const name = path.basename(file).replace(/[\r\n"\\]/g, '_')
  try {
    return (await client.upload(await openAsBlob(file), name, progress.advance)).id
  } finally {
    progress.end()
  }
}
