import { type ComputationPool, openComputationPool } from '../../platform/threads/pool.ts'

/** Threads for the parts of an answer that are long computations. */
export type AnswerPool = ComputationPool<typeof import('./thread.ts')>

/** Opens the threads for the parts of an answer that are long computations. */
export function openAnswerPool(): AnswerPool {
  return openComputationPool(new URL('./thread.ts', import.meta.url), {
    threads: 1,
    maxWaiting: 64,
    waitMs: 30_000,
    maxPerPrincipal: 16,
  })
}
