import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** An attribute in the JSON encoding of OTLP. */
export interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string }
}

/** A span in the JSON encoding of OTLP. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly events: readonly unknown[]
  readonly links: readonly unknown[]
  readonly status: { readonly code: number; readonly message?: string }
}

/** What an exporter sends in one request. */
export interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[]
  }[]
}

/** A destination of traces in the process of the test. */
export interface Receiver {
  readonly url: string
  /** The bodies of all requests, as they were sent. */
  readonly bodies: readonly string[]
  readonly headers: readonly IncomingHttpHeaders[]
  /** Answers further requests with this status, and with these headers. */
  respondWith(status: number, headers?: OutgoingHttpHeaders): void
  spans(): readonly Span[]
  close(): Promise<void>
}

/** Starts a receiver of OTLP over HTTP on a free port. */
export async function startReceiver(): Promise<Receiver> {
  const bodies: string[] = []
  const headers: IncomingHttpHeaders[] = []
  let [status, answered]: [number, OutgoingHttpHeaders] = [200, {}]
  const server = createServer(async (request, response) => {
    bodies.push(await text(request))
    headers.push(request.headers)
    response.writeHead(status, { 'content-type': 'application/json', ...answered }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    bodies,
    headers,
    respondWith: (next, further = {}) => {
      status = next
      answered = further
    },
    spans: () => bodies.flatMap((body) => spansIn(JSON.parse(body))),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function spansIn({ resourceSpans }: Exported): readonly Span[] {
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
}
