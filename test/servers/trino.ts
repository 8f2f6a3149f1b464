import { afterAll, beforeAll, describe } from 'vitest'
import { startTrinoCluster, type TrinoCluster, trinoObstacle } from './trino-server.ts'

/** The cluster of a suite, which runs from its first test to its last. */
export type Trino = Omit<TrinoCluster, 'remove'>

/** Describes tests on a cluster of their own. They are skipped if Trino or Java is not installed. */
export function describeTrino(title: string, tests: (trino: Trino) => void): void {
  const reason = trinoObstacle()
  const named = reason === undefined ? title : `${title} (skipped: ${reason})`
  describe.skipIf(reason !== undefined)(named, () => {
    let cluster: TrinoCluster
    beforeAll(async () => {
      cluster = await startTrinoCluster()
    })
    afterAll(() => cluster?.remove())
    tests({
      get url() {
        return cluster.url
      },
      start: () => cluster.start(),
      kill: (node) => cluster.kill(node),
      stop: (node) => cluster.stop(node),
      resume: (node) => cluster.resume(node),
      query: (sql) => cluster.query(sql),
    })
  })
}
