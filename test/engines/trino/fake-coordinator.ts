import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TrinoConnection } from '../../../src/engines/tables/connection.ts'

/** A request that a fake coordinator received. */
export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Answers one request. */
export type Handler = (request: ReceivedRequest, response: ServerResponse) => void

/** A server that speaks as much of Trino's protocol as its handler does. */
export interface FakeCoordinator {
  readonly url: string
  readonly received: readonly ReceivedRequest[]
  /** A connection to it, with short limits. */
  connection(facts?: Partial<TrinoConnection>): TrinoConnection
  close(): Promise<void>
}

/**
 * Starts a fake coordinator.
 * @param tls its certificate and key, and the clients that it accepts; absent for plain HTTP
 */
export async function startFakeCoordinator(handle: Handler, tls?: ServerOptions): Promise<FakeCoordinator> {
  const received: ReceivedRequest[] = []
  const listener: RequestListener = (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const got = { method, path, headers, body }
      received.push(got)
      handle(got, response)
    })
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    received,
    connection: (facts = {}) => connectionTo('127.0.0.1', port, facts),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A connection to a coordinator. */
export function connectionTo(
  host: string,
  port: number,
  facts: Partial<TrinoConnection> = {},
): TrinoConnection {
  return {
    engine: 'trino',
    name: 'lake',
    host,
    port,
    user: 'sotto',
    catalog: 'memory',
    schema: 'default',
    limits: { connections: 2, statementTimeoutMs: 60_000, registrationTimeoutMs: 60_000 },
    ...facts,
  }
}

/** Answers with JSON. */
export function answer(response: ServerResponse, document: unknown, status = 200, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(document))
}
