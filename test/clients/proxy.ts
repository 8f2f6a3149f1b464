import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Starts a server for a test, on a free port of 127.0.0.1. */
export async function listen(handle: (incoming: IncomingMessage, outgoing: ServerResponse) => void) {
  const server: Server = createServer(handle)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

/** Passes a request on to a service. */
export function passOn(
  service: string,
  incoming: IncomingMessage,
  answered: (response: IncomingMessage) => void,
): void {
  const { method, headers, url } = incoming
  incoming.pipe(request(`${service}${url}`, { method, headers }, answered))
}

/**
 * Starts a proxy that closes the first connections after the service has answered.
 * @param losses number of connections that are closed
 * @param bytes number of bytes of the response's body that arrive before
 */
export async function startLossyProxy(
  service: string,
  { losses, bytes }: { readonly losses: number; readonly bytes: number },
) {
  let lost = 0
  const server = await listen((incoming, outgoing) =>
    passOn(service, incoming, (response) => {
      const whole: Buffer[] = []
      response.on('data', (part) => whole.push(part))
      // The charge is stored by now: the service sends no byte before.
      response.on('end', () => {
        const body = Buffer.concat(whole)
        outgoing.writeHead(response.statusCode ?? 500, response.headers)
        if (lost >= losses) outgoing.end(body)
        else {
          lost += 1
          if (bytes === 0) outgoing.destroy()
          else outgoing.write(body.subarray(0, bytes), () => outgoing.destroy())
        }
      })
    }),
  )
  return { ...server, lost: () => lost }
}
