import type { Logger } from 'pino'
import type { Registry } from './registry.ts'

/** Time until a replica knows about registrations and withdrawals of the others. */
const REFRESH_MS = 1_000

/**
 * Polls for the other replicas' registrations.
 * @returns a function that stops polling and waits for a running step.
 */
export function followRegistrations(registry: Registry, logger: Logger): () => Promise<void> {
  let last: Promise<void> | undefined
  const timer = setInterval(() => {
    last ??= registry
      .refresh()
      .catch((err: unknown) => logger.error({ err }, 'registrations of other replicas cannot be read'))
      .finally(() => {
        last = undefined
      })
  }, REFRESH_MS)
  return async () => {
    clearInterval(timer)
    await last
  }
}
