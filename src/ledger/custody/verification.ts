import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Chain } from '../contract/chain.ts'
import type { Sessions } from '../contract/sessions.ts'
import type { SoundVerification, Verification } from '../protocol/verifier/verifier.ts'
import { countCharges, type Pace, verifyLedger, verifyTail } from '../verification.ts'
import { type Checkpoint, readCheckpoint, removeCheckpoint, writeCheckpoint } from './checkpoint.ts'

/** Extent of the verification so far: from the checkpoint of an earlier one, or from the first event of every chain. */
export type Extent = 'checkpoint' | 'complete'

/** The verification of a ledger while the service runs. */
export interface RunningVerification {
  extent(): Extent
  /** Stops, after a last checkpoint. */
  close(): Promise<void>
}

export interface VerificationOptions {
  readonly dataDirectory: string
  readonly logger: Pick<Logger, 'info' | 'error'>
  /** Called once if damage is found after the start, with a sentence. */
  readonly onDamage: (reason: string) => void
  /**
   * Writes the known heads, before each checkpoint: a start compares the two, and known heads that are older than a checkpoint
   * were replaced. Resolves with false if they could not be written.
   */
  readonly keepHeads: () => Promise<boolean>
  /** Number of events up to which a start verifies the whole ledger; for tests. */
  readonly completeUpTo?: number | undefined
}

/** Number of events up to which a start verifies everything, which takes about two seconds. */
const COMPLETE_UP_TO_EVENTS = 50_000
/** Longest time between an event and its checkpoint, unless the verification in the background is under way. */
const CHECKPOINT_EVERY_MS = 300_000
/** Number of events after which a checkpoint is due earlier. A start verifies this number in half a second. */
const CHECKPOINT_EVERY_EVENTS = 20_000
const CHECK_EVERY_MS = 10_000
/** Pause in the background per unit of work: the event loop and the ledger are free for three quarters of the time. */
const PAUSE_PER_WORK = 3
const BACKGROUND_EVENTS_PAGE = 200

/**
 * Verifies a ledger before anything is answered. Every chain and balance is recomputed from the events alone, and
 * charges and answers are compared with them. A long ledger is verified from its checkpoint, if that fits, and
 * completely in the background. A ledger that contradicts its events must not decide what may still be released.
 * See decision 16.
 * @throws Error naming the dataset and the first event that does not fit.
 */
export async function verifyAtStart(
  ledger: Chain & Pick<Sessions, 'sessionAnswers'>,
  options: VerificationOptions,
): Promise<RunningVerification> {
  const { dataDirectory, logger, completeUpTo = COMPLETE_UP_TO_EVENTS } = options
  const startMs = performance.now()
  const events = await eventsOf(ledger)
  const checkpoint = events > completeUpTo ? await readCheckpoint(dataDirectory) : undefined
  const verified = await verifyFrom(ledger, checkpoint)
  const verification: Extent = verified.unfinished.length === 0 ? 'complete' : 'checkpoint'
  logger.info({ events, durationMs: elapsedMs(startMs), verification }, 'ledger verified')
  return verifyInBackground(ledger, options, verified, startMs)
}

/** Results of a verification so far, and the datasets that were verified from a checkpoint only. */
interface Verified {
  readonly results: Map<string, SoundVerification>
  readonly unfinished: readonly string[]
}

