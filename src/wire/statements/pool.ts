import { type ComputationPool, openComputationPool } from '../../platform/threads/pool.ts'

/** The thread that reads statements. */
export type CommandPool = ComputationPool<typeof import('./thread.ts')>

/** Opens the thread that reads statements. */
export function openCommandPool(): CommandPool {
  const limits = { threads: 1, maxWaiting: 256, waitMs: 20_000, maxPerPrincipal: 64 }
  return openComputationPool(new URL('./thread.ts', import.meta.url), limits)
}
