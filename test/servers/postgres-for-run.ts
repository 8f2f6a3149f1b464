import type { TestProject } from 'vitest/node'
import { folderInMemory } from './memory.ts'
import { postgresBinaries, startPostgresServer } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The connection string of the run's server for its database `postgres`. */
    postgresUrl: string | undefined
  }
}

/** Starts one PostgreSQL server for a whole run of the tests, if it is installed; see {@link file://./postgres.ts}. */
export default async function startPostgresForRun(project: TestProject): Promise<() => Promise<void>> {
  if (postgresBinaries() === undefined) return async () => undefined
  // Nobody ends this server, so that its files need no disk.
  const server = await startPostgresServer({ parent: folderInMemory(2 ** 32) })
  project.provide('postgresUrl', server.url('postgres'))
  return () => server.remove()
}
