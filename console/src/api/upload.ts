import { ConnectionFailed, UnexpectedResponse } from 'sotto-client'
import { errorOf, leaveIfRefused } from './api.ts'
import { currentToken } from './credential.ts'
import type { Schemas } from './schemas.ts'
import type { AttemptOptions } from './use-attempt.ts'

export type Upload = Schemas['Upload']

/**
 * Uploads a file. It is not `fetch`, because only an XMLHttpRequest tells how much is sent.
 * @param options receives the share of the bytes that are sent, from 0 to 1
 * @throws Problem, ConnectionFailed or UnexpectedResponse, and the reason of `signal` once it is aborted
 */
export function uploadFile(file: File, { onProgress, signal }: AttemptOptions<number>): Promise<Upload> {
  const request = new XMLHttpRequest()
  const form = new FormData()
  form.append('file', file)
  return new Promise((resolve, reject) => {
    request.open('POST', '/v1/sources')
    request.setRequestHeader('authorization', `Bearer ${currentToken() ?? ''}`)
    request.upload.addEventListener('progress', ({ lengthComputable, loaded, total }) => {
      if (lengthComputable) onProgress(loaded / total)
    })
    request.addEventListener('load', () => {
      const { status, responseText } = request
      if (status !== 201) {
        const error = errorOf(status, responseText)
        leaveIfRefused(error)
        return reject(error)
      }
      try {
        resolve(JSON.parse(responseText))
      } catch {
        reject(new UnexpectedResponse('the body of the response is not JSON'))
      }
    })
    request.addEventListener('error', () => reject(new ConnectionFailed('no response from the service')))
    request.addEventListener('abort', () => reject(signal.reason))
    signal.addEventListener('abort', () => request.abort(), { once: true })
    if (signal.aborted) reject(signal.reason)
    else request.send(form)
  })
}
