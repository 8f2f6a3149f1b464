import { beforeAll, describe, inject } from 'vitest'
import { queryTrino, type TrinoCluster, trinoObstacle } from './trino-server.ts'

/**
 * The one cluster of a test run. Test files use it one after the other, so that one may kill its nodes and start them
 * again.
 */
export type SharedTrino = Omit<TrinoCluster, 'remove'>

/** Describes tests on the run's cluster. They are skipped if Trino or Java is not installed. */
export function describeTrino(title: string, tests: (trino: SharedTrino) => void): void {
  const reason = trinoObstacle()
  const named = reason === undefined ? title : `${title} (skipped: ${reason})`
  describe.skipIf(reason !== undefined)(named, () => {
    let url = ''
    beforeAll(async () => {
      url = await order('/start')
    })
    tests({
      get url() {
        return url
      },
      start: async () => void (await order('/start')),
      kill: async (node) => void (await order(`/kill/${node}`)),
      stop: async (node) => void (await order(`/stop/${node}`)),
      resume: async (node) => void (await order(`/resume/${node}`)),
      query: (sql) => queryTrino(url, sql),
    })
  })
}

/** Gives an order to the process that runs the cluster, and returns the cluster's address. */
async function order(order: string): Promise<string> {
  const response = await fetch(new URL(order, inject('trinoControlUrl')))
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text
}
