import type { Logger } from 'pino'
import type { Chain } from '../contract/chain.ts'
import { LedgerFault } from '../fault.ts'
import type { Ledger, OperationName } from '../ledger.ts'
import { COMMANDS } from '../protocol/commands.ts'
import { ledgerMethods } from '../stores/operation.ts'
import { canControl, serveControl } from './control.ts'
import { createHeadKeeper } from './head-keeper.ts'
import { knownHeadsFile, missingHistory, readKnownHeads } from './known-heads.ts'
import { type HeadPublication, publishHeads } from './publish.ts'
import { type Extent, verifyAtStart } from './verification.ts'

/** A ledger that is checked and kept safe while the service runs. */
export interface Custody {
  /** The ledger. It stops answering once damage or a loss is detected. */
  readonly ledger: Ledger
  /** Extent of the verification so far. */
  readonly extent: () => Extent
  /** Stops the background tasks and closes the ledger. */
  close(): Promise<void>
}

export interface CustodyOptions {
  readonly dataDirectory: string
  /** Ids in the catalog, registered or withdrawn. Each of them has had a budget. */
  readonly datasets: Iterable<string>
  readonly logger: Logger
  /** Destination of signed heads, if they are published. */
  readonly publication?: Omit<HeadPublication, 'logger'>
  /** Copies the ledger to a file, if the command line may ask for it. */
  readonly backup?: (file: string) => Promise<void>
  /** Number of events up to which a start verifies the whole ledger; for tests. */
  readonly completeUpTo?: number
}

/** Commands after which the known heads are written at once. */
const KEPT_AT_ONCE: ReadonlySet<OperationName> = new Set([
  'openBudget',
  'registerSource',
  'grant',
  'replaceCap',
  'resume',
])

/**
 * Checks a ledger at the start, and keeps its known heads, its verification and its publication up to date while the service
 * runs. The ledger must have every event that the data folder knows of, and must be sound. See decision 36.
 * @throws Error that says what is missing or damaged, and what to do.
 */
export async function openCustody(
  ledger: Ledger,
  { dataDirectory, datasets, logger, publication, backup, completeUpTo }: CustodyOptions,
): Promise<Custody> {
  const file = knownHeadsFile(dataDirectory)
  await requireHistory(ledger, file, datasets)
  let damage: string | undefined
  const onDamage = (reason: string) => {
    damage ??= reason
    logger.fatal(
      { reason },
      'the service has stopped answering, because the ledger is damaged or has lost events',
    )
  }
  const verification = await verifyAtStart(ledger, { dataDirectory, logger, onDamage, completeUpTo })
  const heads = createHeadKeeper(ledger, file, {
    onFailure: (err) => logger.error({ err }, 'the heads of the ledger cannot be kept'),
    onLoss: onDamage,
  })
  await heads.keep()

  const stopPublishing =
    publication === undefined ? undefined : await publishHeads(ledger, { ...publication, logger })
  const closeControl = backup === undefined ? undefined : await openControl(dataDirectory, backup, logger)

  const methods = ledgerMethods(async (operation, args) => {
    if (damage !== undefined) {
      if (operation === 'healthy') return false as never
      throw new LedgerFault('stopped', damage)
    }
    const call = ledger[operation] as (...args: unknown[]) => Promise<never>
    const result = await call(...args)
    if (Object.hasOwn(COMMANDS, operation)) {
      heads.changed()
      if (KEPT_AT_ONCE.has(operation)) await heads.keep()
    }
    return result
  })
  return {
    ledger: { ...methods, exclusively: (task) => ledger.exclusively(task), close: () => ledger.close() },
    extent: verification.extent,
    async close() {
      await closeControl?.()
      await stopPublishing?.()
      await verification.close()
      await heads.close()
      await ledger.close()
    },
  }
}

/** Serves the command line, which cannot open the ledger of a running service. */
async function openControl(
  dataDirectory: string,
  backup: (file: string) => Promise<void>,
  logger: Logger,
): Promise<(() => Promise<void>) | undefined> {
  if (canControl(dataDirectory)) return serveControl(dataDirectory, backup)
  logger.warn('the path of the data folder is too long for a socket: stop the service for a backup')
  return undefined
}

/** @throws Error if the ledger lacks events or budgets that the data folder knows of. */
async function requireHistory(ledger: Chain, file: string, datasets: Iterable<string>): Promise<void> {
  const missing = await missingHistory(ledger, await readKnownHeads(file), datasets)
  if (missing.length === 0) return
  throw new Error(
    [
      'the ledger is older than the data folder, or another one:',
      ...missing.map((reason) => `  ${reason}`),
      'With it, budgets could be spent again. Restore the newest ledger (ledger.sqlite together with',
      'ledger.sqlite-wal, or the PostgreSQL database), or see "A lost ledger" in docs/operations.md.',
    ].join('\n'),
  )
}
