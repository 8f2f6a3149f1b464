import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Request that arrived at a service that answers nothing. */
export interface RecordedRequest {
  readonly target: string
  readonly authorization: string
  readonly body: unknown
}

/** Service that keeps the requests sent to it, and refuses each. */
export interface RecordedService {
  readonly origin: string
  readonly requests: RecordedRequest[]
  close(): Promise<void>
}

const REFUSAL = {
  type: 'about:blank',
  title: 'Refused',
  status: 400,
  code: 'request-invalid',
  detail: 'Refused.',
}

/** Starts a service that keeps the requests sent to it, and refuses each. */
export async function startRecordedService(): Promise<RecordedService> {
  const requests: RecordedRequest[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    requests.push({
      target: `${request.method} ${request.url}`,
      authorization: request.headers.authorization ?? '',
      body: JSON.parse(Buffer.concat(parts).toString('utf8')),
    })
    response.writeHead(400, { 'content-type': 'application/problem+json' }).end(JSON.stringify(REFUSAL))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
