import type { Logger } from 'pino'
import { Refusal } from '../../privacy/refusal.ts'

const noted = new Set<string>()
/** Number of names that are logged. Clients choose them. */
const MOST_NOTED = 200

/** Logs a function that the catalogue lacks, once, so that it can be added for the tool that asks for it. */
export function noteUnknownFunction(error: unknown, logger: Pick<Logger, 'warn'>): void {
  const name = error instanceof Refusal ? error.facts.unknownFunction : undefined
  if (typeof name !== 'string' || noted.has(name) || noted.size >= MOST_NOTED) return
  noted.add(name)
  logger.warn({ function: name.slice(0, 63) }, 'a client asked for a function that the catalogue lacks')
}
