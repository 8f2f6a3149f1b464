import { type ComputationPool, openComputationPool } from '../../platform/threads/pool.ts'

/** Threads that read the bodies of audits. */
export type AuditPool = ComputationPool<typeof import('./thread.ts')>

/** Opens the threads that read the bodies of audits. */
export function openAuditPool(): AuditPool {
  return openComputationPool(new URL('./thread.ts', import.meta.url), {
    threads: 1,
    maxWaiting: 16,
    waitMs: 20_000,
    maxPerPrincipal: 4,
  })
}
