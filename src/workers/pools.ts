import { openComputationPool } from './pool.ts'

/** Opens a pool for each kind of computation, so that none waits for another kind. */
export function openComputationPools() {
  return {
    riskPool: openComputationPool({ threads: 2, maxWaiting: 16, waitMs: 20_000, maxPerPrincipal: 4 }),
    evaluationPool: openComputationPool({ threads: 1, maxWaiting: 4, waitMs: 120_000, maxPerPrincipal: 2 }),
    // A page of the console asks for up to four plots, and a person has several pages open.
    plotPool: openComputationPool({ threads: 1, maxWaiting: 32, waitMs: 10_000, maxPerPrincipal: 16 }),
    sqlPool: openComputationPool({ threads: 1, maxWaiting: 64, waitMs: 20_000, maxPerPrincipal: 16 }),
    dummyPool: openComputationPool({ threads: 1, maxWaiting: 16, waitMs: 20_000, maxPerPrincipal: 8 }),
  }
}