/** Completes the verification of the unfinished datasets, then verifies new events at intervals and writes checkpoints. */
function verifyInBackground(
  ledger: Chain & Pick<Sessions, 'sessionAnswers'>,
  { dataDirectory, logger, onDamage, keepHeads }: VerificationOptions,
  { results, unfinished }: Verified,
  startMs: number,
): RunningVerification {
  let extent: Extent = unfinished.length === 0 ? 'complete' : 'checkpoint'
  const closing = new AbortController()
  const pace = backgroundPace(closing.signal)
  let damaged = false
  async function save(): Promise<void> {
    if (damaged) await removeCheckpoint(dataDirectory)
    else if (await keepHeads()) await writeCheckpoint(dataDirectory, results)
  }
  async function report(error: unknown): Promise<void> {
    if (closing.signal.aborted && !(error instanceof Damage)) return
    if (!(error instanceof Damage)) return logger.error({ err: error }, 'the ledger cannot be verified')
    damaged = true
    onDamage(error.message)
    await save().catch((err: unknown) => logger.error({ err }, 'the checkpoint cannot be removed'))
  }

  async function complete(): Promise<void> {
    if (unfinished.length === 0) return save()
    const counts = await countCharges(ledger, pace)
    for (const dataset of unfinished) {
      const result = requireSound(dataset, await verifyLedger(ledger, dataset, counts, pace))
      results.set(dataset, result)
    }
    extent = 'complete'
    await save()
    logger.info({ durationMs: elapsedMs(startMs), verification: extent }, 'ledger verified')
  }

  let savedAtMs = startMs
  /** Verifies the events since the last result of each dataset, if a checkpoint is due. */
  async function advance(isDue: (newEvents: number) => boolean, speed?: Pace): Promise<void> {
    const newEvents = (await eventsOf(ledger)) - verifiedEvents(results)
    if (newEvents === 0 || !isDue(newEvents)) return
    for (const { dataset, sequence } of await ledger.heads()) {
      const last = results.get(dataset)
      if (last?.events === sequence) continue
      const next =
        last === undefined
          ? await verifyLedger(ledger, dataset, undefined, speed)
          : await verifyTail(ledger, dataset, last, speed)
      results.set(dataset, requireSound(dataset, next))
    }
    await save()
    savedAtMs = performance.now()
  }

  let work = complete().catch(report)
  const timer = setInterval(() => {
    const isDue = (newEvents: number) =>
      newEvents >= CHECKPOINT_EVERY_EVENTS || performance.now() >= savedAtMs + CHECKPOINT_EVERY_MS
    work = work
      .then(() => (closing.signal.aborted || damaged ? undefined : advance(isDue, pace)))
      .catch(report)
  }, CHECK_EVERY_MS)
  timer.unref()

  return {
    extent: () => extent,
    async close() {
      clearInterval(timer)
      closing.abort()
      await work
      // A stop has little time. The next start verifies what is left.
      const isShort = (newEvents: number) => newEvents < CHECKPOINT_EVERY_EVENTS
      if (!damaged)
        await advance(isShort).catch((err: unknown) => logger.error({ err }, 'no checkpoint was written'))
    },
  }
}

function elapsedMs(startMs: number): number {
  return Math.round(performance.now() - startMs)
}

/** A ledger that contradicts its events. */
class Damage extends Error {}

/** Verifies each dataset from the checkpoint, and completely where that does not fit. */
async function verifyFrom(
  ledger: Chain & Pick<Sessions, 'sessionAnswers'>,
  checkpoint: Checkpoint | undefined,
): Promise<Verified> {
  const results = new Map<string, SoundVerification>()
  const unfinished: string[] = []
  const counts = checkpoint === undefined ? await countCharges(ledger) : undefined
  for (const { dataset } of await ledger.heads()) {
    const before = checkpoint?.get(dataset)
    const tail = before === undefined ? undefined : await verifyTail(ledger, dataset, before)
    if (tail?.kind === 'sound') {
      results.set(dataset, tail)
      unfinished.push(dataset)
      continue
    }
    // The checkpoint may be wrong. The events themselves decide.
    const allCounts = counts ?? (await countCharges(ledger))
    results.set(dataset, requireSound(dataset, await verifyLedger(ledger, dataset, allCounts)))
  }
  return { results, unfinished }
}

/** @throws Damage naming the dataset and the first event that does not fit. */
function requireSound(dataset: string, found: Verification | undefined): SoundVerification {
  if (found?.kind === 'sound') return found
  const where =
    found === undefined ? 'has no budget' : `is damaged at event ${found.sequence}: ${found.reason}`
  throw new Damage(`the ledger of the dataset ${dataset} ${where}; see docs/operations.md`)
}

/** Number of events in a ledger. */
async function eventsOf(ledger: Pick<Chain, 'heads'>): Promise<number> {
  return (await ledger.heads()).reduce((sum, { sequence }) => sum + sequence, 0)
}

function verifiedEvents(results: ReadonlyMap<string, SoundVerification>): number {
  return [...results.values()].reduce((sum, { events }) => sum + events, 0)
}

/** Pauses after each page in proportion to the time that it took. Rejects once the signal is aborted. */
function backgroundPace(signal: AbortSignal): Pace {
  let resumedAt = performance.now()
  return {
    eventsPage: BACKGROUND_EVENTS_PAGE,
    async pause() {
      const workedMs = performance.now() - resumedAt
      await sleep(PAUSE_PER_WORK * workedMs, undefined, { signal })
      resumedAt = performance.now()
    },
  }
}
