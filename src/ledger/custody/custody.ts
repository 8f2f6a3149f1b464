import type { Logger } from 'pino'
import type { Chain } from '../contract/chain.ts'
import { LedgerFault } from '../fault.ts'
import type { Ledger, OperationName } from '../ledger.ts'
import { COMMANDS } from '../protocol/commands.ts'
import { ledgerMethods } from '../stores/operation.ts'
import { readCheckpoint } from './checkpoint.ts'
import { canControl, serveControl } from './control.ts'
import { createHeadKeeper } from './head-keeper.ts'
import { headsOf, knownHeadsFile, laterHeads, missingHistory, readKnownHeads } from './known-heads.ts'
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
  /**
   * Ids of the datasets that were registered through this data folder, so that it has known heads of them. None for a replica
   * whose catalog is in a database, and whose data folder may be new.
   */
  readonly registeredHere: Iterable<string>
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
  { dataDirectory, datasets, registeredHere, logger, publication, backup, completeUpTo }: CustodyOptions,
): Promise<Custody> {
  const file = knownHeadsFile(dataDirectory)
  await requireHistory(ledger, { dataDirectory, datasets, registeredHere })
  let damage: string | undefined
  const onDamage = (reason: string) => {
    damage ??= reason
    logger.fatal(
      { reason },
      'the service has stopped answering, because the ledger is damaged or has lost events',
    )
  }
  const heads = createHeadKeeper(ledger, file, {
    onFailure: (err) => logger.error({ err }, 'the heads of the ledger cannot be kept'),
    onLoss: onDamage,
  })
  const verification = await verifyAtStart(ledger, {
    ...{ dataDirectory, logger, onDamage, completeUpTo },
    keepHeads: heads.keep,
  }).catch(async (error: unknown) => {
    await heads.stop()
    throw error
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

/**
 * Compares the ledger with the known heads, the checkpoint and the catalog.
 * @throws Error if the ledger lacks events or budgets that one of these knows of, or the known heads lack some that another
 * knows of.
 */
async function requireHistory(
  ledger: Chain,
  {
    dataDirectory,
    datasets,
    registeredHere,
  }: Pick<CustodyOptions, 'dataDirectory' | 'datasets' | 'registeredHere'>,
): Promise<void> {
  const file = knownHeadsFile(dataDirectory)
  const known = await readKnownHeads(file)
  const verified = headsOf((await readCheckpoint(dataDirectory)) ?? new Map())
  const missing = await missingHistory(ledger, laterHeads(known, verified), datasets)
  if (missing.length > 0)
    throw new Error(
      [
        'the ledger is older than the data folder, or another one:',
        ...missing.map((reason) => `  ${reason}`),
        'With it, budgets could be spent again. Restore the newest ledger (ledger.sqlite together with',
        'ledger.sqlite-wal, or the PostgreSQL database), or see "A lost ledger" in docs/operations.md.',
      ].join('\n'),
    )
  const isForgotten = (dataset: string) =>
    (known.get(dataset)?.sequence ?? 0) < (verified.get(dataset)?.sequence ?? 1)
  const forgotten = [...new Set([...verified.keys(), ...registeredHere])].filter(isForgotten).sort()
  if (forgotten.length === 0) return
  throw new Error(
    [
      `${file} was removed, or replaced by an older copy: it lacks events of ${forgotten.join(', ')}.`,
      'Without it, a ledger that has lost charges could not be told from a complete one. Put the file back, or see',
      '"Lost known heads" in docs/operations.md.',
    ].join('\n'),
  )
}
