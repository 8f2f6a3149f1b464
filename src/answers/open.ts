import { systemEntropy } from '../core/mechanisms/samplers/entropy.ts'
import { createAdmission } from './admission.ts'
import type { AnswerDependencies } from './answer.ts'
import { type AuditPool, openAuditPool } from './audit/pool.ts'
import { systemClock } from './release-time.ts'
import { openSqlPool, type SqlPool } from './sql/pool.ts'
import { type AnswerPool, openAnswerPool } from './threads/pool.ts'

/** Limits and times of {@link openAnswers}. */
interface AnswerSettings {
  readonly queryConnections: number
  readonly queryTimeoutMs: number
  readonly queueLength: number
  readonly queueWaitMs: number
  readonly maxCells: number
  readonly quota: { readonly storedBytesPerDataset: number }
}

/** Number of requests that may be charged or computed, per place at the engine. */
const TURNS_PER_PLACE = 4

/** Largest number of requests that share a place, because one scan computes them. */
const REQUESTS_PER_PLACE = 32

/**
 * Creates the parts of the flow of a query that no other wing opens.
 * @param onEntered receives the time for which a request waited
 * @param opened closes each part, the last one first
 */
export function openAnswers(
  settings: AnswerSettings,
  onEntered: (waitedMs: number) => void,
  opened: AsyncDisposableStack,
): Omit<AnswerDependencies, 'engine' | 'ledger' | 'signer' | 'traces'> & {
  readonly answerPool: AnswerPool
  readonly sqlPool: SqlPool
  readonly auditPool: AuditPool
} {
  const { queryConnections: places } = settings
  const answerPool = openAnswerPool()
  opened.defer(() => answerPool.close())
  const sqlPool = openSqlPool()
  opened.defer(() => sqlPool.close())
  const auditPool = openAuditPool()
  opened.defer(() => auditPool.close())
  return {
    answerPool,
    sqlPool,
    auditPool,
    noiseSource: systemEntropy(),
    limits: { maxCells: settings.maxCells },
    admission: createAdmission({
      places,
      requestsPerPlace: REQUESTS_PER_PLACE,
      turns: TURNS_PER_PLACE * places,
      maxWaiting: settings.queueLength,
      maxWaitMs: settings.queueWaitMs,
      onEntered,
    }),
    leaseMs: settings.queryTimeoutMs + 10_000,
    maxStoredBytes: settings.quota.storedBytesPerDataset,
    clock: systemClock,
  }
}
