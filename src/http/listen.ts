import type { AddressInfo, Server } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Where a server listens. */
export interface Listening {
  readonly host: string
  readonly port: number
  /** Name of the variable that sets the port. */
  readonly portVariable: string
  /** Message of the log line. */
  readonly logged: string
}

/**
 * Makes a server listen.
 * @returns its address, such as `http://127.0.0.1:8080`
 * @throws Error that names the variable to change if the address or the port cannot be used.
 */
export async function listen(app: FastifyInstance, listening: Listening): Promise<string> {
  const { host, port, logged } = listening
  return explained(listening, () => app.listen({ host, port, listenTextResolver: () => logged }))
}

/**
 * Makes a server of another protocol listen.
 * @returns its port
 * @throws Error as {@link listen} does.
 */
export function listenOn(server: Server, listening: Omit<Listening, 'logged'>): Promise<number> {
  const { host, port } = listening
  return explained(
    listening,
    () =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host, port }, () => {
          server.off('error', reject)
          resolve((server.address() as AddressInfo).port)
        })
      }),
  )
}

/** @throws Error that names the variable to change if the address or the port cannot be used. */
async function explained<Result>(
  { host, port, portVariable }: Omit<Listening, 'logged'>,
  start: () => Promise<Result>,
): Promise<Result> {
  try {
    return await start()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    switch (code) {
      case 'EADDRINUSE':
        throw new Error(
          `${portVariable}: port ${port} of ${host} is in use. Stop the other process, or choose another port`,
          { cause },
        )
      case 'EACCES':
        throw new Error(
          `${portVariable}: this user may not listen on port ${port}. Choose one from 1024 on`,
          {
            cause,
          },
        )
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
      case 'EAI_AGAIN':
        throw new Error(`SOTTO_HOST: ${host} is not an address of this machine`, { cause })
      default:
        throw cause
    }
  }
}
