import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, inject } from 'vitest'
import {
  type PostgresOptions,
  type PostgresServer,
  postgresBinaries,
  queryPostgres,
  startPostgresServer,
} from './postgres-server.ts'

/** The databases of the server that the test run has started. Other test files use the same server. */
export type Databases = Pick<PostgresServer, 'url' | 'createDatabase'>

/** Describes tests that need separate databases. They are skipped if PostgreSQL is not installed. */
export function describePostgres(title: string, tests: (databases: Databases) => void): void {
  describeWherePossible(title, undefined, () => tests({ url, createDatabase }))
}

/**
 * Describes tests with a separate server, which they may stop, kill or configure. It is started before them.
 *
 * @param obstacle a further reason to skip them
 */
export function describeOwnPostgres(
  title: string,
  { obstacle, ...options }: PostgresOptions & { readonly obstacle?: string | undefined },
  tests: (own: { readonly server: PostgresServer }) => void,
): void {
  describeWherePossible(title, obstacle, () => {
    let server: PostgresServer | undefined
    beforeAll(async () => {
      server = await startPostgresServer(options)
    })
    afterAll(() => server?.remove())
    tests({
      get server() {
        if (server === undefined) throw new Error('the server starts before the first test')
        return server
      },
    })
  })
}

function describeWherePossible(title: string, obstacle: string | undefined, tests: () => void): void {
  const reason = postgresBinaries() === undefined ? 'PostgreSQL is not installed' : obstacle
  describe.skipIf(reason !== undefined)(reason === undefined ? title : `${title} (skipped: ${reason})`, tests)
}

function url(database: string): string {
  const found = new URL(inject('postgresUrl') ?? '')
  found.pathname = database
  return found.href
}

async function createDatabase(): Promise<string> {
  const database = `test_${randomUUID().replaceAll('-', '')}`
  await queryPostgres(url('postgres'), `CREATE DATABASE ${database}`)
  return url(database)
}
