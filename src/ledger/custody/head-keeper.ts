import { writePrivately } from '../../platform/files/durable-file.ts'
import type { Chain, ChainHead } from '../contract/chain.ts'
import { type HeadsByDataset, headLines, laterHeads, readKnownHeads } from './known-heads.ts'

/** Keeps the file of known heads up to date. */
export interface HeadKeeper {
  /** Notes that the ledger has changed. The file is written within {@link KEEP_EVERY_MS}. */
  changed(): void
  /** Writes the file. Resolves with true when all heads up to this call are in it, and with false when a failure was reported. */
  keep(): Promise<boolean>
  /** Stops without writing. */
  stop(): Promise<void>
  /** Stops and writes the file a last time. */
  close(): Promise<void>
}

/** Least time between two writes, except for those that {@link HeadKeeper.keep} asks for. */
const KEEP_EVERY_MS = 1_000

/**
 * Keeps the last heads of a ledger in a file. Replicas that share the file merge their heads by the largest sequence.
 * @param options.onFailure called if the heads cannot be read or written; the next write tries again
 * @param options.onLoss called with a sentence if the ledger lacks events that the file knows
 */
export function createHeadKeeper(
  ledger: Pick<Chain, 'heads'>,
  file: string,
  {
    onFailure,
    onLoss,
  }: { readonly onFailure: (error: unknown) => void; readonly onLoss: (reason: string) => void },
): HeadKeeper {
  let isChanged = false
  let underWay: Promise<boolean> | undefined
  let queued: Promise<boolean> | undefined

  async function write(): Promise<boolean> {
    isChanged = false
    try {
      // Read before the heads of the ledger, which are then at least as new, even if another replica writes.
      const known = await readKnownHeads(file)
      const heads: HeadsByDataset = new Map((await ledger.heads()).map((head) => [head.dataset, head]))
      for (const head of known.values()) {
        const reason = reasonAgainst(head, heads.get(head.dataset))
        if (reason !== undefined) {
          onLoss(reason)
          return false
        }
      }
      const [before, after] = [headLines(known), headLines(laterHeads(known, heads))]
      if (before !== after) await writePrivately(file, after)
      return true
    } catch (error) {
      isChanged = true
      onFailure(error)
      return false
    }
  }

  function start(): Promise<boolean> {
    underWay = write().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  /** A write that is under way may have read the heads before this call, so another one follows it. */
  function keep(): Promise<boolean> {
    if (underWay === undefined) return start()
    queued ??= underWay.then(() => {
      queued = undefined
      return start()
    })
    return queued
  }

  const timer = setInterval(() => {
    if (isChanged && underWay === undefined) void start()
  }, KEEP_EVERY_MS)
  timer.unref()

  return {
    changed: () => {
      isChanged = true
    },
    keep,
    async stop() {
      clearInterval(timer)
      await underWay
    },
    async close() {
      clearInterval(timer)
      await keep()
    },
  }
}

function reasonAgainst(known: ChainHead, head: ChainHead | undefined): string | undefined {
  if (head === undefined) return `the ledger has lost the budget of ${known.dataset}`
  if (head.sequence < known.sequence) return `the ledger has lost events of ${known.dataset}`
  if (head.sequence > known.sequence || head.hash === known.hash) return undefined
  return `the ledger has another event ${known.sequence} of ${known.dataset}`
}
