import { type ComputationPool, openComputationPool, type PoolLimits } from '../platform/threads/pool.ts'

/** Threads for computations of disclosure risk, comparisons, evaluations and plots. */
export type StudyPool = ComputationPool<typeof import('./thread.ts')>

/** Opens a pool for each kind of study, so that none waits for another kind. */
export function openStudyPools() {
  return {
    riskPool: openStudyPool({ threads: 2, maxWaiting: 16, waitMs: 20_000, maxPerPrincipal: 4 }),
    evaluationPool: openStudyPool({ threads: 1, maxWaiting: 4, waitMs: 120_000, maxPerPrincipal: 2 }),
    // A page of the console asks for up to four plots, and a person has several pages open.
    plotPool: openStudyPool({ threads: 1, maxWaiting: 32, waitMs: 10_000, maxPerPrincipal: 16 }),
  }
}

/** Opens a pool of threads for studies. */
export function openStudyPool(limits: PoolLimits): StudyPool {
  return openComputationPool(new URL('./thread.ts', import.meta.url), limits)
}
