import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { pipeline, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

/** Time for which an answer is awaited after the service closed the connection for sending. */
const LATE_ANSWER_MS = 1_000

/**
 * Returns a `fetch` for texts that waits for an answer for as long as its signal permits. That of Node gives up after five
 * minutes, and when a service refuses a body before all of it was sent.
 * @param onSent receives the number of bytes of the body sent so far
 */
export function patientFetch(onSent: (bytes: number) => void = () => undefined): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const { method, signal } = request
    const send = request.url.startsWith('https:') ? requestHttps : requestHttp
    const headers = Object.fromEntries(request.headers)
    return new Promise((resolve, reject) => {
      const sending = send(request.url, { method, headers, signal }, (incoming) => {
        const { statusCode: status = 0, headers: received } = incoming
        text(incoming)
          .then((body) => {
            const type = { 'content-type': received['content-type'] ?? '' }
            resolve(new Response(status === 204 ? null : body, { status, headers: type }))
            sending.destroy()
          })
          .catch(reject)
      })
      // A service that refuses a body early closes the connection, and its answer may still be on its way.
      sending.on('error', (error) => setTimeout(reject, request.body === null ? 0 : LATE_ANSWER_MS, error))
      if (request.body === null) sending.end()
      else pipeline(Readable.from(counted(request.body, onSent)), sending, () => undefined)
    })
  }
}

async function* counted(
  body: ReadableStream<Uint8Array>,
  onSent: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  // Cancelling a body while a file is read for it throws in Node, where nothing can catch it.
  for await (const chunk of body.values({ preventCancel: true })) {
    yield chunk
    bytes += chunk.length
    onSent(bytes)
  }
}
