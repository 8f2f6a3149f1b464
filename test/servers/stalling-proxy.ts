import { once } from 'node:events'
import { createServer, connect as openSocket, type Socket } from 'node:net'

/** A TCP proxy whose traffic can be stopped without closing a connection. */
export interface StallingProxy {
  readonly port: number
  /** Passes on nothing more, in both directions and on new connections. */
  stall(): void
  /** Passes on traffic again. */
  resume(): void
  close(): Promise<void>
}

/** Starts a proxy on 127.0.0.1 for a port there. */
export async function startStallingProxy(target: number): Promise<StallingProxy> {
  const sockets = new Set<Socket>()
  let isStalled = false
  const server = createServer((client) => {
    const upstream = openSocket(target, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => to.write(bytes))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      if (isStalled) from.pause()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    port: address.port,
    stall: () => {
      isStalled = true
      for (const socket of sockets) socket.pause()
    },
    resume: () => {
      isStalled = false
      for (const socket of sockets) socket.resume()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
