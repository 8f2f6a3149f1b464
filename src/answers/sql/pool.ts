import { type ComputationPool, openComputationPool, type PoolLimits } from '../../platform/threads/pool.ts'

/** Threads that parse SQL statements. */
export type SqlPool = ComputationPool<typeof import('./thread.ts')>

const LIMITS: PoolLimits = { threads: 1, maxWaiting: 64, waitMs: 20_000, maxPerPrincipal: 16 }

/** Opens the threads that parse SQL statements. */
export function openSqlPool(limits: PoolLimits = LIMITS): SqlPool {
  return openComputationPool(new URL('./thread.ts', import.meta.url), limits)
}
