import type { TestProject } from 'vitest/node'
import { startTrinoCluster, trinoObstacle } from './trino-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of the run's cluster. */
    trinoUrl: string | undefined
  }
}

/** Starts one Trino cluster for a whole run of the tests that need it; see {@link file://./trino.ts}. */
export default async function startTrinoForRun(project: TestProject): Promise<() => Promise<void>> {
  if (trinoObstacle() !== undefined) return async () => undefined
  const cluster = await startTrinoCluster()
  project.provide('trinoUrl', cluster.url)
  return () => cluster.remove()
}
