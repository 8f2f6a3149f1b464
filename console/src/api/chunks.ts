import { ConnectionFailed } from 'sotto-client'

/**
 * Yields the chunks of a response. Not all browsers can iterate over a stream.
 * @throws ConnectionFailed if the connection is lost before the end, and the reason of an abort
 */
export async function* chunksOf<Chunk extends Uint8Array>(
  stream: ReadableStream<Chunk>,
): AsyncGenerator<Chunk> {
  const reader = stream.getReader()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
  } catch (error) {
    // Browsers report a connection that is lost in the middle of a body as a TypeError.
    throw error instanceof TypeError ? new ConnectionFailed('the response ended too early') : error
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
