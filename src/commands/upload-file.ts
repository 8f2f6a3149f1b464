import { randomUUID } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { Misuse } from './command.ts'
import { showProgress } from './progress.ts'
import type { ServiceClient, StreamedBody } from './service.ts'

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
    await client.send('DELETE', `/v1/sources/${upload}`).catch(() => undefined)
  }
}

async function uploadFile(client: ServiceClient, file: string): Promise<string> {
  const status = statSync(file, { throwIfNoEntry: false })
  if (!status?.isFile()) throw new Misuse(`${file}: is not a file on this machine`)
  const progress = showProgress(`Uploading ${path.basename(file)}`, status.size)
  try {
    const body = multipartBody(file, status.size, (done) => progress.advance(done))
    const { id } = await client.send('POST', '/v1/sources', body)
    return String(id)
  } finally {
    progress.end()
  }
}

/** Creates a body with one part, a file (RFC 7578). */
function multipartBody(file: string, bytes: number, onProgress: (done: number) => void): StreamedBody {
  const boundary = `sotto-${randomUUID()}`
  const name = path.basename(file).replace(/[\r\n"\\]/g, '_')
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n` +
      'Content-Type: application/octet-stream\r\n\r\n',
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  const parts = async function* () {
    yield head
    let done = 0
    if (bytes > 0)
      for await (const chunk of createReadStream(file, { end: bytes - 1 })) {
        yield chunk
        done += chunk.length
        onProgress(done)
      }
    yield tail
  }
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    bytes: head.length + bytes + tail.length,
    stream: Readable.from(parts(), { objectMode: false }),
  }
}
