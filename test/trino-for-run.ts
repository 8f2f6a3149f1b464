import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { startTrinoCluster, TRINO_NODES, type TrinoCluster, trinoObstacle } from './trino-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address at which tests start and change the run's cluster; see {@link file://./trino.ts}. */
    trinoControlUrl: string
  }
}

/**
 * Takes the orders of test files, each of which runs in another process, for the one Trino cluster of a run. Prints a line
 * if the tests are skipped.
 */
export default async function controlTrinoForRun(project: TestProject): Promise<() => Promise<void>> {
  const obstacle = trinoObstacle()
  if (obstacle !== undefined) console.log(`Tests that need Trino are skipped: ${obstacle}.`)
  let starting: Promise<TrinoCluster> | undefined
  const obey = async (order: string): Promise<string> => {
    starting ??= startTrinoCluster()
    const cluster = await starting
    const node = TRINO_NODES.find((each) => order.endsWith(`/${each}`))
    if (order === '/start') await cluster.start()
    else if (node === undefined) throw new Error('no such order')
    else if (order.startsWith('/kill/')) await cluster.kill(node)
    else if (order.startsWith('/stop/')) await cluster.stop(node)
    else await cluster.resume(node)
    return cluster.url
  }
  const control = createServer((request, response) => {
    obey(request.url ?? '').then(
      (url) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve))
  project.provide('trinoControlUrl', `http://127.0.0.1:${(control.address() as AddressInfo).port}`)
  return async () => {
    control.close()
    control.closeAllConnections()
    await (await starting?.catch(() => undefined))?.remove()
  }
}
