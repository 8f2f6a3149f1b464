import { afterAll, beforeAll, describe, inject } from 'vitest'
import { queryTrino, startTrinoCluster, type TrinoCluster, trinoObstacle } from './trino-server.ts'

/** The cluster that the test run has started. Other test files use it as well. */
export type SharedTrino = Pick<TrinoCluster, 'url' | 'query'>

/** Describes tests on the run's cluster. They are skipped if Trino or Java is not installed. */
export function describeTrino(title: string, tests: (trino: SharedTrino) => void): void {
  describeWherePossible(title, () => {
    const url = inject('trinoUrl') ?? ''
    tests({ url, query: (sql) => queryTrino(url, sql) })
  })
}

/** Describes tests with a separate cluster, whose nodes they may kill. It is started before them. */
export function describeOwnTrino(
  title: string,
  tests: (own: { readonly cluster: TrinoCluster }) => void,
): void {
  describeWherePossible(title, () => {
    let cluster: TrinoCluster | undefined
    beforeAll(async () => {
      cluster = await startTrinoCluster()
    })
    afterAll(() => cluster?.remove())
    tests({
      get cluster() {
        if (cluster === undefined) throw new Error('the cluster starts before the first test')
        return cluster
      },
    })
  })
}

function describeWherePossible(title: string, tests: () => void): void {
  const reason = trinoObstacle()
  describe.skipIf(reason !== undefined)(reason === undefined ? title : `${title} (skipped: ${reason})`, tests)
}
